//! std's `Once`: [`raw::Once`], which a closure that panics poisons.

use core::fmt;

use super::OnceState;
use crate::raw;

/// A flag that lets one of many callers run its closure, and the others wait for it; poisoned by a
/// closure that panics.
///
/// ```
/// use leeward::sync::poison::Once;
/// static TABLE: Once = Once::new();
/// let first = std::thread::spawn(|| TABLE.call_once(|| panic!("half of it is made")));
/// assert!(first.join().is_err());
/// let second = std::thread::spawn(|| TABLE.call_once(|| unreachable!("it is poisoned")));
/// assert!(second.join().is_err());
/// TABLE.call_once_force(|before| assert!(before.is_poisoned()));
/// TABLE.call_once(|| unreachable!("it has run"));
/// assert!(TABLE.is_completed());
/// TABLE.wait();                                   // returns at once: it has run
/// ```
///
/// Cost and fork: [`raw::Once`].
pub struct Once {
    once: raw::Once,
}

/// A [`Once`] that has not run.
#[deprecated(note = "`Once::new()` is const, in std since Rust 1.32")]
#[allow(clippy::declare_interior_mutable_const)]
pub const ONCE_INIT: Once = Once::new();

impl Once {
    /// Returns a `Once` that has not run.
    #[must_use]
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Once {
        Once { once: raw::Once::new() }
    }

    /// Runs `work` unless a closure has run. Waits while another thread runs one.
    ///
    /// # Panics
    /// - If `work` does; then the `Once` is poisoned.
    /// - If it is poisoned.
    /// - If it is called from within `work`, which would wait for itself.
    #[inline]
    #[track_caller]
    pub fn call_once<F: FnOnce()>(&self, work: F) {
        self.once.call(false, |_| work());
    }

    /// Runs `work` unless a closure has run, and tells it whether the closure that ran last has
    /// panicked. Waits while another thread runs one.
    ///
    /// # Panics
    /// As [`call_once`](Self::call_once), but not if the `Once` is poisoned.
    #[inline]
    #[track_caller]
    pub fn call_once_force<F: FnOnce(&OnceState)>(&self, work: F) {
        self.once.call(true, |before| work(&before));
    }

    /// Returns true if a closure has run. What it did happens before the return.
    #[inline]
    pub fn is_completed(&self) -> bool {
        self.once.is_completed()
    }

    /// Waits until a closure has run, and runs none.
    ///
    /// # Panics
    /// - If the `Once` is poisoned, or becomes it.
    /// - If it is called from within the closure.
    #[inline]
    #[track_caller]
    pub fn wait(&self) {
        self.once.wait_for_run(false);
    }

    /// Waits until a closure has run, also past ones that panic, and runs none.
    ///
    /// # Panics
    /// If it is called from within the closure.
    #[inline]
    #[track_caller]
    pub fn wait_force(&self) {
        self.once.wait_for_run(true);
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}
