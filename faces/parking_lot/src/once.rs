//! The flag that lets one caller run its closure: leeward's, with parking_lot's poison.

use core::fmt;

pub use leeward::sync::OnceState;

/// A flag that lets one of many callers run its closure, and the others wait for it.
///
/// It is a [`leeward::sync::Once`] that a panic poisons: after a closure that panicked,
/// [`call_once`](Self::call_once) panics, and [`call_once_force`](Self::call_once_force) runs its own.
/// A closure that calls the same `Once` panics, where parking_lot's waits forever.
///
/// ```
/// use parking_lot::{Once, OnceState};
/// static LOG: Once = Once::new();
/// LOG.call_once(|| println!("begun"));
/// LOG.call_once(|| unreachable!("it has run"));
/// assert_eq!(LOG.state(), OnceState::Done);
/// ```
pub struct Once(leeward::sync::Once);

impl Once {
    /// Returns a `Once` that has not run.
    #[inline]
    pub const fn new() -> Once {
        Once(leeward::sync::Once::new())
    }

    /// Returns how far the `Once` is.
    #[inline]
    pub fn state(&self) -> OnceState {
        self.0.state()
    }

    /// Runs `f` unless a closure has run. Waits while another thread runs one.
    ///
    /// # Panics
    /// If `f` does, or the closure that ran last has panicked.
    #[inline]
    #[track_caller]
    pub fn call_once<F>(&self, f: F)
    where
        F: FnOnce(),
    {
        // The panic is in the closure, so the state stays poisoned.
        self.0.call_once_force(|before| {
            if before.poisoned() {
                panic!("Once instance has previously been poisoned");
            }
            f();
        });
    }

    /// Runs `f` unless a closure has run, and tells it whether the one before it has panicked. Waits
    /// while another thread runs one.
    ///
    /// # Panics
    /// If `f` does.
    #[inline]
    #[track_caller]
    pub fn call_once_force<F>(&self, f: F)
    where
        F: FnOnce(OnceState),
    {
        self.0.call_once_force(f);
    }
}

impl Default for Once {
    #[inline]
    fn default() -> Once {
        Once::new()
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
