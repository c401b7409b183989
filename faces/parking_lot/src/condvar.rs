//! The condition variable: leeward's, with parking_lot's signatures.

use core::fmt;
use std::time::{Duration, Instant};

use crate::MutexGuard;

/// The result of a timed wait: whether it ended because its time was up.
#[derive(Debug, PartialEq, Eq, Copy, Clone)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Returns true if the time was up and no notification came. After a wait with a condition: of
    /// the last wait, and the condition was not asked again.
    #[inline]
    pub fn timed_out(self) -> bool {
        self.0
    }
}

/// A condition variable, used with the guard of a [`Mutex`](crate::Mutex).
///
/// It is a [`leeward::sync::Condvar`]. A wait may return without a notification; threads that wait
/// at the same time use one mutex, or the wait panics.
///
/// ```
/// use parking_lot::{Condvar, Mutex};
/// static READY: Mutex<bool> = Mutex::new(false);
/// static CHANGED: Condvar = Condvar::new();
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         *READY.lock() = true;
///         CHANGED.notify_one();
///     });
///     let mut ready = READY.lock();
///     while !*ready {
///         CHANGED.wait(&mut ready);
///     }
/// });
/// ```
#[derive(Default)]
pub struct Condvar(leeward::sync::Condvar);

impl Condvar {
    /// Returns a condition variable without waiters.
    #[inline]
    pub const fn new() -> Condvar {
        Condvar(leeward::sync::Condvar::new())
    }

    /// Wakes one waiter; returns true if there was one.
    #[inline]
    pub fn notify_one(&self) -> bool {
        self.0.notify_one()
    }

    /// Wakes all waiters; returns how many there were.
    #[inline]
    pub fn notify_all(&self) -> usize {
        self.0.notify_all()
    }

    /// Unlocks the mutex, waits for a notification, and locks the mutex again.
    ///
    /// # Panics
    /// If another thread waits with another mutex. This holds for all waits.
    #[inline]
    #[track_caller]
    pub fn wait<T: ?Sized>(&self, mutex_guard: &mut MutexGuard<'_, T>) {
        self.0.wait(mutex_guard);
    }

    /// Waits as [`wait`](Self::wait) does, until `timeout` at most.
    #[inline]
    #[track_caller]
    pub fn wait_until<T: ?Sized>(&self, mutex_guard: &mut MutexGuard<'_, T>, timeout: Instant) -> WaitTimeoutResult {
        WaitTimeoutResult(self.0.wait_until(mutex_guard, timeout).timed_out())
    }

    /// Waits as [`wait`](Self::wait) does, for `timeout` at most.
    #[inline]
    #[track_caller]
    pub fn wait_for<T: ?Sized>(&self, mutex_guard: &mut MutexGuard<'_, T>, timeout: Duration) -> WaitTimeoutResult {
        WaitTimeoutResult(self.0.wait_for(mutex_guard, timeout).timed_out())
    }

    /// Waits as [`wait`](Self::wait) does, for as long as `condition` returns true.
    #[inline]
    #[track_caller]
    pub fn wait_while<T, F>(&self, mutex_guard: &mut MutexGuard<'_, T>, condition: F)
    where
        T: ?Sized,
        F: FnMut(&mut T) -> bool,
    {
        self.0.wait_while(mutex_guard, condition);
    }

    /// Waits as [`wait`](Self::wait) does, for as long as `condition` returns true, and until
    /// `timeout` at most.
    #[inline]
    #[track_caller]
    pub fn wait_while_until<T, F>(
        &self,
        mutex_guard: &mut MutexGuard<'_, T>,
        condition: F,
        timeout: Instant,
    ) -> WaitTimeoutResult
    where
        T: ?Sized,
        F: FnMut(&mut T) -> bool,
    {
        self.wait_while_at(mutex_guard, condition, Some(timeout))
    }

    /// Waits as [`wait`](Self::wait) does, for as long as `condition` returns true, and for `timeout`
    /// at most.
    #[inline]
    #[track_caller]
    pub fn wait_while_for<T: ?Sized, F>(
        &self,
        mutex_guard: &mut MutexGuard<'_, T>,
        condition: F,
        timeout: Duration,
    ) -> WaitTimeoutResult
    where
        F: FnMut(&mut T) -> bool,
    {
        self.wait_while_at(mutex_guard, condition, Instant::now().checked_add(timeout))
    }

    /// Waits for as long as `condition` returns true, until `deadline` at most; `None` is too late for
    /// an `Instant`. (leeward's asks the condition once more when the time is up.)
    #[track_caller]
    fn wait_while_at<T, F>(
        &self,
        mutex_guard: &mut MutexGuard<'_, T>,
        mut condition: F,
        deadline: Option<Instant>,
    ) -> WaitTimeoutResult
    where
        T: ?Sized,
        F: FnMut(&mut T) -> bool,
    {
        let mut result = WaitTimeoutResult(false);
        while !result.timed_out() && condition(&mut **mutex_guard) {
            match deadline {
                Some(instant) => result = self.wait_until(mutex_guard, instant),
                None => self.wait(mutex_guard),
            }
        }
        result
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Condvar { .. }")
    }
}
