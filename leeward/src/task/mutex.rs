//! A mutex for tasks: one permit, and a value. Calls `request.rs`.

use core::cell::UnsafeCell;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use super::permits::Permits;
use super::request::{HasPermits, Request};
use crate::atomic::const_fn;
use crate::guard::guard;

/// A mutex whose guard may be held across an `.await`.
///
/// What was done under the lock before happens before the next task has it. See the
/// [module](crate::task) for fairness, cancellation, panics, forks and signals.
///
/// ```
/// # fn block_on<F: Future>(future: F) -> F::Output {
/// #     let mut future = std::pin::pin!(future);
/// #     let mut context = std::task::Context::from_waker(std::task::Waker::noop());
/// #     loop {
/// #         if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut context) { return output }
/// #         std::thread::yield_now();
/// #     }
/// # }
/// use leeward::task::Mutex;
/// static CONNECTION: Mutex<Vec<&str>> = Mutex::const_new(Vec::new());
/// block_on(async {
///     let mut connection = CONNECTION.lock().await;
///     connection.push("request");
///     std::future::ready("written").await;                // the guard stays
///     assert!(CONNECTION.try_lock().is_err());
///     connection.push("response");
/// });
/// assert_eq!(CONNECTION.try_lock().unwrap().len(), 2);
/// ```
///
/// # Cost
/// Free: a compare-exchange to lock, and one to unlock.
pub struct Mutex<T: ?Sized> {
    permits: Permits,
    value: UnsafeCell<T>,
}

// SAFETY: the value goes where the mutex goes.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: one task at a time has the value, on whichever thread.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

impl<T> Mutex<T> {
    const_fn! {
        /// Returns an unlocked mutex.
        pub fn new(value: T) -> Self {
            Mutex { permits: Permits::new(1), value: UnsafeCell::new(value) }
        }
    }

    const_fn! {
        /// Returns an unlocked mutex: [`new`](Self::new) by the name that it has in tokio.
        pub fn const_new(value: T) -> Self {
            Mutex::new(value)
        }
    }

    /// Returns the value.
    ///
    /// ```
    /// assert_eq!(leeward::task::Mutex::new(7).into_inner(), 7);
    /// ```
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Returns a future that is ready with the lock.
    ///
    /// ```
    /// # use std::{future::Future, pin::pin, task::{Context, Waker}};
    /// use leeward::task::Mutex;
    /// let (mutex, mut context) = (Mutex::new(0), Context::from_waker(Waker::noop()));
    /// let guard = mutex.try_lock().unwrap();
    /// let mut next = pin!(mutex.lock());
    /// assert!(next.as_mut().poll(&mut context).is_pending());
    /// drop(guard);                                        // handed over
    /// assert!(mutex.try_lock().is_err());
    /// assert!(next.as_mut().poll(&mut context).is_ready());
    /// ```
    #[inline]
    pub fn lock(&self) -> Lock<'_, T> {
        Lock(Request::new(self, 1))
    }

    /// Locks the mutex if it is free.
    ///
    /// ```
    /// use leeward::task::Mutex;
    /// let mutex = Mutex::new(1);
    /// let guard = mutex.try_lock()?;
    /// assert!(mutex.try_lock().is_err());
    /// # drop(guard);
    /// # Ok::<(), leeward::task::TryLockError>(())
    /// ```
    ///
    /// # Errors
    /// If it is locked.
    #[inline]
    pub fn try_lock(&self) -> Result<MutexGuard<'_, T>, TryLockError> {
        if self.permits.try_take(1) { Ok(MutexGuard { mutex: self }) } else { Err(TryLockError(())) }
    }

    /// Returns the value: nobody else has the mutex.
    ///
    /// ```
    /// let mut mutex = leeward::task::Mutex::new(1);
    /// *mutex.get_mut() = 2;
    /// assert_eq!(mutex.into_inner(), 2);
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T: ?Sized> HasPermits for Mutex<T> {
    #[inline]
    fn permits(&self) -> &Permits {
        &self.permits
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Mutex::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Self {
        Mutex::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Mutex");
        match self.try_lock() {
            Ok(guard) => shown.field("data", &&*guard),
            Err(_) => shown.field("data", &format_args!("<locked>")),
        };
        shown.finish()
    }
}

/// The future that [`Mutex::lock`] returns.
#[must_use = "a future does nothing until it is polled"]
pub struct Lock<'a, T: ?Sized>(Request<&'a Mutex<T>>);

impl<'a, T: ?Sized> Future for Lock<'a, T> {
    type Output = MutexGuard<'a, T>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<MutexGuard<'a, T>> {
        // SAFETY: the request is pinned with the future: nothing moves it out.
        let request = unsafe { self.map_unchecked_mut(|this| &mut this.0) };
        match request.poll(context) {
            Poll::Ready(Ok(mutex)) => Poll::Ready(MutexGuard { mutex }),
            // (A mutex is never closed.)
            Poll::Ready(Err(_)) | Poll::Pending => Poll::Pending,
        }
    }
}

impl<T: ?Sized> fmt::Debug for Lock<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock").finish_non_exhaustive()
    }
}

/// A locked [`Mutex`]'s value. The drop unlocks, on any thread, and hands the mutex to the task
/// that has waited longest.
#[must_use = "the mutex is unlocked at once"]
#[clippy::has_significant_drop]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
}

// SAFETY: it gives no more than a reference to the value.
unsafe impl<T: ?Sized + Send + Sync> Sync for MutexGuard<'_, T> {}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// Returns the mutex that the guard is of.
    ///
    /// ```
    /// use leeward::task::{Mutex, MutexGuard};
    /// let mutex = Mutex::new(1);
    /// let guard = mutex.try_lock().unwrap();
    /// assert!(std::ptr::eq(MutexGuard::mutex(&guard), &mutex));
    /// ```
    pub fn mutex(this: &Self) -> &'a Mutex<T> {
        this.mutex
    }
}

// Locked, by this guard.
guard! { MutexGuard [T: ?Sized], mut self => self.mutex.value.get() }

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.mutex.permits.give(1);
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// The error of `try_lock` and its kin: the lock was held, or a task waits for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TryLockError(pub(super) ());

impl fmt::Display for TryLockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the lock is held")
    }
}

impl core::error::Error for TryLockError {}
