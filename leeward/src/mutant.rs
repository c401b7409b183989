//! Mutants: one fence, wait, wake or recheck taken out at a time, to show that some test notices.
//!
//! In an ordinary build the macros below are what they keep, and nothing of this is compiled. With
//! `--cfg leeward_mutants` an environment variable (`table::VARIABLE`) names the mutant that is
//! active, so that a single build serves the whole table. The table (`mutant/table.rs`) says for each
//! mutant what it takes out and what must notice; `ci/mutants`, `ci/model` and `ci/sanitize` read it.
//!
//! `leeward` and `leeward-engine` share this file (the engine's is a symbolic link, in whose place
//! cargo packs the file); each has a table and a variable of its own.

#[cfg(leeward_mutants)]
pub(crate) use active::{Mutant, is};

/// Makes the type that has a name for each mutant; the tests are the scripts'.
#[cfg(leeward_mutants)]
macro_rules! mutants {
    ($(
        $(#[doc = $what:literal])+
        $name:ident { $($program:ident: $($test:ident)::+ $(if $($need:ident)&&+)?,)+ }
    )*) => {
        /// Something that can be taken out.
        #[derive(Clone, Copy)]
        #[allow(non_camel_case_types)]
        pub(crate) enum Mutant { $($(#[doc = $what])+ $name,)* }

        impl Mutant {
            pub(super) const NAMES: &[&str] = &[$(stringify!($name),)*];
        }
    };
}

#[cfg(leeward_mutants)]
mod table;

/// Which mutant is active.
#[cfg(leeward_mutants)]
mod active {
    use core::ffi::{CStr, c_char};
    use core::sync::atomic::{AtomicUsize, Ordering};

    pub(crate) use crate::mutant::table::Mutant;
    use crate::mutant::table::VARIABLE;

    /// Returns true if `mutant` is the active one.
    #[inline]
    pub(crate) fn is(mutant: Mutant) -> bool {
        const UNREAD: usize = usize::MAX;
        static ACTIVE: AtomicUsize = AtomicUsize::new(UNREAD);

        #[cold]
        #[inline(never)]
        fn read() -> usize {
            let index = match name() {
                Some(name) if !name.is_empty() => Mutant::NAMES
                    .iter()
                    .position(|known| *known == name)
                    .unwrap_or_else(|| panic!("{VARIABLE:?}: there is no mutant {name}")),
                _ => UNREAD - 1,
            };
            // Relaxed: every thread stores the same value.
            ACTIVE.store(index, Ordering::Relaxed);
            index
        }

        /// Returns the name of the active mutant. By the C library, since there may be no std.
        fn name() -> Option<&'static str> {
            unsafe extern "C" {
                fn getenv(name: *const c_char) -> *mut c_char;
            }
            // SAFETY: a string that ends with 0. The environment does not change.
            let value = unsafe { getenv(VARIABLE.as_ptr()) };
            // SAFETY: null, or a string that ends with 0.
            (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })?.to_str().ok()
        }

        // Relaxed: as above; and a load adds no order that the mutant was meant to take away.
        let active = match ACTIVE.load(Ordering::Relaxed) {
            UNREAD => read(),
            index => index,
        };
        active == mutant as usize
    }
}

/// Evaluates to true if the named mutant is active: the constant `false` in an ordinary build.
#[cfg(leeward_mutants)]
macro_rules! mutated {
    ($name:ident) => {
        $crate::mutant::is($crate::mutant::Mutant::$name)
    };
}
#[cfg(not(leeward_mutants))]
macro_rules! mutated {
    ($name:ident) => {
        false
    };
}

/// Evaluates to the ordering `$order`, which the mutant `$name` weakens: to relaxed, or to the
/// ordering after the arrow.
macro_rules! order {
    ($order:ident, $name:ident) => {
        $crate::mutant::order!($order, $name => Relaxed)
    };
    ($order:ident, $name:ident => $weaker:ident) => {
        if $crate::mutant::mutated!($name) {
            core::sync::atomic::Ordering::$weaker
        } else {
            core::sync::atomic::Ordering::$order
        }
    };
}

/// Does `$step`, which the mutant `$name` leaves out.
macro_rules! step {
    ($name:ident, $step:expr) => {
        if !$crate::mutant::mutated!($name) {
            $step;
        }
    };
}

/// Evaluates `$condition`, in any case, and returns it; the mutant `$name` takes it for false.
macro_rules! check {
    ($name:ident, $condition:expr) => {
        $condition && !$crate::mutant::mutated!($name)
    };
}

pub(crate) use {check, mutated, order, step};
