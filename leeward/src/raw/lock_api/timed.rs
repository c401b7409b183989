//! The timed traits, with std's `Instant`. A lock that is free is taken before the clock is read.

use std::time::Instant;

use crate::futex::{Deadline, Futex};

/// Returns `instant` as a deadline on the clock of `F`.
pub(crate) fn deadline<F: Futex>(instant: Instant) -> Deadline {
    Deadline::after::<F>(instant.saturating_duration_since(Instant::now()))
}

/// Implements the timed trait of mutexes, of one version.
macro_rules! mutex_timed {
    ($api:ident $guard:ty, [$($generics:tt)*] $lock:ty, $futex:ty) => {
        // SAFETY: the calls say that they locked only with the lock taken.
        unsafe impl<$($generics)*> ::$api::RawMutexTimed for $lock {
            type Duration = std::time::Duration;
            type Instant = std::time::Instant;
            method! { $api $guard: tries_within try_lock_for(self, limit: std::time::Duration) =
                Self::try_lock(self) || Self::try_lock_until(self, $crate::futex::Deadline::after::<$futex>(limit)) }
            method! { $api $guard: tries_within try_lock_until(self, limit: std::time::Instant) =
                Self::try_lock(self) || Self::try_lock_until(self, deadline::<$futex>(limit)) }
        }
    };
}
pub(crate) use mutex_timed;

/// Implements the timed traits of readers-writer locks that both versions have.
macro_rules! rwlock_timed {
    ($api:ident $guard:ty, [$($generics:tt)*] $lock:ty, $futex:ty, $at_once:ident) => {
        // SAFETY: the calls say that they locked only with the lock taken.
        unsafe impl<$($generics)*> ::$api::RawRwLockTimed for $lock {
            type Duration = std::time::Duration;
            type Instant = std::time::Instant;
            method! { $api $guard: tries_within try_lock_shared_for(self, limit: std::time::Duration) =
                Self::try_lock_shared(self) || self.lock_shared_until($crate::futex::Deadline::after::<$futex>(limit)) }
            method! { $api $guard: tries_within try_lock_shared_until(self, limit: std::time::Instant) =
                Self::try_lock_shared(self) || self.lock_shared_until(deadline::<$futex>(limit)) }
            method! { $api $guard: tries_within try_lock_exclusive_for(self, limit: std::time::Duration) =
                Self::$at_once(self) || self.lock_exclusive_until($crate::futex::Deadline::after::<$futex>(limit)) }
            method! { $api $guard: tries_within try_lock_exclusive_until(self, limit: std::time::Instant) =
                Self::$at_once(self) || self.lock_exclusive_until(deadline::<$futex>(limit)) }
        }

        // SAFETY: the calls say that they locked, or upgraded, only with the lock taken so.
        unsafe impl<$($generics)*> ::$api::RawRwLockUpgradeTimed for $lock {
            method! { $api $guard: tries_within try_lock_upgradable_for(self, limit: std::time::Duration) =
                Self::try_lock_upgradable(self)
                    || self.lock_upgradable_until($crate::futex::Deadline::after::<$futex>(limit)) }
            method! { $api $guard: tries_within try_lock_upgradable_until(self, limit: std::time::Instant) =
                Self::try_lock_upgradable(self) || self.lock_upgradable_until(deadline::<$futex>(limit)) }
            method! { $api $guard: tries_to_turn try_upgrade_for(self, limit: std::time::Duration) =
                upgrade_until($crate::futex::Deadline::after::<$futex>(limit)) }
            method! { $api $guard: tries_to_turn try_upgrade_until(self, limit: std::time::Instant) =
                upgrade_until(deadline::<$futex>(limit)) }
        }
    };
}
pub(crate) use rwlock_timed;

/// Implements the timed trait of recursive reads, which 0.4 has alone.
macro_rules! rwlock_recursive_timed {
    ([$($generics:tt)*] $lock:ty, $futex:ty) => {
        // SAFETY: the calls return true only with the lock taken.
        unsafe impl<$($generics)*> ::lock_api::RawRwLockRecursiveTimed for $lock {
            method! { lock_api (): tries_within try_lock_shared_recursive_for(self, limit: std::time::Duration) =
                self.lock_shared_recursive_until($crate::futex::Deadline::after::<$futex>(limit)) }
            method! { lock_api (): tries_within try_lock_shared_recursive_until(self, limit: std::time::Instant) =
                self.lock_shared_recursive_until(deadline::<$futex>(limit)) }
        }
    };
}
pub(crate) use rwlock_recursive_timed;
