//! The timed traits of `lock_api` 0.4 for the asymmetric locks, with std's `Instant`.

use std::time::{Duration, Instant};

use super::super::{RawMutex, RawRwLock};
use crate::futex::{Deadline, Private};
use crate::raw::deadline;

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

// SAFETY: each returns true only with the lock taken.
unsafe impl lock_api::RawRwLockTimed for RawRwLock {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_shared_for(&self, timeout: Duration) -> bool {
        RawRwLock::try_lock_shared(self) || self.lock_shared_until(Deadline::after::<Private>(timeout))
    }

    fn try_lock_shared_until(&self, timeout: Instant) -> bool {
        RawRwLock::try_lock_shared(self) || self.lock_shared_until(deadline::<Private>(timeout))
    }

    fn try_lock_exclusive_for(&self, timeout: Duration) -> bool {
        self.lock_exclusive_until(Deadline::after::<Private>(timeout))
    }

    fn try_lock_exclusive_until(&self, timeout: Instant) -> bool {
        self.lock_exclusive_until(deadline::<Private>(timeout))
    }
}

// SAFETY: the calls return true only with the lock taken, or upgraded.
unsafe impl lock_api::RawRwLockUpgradeTimed for RawRwLock {
    fn try_lock_upgradable_for(&self, limit: Duration) -> bool {
        RawRwLock::try_lock_upgradable(self) || self.lock_upgradable_until(Deadline::after::<Private>(limit))
    }

    fn try_lock_upgradable_until(&self, limit: Instant) -> bool {
        RawRwLock::try_lock_upgradable(self) || self.lock_upgradable_until(deadline::<Private>(limit))
    }

    unsafe fn try_upgrade_for(&self, limit: Duration) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.upgrade_until(Deadline::after::<Private>(limit)) }
    }

    unsafe fn try_upgrade_until(&self, limit: Instant) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.upgrade_until(deadline::<Private>(limit)) }
    }
}

// SAFETY: the calls return true only with the lock taken.
unsafe impl lock_api::RawRwLockRecursiveTimed for RawRwLock {
    fn try_lock_shared_recursive_for(&self, limit: Duration) -> bool {
        self.lock_shared_recursive_until(Deadline::after::<Private>(limit))
    }

    fn try_lock_shared_recursive_until(&self, limit: Instant) -> bool {
        self.lock_shared_recursive_until(deadline::<Private>(limit))
    }
}
