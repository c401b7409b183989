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
//! | [`Condvar`] | 32 on 64-bit systems | inner lock, sequence number, who is inside (64 bits), unused (a pointer's size, 0), unused (0) |
//!
//! Words are in the machine's byte order.
//!
//! # What may go wrong
//! - Garbage in a word (of a file that was damaged, say) makes a call wait, return early or panic with a sentence, and nothing
//!   else: use the timed calls where waiting for ever matters. (A [`Once`] has none, and the inner lock of a [`Condvar`] is
//!   waited for without limit.) No drop of a guard or permit panics. The value behind a lock is valid whatever its bytes are
//!   ([`AnyBytes`]).
//! - A process that writes to a lock's word while others use the lock can let two of them in at once. That nobody does is
//!   what the caller of [`Region::open`] and [`Region::from_raw_fd`] promises.
//! - A process that is killed while it holds one of these leaves it held; one that is killed while it waits for one, or inside a
//!   call of a [`Condvar`], may keep others waiting. Where that must not be, use a robust lock.
//! - The copy of a guard in the child of a `fork` opens nothing: the parent holds the lock. A [`Semaphore`]'s permit that is held
//!   across `fork` is given back twice, and what a [`Once`] runs must not fork.

mod condvar;
mod lock;
mod map;
mod region;

pub use crate::bytes::AnyBytes;
pub use condvar::Condvar;
pub use lock::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use region::{Region, RegionError};

use crate::futex::Shared;
use crate::raw::Scheme;

/// A counting semaphore of several processes.
pub type Semaphore = crate::raw::Semaphore<Shared>;
/// Where threads of several processes wait for each other.
pub type Barrier = crate::raw::Barrier<Shared>;
/// Something that has happened, or not, in any of several processes.
pub type Event = crate::raw::Event<Shared>;
/// A count of several processes that opens at 0.
pub type Latch = crate::raw::Latch<Shared>;
/// Something that one of several processes does once. What asks for it from within waits for ever.
pub type Once = crate::raw::Once<Shared>;

// SAFETY: a word of which any bytes are one.
unsafe impl AnyBytes for Semaphore {}
// SAFETY: two words of which any bytes are some.
unsafe impl AnyBytes for Barrier {}
// SAFETY: a word of which any bytes are one.
unsafe impl AnyBytes for Event {}
// SAFETY: as above.
unsafe impl AnyBytes for Latch {}
// SAFETY: as above.
unsafe impl AnyBytes for Once {}
// SAFETY: words of which any bytes are some, and a pointer that is not followed.
unsafe impl<S: Scheme> AnyBytes for Condvar<S> {}
// SAFETY: a lock word, of which any bytes are one, and the value; `repr(C)`.
unsafe impl<T: AnyBytes> AnyBytes for Mutex<T> {}
// SAFETY: as above, with two words.
unsafe impl<T: AnyBytes> AnyBytes for RwLock<T> {}
