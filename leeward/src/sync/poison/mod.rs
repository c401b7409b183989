//! The locks with the interface of `std::sync`, poisoning included: a program that was written for
//! std changes its `use` lines and nothing else.
//!
//! ```
//! use leeward::sync::poison::{Arc, Condvar, LazyLock, Mutex};     // was: use std::sync::{..};
//! use std::thread;
//!
//! static TOTAL: LazyLock<Mutex<u32>> = LazyLock::new(|| Mutex::new(0));
//!
//! let queue = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
//! let producer = Arc::clone(&queue);
//! let producer = thread::spawn(move || {
//!     let (jobs, more) = &*producer;
//!     jobs.lock().unwrap().push(7);
//!     more.notify_one();
//! });
//! let (jobs, more) = &*queue;
//! let mut jobs = more.wait_while(jobs.lock().unwrap(), |jobs| jobs.is_empty()).unwrap();
//! *TOTAL.lock().unwrap() += jobs.pop().unwrap();
//! producer.join().unwrap();
//! assert_eq!(*TOTAL.lock().unwrap(), 7);
//! ```
//!
//! All names of `std::sync` that are stable are here, so that `use leeward::sync::poison as sync;`
//! serves a program that writes `sync::Arc` and `sync::mpsc` as well: [`Arc`], [`Weak`], [`atomic`],
//! [`mpsc`], [`PoisonError`], [`TryLockError`] and the two types of results are std's own, and what
//! takes an error of std's takes one of these. [`Barrier`], [`LazyLock`], [`OnceLock`] and
//! [`WaitTimeoutResult`] are those of [`sync`](super), which have std's interface already. What is
//! unstable in std (mapped guards, calls that copy or set a value) is not here; the guards of
//! [`sync`](super) can be mapped.
//!
//! # Poisoning
//! As std's: a thread that unlocks a [`Mutex`], or a [`RwLock`] that it had locked for writing, while
//! it unwinds from a panic that began since it locked, poisons the lock. From then on each call that
//! locks returns an error, which holds the guard, until [`clear_poison`](Mutex::clear_poison). A lock
//! that was taken in a destructor while the thread unwound already is not poisoned. A [`Once`] whose
//! closure panics is poisoned until [`call_once_force`](Once::call_once_force); [`OnceLock`] is not.
//!
//! # Cost
//! That of the locks of [`sync`](super), and three loads with a branch each, the same as in std's
//! locks: locking loads the flag, which lies beside the lock's word; and what locks for writing loads
//! std's count of panics there and at the unlock. No thread writes that count while none panics.
//!
//! # Differences from std
//! - [`Mutex`] bounds how long a waiter is overtaken, and [`RwLock`] promises its policy.
//! - Threads that wait on a [`Condvar`] at the same time must use one mutex: std leaves it open
//!   whether they may; here the second panics.
//! - A [`RwLock`] has 1,048,574 readers at most, and a [`Barrier`] is for 65,535 threads.
//! - A closure that asks for its own [`Once`], [`OnceLock`] or [`LazyLock`] panics, where std may
//!   wait forever.
//! - What a [`OnceLock`] borrows must outlive it.
//! - `Debug` of [`Barrier`], [`BarrierWaitResult`] and [`OnceState`] prints other words.
//! - A lock that cannot be taken at all ends the process instead of unwinding: see
//!   [Panics and aborts](crate::raw#panics-and-aborts).
//! - serde's traits, which that crate implements for std's locks, are those of [`sync`](super)'s only.
//!
//! # Sizes
//! In bytes, on 64-bit Linux; std of Rust 1.95.
//!
//! | type | here | std |
//! |---|---|---|
//! | `Mutex<()>` | 8 | 8 |
//! | `Mutex<u64>` | 24 | 16 |
//! | `RwLock<()>` | 12 | 12 |
//! | `RwLock<u64>` | 24 | 24 |
//! | `Condvar` | 32 | 4 |
//! | `Once` | 4 | 4 |
//!
//! ```
//! # #[cfg(target_pointer_width = "64")] {
//! use leeward::sync::poison::{Condvar, Mutex, Once, RwLock};
//! assert_eq!((size_of::<Mutex<()>>(), size_of::<Mutex<u64>>()), (8, 24));
//! assert_eq!((size_of::<RwLock<()>>(), size_of::<RwLock<u64>>()), (12, 24));
//! assert_eq!((size_of::<Condvar>(), size_of::<Once>()), (32, 4));
//! # }
//! ```

mod condvar;
mod flag;
mod lock;
mod mutex;
mod once;
mod rwlock;

pub use super::{Barrier, LazyLock, OnceLock, WaitTimeoutResult};
pub use crate::raw::{BarrierWaitResult, OnceState};
pub use condvar::Condvar;
pub use mutex::{Mutex, MutexGuard};
#[allow(deprecated)]
pub use once::ONCE_INIT;
pub use once::Once;
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
#[doc(no_inline)]
pub use std::sync::{Arc, LockResult, PoisonError, TryLockError, TryLockResult, Weak, atomic, mpsc};
