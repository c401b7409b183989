//! A latch: counts down to 0 once, and is open from then on. Called through `sync` and `shared`;
//! calls [`Futex`] and `spin_budget.rs`.

use core::marker::PhantomData;
use core::time::Duration;

use super::spin_budget::SpinBudget;
use crate::atomic::{AtomicU32, Ordering, const_fn};
use crate::futex::{ALL, Deadline, Futex, Private, Timeout, Wait};
use crate::mutant::check;

const COUNT: u32 = (1 << 31) - 1;
const WAITERS: u32 = 1 << 31;

/// A count that goes down to 0 once, and a wait for that; 4 bytes, valid when zeroed (open).
///
/// What was done before counting down happens before the return of the waits for the latch.
///
/// ```
/// use leeward::raw::Latch;
/// static STARTED: Latch = Latch::new(2);
/// std::thread::scope(|scope| {
///     for _ in 0..2 {
///         scope.spawn(|| STARTED.count_down(1));
///     }
///     STARTED.wait();
/// });
/// assert!(STARTED.is_open());
/// assert!(<Latch>::MOST > 1_000);
/// ```
///
/// # Cost
/// - Free: asking is one load, counting down one compare-exchange.
/// - A waiter [spins](super#waiting), then sleeps. The call that reaches 0 wakes all sleepers in
///   one system call, if there are any, since all of them may go.
///
/// # Fork
/// The child's copy keeps the count: what the parent's other threads would count down does not
/// come.
///
/// # Signals
/// [`count_down`](Self::count_down) and [`is_open`](Self::is_open) are async-signal-safe.
#[repr(C)]
pub struct Latch<F: Futex = Private> {
    /// | bits | meaning |
    /// |---|---|
    /// | 0-30 | how many are missing; 0: open |
    /// | 31 | contended: a thread may sleep on the word |
    word: AtomicU32,
    futex: PhantomData<fn() -> F>,
}

impl Latch {
    const_fn! {
        /// Returns a latch that opens when `count` have been counted down.
        ///
        /// # Panics
        /// If `count` is more than [`MOST`](Self::MOST).
        #[track_caller]
        pub fn new(count: u32) -> Self {
            Self::new_in(count)
        }
    }
}

impl<F: Futex> Latch<F> {
    /// The greatest count.
    pub const MOST: u32 = COUNT;

    const_fn! {
        /// Returns a latch that opens when `count` have been counted down.
        ///
        /// It is on the futexes that its type names; [`new`](Latch::new) returns one for a single process.
        ///
        /// # Panics
        /// If `count` is more than [`MOST`](Self::MOST).
        #[track_caller]
        pub fn new_in(count: u32) -> Self {
            assert!(count <= COUNT, "leeward: a Latch cannot count so many");
            Latch { word: AtomicU32::new(count), futex: PhantomData }
        }
    }

    /// Counts down by `count`; the call that reaches 0 opens the latch.
    ///
    /// # Panics
    /// If fewer than `count` are missing. The latch has not changed then.
    #[track_caller]
    pub fn count_down(&self, count: u32) {
        // Relaxed: the exchange decides.
        let mut word = self.word.load(Ordering::Relaxed);
        let left = loop {
            assert!(count <= word & COUNT, "leeward: a Latch was counted down below 0");
            let left = if word & COUNT == count { 0 } else { word - count };
            // Release: partner of the acquires in `is_open` and `wait_slow`.
            match self.word.compare_exchange_weak(word, left, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => break left,
                Err(now) => word = now,
            }
        };
        if check!(latch_wake, left == 0 && word & WAITERS != 0) {
            F::wake(&self.word, ALL);
        }
    }

    /// Returns true if the latch is open. What was done before it was counted down happens before
    /// the return.
    #[inline]
    pub fn is_open(&self) -> bool {
        // Acquire: partner of the releases in `count_down`.
        self.word.load(Ordering::Acquire) & COUNT == 0
    }

    /// Waits until the latch is open.
    #[inline]
    pub fn wait(&self) {
        if !self.is_open() {
            self.wait_slow(Timeout::Never);
        }
    }

    /// Waits until the latch is open, until `deadline` at most; returns true if it is open.
    ///
    /// ```
    /// use leeward::futex::{Deadline, Private};
    /// use leeward::raw::Latch;
    /// use std::time::Duration;
    /// let latch = <Latch>::new(1);
    /// assert!(!latch.wait_until(Deadline::after::<Private>(Duration::from_millis(1))));
    /// latch.count_down(1);
    /// assert!(latch.wait_for(Duration::ZERO));
    /// ```
    pub fn wait_until(&self, deadline: Deadline) -> bool {
        self.is_open() || self.wait_slow(Timeout::At(deadline))
    }

    /// Waits until the latch is open, for `limit` at most; returns true if it is open.
    pub fn wait_for(&self, limit: Duration) -> bool {
        self.is_open() || self.wait_slow(Timeout::after::<F>(limit))
    }

    /// Counts down by one and waits until the latch is open.
    ///
    /// ```
    /// use leeward::raw::Latch;
    /// static READY: Latch = Latch::new(3);
    /// std::thread::scope(|scope| {
    ///     for _ in 0..3 {
    ///         scope.spawn(|| {
    ///             // Open a file, warm a cache, ...
    ///             READY.arrive_and_wait();
    ///             assert!(READY.is_open());           // from here on, all three are ready
    ///         });
    ///     }
    /// });
    /// ```
    ///
    /// # Panics
    /// If the latch is open already.
    pub fn arrive_and_wait(&self) {
        self.count_down(1);
        self.wait();
    }

    /// Waits until the latch is open. Returns false if the time was up first.
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
            // Relaxed: the mark is all that is published.
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
        // Relaxed: out of date when it is printed.
        f.debug_struct("Latch").field("missing", &(self.word.load(Ordering::Relaxed) & COUNT)).finish()
    }
}
