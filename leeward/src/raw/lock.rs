//! What a condition variable asks of a lock: to be unlocked and locked, and where its sleepers may be moved.

use super::Mutex;
use crate::futex::Futex;

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
