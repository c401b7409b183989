//! The traits of `lock_api` for the asymmetric readers-writer lock.

use super::super::RawRwLock;

// SAFETY: a writer is alone until `unlock_exclusive` or `downgrade`, readers share until the last
// `unlock_shared`; guards stay on their thread, whose slots stand for them.
unsafe impl lock_api::RawRwLock for RawRwLock {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = RawRwLock::new();
    type GuardMarker = lock_api::GuardNoSend;

    #[inline(always)]
    fn lock_shared(&self) {
        RawRwLock::lock_shared(self);
    }

    #[inline]
    fn try_lock_shared(&self) -> bool {
        RawRwLock::try_lock_shared(self)
    }

    #[inline(always)]
    unsafe fn unlock_shared(&self) {
        // SAFETY: the caller's promise.
        unsafe { RawRwLock::unlock_shared(self) };
    }

    fn lock_exclusive(&self) {
        RawRwLock::lock_exclusive(self);
    }

    fn try_lock_exclusive(&self) -> bool {
        RawRwLock::try_lock_exclusive(self)
    }

    #[inline]
    unsafe fn unlock_exclusive(&self) {
        // SAFETY: the caller's promise.
        unsafe { RawRwLock::unlock_exclusive(self) };
    }

    fn is_locked(&self) -> bool {
        RawRwLock::is_locked(self)
    }

    fn is_locked_exclusive(&self) -> bool {
        RawRwLock::is_locked_exclusive(self)
    }
}

// SAFETY: the writer becomes a reader in one step, and no other writer comes between.
unsafe impl lock_api::RawRwLockDowngrade for RawRwLock {
    unsafe fn downgrade(&self) {
        // SAFETY: the caller's promise.
        unsafe { RawRwLock::downgrade(self) };
    }
}

// SAFETY: both lock for reading, as the calls that are not recursive do; only waiting writers are
// passed.
unsafe impl lock_api::RawRwLockRecursive for RawRwLock {
    #[inline]
    fn lock_shared_recursive(&self) {
        RawRwLock::lock_shared_recursive(self);
    }

    #[inline]
    fn try_lock_shared_recursive(&self) -> bool {
        RawRwLock::try_lock_shared_recursive(self)
    }
}

// SAFETY: one upgradable reader is inside at a time, beside readers, and no writer; it becomes the
// writer when the readers have left, before any other.
unsafe impl lock_api::RawRwLockUpgrade for RawRwLock {
    fn lock_upgradable(&self) {
        RawRwLock::lock_upgradable(self);
    }

    fn try_lock_upgradable(&self) -> bool {
        RawRwLock::try_lock_upgradable(self)
    }

    unsafe fn unlock_upgradable(&self) {
        // SAFETY: the caller's promise.
        unsafe { RawRwLock::unlock_upgradable(self) };
    }

    unsafe fn upgrade(&self) {
        // SAFETY: the caller's promise.
        unsafe { RawRwLock::upgrade(self) };
    }

    unsafe fn try_upgrade(&self) -> bool {
        // SAFETY: the caller's promise.
        unsafe { RawRwLock::try_upgrade(self) }
    }
}

// SAFETY: each is one step, and no writer comes between.
unsafe impl lock_api::RawRwLockUpgradeDowngrade for RawRwLock {
    unsafe fn downgrade_upgradable(&self) {
        // SAFETY: the caller's promise.
        unsafe { RawRwLock::downgrade_upgradable(self) };
    }

    unsafe fn downgrade_to_upgradable(&self) {
        // SAFETY: the caller's promise.
        unsafe { RawRwLock::downgrade_to_upgradable(self) };
    }
}

// SAFETY: each fair unlock unlocks as the other one does.
unsafe impl lock_api::RawRwLockFair for RawRwLock {
    unsafe fn unlock_shared_fair(&self) {
        // SAFETY: the caller's promise.
        unsafe { RawRwLock::unlock_shared_fair(self) };
    }

    unsafe fn unlock_exclusive_fair(&self) {
        // SAFETY: the caller's promise.
        unsafe { RawRwLock::unlock_exclusive_fair(self) };
    }

    #[inline]
    unsafe fn bump_shared(&self) {
        // SAFETY: the caller's promise.
        unsafe { RawRwLock::bump_shared(self) };
    }

    #[inline]
    unsafe fn bump_exclusive(&self) {
        // SAFETY: the caller's promise.
        unsafe { RawRwLock::bump_exclusive(self) };
    }
}

// SAFETY: the fair unlock unlocks as the other one does.
unsafe impl lock_api::RawRwLockUpgradeFair for RawRwLock {
    unsafe fn unlock_upgradable_fair(&self) {
        // SAFETY: the caller's promise.
        unsafe { RawRwLock::unlock_upgradable_fair(self) };
    }

    #[inline]
    unsafe fn bump_upgradable(&self) {
        // SAFETY: the caller's promise.
        unsafe { RawRwLock::bump_upgradable(self) };
    }
}
