//! Mutants: one fence, wait, wake or recheck taken out at a time, to show that some test notices.
//!
//! In an ordinary build the macros below are what they keep, and nothing of this is compiled. With
//! `--cfg leeward_mutants` the environment variable `LEEWARD_ENGINE_MUTANT` names the mutant that is
//! active, so that a single build serves the whole table. The table (`mutant/table.rs`) says for each
//! mutant what it takes out and what must notice; `ci/mutants` and `ci/model` read it.

#[cfg(leeward_mutants)]
mod table;

#[cfg(leeward_mutants)]
pub(crate) use active::{Known, Mutant};

/// Which mutant is active.
#[cfg(leeward_mutants)]
mod active {
    use core::sync::atomic::{AtomicU8, Ordering};

    pub(crate) use crate::mutant::table::Mutant;

    fn is(mutant: Mutant) -> bool {
        static ACTIVE: std::sync::OnceLock<std::string::String> = std::sync::OnceLock::new();
        let active = ACTIVE.get_or_init(|| {
            let active = std::env::var("LEEWARD_ENGINE_MUTANT").unwrap_or_default();
            let known = active.is_empty() || Mutant::NAMES.contains(&&*active);
            assert!(known, "LEEWARD_ENGINE_MUTANT={active}: there is no such mutant");
            active
        });
        active == Mutant::NAMES[mutant as usize]
    }

    /// What a place has found out: whether its mutant is the active one. Asked once, so that tests
    /// that go through a call step by step do not go through this each time.
    pub(crate) struct Known(AtomicU8);

    impl Known {
        pub(crate) const fn not_yet() -> Known {
            Known(AtomicU8::new(0))
        }

        #[inline]
        pub(crate) fn is(&self, mutant: Mutant) -> bool {
            // Relaxed: every thread finds out the same.
            match self.0.load(Ordering::Relaxed) {
                0 => {
                    let active = is(mutant);
                    self.0.store(1 + u8::from(active), Ordering::Relaxed);
                    active
                }
                known => known == 2,
            }
        }
    }
}

/// Evaluates to true if the named mutant is active: the constant `false` in an ordinary build.
#[cfg(leeward_mutants)]
macro_rules! mutated {
    ($name:ident) => {{
        static KNOWN: $crate::mutant::Known = $crate::mutant::Known::not_yet();
        KNOWN.is($crate::mutant::Mutant::$name)
    }};
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
