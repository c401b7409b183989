//! [`lock_api`]'s timed locking, whose points in time are std's.

use std::time::{Duration, Instant};

use super::{RwLock, deadline};
use crate::futex::{Deadline, Futex};

// SAFETY: they lock as the others do, or not at all.
unsafe impl<F: Futex> lock_api::RawRwLockTimed for RwLock<F> {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_shared_for(&self, timeout: Duration) -> bool {
        RwLock::try_lock_shared(self) || self.lock_shared_until(Deadline::after::<F>(timeout))
    }

    fn try_lock_shared_until(&self, timeout: Instant) -> bool {
        RwLock::try_lock_shared(self) || self.lock_shared_until(deadline::<F>(timeout))
    }

    fn try_lock_exclusive_for(&self, timeout: Duration) -> bool {
        RwLock::try_lock_exclusive(self) || self.lock_exclusive_until(Deadline::after::<F>(timeout))
    }

    fn try_lock_exclusive_until(&self, timeout: Instant) -> bool {
        RwLock::try_lock_exclusive(self) || self.lock_exclusive_until(deadline::<F>(timeout))
    }
}
