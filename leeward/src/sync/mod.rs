//! Locks for the threads of one process, with data and guards: change one `use` line.
//!
//! The data and the guards are [`lock_api`]'s, the locks are this library's ([`raw`](crate::raw)).
//! Each type here says how it is used and how it differs from its cousins; the `raw` type that it
//! links to has its cost, fairness, and behaviour under fork and signals.
//!
//! # No poisoning
//! A thread that panics while it holds a lock unlocks it, and the next holder gets the guard
//! itself, not a `Result`. Most locks guard what a panic leaves whole; a result that every caller
//! unwraps is a panic at another place, and the check costs something each time. Where a change
//! that was broken off must be noticed, wrap the data in [`Poison`], which works with any lock.
//!
//! # Differences from std
//! What holds for all types; each type lists its own.
//! - No poisoning but in [`LazyLock`].
//! - Guards are `Send` where the data allows it: another thread may unlock.
//! - Locks have timed calls, and [`Mutex`] bounds how long a waiter is overtaken.
//! - A lock that cannot be taken at all ends the process instead of unwinding: see
//!   [Panics and aborts](crate::raw#panics-and-aborts).
//! - Without the feature `std` all types but `Condvar` are there, and all calls but the timed ones
//!   of [`Mutex`], [`LightMutex`] and [`RwLock`].
//!
//! # Differences from parking_lot
//! Compared with version 0.13.
//! - Guards are always `Send`; there with its feature `send_guard`.
//! - Waiters are bounded as the `raw` types say; there a `Mutex` is fair only by `unlock_fair`, or
//!   as `FairMutex`.
//! - [`Mutex`] and [`RwLock`] allocate nothing, so a global allocator may use them; parking_lot's
//!   must not be used there.
//! - Waiters sleep in the kernel and not in a table of the process, which a fork may copy while it
//!   is locked: see the page [fork](crate::guide::fork).
//! - The traits are those of lock_api 0.4, and with the feature `lock_api_05` also 0.5's.
//! - There is no `ReentrantMutex`, `FairMutex` or detection of deadlocks. The page
//!   [migrating](crate::guide::migrating) translates a program.
//!
//! # Sizes
//! In bytes, on 64-bit Linux; std of Rust 1.95.
//!
//! | type | here | std | parking_lot |
//! |---|---|---|---|
//! | `Mutex<()>` | 4 | 8 | 1 |
//! | `LightMutex<()>` | 8 | | |
//! | `RwLock<()>` | 8 | 12 | 8 |
//! | `Condvar` | 32 | 4 | 8 |
//! | `Once` | 4 | 4 | 1 |
//! | `OnceLock<u64>` | 16 | 16 | |
//! | `LazyLock<u64>` | 24 | 16 | |
//! | `Barrier` | 8 | 40 | |
//! | `Semaphore`, `Event`, `Latch` | 4 | | |
//!
//! ```
//! # #[cfg(target_pointer_width = "64")] {
//! use leeward::sync::{Condvar, LazyLock, LightMutex, Mutex, OnceLock, RwLock};
//! assert_eq!((size_of::<Mutex<()>>(), size_of::<LightMutex<()>>()), (4, 8));
//! assert_eq!(size_of::<RwLock<()>>(), 8);
//! assert_eq!((size_of::<OnceLock<u64>>(), size_of::<LazyLock<u64>>()), (16, 24));
//! assert_eq!(size_of::<Condvar>(), 32);
//! # }
//! ```

#[cfg(feature = "std")]
mod condvar;
mod once;
mod poison;

pub use crate::raw::{BarrierWaitResult, OnceState};
#[cfg(feature = "std")]
pub use condvar::{Condvar, WaitTimeoutResult};
pub use once::{LazyLock, OnceLock};
pub use poison::{Poison, Poisoned};

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
/// - No poisoning: `lock` returns the guard, `try_lock` an `Option`.
/// - `try_lock_for`, `try_lock_until`; `MutexGuard::unlock_fair`, `unlocked`, `map`.
/// - A waiter that lost more than 32 wake-ups, or one after a millisecond, is preferred to
///   newcomers.
/// - Guards are `Send`.
///
/// # Differences from parking_lot
/// - The bound above; there a thread may be overtaken without end where no thread calls
///   `unlock_fair`.
/// - Guards are `Send` without a feature.
/// - 4 bytes instead of 1.
pub type Mutex<T> = lock_api::Mutex<crate::raw::Mutex, T>;

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
pub type MutexGuard<'a, T> = lock_api::MutexGuard<'a, crate::raw::Mutex, T>;

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
pub type MappedMutexGuard<'a, T> = lock_api::MappedMutexGuard<'a, crate::raw::Mutex, T>;

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
/// - Those of [`Mutex`], but without a bound for waiters, and without `unlock_fair`.
/// - A thread that goes to sleep issues a heavy fence, once in 511 unlocks at most; where no heavy
///   fence is possible, waiting ends the process.
pub type LightMutex<T> = lock_api::Mutex<crate::raw::LightMutex, T>;

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
pub type LightMutexGuard<'a, T> = lock_api::MutexGuard<'a, crate::raw::LightMutex, T>;

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
/// Cost, fairness, fork, signals and aborts: [`raw::RwLock`](crate::raw::RwLock).
///
/// # Differences from std
/// - A policy that is promised: a reader that arrives after a sleeping writer does not overtake it,
///   and one writer at most precedes a reader that was woken. std leaves the policy to the
///   platform.
/// - No poisoning: `read` and `write` return the guards.
/// - `try_read_for`, `try_write_for` and their `_until` forms. `read_recursive`, for a thread that
///   may read already.
/// - Guards are `Send`.
///
/// # Differences from parking_lot
/// - No upgradable reads, and no `unlock_fair` of guards.
/// - `read_recursive` is a call of this type; version 0.13 has a `RecursiveRwLock` instead.
/// - Readers have a bound without fair unlocks.
pub type RwLock<T> = lock_api::RwLock<crate::raw::RwLock, T>;

/// A [`RwLock`] that is locked for reading; unlocks it when dropped.
///
/// ```
/// use leeward::sync::{RwLock, RwLockReadGuard};
/// let limit = RwLock::new(5);
/// let first: RwLockReadGuard<'_, i32> = limit.read();
/// let second = limit.read();
/// assert_eq!((*first, *second), (5, 5));
/// ```
pub type RwLockReadGuard<'a, T> = lock_api::RwLockReadGuard<'a, crate::raw::RwLock, T>;

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
pub type RwLockWriteGuard<'a, T> = lock_api::RwLockWriteGuard<'a, crate::raw::RwLock, T>;

/// A counting semaphore: a number of permits that any thread takes and gives back.
///
/// ```
/// use leeward::sync::Semaphore;
/// static DOWNLOADS: Semaphore = Semaphore::new(2);
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| {
///             let _permit = DOWNLOADS.permit();
///             // Two threads at most are here.
///         });
///     }
/// });
/// assert_eq!(DOWNLOADS.permits(), 2);
/// ```
///
/// Cost, fairness, fork and signals: [`raw::Semaphore`](crate::raw::Semaphore).
pub type Semaphore = crate::raw::Semaphore;

/// A permit of a [`Semaphore`]; given back when dropped.
///
/// ```
/// use leeward::sync::{Permit, Semaphore};
/// let semaphore = Semaphore::new(1);
/// let permit: Permit<'_> = semaphore.permit();
/// assert!(semaphore.try_permit().is_none());
/// drop(permit);
/// assert!(semaphore.try_permit().is_some());
/// ```
pub type Permit<'a> = crate::raw::Permit<'a>;

/// A place where a number of threads wait for each other, round after round.
///
/// ```
/// use leeward::sync::Barrier;
/// static STEP: Barrier = Barrier::new(2);
/// std::thread::scope(|scope| {
///     let other = scope.spawn(|| STEP.wait().is_leader());
///     let leads = STEP.wait().is_leader();
///     assert_ne!(leads, other.join().unwrap());
/// });
/// ```
///
/// Cost, fork and differences from std: [`raw::Barrier`](crate::raw::Barrier).
pub type Barrier = crate::raw::Barrier;

/// An event that has happened (is set), or not.
///
/// ```
/// use leeward::sync::Event;
/// use std::time::Duration;
/// static STOP: Event = Event::new();
/// assert!(!STOP.wait_for(Duration::ZERO));
/// STOP.set();
/// assert!(STOP.wait_for(Duration::ZERO));
/// ```
///
/// Cost, fork and signals: [`raw::Event`](crate::raw::Event).
pub type Event = crate::raw::Event;

/// A count that goes down to 0 once, and a wait for that.
///
/// ```
/// use leeward::sync::Latch;
/// static LOADED: Latch = Latch::new(2);
/// std::thread::scope(|scope| {
///     scope.spawn(|| LOADED.count_down(1));
///     LOADED.arrive_and_wait();
/// });
/// assert!(LOADED.is_open());
/// ```
///
/// Cost, fork and signals: [`raw::Latch`](crate::raw::Latch).
pub type Latch = crate::raw::Latch;

/// A flag that lets one of many callers run its closure, and the others wait for it.
///
/// ```
/// use leeward::sync::Once;
/// static LOG: Once = Once::new();
/// LOG.call_once(|| println!("begun"));
/// LOG.call_once(|| unreachable!("it has run"));
/// ```
///
/// Cost, fork, and differences from std and parking_lot: [`raw::Once`](crate::raw::Once).
pub type Once = crate::raw::Once;
