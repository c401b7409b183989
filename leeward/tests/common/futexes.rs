//! Runs a test on every place to sleep: the kernel's futex by private and by shared key, and the
//! engine.

/// Makes each test, a function over `F: Futex`, run on each of them.
macro_rules! on_every_futex {
    ($($(#[$meta:meta])* $test:ident;)*) => {
        mod private {
            $($(#[$meta])* #[test] fn $test() { super::$test::<leeward::futex::Private>(); })*
        }
        mod shared {
            $($(#[$meta])* #[test] fn $test() { super::$test::<leeward::futex::Shared>(); })*
        }
        #[cfg(target_os = "linux")]
        mod hosted {
            $($(#[$meta])* #[test] fn $test() { super::$test::<leeward::futex::Hosted<leeward::futex::Parking>>(); })*
        }
    };
}
