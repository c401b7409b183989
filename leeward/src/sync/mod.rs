//! Locks for the threads of one process: change one `use` line.
//!
//! The guards and the data are [`lock_api`]'s, the locks are this library's ([`raw`](crate::raw)).
//!
//! # No poisoning
//! A thread that panics while it holds a lock unlocks it, and the next has it without a word. Most locks guard what a
//! panic leaves whole; an answer that every caller unwraps is a panic at another place, and the test costs something each
//! time. Where half-done work must be noticed, wrap the data in [`Poison`], which says so and works with any lock.

#[cfg(feature = "std")]
mod condvar;
mod once;
mod poison;

pub use crate::raw::BarrierWaitResult;
#[cfg(feature = "std")]
pub use condvar::{Condvar, WaitTimeoutResult};
pub use once::{LazyLock, OnceLock};
pub use poison::{Poison, Poisoned};

/// A mutual exclusion lock.
///
/// Lock and unlock are a compare-exchange each while nobody else wants it; see [`raw::Mutex`](crate::raw::Mutex) for what
/// waiting costs, and how long a waiter may be passed over. It allocates nothing and has no thread-local data, so that an
/// allocator may use it. Timed and fair variants are `lock_api`'s (`try_lock_for`, `MutexGuard::unlock_fair`).
///
/// ```
/// use leeward::sync::Mutex;
/// static TOTAL: Mutex<u64> = Mutex::new(0);
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| *TOTAL.lock() += 1);
///     }
/// });
/// assert_eq!(*TOTAL.lock(), 4);
/// ```
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

/// A locked [`Mutex`] of which a part is to be seen.
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

/// A [`Mutex`] whose unlock is a store, for locks that are seldom contended; see
/// [`raw::LightMutex`](crate::raw::LightMutex) for what a sleeper pays instead.
///
/// ```
/// use leeward::sync::LightMutex;
/// static COUNT: LightMutex<u32> = LightMutex::new(0);
/// *COUNT.lock() += 1;
/// assert_eq!(*COUNT.lock(), 1);
/// ```
pub type LightMutex<T> = lock_api::Mutex<crate::raw::LightMutex, T>;

/// A locked [`LightMutex`]; unlocks it when dropped.
pub type LightMutexGuard<'a, T> = lock_api::MutexGuard<'a, crate::raw::LightMutex, T>;

/// A readers-writer lock that starves neither; see [`raw::RwLock`](crate::raw::RwLock).
pub type RwLock<T> = lock_api::RwLock<crate::raw::RwLock, T>;
/// A [`RwLock`] open for reading.
pub type RwLockReadGuard<'a, T> = lock_api::RwLockReadGuard<'a, crate::raw::RwLock, T>;
/// A [`RwLock`] open for writing.
pub type RwLockWriteGuard<'a, T> = lock_api::RwLockWriteGuard<'a, crate::raw::RwLock, T>;

/// A counting semaphore.
pub type Semaphore = crate::raw::Semaphore;
/// A permit of a [`Semaphore`].
pub type Permit<'a> = crate::raw::Permit<'a>;
/// Where a number of threads wait for each other.
pub type Barrier = crate::raw::Barrier;
/// Something that has happened, or not.
pub type Event = crate::raw::Event;
/// A count that opens at 0.
pub type Latch = crate::raw::Latch;
/// Something that is done once.
pub type Once = crate::raw::Once;
