//! The traits of mutexes.

/// Implements `lock_api`'s traits of mutexes, of both versions, for a lock that has methods of their
/// names: `mutex! { [GENERICS] LOCK, FUTEX, UNLOCK_FAIR, GUARD, GUARD_OF_05 }`. The time limits are on
/// the clock of `FUTEX`, and `UNLOCK_FAIR` is the method that unlocks fairly.
macro_rules! mutex {
    ([$($generics:tt)*] $lock:ty, $futex:ty, $unlock_fair:ident, $guard:ty, $guard_05:ty) => {
        mutex_traits! { lock_api $guard, [$($generics)*] $lock, $futex, $unlock_fair }
        only_05! { mutex_traits! { lock_api_05 $guard_05, [$($generics)*] $lock, $futex, $unlock_fair } }
    };
}
pub(crate) use mutex;

/// Implements the traits of one version.
macro_rules! mutex_traits {
    ($api:ident $guard:ty, [$($generics:tt)*] $lock:ty, $futex:ty, $unlock_fair:ident) => {
        // SAFETY: `lock` and `try_lock` let one caller in until `unlock`.
        unsafe impl<$($generics)*> ::$api::RawMutex for $lock {
            #[allow(clippy::declare_interior_mutable_const)]
            const INIT: Self = unlocked!([$($generics)*] $lock);
            guards! { $api $guard: Guard }
            method! { $api $guard: locks lock }
            method! { $api $guard: tries try_lock }
            method! { $api $guard: unlocks unlock }

            #[inline]
            fn is_locked(&self) -> bool {
                Self::is_locked(self)
            }
        }

        // SAFETY: the fair unlock unlocks as the other one does.
        unsafe impl<$($generics)*> ::$api::RawMutexFair for $lock {
            method! { $api $guard: unlocks unlock_fair by $unlock_fair }
            method! { $api $guard: bumps bump }
        }

        only_std! { mutex_timed! { $api $guard, [$($generics)*] $lock, $futex } }
    };
}
pub(crate) use mutex_traits;
