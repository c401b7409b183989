//! An event: set until cleared. A thread that waits when it is set goes, also if it is cleared at
//! once. Called through `sync` and `shared`; calls [`Futex`] and `spin_budget.rs`.

use core::marker::PhantomData;
use core::time::Duration;

use super::spin_budget::SpinBudget;
use crate::atomic::{AtomicU32, Ordering, const_fn};
use crate::futex::{ALL, Deadline, Futex, Private, Timeout, Wait};
use crate::mutant::check;

pub(super) const SET: u32 = 1;
const WAITERS: u32 = 2;
pub(super) const ONE: u32 = 4;

/// Returns true if the event is set, or was since it had been set `before` times.
pub(super) fn has_happened(word: u32, before: u32) -> bool {
    word & SET != 0 || check!(event_count, word / ONE != before)
}

/// An event that has happened (is set), or not; 4 bytes, valid when zeroed (clear).
///
/// What was done before [`set`](Self::set) happens before the return of the waits that it ends. An
/// event that is set and cleared at once lets every thread go that waited when it was set.
///
/// ```
/// use leeward::raw::Event;
/// static READY: Event = Event::new();
/// std::thread::scope(|scope| {
///     scope.spawn(|| READY.set());
///     READY.wait();
/// });
/// assert!(READY.clear());
/// assert!(!READY.is_set());
/// ```
///
/// # Cost
/// - Free: asking is one load, setting one compare-exchange. An event without waiters makes no
///   system call.
/// - A waiter [spins](super#waiting), then sleeps. Setting wakes all sleepers in one system call,
///   since all of them may go.
///
/// # Fork
/// The child's copy stays as it was: set or clear. The parent's `set` does not reach it.
///
/// # Signals
/// [`set`](Self::set), [`clear`](Self::clear) and [`is_set`](Self::is_set) are async-signal-safe.
#[repr(C)]
pub struct Event<F: Futex = Private> {
    /// | bits | meaning |
    /// |---|---|
    /// | 0 | set |
    /// | 1 | contended: a thread may sleep on the word |
    /// | 2-31 | how often the event was set, so that a sleeper knows of a set that was cleared |
    pub(super) word: AtomicU32,
    futex: PhantomData<fn() -> F>,
}

impl Event {
    const_fn! {
        /// Returns an event that is clear.
        #[allow(clippy::new_without_default)]
        pub fn new() -> Self {
            Self::new_in()
        }
    }
}

impl<F: Futex> Event<F> {
    const_fn! {
        /// Returns an event that is clear.
        ///
        /// It is on the futexes that its type names; [`new`](Event::new) returns one for a single process.
        pub fn new_in() -> Self {
            Event { word: AtomicU32::new(0), futex: PhantomData }
        }
    }

    /// Sets the event: all waiters go, and no thread waits until it is cleared.
    pub fn set(&self) {
        // Relaxed: the exchange decides.
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let set = if word & SET != 0 { word } else { ((word & !WAITERS) | SET).wrapping_add(ONE) };
            // Release: partner of the acquires in `is_set` and `wait_slow`. A set event is
            // exchanged too, so that those that see it see what this caller did before.
            match self.word.compare_exchange_weak(word, set, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
        if check!(event_wake, word & WAITERS != 0) {
            F::wake(&self.word, ALL);
        }
    }

    /// Clears the event; returns true if it was set.
    pub fn clear(&self) -> bool {
        // Acquire: partner of the release in `set`: the caller sees what was done before the event
        // was set.
        self.word.fetch_and(!SET, Ordering::Acquire) & SET != 0
    }

    /// Returns true if the event is set. What was done before it was set happens before the return.
    #[inline]
    pub fn is_set(&self) -> bool {
        // Acquire: partner of the release in `set`.
        self.word.load(Ordering::Acquire) & SET != 0
    }

    /// Waits until the event is set.
    #[inline]
    pub fn wait(&self) {
        if !self.is_set() {
            self.wait_slow(Timeout::Never);
        }
    }

    /// Waits until the event is set, until `deadline` at most; returns true if it was set.
    ///
    /// ```
    /// use leeward::futex::{Deadline, Private};
    /// use leeward::raw::Event;
    /// use std::time::Duration;
    /// let event = <Event>::new();
    /// assert!(!event.wait_until(Deadline::after::<Private>(Duration::from_millis(1))));
    /// event.set();
    /// assert!(event.wait_for(Duration::ZERO));
    /// ```
    pub fn wait_until(&self, deadline: Deadline) -> bool {
        self.is_set() || self.wait_slow(Timeout::At(deadline))
    }

    /// Waits until the event is set, for `limit` at most; returns true if it was set.
    pub fn wait_for(&self, limit: Duration) -> bool {
        self.is_set() || self.wait_slow(Timeout::after::<F>(limit))
    }

    /// Waits until the event is set or was set meanwhile. Returns false if the time was up first.
    #[cold]
    #[inline(never)]
    pub(super) fn wait_slow(&self, timeout: Timeout) -> bool {
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

    /// Marks the event as contended; returns the value to sleep on, if the word was still `word`.
    pub(super) fn mark(&self, word: u32) -> Option<u32> {
        let marked = word | WAITERS;
        // Relaxed: the mark is all that is published.
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
