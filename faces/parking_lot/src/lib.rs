//! parking_lot 0.12 by name, and leeward's locks underneath: a program and all that it depends on
//! change over by a line of its `Cargo.toml`.
//!
//! ```toml
//! [patch.crates-io]
//! parking_lot = { git = "https://github.com/leeward-rs/leeward" }
//! ```
//!
//! Every public name of parking_lot 0.12.5 is here, with its signature. The types are those of
//! [`leeward::sync`], where each has its cost and its promises; [`Condvar`] and [`Once`] are
//! wrapped, because leeward's have other signatures and no poison.
//!
//! # Differences
//! - **A wait on a [`Condvar`] may return without a notification**, as std's may. parking_lot
//!   promises that its does not: a program that relies on it, without a loop or
//!   [`wait_while`](Condvar::wait_while), must not be moved.
//! - Sizes, in bytes: [`Mutex`] 4 (there 1), [`RwLock`] 8 (8), [`Condvar`] 32 (8), [`Once`] 4 (1).
//! - parking_lot gives a lock to a waiter every half millisecond or so. Here a waiter that lost more
//!   than 32 wake-ups, or one after a millisecond, is preferred to newcomers. A fair unlock reserves
//!   the lock for threads that have slept, for a millisecond at most, instead of giving it to one.
//! - A lock that cannot be taken at all ends the process instead of unwinding.
//! - Waiters sleep in the kernel, so a fork copies no locked table, and a lock may serve inside of
//!   the global allocator.
//! - Crates that use parking_lot_core itself keep the real one.
//!
//! # Features
//! `arc_lock`, `owning_ref`, `send_guard`, `serde` and `nightly` do what they do there.
//! - `deadlock_detection` has `check_deadlock`, of the real parking_lot_core: it sees the locks of
//!   crates that use that one directly, and **none of this crate's**, whose holders are not recorded.
//!   `send_guard` beside it is no error.
//! - `hardware-lock-elision` does nothing: processors have given it up.

mod condvar;
#[cfg(feature = "deadlock_detection")]
pub mod deadlock;
mod once;

pub use self::condvar::{Condvar, WaitTimeoutResult};
pub use self::once::{Once, OnceState};
pub use ::lock_api;
pub use leeward::sync::{
    FairMutex, FairMutexGuard, MappedFairMutexGuard, MappedMutexGuard, MappedReentrantMutexGuard,
    MappedRwLockReadGuard, MappedRwLockWriteGuard, Mutex, MutexGuard, RawFairMutex, RawMutex, RawRwLock, RawThreadId,
    ReentrantMutex, ReentrantMutexGuard, RwLock, RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard,
    const_fair_mutex, const_mutex, const_reentrant_mutex, const_rwlock,
};
#[cfg(feature = "arc_lock")]
pub use lock_api::{
    ArcMutexGuard, ArcReentrantMutexGuard, ArcRwLockReadGuard, ArcRwLockUpgradableReadGuard, ArcRwLockWriteGuard,
};
