//! The mutexes with data and guards: [`raw::Mutex`] and [`raw::LightMutex`] under `lock_api`.

use crate::raw;

/// The lock of a [`Mutex`], by parking_lot's name.
///
/// ```
/// use leeward::sync::{RawMutex, Mutex, lock_api};
/// static TOTAL: lock_api::Mutex<RawMutex, u64> = Mutex::new(0);
/// *TOTAL.lock() += 1;
/// assert_eq!(*TOTAL.lock(), 1);
/// ```
pub type RawMutex = raw::Mutex;

/// A mutual exclusion lock around a value.
///
/// ```
/// use leeward::sync::Mutex;
/// use std::time::Duration;
/// static TOTAL: Mutex<u64> = Mutex::new(0);
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| *TOTAL.lock() += 1);
///     }
/// });
/// let total = TOTAL.try_lock_for(Duration::from_secs(1)).expect("no thread holds it");
/// assert_eq!(*total, 4);
/// ```
///
/// Cost, fairness, fork and signals: [`raw::Mutex`](crate::raw::Mutex).
///
/// # Differences from std
/// - No poisoning: `lock` returns the guard, `try_lock` an `Option`. (`sync::poison` has std's.)
/// - `try_lock_for`, `try_lock_until`; `MutexGuard::unlock_fair`, `unlocked`, `map`.
/// - A waiter that lost more than 32 wake-ups, or one after a millisecond, is preferred to
///   newcomers.
///
/// # Differences from parking_lot
/// - The bound above; there a thread may be overtaken without end where no thread calls
///   `unlock_fair`.
/// - 4 bytes instead of 1.
pub type Mutex<T> = lock_api::Mutex<raw::Mutex, T>;

/// A locked [`Mutex`]; unlocks it when dropped.
///
/// ```
/// use leeward::sync::{Mutex, MutexGuard};
/// let queue = Mutex::new(vec![1]);
/// let mut guard = queue.lock();
/// guard.push(2);
/// assert!(queue.try_lock().is_none());
/// MutexGuard::unlock_fair(guard);
/// assert_eq!(queue.into_inner(), [1, 2]);
/// ```
pub type MutexGuard<'a, T> = lock_api::MutexGuard<'a, raw::Mutex, T>;

/// A locked [`Mutex`] that shows a part of its value; unlocks it when dropped.
///
/// ```
/// use leeward::sync::{MappedMutexGuard, Mutex, MutexGuard};
/// let pair = Mutex::new((1, "one"));
/// let mut number: MappedMutexGuard<'_, i32> = MutexGuard::map(pair.lock(), |pair| &mut pair.0);
/// *number = 2;
/// drop(number);
/// assert_eq!(pair.lock().0, 2);
/// ```
pub type MappedMutexGuard<'a, T> = lock_api::MappedMutexGuard<'a, raw::Mutex, T>;

/// A [`Mutex`] whose unlock is a store, for locks that are seldom contended.
///
/// ```
/// use leeward::sync::LightMutex;
/// static COUNT: LightMutex<u32> = LightMutex::new(0);
/// *COUNT.lock() += 1;
/// assert_eq!(*COUNT.lock(), 1);
/// ```
///
/// What a sleeper pays instead, fork, signals and aborts:
/// [`raw::LightMutex`](crate::raw::LightMutex).
///
/// # Differences from std
/// - Those of [`Mutex`], but without a bound for waiters where no holder calls `unlock_fair`.
/// - A thread that goes to sleep issues a heavy fence, once in 511 unlocks at most; where no heavy
///   fence is possible, waiting ends the process.
pub type LightMutex<T> = lock_api::Mutex<raw::LightMutex, T>;

/// A locked [`LightMutex`]; unlocks it when dropped.
///
/// ```
/// use leeward::sync::{LightMutex, LightMutexGuard};
/// let count = LightMutex::new(1);
/// let guard: LightMutexGuard<'_, i32> = count.lock();
/// assert!(count.try_lock().is_none());
/// drop(guard);
/// assert!(count.try_lock().is_some());
/// ```
pub type LightMutexGuard<'a, T> = lock_api::MutexGuard<'a, raw::LightMutex, T>;

/// A locked [`LightMutex`] that shows a part of its value; unlocks it when dropped.
///
/// ```
/// use leeward::sync::{LightMutex, LightMutexGuard, MappedLightMutexGuard};
/// let pair = LightMutex::new((1, "one"));
/// let mut number: MappedLightMutexGuard<'_, i32> = LightMutexGuard::map(pair.lock(), |pair| &mut pair.0);
/// *number = 2;
/// drop(number);
/// assert_eq!(pair.lock().0, 2);
/// ```
pub type MappedLightMutexGuard<'a, T> = lock_api::MappedMutexGuard<'a, raw::LightMutex, T>;

/// Returns an unlocked [`Mutex`] around `value`: what `Mutex::new` returns, which is a `const fn`
/// as well. The name is parking_lot's.
///
/// ```
/// use leeward::sync::{Mutex, const_mutex};
/// static TOTAL: Mutex<u64> = const_mutex(7);
/// assert_eq!(*TOTAL.lock(), 7);
/// ```
pub const fn const_mutex<T>(value: T) -> Mutex<T> {
    Mutex::new(value)
}
