//! std's `RwLock`: [`sync::RwLock`] and a flag.

use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{LockResult, TryLockError, TryLockResult};

use lock_api::GuardNoSend;

use super::flag::{Flag, Watch};
use super::lock::{guards, locks};
use crate::sync;

/// A readers-writer lock around a value, which is poisoned by a writer that panics.
///
/// ```
/// use leeward::sync::poison::RwLock;
/// static LIMITS: RwLock<Vec<u32>> = RwLock::new(Vec::new());
/// LIMITS.write().unwrap().push(5);
/// let (first, second) = (LIMITS.read().unwrap(), LIMITS.read().unwrap());
/// assert_eq!(*first, *second);
/// drop((first, second));
/// let reader = std::thread::spawn(|| {
///     let _limits = LIMITS.read().unwrap();
///     panic!("a reader changes nothing");
/// });
/// assert!(reader.join().is_err() && !LIMITS.is_poisoned());
/// let writer = std::thread::spawn(|| {
///     let _limits = LIMITS.write().unwrap();
///     panic!("a writer may have");
/// });
/// assert!(writer.join().is_err() && LIMITS.read().is_err() && LIMITS.write().is_err());
/// ```
///
/// Cost, fairness, fork, signals and aborts: [`raw::RwLock`](crate::raw::RwLock); what poisoning adds:
/// [the module](super#cost).
pub struct RwLock<T: ?Sized> {
    flag: Flag,
    lock: sync::RwLock<T>,
}

locks! { RwLock, try_read }

impl<T: ?Sized> RwLock<T> {
    /// Locks for reading, waiting as long as that takes.
    ///
    /// # Errors
    /// The lock is poisoned; it is locked all the same, and the error has the guard.
    #[inline]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        self.flag.result(RwLockReadGuard::new(self.lock.read()))
    }

    /// Locks for reading if no writer is inside or waits.
    ///
    /// # Errors
    /// - `WouldBlock`: a writer is inside, or waits.
    /// - `Poisoned`: it is locked now, and the error has the guard.
    #[inline]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        let Some(guard) = self.lock.try_read() else { return Err(TryLockError::WouldBlock) };
        Ok(self.flag.result(RwLockReadGuard::new(guard))?)
    }

    /// Locks for writing, waiting as long as that takes.
    ///
    /// # Errors
    /// The lock is poisoned; it is locked all the same, and the error has the guard.
    #[inline]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let guard = self.lock.write();
        self.flag.result(RwLockWriteGuard { watch: self.flag.watch(), guard })
    }

    /// Locks for writing if the lock is free.
    ///
    /// # Errors
    /// - `WouldBlock`: it is not free.
    /// - `Poisoned`: it is locked now, and the error has the guard.
    #[inline]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        let Some(guard) = self.lock.try_write() else { return Err(TryLockError::WouldBlock) };
        Ok(self.flag.result(RwLockWriteGuard { watch: self.flag.watch(), guard })?)
    }
}

/// A [`RwLock`] that is locked for reading; unlocks it when dropped, and never poisons it.
///
/// ```
/// use leeward::sync::poison::{RwLock, RwLockReadGuard};
/// let limit = RwLock::new(5);
/// let guard: RwLockReadGuard<'_, i32> = limit.read().unwrap();
/// assert_eq!(*guard, 5);
/// ```
#[must_use = "if unused, the RwLock is unlocked at once"]
#[clippy::has_significant_drop]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    /// One that is mapped to all of the data: the lifetimes in `T` shrink with it, as with std's, and
    /// with a guard that refers to the lock they do not.
    guard: sync::MappedRwLockReadGuard<'a, T>,
    stays: PhantomData<GuardNoSend>,
}

impl<'a, T: ?Sized> RwLockReadGuard<'a, T> {
    #[inline]
    fn new(guard: sync::RwLockReadGuard<'a, T>) -> RwLockReadGuard<'a, T> {
        RwLockReadGuard { guard: sync::RwLockReadGuard::map(guard, |data| data), stays: PhantomData }
    }
}

guards! { RwLockReadGuard }

/// A [`RwLock`] that is locked for writing; unlocks it when dropped, and poisons it if the thread has
/// begun to panic.
///
/// ```
/// use leeward::sync::poison::{RwLock, RwLockWriteGuard};
/// let limit = RwLock::new(5);
/// let mut guard: RwLockWriteGuard<'_, i32> = limit.write().unwrap();
/// *guard = 6;
/// let guard = RwLockWriteGuard::downgrade(guard);
/// assert_eq!((*guard, *limit.read().unwrap()), (6, 6));
/// ```
#[must_use = "if unused, the RwLock is unlocked at once"]
#[clippy::has_significant_drop]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    // Dropped first: the next holder finds the flag set.
    watch: Watch<'a>,
    guard: sync::RwLockWriteGuard<'a, T>,
}

guards! { mut RwLockWriteGuard }

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// Turns the writer into a reader; no other writer comes between.
    pub fn downgrade(this: Self) -> RwLockReadGuard<'a, T> {
        let RwLockWriteGuard { watch, guard } = this;
        // What a panic broke off is known before a reader comes.
        drop(watch);
        RwLockReadGuard::new(sync::RwLockWriteGuard::downgrade(guard))
    }
}
