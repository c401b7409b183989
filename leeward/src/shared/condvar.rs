//! The condition variable of several processes. Calls [`raw::Condvar`].

use core::time::Duration;

use super::{Mutex, MutexGuard};
use crate::bytes::AnyBytes;
use crate::futex::{Shared, Timeout};
use crate::raw::{self, Requeue, Scheme};

/// A condition variable of several processes, for [`Mutex`]es that they share.
///
/// Every process must use the same `S`, the [`Scheme`] by which waiters are notified. A
/// notification wakes its waiters plainly. To move them to the mutex instead, the notifier names
/// the mutex ([`notify_all_of`](Self::notify_all_of)), since processes map it at different
/// addresses.
///
/// # Cost
/// As [`raw::Condvar`], whose promise it keeps: notifying while no thread waits is one load.
///
/// # Differences from std
/// - [`wait`](Self::wait) takes the guard by `&mut`.
/// - `notify_one` and `notify_all` say how many threads they woke.
/// - A thread that comes to wait after a notification never takes it; std promises nothing there.
///
/// # Differences from `PTHREAD_PROCESS_SHARED`
/// There are no attributes and nothing to initialise or destroy; time limits are on the monotonic
/// clock.
///
/// # Panics
/// A wait panics in the child of a fork, if its guard was copied with the fork.
///
/// # Fork, signals
/// [As the module says](super#fork). A process that is killed inside of a call may keep others
/// waiting.
///
/// ```
/// use leeward::shared::{AnyBytes, Condvar, Mutex, Region};
/// #[repr(C)]
/// struct Mailbox {
///     letters: Mutex<u32>,
///     came: Condvar,
/// }
/// // SAFETY: its fields are such types.
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
    /// Returns a condition variable for which no thread waits.
    pub const fn new() -> Self {
        Condvar::with_scheme()
    }
}

impl<S: Scheme> Condvar<S> {
    /// Returns a condition variable that notifies as `S` says, for which no thread waits.
    pub const fn with_scheme() -> Self {
        Condvar { raw: raw::Condvar::new_in() }
    }

    /// Unlocks the mutex and waits for a notification; has locked the mutex again when it returns.
    /// May return without a notification.
    ///
    /// # Panics
    /// In the child of a fork, if the guard was copied with it.
    pub fn wait<T: AnyBytes>(&self, guard: &mut MutexGuard<'_, T>) {
        self.wait_until(guard, Timeout::Never);
    }

    /// Waits for as long as `condition` returns true.
    ///
    /// # Panics
    /// As [`wait`](Self::wait).
    pub fn wait_while<T: AnyBytes>(&self, guard: &mut MutexGuard<'_, T>, mut condition: impl FnMut(&mut T) -> bool) {
        while condition(guard) {
            self.wait(guard);
        }
    }

    /// Waits as [`wait`](Self::wait) does, for `limit` at most and for the time that it takes to
    /// lock the mutex again. Returns false if the time was up and no notification came.
    ///
    /// ```
    /// use leeward::shared::{Condvar, Mutex, Region};
    /// use std::time::Duration;
    /// let letters = Region::<Mutex<u32>>::create(1, |_| {})?;
    /// static CAME: Condvar = Condvar::new();
    /// let mut guard = letters.lock();
    /// while *guard == 0 {
    ///     // `wait` is the same without a time.
    ///     if !CAME.wait_for(&mut guard, Duration::from_millis(1)) {
    ///         break;                                  // nothing came
    ///     }
    /// }
    /// assert_eq!(*guard, 0);
    /// # Ok::<(), leeward::shared::RegionError>(())
    /// ```
    ///
    /// # Panics
    /// As [`wait`](Self::wait).
    pub fn wait_for<T: AnyBytes>(&self, guard: &mut MutexGuard<'_, T>, limit: Duration) -> bool {
        self.wait_until(guard, Timeout::after::<Shared>(limit))
    }

    fn wait_until<T: AnyBytes>(&self, guard: &mut MutexGuard<'_, T>, timeout: Timeout) -> bool {
        guard.must_be_ours();
        // SAFETY: the guard, which is this process's, holds the lock, and lends it out until this
        // call returns.
        unsafe { self.raw.wait(&guard.mutex.lock, timeout) }
    }

    /// Wakes one of the threads that wait. Returns true if there was one.
    pub fn notify_one(&self) -> bool {
        self.raw.notify_one()
    }

    /// Wakes all threads that wait. Returns how many there were.
    pub fn notify_all(&self) -> usize {
        self.raw.notify_all() as usize
    }

    /// Notifies as [`notify_one`](Self::notify_one) does; if the mutex is locked, its unlock wakes
    /// the waiter.
    ///
    /// ```
    /// use leeward::raw::WakeOp;
    /// use leeward::shared::{Condvar, Mutex};
    /// static LETTERS: Mutex<u32> = Mutex::new(0);
    /// static CAME: Condvar = Condvar::new();
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         let mut letters = LETTERS.lock();
    ///         *letters += 1;
    ///         // SAFETY: all waiters use this mutex. Its unlock wakes the waiter; the call did not.
    ///         unsafe { CAME.notify_one_of(&LETTERS) };
    ///     });
    ///     let mut letters = LETTERS.lock();
    ///     while *letters == 0 {
    ///         CAME.wait(&mut letters);
    ///     }
    /// });
    /// // SAFETY: as above.
    /// assert_eq!(unsafe { CAME.notify_all_of(&LETTERS) }, 0);
    /// let other: Condvar<WakeOp> = Condvar::with_scheme();
    /// assert_eq!((CAME.notify_all(), other.notify_all()), (0, 0));
    /// ```
    ///
    /// # Safety
    /// All threads that wait on this condition variable do so with `mutex`.
    pub unsafe fn notify_one_of<T: AnyBytes>(&self, mutex: &Mutex<T>) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.raw.notify_one_of(&mutex.lock) }
    }

    /// Notifies as [`notify_all`](Self::notify_all) does; if the mutex is locked, its unlocks wake
    /// the waiters one by one.
    ///
    /// # Safety
    /// All threads that wait on this condition variable do so with `mutex`.
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
