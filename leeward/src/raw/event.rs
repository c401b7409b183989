//! An event: set until cleared. Whoever waits when it is set goes, also if it is cleared at once.

use core::marker::PhantomData;
use core::time::Duration;

use super::spin_budget::SpinBudget;
use crate::atomic::{AtomicU32, Ordering, const_fn};
use crate::futex::{ALL, Deadline, Futex, Private, Timeout, Wait};
use crate::mutant::{check, mutated};

pub(super) const SET: u32 = 1;
const WAITERS: u32 = 2;
pub(super) const ONE: u32 = 4;

/// Whether it is set, or was after it had been set `before` times.
pub(super) fn has_happened(word: u32, before: u32) -> bool {
    word & SET != 0 || (word / ONE != before && !mutated!(event_count))
}

/// Something that has happened, or not.
///
/// Zeroed memory is one that is clear. What was done before `set` is seen by those whom it lets go. Looking costs a
/// load, setting one compare-exchange, and a wake only if somebody sleeps; all who sleep are woken, since all of
/// them may go. Setting and clearing are async-signal-safe.
#[repr(C)]
pub struct Event<F: Futex = Private> {
    /// | bits | meaning |
    /// |---|---|
    /// | 0 | set |
    /// | 1 | somebody may sleep |
    /// | 2-31 | how often it was set, so that who slept knows |
    pub(super) word: AtomicU32,
    futex: PhantomData<fn() -> F>,
}

impl<F: Futex> Event<F> {
    const_fn! {
        /// One that is clear.
        #[allow(clippy::new_without_default)]
        pub fn new() -> Self {
            Event { word: AtomicU32::new(0), futex: PhantomData }
        }
    }

    /// It has happened: all who wait go, and who comes does not wait until it is cleared.
    pub fn set(&self) {
        // Relaxed: the exchange decides.
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let set = if word & SET != 0 { word } else { ((word & !WAITERS) | SET).wrapping_add(ONE) };
            // Release: partner of the acquires of those who look; also of an event that is set already, by who set it.
            match self.word.compare_exchange_weak(word, set, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
        if check!(event_wake, word & WAITERS != 0) {
            F::wake(&self.word, ALL);
        }
    }

    /// It has not happened yet; whether it had.
    pub fn clear(&self) -> bool {
        // Acquire: whoever clears it sees what was done before it was set.
        self.word.fetch_and(!SET, Ordering::Acquire) & SET != 0
    }

    /// Whether it is set.
    #[inline]
    pub fn is_set(&self) -> bool {
        // Acquire: partner of the release in `set`.
        self.word.load(Ordering::Acquire) & SET != 0
    }

    /// Waits until it is set.
    #[inline]
    pub fn wait(&self) {
        if !self.is_set() {
            self.wait_slow(Timeout::Never);
        }
    }

    /// Waits until it is set, until `deadline` at most; whether it was.
    pub fn wait_until(&self, deadline: Deadline) -> bool {
        self.is_set() || self.wait_slow(Timeout::At(deadline))
    }

    /// Waits until it is set, for `limit` at most; whether it was.
    pub fn wait_for(&self, limit: Duration) -> bool {
        self.is_set() || self.wait_slow(Timeout::after::<F>(limit))
    }

    #[cold]
    #[inline(never)]
    fn wait_slow(&self, timeout: Timeout) -> bool {
        let mut budget = SpinBudget::for_event(timeout);
        // Acquire: as in `is_set`.
        let before = self.word.load(Ordering::Acquire) / ONE;
        loop {
            // Acquire: as in `is_set`.
            let word = self.word.load(Ordering::Acquire);
            if has_happened(word, before) {
                return true;
            }
            if budget.pause::<F>() {
                continue;
            }
            let marked = self.mark(word);
            if marked.is_some_and(|marked| F::wait(&self.word, marked, timeout) == Wait::TimedOut) {
                return false;
            }
        }
    }

    /// Says that somebody sleeps; the word to sleep on, if it was still `word`.
    pub(super) fn mark(&self, word: u32) -> Option<u32> {
        let marked = word | WAITERS;
        // Relaxed: everything that is said is in this word.
        let is_marked =
            word == marked || self.word.compare_exchange(word, marked, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        is_marked.then_some(marked)
    }
}

impl<F: Futex> core::fmt::Debug for Event<F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Event").field("is_set", &self.is_set()).finish()
    }
}
