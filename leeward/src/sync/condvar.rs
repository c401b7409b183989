//! The condition variable with guards: [`raw::Condvar`] for `lock_api`'s mutexes.

use core::time::Duration;
use std::time::Instant;

use lock_api::{MutexGuard, RawMutex};

use crate::futex::{Deadline, Futex, Private, Timeout};
use crate::raw;

/// The result of a timed wait: whether it ended because its time was up.
///
/// ```
/// use leeward::sync::{Condvar, Mutex, WaitTimeoutResult};
/// use std::time::Duration;
/// let (mutex, condition) = (Mutex::new(()), Condvar::new());
/// let result: WaitTimeoutResult = condition.wait_for(&mut mutex.lock(), Duration::ZERO);
/// assert!(result.timed_out());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitTimeoutResult(pub(super) bool);

impl WaitTimeoutResult {
    /// Returns true if the time was up and no notification came. After a wait with a condition: if
    /// the condition still held then.
    pub fn timed_out(self) -> bool {
        self.0
    }
}

/// A condition variable for the threads of one process, used with the guard of a mutex.
///
/// A wait unlocks the mutex and locks it again before it returns. It may return without a
/// notification, so check the condition in a loop, or use [`wait_while`](Self::wait_while). A
/// notification wakes at least one of the threads that wait when it is issued, and no thread that
/// comes later takes it from them.
///
/// It works with the guards of [`Mutex`](super::Mutex), [`LightMutex`](super::LightMutex) and
/// [`asym::Mutex`](crate::asym::Mutex); `shared` has a condition variable of its own, and `pi` and
/// `robust` locks have none. `S` says how waiters are notified ([`raw::Scheme`]): the default,
/// [`raw::Requeue`], is never far from the best, and [`raw::WakeOp`] is faster where a few waiters
/// have processors of their own.
///
/// ```
/// use leeward::sync::{Condvar, Mutex};
/// static READY: Mutex<bool> = Mutex::new(false);
/// static CHANGED: Condvar = Condvar::new();
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         *READY.lock() = true;
///         CHANGED.notify_one();
///     });
///     let mut ready = READY.lock();
///     CHANGED.wait_while(&mut ready, |ready| !*ready);
///     assert!(*ready);
/// });
/// ```
///
/// Cost, fork and signals: [`raw::Condvar`].
///
/// # Differences from std
/// - Waits borrow the guard; std's, and those of `sync::poison`, consume and return it.
///   `wait_timeout` is [`wait_for`](Self::wait_for), and `wait_timeout_while` is
///   [`wait_while_for`](Self::wait_while_for).
/// - `notify_one` and `notify_all` return whether, and how many, threads were notified.
/// - Waiters that are notified while the mutex is held are moved to it, and run one after the other
///   as it is unlocked.
/// - Threads that wait at the same time must use one mutex: see [`wait`](Self::wait). In std
///   that may panic or not, as the platform has it.
/// - 32 bytes instead of 4.
///
/// # Differences from parking_lot
/// - A wait may return without a notification.
/// - 32 bytes instead of 8.
pub struct Condvar<S: raw::Scheme = raw::Requeue, F: Futex = Private> {
    raw: raw::Condvar<S, F>,
}

impl Condvar {
    /// Returns a condition variable without waiters, of the default scheme.
    pub const fn new() -> Self {
        Condvar::with_scheme()
    }
}

impl<S: raw::Scheme, F: Futex> Condvar<S, F> {
    /// Returns a condition variable that notifies as its type says.
    ///
    /// ```
    /// use leeward::{raw, sync::Condvar};
    /// let condition: Condvar<raw::WakeOp> = Condvar::with_scheme();
    /// assert!(!condition.notify_one());
    /// ```
    pub const fn with_scheme() -> Self {
        Condvar { raw: raw::Condvar::new_in() }
    }

    /// Unlocks the mutex, waits for a notification, and locks the mutex again.
    ///
    /// ```
    /// use leeward::sync::{Condvar, Mutex};
    /// static JOBS: Mutex<Vec<u32>> = Mutex::new(Vec::new());
    /// static MORE: Condvar = Condvar::new();
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         JOBS.lock().push(7);
    ///         MORE.notify_all();
    ///     });
    ///     let mut jobs = JOBS.lock();
    ///     while jobs.is_empty() {
    ///         MORE.wait(&mut jobs);
    ///     }
    ///     assert_eq!(*jobs, [7]);
    /// });
    /// ```
    ///
    /// # Panics
    /// With the scheme [`raw::Requeue`], if other threads wait with another mutex and one of the
    /// two is a [`Mutex`](super::Mutex), which takes moved waiters. The mutex is still locked then.
    /// This holds for all waits.
    #[track_caller]
    pub fn wait<R: RawMutex + raw::Lock<F>, T: ?Sized>(&self, guard: &mut MutexGuard<'_, R, T>) {
        self.wait_raw(guard, Timeout::Never);
    }

    /// Waits as [`wait`](Self::wait) does, for as long as `condition` returns true.
    #[track_caller]
    pub fn wait_while<R, T, C>(&self, guard: &mut MutexGuard<'_, R, T>, mut condition: C)
    where
        R: RawMutex + raw::Lock<F>,
        T: ?Sized,
        C: FnMut(&mut T) -> bool,
    {
        while condition(&mut **guard) {
            self.wait(guard);
        }
    }

    #[doc(alias = "wait_timeout")]
    /// Waits as [`wait`](Self::wait) does, for `limit` at most (and the time that it takes to lock
    /// the mutex again).
    ///
    /// ```
    /// use leeward::sync::{Condvar, Mutex};
    /// use std::time::{Duration, Instant};
    /// let (jobs, more) = (Mutex::new(Vec::<u32>::new()), Condvar::new());
    /// let mut guard = jobs.lock();
    /// let until = Instant::now() + Duration::from_millis(1);
    /// while guard.is_empty() {
    ///     if more.wait_until(&mut guard, until).timed_out() {
    ///         break;
    ///     }
    /// }
    /// assert!(more.wait_for(&mut guard, Duration::ZERO).timed_out() && guard.is_empty());
    /// ```
    #[track_caller]
    pub fn wait_for<R, T>(&self, guard: &mut MutexGuard<'_, R, T>, limit: Duration) -> WaitTimeoutResult
    where
        R: RawMutex + raw::Lock<F>,
        T: ?Sized,
    {
        self.wait_raw(guard, Timeout::after::<F>(limit))
    }

    /// Waits as [`wait`](Self::wait) does, until `instant` at most (and the time that it takes to
    /// lock the mutex again).
    #[track_caller]
    pub fn wait_until<R, T>(&self, guard: &mut MutexGuard<'_, R, T>, instant: Instant) -> WaitTimeoutResult
    where
        R: RawMutex + raw::Lock<F>,
        T: ?Sized,
    {
        self.wait_raw(guard, Timeout::At(raw::deadline::<F>(instant)))
    }

    #[doc(alias = "wait_timeout_while")]
    /// Waits as [`wait`](Self::wait) does, for as long as `condition` returns true, and for `limit`
    /// at most. The result says that the time was up only if `condition` still returned true then.
    ///
    /// ```
    /// use leeward::sync::{Condvar, Mutex};
    /// use std::time::Duration;
    /// let (jobs, more) = (Mutex::new(Vec::<u32>::new()), Condvar::new());
    /// let mut guard = jobs.lock();
    /// let result = more.wait_while_for(&mut guard, |jobs| jobs.is_empty(), Duration::from_millis(1));
    /// assert!(result.timed_out());                    // no job came
    /// ```
    #[track_caller]
    pub fn wait_while_for<R, T, C>(
        &self,
        guard: &mut MutexGuard<'_, R, T>,
        condition: C,
        limit: Duration,
    ) -> WaitTimeoutResult
    where
        R: RawMutex + raw::Lock<F>,
        T: ?Sized,
        C: FnMut(&mut T) -> bool,
    {
        self.wait_while_at(guard, condition, Deadline::after::<F>(limit))
    }

    /// Waits as [`wait`](Self::wait) does, for as long as `condition` returns true, and until
    /// `instant` at most. The result says that the time was up only if `condition` still returned
    /// true then.
    ///
    /// ```
    /// use leeward::sync::{Condvar, Mutex};
    /// use std::time::Instant;
    /// let (jobs, more) = (Mutex::new(vec![1]), Condvar::new());
    /// let mut guard = jobs.lock();
    /// let result = more.wait_while_until(&mut guard, |jobs| jobs.is_empty(), Instant::now());
    /// assert!(!result.timed_out());
    /// ```
    #[track_caller]
    pub fn wait_while_until<R, T, C>(
        &self,
        guard: &mut MutexGuard<'_, R, T>,
        condition: C,
        instant: Instant,
    ) -> WaitTimeoutResult
    where
        R: RawMutex + raw::Lock<F>,
        T: ?Sized,
        C: FnMut(&mut T) -> bool,
    {
        self.wait_while_at(guard, condition, raw::deadline::<F>(instant))
    }

    /// Waits for as long as `condition` returns true, until `deadline` at most.
    #[track_caller]
    fn wait_while_at<R, T, C>(
        &self,
        guard: &mut MutexGuard<'_, R, T>,
        mut condition: C,
        deadline: Deadline,
    ) -> WaitTimeoutResult
    where
        R: RawMutex + raw::Lock<F>,
        T: ?Sized,
        C: FnMut(&mut T) -> bool,
    {
        let mut result = WaitTimeoutResult(false);
        while !result.timed_out() && condition(&mut **guard) {
            result = self.wait_raw(guard, Timeout::At(deadline));
        }
        WaitTimeoutResult(result.timed_out() && condition(&mut **guard))
    }

    /// Waits by the raw condition variable.
    #[track_caller]
    pub(super) fn wait_raw<R: RawMutex + raw::Lock<F>, T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, R, T>,
        timeout: Timeout,
    ) -> WaitTimeoutResult {
        // SAFETY: the guard is not used before the mutex is locked again.
        let lock = unsafe { MutexGuard::mutex(guard).raw() };
        // SAFETY: the guard holds the lock. A second mutex is refused where waiters might be moved
        // to the wrong one.
        WaitTimeoutResult(!unsafe { self.raw.wait(lock, timeout) })
    }

    /// Wakes one waiter; returns true if there was one.
    pub fn notify_one(&self) -> bool {
        self.raw.notify_one()
    }

    /// Wakes all waiters; returns how many there were.
    pub fn notify_all(&self) -> usize {
        self.raw.notify_all() as usize
    }
}

impl<S: raw::Scheme, F: Futex> Default for Condvar<S, F> {
    fn default() -> Self {
        Condvar::with_scheme()
    }
}

impl<S: raw::Scheme, F: Futex> core::fmt::Debug for Condvar<S, F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.raw.fmt(f)
    }
}
