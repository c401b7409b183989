//! The timed traits of `lock_api` 0.5 for the raw locks, with std's `Instant`.

use std::time::{Duration, Instant};

use lock_api_05::{RawMutexTimed, RawRwLockTimed, RawRwLockUpgradeTimed};

use super::super::{FairMutex, LightMutex, Mutex, RwLock};
use super::Guard05;
use super::deadline;
use super::v05::{guard, upgraded};
use crate::futex::{Deadline, Futex, Private};

// SAFETY: the calls return a guard only with the lock taken.
unsafe impl<F: Futex> RawMutexTimed for Mutex<F> {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_for(&self, limit: Duration) -> Option<Guard05> {
        guard(Mutex::try_lock(self) || Mutex::try_lock_until(self, Deadline::after::<F>(limit)))
    }

    fn try_lock_until(&self, instant: Instant) -> Option<Guard05> {
        guard(Mutex::try_lock(self) || Mutex::try_lock_until(self, deadline::<F>(instant)))
    }
}

// SAFETY: the calls return a guard only with the lock taken.
unsafe impl<F: Futex> RawMutexTimed for FairMutex<F> {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_for(&self, limit: Duration) -> Option<Guard05> {
        guard(FairMutex::try_lock(self) || FairMutex::try_lock_until(self, Deadline::after::<F>(limit)))
    }

    fn try_lock_until(&self, instant: Instant) -> Option<Guard05> {
        guard(FairMutex::try_lock(self) || FairMutex::try_lock_until(self, deadline::<F>(instant)))
    }
}

// SAFETY: the calls return a guard only with the lock taken.
unsafe impl RawMutexTimed for LightMutex {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_for(&self, limit: Duration) -> Option<Guard05> {
        guard(LightMutex::try_lock(self) || LightMutex::try_lock_until(self, Deadline::after::<Private>(limit)))
    }

    fn try_lock_until(&self, instant: Instant) -> Option<Guard05> {
        guard(LightMutex::try_lock(self) || LightMutex::try_lock_until(self, deadline::<Private>(instant)))
    }
}

// SAFETY: the calls return a guard only with the lock taken.
unsafe impl<F: Futex> RawRwLockTimed for RwLock<F> {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_shared_for(&self, limit: Duration) -> Option<Guard05> {
        guard(RwLock::try_lock_shared(self) || self.lock_shared_until(Deadline::after::<F>(limit)))
    }

    fn try_lock_shared_until(&self, instant: Instant) -> Option<Guard05> {
        guard(RwLock::try_lock_shared(self) || self.lock_shared_until(deadline::<F>(instant)))
    }

    fn try_lock_exclusive_for(&self, limit: Duration) -> Option<Guard05> {
        guard(RwLock::try_lock_exclusive(self) || self.lock_exclusive_until(Deadline::after::<F>(limit)))
    }

    fn try_lock_exclusive_until(&self, instant: Instant) -> Option<Guard05> {
        guard(RwLock::try_lock_exclusive(self) || self.lock_exclusive_until(deadline::<F>(instant)))
    }
}

// SAFETY: the calls return a guard, or a writer's, only with the lock taken, or upgraded.
unsafe impl<F: Futex> RawRwLockUpgradeTimed for RwLock<F> {
    fn try_lock_upgradable_for(&self, limit: Duration) -> Option<Guard05> {
        guard(RwLock::try_lock_upgradable(self) || self.lock_upgradable_until(Deadline::after::<F>(limit)))
    }

    fn try_lock_upgradable_until(&self, instant: Instant) -> Option<Guard05> {
        guard(RwLock::try_lock_upgradable(self) || self.lock_upgradable_until(deadline::<F>(instant)))
    }

    unsafe fn try_upgrade_for(&self, guard: Guard05, limit: Duration) -> Result<Guard05, Guard05> {
        // SAFETY: the caller's promise.
        upgraded(unsafe { self.upgrade_until(Deadline::after::<F>(limit)) }, guard)
    }

    unsafe fn try_upgrade_until(&self, guard: Guard05, instant: Instant) -> Result<Guard05, Guard05> {
        // SAFETY: the caller's promise.
        upgraded(unsafe { self.upgrade_until(deadline::<F>(instant)) }, guard)
    }
}
