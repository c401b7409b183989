//! The traits of `lock_api` 0.5 for the raw locks, whose guards are values (Rust 1.95, feature
//! `lock_api_05`).
//!
//! Our guards hold nothing, since the lock word has everything. Feature `send_guard` says whether they
//! may be sent to another thread.
//! (0.5 has no recursive reads.)

use lock_api_05::{RawMutex, RawRwLock, RawRwLockDowngrade};
use lock_api_05::{RawRwLockUpgrade, RawRwLockUpgradeDowngrade};

use super::super::{FairMutex, LightMutex, Mutex, RwLock};
use super::Guard05;
use crate::futex::Futex;

/// Returns the guard of a writer that an upgrade has made; the upgradable reader's if it has not.
#[inline]
pub(super) fn upgraded(is_writer: bool, guard: Guard05) -> Result<Guard05, Guard05> {
    if is_writer { Ok(guard) } else { Err(guard) }
}

/// Returns the guard of a call that locked; none if it did not.
#[inline]
pub(super) fn guard(locked: bool) -> Option<Guard05> {
    locked.then_some(Guard05::new())
}

// SAFETY: `lock` and `try_lock` let one caller in until `unlock`.
unsafe impl<F: Futex> RawMutex for Mutex<F> {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = Mutex::<F>::new();
    type Guard = Guard05;

    #[inline]
    fn lock(&self) -> Guard05 {
        Mutex::lock(self);
        Guard05::new()
    }

    #[inline]
    fn try_lock(&self) -> Option<Guard05> {
        guard(Mutex::try_lock(self))
    }

    #[inline]
    unsafe fn unlock(&self, _: Guard05) {
        // SAFETY: the caller's promise.
        unsafe { Mutex::unlock(self) };
    }

    #[inline]
    fn is_locked(&self) -> bool {
        Mutex::is_locked(self)
    }
}

// SAFETY: `lock` and `try_lock` let one caller in until `unlock`.
unsafe impl<F: Futex> RawMutex for FairMutex<F> {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = FairMutex::<F>::new();
    type Guard = Guard05;

    #[inline]
    fn lock(&self) -> Guard05 {
        FairMutex::lock(self);
        Guard05::new()
    }

    #[inline]
    fn try_lock(&self) -> Option<Guard05> {
        guard(FairMutex::try_lock(self))
    }

    #[inline]
    unsafe fn unlock(&self, _: Guard05) {
        // SAFETY: the caller's promise.
        unsafe { FairMutex::unlock(self) };
    }

    #[inline]
    fn is_locked(&self) -> bool {
        FairMutex::is_locked(self)
    }
}

// SAFETY: `lock` and `try_lock` let one caller in until `unlock`.
unsafe impl RawMutex for LightMutex {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = LightMutex::new();
    type Guard = Guard05;

    #[inline]
    fn lock(&self) -> Guard05 {
        LightMutex::lock(self);
        Guard05::new()
    }

    #[inline]
    fn try_lock(&self) -> Option<Guard05> {
        guard(LightMutex::try_lock(self))
    }

    #[inline]
    unsafe fn unlock(&self, _: Guard05) {
        // SAFETY: the caller's promise.
        unsafe { LightMutex::unlock(self) };
    }

    #[inline]
    fn is_locked(&self) -> bool {
        LightMutex::is_locked(self)
    }
}

// SAFETY: a writer is alone until `unlock_exclusive` or `downgrade`; readers share until the last
// `unlock_shared`.
unsafe impl<F: Futex> RawRwLock for RwLock<F> {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = RwLock::<F>::new();
    type SharedGuard = Guard05;
    type ExclusiveGuard = Guard05;

    #[inline]
    fn lock_shared(&self) -> Guard05 {
        RwLock::lock_shared(self);
        Guard05::new()
    }

    #[inline]
    fn try_lock_shared(&self) -> Option<Guard05> {
        guard(RwLock::try_lock_shared(self))
    }

    #[inline]
    unsafe fn unlock_shared(&self, _: Guard05) {
        // SAFETY: the caller's promise.
        unsafe { RwLock::unlock_shared(self) };
    }

    #[inline]
    fn lock_exclusive(&self) -> Guard05 {
        RwLock::lock_exclusive(self);
        Guard05::new()
    }

    #[inline]
    fn try_lock_exclusive(&self) -> Option<Guard05> {
        guard(RwLock::try_lock_exclusive(self))
    }

    #[inline]
    unsafe fn unlock_exclusive(&self, _: Guard05) {
        // SAFETY: the caller's promise.
        unsafe { RwLock::unlock_exclusive(self) };
    }

    #[inline]
    fn is_locked(&self) -> bool {
        RwLock::is_locked(self)
    }

    #[inline]
    fn is_locked_exclusive(&self) -> bool {
        RwLock::is_locked_exclusive(self)
    }
}

// SAFETY: the writer becomes a reader in one step.
unsafe impl<F: Futex> RawRwLockDowngrade for RwLock<F> {
    #[inline]
    unsafe fn downgrade(&self, guard: Guard05) -> Guard05 {
        // SAFETY: the caller's promise.
        unsafe { RwLock::downgrade(self) };
        guard
    }
}

// SAFETY: one upgradable reader is inside at a time, beside readers, and no writer; it becomes the
// writer when the readers have left, before any other.
unsafe impl<F: Futex> RawRwLockUpgrade for RwLock<F> {
    type UpgradableGuard = Guard05;

    #[inline]
    fn lock_upgradable(&self) -> Guard05 {
        RwLock::lock_upgradable(self);
        Guard05::new()
    }

    #[inline]
    fn try_lock_upgradable(&self) -> Option<Guard05> {
        guard(RwLock::try_lock_upgradable(self))
    }

    #[inline]
    unsafe fn unlock_upgradable(&self, _: Guard05) {
        // SAFETY: the caller's promise.
        unsafe { RwLock::unlock_upgradable(self) };
    }

    #[inline]
    unsafe fn upgrade(&self, guard: Guard05) -> Guard05 {
        // SAFETY: the caller's promise.
        unsafe { RwLock::upgrade(self) };
        guard
    }

    #[inline]
    unsafe fn try_upgrade(&self, guard: Guard05) -> Result<Guard05, Guard05> {
        // SAFETY: the caller's promise.
        upgraded(unsafe { RwLock::try_upgrade(self) }, guard)
    }
}

// SAFETY: each is one step, and no writer comes between.
unsafe impl<F: Futex> RawRwLockUpgradeDowngrade for RwLock<F> {
    #[inline]
    unsafe fn downgrade_upgradable(&self, guard: Guard05) -> Guard05 {
        // SAFETY: the caller's promise.
        unsafe { RwLock::downgrade_upgradable(self) };
        guard
    }

    #[inline]
    unsafe fn downgrade_to_upgradable(&self, guard: Guard05) -> Guard05 {
        // SAFETY: the caller's promise.
        unsafe { RwLock::downgrade_to_upgradable(self) };
        guard
    }
}
