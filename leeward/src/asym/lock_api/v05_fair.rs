//! The traits of `lock_api` 0.5 for the fair unlocks of the asymmetric locks.

use lock_api_05::{GuardNoSend, RawMutexFair, RawRwLockFair, RawRwLockUpgradeFair};

use super::super::{RawMutex, RawRwLock};

// SAFETY: the fair unlock unlocks as the other one does.
unsafe impl RawMutexFair for RawMutex {
    unsafe fn unlock_fair(&self, _: GuardNoSend) {
        // SAFETY: the caller's promise.
        unsafe { RawMutex::unlock_fair(self) };
    }

    #[inline]
    unsafe fn bump(&self, _: &mut GuardNoSend) {
        // SAFETY: the caller's promise.
        unsafe { RawMutex::bump(self) };
    }
}

// SAFETY: each fair unlock unlocks as the other one does.
unsafe impl RawRwLockFair for RawRwLock {
    unsafe fn unlock_shared_fair(&self, _: GuardNoSend) {
        // SAFETY: the caller's promise.
        unsafe { RawRwLock::unlock_shared_fair(self) };
    }

    unsafe fn unlock_exclusive_fair(&self, _: GuardNoSend) {
        // SAFETY: the caller's promise.
        unsafe { RawRwLock::unlock_exclusive_fair(self) };
    }

    #[inline]
    unsafe fn bump_shared(&self, _: &mut GuardNoSend) {
        // SAFETY: the caller's promise.
        unsafe { RawRwLock::bump_shared(self) };
    }

    #[inline]
    unsafe fn bump_exclusive(&self, _: &mut GuardNoSend) {
        // SAFETY: the caller's promise.
        unsafe { RawRwLock::bump_exclusive(self) };
    }
}

// SAFETY: the fair unlock unlocks as the other one does.
unsafe impl RawRwLockUpgradeFair for RawRwLock {
    unsafe fn unlock_upgradable_fair(&self, _: GuardNoSend) {
        // SAFETY: the caller's promise.
        unsafe { RawRwLock::unlock_upgradable_fair(self) };
    }

    #[inline]
    unsafe fn bump_upgradable(&self, _: &mut GuardNoSend) {
        // SAFETY: the caller's promise.
        unsafe { RawRwLock::bump_upgradable(self) };
    }
}
