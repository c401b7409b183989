//! Upgradable reads of the readers-writer lock of several processes: how a thread gets such a guard,
//! and what the guards of `lock.rs` become. Calls [`raw::RwLock`](crate::raw::RwLock).

use core::mem;
use core::time::Duration;

use super::lock::{RwLock, RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard};
use crate::bytes::AnyBytes;
use crate::futex::{Deadline, Shared};

impl<T: AnyBytes> RwLock<T> {
    /// Locks the lock for reading by a guard that may become a writer's. Waits until no writer holds
    /// the lock or waits for it, and no other upgradable guard is there.
    ///
    /// A process that is killed while it has the guard leaves it there, as any guard: others read and
    /// cannot write. If it is killed while it waits in [`upgrade`](RwLockUpgradableReadGuard::upgrade),
    /// others may not read either.
    ///
    /// ```
    /// use leeward::shared::{RwLock, RwLockUpgradableReadGuard};
    /// let lock = RwLock::new(1);
    /// let guard = lock.upgradable_read();
    /// assert!(lock.try_read().is_some());             // ordinary readers may come
    /// assert!(lock.try_upgradable_read().is_none());  // but one upgradable reader at a time
    /// assert!(lock.try_upgradable_read_for(std::time::Duration::ZERO).is_none());
    /// let reader = RwLockUpgradableReadGuard::downgrade(guard);
    /// assert!(lock.try_upgradable_read().is_some());
    /// assert_eq!(*reader, 1);
    /// ```
    #[inline]
    pub fn upgradable_read(&self) -> RwLockUpgradableReadGuard<'_, T> {
        self.lock.lock_upgradable();
        self.upgradable()
    }

    /// Locks the lock as [`upgradable_read`](Self::upgradable_read) does if no writer holds it or waits
    /// and no other upgradable guard is there. Returns `None` otherwise.
    #[inline]
    pub fn try_upgradable_read(&self) -> Option<RwLockUpgradableReadGuard<'_, T>> {
        self.lock.try_lock_upgradable().then(|| self.upgradable())
    }

    /// Locks the lock as [`upgradable_read`](Self::upgradable_read) does, or returns `None` once
    /// `limit` has passed.
    pub fn try_upgradable_read_for(&self, limit: Duration) -> Option<RwLockUpgradableReadGuard<'_, T>> {
        (self.lock.try_lock_upgradable() || self.lock.lock_upgradable_until(Deadline::after::<Shared>(limit)))
            .then(|| self.upgradable())
    }
}

impl<'a, T: AnyBytes> RwLockUpgradableReadGuard<'a, T> {
    /// Makes the guard a writer's, waiting until the other readers have left. No other writer comes
    /// between, so what was read still holds.
    ///
    /// It is an associated function, so that it hides no method of the value. A thread that has a
    /// reader's guard besides waits for itself forever.
    ///
    /// # Panics
    /// In the child of a fork, as all use of the guard's copy.
    #[track_caller]
    pub fn upgrade(guard: Self) -> RwLockWriteGuard<'a, T> {
        let rwlock = guard.into_lock();
        // SAFETY: this process's upgradable reader, whose guard is gone, goes on as the writer.
        unsafe { rwlock.lock.upgrade() };
        rwlock.writing()
    }

    /// Makes the guard a writer's if no other reader is inside.
    ///
    /// ```
    /// use leeward::shared::{RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard};
    /// use std::time::Duration;
    /// let lock = RwLock::new(1);
    /// let reader = lock.read();
    /// let guard = RwLockUpgradableReadGuard::try_upgrade(lock.upgradable_read()).unwrap_err();
    /// let guard = RwLockUpgradableReadGuard::try_upgrade_for(guard, Duration::from_millis(1)).unwrap_err();
    /// drop(reader);
    /// let mut writer = RwLockUpgradableReadGuard::try_upgrade(guard).unwrap();
    /// *writer += 1;
    /// let guard = RwLockWriteGuard::downgrade_to_upgradable(writer);
    /// assert_eq!(*guard, 2);
    /// ```
    ///
    /// # Errors
    /// Readers are inside: the guard comes back.
    ///
    /// # Panics
    /// In the child of a fork, as all use of the guard's copy.
    #[track_caller]
    pub fn try_upgrade(guard: Self) -> Result<RwLockWriteGuard<'a, T>, Self> {
        let rwlock = guard.into_lock();
        // SAFETY: this process's upgradable reader, whose guard is gone, goes on as what is returned.
        if unsafe { rwlock.lock.try_upgrade() } { Ok(rwlock.writing()) } else { Err(rwlock.upgradable()) }
    }

    /// Makes the guard a writer's if the other readers leave before `limit` has passed. If 1,048,574
    /// readers are inside then, it waits besides until one has left.
    ///
    /// # Errors
    /// Readers are still inside: the guard comes back.
    ///
    /// # Panics
    /// In the child of a fork, as all use of the guard's copy.
    #[track_caller]
    pub fn try_upgrade_for(guard: Self, limit: Duration) -> Result<RwLockWriteGuard<'a, T>, Self> {
        let rwlock = guard.into_lock();
        let deadline = Deadline::after::<Shared>(limit);
        // SAFETY: this process's upgradable reader, whose guard is gone, goes on as what is returned.
        if unsafe { rwlock.lock.upgrade_until(deadline) } { Ok(rwlock.writing()) } else { Err(rwlock.upgradable()) }
    }

    /// Makes the guard an ordinary reader's, so that another may be upgradable.
    ///
    /// # Panics
    /// In the child of a fork, as all use of the guard's copy.
    #[track_caller]
    pub fn downgrade(guard: Self) -> RwLockReadGuard<'a, T> {
        let rwlock = guard.into_lock();
        // SAFETY: this process's upgradable reader, whose guard is gone, goes on as a reader.
        unsafe { rwlock.lock.downgrade_upgradable() };
        rwlock.reading()
    }

    /// Returns the lock, which this process holds without a guard from now on.
    #[track_caller]
    fn into_lock(self) -> &'a RwLock<T> {
        self.must_be_ours();
        let rwlock = self.rwlock;
        mem::forget(self);
        rwlock
    }
}

impl<'a, T: AnyBytes> RwLockWriteGuard<'a, T> {
    /// Makes the guard a reader's. No other writer comes between, and waiting readers are let in.
    ///
    /// # Panics
    /// In the child of a fork, as all use of the guard's copy.
    ///
    /// ```
    /// use leeward::shared::{RwLock, RwLockWriteGuard};
    /// let lock = RwLock::new(1);
    /// let reader = RwLockWriteGuard::downgrade(lock.write());
    /// assert!(lock.try_read().is_some());
    /// # drop(reader);
    /// ```
    #[track_caller]
    pub fn downgrade(guard: Self) -> RwLockReadGuard<'a, T> {
        let rwlock = guard.into_lock();
        // SAFETY: this process's writer, whose guard is gone, goes on as a reader.
        unsafe { rwlock.lock.downgrade() };
        rwlock.reading()
    }

    /// Makes the guard an upgradable reader's. No other writer comes between, and waiting readers are
    /// let in.
    ///
    /// # Panics
    /// In the child of a fork, as all use of the guard's copy.
    #[track_caller]
    pub fn downgrade_to_upgradable(guard: Self) -> RwLockUpgradableReadGuard<'a, T> {
        let rwlock = guard.into_lock();
        // SAFETY: this process's writer, whose guard is gone, goes on as the upgradable reader.
        unsafe { rwlock.lock.downgrade_to_upgradable() };
        rwlock.upgradable()
    }

    /// Returns the lock, which this process holds without a guard from now on.
    #[track_caller]
    fn into_lock(self) -> &'a RwLock<T> {
        self.must_be_ours();
        let rwlock = self.rwlock;
        mem::forget(self);
        rwlock
    }
}
