//! The spin budget: how long a thread that must wait rechecks before it sleeps. It pauses first,
//! then it yields its processor, which the holder of the lock may need. Each recheck takes the
//! lock's cache line from the holder, so the next comes after twice as long.
//!
//! A sleep and a wake cost some 50 microseconds on a busy machine; the whole budget costs about 12
//! on a quiet one, and most locks are held for less than one. Where other threads want the
//! processor, a yield may take a time slice of each of them, and a thread that yields runs again
//! later than one that sleeps and is woken. So the yields are timed:
//! - A wait whose deadline is within [`NEAR`] does not yield: one yield alone might end it late.
//! - A real-time thread, whose yield lets no ordinary thread run, yields once at most. The policy
//!   is asked for after the first yield only.
//! - When the yields of a wait took [`LONG`] together, the thread repeats the pauses once and then
//!   sleeps. A wait for a lock without a deadline goes on with its yields: as often as not the
//!   threads that had the processor used it for the same lock.
//! - When the yields of a wait for an event took [`SLICE`], no such wait of this process yields for
//!   a while.

use core::sync::atomic::AtomicU64;
use core::time::Duration;

use crate::atomic::{Ordering, outside_model, spin_hint};
use crate::futex::{Deadline, Futex, Timeout};
use crate::mutant::{check, mutated};

/// Rounds of pauses: rechecks after 1, 2 and 4 pauses. With twice as many rounds, to 64 pauses,
/// eight threads on two processors had half of this rate of locking.
const SPINS: u32 = outside_model(3);
/// Rounds of yields: rechecks after 1, 2, 4 and 8 yields. One yield a round, in seven rounds, gave
/// nine tenths of this rate.
const YIELDS: u32 = outside_model(4);

/// Rounds of one yield in a wait on a condition variable. Where the waiter and its notifier share a
/// processor, the first yield hands it over.
const HAND_OVER_YIELDS: u32 = outside_model(4);

/// The time that the yields of one wait may take together.
const LONG: Duration = Duration::from_micros(20);
/// The time of one wait's yields from which the machine counts as busy: other threads had the
/// processor for a time slice.
const SLICE: Duration = Duration::from_millis(1);
/// A wait whose deadline is nearer than this does not yield.
const NEAR: Duration = Duration::from_millis(100);

/// The rechecks that a wait may make before it sleeps, and how many of them it has made.
pub(crate) struct SpinBudget {
    /// How many rounds the wait has had; `u32::MAX`: the budget is spent.
    spent: u32,
    /// The wait is for a lock, which the threads that it yields to may be using.
    is_for_lock: bool,
    timeout: Timeout,
    /// When the first yield began, where yields are timed.
    began: Duration,
    /// The yields took [`LONG`] together, so no other follows.
    has_yielded_enough: bool,
}

impl SpinBudget {
    /// Returns the budget of a wait until `timeout` for an event that another thread brings about.
    pub(crate) const fn for_event(timeout: Timeout) -> SpinBudget {
        SpinBudget { spent: 0, is_for_lock: false, timeout, began: Duration::ZERO, has_yielded_enough: false }
    }

    /// Returns the budget of a wait for a lock until `timeout`. Without a deadline the yields end
    /// by their number and not by their time.
    pub(crate) const fn for_lock(timeout: Timeout) -> SpinBudget {
        SpinBudget { is_for_lock: true, ..SpinBudget::for_event(timeout) }
    }

    /// Returns true if the time that the yields take counts. (Asking for the time costs a tenth of
    /// a yield.)
    fn is_timed(&self) -> bool {
        !self.is_for_lock || self.timeout != Timeout::Never
    }

    /// Waits for a moment. Returns false when the budget is spent and it is time to sleep.
    pub(crate) fn pause<F: Futex>(&mut self) -> bool {
        self.pause_by::<F>(YIELDS, |round| 1 << round)
    }

    /// Waits for a moment, for another thread's word, with single yields. Returns false when the
    /// budget is spent and it is time to sleep.
    pub(crate) fn pause_for_hand_over<F: Futex>(&mut self) -> bool {
        self.pause_by::<F>(HAND_OVER_YIELDS, |_| 1)
    }

    /// Pauses, or makes the next of `rounds` rounds of `yields` yields. Returns false when the
    /// budget is spent.
    fn pause_by<F: Futex>(&mut self, rounds: u32, yields: impl Fn(u32) -> u32) -> bool {
        let spent = self.spent;
        if spent < SPINS {
            self.spent += 1;
            (0..1_u32 << spent).for_each(|_| spin_hint());
            return true;
        }
        if spent >= SPINS + rounds || !self.may_yield::<F>() {
            self.spent = u32::MAX;
            return false;
        }
        self.spent += 1;
        for _ in 0..yields(spent - SPINS) {
            F::yield_now();
            if self.took_long::<F>() {
                // Other threads had time enough. This one has a processor now, and repeats the
                // pauses.
                (self.spent, self.has_yielded_enough) = (0, true);
                break;
            }
        }
        true
    }

    /// Returns true if another yield may help, and does not make the wait end late.
    fn may_yield<F: Futex>(&mut self) -> bool {
        if self.has_yielded_enough {
            return false;
        }
        if self.spent > SPINS {
            // The policy is asked for once, where the first yield was in vain.
            return self.spent != SPINS + 1 || F::yields_to_all() || mutated!(spin_real_time);
        }
        if !self.is_timed() {
            return true;
        }
        self.began = F::now().since_beginning();
        let near = self.began.saturating_add(NEAR);
        let is_near = self.timeout < Timeout::At(Deadline::at(near));
        let is_busy = !self.is_for_lock && BUSY.is_busy(self.began);
        !(check!(spin_near, is_near) || is_busy)
    }

    /// Returns true if the yields took [`LONG`]; notes a busy machine if they took [`SLICE`].
    fn took_long<F: Futex>(&self) -> bool {
        if !self.is_timed() {
            return false;
        }
        let now = F::now().since_beginning();
        let took = now.saturating_sub(self.began);
        if took >= SLICE && !self.is_for_lock {
            BUSY.begin(now);
        }
        check!(spin_long, took >= LONG)
    }
}

/// The time until which no wait for an event yields in this process.
///
/// An atomic of core's, which loom does not see: an estimate that decides how long is spent, and
/// nothing else.
struct Busy {
    /// | bits | meaning |
    /// |---|---|
    /// | 0-2 | how often in a row yields have taken long ([`LEVELS`]) |
    /// | 3-63 | the time in nanoseconds, to a multiple of 8, on the clock that waits end by |
    until: AtomicU64,
}

static BUSY: Busy = Busy { until: AtomicU64::new(0) };

/// Nanoseconds without yields after a wait whose yields took long. Each other such wait that comes
/// soon after doubles them.
const SPAN: u64 = 50_000_000;
/// The bits of the word that count how often in a row.
const LEVELS: u64 = 7;
/// The greatest count in those bits.
const MOST_LEVEL: u64 = 4;

/// Returns the nanoseconds without yields at `level`.
const fn span(level: u64) -> u64 {
    SPAN << level
}

impl Busy {
    /// Returns true if a wait for an event should not yield `now`.
    fn is_busy(&self, now: Duration) -> bool {
        // Relaxed: an estimate.
        let left = self.until.load(Ordering::Relaxed).saturating_sub(now.as_nanos() as u64);
        // Another futex may have another clock: a time that is farther away than any span is not of
        // this clock.
        check!(spin_busy, left != 0 && left <= span(MOST_LEVEL) + LEVELS)
    }

    /// Begins a time without yields: those that ended `now` took long.
    #[cold]
    fn begin(&self, now: Duration) {
        // Relaxed: an estimate.
        let (now, until) = (now.as_nanos() as u64, self.until.load(Ordering::Relaxed));
        if self.is_busy(Duration::from_nanos(now)) {
            return;
        }
        let level = (until & LEVELS).min(MOST_LEVEL);
        let is_soon = until != 0 && now - until.min(now) <= 2 * span(level);
        let level = if is_soon { (level + 1).min(MOST_LEVEL) } else { 0 };
        // Relaxed: as above.
        self.until.store((now.saturating_add(span(level))) & !LEVELS | level, Ordering::Relaxed);
    }
}
