//! The raw mutexes as `lock_api` knows them, which supplies guards and data.

use super::{LightMutex, Mutex};
use crate::futex::Futex;
#[cfg(feature = "std")]
use crate::futex::{Deadline, Private};

// SAFETY: `lock` and `try_lock` let one caller in until `unlock`.
unsafe impl<F: Futex> lock_api::RawMutex for Mutex<F> {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = Mutex::<F>::new();
    type GuardMarker = lock_api::GuardSend;

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

// SAFETY: as `unlock`.
unsafe impl<F: Futex> lock_api::RawMutexFair for Mutex<F> {
    unsafe fn unlock_fair(&self) {
        // SAFETY: the caller's promise.
        unsafe { Mutex::unlock_fair(self) };
    }
}

/// The deadline that `instant` is.
#[cfg(feature = "std")]
pub(crate) fn deadline<F: Futex>(instant: std::time::Instant) -> Deadline {
    Deadline::after::<F>(instant.saturating_duration_since(std::time::Instant::now()))
}

// SAFETY: they answer true only with the lock taken.
#[cfg(feature = "std")]
unsafe impl<F: Futex> lock_api::RawMutexTimed for Mutex<F> {
    type Duration = core::time::Duration;
    type Instant = std::time::Instant;

    fn try_lock_for(&self, limit: core::time::Duration) -> bool {
        self.try_lock() || self.try_lock_until(Deadline::after::<F>(limit))
    }

    fn try_lock_until(&self, instant: std::time::Instant) -> bool {
        self.try_lock() || Mutex::try_lock_until(self, deadline::<F>(instant))
    }
}

// SAFETY: `lock` and `try_lock` let one caller in until `unlock`.
unsafe impl lock_api::RawMutex for LightMutex {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = LightMutex::new();
    type GuardMarker = lock_api::GuardSend;

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

// SAFETY: they answer true only with the lock taken.
#[cfg(feature = "std")]
unsafe impl lock_api::RawMutexTimed for LightMutex {
    type Duration = core::time::Duration;
    type Instant = std::time::Instant;

    fn try_lock_for(&self, limit: core::time::Duration) -> bool {
        self.try_lock() || self.try_lock_until(Deadline::after::<Private>(limit))
    }

    fn try_lock_until(&self, instant: std::time::Instant) -> bool {
        self.try_lock() || LightMutex::try_lock_until(self, deadline::<Private>(instant))
    }
}
