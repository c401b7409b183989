//! The fair unlocks of the locks of several processes, as associated functions of their guards. Called
//! by those who hold a guard of `lock.rs`; calls [`raw::Mutex`](crate::raw::Mutex) and
//! [`raw::RwLock`](crate::raw::RwLock).
//!
//! A lock that is reserved for a thread whose process is killed then goes to the first thread that has
//! waited for a millisecond.

use core::mem;

use super::lock::{MutexGuard, RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard};
use crate::bytes::AnyBytes;

/// Gives `$guard` of the lock in `$field` its fair unlock and its bump: the lock's `$unlock`, `$bump`.
macro_rules! fair {
    ($(#[$unlocks:meta])* ; $(#[$bumps:meta])* ; $guard:ident, $field:ident, $unlock:ident, $bump:ident) => {
        impl<T: AnyBytes> $guard<'_, T> {
            $(#[$unlocks])*
            ///
            /// # Panics
            /// In the child of a fork, as all use of the guard's copy.
            #[track_caller]
            pub fn unlock_fair(guard: Self) {
                guard.must_be_ours();
                let lock = &guard.$field.lock;
                mem::forget(guard);
                // SAFETY: this process took the lock when the guard was made, which is gone.
                unsafe { lock.$unlock() };
            }

            $(#[$bumps])*
            ///
            /// # Panics
            /// In the child of a fork, as all use of the guard's copy.
            #[track_caller]
            pub fn bump(guard: &mut Self) {
                guard.must_be_ours();
                // SAFETY: this process took the lock when the guard was made, and no reference to the
                // value is left, since the guard is borrowed exclusively.
                unsafe { guard.$field.lock.$bump() };
            }
        }
    };
}

fair!(
    /// Unlocks the mutex for the thread that has slept longest, in any process, if one sleeps: no
    /// newcomer gets the lock before.
    ///
    /// ```
    /// use leeward::shared::{Mutex, MutexGuard};
    /// let total = Mutex::new(1);
    /// let mut guard = total.lock();
    /// MutexGuard::bump(&mut guard);
    /// MutexGuard::unlock_fair(guard);
    /// assert!(total.try_lock().is_some());            // no thread slept
    /// ```
    ;
    /// Lets a thread that waits for the mutex have it, if there is one, and locks it again.
    ;
    MutexGuard, mutex, unlock_fair, bump
);
fair!(
    /// Unlocks the lock. If this is the last reader and writers sleep, in any process, no newcomer
    /// takes the lock before one of them.
    ///
    /// ```
    /// use leeward::shared::{RwLock, RwLockReadGuard};
    /// let limit = RwLock::new(1);
    /// let mut guard = limit.read();
    /// RwLockReadGuard::bump(&mut guard);
    /// RwLockReadGuard::unlock_fair(guard);
    /// assert!(limit.try_write().is_some());           // no thread slept
    /// ```
    ;
    /// Lets a writer that waits have the lock, if there is one, and locks it for reading again.
    ;
    RwLockReadGuard, rwlock, unlock_shared_fair, bump_shared
);
fair!(
    /// Unlocks the lock. Its place is for a thread that sleeps for it; and if this is the last reader
    /// and writers sleep, no newcomer takes the lock before one of them.
    ///
    /// ```
    /// use leeward::shared::{RwLock, RwLockUpgradableReadGuard};
    /// let limit = RwLock::new(1);
    /// let mut guard = limit.upgradable_read();
    /// RwLockUpgradableReadGuard::bump(&mut guard);
    /// RwLockUpgradableReadGuard::unlock_fair(guard);
    /// assert!(limit.try_upgradable_read().is_some()); // no thread slept
    /// ```
    ;
    /// Lets a thread that waits have the lock or this guard's place, if there is one, and locks it as
    /// the upgradable reader again.
    ;
    RwLockUpgradableReadGuard, rwlock, unlock_upgradable_fair, bump_upgradable
);
fair!(
    /// Unlocks the lock for the readers that sleep, in any process, or else for the writer that has
    /// slept longest: no newcomer takes the lock for writing before one of them.
    ///
    /// ```
    /// use leeward::shared::{RwLock, RwLockWriteGuard};
    /// let limit = RwLock::new(1);
    /// let mut guard = limit.write();
    /// RwLockWriteGuard::bump(&mut guard);
    /// RwLockWriteGuard::unlock_fair(guard);
    /// assert!(limit.try_write().is_some());           // no thread slept
    /// ```
    ;
    /// Lets threads that wait have the lock, if there are any, and locks it for writing again.
    ;
    RwLockWriteGuard, rwlock, unlock_exclusive_fair, bump_exclusive
);
