//! A value that only the writer of its place changes, a few instructions at a time and without a
//! lock.
//!
//! Two things can interrupt a change: a signal handler that uses the container which it has
//! interrupted, which is a mistake and panics; and a fork, in whose child the value of a thread that
//! does not exist there may be half changed. `mark`, the fork generation in which the change began,
//! tells them apart.

use core::cell::UnsafeCell;
use core::mem;

use super::Fresh;
use crate::atomic::{AtomicU64, Ordering, compiler_fence};
use crate::process::fork;

/// A value that one writer changes.
pub(crate) struct WriterOwned<T> {
    /// One more than the number of forks at which the change began that is under way; 0: none is.
    mark: AtomicU64,
    value: UnsafeCell<T>,
}

// SAFETY: the value is changed by one thread at a time, by the promise of `change`.
unsafe impl<T: Send> Sync for WriterOwned<T> {}

impl<T: Fresh> Fresh for WriterOwned<T> {
    fn fresh() -> Self {
        WriterOwned { mark: AtomicU64::new(0), value: UnsafeCell::new(T::fresh()) }
    }
}

impl<T: Fresh> WriterOwned<T> {
    /// Changes the value. `act` neither allocates nor calls code of users.
    ///
    /// # Safety
    /// The place is that of the caller's index.
    #[inline(always)]
    pub(crate) unsafe fn change<R>(&self, act: impl FnOnce(&mut T) -> R) -> R {
        // Relaxed, here and below: only this thread and its signal handlers look.
        if self.mark.load(Ordering::Relaxed) != 0 {
            self.find_marked();
        }
        self.mark.store(fork::generation() + 1, Ordering::Relaxed);
        // SeqCst: a handler that finds no mark finds no change.
        compiler_fence(Ordering::SeqCst);
        // SAFETY: no other thread has the caller's index, and no change is under way.
        let result = act(unsafe { &mut *self.value.get() });
        // SeqCst: as above.
        compiler_fence(Ordering::SeqCst);
        self.mark.store(0, Ordering::Relaxed);
        result
    }

    /// Finds a change under way.
    #[cold]
    #[inline(never)]
    fn find_marked(&self) {
        assert!(
            // Relaxed: as in `change`.
            self.mark.load(Ordering::Relaxed) != fork::generation() + 1,
            "leeward: a signal handler uses a container that it has interrupted"
        );
        // SAFETY: the thread that began the change is not in this process. What it had is forgotten.
        mem::forget(mem::replace(unsafe { &mut *self.value.get() }, T::fresh()));
    }

    /// Returns the value, to a caller that has the container alone.
    pub(crate) fn get_mut(&mut self) -> &mut T {
        // Relaxed: as in `change`.
        if self.mark.load(Ordering::Relaxed) != 0 {
            self.find_marked();
        }
        self.value.get_mut()
    }
}
