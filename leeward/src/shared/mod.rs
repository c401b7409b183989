//! Locks in memory that several processes map, and a [`Region`] of such memory.
//!
//! ```
//! use leeward::shared::{Mutex, Region};
//! let count = Region::<Mutex<u64>>::create(1, |_| {})?;
//! // A fork here gives the child the same region. In each process:
//! *count.lock() += 1;
//! # assert_eq!(*count.lock(), 1);
//! # Ok::<(), leeward::shared::RegionError>(())
//! ```
//!
//! # Layout
//! Each type is `repr(C)` (or transparent), its zeroed bytes are a valid new one, and its layout is
//! fixed. Words have 32 bits, in the machine's byte order; [the guide](crate::guide::shared_memory)
//! leads to their bits.
//!
//! | type | bytes | words, in order |
//! |---|---|---|
//! | [`Mutex<T>`] | 4, then the value at its alignment | the lock's |
//! | [`RwLock<T>`] | 8, then the value at its alignment | state, wakes of writers |
//! | [`Semaphore`] | 4 | permits and contended mark; new: no permits |
//! | [`Barrier`] | 8 | rounds and arrivals, size; new: for one thread |
//! | [`Event`] | 4 | set, contended mark, how often; new: clear |
//! | [`Latch`] | 4 | count and contended mark; new: open |
//! | [`Once`] | 4 | 0 new; 1, 2 running; 3 done; 4 new and awaited |
//! | [`Condvar`] | 32 on 64-bit systems | inner lock, sequence, two counts in 64 bits, pointer and word of 0 |
//!
//! # Cost
//! Each type costs what it costs in one process ([`sync`](crate::sync), [`raw`](crate::raw)). Only
//! sleeps and wakes take longer: the kernel finds a sleeper by what is mapped at the address.
//!
//! # Panics
//! Garbage in a word (of a file that was damaged, say) makes a call wait, return early, or panic
//! with a sentence, and nothing else. Use the timed calls where waiting forever matters; a
//! [`Once`] and the inner lock of a [`Condvar`] have none. No drop of a guard or permit panics. The
//! value behind a lock is valid whatever its bytes are ([`AnyBytes`]).
//!
//! A process that writes to the word of a held lock can let two threads in at once, and no lock can
//! prevent that. The callers of [`Region::open`] and [`Region::from_raw_fd`] promise that no
//! process does so.
//!
//! # Fork
//! The copy of a guard in the child of a fork opens nothing: the parent holds the lock. The copy's
//! drop does nothing, and asking it for the value is a panic. (The guard carries its process's
//! *fork mark*, which no child has.) A [`Semaphore`]'s permit that is held across a fork is given
//! back twice, and what a [`Once`] runs must not fork.
//!
//! # Processes that are killed
//! A process that is killed while it holds one of these locks leaves it held. One that is killed
//! while it waits, or inside a call of a [`Condvar`], may keep others waiting. Use
//! [robust locks](crate::robust) where that must not be.
//!
//! # Signals
//! The calls are async-signal-safe that are so [in one process](crate::raw#signals), and nothing else
//! here.

mod condvar;
mod error;
mod fair;
mod file;
mod header;
mod lock;
mod map;
mod mapped;
#[doc(hidden)]
pub mod raw_region;
mod region;
mod upgradable;

pub use crate::bytes::AnyBytes;
pub use condvar::Condvar;
pub use error::RegionError;
pub use lock::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard};
pub use mapped::{MappedMutexGuard, MappedRwLockReadGuard, MappedRwLockWriteGuard};
pub use region::Region;

use crate::futex::Shared;
use crate::raw::Scheme;

/// A counting semaphore of several processes: [`raw::Semaphore`](crate::raw::Semaphore) over the
/// shared futex.
///
/// A permit that a killed process has taken is not given back.
///
/// ```
/// use leeward::shared::{Region, Semaphore};
/// let seats = Region::create(1, |seats: &mut Semaphore| *seats = Semaphore::new_in(2))?;
/// seats.acquire();
/// assert!(seats.try_acquire() && !seats.try_acquire());
/// seats.release(2);
/// # Ok::<(), leeward::shared::RegionError>(())
/// ```
///
/// # Differences from `sem_init`
/// There is nothing to destroy, [`release`](crate::raw::Semaphore::release) adds any number of
/// permits, and time limits are on the monotonic clock.
pub type Semaphore = crate::raw::Semaphore<Shared>;
// SAFETY: one word, of which any bytes are a value.
unsafe impl AnyBytes for Semaphore {}

/// A place where a number of threads of several processes wait for each other:
/// [`raw::Barrier`](crate::raw::Barrier) over the shared futex.
///
/// A process that is killed while it waits has arrived all the same.
///
/// ```
/// use leeward::shared::{Barrier, Region};
/// let start = Region::create(1, |start: &mut Barrier| *start = Barrier::new_in(2))?;
/// std::thread::scope(|scope| {
///     scope.spawn(|| start.wait()); // or another process
///     start.wait();
/// });
/// # Ok::<(), leeward::shared::RegionError>(())
/// ```
///
/// # Differences from std and `pthread_barrier_t`
/// Waits may have a time limit, after which the thread has not arrived. There are no attributes.
pub type Barrier = crate::raw::Barrier<Shared>;
// SAFETY: two words, of which any bytes are a value.
unsafe impl AnyBytes for Barrier {}

/// A flag that says whether something has happened, for which threads of several processes wait:
/// [`raw::Event`](crate::raw::Event) over the shared futex.
///
/// ```
/// use leeward::shared::{Event, Region};
/// let ready = Region::<Event>::create(1, |_| {})?;
/// std::thread::scope(|scope| {
///     scope.spawn(|| ready.set()); // or another process
///     ready.wait();
/// });
/// assert!(ready.is_set());
/// # Ok::<(), leeward::shared::RegionError>(())
/// ```
pub type Event = crate::raw::Event<Shared>;
// SAFETY: one word, of which any bytes are a value.
unsafe impl AnyBytes for Event {}

/// A count for which threads of several processes wait until it is 0:
/// [`raw::Latch`](crate::raw::Latch) over the shared futex.
///
/// ```
/// use leeward::shared::{Latch, Region};
/// let done = Region::create(1, |done: &mut Latch| *done = Latch::new_in(2))?;
/// std::thread::scope(|scope| {
///     for _ in 0..2 {
///         scope.spawn(|| done.count_down(1)); // or other processes
///     }
///     done.wait();
/// });
/// assert!(done.is_open());
/// # Ok::<(), leeward::shared::RegionError>(())
/// ```
pub type Latch = crate::raw::Latch<Shared>;
// SAFETY: one word, of which any bytes are a value.
unsafe impl AnyBytes for Latch {}

/// A flag by which one thread of several processes does something once:
/// [`raw::Once`](crate::raw::Once) over the shared futex.
///
/// It does not know thread numbers, so a closure that asks for its own `Once` waits forever, where
/// [`sync::Once`](crate::sync::Once) panics. A process that is killed while it runs the closure
/// leaves the others waiting.
///
/// ```
/// use leeward::shared::{Once, Region};
/// let once = Region::<Once>::create(1, |_| {})?;
/// let mut runs = 0;
/// once.call_once(|| runs += 1);
/// once.call_once(|| runs += 1);
/// assert_eq!(runs, 1);
/// # Ok::<(), leeward::shared::RegionError>(())
/// ```
///
/// # Differences from std and `pthread_once`
/// A closure that panics has not run, and the next caller tries again; std's `Once` is poisoned.
/// `pthread_once` serves one process.
pub type Once = crate::raw::Once<Shared>;
// SAFETY: one word, of which any bytes are a value.
unsafe impl AnyBytes for Once {}

// SAFETY: words, of which any bytes are a value, and a pointer that is not followed.
unsafe impl<S: Scheme> AnyBytes for Condvar<S> {}
// SAFETY: a lock word, of which any bytes are a value, and the value; `repr(C)`.
unsafe impl<T: AnyBytes> AnyBytes for Mutex<T> {}
// SAFETY: as above, with two words.
unsafe impl<T: AnyBytes> AnyBytes for RwLock<T> {}
