//! A parking lot: an engine with the process that it serves, in one value that is safe to use.

use core::sync::atomic::AtomicU32;

use super::Process;
use crate::linux::abi::FUTEX_BITSET_MATCH_ANY;
use crate::{Config, Deadline, Engine, Heap, NoEngine, Requeue, Stats, Wait, WakeOp, Word};

/// Futexes of one process, without the kernel's. What handlers of signals may do with them, and
/// what real-time threads get, the [module](super) tells.
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
#[derive(Debug)]
pub struct ParkingLot {
    pub(super) process: Process,
    pub(super) engine: Engine<Process>,
}

/// Any waiter.
const ANY: u32 = FUTEX_BITSET_MATCH_ANY;
/// A word that a thread borrows is a word that this process has.
const THERE: &str = "a borrowed word is aligned and there";

impl ParkingLot {
    /// A lot for about so many threads; it grows if there are more.
    ///
    /// # Errors
    /// No memory.
    pub fn new(threads: u32) -> Result<ParkingLot, NoEngine> {
        use std::hash::{BuildHasher, Hasher};
        let seed = std::hash::RandomState::new().build_hasher().finish();
        // SAFETY: the methods take words that are borrowed, or whose life their callers promise.
        let process = unsafe { Process::new(threads.max(2), seed) };
        Ok(ParkingLot { process, engine: Engine::new(Config::small(seed).with_private_tables(), Heap)? })
    }

    pub(super) fn word(word: *const AtomicU32) -> Word {
        Word::private(word.expose_provenance() as u64)
    }

    /// Sleeps while `word` is `expected`, until woken, until a deadline or a signal.
    pub fn wait(&self, word: &AtomicU32, expected: u32, until: Option<Deadline>) -> Wait {
        self.engine.wait(&self.process, Self::word(word), expected, ANY, until).expect(THERE)
    }

    /// [`wait`](Self::wait) as a future, without a deadline: drop it to give up.
    pub async fn wait_async(&self, word: &AtomicU32, expected: u32) -> Wait {
        self.engine.wait_async(&self.process, Self::word(word), expected, ANY).await.expect(THERE)
    }

    /// Wakes up to `count` waiters of `word`, which may be gone; how many. A handler of a signal
    /// may call it: if it interrupted a call on the lot by its own thread that held a lock, the
    /// waiters are woken when that lock is given up, and the answer is 0.
    ///
    /// # Panics
    /// If `word` is misaligned.
    pub fn wake(&self, word: *const AtomicU32, count: u32) -> u32 {
        self.engine.wake(&self.process, Self::word(word), count, ANY).expect("a futex word is aligned to 4 bytes")
    }

    /// If `from` is `expected`: wakes up to `wake` of its waiters, and moves up to `requeue` others
    /// to `to`.
    ///
    /// # Panics
    /// If `to` is misaligned.
    pub fn requeue(&self, from: &AtomicU32, expected: u32, wake: u32, to: *const AtomicU32, requeue: u32) -> Requeue {
        let (from, to) = (Self::word(from), Self::word(to));
        self.engine
            .requeue(&self.process, from, to, wake, requeue, Some(expected))
            .expect("a futex word is aligned to 4 bytes")
    }

    /// Does `op` to `on`, wakes up to `wake` waiters of `word`, and up to `wake_on` of `on`'s if
    /// the old value says so.
    ///
    /// # Panics
    /// If `word` is misaligned, or `op` has no comparison.
    pub fn wake_op(&self, word: *const AtomicU32, wake: u32, on: &AtomicU32, op: WakeOp, wake_on: u32) -> u32 {
        let (word, on) = (Self::word(word), Self::word(on));
        self.engine.wake_op(&self.process, word, wake, on, op, wake_on).expect("words aligned, and a comparison")
    }

    /// What the lot's own table did.
    pub fn stats(&self) -> Stats {
        self.process.space.stats(&self.process)
    }

    /// What the engine's global table did: it serves as long as the lot has no table of its own.
    pub fn global_stats(&self) -> Stats {
        self.engine.stats(&self.process)
    }

    /// The engine and the host, for what is not here.
    ///
    /// # Safety
    /// As for [`Process::new`].
    pub unsafe fn parts(&self) -> (&Engine<Process>, &Process) {
        (&self.engine, &self.process)
    }
}
