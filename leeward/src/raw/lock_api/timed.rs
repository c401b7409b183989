//! The timed traits of `lock_api` 0.4 for the raw locks, with std's `Instant`.

use std::time::{Duration, Instant};

use super::super::{FairMutex, LightMutex, Mutex, RwLock};
use crate::futex::{Deadline, Futex, Private};

/// Returns `instant` as a deadline on the clock of `F`.
pub(crate) fn deadline<F: Futex>(instant: Instant) -> Deadline {
    Deadline::after::<F>(instant.saturating_duration_since(Instant::now()))
}

// SAFETY: the calls return true only with the lock taken.
unsafe impl<F: Futex> lock_api::RawMutexTimed for Mutex<F> {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_for(&self, limit: Duration) -> bool {
        self.try_lock() || self.try_lock_until(Deadline::after::<F>(limit))
    }

    fn try_lock_until(&self, instant: Instant) -> bool {
        self.try_lock() || Mutex::try_lock_until(self, deadline::<F>(instant))
    }
}

// SAFETY: the calls return true only with the lock taken.
unsafe impl<F: Futex> lock_api::RawMutexTimed for FairMutex<F> {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_for(&self, limit: Duration) -> bool {
        self.try_lock() || self.try_lock_until(Deadline::after::<F>(limit))
    }

    fn try_lock_until(&self, instant: Instant) -> bool {
        self.try_lock() || FairMutex::try_lock_until(self, deadline::<F>(instant))
    }
}

// SAFETY: the calls return true only with the lock taken.
unsafe impl lock_api::RawMutexTimed for LightMutex {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_for(&self, limit: Duration) -> bool {
        self.try_lock() || self.try_lock_until(Deadline::after::<Private>(limit))
    }

    fn try_lock_until(&self, instant: Instant) -> bool {
        self.try_lock() || LightMutex::try_lock_until(self, deadline::<Private>(instant))
    }
}

// SAFETY: the calls return true only with the lock taken.
unsafe impl<F: Futex> lock_api::RawRwLockTimed for RwLock<F> {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_shared_for(&self, limit: Duration) -> bool {
        RwLock::try_lock_shared(self) || self.lock_shared_until(Deadline::after::<F>(limit))
    }

    fn try_lock_shared_until(&self, limit: Instant) -> bool {
        RwLock::try_lock_shared(self) || self.lock_shared_until(deadline::<F>(limit))
    }

    fn try_lock_exclusive_for(&self, limit: Duration) -> bool {
        RwLock::try_lock_exclusive(self) || self.lock_exclusive_until(Deadline::after::<F>(limit))
    }

    fn try_lock_exclusive_until(&self, limit: Instant) -> bool {
        RwLock::try_lock_exclusive(self) || self.lock_exclusive_until(deadline::<F>(limit))
    }
}

// SAFETY: the calls return true only with the lock taken, or upgraded.
unsafe impl<F: Futex> lock_api::RawRwLockUpgradeTimed for RwLock<F> {
    fn try_lock_upgradable_for(&self, limit: Duration) -> bool {
        RwLock::try_lock_upgradable(self) || self.lock_upgradable_until(Deadline::after::<F>(limit))
    }

    fn try_lock_upgradable_until(&self, limit: Instant) -> bool {
        RwLock::try_lock_upgradable(self) || self.lock_upgradable_until(deadline::<F>(limit))
    }

    unsafe fn try_upgrade_for(&self, limit: Duration) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.upgrade_until(Deadline::after::<F>(limit)) }
    }

    unsafe fn try_upgrade_until(&self, limit: Instant) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.upgrade_until(deadline::<F>(limit)) }
    }
}

// SAFETY: the calls return true only with the lock taken.
unsafe impl<F: Futex> lock_api::RawRwLockRecursiveTimed for RwLock<F> {
    fn try_lock_shared_recursive_for(&self, limit: Duration) -> bool {
        self.lock_shared_recursive_until(Deadline::after::<F>(limit))
    }

    fn try_lock_shared_recursive_until(&self, limit: Instant) -> bool {
        self.lock_shared_recursive_until(deadline::<F>(limit))
    }
}
