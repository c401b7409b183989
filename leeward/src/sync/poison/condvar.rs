//! std's `Condvar`: [`sync::Condvar`] with guards that are moved.

use core::fmt;
use core::time::Duration;
use std::sync::{LockResult, PoisonError};

use super::{MutexGuard, WaitTimeoutResult};
use crate::futex::{Deadline, Private, Timeout};
use crate::sync;

/// A condition variable for the threads of one process, used with the guard of a
/// [`Mutex`](super::Mutex).
///
/// A wait takes the guard, unlocks the mutex, and locks it again before it returns the guard. It may
/// return without a notification, so check the condition in a loop, or use
/// [`wait_while`](Self::wait_while).
///
/// ```
/// use leeward::sync::poison::{Condvar, Mutex};
/// use std::time::Duration;
/// static READY: Mutex<bool> = Mutex::new(false);
/// static CHANGED: Condvar = Condvar::new();
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         *READY.lock().unwrap() = true;
///         CHANGED.notify_one();
///     });
///     let mut ready = READY.lock().unwrap();
///     while !*ready {
///         ready = CHANGED.wait(ready).unwrap();
///     }
///     let (ready, result) = CHANGED.wait_timeout(ready, Duration::ZERO).unwrap();
///     assert!(*ready && result.timed_out());
/// });
/// ```
///
/// Cost, fork and signals: [`raw::Condvar`](crate::raw::Condvar).
///
/// # Errors
/// Each wait returns an error if the mutex is poisoned when the thread has locked it again. The error
/// has what the call returns otherwise.
///
/// # Panics
/// Each wait panics if other threads wait with another mutex. The mutex is unlocked, and poisoned.
pub struct Condvar {
    condvar: sync::Condvar,
}

impl Condvar {
    /// Returns a condition variable without waiters.
    pub const fn new() -> Condvar {
        Condvar { condvar: sync::Condvar::new() }
    }

    /// Unlocks the mutex, waits for a notification, and locks the mutex again.
    ///
    /// # Errors
    /// As the [type](Self#errors) says.
    #[track_caller]
    pub fn wait<'a, T: ?Sized>(&self, mut guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        self.condvar.wait(&mut guard.guard);
        guard.watch.flag().result(guard)
    }

    /// Waits as [`wait`](Self::wait) does, for as long as `condition` returns true.
    ///
    /// # Errors
    /// As the [type](Self#errors) says: after the first wait that returns an error, `condition` is not
    /// asked any more.
    ///
    /// ```
    /// use leeward::sync::poison::{Condvar, Mutex};
    /// let (jobs, more) = (Mutex::new(vec![1]), Condvar::new());
    /// let mut jobs = more.wait_while(jobs.lock().unwrap(), |jobs| jobs.is_empty()).unwrap();
    /// assert_eq!(jobs.pop(), Some(1));
    /// ```
    #[track_caller]
    pub fn wait_while<'a, T: ?Sized, F: FnMut(&mut T) -> bool>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: F,
    ) -> LockResult<MutexGuard<'a, T>> {
        while condition(&mut guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// Waits as [`wait`](Self::wait) does, for `limit` at most (and the time that it takes to lock the
    /// mutex again).
    ///
    /// # Errors
    /// As the [type](Self#errors) says.
    #[track_caller]
    pub fn wait_timeout<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        limit: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        self.wait_at_most(guard, Timeout::after::<Private>(limit))
    }

    /// Waits as [`wait_timeout`](Self::wait_timeout) does, for `ms` milliseconds at most; returns false
    /// if the time was up.
    ///
    /// # Errors
    /// As the [type](Self#errors) says.
    #[deprecated(note = "replaced by `wait_timeout`, in std since Rust 1.6")]
    #[track_caller]
    pub fn wait_timeout_ms<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        ms: u32,
    ) -> LockResult<(MutexGuard<'a, T>, bool)> {
        let limit = Duration::from_millis(ms.into());
        let (guard, result) = self.wait_timeout(guard, limit).unwrap_or_else(PoisonError::into_inner);
        guard.watch.flag().result((guard, !result.timed_out()))
    }

    /// Waits as [`wait`](Self::wait) does, for as long as `condition` returns true, and for `limit` at
    /// most. The result says that the time was up only if `condition` still returned true then.
    ///
    /// # Errors
    /// As [`wait_while`](Self::wait_while).
    ///
    /// ```
    /// use leeward::sync::poison::{Condvar, Mutex};
    /// use std::time::Duration;
    /// let (jobs, more) = (Mutex::new(Vec::<u32>::new()), Condvar::new());
    /// let limit = Duration::from_millis(1);
    /// let (jobs, result) = more.wait_timeout_while(jobs.lock().unwrap(), limit, |jobs| jobs.is_empty()).unwrap();
    /// assert!(result.timed_out() && jobs.is_empty()); // no job came
    /// ```
    #[track_caller]
    pub fn wait_timeout_while<'a, T: ?Sized, F: FnMut(&mut T) -> bool>(
        &self,
        mut guard: MutexGuard<'a, T>,
        limit: Duration,
        mut condition: F,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let timeout = Timeout::At(Deadline::after::<Private>(limit));
        let mut result = WaitTimeoutResult(false);
        loop {
            if !condition(&mut guard) {
                return Ok((guard, WaitTimeoutResult(false)));
            }
            if result.timed_out() {
                return Ok((guard, result));
            }
            (guard, result) = self.wait_at_most(guard, timeout)?;
        }
    }

    /// Waits until `timeout` at most.
    #[track_caller]
    fn wait_at_most<'a, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'a, T>,
        timeout: Timeout,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let result = self.condvar.wait_raw(&mut guard.guard, timeout);
        guard.watch.flag().result((guard, result))
    }

    /// Wakes one waiter, if there is one.
    pub fn notify_one(&self) {
        self.condvar.notify_one();
    }

    /// Wakes all waiters, if there are any.
    pub fn notify_all(&self) {
        self.condvar.notify_all();
    }
}

impl Default for Condvar {
    fn default() -> Condvar {
        Condvar::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}
