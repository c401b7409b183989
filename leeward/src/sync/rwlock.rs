//! The readers-writer lock with data and guards: [`raw::RwLock`] under `lock_api`.

use crate::raw;

/// The lock of a [`RwLock`], by parking_lot's name.
///
/// ```
/// use leeward::sync::{RawRwLock, RwLock, lock_api};
/// static LIMIT: lock_api::RwLock<RawRwLock, u64> = RwLock::new(0);
/// *LIMIT.write() += 1;
/// assert_eq!(*LIMIT.read(), 1);
/// ```
pub type RawRwLock = raw::RwLock;

/// A readers-writer lock around a value: readers share it, a writer is alone, and neither side
/// starves the other.
///
/// ```
/// use leeward::sync::{RwLock, RwLockWriteGuard};
/// static ROUTES: RwLock<Vec<&str>> = RwLock::new(Vec::new());
/// let mut routes = ROUTES.write();
/// routes.push("/");
/// let routes = RwLockWriteGuard::downgrade(routes);
/// std::thread::scope(|scope| {
///     scope.spawn(|| assert_eq!(*ROUTES.read(), ["/"]));
/// });
/// assert!(ROUTES.try_write().is_none());
/// drop(routes);
/// assert!(ROUTES.try_write().is_some());
/// ```
///
/// A holder that takes the lock again and again lets those that wait have it in between by `bump`:
///
/// ```
/// use leeward::sync::{RwLock, RwLockWriteGuard};
/// let squares = RwLock::new(Vec::new());
/// let mut guard = squares.write();
/// for number in 0..10 {
///     guard.push(number * number);
///     RwLockWriteGuard::bump(&mut guard);
/// }
/// RwLockWriteGuard::unlock_fair(guard);
/// assert_eq!(squares.read().len(), 10);
/// ```
///
/// Cost, fairness, fork, signals and aborts: [`raw::RwLock`](crate::raw::RwLock).
///
/// # Differences from std
/// - A policy that is promised: a reader that arrives after a sleeping writer does not overtake it,
///   and one writer at most precedes a reader that was woken. std leaves the policy to the
///   platform.
/// - No poisoning: `read` and `write` return the guards. (`sync::poison` has std's.)
/// - `try_read_for`, `try_write_for` and their `_until` forms. `read_recursive`, for a thread that
///   may read already. [Upgradable reads](RwLockUpgradableReadGuard), and `downgrade`.
///
/// # Differences from parking_lot
/// - `read_recursive` is a call of this type; version 0.13 has a `RecursiveRwLock` instead.
/// - Readers have a bound without fair unlocks.
pub type RwLock<T> = lock_api::RwLock<raw::RwLock, T>;

/// A [`RwLock`] that is locked for reading; unlocks it when dropped.
///
/// ```
/// use leeward::sync::{RwLock, RwLockReadGuard};
/// let limit = RwLock::new(5);
/// let first: RwLockReadGuard<'_, i32> = limit.read();
/// let second = limit.read();
/// assert_eq!((*first, *second), (5, 5));
/// ```
pub type RwLockReadGuard<'a, T> = lock_api::RwLockReadGuard<'a, raw::RwLock, T>;

/// A [`RwLock`] that is locked for writing; unlocks it when dropped.
///
/// ```
/// use leeward::sync::{RwLock, RwLockWriteGuard};
/// let limit = RwLock::new(5);
/// let mut guard: RwLockWriteGuard<'_, i32> = limit.write();
/// *guard = 6;
/// assert!(limit.try_read().is_none());
/// drop(guard);
/// assert_eq!(*limit.read(), 6);
/// ```
pub type RwLockWriteGuard<'a, T> = lock_api::RwLockWriteGuard<'a, raw::RwLock, T>;

/// A [`RwLock`] that is locked for reading by a thread that may become its writer; unlocks it when
/// dropped.
///
/// One such guard is there at a time, beside those of other readers. `upgrade` waits until those have
/// gone, and no writer comes between, so what was read still holds:
///
/// ```
/// use leeward::sync::{RwLock, RwLockUpgradableReadGuard};
/// static NAMES: RwLock<Vec<&str>> = RwLock::new(Vec::new());
/// fn add(name: &'static str) {
///     let names: RwLockUpgradableReadGuard<'_, _> = NAMES.upgradable_read();
///     if !names.contains(&name) {
///         RwLockUpgradableReadGuard::upgrade(names).push(name);
///     }
/// }
/// std::thread::scope(|scope| (0..4).for_each(|_| _ = scope.spawn(|| add("one"))));
/// assert_eq!(*NAMES.read(), ["one"]);
/// ```
///
/// A thread that reads already and upgrades waits for itself forever. Cost: without contention, a
/// compare-exchange to lock, to upgrade and to unlock.
pub type RwLockUpgradableReadGuard<'a, T> = lock_api::RwLockUpgradableReadGuard<'a, raw::RwLock, T>;

/// A [`RwLock`] that is locked for reading, and shows a part of its value; unlocks it when dropped.
///
/// ```
/// use leeward::sync::{MappedRwLockReadGuard, RwLock, RwLockReadGuard};
/// let names = RwLock::new(vec!["one", "two"]);
/// let first: MappedRwLockReadGuard<'_, str> = RwLockReadGuard::map(names.read(), |names| names[0]);
/// assert_eq!(&*first, "one");
/// assert!(names.try_write().is_none());
/// ```
pub type MappedRwLockReadGuard<'a, T> = lock_api::MappedRwLockReadGuard<'a, raw::RwLock, T>;

/// A [`RwLock`] that is locked for writing, and shows a part of its value; unlocks it when dropped.
///
/// ```
/// use leeward::sync::{MappedRwLockWriteGuard, RwLock, RwLockWriteGuard};
/// let limits = RwLock::new([1, 2]);
/// let mut last: MappedRwLockWriteGuard<'_, i32> = RwLockWriteGuard::map(limits.write(), |limits| &mut limits[1]);
/// *last = 3;
/// drop(last);
/// assert_eq!(*limits.read(), [1, 3]);
/// ```
pub type MappedRwLockWriteGuard<'a, T> = lock_api::MappedRwLockWriteGuard<'a, raw::RwLock, T>;

/// Returns an unlocked [`RwLock`] around `value`: what `RwLock::new` returns, which is a `const fn`
/// as well. The name is parking_lot's.
///
/// ```
/// use leeward::sync::{RwLock, const_rwlock};
/// static LIMIT: RwLock<u64> = const_rwlock(7);
/// assert_eq!(*LIMIT.read(), 7);
/// ```
pub const fn const_rwlock<T>(value: T) -> RwLock<T> {
    RwLock::new(value)
}
