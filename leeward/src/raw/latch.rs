//! A latch: counts down to 0 once, and is open from then on.

use core::marker::PhantomData;
use core::time::Duration;

use super::spin_budget::SpinBudget;
use crate::atomic::{AtomicU32, Ordering, const_fn};
use crate::futex::{ALL, Deadline, Futex, Private, Timeout, Wait};
use crate::mutant::check;

const COUNT: u32 = (1 << 31) - 1;
const WAITERS: u32 = 1 << 31;

/// So many things that are awaited, each once.
///
/// Zeroed memory is an open one. What was done before counting down is seen by who is let go. Counting down costs one compare-exchange and is
/// async-signal-safe; the last wakes those who sleep, if any, all of whom may go.
#[repr(C)]
pub struct Latch<F: Futex = Private> {
    /// | bits | meaning |
    /// |---|---|
    /// | 0-30 | how many are missing; 0: open |
    /// | 31 | somebody may sleep |
    word: AtomicU32,
    futex: PhantomData<fn() -> F>,
}

impl<F: Futex> Latch<F> {
    /// As many as it can count.
    pub const MOST: u32 = COUNT;

    const_fn! {
        /// One that opens when `count` have been counted down.
        ///
        /// # Panics
        /// With more than [`MOST`](Self::MOST).
        pub fn new(count: u32) -> Self {
            assert!(count <= COUNT, "a Latch cannot count so many");
            Latch { word: AtomicU32::new(count), futex: PhantomData }
        }
    }

    /// `count` of those that were awaited have come.
    ///
    /// # Panics
    /// If fewer are missing; nothing has changed.
    pub fn count_down(&self, count: u32) {
        // Relaxed: the exchange decides.
        let mut word = self.word.load(Ordering::Relaxed);
        let left = loop {
            assert!(count <= word & COUNT, "a Latch was counted down below 0");
            let left = if word & COUNT == count { 0 } else { word - count };
            // Release: partner of the acquires of those who look.
            match self.word.compare_exchange_weak(word, left, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => break left,
                Err(now) => word = now,
            }
        };
        if check!(latch_wake, left == 0 && word & WAITERS != 0) {
            F::wake(&self.word, ALL);
        }
    }

    /// Whether it is open.
    #[inline]
    pub fn is_open(&self) -> bool {
        // Acquire: partner of the releases in `count_down`.
        self.word.load(Ordering::Acquire) & COUNT == 0
    }

    /// Waits until it is open.
    #[inline]
    pub fn wait(&self) {
        if !self.is_open() {
            self.wait_slow(Timeout::Never);
        }
    }

    /// Waits until it is open, until `deadline` at most; whether it is.
    pub fn wait_until(&self, deadline: Deadline) -> bool {
        self.is_open() || self.wait_slow(Timeout::At(deadline))
    }

    /// Waits until it is open, for `limit` at most; whether it is.
    pub fn wait_for(&self, limit: Duration) -> bool {
        self.is_open() || self.wait_slow(Timeout::after::<F>(limit))
    }

    /// Counts down by one and waits until it is open.
    ///
    /// # Panics
    /// If it is open already.
    pub fn arrive_and_wait(&self) {
        self.count_down(1);
        self.wait();
    }

    #[cold]
    #[inline(never)]
    fn wait_slow(&self, timeout: Timeout) -> bool {
        let mut budget = SpinBudget::for_event(timeout);
        loop {
            // Acquire: as in `is_open`.
            let word = self.word.load(Ordering::Acquire);
            if word & COUNT == 0 {
                return true;
            }
            if budget.pause::<F>() {
                continue;
            }
            let marked = word | WAITERS;
            // Relaxed: everything that is said is in this word.
            if marked != word && self.word.compare_exchange(word, marked, Ordering::Relaxed, Ordering::Relaxed).is_err()
            {
                continue;
            }
            if F::wait(&self.word, marked, timeout) == Wait::TimedOut {
                return false;
            }
        }
    }
}

impl<F: Futex> core::fmt::Debug for Latch<F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // Relaxed: out of date anyway.
        f.debug_struct("Latch").field("missing", &(self.word.load(Ordering::Relaxed) & COUNT)).finish()
    }
}
