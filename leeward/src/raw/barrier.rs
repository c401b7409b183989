//! A barrier that is used again and again: the last to come lets the others go.

use core::marker::PhantomData;
use core::time::Duration;

use super::spin_budget::SpinBudget;
use crate::atomic::{AtomicU32, Ordering, const_fn};
use crate::futex::{ALL, Deadline, Futex, Private, Timeout, Wait};
use crate::mutant::check;

const ARRIVED: u32 = (1 << 16) - 1;
const ROUND: u32 = 1 << 16;

/// Where so many threads wait for each other.
///
/// Zeroed memory is one for a single thread, which never waits (as one for 0 is). What each did before it came is seen by all when
/// they go. Coming costs one compare-exchange; the last wakes the others, all of whom may go.
/// Rounds are told apart by 16 bits: with more threads than its size, one that sleeps through exactly 65,536 rounds stays for
/// another.
#[repr(C)]
pub struct Barrier<F: Futex = Private> {
    /// | bits | meaning |
    /// |---|---|
    /// | 0-15 | how many have come in this round |
    /// | 16-31 | rounds: who sleeps does so until it changes |
    word: AtomicU32,
    /// How many there must be; never changes. (Atomic because processes that share it may write
    /// anything.)
    size: AtomicU32,
    futex: PhantomData<fn() -> F>,
}

/// What [`Barrier::wait`] says: one of the threads is the leader of the round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Whether it was the last to come; so is one in each round.
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl<F: Futex> Barrier<F> {
    /// For as many threads as it can be.
    pub const MOST: u32 = ARRIVED;

    const_fn! {
        /// One for `size` threads.
        ///
        /// # Panics
        /// For more than [`MOST`](Self::MOST).
        pub fn new(size: u32) -> Self {
            assert!(size <= ARRIVED, "a Barrier cannot count so many threads");
            Barrier { word: AtomicU32::new(0), size: AtomicU32::new(size), futex: PhantomData }
        }
    }

    /// Waits until as many have come as it is for.
    pub fn wait(&self) -> BarrierWaitResult {
        loop {
            // Without a deadline none passes.
            if let Some(result) = self.come(Timeout::Never) {
                return result;
            }
        }
    }

    /// The same until `deadline` at most; `None`: not all had come, and this thread has not come either.
    pub fn wait_until(&self, deadline: Deadline) -> Option<BarrierWaitResult> {
        self.come(Timeout::At(deadline))
    }

    /// The same for `limit` at most.
    pub fn wait_for(&self, limit: Duration) -> Option<BarrierWaitResult> {
        self.come(Timeout::after::<F>(limit))
    }

    fn come(&self, timeout: Timeout) -> Option<BarrierWaitResult> {
        // Whatever bytes are there: no more than can be counted.
        let size = self.size().min(ARRIVED);
        // Relaxed: the exchange decides.
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let is_last = (word & ARRIVED) + 1 >= size;
            let come = if is_last { (word & !ARRIVED).wrapping_add(ROUND) } else { word + 1 };
            // Release: partner of the acquire in `sleep`, and of the last one's. Acquire: the last sees what all have done.
            match self.word.compare_exchange_weak(word, come, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) if is_last => {
                    if check!(barrier_wake, size > 1) {
                        F::wake(&self.word, ALL);
                    }
                    return Some(BarrierWaitResult(true));
                }
                Ok(_) => return self.sleep(come, timeout).then_some(BarrierWaitResult(false)),
                Err(now) => word = now,
            }
        }
    }

    fn size(&self) -> u32 {
        // Relaxed: never changes.
        self.size.load(Ordering::Relaxed)
    }

    /// Waits for the end of the round; false if it gave up.
    fn sleep(&self, come: u32, timeout: Timeout) -> bool {
        let mut budget = SpinBudget::for_event(timeout);
        loop {
            // Acquire: partner of the last one's release.
            let word = self.word.load(Ordering::Acquire);
            if word & !ARRIVED != come & !ARRIVED {
                return true;
            }
            if !budget.pause::<F>()
                && F::wait(&self.word, word, timeout) == Wait::TimedOut
                && self.leave(come & !ARRIVED)
            {
                return false;
            }
        }
    }

    /// As if it had not come; false if the round is over.
    fn leave(&self, round: u32) -> bool {
        // Relaxed: `sleep` looks again, or the caller has seen nothing.
        let mut word = self.word.load(Ordering::Relaxed);
        while word & !ARRIVED == round {
            // Release: who comes instead goes on with what was done before (nobody needs it, but the chain stays whole).
            match self.word.compare_exchange_weak(word, word.wrapping_sub(1), Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }
}

impl<F: Futex> core::fmt::Debug for Barrier<F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // Relaxed: out of date anyway.
        let arrived = self.word.load(Ordering::Relaxed) & ARRIVED;
        f.debug_struct("Barrier").field("size", &self.size()).field("arrived", &arrived).finish()
    }
}
