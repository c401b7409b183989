//! A readers-writer lock for tasks: a reader takes one permit, a writer all. Calls `request.rs`.

use core::cell::UnsafeCell;
use core::fmt;
use core::future::Future;
use core::mem::ManuallyDrop;
use core::pin::Pin;
use core::task::{Context, Poll};

use super::mutex::TryLockError;
use super::permits::Permits;
use super::request::{HasPermits, Request};
use crate::atomic::const_fn;
use crate::guard::guard;

/// A writer's permits: all there are, and the greatest number of readers.
const ALL: u32 = u32::MAX >> 3;

/// A readers-writer lock whose guards may be held across an `.await`.
///
/// Readers and writers are served in the order in which they came: a reader that comes while a
/// writer waits, waits behind it. So a task that reads must not ask to read again, while a writer
/// may come in between. No more than 2^29 - 1 tasks read at a time; the next one waits.
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
/// use leeward::task::RwLock;
/// static ROUTES: RwLock<Vec<&str>> = RwLock::const_new(Vec::new());
/// block_on(async {
///     ROUTES.write().await.push("/");
///     let (one, other) = (ROUTES.read().await, ROUTES.read().await);
///     std::future::ready(()).await;                       // the guards stay
///     assert_eq!(one.len() + other.len(), 2);
/// });
/// ```
///
/// # Cost
/// Free: a compare-exchange to lock, and one to unlock, of a word that all readers share. For data
/// that is nearly always read, and not across an `.await`, [`rcu`](crate::rcu) has readers that
/// share nothing.
pub struct RwLock<T: ?Sized> {
    permits: Permits,
    value: UnsafeCell<T>,
}

// SAFETY: the value goes where the lock goes.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: one task at a time has the value, or several have shared references to it.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

impl<T> RwLock<T> {
    const_fn! {
        /// Returns an unlocked lock.
        pub fn new(value: T) -> Self {
            RwLock { permits: Permits::new(ALL as usize), value: UnsafeCell::new(value) }
        }
    }

    const_fn! {
        /// Returns an unlocked lock: [`new`](Self::new) by the name that it has in tokio.
        pub fn const_new(value: T) -> Self {
            RwLock::new(value)
        }
    }

    /// Returns the value.
    ///
    /// ```
    /// assert_eq!(leeward::task::RwLock::new(7).into_inner(), 7);
    /// ```
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Returns a future that is ready with a reader's lock.
    ///
    /// ```
    /// # use std::{future::Future, pin::pin, task::{Context, Waker}};
    /// use leeward::task::RwLock;
    /// let (lock, mut context) = (RwLock::new(0), Context::from_waker(Waker::noop()));
    /// let writer = lock.try_write().unwrap();
    /// let mut reader = pin!(lock.read());
    /// assert!(reader.as_mut().poll(&mut context).is_pending());
    /// drop(writer);
    /// assert!(reader.as_mut().poll(&mut context).is_ready());
    /// ```
    #[inline]
    pub fn read(&self) -> Read<'_, T> {
        Read(Request::new(self, 1))
    }

    /// Returns a future that is ready with a writer's lock.
    ///
    /// ```
    /// # use std::{future::Future, pin::pin, task::{Context, Waker}};
    /// use leeward::task::RwLock;
    /// let (lock, mut context) = (RwLock::new(0), Context::from_waker(Waker::noop()));
    /// let reader = lock.try_read().unwrap();
    /// let mut writer = pin!(lock.write());
    /// assert!(writer.as_mut().poll(&mut context).is_pending());
    /// assert!(lock.try_read().is_err());                  // the writer's turn comes first
    /// drop(reader);
    /// assert!(writer.as_mut().poll(&mut context).is_ready());
    /// ```
    #[inline]
    pub fn write(&self) -> Write<'_, T> {
        Write(Request::new(self, ALL))
    }

    /// Locks for reading if no task writes or waits.
    ///
    /// ```
    /// use leeward::task::RwLock;
    /// let lock = RwLock::new(1);
    /// let (one, other) = (lock.try_read()?, lock.try_read()?);
    /// assert_eq!(*one + *other, 2);
    /// # Ok::<(), leeward::task::TryLockError>(())
    /// ```
    ///
    /// # Errors
    /// If a task writes, or waits.
    #[inline]
    pub fn try_read(&self) -> Result<RwLockReadGuard<'_, T>, TryLockError> {
        if self.permits.try_take(1) { Ok(RwLockReadGuard { lock: self }) } else { Err(TryLockError(())) }
    }

    /// Locks for writing if the lock is free.
    ///
    /// ```
    /// use leeward::task::RwLock;
    /// let lock = RwLock::new(1);
    /// *lock.try_write()? += 1;
    /// let reader = lock.try_read()?;
    /// assert!(*reader == 2 && lock.try_write().is_err());
    /// # Ok::<(), leeward::task::TryLockError>(())
    /// ```
    ///
    /// # Errors
    /// If a task reads or writes.
    #[inline]
    pub fn try_write(&self) -> Result<RwLockWriteGuard<'_, T>, TryLockError> {
        if self.permits.try_take(ALL) { Ok(RwLockWriteGuard { lock: self }) } else { Err(TryLockError(())) }
    }

    /// Returns the value: nobody else has the lock.
    ///
    /// ```
    /// let mut lock = leeward::task::RwLock::new(1);
    /// *lock.get_mut() = 2;
    /// assert_eq!(lock.into_inner(), 2);
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T: ?Sized> HasPermits for RwLock<T> {
    #[inline]
    fn permits(&self) -> &Permits {
        &self.permits
    }
}

impl<T: Default> Default for RwLock<T> {
    fn default() -> Self {
        RwLock::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> Self {
        RwLock::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("RwLock");
        match self.try_read() {
            Ok(guard) => shown.field("data", &&*guard),
            Err(_) => shown.field("data", &format_args!("<locked>")),
        };
        shown.finish()
    }
}

/// Makes a future and its guard, which is exclusive if `mut` is in the brackets.
macro_rules! side {
    ($future:ident of $call:literal, $guard:ident, $count:expr, [$($exclusive:ident)?], $doc:literal) => {
        #[doc = concat!("The future that [`RwLock::", $call, "`] returns.")]
        #[must_use = "a future does nothing until it is polled"]
        pub struct $future<'a, T: ?Sized>(Request<&'a RwLock<T>>);

        impl<'a, T: ?Sized> Future for $future<'a, T> {
            type Output = $guard<'a, T>;

            #[inline]
            fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
                // SAFETY: the request is pinned with the future: nothing moves it out.
                let request = unsafe { self.map_unchecked_mut(|this| &mut this.0) };
                match request.poll(context) {
                    Poll::Ready(Ok(lock)) => Poll::Ready($guard { lock }),
                    // (A lock is never closed.)
                    Poll::Ready(Err(_)) | Poll::Pending => Poll::Pending,
                }
            }
        }

        impl<T: ?Sized> fmt::Debug for $future<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($future)).finish_non_exhaustive()
            }
        }

        #[doc = $doc]
        #[must_use = "the lock is unlocked at once"]
        #[clippy::has_significant_drop]
        pub struct $guard<'a, T: ?Sized> {
            lock: &'a RwLock<T>,
        }

        // Locked, by this guard.
        guard! { $guard [T: ?Sized], $($exclusive)? self => self.lock.value.get() }

        impl<T: ?Sized> Drop for $guard<'_, T> {
            #[inline]
            fn drop(&mut self) {
                self.lock.permits.give($count as usize);
            }
        }

        impl<T: ?Sized + fmt::Display> fmt::Display for $guard<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }
    };
}

side!(Read of "read", RwLockReadGuard, 1, [], "A [`RwLock`]'s value to read. The drop unlocks on any thread.");
side!(Write of "write", RwLockWriteGuard, ALL, [mut], "A [`RwLock`]'s value to write. The drop unlocks on any thread.");

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// Makes the writer a reader. No other writer comes in between; readers that wait next are let
    /// in.
    ///
    /// ```
    /// use leeward::task::RwLock;
    /// let lock = RwLock::new(1);
    /// let mut writer = lock.try_write().unwrap();
    /// *writer += 1;
    /// let reader = writer.downgrade();
    /// assert_eq!(*reader + *lock.try_read().unwrap(), 4);
    /// ```
    pub fn downgrade(self) -> RwLockReadGuard<'a, T> {
        let lock = ManuallyDrop::new(self).lock;
        let reader = RwLockReadGuard { lock };
        lock.permits.give(ALL as usize - 1);
        reader
    }
}
