//! Locks for the threads of one process, with data and guards, in parking_lot's interface; those of
//! `poison` have std's. A program changes its `use` lines.
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
//! What holds for all types; each type lists its own. A program that was written for std unwraps a
//! result at each lock: it moves to the module `poison` (feature `std`), whose types have std's
//! interface, with its poisoning.
//! - No poisoning but in [`LazyLock`].
//! - Guards are `Send` with the feature `send_guard` only, where the data allows it: then another
//!   thread may unlock, and nothing warns of a guard that is held across an `await`.
//! - Locks have timed calls, and [`Mutex`] bounds how long a waiter is overtaken.
//! - A lock that cannot be taken at all ends the process instead of unwinding: see
//!   [Panics and aborts](crate::raw#panics-and-aborts).
//! - Without the feature `std` all types but `Condvar` are there, and all calls but the timed ones
//!   of [`Mutex`], [`LightMutex`] and [`RwLock`].
//!
//! # Differences from parking_lot
//! Compared with version 0.13.
//! - Guards are `Send` with the feature `send_guard`, as there.
//! - Waiters are bounded as the `raw` types say; there a `Mutex` is fair only by `unlock_fair`, or
//!   as `FairMutex`.
//! - [`Mutex`] and [`RwLock`] allocate nothing, so a global allocator may use them; parking_lot's
//!   must not be used there.
//! - Waiters sleep in the kernel and not in a table of the process, which a fork may copy while it
//!   is locked: see the page [fork](crate::guide::fork).
//! - The traits are those of lock_api 0.4, and with the feature `lock_api_05` also 0.5's.
//! - There is no detection of deadlocks. The page [migrating](crate::guide::migrating) translates a
//!   program.
//!
//! The other names of parking_lot 0.12 are here: `RawMutex`, `RawRwLock`, `RawFairMutex` and
//! `RawThreadId`, `const_mutex` and its kin, [`lock_api`], which is version 0.4 as there, and with
//! the feature `arc_lock` the guards that own an `Arc` of their lock.
//!
//! # Sizes
//! In bytes, on 64-bit Linux; std of Rust 1.95. ([`raw`](crate::raw) has the others.)
//!
//! | type | here | std | parking_lot |
//! |---|---|---|---|
//! | `Mutex<()>` | 4 | 8 | 1 |
//! | `FairMutex<()>` | 4 | | 1 |
//! | `LightMutex<()>` | 8 | | |
//! | `ReentrantMutex<()>` | 24 | | 24 |
//! | `RwLock<()>` | 8 | 12 | 8 |
//! | `Condvar` | 32 | 4 | 8 |
//! | `Once` | 4 | 4 | 1 |
//! | `OnceLock<u64>` | 16 | 16 | |
//! | `LazyLock<u64>` | 24 | 16 | |
//! | `Barrier` | 8 | 40 | |
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
mod fair;
mod mutex;
mod once;
#[cfg(feature = "std")]
pub mod poison;
mod poisonable;
#[cfg(feature = "threads")]
mod reentrant;
mod rwlock;

/// The crate with the data and the guards of these locks, in version 0.4.
///
/// The feature `serde` makes the locks of this module and of `asym` serializable, `owning_ref` makes
/// their guards stable addresses, and `arc_lock` makes guards that own an `Arc` of their lock
/// (`Mutex::lock_arc`). Each is lock_api's feature of that name, also of version 0.5 where
/// `lock_api_05` is set.
#[doc(no_inline)]
pub use ::lock_api;

pub use crate::raw::{BarrierWaitResult, OnceState};
#[cfg(feature = "std")]
pub use condvar::{Condvar, WaitTimeoutResult};
pub use fair::{FairMutex, FairMutexGuard, MappedFairMutexGuard, RawFairMutex, const_fair_mutex};
#[cfg(feature = "arc_lock")]
#[doc(no_inline)]
pub use lock_api::{
    ArcMutexGuard, ArcReentrantMutexGuard, ArcRwLockReadGuard, ArcRwLockUpgradableReadGuard, ArcRwLockWriteGuard,
};
pub use mutex::{
    LightMutex, LightMutexGuard, MappedLightMutexGuard, MappedMutexGuard, Mutex, MutexGuard, RawMutex, const_mutex,
};
pub use once::{LazyLock, OnceLock};
pub use poisonable::{Poison, Poisoned};
#[cfg(feature = "threads")]
pub use reentrant::{
    MappedReentrantMutexGuard, RawThreadId, ReentrantMutex, ReentrantMutexGuard, const_reentrant_mutex,
};
pub use rwlock::{
    MappedRwLockReadGuard, MappedRwLockWriteGuard, RawRwLock, RwLock, RwLockReadGuard, RwLockUpgradableReadGuard,
    RwLockWriteGuard, const_rwlock,
};

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
