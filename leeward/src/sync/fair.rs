//! The fair mutex with data and guards: [`raw::FairMutex`] under `lock_api`.

use crate::raw;

/// The lock of a [`FairMutex`], by parking_lot's name.
///
/// ```
/// use leeward::sync::{RawFairMutex, FairMutex, lock_api};
/// static TOTAL: lock_api::Mutex<RawFairMutex, u64> = FairMutex::new(0);
/// *TOTAL.lock() += 1;
/// assert_eq!(*TOTAL.lock(), 1);
/// ```
pub type RawFairMutex = raw::FairMutex;

/// A [`Mutex`](super::Mutex) whose every unlock is for the thread that has slept longest.
///
/// ```
/// use leeward::sync::FairMutex;
/// static TOTAL: FairMutex<u64> = FairMutex::new(0);
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| *TOTAL.lock() += 1);
///     }
/// });
/// assert_eq!(*TOTAL.lock(), 4);
/// ```
///
/// What that costs, fairness, fork and signals: [`raw::FairMutex`].
///
/// # Differences from parking_lot
/// - A thread that spins and has not slept yet is a newcomer, and may wait for those that sleep.
/// - A [`Condvar`](super::Condvar) may be waited on with its guard.
/// - 4 bytes instead of 1.
pub type FairMutex<T> = lock_api::Mutex<raw::FairMutex, T>;

/// A locked [`FairMutex`]; unlocks it when dropped.
///
/// ```
/// use leeward::sync::{FairMutex, FairMutexGuard};
/// let queue = FairMutex::new(vec![1]);
/// let mut guard: FairMutexGuard<'_, Vec<i32>> = queue.lock();
/// guard.push(2);
/// assert!(queue.try_lock().is_none());
/// drop(guard);
/// assert_eq!(queue.into_inner(), [1, 2]);
/// ```
pub type FairMutexGuard<'a, T> = lock_api::MutexGuard<'a, raw::FairMutex, T>;

/// A locked [`FairMutex`] that shows a part of its value; unlocks it when dropped.
///
/// ```
/// use leeward::sync::{FairMutex, FairMutexGuard, MappedFairMutexGuard};
/// let pair = FairMutex::new((1, "one"));
/// let mut number: MappedFairMutexGuard<'_, i32> = FairMutexGuard::map(pair.lock(), |pair| &mut pair.0);
/// *number = 2;
/// drop(number);
/// assert_eq!(pair.lock().0, 2);
/// ```
pub type MappedFairMutexGuard<'a, T> = lock_api::MappedMutexGuard<'a, raw::FairMutex, T>;

/// Returns an unlocked [`FairMutex`] around `value`: what `FairMutex::new` returns, which is a
/// `const fn` as well. The name is parking_lot's.
///
/// ```
/// use leeward::sync::{FairMutex, const_fair_mutex};
/// static TOTAL: FairMutex<u64> = const_fair_mutex(7);
/// assert_eq!(*TOTAL.lock(), 7);
/// ```
pub const fn const_fair_mutex<T>(value: T) -> FairMutex<T> {
    FairMutex::new(value)
}
