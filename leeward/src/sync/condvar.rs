//! The condition variable with guards: `raw::Condvar` for `lock_api`'s mutexes.

use core::time::Duration;
use std::time::Instant;

use lock_api::{MutexGuard, RawMutex};

use crate::futex::{Deadline, Futex, Private, Timeout};
use crate::raw;

/// Whether a timed wait ended because its time was up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// The time was up, and no notification came.
    ///
    /// ```
    /// use leeward::sync::{Condvar, Mutex};
    /// use std::time::Duration;
    /// let (mutex, condition) = (Mutex::new(()), Condvar::new());
    /// assert!(condition.wait_for(&mut mutex.lock(), Duration::ZERO).timed_out());
    /// ```
    pub fn timed_out(self) -> bool {
        self.0
    }
}

/// A condition variable for the threads of one process.
///
/// Waits give up the mutex and have it again when they return. A notification wakes at least one of those that wait when
/// it is issued, and nobody who comes later takes it from them; a wait may return without one, so ask for the condition
/// again, or use [`wait_while`](Self::wait_while). Notifying while nobody waits is one load. Notified with the lock held,
/// waiters are moved to the lock, and run one after the other as it is unlocked.
///
/// Works with each mutex of this library. `S` says how waiters are notified ([`raw::Scheme`]): the default,
/// [`raw::Requeue`], is never far from the best, and [`raw::WakeOp`] is faster where a few waiters have processors of
/// their own.
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
pub struct Condvar<S: raw::Scheme = raw::Requeue, F: Futex = Private> {
    raw: raw::Condvar<S, F>,
}

impl Condvar {
    /// One with nobody waiting.
    pub const fn new() -> Self {
        Condvar::with_scheme()
    }
}

impl<S: raw::Scheme, F: Futex> Condvar<S, F> {
    /// One that notifies as its type says.
    ///
    /// ```
    /// use leeward::{raw, sync::Condvar};
    /// let condition: Condvar<raw::WakeOp> = Condvar::with_scheme();
    /// assert!(!condition.notify_one());
    /// ```
    pub const fn with_scheme() -> Self {
        Condvar { raw: raw::Condvar::new() }
    }

    /// Gives up the mutex and waits for a notification; locks the mutex again.
    ///
    /// # Panics
    /// If others wait with another mutex, as all waits do.
    pub fn wait<R: RawMutex + raw::Lock<F>, T: ?Sized>(&self, guard: &mut MutexGuard<'_, R, T>) {
        self.wait_raw(guard, Timeout::Never);
    }

    /// Waits for as long as the condition holds.
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

    /// As [`wait`](Self::wait), no longer than `limit` (and the time that it takes to lock the mutex again).
    pub fn wait_for<R, T>(&self, guard: &mut MutexGuard<'_, R, T>, limit: Duration) -> WaitTimeoutResult
    where
        R: RawMutex + raw::Lock<F>,
        T: ?Sized,
    {
        self.wait_raw(guard, Timeout::after::<F>(limit))
    }

    /// As [`wait`](Self::wait), until `instant` at most (and the time that it takes to lock the mutex again).
    pub fn wait_until<R, T>(&self, guard: &mut MutexGuard<'_, R, T>, instant: Instant) -> WaitTimeoutResult
    where
        R: RawMutex + raw::Lock<F>,
        T: ?Sized,
    {
        self.wait_raw(guard, Timeout::At(raw::deadline::<F>(instant)))
    }

    /// Waits for as long as the condition holds, no longer than `limit`.
    pub fn wait_while_for<R, T, C>(
        &self,
        guard: &mut MutexGuard<'_, R, T>,
        mut condition: C,
        limit: Duration,
    ) -> WaitTimeoutResult
    where
        R: RawMutex + raw::Lock<F>,
        T: ?Sized,
        C: FnMut(&mut T) -> bool,
    {
        let deadline = Deadline::after::<F>(limit);
        let mut result = WaitTimeoutResult(false);
        while !result.timed_out() && condition(&mut **guard) {
            result = self.wait_raw(guard, Timeout::At(deadline));
        }
        WaitTimeoutResult(result.timed_out() && condition(&mut **guard))
    }

    fn wait_raw<R: RawMutex + raw::Lock<F>, T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, R, T>,
        timeout: Timeout,
    ) -> WaitTimeoutResult {
        // SAFETY: the guard is not used before the mutex is locked again.
        let lock = unsafe { MutexGuard::mutex(guard).raw() };
        // SAFETY: the guard holds the lock. A second mutex is refused where it matters: waiters of a lock that takes moved
        // ones are moved to no other.
        WaitTimeoutResult(!unsafe { self.raw.wait(lock, timeout) })
    }

    /// Wakes one of those that wait; whether anybody did.
    pub fn notify_one(&self) -> bool {
        self.raw.notify_one()
    }

    /// Wakes all that wait; how many did.
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
