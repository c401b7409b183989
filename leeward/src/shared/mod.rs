//! Locks in memory that several processes map, and a [`Region`] of such memory.
//!
//! Each type is `repr(C)`, its zeroed bytes are a valid one (unlocked, clear, empty), and its layout is fixed:
//!
//! | type | bytes | words of 32 bits, in order (their bits: on the fields in the source) |
//! |---|---|---|
//! | [`Mutex<T>`] | those of `raw::Mutex<Shared>`, then the value at its alignment | the lock's |
//! | [`RwLock<T>`] | 8, then the value at its alignment | state, wakes of writers |
//! | [`Semaphore`] | 4 | permits and a bit for sleepers |
//! | [`Barrier`] | 8 | round and arrivals, size |
//! | [`Event`] | 4 | set, a bit for sleepers, how often |
//! | [`Latch`] | 4 | count and a bit for sleepers |
//! | [`Once`] | 4 | 0 new, 1 and 2 running, 3 done, 4 new and awaited |
//!
//! Words are in the machine's byte order. What another process, or garbage, leaves in a word can keep waiters waiting (use the
//! timed calls where that matters), and cannot make this process do anything undefined.
//!
//! A process that is killed while it holds one of these leaves it held. Where that must not be, use a robust lock.

mod lock;
mod map;
mod process_shared;
mod region;

pub use lock::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use process_shared::ProcessShared;
pub use region::{Region, RegionError};

use crate::futex::Shared;

/// A counting semaphore of several processes.
pub type Semaphore = crate::raw::Semaphore<Shared>;
/// Where threads of several processes wait for each other.
pub type Barrier = crate::raw::Barrier<Shared>;
/// Something that has happened, or not, in any of several processes.
pub type Event = crate::raw::Event<Shared>;
/// A count of several processes that opens at 0.
pub type Latch = crate::raw::Latch<Shared>;
/// Something that one of several processes does once.
pub type Once = crate::raw::Once<Shared>;
