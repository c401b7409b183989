//! The traits of `lock_api` 0.4 for the raw mutexes.

use super::super::{FairMutex, LightMutex, Mutex};
use super::GuardMarker;
use crate::futex::Futex;

// SAFETY: `lock` and `try_lock` let one caller in until `unlock`.
unsafe impl<F: Futex> lock_api::RawMutex for Mutex<F> {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = Mutex::<F>::new();
    type GuardMarker = GuardMarker;

    #[inline]
    fn lock(&self) {
        Mutex::lock(self);
    }

    #[inline]
    fn try_lock(&self) -> bool {
        Mutex::try_lock(self)
    }

    #[inline]
    unsafe fn unlock(&self) {
        // SAFETY: the caller's promise.
        unsafe { Mutex::unlock(self) };
    }

    #[inline]
    fn is_locked(&self) -> bool {
        Mutex::is_locked(self)
    }
}

// SAFETY: `unlock_fair` unlocks as `unlock` does.
unsafe impl<F: Futex> lock_api::RawMutexFair for Mutex<F> {
    unsafe fn unlock_fair(&self) {
        // SAFETY: the caller's promise.
        unsafe { Mutex::unlock_fair(self) };
    }

    #[inline]
    unsafe fn bump(&self) {
        // SAFETY: the caller's promise.
        unsafe { Mutex::bump(self) };
    }
}

// SAFETY: `lock` and `try_lock` let one caller in until `unlock`.
unsafe impl<F: Futex> lock_api::RawMutex for FairMutex<F> {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = FairMutex::<F>::new();
    type GuardMarker = GuardMarker;

    #[inline]
    fn lock(&self) {
        FairMutex::lock(self);
    }

    #[inline]
    fn try_lock(&self) -> bool {
        FairMutex::try_lock(self)
    }

    #[inline]
    unsafe fn unlock(&self) {
        // SAFETY: the caller's promise.
        unsafe { FairMutex::unlock(self) };
    }

    #[inline]
    fn is_locked(&self) -> bool {
        FairMutex::is_locked(self)
    }
}

// SAFETY: each unlock is fair.
unsafe impl<F: Futex> lock_api::RawMutexFair for FairMutex<F> {
    unsafe fn unlock_fair(&self) {
        // SAFETY: the caller's promise.
        unsafe { FairMutex::unlock(self) };
    }

    #[inline]
    unsafe fn bump(&self) {
        // SAFETY: the caller's promise.
        unsafe { FairMutex::bump(self) };
    }
}

// SAFETY: `lock` and `try_lock` let one caller in until `unlock`.
unsafe impl lock_api::RawMutex for LightMutex {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = LightMutex::new();
    type GuardMarker = GuardMarker;

    #[inline]
    fn lock(&self) {
        LightMutex::lock(self);
    }

    #[inline]
    fn try_lock(&self) -> bool {
        LightMutex::try_lock(self)
    }

    #[inline]
    unsafe fn unlock(&self) {
        // SAFETY: the caller's promise.
        unsafe { LightMutex::unlock(self) };
    }

    #[inline]
    fn is_locked(&self) -> bool {
        LightMutex::is_locked(self)
    }
}

// SAFETY: `unlock_fair` unlocks as `unlock` does.
unsafe impl lock_api::RawMutexFair for LightMutex {
    unsafe fn unlock_fair(&self) {
        // SAFETY: the caller's promise.
        unsafe { LightMutex::unlock_fair(self) };
    }

    #[inline]
    unsafe fn bump(&self) {
        // SAFETY: the caller's promise.
        unsafe { LightMutex::bump(self) };
    }
}
