//! The traits of `lock_api` for the biased mutex.

use core::time::Duration;
use std::time::Instant;

use super::super::RawMutex;
use crate::futex::{Deadline, Private};
use crate::raw::deadline;

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

// SAFETY: both return true only with the lock taken.
unsafe impl lock_api::RawMutexTimed for RawMutex {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_for(&self, limit: Duration) -> bool {
        RawMutex::try_lock(self) || RawMutex::try_lock_until(self, Deadline::after::<Private>(limit))
    }

    fn try_lock_until(&self, instant: Instant) -> bool {
        RawMutex::try_lock(self) || RawMutex::try_lock_until(self, deadline::<Private>(instant))
    }
}
