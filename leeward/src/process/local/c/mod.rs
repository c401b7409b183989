//! Thread-local storage by the conventions of the C library: a word is a symbol of a thread-local
//! section, which the assembler makes, found as initial-exec (`NAME.rs` of the architecture); a
//! thread's exit is the destructor of a key (`exit.rs`).
//!
//! Initial-exec is right in a program and in a library that the program links; in a library that is
//! loaded later it takes a few bytes of a reserve that glibc keeps, and that musl does not have.
//! Each access is one load or store of an aligned word, so that a signal handler finds the word
//! whole.

#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
#[cfg_attr(target_arch = "riscv64", path = "riscv64.rs")]
#[cfg_attr(target_arch = "powerpc64", path = "powerpc64.rs")]
mod arch;
#[cfg(any(test, feature = "c", not(feature = "std"), leeward_c_local))]
mod exit;
#[cfg(test)]
mod tests;

pub(crate) use arch::{LocalPlace, place};
#[cfg(any(test, feature = "c", not(feature = "std"), leeward_c_local))]
pub(crate) use exit::{Exit, exit};

/// A type that a word, or a pair of words, may have.
pub(crate) trait Value: Copy {
    /// Loads the calling thread's value at `place`.
    fn load(place: LocalPlace) -> Self;
    /// Stores the calling thread's value at `place`.
    fn store(self, place: LocalPlace);
}

impl Value for u64 {
    #[inline(always)]
    fn load(place: LocalPlace) -> u64 {
        usize::load(place) as u64
    }
    #[inline(always)]
    fn store(self, place: LocalPlace) {
        (self as usize).store(place);
    }
}

impl Value for usize {
    #[inline(always)]
    fn load(place: LocalPlace) -> usize {
        place.load().addr()
    }
    #[inline(always)]
    fn store(self, place: LocalPlace) {
        place.store(core::ptr::without_provenance_mut(self));
    }
}

impl<T> Value for *const T {
    #[inline(always)]
    fn load(place: LocalPlace) -> *const T {
        place.load().cast()
    }
    #[inline(always)]
    fn store(self, place: LocalPlace) {
        place.store(self.cast_mut().cast());
    }
}

impl<A: Value, B: Value> Value for (A, B) {
    #[inline(always)]
    fn load(place: LocalPlace) -> (A, B) {
        (A::load(place), B::load(place.next()))
    }
    #[inline(always)]
    fn store(self, place: LocalPlace) {
        self.1.store(place.next());
        self.0.store(place);
    }
}

/// Returns the symbol of the word with this name. The version is in it because a program may have
/// two versions of this library.
macro_rules! symbol {
    ($name:ident) => {
        concat!(
            "lee_",
            env!("CARGO_PKG_VERSION_MAJOR"),
            "_",
            env!("CARGO_PKG_VERSION_MINOR"),
            "_",
            env!("CARGO_PKG_VERSION_PATCH"),
            "_",
            stringify!($name)
        )
    };
}
pub(crate) use symbol;

/// Declares a word of the calling thread's, as the macro of `std.rs` does, which says more.
///
/// The symbol is that of [`symbol!`], and hidden, unless `#[symbol = "..."]` names and exports it.
macro_rules! word {
    (#[symbol = $symbol:literal] $(#[$meta:meta])* $vis:vis static $name:ident: $($rest:tt)+) => {
        $crate::process::local::c::word! { @ $symbol, ".globl ", $(#[$meta])* $vis $name: $($rest)+ }
    };
    ($(#[$meta:meta])* $vis:vis static $name:ident: $($rest:tt)+) => {
        $crate::process::local::c::word! {
            @ $crate::process::local::c::symbol!($name), ".hidden ", $(#[$meta])* $vis $name: $($rest)+
        }
    };
    // Zero first.
    (@ $symbol:expr, $scope:literal, $(#[$meta:meta])* $vis:vis $name:ident: $type:ty = 0) => {
        $crate::process::local::c::word! { @@ $symbol, $scope, ".tbss", "nobits", "8", ".zero 8", () }
        $crate::process::local::c::word! { @@@ $symbol, $(#[$meta])* $vis $name: $type }
    };
    // The address of a static first.
    (@ $symbol:expr, $scope:literal, $(#[$meta:meta])* $vis:vis $name:ident: $type:ty = &raw const $target:path) => {
        $crate::process::local::c::word! {
            @@ $symbol, $scope, ".tdata", "progbits", "8", ".8byte {}", (sym $target,)
        }
        $crate::process::local::c::word! { @@@ $symbol, $(#[$meta])* $vis $name: $type }
    };
    // A pair, a number and null first.
    (@ $symbol:expr, $scope:literal, $(#[$meta:meta])* $vis:vis $name:ident: $type:ty = ($value:expr, 0)) => {
        $crate::process::local::c::word! {
            @@ $symbol, $scope, ".tdata", "progbits", "16", ".8byte {}, 0", (const $value,)
        }
        $crate::process::local::c::word! { @@@ $symbol, $(#[$meta])* $vis $name: $type }
    };
    // Another number first.
    (@ $symbol:expr, $scope:literal, $(#[$meta:meta])* $vis:vis $name:ident: $type:ty = $value:expr) => {
        $crate::process::local::c::word! {
            @@ $symbol, $scope, ".tdata", "progbits", "8", ".8byte {}", (const $value,)
        }
        $crate::process::local::c::word! { @@@ $symbol, $(#[$meta])* $vis $name: $type }
    };
    // The symbol, and what a new thread's copy of it holds.
    (
        @@ $symbol:expr, $scope:literal, $section:literal, $kind:literal, $size:literal, $content:literal,
        ($($operand:tt)*)
    ) => {
        core::arch::global_asm!(
            concat!(".pushsection ", $section, ".", $symbol, ",\"awT\",%", $kind),
            ".p2align 3",
            concat!(".globl ", $symbol),
            concat!($scope, $symbol),
            concat!(".type ", $symbol, ",%object"),
            concat!(".size ", $symbol, ",", $size),
            concat!($symbol, ":"),
            $content,
            ".popsection",
            $($operand)*
        );
    };
    // What is known of it in Rust.
    (@@@ $symbol:expr, $(#[$meta:meta])* $vis:vis $name:ident: $type:ty) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        $vis struct $name;

        impl $name {
            /// Returns where the calling thread has the word.
            #[inline(always)]
            #[allow(dead_code)]
            fn place() -> $crate::process::local::c::LocalPlace {
                $crate::process::local::c::place!($symbol)
            }
        }

        impl $crate::process::local::access::Word for $name {
            type Value = $type;

            #[inline(always)]
            fn get(self) -> $type {
                $crate::process::local::c::Value::load($name::place())
            }

            #[inline(always)]
            fn set(self, value: $type) {
                $crate::process::local::c::Value::store(value, $name::place());
            }
        }
    };
}
pub(crate) use word;
