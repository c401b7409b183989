//! The traits of `lock_api` 0.5 for the fair unlocks of the raw locks.

use lock_api_05::{RawMutexFair, RawRwLockFair, RawRwLockUpgradeFair};

use super::super::{FairMutex, LightMutex, Mutex, RwLock};
use super::Guard05;
use crate::futex::Futex;

// SAFETY: the fair unlock unlocks as the other one does.
unsafe impl<F: Futex> RawMutexFair for Mutex<F> {
    unsafe fn unlock_fair(&self, _: Guard05) {
        // SAFETY: the caller's promise.
        unsafe { Mutex::unlock_fair(self) };
    }

    #[inline]
    unsafe fn bump(&self, _: &mut Guard05) {
        // SAFETY: the caller's promise.
        unsafe { Mutex::bump(self) };
    }
}

// SAFETY: the fair unlock unlocks as the other one does.
unsafe impl<F: Futex> RawMutexFair for FairMutex<F> {
    unsafe fn unlock_fair(&self, _: Guard05) {
        // SAFETY: the caller's promise.
        unsafe { FairMutex::unlock(self) };
    }

    #[inline]
    unsafe fn bump(&self, _: &mut Guard05) {
        // SAFETY: the caller's promise.
        unsafe { FairMutex::bump(self) };
    }
}

// SAFETY: the fair unlock unlocks as the other one does.
unsafe impl RawMutexFair for LightMutex {
    unsafe fn unlock_fair(&self, _: Guard05) {
        // SAFETY: the caller's promise.
        unsafe { LightMutex::unlock_fair(self) };
    }

    #[inline]
    unsafe fn bump(&self, _: &mut Guard05) {
        // SAFETY: the caller's promise.
        unsafe { LightMutex::bump(self) };
    }
}

// SAFETY: each fair unlock unlocks as the other one does.
unsafe impl<F: Futex> RawRwLockFair for RwLock<F> {
    unsafe fn unlock_shared_fair(&self, _: Guard05) {
        // SAFETY: the caller's promise.
        unsafe { RwLock::unlock_shared_fair(self) };
    }

    unsafe fn unlock_exclusive_fair(&self, _: Guard05) {
        // SAFETY: the caller's promise.
        unsafe { RwLock::unlock_exclusive_fair(self) };
    }

    #[inline]
    unsafe fn bump_shared(&self, _: &mut Guard05) {
        // SAFETY: the caller's promise.
        unsafe { RwLock::bump_shared(self) };
    }

    #[inline]
    unsafe fn bump_exclusive(&self, _: &mut Guard05) {
        // SAFETY: the caller's promise.
        unsafe { RwLock::bump_exclusive(self) };
    }
}

// SAFETY: the fair unlock unlocks as the other one does.
unsafe impl<F: Futex> RawRwLockUpgradeFair for RwLock<F> {
    unsafe fn unlock_upgradable_fair(&self, _: Guard05) {
        // SAFETY: the caller's promise.
        unsafe { RwLock::unlock_upgradable_fair(self) };
    }

    #[inline]
    unsafe fn bump_upgradable(&self, _: &mut Guard05) {
        // SAFETY: the caller's promise.
        unsafe { RwLock::bump_upgradable(self) };
    }
}
