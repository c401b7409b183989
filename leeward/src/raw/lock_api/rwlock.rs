//! The traits of readers-writer locks.

/// Implements `lock_api`'s traits of readers-writer locks, of both versions, for a lock that has
/// methods of their names: `rwlock! { [GENERICS] LOCK, FUTEX, LOCK_AT_ONCE, GUARD, GUARD_OF_05 }`. The
/// time limits are on the clock of `FUTEX`; `LOCK_AT_ONCE` is the method that locks a free lock for
/// writing, before the clock is read. (0.5 has no recursive reads.)
macro_rules! rwlock {
    ([$($generics:tt)*] $lock:ty, $futex:ty, $at_once:ident, $guard:ty, $guard_05:ty) => {
        rwlock_traits! { lock_api $guard, [$($generics)*] $lock, $futex, $at_once }
        rwlock_recursive! { [$($generics)*] $lock, $futex }
        only_05! { rwlock_traits! { lock_api_05 $guard_05, [$($generics)*] $lock, $futex, $at_once } }
    };
}
pub(crate) use rwlock;

/// Implements the traits that both versions have.
macro_rules! rwlock_traits {
    ($api:ident $guard:ty, [$($generics:tt)*] $lock:ty, $futex:ty, $at_once:ident) => {
        // SAFETY: a writer is alone until `unlock_exclusive` or `downgrade`; readers share until the
        // last `unlock_shared`.
        unsafe impl<$($generics)*> ::$api::RawRwLock for $lock {
            #[allow(clippy::declare_interior_mutable_const)]
            const INIT: Self = unlocked!([$($generics)*] $lock);
            guards! { $api $guard: SharedGuard ExclusiveGuard }
            method! { $api $guard: locks lock_shared }
            method! { $api $guard: tries try_lock_shared }
            method! { $api $guard: unlocks unlock_shared }
            method! { $api $guard: locks lock_exclusive }
            method! { $api $guard: tries try_lock_exclusive }
            method! { $api $guard: unlocks unlock_exclusive }

            #[inline]
            fn is_locked(&self) -> bool {
                Self::is_locked(self)
            }

            #[inline]
            fn is_locked_exclusive(&self) -> bool {
                Self::is_locked_exclusive(self)
            }
        }

        // SAFETY: the writer becomes a reader in one step, and no other writer comes between.
        unsafe impl<$($generics)*> ::$api::RawRwLockDowngrade for $lock {
            method! { $api $guard: turns downgrade }
        }

        // SAFETY: one upgradable reader is inside at a time, beside readers, and no writer; it
        // becomes the writer when the readers have left, before any other.
        unsafe impl<$($generics)*> ::$api::RawRwLockUpgrade for $lock {
            guards! { $api $guard: UpgradableGuard }
            method! { $api $guard: locks lock_upgradable }
            method! { $api $guard: tries try_lock_upgradable }
            method! { $api $guard: unlocks unlock_upgradable }
            method! { $api $guard: turns upgrade }
            method! { $api $guard: tries_to_turn try_upgrade(self) = try_upgrade() }
        }

        // SAFETY: each is one step, and no writer comes between.
        unsafe impl<$($generics)*> ::$api::RawRwLockUpgradeDowngrade for $lock {
            method! { $api $guard: turns downgrade_upgradable }
            method! { $api $guard: turns downgrade_to_upgradable }
        }

        // SAFETY: each fair unlock unlocks as the other one does.
        unsafe impl<$($generics)*> ::$api::RawRwLockFair for $lock {
            method! { $api $guard: unlocks unlock_shared_fair }
            method! { $api $guard: unlocks unlock_exclusive_fair }
            method! { $api $guard: bumps bump_shared }
            method! { $api $guard: bumps bump_exclusive }
        }

        // SAFETY: the fair unlock unlocks as the other one does.
        unsafe impl<$($generics)*> ::$api::RawRwLockUpgradeFair for $lock {
            method! { $api $guard: unlocks unlock_upgradable_fair }
            method! { $api $guard: bumps bump_upgradable }
        }

        only_std! { rwlock_timed! { $api $guard, [$($generics)*] $lock, $futex, $at_once } }
    };
}
pub(crate) use rwlock_traits;

/// Implements the traits of recursive reads, which 0.4 has alone.
macro_rules! rwlock_recursive {
    ([$($generics:tt)*] $lock:ty, $futex:ty) => {
        // SAFETY: both lock for reading, as the calls that are not recursive do; only waiting writers
        // are passed.
        unsafe impl<$($generics)*> ::lock_api::RawRwLockRecursive for $lock {
            method! { lock_api (): locks lock_shared_recursive }
            method! { lock_api (): tries try_lock_shared_recursive }
        }

        only_std! { rwlock_recursive_timed! { [$($generics)*] $lock, $futex } }
    };
}
pub(crate) use rwlock_recursive;
