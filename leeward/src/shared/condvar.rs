//! The condition variable of several processes.

use core::time::Duration;

use super::{Mutex, MutexGuard};
use crate::bytes::AnyBytes;
use crate::futex::{Shared, Timeout};
use crate::raw::{self, Requeue, Scheme};

/// A condition variable of several processes, for [`Mutex`]es that they share.
///
/// Promise and cost are [`raw::Condvar`]'s. A notification wakes whom it is for: to move waiters to the mutex, the notifier must
/// be told which it is ([`notify_all_of`](Self::notify_all_of)), since processes map it at different addresses.
///
/// Every process must use the same `S`.
///
/// ```
/// use leeward::shared::{AnyBytes, Condvar, Mutex, Region};
/// #[repr(C)]
/// struct Mailbox {
///     letters: Mutex<u32>,
///     came: Condvar,
/// }
/// // SAFETY: its fields are.
/// unsafe impl AnyBytes for Mailbox {}
///
/// let mailbox = Region::<Mailbox>::create(1, |_| {})?;
/// std::thread::scope(|scope| {
///     // Or another process.
///     scope.spawn(|| {
///         *mailbox.letters.lock() += 1;
///         mailbox.came.notify_one();
///     });
///     let mut letters = mailbox.letters.lock();
///     mailbox.came.wait_while(&mut letters, |letters| *letters == 0);
///     assert_eq!(*letters, 1);
/// });
/// # Ok::<(), leeward::shared::RegionError>(())
/// ```
#[repr(transparent)]
pub struct Condvar<S: Scheme = Requeue> {
    raw: raw::Condvar<S, Shared>,
}

impl Condvar {
    /// One with nobody waiting.
    pub const fn new() -> Self {
        Condvar::with_scheme()
    }
}

impl<S: Scheme> Condvar<S> {
    /// One that notifies as its type says.
    pub const fn with_scheme() -> Self {
        Condvar { raw: raw::Condvar::new() }
    }

    /// Gives up the mutex and waits for a notification; locks the mutex again. May return without one.
    ///
    /// # Panics
    /// In the child of a fork, if the guard was copied with it; so do the others.
    pub fn wait<T: AnyBytes>(&self, guard: &mut MutexGuard<'_, T>) {
        self.wait_until(guard, Timeout::Never);
    }

    /// Waits for as long as the condition holds.
    pub fn wait_while<T: AnyBytes>(&self, guard: &mut MutexGuard<'_, T>, mut condition: impl FnMut(&mut T) -> bool) {
        while condition(guard) {
            self.wait(guard);
        }
    }

    /// As [`wait`](Self::wait), for `limit` at most (and the time that it takes to lock the mutex again); false: the time was
    /// up, and no notification came.
    pub fn wait_for<T: AnyBytes>(&self, guard: &mut MutexGuard<'_, T>, limit: Duration) -> bool {
        self.wait_until(guard, Timeout::after::<Shared>(limit))
    }

    fn wait_until<T: AnyBytes>(&self, guard: &mut MutexGuard<'_, T>, timeout: Timeout) -> bool {
        guard.must_be_ours();
        // SAFETY: the guard, which is this process's, holds the lock, and lends it out until this
        // returns.
        unsafe { self.raw.wait(&guard.mutex.lock, timeout) }
    }

    /// Wakes one of those that wait; whether anybody did.
    pub fn notify_one(&self) -> bool {
        self.raw.notify_one()
    }

    /// Wakes all that wait; how many did.
    pub fn notify_all(&self) -> usize {
        self.raw.notify_all() as usize
    }

    /// As [`notify_one`](Self::notify_one); if the mutex is locked, its unlock wakes the waiter.
    ///
    /// # Safety
    /// All that wait do so with `mutex`.
    pub unsafe fn notify_one_of<T: AnyBytes>(&self, mutex: &Mutex<T>) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.raw.notify_one_of(&mutex.lock) }
    }

    /// As [`notify_all`](Self::notify_all); waiters are woken one by one as the mutex is unlocked.
    ///
    /// # Safety
    /// All that wait do so with `mutex`.
    pub unsafe fn notify_all_of<T: AnyBytes>(&self, mutex: &Mutex<T>) -> usize {
        // SAFETY: the caller's promise.
        unsafe { self.raw.notify_all_of(&mutex.lock) as usize }
    }
}

impl<S: Scheme> Default for Condvar<S> {
    fn default() -> Self {
        Condvar::with_scheme()
    }
}

impl<S: Scheme> core::fmt::Debug for Condvar<S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.raw.fmt(f)
    }
}
