//! The place to sleep: a 32-bit word on which one thread waits and another wakes.
//!
//! [`Futex`] is what every lock of this library is written over. [`Private`] words belong to one process, and the
//! kernel finds them by their address alone; [`Shared`] ones may lie in memory that several processes map, and are
//! found by what is mapped there, which costs the kernel a look-up and a reference. Which it is, is a type: there is no
//! test at run time.
//!
//! These are the primitives that locks are made of; programs want [`sync`](crate::sync).

#[cfg(all(target_os = "linux", not(leeward_symmetric), not(leeward_loom)))]
#[path = "backend/linux.rs"]
mod backend;
#[cfg(leeward_loom)]
#[path = "backend/model.rs"]
mod backend;
#[cfg(all(any(not(target_os = "linux"), leeward_symmetric), not(leeward_loom)))]
#[path = "backend/none.rs"]
mod backend;
#[cfg_attr(leeward_symmetric, allow(dead_code))]
#[cfg(all(target_os = "linux", not(leeward_loom)))]
pub(crate) mod calls;
mod deadline;
#[cfg(all(feature = "engine", not(leeward_loom)))]
mod hosted;
mod outcome;
#[cfg(all(feature = "engine", feature = "std", target_os = "linux", not(leeward_loom)))]
mod parking;
mod wait_any;
mod wake_op;

pub use deadline::{Deadline, Timeout};
#[cfg(all(feature = "engine", not(leeward_loom)))]
pub use hosted::{Embedding, Hosted};
pub use outcome::{Changed, MOST as WAIT_ANY_MOST, Wait, WaitAny};
#[cfg(all(feature = "engine", feature = "std", target_os = "linux", not(leeward_loom)))]
pub use parking::Parking;
pub use wait_any::{WrongCount, wait_any};
pub use wake_op::{Argument, Comparison, Operation, OutOfRange, WakeOp};

use crate::atomic::AtomicU32;

/// "As many as there are."
pub const ALL: u32 = i32::MAX as u32;

/// Where threads sleep, as a type. Implemented by [`Private`] and [`Shared`]; by `Hosted` (feature `engine`) for
/// whatever system `leeward-engine` is built into; by whoever brings a futex of his own.
///
/// Words that are only woken are given by pointer: a woken thread may have freed its word already, and a wake must not
/// claim that it is still there. (Waking whoever sleeps there by then is a wake without reason, which every waiter
/// has to expect.)
///
/// # Safety
/// - `wait` must read `word` and compare it in one step with queueing the caller: a [`wake`](Self::wake) that begins
///   after another thread stored to the word finds the caller, or the caller finds the store.
/// - `wake`, `requeue` must not read or write through the pointers other than by comparing `from`'s word, and
///   `wake_op` must do to `on` exactly what its operation says, in one atomic step with full ordering.
/// - None of them unwinds: locks are given up and taken again under guards that live.
pub unsafe trait Futex: Send + Sync + 'static {
    /// Whether the words may be used by several processes.
    const SHARED: bool;

    /// Sleeps while `word` is `expected`, until woken or until `timeout`. May return at any time.
    fn wait(word: &AtomicU32, expected: u32, timeout: Timeout) -> Wait;

    /// Wakes up to `count` threads that sleep on `word`, the longest waiting first among equals; how many.
    fn wake(word: *const AtomicU32, count: u32) -> u32;

    /// If `from` is still `expected`: wakes up to `wake` of its sleepers and has up to `requeue` others sleep on `to`
    /// instead; how many were woken or moved.
    ///
    /// # Errors
    /// [`Changed`].
    ///
    /// # Safety
    /// `from` is alive: it is read.
    unsafe fn requeue(
        from: *const AtomicU32,
        expected: u32,
        wake: u32,
        to: *const AtomicU32,
        requeue: u32,
    ) -> Result<u32, Changed>;

    /// Does `op` to `on`, then wakes up to `wake` of the sleepers of `word`, and up to `wake_on` of `on`'s if `op`
    /// says so of the old value; how many were woken. One step.
    ///
    /// # Safety
    /// `on` is alive, and may be written so.
    unsafe fn wake_op(word: *const AtomicU32, wake: u32, on: *const AtomicU32, op: WakeOp, wake_on: u32) -> u32;

    /// Lets another thread run.
    fn yield_now();

    /// Returns false if a [yield](Self::yield_now) of the calling thread lets no ordinary thread run: that of a
    /// real-time thread gives the processor to its equals alone. A lock asks before it yields a second time.
    fn yields_to_all() -> bool {
        true
    }

    /// The time, on a clock that only goes forward.
    fn now() -> Deadline;

    /// A number of the calling thread, below 2^29, that no other thread has while this one lives,
    /// of all that may use the same words; 0 where there is none. By it a lock knows a thread that
    /// would wait for itself.
    fn thread_number() -> u32 {
        0
    }
}

/// The system's futex, by whether processes share its words. Use [`Private`] and [`Shared`].
#[derive(Debug)]
pub enum System<const SHARED: bool> {}

/// Words of one process: found by address alone.
pub type Private = System<false>;

/// Words in memory that several processes may map.
pub type Shared = System<true>;

// SAFETY: the kernel's futex does that (and so do the model's and the portable one, each of which says how).
unsafe impl<const SHARED: bool> Futex for System<SHARED> {
    const SHARED: bool = SHARED;

    fn wait(word: &AtomicU32, expected: u32, timeout: Timeout) -> Wait {
        backend::wait::<SHARED>(word, expected, timeout)
    }

    fn wake(word: *const AtomicU32, count: u32) -> u32 {
        backend::wake::<SHARED>(word, count)
    }

    unsafe fn requeue(
        from: *const AtomicU32,
        expected: u32,
        wake: u32,
        to: *const AtomicU32,
        requeue: u32,
    ) -> Result<u32, Changed> {
        // SAFETY: the caller's promise.
        unsafe { backend::requeue::<SHARED>(from, expected, wake, to, requeue) }
    }

    unsafe fn wake_op(word: *const AtomicU32, wake: u32, on: *const AtomicU32, op: WakeOp, wake_on: u32) -> u32 {
        // SAFETY: the caller's promise.
        unsafe { backend::wake_op::<SHARED>(word, wake, on, op, wake_on) }
    }

    fn yield_now() {
        backend::yield_now();
    }

    fn yields_to_all() -> bool {
        backend::yields_to_all()
    }

    fn now() -> Deadline {
        Deadline::at(backend::now())
    }

    fn thread_number() -> u32 {
        // Processes that share memory may be of several pid namespaces.
        if SHARED { 0 } else { backend::thread_number() }
    }
}

/// [`Futex::wait`] on a private word, for this crate's rare paths.
pub(crate) fn wait(word: &AtomicU32, expected: u32, timeout: Timeout) -> Wait {
    backend::wait::<false>(word, expected, timeout)
}

/// [`Futex::wake`] on a private word, for the same.
pub(crate) fn wake(word: &AtomicU32, count: u32) {
    backend::wake::<false>(word, count);
}

pub(crate) use backend::{now, yield_now};
