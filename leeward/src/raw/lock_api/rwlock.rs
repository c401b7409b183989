//! The traits of `lock_api` 0.4 for the raw readers-writer lock.

use super::super::RwLock;
use super::GuardMarker;
use crate::futex::Futex;

// SAFETY: a writer is alone until `unlock_exclusive` or `downgrade`; readers share until the last
// `unlock_shared`.
unsafe impl<F: Futex> lock_api::RawRwLock for RwLock<F> {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = RwLock::<F>::new();
    type GuardMarker = GuardMarker;

    #[inline]
    fn lock_shared(&self) {
        RwLock::lock_shared(self);
    }

    #[inline]
    fn try_lock_shared(&self) -> bool {
        RwLock::try_lock_shared(self)
    }

    #[inline]
    unsafe fn unlock_shared(&self) {
        // SAFETY: the caller's promise.
        unsafe { RwLock::unlock_shared(self) };
    }

    #[inline]
    fn lock_exclusive(&self) {
        RwLock::lock_exclusive(self);
    }

    #[inline]
    fn try_lock_exclusive(&self) -> bool {
        RwLock::try_lock_exclusive(self)
    }

    #[inline]
    unsafe fn unlock_exclusive(&self) {
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
unsafe impl<F: Futex> lock_api::RawRwLockDowngrade for RwLock<F> {
    #[inline]
    unsafe fn downgrade(&self) {
        // SAFETY: the caller's promise.
        unsafe { RwLock::downgrade(self) };
    }
}

// SAFETY: a reader that finds another inside enters, also while a writer waits.
unsafe impl<F: Futex> lock_api::RawRwLockRecursive for RwLock<F> {
    #[inline]
    fn lock_shared_recursive(&self) {
        RwLock::lock_shared_recursive(self);
    }

    #[inline]
    fn try_lock_shared_recursive(&self) -> bool {
        RwLock::try_lock_shared_recursive(self)
    }
}

// SAFETY: one upgradable reader is inside at a time, beside readers, and no writer; it becomes the
// writer when the readers have left, before any other.
unsafe impl<F: Futex> lock_api::RawRwLockUpgrade for RwLock<F> {
    #[inline]
    fn lock_upgradable(&self) {
        RwLock::lock_upgradable(self);
    }

    #[inline]
    fn try_lock_upgradable(&self) -> bool {
        RwLock::try_lock_upgradable(self)
    }

    #[inline]
    unsafe fn unlock_upgradable(&self) {
        // SAFETY: the caller's promise.
        unsafe { RwLock::unlock_upgradable(self) };
    }

    #[inline]
    unsafe fn upgrade(&self) {
        // SAFETY: the caller's promise.
        unsafe { RwLock::upgrade(self) };
    }

    #[inline]
    unsafe fn try_upgrade(&self) -> bool {
        // SAFETY: the caller's promise.
        unsafe { RwLock::try_upgrade(self) }
    }
}

// SAFETY: each is one step, and no writer comes between.
unsafe impl<F: Futex> lock_api::RawRwLockUpgradeDowngrade for RwLock<F> {
    #[inline]
    unsafe fn downgrade_upgradable(&self) {
        // SAFETY: the caller's promise.
        unsafe { RwLock::downgrade_upgradable(self) };
    }

    #[inline]
    unsafe fn downgrade_to_upgradable(&self) {
        // SAFETY: the caller's promise.
        unsafe { RwLock::downgrade_to_upgradable(self) };
    }
}

// SAFETY: each fair unlock unlocks as the other one does.
unsafe impl<F: Futex> lock_api::RawRwLockFair for RwLock<F> {
    unsafe fn unlock_shared_fair(&self) {
        // SAFETY: the caller's promise.
        unsafe { RwLock::unlock_shared_fair(self) };
    }

    unsafe fn unlock_exclusive_fair(&self) {
        // SAFETY: the caller's promise.
        unsafe { RwLock::unlock_exclusive_fair(self) };
    }

    #[inline]
    unsafe fn bump_shared(&self) {
        // SAFETY: the caller's promise.
        unsafe { RwLock::bump_shared(self) };
    }

    #[inline]
    unsafe fn bump_exclusive(&self) {
        // SAFETY: the caller's promise.
        unsafe { RwLock::bump_exclusive(self) };
    }
}

// SAFETY: the fair unlock unlocks as the other one does.
unsafe impl<F: Futex> lock_api::RawRwLockUpgradeFair for RwLock<F> {
    unsafe fn unlock_upgradable_fair(&self) {
        // SAFETY: the caller's promise.
        unsafe { RwLock::unlock_upgradable_fair(self) };
    }

    #[inline]
    unsafe fn bump_upgradable(&self) {
        // SAFETY: the caller's promise.
        unsafe { RwLock::bump_upgradable(self) };
    }
}
