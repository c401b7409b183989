//! A mutex for tasks: one permit, and a value. Calls `request.rs` and, for threads, `blocking.rs`.

use alloc::sync::Arc;
use core::cell::UnsafeCell;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use super::blocking::wait;
use super::permits::Permits;
use super::request::{HasPermits, Request};
use super::side::side;
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
        if self.permits.try_take(1) { Ok(MutexGuard { lock: self }) } else { Err(TryLockError(())) }
    }

    /// Returns a future that is ready with the lock, by a guard that keeps the mutex alive: for a task
    /// that outlives the borrow, or a guard in a struct without a lifetime.
    ///
    /// ```
    /// # use std::{future::Future, pin::pin, sync::Arc, task::{Context, Poll, Waker}};
    /// use leeward::task::Mutex;
    /// let mutex = Arc::new(Mutex::new(0));
    /// let locking = mutex.clone().lock_owned();
    /// let Poll::Ready(mut guard) = pin!(locking).poll(&mut Context::from_waker(Waker::noop())) else {
    ///     unreachable!("nobody has it")
    /// };
    /// std::thread::spawn(move || *guard += 1).join().unwrap();
    /// assert_eq!(*mutex.try_lock().unwrap(), 1);
    /// ```
    #[inline]
    pub fn lock_owned(self: Arc<Self>) -> LockOwned<T> {
        LockOwned(Request::new(self, 1))
    }

    /// Locks the mutex if it is free, by a guard that keeps the mutex alive.
    ///
    /// ```
    /// use leeward::task::Mutex;
    /// use std::sync::Arc;
    /// let mutex = Arc::new(Mutex::new(1));
    /// let guard = mutex.clone().try_lock_owned()?;
    /// assert!(mutex.try_lock_owned().is_err());
    /// # drop(guard);
    /// # Ok::<(), leeward::task::TryLockError>(())
    /// ```
    ///
    /// # Errors
    /// If it is locked.
    #[inline]
    pub fn try_lock_owned(self: Arc<Self>) -> Result<OwnedMutexGuard<T>, TryLockError> {
        if self.permits.try_take(1) { Ok(OwnedMutexGuard { lock: self }) } else { Err(TryLockError(())) }
    }

    /// Locks the mutex; the thread waits, in turn with the tasks. For code that is not async: see
    /// [the module](crate::task#threads-that-wait).
    ///
    /// ```
    /// use leeward::task::Mutex;
    /// let mutex = Mutex::new(0);
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| *mutex.blocking_lock() += 1);
    /// });
    /// assert_eq!(*mutex.blocking_lock(), 1);
    /// ```
    #[inline]
    pub fn blocking_lock(&self) -> MutexGuard<'_, T> {
        if self.permits.take(1) { MutexGuard { lock: self } } else { wait(self.lock()) }
    }

    /// Locks the mutex as [`blocking_lock`](Self::blocking_lock) does, by a guard that keeps it alive.
    ///
    /// ```
    /// use leeward::task::Mutex;
    /// use std::sync::Arc;
    /// let mutex = Arc::new(Mutex::new(0));
    /// let mut guard = mutex.clone().blocking_lock_owned();
    /// *guard += 1;
    /// drop(mutex);
    /// assert_eq!(*guard, 1);
    /// ```
    #[inline]
    pub fn blocking_lock_owned(self: Arc<Self>) -> OwnedMutexGuard<T> {
        if self.permits.take(1) { OwnedMutexGuard { lock: self } } else { wait(self.lock_owned()) }
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

side!(Lock ['a] of "Mutex::lock", MutexGuard, &'a Mutex<T>, 1, [mut],
    ["Mutex::new(5)", "try_lock", "lock.lock()"],
    "A locked [`Mutex`]'s value. The drop unlocks, on any thread, and hands the mutex to the task that has \
    waited longest.");
side!(LockOwned [] of "Mutex::lock_owned", OwnedMutexGuard, Arc<Mutex<T>>, 1, [mut],
    ["Mutex::new(5)", "try_lock", "Arc::clone(&lock).lock_owned()"],
    "A locked [`Mutex`]'s value, which keeps the mutex alive. The drop unlocks, on any thread, as that of a \
    [`MutexGuard`] does.");

// SAFETY: it gives no more than a reference to the value.
unsafe impl<T: ?Sized + Send + Sync> Sync for MutexGuard<'_, T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send + Sync> Sync for OwnedMutexGuard<T> {}

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
        this.lock
    }
}

impl<T: ?Sized> OwnedMutexGuard<T> {
    /// Returns the mutex that the guard is of.
    ///
    /// ```
    /// use leeward::task::{Mutex, OwnedMutexGuard};
    /// use std::sync::Arc;
    /// let mutex = Arc::new(Mutex::new(1));
    /// let guard = mutex.clone().try_lock_owned().unwrap();
    /// assert!(Arc::ptr_eq(OwnedMutexGuard::mutex(&guard), &mutex));
    /// ```
    pub fn mutex(this: &Self) -> &Arc<Mutex<T>> {
        &this.lock
    }
}

/// The error of `try_lock` and its kin: the lock was held, or a task waits for it.
///
/// ```
/// use leeward::task::{Mutex, TryLockError};
/// fn note(log: &Mutex<Vec<u32>>) -> Result<(), TryLockError> {
///     log.try_lock()?.push(1);
///     Ok(())
/// }
/// let log = Mutex::new(vec![]);
/// assert!(note(&log).is_ok());
/// let _guard = log.try_lock().unwrap();
/// assert_eq!(note(&log).unwrap_err().to_string(), "the lock is held");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TryLockError(pub(super) ());

impl fmt::Display for TryLockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the lock is held")
    }
}

impl core::error::Error for TryLockError {}
