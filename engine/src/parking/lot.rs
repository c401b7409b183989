//! A parking lot: an engine and the process that it serves, in one value that is safe to use.
//! Programs and `leeward`'s locks call it; it calls the engine's operations with its [`Process`].
//! Its locks with priority inheritance are in `inheritance`.

use core::sync::atomic::AtomicU32;

use super::Process;
use crate::linux::abi::FUTEX_BITSET_MATCH_ANY;
use crate::{Config, Deadline, Engine, Heap, NoEngine, Requeue, Stats, Wait, WakeOp, Word};

/// The futexes of one process's threads, without the kernel's. Threads wait on borrowed words while
/// these hold an expected value; wakes, requeues and wake-ops choose among them as the kernel's
/// calls do.
///
/// Two lots know nothing of each other: a wake by one lot finds no waiter of another.
///
/// ```
/// use leeward_engine::{Wait, parking::ParkingLot};
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// let lot = ParkingLot::new(4).unwrap();
/// let word = AtomicU32::new(0);
/// std::thread::scope(|threads| {
///     threads.spawn(|| {
///         word.store(1, Ordering::Release);
///         lot.wake(&word, 1);
///     });
///     while word.load(Ordering::Acquire) == 0 {
///         lot.wait(&word, 0, None);
///     }
/// });
/// assert_eq!(lot.wait(&word, 0, None), Wait::Changed);
/// ```
///
/// # Differences from parking_lot_core
/// - *A value and not the process's*: a lot is made, and dropped; parking_lot_core has one table
///   for the process, which it never frees.
/// - *The word is compared by the lot*, as by a futex: a caller passes the expected value, not a
///   closure that runs under the queue's lock. So nothing of the caller's runs under a lock, and
///   the calls are safe. In return no token passes from a wake to a waiter, and no wake filters by
///   one.
/// - *Futures wait in the same queues* as threads do ([`wait_async`](Self::wait_async)).
/// - *Signal handlers may [wake](Self::wake)*; parking_lot_core's functions must not be called
///   by them.
/// - *Order*: real-time threads come first, by their priority, then the others in the order in
///   which they came. parking_lot_core knows only the latter. (Versions before 0.10 also told their
///   callers now and then to hand a lock over fairly; the lot does not.)
/// - *Also*: deadlines on either clock, wake-ops, robust lists, locks with priority inheritance,
///   and ends by signals, which parking_lot_core does not report.
///
/// # Cost
/// - A wake that finds no waiter is a fence and a load, without a lock and without a system call.
/// - A wait and its wake cost a lock of a bucket each, and two system calls (the sleep and its end)
///   unless the wake comes while the waiter still [spins](super::park()). A waiter is 112 bytes on
///   its thread's stack.
/// - [`new`](Self::new) allocates a table of 16 buckets (2 KiB), and the first wait one of the
///   lot's own, which grows with its waiters. Where there is no memory for a larger table, the
///   smaller one serves on.
///
/// # Signals, real-time threads, forks
/// Only [`wake`](Self::wake) may be called by a signal handler. The child of a fork makes a
/// lot of its own. The [module](super) says more of both, and what real-time threads get.
///
/// # Panics
/// The panic of an executor's waker passes through the call that woke its future; the other waiters
/// that the call chose are woken all the same. A second panic meanwhile aborts the process. All
/// else that panics is said at the methods.
#[derive(Debug)]
pub struct ParkingLot {
    /// The lot's threads, as the engine's host.
    pub(super) process: Process,
    pub(super) engine: Engine<Process>,
}

/// The bitset that has a bit in common with each waiter's.
const ANY: u32 = FUTEX_BITSET_MATCH_ANY;
/// Why a wait has no error: a word that a thread borrows is aligned, and this process has it.
const THERE: &str = "a borrowed word is aligned and there";

/// What a wake and a requeue demand.
const NO_LOCK: &str = "an aligned word that no thread waits for by `lock_pi`";

impl ParkingLot {
    /// Makes a lot for about `threads` threads. It serves any number; its table grows with the
    /// waiters.
    ///
    /// # Errors
    /// [`NoEngine::Memory`]: there is no memory for the first table.
    pub fn new(threads: u32) -> Result<ParkingLot, NoEngine> {
        use std::hash::{BuildHasher, Hasher};
        let seed = std::hash::RandomState::new().build_hasher().finish();
        // SAFETY: the methods take words that are borrowed, or that are only woken.
        let process = unsafe { Process::new(threads.max(2), seed) };
        Ok(ParkingLot { process, engine: Engine::new(Config::small(seed).with_private_tables(), Heap)? })
    }

    /// Returns the word as the engine names it.
    pub(super) fn word(word: *const AtomicU32) -> Word {
        Word::private(word.expose_provenance() as u64)
    }

    /// Sleeps while `word` holds `expected`: until a wake chooses this waiter, until the deadline,
    /// or until a signal. The comparison and the queueing are one step: a wake that begins after
    /// another thread stored to the word finds the waiter, or the waiter finds the store. May spin
    /// for some microseconds first ([`park`](super::park())).
    ///
    /// Memory ordering: what was done before the wake happens before a return with [`Wait::Woken`].
    /// The other ends order nothing.
    ///
    /// Not for signal handlers. Without a deadline it does not return where no wake and no
    /// signal comes.
    pub fn wait(&self, word: &AtomicU32, expected: u32, until: Option<Deadline>) -> Wait {
        self.engine.wait(&self.process, Self::word(word), expected.into(), ANY, until).expect(THERE)
    }

    /// Waits as [`wait`](Self::wait) does, as a future and without a deadline. The word is compared
    /// when the future is first polled; from then on it is a waiter like the threads, in the same
    /// queue. It ends with [`Wait::Woken`] or [`Wait::Changed`], and allocates nothing.
    ///
    /// Dropping it gives the wait up. If a wake had chosen it by then, the wake passes on to
    /// another waiter of the word, so none is lost.
    ///
    /// Not for signal handlers, neither its polls nor its drop.
    ///
    /// ```
    /// use leeward_engine::{Wait, parking::ParkingLot};
    /// use std::pin::pin;
    /// use std::sync::atomic::AtomicU32;
    /// use std::task::{Context, Poll, Waker};
    ///
    /// let (lot, word) = (ParkingLot::new(2).unwrap(), AtomicU32::new(0));
    /// let mut context = Context::from_waker(Waker::noop());
    /// let mut wait = pin!(lot.wait_async(&word, 0));
    /// assert_eq!(wait.as_mut().poll(&mut context), Poll::Pending);
    /// assert_eq!(lot.wake(&word, 1), 1);
    /// assert_eq!(wait.poll(&mut context), Poll::Ready(Wait::Woken));
    /// ```
    pub async fn wait_async(&self, word: &AtomicU32, expected: u32) -> Wait {
        self.engine.wait_async(&self.process, Self::word(word), expected.into(), ANY).await.expect(THERE)
    }

    /// Wakes up to `count` waiters of `word`, and returns how many. The word is not read, and its
    /// memory may have been freed.
    ///
    /// Memory ordering: a full fence comes first, also where no thread waits.
    ///
    /// A handler of a signal may call it. If the handler interrupted a call on the lot by its own
    /// thread that held a lock, that call wakes the waiters when it has given the lock up, and the
    /// answer is 0.
    ///
    /// # Panics
    /// - If `word` is misaligned (the engine's `EINVAL`).
    /// - If it comes to a thread that waits for `word` by [`lock_pi`](Self::lock_pi), also
    ///   `EINVAL`: such a thread is handed the lock by its owner, and no wake is for it. Waiters
    ///   that were chosen before it are woken. A deferred wake of a handler ends there without a
    ///   panic.
    /// - If an executor's waker panics (see [`ParkingLot`]).
    pub fn wake(&self, word: *const AtomicU32, count: u32) -> u32 {
        self.engine.wake(&self.process, Self::word(word), count, ANY).expect(NO_LOCK)
    }

    /// If `from` holds `expected`, wakes up to `wake` of its waiters, and moves up to `requeue`
    /// others to `to`, after those that wait there. `to` is not read, and its memory may have been
    /// freed. [`Engine::requeue`] says what the answer counts. Not for signal handlers.
    ///
    /// # Panics
    /// If `to` is misaligned, if it comes to a thread that waits for `from` by
    /// [`lock_pi`](Self::lock_pi), or if an executor's waker panics.
    pub fn requeue(&self, from: &AtomicU32, expected: u32, wake: u32, to: *const AtomicU32, requeue: u32) -> Requeue {
        let (from, to) = (Self::word(from), Self::word(to));
        self.engine.requeue(&self.process, from, to, wake, requeue, Some(expected.into())).expect(NO_LOCK)
    }

    /// Does `op` to the word `on`, wakes up to `wake` waiters of `word`, and up to `wake_on` of
    /// those of `on` if the old value of `on` says so; returns how many. `word` is not read, and
    /// its memory may have been freed. Not for signal handlers.
    ///
    /// # Panics
    /// If `word` is misaligned; if `op` has no comparison, after `on` has changed; if it comes to a
    /// thread that waits for either word by [`lock_pi`](Self::lock_pi); or if an executor's waker
    /// panics.
    pub fn wake_op(&self, word: *const AtomicU32, wake: u32, on: &AtomicU32, op: WakeOp, wake_on: u32) -> u32 {
        let (word, on) = (Self::word(word), Self::word(on));
        self.engine
            .wake_op(&self.process, word, wake, on, op, wake_on)
            .expect("a comparison, and aligned words that no thread waits for by `lock_pi`")
    }

    /// Returns what the lot's own table did. Takes the lock of each bucket in turn. Not for
    /// signal handlers.
    pub fn stats(&self) -> Stats {
        self.process.space.stats(&self.process)
    }

    /// Returns what the engine's global table did, which serves as long as the lot has no table of
    /// its own. Takes the lock of each bucket in turn. Not for signal handlers.
    pub fn global_stats(&self) -> Stats {
        self.engine.stats(&self.process)
    }

    /// Returns the engine and its host, for operations that the lot itself does not have.
    ///
    /// # Safety
    /// As for [`Process::new`].
    pub unsafe fn parts(&self) -> (&Engine<Process>, &Process) {
        (&self.engine, &self.process)
    }
}
