//! Asymmetric fences: a pair of full fences whose frequent half costs nothing and whose rare half
//! pays for both.
//!
//! [`light`] and [`heavy`] are the `asymmetric_thread_fence_light` and
//! `asymmetric_thread_fence_heavy` of C++ P1202 (David Goldblatt, 2018). The technique is Mathieu
//! Desnoyers' `membarrier` (2010) and, before it, Dave Dice, Hui Huang and Mingyao Yang's
//! asymmetric Dekker synchronization (2001). The book's page is
//! [`guide::fences`](crate::guide::fences).
//!
//! # The promise
//! Let `H` be a call of [`heavy`] and `L` a call of [`light`] by any thread of the same process.
//! Then `H` and `L` behave towards each other as two `fence(SeqCst)` do: either every access that
//! precedes `L` in its thread is visible to every access that follows `H`, or every access that
//! precedes `H` is visible to every access that follows `L` (or both). Two heavy fences order each
//! other likewise, and a heavy fence pairs with any `fence(SeqCst)`. **Two light fences promise
//! nothing to each other**, and neither half orders anything between two processes.
//!
//! Put otherwise: a heavy fence is a full fence in the caller, then one in every other thread of
//! the process at some point between the call's start and its return. A thread that is not running
//! then is at such a point already, because the context switch that took it off its processor was
//! one.
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
//! # Choice of the strategy
//! A [`Strategy`] is how the heavy half reaches the other threads. It is chosen at the first heavy
//! fence, or by [`init`]: loading the library runs nothing. The light half is the same compiler
//! fence whatever was chosen, so it tests nothing at run time, and changing the strategy is sound
//! at any time.
//!
//! The environment variable `LEEWARD_FENCE` names a strategy ([`Strategy::name`]). If it is empty,
//! `auto` or not set, the first that works is chosen. It is read from `/proc/self/environ`, as it
//! was when the process was started, so that a heavy fence allocates nothing. A program chooses by
//! [`force`].
//!
//! A name that none of the platform's strategies has is an error of [`init`]. In a program that does
//! not call `init` before its first heavy fence, one line on standard error reports it (with the
//! feature `threads`). In both cases the first strategy that works is chosen.
//!
//! # Differences from C++'s and folly's asymmetric fences
//! - There is no argument for the memory order: both halves are `SeqCst`.
//! - The light half is the same for every strategy of a platform, so the strategy can be chosen at
//!   run time and change later.
//! - Where `membarrier` is missing or refused, heavy fences are made of signals. folly changes a
//!   page's protection there, which is no barrier on processors that invalidate other processors'
//!   TLB entries without an interrupt.
//! - Sandboxes that refuse a system call or kill for it are accounted for; a process in which no
//!   strategy works learns it from [`init`].
//!
//! # Fork
//! The child of a fork goes on with its parent's strategy. The registration for `membarrier` is
//! renewed there if the kernel asks for that. The lock of the signal strategy is free in the child,
//! also if another thread held it at the fork, and no call of the child waits for a fence that a
//! thread of the parent had begun. (Where this library has had no part yet that watches forks, and
//! in children of `vfork` and raw `clone`, the first such call waits 100 ms.)

#[cfg(all(target_os = "linux", not(any(leeward_symmetric, miri)), not(leeward_loom)))]
#[path = "backend/linux/mod.rs"]
mod backend;
#[cfg(any(not(target_os = "linux"), leeward_symmetric, miri, leeward_loom))]
#[path = "backend/none.rs"]
mod backend;
#[cfg(any(all(target_os = "linux", not(any(leeward_symmetric, miri)), not(leeward_loom)), all(test, leeward_loom)))]
mod combine;
mod counters;
mod strategy;

#[cfg(all(
    target_os = "linux",
    target_pointer_width = "64",
    not(any(leeward_symmetric, miri)),
    not(leeward_loom)
))]
pub(crate) use backend::processes;
pub use counters::Counters;
pub use strategy::{Error, Strategy};

use core::sync::atomic::AtomicBool;

use crate::atomic::{Ordering, fence};
use crate::no_unwind::abort;
use strategy::no_strategy;

/// Executes the frequent half of an asymmetric pair: a compiler fence on Linux, `fence(SeqCst)`
/// elsewhere.
///
/// It pairs with [`heavy`] only: two light fences promise nothing to each other. The
/// [module](self#the-promise) says what the pair promises, and has an example. Async-signal-safe.
///
/// # Cost
/// No instruction on Linux. The compiler moves no memory access across it.
///
/// ```
/// use leeward::fence;
/// use std::sync::atomic::{AtomicBool, Ordering::{Acquire, Relaxed, Release}};
/// static INSIDE: AtomicBool = AtomicBool::new(false);
/// static CLOSED: AtomicBool = AtomicBool::new(false);
/// /// Enters, unless a writer has closed. The writer: stores to `CLOSED`, calls `fence::heavy`, and
/// /// waits until it loads false from `INSIDE`.
/// fn try_enter() -> bool {
///     INSIDE.store(true, Relaxed);
///     fence::light();
///     let is_open = !CLOSED.load(Acquire);
///     if !is_open {
///         INSIDE.store(false, Release);
///     }
///     is_open
/// }
/// assert!(try_enter());
/// ```
#[inline(always)]
pub fn light() {
    backend::light();
}

/// Executes the rare half of an asymmetric pair: a full fence in the caller and, before it returns,
/// one in every other thread of this process.
///
/// The [module](self#the-promise) says what the pair promises.
///
/// ```
/// use leeward::fence;
/// use std::sync::atomic::{AtomicBool, Ordering::{Acquire, Relaxed}};
/// static INSIDE: AtomicBool = AtomicBool::new(false);
/// static CLOSED: AtomicBool = AtomicBool::new(false);
/// // The frequent side is `try_enter` in the example of `light`.
/// CLOSED.store(true, Relaxed);
/// fence::heavy();
/// // If the frequent side went in before, that is seen here; if it comes later, it finds `CLOSED`.
/// while INSIDE.load(Acquire) {
///     std::thread::yield_now();
/// }
/// ```
///
/// # Differences from the membarrier call
/// - The caller's own thread executes a full fence in any case. The kernel returns at once where a
///   process has one thread.
/// - Registering is part of it: at the first fence, and again where checkpoint and restore lost the
///   registration.
/// - Threads that call at the same time share system calls: a call that finds a fence under way
///   waits for the next one, which one of them issues for all.
/// - A refusal is answered here, by the next strategy, and not by the caller.
///
/// # Cost
/// One system call of about a microsecond to a few where membarrier's expedited command is there
/// and interrupts are quick; on virtual machines whose interrupts are slow it may take
/// milliseconds. [`Strategy`] has the cost of the others. Threads that run are interrupted once
/// (not by [`Strategy::MembarrierGlobal`]). The call may sleep. It allocates nothing, so that a
/// lock inside the global allocator may use it. Any number of concurrent calls cost two fences, and
/// each waits for two at most; sharing costs a caller alone no locked instruction more. Callers
/// that wait for another's fence sleep, for 100 ms at most: then each issues its own, whatever the
/// priority of the thread that it waited for.
///
/// # Errors
/// No error reaches the caller: a refusal (`ENOSYS`, `EPERM`, `EINVAL`, `ENOMEM`) is answered by
/// registering again, trying again, or the next strategy.
///
/// # Panics
/// If no strategy is possible ([`Error::NoStrategy`]): returning would break the promise. [`init`]
/// finds that out beforehand, and [`try_heavy`] returns the error. (Inside this library's locks the
/// process ends instead: a guard must not outlive its lock.)
///
/// # Signals
/// Async-signal-safe with either membarrier strategy once [`init`] has returned, unless the kernel
/// refuses the call later; a handler that interrupts a call of its own thread issues a fence of its
/// own. Not with [`Strategy::Signal`], which holds a lock. errno is left as it was.
pub fn heavy() {
    if let Err(error) = try_heavy() {
        panic!("leeward: {error}");
    }
}

/// Does what [`heavy`] does, and ends the process where that would panic. For the inside of locks,
/// where nothing may unwind.
pub(crate) fn heavy_or_abort() {
    if try_heavy().is_err() {
        abort!(concat!("a lock cannot be waited for: ", no_strategy!()));
    }
}

/// Executes a heavy fence as [`heavy`] does, or says that none is possible. Cost and signals:
/// [`heavy`].
///
/// ```
/// use leeward::fence;
/// use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
/// static CLOSED: AtomicBool = AtomicBool::new(false);
/// CLOSED.store(true, Relaxed);
/// match fence::try_heavy() {
///     Ok(()) => println!("those who come now find it closed"),
///     Err(error) => eprintln!("{error}"), // nothing is known of the other threads
/// }
/// ```
///
/// # Errors
/// [`Error::NoStrategy`] if no strategy is possible: the calling thread has executed a full fence,
/// and the others perhaps none.
pub fn try_heavy() -> Result<(), Error> {
    // With the caller's own half: the kernel promises as much, except to a process of one thread,
    // where it returns at once.
    let outcome = backend::run();
    // Relaxed, both: a hint.
    if WAS_REFUSED.load(Ordering::Relaxed) != outcome.is_err() {
        WAS_REFUSED.store(outcome.is_err(), Ordering::Relaxed);
    }
    outcome
}

/// True: the last heavy fence was refused. Core's atomic: it orders nothing, so loom need not explore
/// it.
static WAS_REFUSED: AtomicBool = AtomicBool::new(false);

/// Returns true if a heavy fence is possible, as far as can be told beforehand.
pub(crate) fn is_possible() -> bool {
    backend::is_possible()
}

/// Returns true if a heavy fence is possible, as far as can be told, and the last one was not refused:
/// for callers that do without fences where these may be missing when they are needed.
pub(crate) fn is_to_be_relied_on() -> bool {
    // Relaxed: a hint. A filter may come at any time.
    is_possible() && !WAS_REFUSED.load(Ordering::Relaxed)
}

/// Chooses and prepares the strategy now, rather than at the first heavy fence, and returns it.
///
/// ```
/// match leeward::fence::init() {
///     Ok(strategy) => println!("heavy fences are served by {strategy}"),
///     Err(error) => eprintln!("{error}"),
/// }
/// ```
///
/// # Cost
/// Registering a process with the kernel is immediate while it has one thread, and may take
/// milliseconds later: call this early where that matters. Where a seccomp filter is in force, a
/// child process first finds out whether the filter kills for the calls. Further calls are cheap
/// and return the strategy then in use.
///
/// # Errors
/// - [`Error::NoStrategy`] if no heavy fence is possible.
/// - [`Error::UnknownName`] if the process was started with `LEEWARD_FENCE` set to an unknown name;
///   a strategy was chosen all the same.
///
/// # Signals
/// Not async-signal-safe: the first call may wait for a child process, and for other threads.
pub fn init() -> Result<Strategy, Error> {
    backend::init()
}

/// Returns the strategy in use, or `None` if none was chosen yet. Async-signal-safe; one load.
///
/// ```
/// use leeward::fence;
/// fence::heavy();
/// assert!(fence::strategy().is_some());
/// ```
pub fn strategy() -> Option<Strategy> {
    backend::chosen()
}

/// Makes `strategy` the one in use, for the whole process, after executing one heavy fence by it.
///
/// This is sound at any time and from any thread: the light half is the same for all strategies of
/// a platform. If the kernel refuses the strategy later, heavy fences go to the next one all the
/// same.
///
/// ```
/// use leeward::fence::{self, Error, Strategy};
/// match fence::force(Strategy::Signal) {
///     Ok(()) => assert_eq!(fence::strategy(), Some(Strategy::Signal)),
///     Err(error) => assert_eq!(error, Error::Refused(Strategy::Signal)),
/// }
/// fence::heavy();
/// ```
///
/// # Errors
/// [`Error::Refused`] if the strategy does not work here; the one in use stays.
///
/// # Signals
/// Not async-signal-safe: the call may wait for a child process, and for other threads.
pub fn force(strategy: Strategy) -> Result<(), Error> {
    backend::force(strategy)
}

/// Returns how many heavy fences this process issued, by the strategy that served them.
///
/// ```
/// use leeward::fence;
/// fence::heavy();
/// let counters = fence::counters();
/// println!("{} fences, {} of them by signals", counters.total(), counters.signal);
/// assert!(counters.total() > 0);
/// ```
pub fn counters() -> Counters {
    backend::counters()
}

/// A pair of fences as a type: what a reader executes, and what the writer does so that it
/// suffices.
///
/// [`Asymmetric`] and [`Full`] implement it, and no other type can. An RCU domain names one of them
/// ([`rcu_domain!`](crate::rcu_domain)).
///
/// ```
/// use leeward::fence::{Asymmetric, Full, Pair};
/// use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
/// fn announce_and_look<P: Pair>(mine: &AtomicBool, other: &AtomicBool) -> bool {
///     mine.store(true, Relaxed);
///     P::light();
///     other.load(Relaxed)
/// }
/// let (one, two) = (AtomicBool::new(false), AtomicBool::new(false));
/// assert!(!announce_and_look::<Asymmetric>(&one, &two));
/// assert!(announce_and_look::<Full>(&two, &one));
/// ```
pub trait Pair: sealed::Sealed + Send + Sync + 'static {
    /// True if the writer's half reaches other threads, and so costs a system call.
    #[doc(hidden)]
    const IS_REMOTE: bool;
    /// Executes the reader's half.
    fn light();
    /// Executes the writer's half.
    ///
    /// # Panics
    /// As [`heavy`] does, for [`Asymmetric`].
    fn heavy();
}

/// The pair of [`light`] and [`heavy`]: the reader pays nothing, the writer makes a system call.
///
/// ```
/// use leeward::fence::{Asymmetric, Pair};
/// Asymmetric::light(); // no instruction on Linux
/// Asymmetric::heavy();
/// ```
#[derive(Debug)]
pub enum Asymmetric {}

/// The pair of two `fence(SeqCst)`: the reader pays for a full fence, the writer makes no system
/// call.
///
/// For domains whose writers must not call the kernel, and for machines on which a heavy fence
/// takes milliseconds. Both halves are async-signal-safe and never fail.
///
/// ```
/// leeward::rcu_domain! {
///     /// Readers of rules that change often.
///     struct Rules: Full;
/// }
/// let limit = leeward::rcu::RcuCell::<u32, Rules>::new_in(1);
/// let old = limit.replace(2).synchronize(); // without a heavy fence
/// assert_eq!(*old, 1);
/// ```
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
        // SeqCst: the reader's half of a symmetric pair; its partner is the fence in `heavy` below.
        fence(Ordering::SeqCst);
    }
    fn heavy() {
        // SeqCst: partner of the fence in `light` above.
        fence(Ordering::SeqCst);
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Asymmetric {}
    impl Sealed for super::Full {}
}
