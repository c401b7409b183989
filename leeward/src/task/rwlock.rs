//! A readers-writer lock for tasks: a reader takes one permit, a writer all. Calls `request.rs` and, for
//! threads, `blocking.rs`.

use alloc::sync::Arc;
use core::cell::UnsafeCell;
use core::fmt;
use core::future::Future;
use core::mem::ManuallyDrop;
use core::pin::Pin;
use core::ptr;
use core::task::{Context, Poll};

use super::blocking::wait;
use super::mutex::TryLockError;
use super::permits::Permits;
use super::request::{HasPermits, Request};
use super::side::side;
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

    /// Returns a future that is ready with a reader's lock, by a guard that keeps the lock alive.
    ///
    /// ```
    /// # use std::{future::Future, pin::pin, sync::Arc, task::{Context, Poll, Waker}};
    /// use leeward::task::RwLock;
    /// let lock = Arc::new(RwLock::new(7));
    /// let reading = lock.clone().read_owned();
    /// let Poll::Ready(reader) = pin!(reading).poll(&mut Context::from_waker(Waker::noop())) else {
    ///     unreachable!("nobody writes")
    /// };
    /// drop(lock);
    /// assert_eq!(*reader, 7);
    /// ```
    #[inline]
    pub fn read_owned(self: Arc<Self>) -> ReadOwned<T> {
        ReadOwned(Request::new(self, 1))
    }

    /// Returns a future that is ready with a writer's lock, by a guard that keeps the lock alive.
    ///
    /// ```
    /// # use std::{future::Future, pin::pin, sync::Arc, task::{Context, Poll, Waker}};
    /// use leeward::task::RwLock;
    /// let lock = Arc::new(RwLock::new(7));
    /// let writing = lock.clone().write_owned();
    /// let Poll::Ready(mut writer) = pin!(writing).poll(&mut Context::from_waker(Waker::noop())) else {
    ///     unreachable!("nobody has it")
    /// };
    /// std::thread::spawn(move || *writer += 1).join().unwrap();
    /// assert_eq!(*lock.try_read().unwrap(), 8);
    /// ```
    #[inline]
    pub fn write_owned(self: Arc<Self>) -> WriteOwned<T> {
        WriteOwned(Request::new(self, ALL))
    }

    /// Locks for reading if no task writes or waits, by a guard that keeps the lock alive.
    ///
    /// ```
    /// use leeward::task::RwLock;
    /// use std::sync::Arc;
    /// let lock = Arc::new(RwLock::new(1));
    /// let (one, other) = (lock.clone().try_read_owned()?, lock.try_read_owned()?);
    /// assert_eq!(*one + *other, 2);
    /// # Ok::<(), leeward::task::TryLockError>(())
    /// ```
    ///
    /// # Errors
    /// If a task writes, or waits.
    #[inline]
    pub fn try_read_owned(self: Arc<Self>) -> Result<OwnedRwLockReadGuard<T>, TryLockError> {
        if self.permits.try_take(1) { Ok(OwnedRwLockReadGuard { lock: self }) } else { Err(TryLockError(())) }
    }

    /// Locks for writing if the lock is free, by a guard that keeps the lock alive.
    ///
    /// ```
    /// use leeward::task::RwLock;
    /// use std::sync::Arc;
    /// let lock = Arc::new(RwLock::new(1));
    /// let writer = lock.clone().try_write_owned()?;
    /// assert!(lock.try_read_owned().is_err());
    /// # drop(writer);
    /// # Ok::<(), leeward::task::TryLockError>(())
    /// ```
    ///
    /// # Errors
    /// If a task reads or writes.
    #[inline]
    pub fn try_write_owned(self: Arc<Self>) -> Result<OwnedRwLockWriteGuard<T>, TryLockError> {
        if self.permits.try_take(ALL) { Ok(OwnedRwLockWriteGuard { lock: self }) } else { Err(TryLockError(())) }
    }

    /// Locks for reading; the thread waits, in turn with the tasks. For code that is not async: see
    /// [the module](crate::task#threads-that-wait).
    ///
    /// ```
    /// use leeward::task::RwLock;
    /// let lock = RwLock::new(7);
    /// assert_eq!(*lock.blocking_read(), 7);
    /// ```
    #[inline]
    pub fn blocking_read(&self) -> RwLockReadGuard<'_, T> {
        if self.permits.take(1) { RwLockReadGuard { lock: self } } else { wait(self.read()) }
    }

    /// Locks for writing; the thread waits, in turn with the tasks. For code that is not async: see
    /// [the module](crate::task#threads-that-wait).
    ///
    /// ```
    /// use leeward::task::RwLock;
    /// let lock = RwLock::new(7);
    /// *lock.blocking_write() += 1;
    /// assert_eq!(lock.into_inner(), 8);
    /// ```
    #[inline]
    pub fn blocking_write(&self) -> RwLockWriteGuard<'_, T> {
        if self.permits.take(ALL) { RwLockWriteGuard { lock: self } } else { wait(self.write()) }
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

side!(Read ['a] of "RwLock::read", RwLockReadGuard, &'a RwLock<T>, 1, [],
    ["RwLock::new(5)", "try_write", "lock.read()"],
    "A [`RwLock`]'s value to read. The drop unlocks on any thread.");
side!(Write ['a] of "RwLock::write", RwLockWriteGuard, &'a RwLock<T>, ALL, [mut],
    ["RwLock::new(5)", "try_write", "lock.write()"],
    "A [`RwLock`]'s value to write. The drop unlocks on any thread.");
side!(ReadOwned [] of "RwLock::read_owned", OwnedRwLockReadGuard, Arc<RwLock<T>>, 1, [],
    ["RwLock::new(5)", "try_write", "Arc::clone(&lock).read_owned()"],
    "A [`RwLock`]'s value to read, which keeps the lock alive. The drop unlocks on any thread.");
side!(WriteOwned [] of "RwLock::write_owned", OwnedRwLockWriteGuard, Arc<RwLock<T>>, ALL, [mut],
    ["RwLock::new(5)", "try_write", "Arc::clone(&lock).write_owned()"],
    "A [`RwLock`]'s value to write, which keeps the lock alive. The drop unlocks on any thread.");

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

impl<T: ?Sized> OwnedRwLockReadGuard<T> {
    /// Returns the lock that the guard is of.
    ///
    /// ```
    /// use leeward::task::{OwnedRwLockReadGuard, RwLock};
    /// use std::sync::Arc;
    /// let lock = Arc::new(RwLock::new(1));
    /// let reader = lock.clone().try_read_owned().unwrap();
    /// assert!(Arc::ptr_eq(OwnedRwLockReadGuard::rwlock(&reader), &lock));
    /// ```
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        &this.lock
    }
}

impl<T: ?Sized> OwnedRwLockWriteGuard<T> {
    /// Returns the lock that the guard is of.
    ///
    /// ```
    /// use leeward::task::{OwnedRwLockWriteGuard, RwLock};
    /// use std::sync::Arc;
    /// let lock = Arc::new(RwLock::new(1));
    /// let writer = lock.clone().try_write_owned().unwrap();
    /// assert!(Arc::ptr_eq(OwnedRwLockWriteGuard::rwlock(&writer), &lock));
    /// ```
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        &this.lock
    }

    /// Makes the writer a reader, as [`RwLockWriteGuard::downgrade`] does.
    ///
    /// ```
    /// use leeward::task::RwLock;
    /// use std::sync::Arc;
    /// let lock = Arc::new(RwLock::new(1));
    /// let reader = lock.clone().try_write_owned().unwrap().downgrade();
    /// assert_eq!(*reader + *lock.try_read().unwrap(), 2);
    /// ```
    pub fn downgrade(self) -> OwnedRwLockReadGuard<T> {
        let writer = ManuallyDrop::new(self);
        // SAFETY: the writer is not dropped, and not used any more.
        let reader = OwnedRwLockReadGuard { lock: unsafe { ptr::read(&raw const writer.lock) } };
        reader.lock.permits.give(ALL as usize - 1);
        reader
    }
}
