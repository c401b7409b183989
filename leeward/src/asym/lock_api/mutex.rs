//! The traits of `lock_api` for the biased mutex.

use super::super::RawMutex;

// SAFETY: `lock` and `try_lock` let one caller in until `unlock`; guards stay on their thread,
// whose slots stand for them.
unsafe impl lock_api::RawMutex for RawMutex {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = RawMutex::new();
    type GuardMarker = lock_api::GuardNoSend;

    #[inline(always)]
    fn lock(&self) {
        RawMutex::lock(self);
    }

    #[inline]
    fn try_lock(&self) -> bool {
        RawMutex::try_lock(self)
    }

    #[inline(always)]
    unsafe fn unlock(&self) {
        // SAFETY: the caller's promise.
        unsafe { RawMutex::unlock(self) };
    }

    fn is_locked(&self) -> bool {
        RawMutex::is_locked(self)
    }
}

// SAFETY: `unlock_fair` unlocks as `unlock` does.
unsafe impl lock_api::RawMutexFair for RawMutex {
    unsafe fn unlock_fair(&self) {
        // SAFETY: the caller's promise.
        unsafe { RawMutex::unlock_fair(self) };
    }

    #[inline]
    unsafe fn bump(&self) {
        // SAFETY: the caller's promise.
        unsafe { RawMutex::bump(self) };
    }
}
