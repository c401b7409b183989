//! What a condition variable asks of a lock: to be unlocked and locked, and where its sleepers may be moved. The locks
//! below answer.

use super::{LightMutex, Mutex, RwLock};
use crate::futex::{Futex, Private, Timeout};

/// A lock that a [`Condvar`](super::Condvar) over the same futex may be used with.
///
/// # Safety
/// `lock` returns to one caller at a time until `unlock`, with acquire and release ordering. What `queue` returns lives
/// as long as `self`, is the same each time, and whoever holds it holds `self`.
pub unsafe trait Lock<F: Futex> {
    /// Locks it.
    fn lock(&self);

    /// Unlocks it.
    ///
    /// # Safety
    /// The caller holds it.
    unsafe fn unlock(&self);

    /// The mutex to whose word sleepers may be moved, to be woken by its unlock; none if this kind of lock cannot take
    /// them: then they are woken.
    fn queue(&self) -> Option<&Mutex<F>> {
        None
    }

    /// Locks it for a thread that was, or may have been, moved to its queue: as contended, since others may sleep there
    /// of whom nobody else knows.
    fn lock_moved(&self) {
        self.lock();
    }
}

// SAFETY: `lock` lets one caller in until `unlock`, and `queue` is this lock.
unsafe impl<F: Futex> Lock<F> for Mutex<F> {
    fn lock(&self) {
        Mutex::lock(self);
    }

    unsafe fn unlock(&self) {
        // SAFETY: the caller's promise.
        unsafe { Mutex::unlock(self) };
    }

    fn queue(&self) -> Option<&Mutex<F>> {
        Some(self)
    }

    fn lock_moved(&self) {
        self.lock_contended(Timeout::Never, true);
    }
}

// SAFETY: `lock` lets one caller in until `unlock`.
unsafe impl Lock<Private> for LightMutex {
    fn lock(&self) {
        LightMutex::lock(self);
    }

    unsafe fn unlock(&self) {
        // SAFETY: the caller's promise.
        unsafe { LightMutex::unlock(self) };
    }
}

// SAFETY: a writer is alone from `lock_exclusive` to `unlock_exclusive`.
unsafe impl<F: Futex> Lock<F> for RwLock<F> {
    fn lock(&self) {
        self.lock_exclusive();
    }

    unsafe fn unlock(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.unlock_exclusive() };
    }
}
