//! A barrier that is used again and again: the last thread to arrive lets the others go. Called
//! through `sync` and `shared`; calls [`Futex`] and `spin_budget.rs`.

use core::marker::PhantomData;
use core::time::Duration;

use super::spin_budget::SpinBudget;
use crate::atomic::{AtomicU32, Ordering, const_fn};
use crate::futex::{ALL, Deadline, Futex, Private, Timeout, Wait};
use crate::mutant::check;

const ARRIVED: u32 = (1 << 16) - 1;
const ROUND: u32 = 1 << 16;

/// A place where a number of threads wait for each other, round after round; 8 bytes. Zeroed memory
/// is a barrier for a single thread, which never waits (as is one for 0).
///
/// What each thread did before it arrived happens before the return of all. Rounds are told apart
/// by 16 bits: with more threads than the barrier's size, a thread that sleeps through exactly
/// 65,536 rounds waits for another one.
///
/// ```
/// use leeward::raw::Barrier;
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
/// static BARRIER: Barrier = Barrier::new(3);
/// static DONE: AtomicU32 = AtomicU32::new(0);
/// std::thread::scope(|scope| {
///     for _ in 0..3 {
///         scope.spawn(|| {
///             DONE.fetch_add(1, Relaxed);
///             BARRIER.wait();
///             assert_eq!(DONE.load(Relaxed), 3);
///         });
///     }
/// });
/// assert!(<Barrier>::MOST > 1_000);
/// ```
///
/// # Differences from std
/// - 8 bytes instead of 40 (of Rust 1.95 on 64-bit Linux); at most 65,535 threads, and a panic
///   beyond.
/// - [`wait_until`](Self::wait_until) and [`wait_for`](Self::wait_for) end in time and take the
///   arrival back.
/// - It may be zeroed memory, and lie in memory that processes share.
///
/// # Cost
/// - Free: an arrival is one compare-exchange.
/// - A thread that is not the last [spins](super#waiting), then sleeps; the last one makes one
///   system call, which wakes all.
///
/// # Fork
/// Arrivals of the parent's threads stay counted in the child's copy, for the current round.
#[repr(C)]
pub struct Barrier<F: Futex = Private> {
    /// | bits | meaning |
    /// |---|---|
    /// | 0-15 | how many threads have arrived in this round |
    /// | 16-31 | rounds: a sleeper waits until this changes |
    word: AtomicU32,
    /// How many threads a round needs; never changes. (Atomic because processes that share the
    /// barrier may write anything.)
    size: AtomicU32,
    futex: PhantomData<fn() -> F>,
}

/// The result of [`Barrier::wait`]: one of the threads is the leader of the round.
///
/// ```
/// use leeward::raw::Barrier;
/// assert!(<Barrier>::new(1).wait().is_leader());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Returns true if the thread was the last to arrive, as one is in each round.
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl Barrier {
    const_fn! {
        /// Returns a barrier for `size` threads.
        ///
        /// # Panics
        /// If `size` is more than [`MOST`](Self::MOST).
        #[track_caller]
        pub fn new(size: usize) -> Self {
            Self::new_in(size)
        }
    }
}

impl<F: Futex> Barrier<F> {
    /// The greatest number of threads that a barrier can be for.
    pub const MOST: usize = ARRIVED as usize;

    const_fn! {
        /// Returns a barrier for `size` threads.
        ///
        /// It is on the futexes that its type names; [`new`](Barrier::new) returns one for a single process.
        ///
        /// # Panics
        /// If `size` is more than [`MOST`](Self::MOST).
        #[track_caller]
        pub fn new_in(size: usize) -> Self {
            assert!(size <= Self::MOST, "leeward: a Barrier cannot count so many threads");
            Barrier { word: AtomicU32::new(0), size: AtomicU32::new(size as u32), futex: PhantomData }
        }
    }

    /// Waits until as many threads have arrived as the barrier is for.
    pub fn wait(&self) -> BarrierWaitResult {
        loop {
            // Without a deadline there is always a result.
            if let Some(result) = self.arrive(Timeout::Never) {
                return result;
            }
        }
    }

    /// Waits as [`wait`](Self::wait) does, until `deadline` at most. Returns `None` if not all
    /// threads had arrived by then: the arrival of this one is taken back.
    ///
    /// ```
    /// use leeward::futex::{Deadline, Private};
    /// use leeward::raw::Barrier;
    /// use std::time::Duration;
    /// let barrier = <Barrier>::new(2);
    /// // Nobody else comes: this thread leaves again, and is not counted any more.
    /// assert!(barrier.wait_until(Deadline::after::<Private>(Duration::from_millis(1))).is_none());
    /// assert!(barrier.wait_for(Duration::ZERO).is_none());
    /// ```
    pub fn wait_until(&self, deadline: Deadline) -> Option<BarrierWaitResult> {
        self.arrive(Timeout::At(deadline))
    }

    /// Waits as [`wait`](Self::wait) does, for `limit` at most. Returns `None` if not all threads
    /// had arrived by then: the arrival of this one is taken back.
    pub fn wait_for(&self, limit: Duration) -> Option<BarrierWaitResult> {
        self.arrive(Timeout::after::<F>(limit))
    }

    /// Counts the caller as arrived, and ends the round or waits for its end. Returns `None` if the
    /// time was up first.
    fn arrive(&self, timeout: Timeout) -> Option<BarrierWaitResult> {
        // Another process may have written any size: no more than can be counted.
        let size = self.size().min(ARRIVED);
        // Relaxed: the exchange decides.
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let is_last = (word & ARRIVED) + 1 >= size;
            let arrived = if is_last { (word & !ARRIVED).wrapping_add(ROUND) } else { word + 1 };
            // AcqRel: the release is the partner of the acquire in `sleep` and of the last
            // thread's; by the acquire the last thread sees what all have done.
            match self.word.compare_exchange_weak(word, arrived, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) if is_last => {
                    if check!(barrier_wake, size > 1) {
                        F::wake(&self.word, ALL);
                    }
                    return Some(BarrierWaitResult(true));
                }
                Ok(_) => return self.sleep(arrived, timeout).then_some(BarrierWaitResult(false)),
                Err(now) => word = now,
            }
        }
    }

    fn size(&self) -> u32 {
        // Relaxed: never changes.
        self.size.load(Ordering::Relaxed)
    }

    /// Waits for the end of the round in which the word became `arrived`. Returns false if the time
    /// was up first.
    fn sleep(&self, arrived: u32, timeout: Timeout) -> bool {
        let mut budget = SpinBudget::for_event(timeout);
        loop {
            // Acquire: partner of the last thread's release in `arrive`.
            let word = self.word.load(Ordering::Acquire);
            if word & !ARRIVED != arrived & !ARRIVED {
                return true;
            }
            if !budget.pause::<F>()
                && F::wait(&self.word, word, timeout) == Wait::TimedOut
                && self.leave(arrived & !ARRIVED)
            {
                return false;
            }
        }
    }

    /// Takes the caller's arrival back. Returns false if the round is over.
    fn leave(&self, round: u32) -> bool {
        // Relaxed: `sleep` rechecks, or the caller has seen nothing.
        let mut word = self.word.load(Ordering::Relaxed);
        while word & !ARRIVED == round {
            // Release: keeps the chain of releases whole, of which a thread that arrives instead is
            // part.
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
        // Relaxed: out of date when it is printed.
        let arrived = self.word.load(Ordering::Relaxed) & ARRIVED;
        f.debug_struct("Barrier").field("size", &self.size()).field("arrived", &arrived).finish()
    }
}
