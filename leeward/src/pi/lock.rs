//! A priority-inheriting lock with data, and its guard. Calls [`raw`](super::raw).

use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::time::Duration;

use super::{Error, RawMutex};
use crate::futex::{Deadline, Private};
use crate::guard::guard;
use crate::marker::GuardNoSend;

/// A mutex whose owner inherits the priority of the most urgent thread that waits for it.
///
/// # Cost
/// - Free: a compare-exchange to lock and one to unlock, and a look at the thread's number.
/// - Contended: a system call to lock and one to unlock. Waiters do not spin, since the owner is
///   the thread that should run.
///
/// # Memory ordering
/// Everything that was done under the lock before happens before the return of a call that locks.
///
/// # Fairness
/// The kernel gives a contended lock to the waiter of the highest priority.
///
/// # Differences from std
/// - Nothing is poisoned: a thread that panics unlocks. [`lock`](Self::lock) returns a `Result` for
///   other reasons, which [`Error`] names.
/// - A thread that would wait for itself gets [`Error::Deadlock`]; std's `lock` panics or never
///   returns.
/// - An owner that leaks its guard and exits makes the lock [unusable](Error::OwnerGone).
///
/// # Differences from `PTHREAD_PRIO_INHERIT`
/// - Every wait that would close a circle is [`Error::Deadlock`]. POSIX demands `EDEADLK` only of
///   an error-checking mutex that its own owner locks again.
/// - There is no attribute object and no priority ceiling (`PTHREAD_PRIO_PROTECT`), and a lock is
///   never both inheriting and robust.
/// - Time limits are on the monotonic clock (Linux 5.14; [before](crate::guide::locks_small)), as
///   `pthread_mutex_timedlock`'s are not.
/// - This type serves one process. Locks of several are [`RawMutex<true>`](RawMutex), without data.
///
/// # Panics
/// No call panics.
///
/// # Fork, signals
/// [As the module says](super#fork).
///
/// ```
/// use leeward::pi::{Error, Mutex};
/// use std::time::Duration;
/// let total = Mutex::new(0);
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| *total.lock().unwrap() += 1);
///     }
/// });
/// let guard = total.lock()?;
/// assert_eq!(*guard, 4);
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         let other = total.try_lock_for(Duration::from_millis(1));
///         assert_eq!(other.unwrap_err(), Error::TimedOut);
///     });
/// });
/// # Ok::<(), Error>(())
/// ```
#[derive(Default)]
pub struct Mutex<T: ?Sized> {
    lock: RawMutex,
    value: UnsafeCell<T>,
}

// SAFETY: one thread at a time has the value.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

impl Default for RawMutex {
    fn default() -> RawMutex {
        RawMutex::new()
    }
}

impl<T> Mutex<T> {
    /// Returns an unlocked mutex around `value`.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex { lock: RawMutex::new(), value: UnsafeCell::new(value) }
    }

    /// Returns the value. The mutex is not locked: this call owns it.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Locks the mutex, waiting as long as that takes.
    ///
    /// # Errors
    /// Any [`Error`] but `TimedOut`.
    #[inline]
    pub fn lock(&self) -> Result<MutexGuard<'_, T>, Error> {
        self.lock.lock().map(|()| self.guard())
    }

    /// Locks the mutex if no thread holds it. Makes no system call.
    ///
    /// ```
    /// use leeward::futex::{Deadline, Private};
    /// use leeward::pi::{Error, Mutex};
    /// use std::time::Duration;
    /// let mut total = Mutex::new(0);
    /// let guard = total.try_lock()?;
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         assert_eq!(total.try_lock().unwrap_err(), Error::TimedOut);
    ///         let soon = Deadline::after::<Private>(Duration::from_millis(1));
    ///         assert_eq!(total.try_lock_until(soon).unwrap_err(), Error::TimedOut);
    ///     });
    /// });
    /// drop(guard);
    /// *total.get_mut() += 1;
    /// assert_eq!(total.into_inner(), 1);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`RawMutex::try_lock`].
    #[inline]
    pub fn try_lock(&self) -> Result<MutexGuard<'_, T>, Error> {
        self.lock.try_lock().map(|()| self.guard())
    }

    /// Locks the mutex, waiting for `limit` at most.
    ///
    /// # Errors
    /// Any [`Error`].
    pub fn try_lock_for(&self, limit: Duration) -> Result<MutexGuard<'_, T>, Error> {
        self.try_lock_until(Deadline::after::<Private>(limit))
    }

    /// Locks the mutex, waiting until `deadline` at most.
    ///
    /// # Errors
    /// Any [`Error`].
    pub fn try_lock_until(&self, deadline: Deadline) -> Result<MutexGuard<'_, T>, Error> {
        self.lock.lock_until(deadline).map(|()| self.guard())
    }

    fn guard(&self) -> MutexGuard<'_, T> {
        MutexGuard { mutex: self, is_this_threads: PhantomData }
    }

    /// Returns the value without locking: the mutex is borrowed exclusively.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_lock() {
            Ok(guard) => f.debug_tuple("Mutex").field(&&*guard).finish(),
            Err(_) => f.write_str("Mutex(<locked>)"),
        }
    }
}

/// An exclusive reference to the value of a [`Mutex`]; dropping it unlocks.
///
/// It is not `Send`: the thread that locked unlocks, as the kernel demands. If it is leaked and its
/// thread exits, no thread gets the lock again ([`Error::OwnerGone`]).
///
/// ```
/// use leeward::pi::{Mutex, MutexGuard};
/// let mutex = Mutex::new(vec![1]);
/// let mut guard: MutexGuard<'_, Vec<i32>> = mutex.lock().unwrap();
/// guard.push(2);
/// drop(guard);
/// assert_eq!(mutex.into_inner(), [1, 2]);
/// ```
#[must_use = "it is unlocked at once"]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    is_this_threads: PhantomData<GuardNoSend>,
}

// SAFETY: a shared guard gives shared references to the value only.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// Returns the lock that the guard holds.
    pub(super) fn lock(&self) -> &'a RawMutex {
        &self.mutex.lock
    }
}

// The thread from which the guard does not move has the lock.
guard! { MutexGuard<'_, T> [T: ?Sized], mut self => self.mutex.value.get() }

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this thread, from which the guard does not move, took the lock.
        unsafe { self.mutex.lock.unlock() };
    }
}
