//! Asymmetric fences: a pair of full fences whose frequent half costs nothing and whose rare half pays for both.
//!
//! [`light`] and [`heavy`] are the `asymmetric_thread_fence_light` and `asymmetric_thread_fence_heavy` of C++ P1202
//! (David Goldblatt, 2018); the technique is Mathieu Desnoyers' `membarrier` (2010) and, before it, Dave Dice, Hui
//! Huang and Mingyao Yang's asymmetric Dekker synchronization (2001).
//!
//! # The promise
//! Let `H` be a call of [`heavy`] and `L` a call of [`light`] by any thread of the same process. Then `H` and `L`
//! behave towards each other as two `fence(SeqCst)` do: either every access that precedes `L` in its thread is
//! visible to every access that follows `H`, or every access that precedes `H` is visible to every access that
//! follows `L` (or both). Two heavy fences order each other likewise, and a heavy fence pairs with any
//! `fence(SeqCst)`. **Two light fences promise nothing to each other**, and neither half orders anything between two
//! processes.
//!
//! Put otherwise: a heavy fence is a full fence in the caller, then one in every other thread of the process at some
//! point between the call's start and its return. A thread that is not running then is at such a point already,
//! because the context switch that took it off its processor was one.
//!
//! ```
//! use leeward::fence;
//! use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
//! static FREQUENT: AtomicBool = AtomicBool::new(false);
//! static RARE: AtomicBool = AtomicBool::new(false);
//! /// The frequent side: a store and a load, and nothing between them.
//! fn frequent() -> bool {
//!     FREQUENT.store(true, Relaxed);
//!     fence::light();
//!     RARE.load(Relaxed)
//! }
//! /// The rare side pays for both.
//! fn rare() -> bool {
//!     RARE.store(true, Relaxed);
//!     fence::heavy();
//!     FREQUENT.load(Relaxed)
//! }
//! # let rare = std::thread::spawn(rare);
//! # let frequent = frequent();
//! // At least one of them sees the other.
//! assert!(frequent | rare.join().unwrap());
//! ```
//!
//! # What the heavy half is made of
//! See [`Strategy`]. It is picked at the first heavy fence, or by [`init`]: loading the library runs nothing. The
//! light half is the same compiler fence whatever was picked, so it tests nothing at run time, and changing the
//! strategy is sound at any time.
//!
//! `LEEWARD_FENCE` names one ([`Strategy::name`]; empty, `auto` or not set: the first that works),
//! as it was when the process was started: it is read from `/proc/self/environ`, so that a heavy
//! fence allocates nothing. To choose in the program, [`force`] one.

#[cfg(all(target_os = "linux", not(leeward_symmetric), not(leeward_loom)))]
#[path = "backend/linux/mod.rs"]
mod backend;
#[cfg(any(not(target_os = "linux"), leeward_symmetric, leeward_loom))]
#[path = "backend/none.rs"]
mod backend;
mod counters;
mod strategy;

#[cfg(all(target_os = "linux", target_pointer_width = "64", not(leeward_symmetric), not(leeward_loom)))]
pub(crate) use backend::processes;
pub use counters::Counters;
pub use strategy::{Error, Strategy};

use crate::atomic::{Ordering, fence};
use crate::no_unwind::abort;
use strategy::no_strategy;

/// The frequent half: a compiler fence on Linux, `fence(SeqCst)` elsewhere.
///
/// Pairs with [`heavy`] only; see the [module](self) for the promise. Async-signal-safe, never fails, no instruction
/// on Linux.
#[inline(always)]
pub fn light() {
    backend::light();
}

/// The rare half: a full fence here and, before it returns, one in every other thread of this process.
///
/// # Cost
/// One system call of about a microsecond where membarrier's expedited command is there; see [`Strategy`]. It may
/// sleep.
///
/// # Errors
/// None reach the caller: a refusal (`ENOSYS`, `EPERM`, `EINVAL`, `ENOMEM`) is answered by registering again, trying
/// again, or the next strategy.
///
/// # Panics
/// Where no strategy at all is possible ([`Error::NoStrategy`]): returning would break the promise. [`init`] tells
/// beforehand. (Inside of this library's locks the process ends instead: a guard must not outlive its lock.)
///
/// # Allocation
/// None: a lock inside the global allocator may need it.
///
/// # Async-signal-safety
/// Safe with either membarrier strategy once [`init`] returned, unless the kernel refuses it later; not with
/// [`Strategy::Signal`], which holds a lock. errno is left as it was.
pub fn heavy() {
    if let Err(error) = try_heavy() {
        panic!("leeward: {error}");
    }
}

/// [`heavy`] inside of a lock, where nothing may unwind.
pub(crate) fn heavy_or_abort() {
    if try_heavy().is_err() {
        abort!(concat!("a lock cannot be waited for: ", no_strategy!()));
    }
}

fn try_heavy() -> Result<(), Error> {
    // SeqCst: the caller's own half. The kernel promises as much, except to a process of one thread, where it returns
    // at once.
    fence(Ordering::SeqCst);
    backend::run()?;
    // SeqCst: as above, for the accesses that follow.
    fence(Ordering::SeqCst);
    Ok(())
}

/// Whether a heavy fence is possible, as far as can be told beforehand.
pub(crate) fn is_possible() -> bool {
    strategy().is_some() || backend::init() != Err(Error::NoStrategy)
}

/// Picks and prepares the strategy now, rather than at the first heavy fence, and says which.
///
/// Registering a process with the kernel is instant while it has one thread, and may take milliseconds later: call
/// this early where that matters. Calling it again is cheap and answers the same.
///
/// # Errors
/// [`Error::NoStrategy`], and [`Error::UnknownName`] if the process was started with
/// `LEEWARD_FENCE` set to something unknown.
pub fn init() -> Result<Strategy, Error> {
    backend::init()
}

/// The strategy in use, if one was picked yet.
pub fn strategy() -> Option<Strategy> {
    backend::chosen()
}

/// Takes `strategy` from now on, for the whole process, after trying it once.
///
/// Sound at any time and from any thread: the light half is the same for all. Should the strategy be refused later,
/// heavy fences go to the next one all the same.
///
/// # Errors
/// [`Error::Refused`] if it does not work here; the one in use stays.
pub fn force(strategy: Strategy) -> Result<(), Error> {
    backend::force(strategy)
}

/// How many heavy fences were issued since the process started.
pub fn counters() -> Counters {
    backend::counters()
}

/// A pair of fences, as a type: what a reader executes, and what the writer does so that it suffices.
///
/// Implemented by [`Asymmetric`] and [`Full`] only.
pub trait Pair: sealed::Sealed + Send + Sync + 'static {
    /// Whether the writer's half reaches other threads, and so costs a system call.
    #[doc(hidden)]
    const IS_REMOTE: bool;
    /// The reader's half.
    fn light();
    /// The writer's half.
    fn heavy();
}

/// [`light`] and [`heavy`]: the reader pays nothing.
#[derive(Debug)]
pub enum Asymmetric {}

/// `fence(SeqCst)` on both sides: the reader pays for a full fence, the writer makes no system call.
#[derive(Debug)]
pub enum Full {}

impl Pair for Asymmetric {
    const IS_REMOTE: bool = true;

    #[inline(always)]
    fn light() {
        light();
    }
    fn heavy() {
        heavy();
    }
}

impl Pair for Full {
    const IS_REMOTE: bool = false;

    #[inline(always)]
    fn light() {
        // SeqCst: the reader's half of a symmetric pair; its partner is the one below, in the writer.
        fence(Ordering::SeqCst);
    }
    fn heavy() {
        // SeqCst: partner of the one above.
        fence(Ordering::SeqCst);
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Asymmetric {}
    impl Sealed for super::Full {}
}
