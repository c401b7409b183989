//! The timed traits of `lock_api` 0.5 for the asymmetric locks, with std's `Instant`.

use std::time::{Duration, Instant};

use lock_api_05::{GuardNoSend, RawMutexTimed, RawRwLockTimed, RawRwLockUpgradeTimed};

use super::super::{RawMutex, RawRwLock};
use super::v05::{guard, upgraded};
use crate::futex::{Deadline, Private};
use crate::raw::deadline;

// SAFETY: the calls return a guard only with the lock taken.
unsafe impl RawMutexTimed for RawMutex {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_for(&self, limit: Duration) -> Option<GuardNoSend> {
        guard(RawMutex::try_lock(self) || RawMutex::try_lock_until(self, Deadline::after::<Private>(limit)))
    }

    fn try_lock_until(&self, instant: Instant) -> Option<GuardNoSend> {
        guard(RawMutex::try_lock(self) || RawMutex::try_lock_until(self, deadline::<Private>(instant)))
    }
}

// SAFETY: the calls return a guard only with the lock taken.
unsafe impl RawRwLockTimed for RawRwLock {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_shared_for(&self, limit: Duration) -> Option<GuardNoSend> {
        guard(RawRwLock::try_lock_shared(self) || self.lock_shared_until(Deadline::after::<Private>(limit)))
    }

    fn try_lock_shared_until(&self, instant: Instant) -> Option<GuardNoSend> {
        guard(RawRwLock::try_lock_shared(self) || self.lock_shared_until(deadline::<Private>(instant)))
    }

    fn try_lock_exclusive_for(&self, limit: Duration) -> Option<GuardNoSend> {
        guard(self.lock_exclusive_until(Deadline::after::<Private>(limit)))
    }

    fn try_lock_exclusive_until(&self, instant: Instant) -> Option<GuardNoSend> {
        guard(self.lock_exclusive_until(deadline::<Private>(instant)))
    }
}

// SAFETY: the calls return a guard, or a writer's, only with the lock taken, or upgraded.
unsafe impl RawRwLockUpgradeTimed for RawRwLock {
    fn try_lock_upgradable_for(&self, limit: Duration) -> Option<GuardNoSend> {
        guard(RawRwLock::try_lock_upgradable(self) || self.lock_upgradable_until(Deadline::after::<Private>(limit)))
    }

    fn try_lock_upgradable_until(&self, instant: Instant) -> Option<GuardNoSend> {
        guard(RawRwLock::try_lock_upgradable(self) || self.lock_upgradable_until(deadline::<Private>(instant)))
    }

    unsafe fn try_upgrade_for(&self, guard: GuardNoSend, limit: Duration) -> Result<GuardNoSend, GuardNoSend> {
        // SAFETY: the caller's promise.
        upgraded(unsafe { self.upgrade_until(Deadline::after::<Private>(limit)) }, guard)
    }

    unsafe fn try_upgrade_until(&self, guard: GuardNoSend, instant: Instant) -> Result<GuardNoSend, GuardNoSend> {
        // SAFETY: the caller's promise.
        upgraded(unsafe { self.upgrade_until(deadline::<Private>(instant)) }, guard)
    }
}
