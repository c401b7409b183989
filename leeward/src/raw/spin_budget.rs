//! The spin budget: how long a thread that must wait rechecks before it sleeps: a little on the processor, then having given the
//! processor away, since the holder of the lock may need this very one. Each recheck costs the holder the lock's cache
//! line, so the next comes after twice as long.
//!
//! A sleep and a wake cost some 50 microseconds on a busy machine, all of this about 12 on a quiet one; most locks are
//! held for less than one. Where other threads want the processor, a yield may take a time slice of each of them, and a
//! thread that yields runs again later than one that sleeps and is woken. So the yields are timed:
//! - A wait whose deadline is within [`NEAR`] does not yield: one yield alone might end it late.
//! - A real-time thread, whose yield lets no ordinary thread run, yields once at most: only then does it ask.
//! - When the yields of a wait took [`LONG`] together, the thread looks as at first, with pauses only, and then sleeps.
//!   A wait for a lock that has no deadline goes on: as often as not the threads that had the processor used it for the
//!   same lock.
//! - When those of a wait for an event took [`SLICE`], no such wait of this process yields for a while.

use core::sync::atomic::AtomicU64;
use core::time::Duration;

use crate::atomic::{Ordering, outside_model, spin_hint};
use crate::futex::{Deadline, Futex, Timeout};
use crate::mutant::mutated;

/// Rechecks after 1, 2 and 4 pauses. Twice as many, to 64, cost half of the rate at which eight threads lock on two processors.
const SPINS: u32 = outside_model(3);
/// Rechecks after 1, 2, 4 and 8 yields. One yield a time, seven times, gave nine tenths of this rate.
const YIELDS: u32 = outside_model(4);

/// Of a thread that waits for another thread's word rather than for a lock: yields, with a look after each. Where the
/// two share a processor, the first hands it over.
const HAND_OVER_YIELDS: u32 = outside_model(4);

/// The time that the yields of one wait may take together.
const LONG: Duration = Duration::from_micros(20);
/// The time of yields by which the machine counts as busy: other threads had the processor for as long as they liked.
const SLICE: Duration = Duration::from_millis(1);
/// A wait whose deadline is nearer than this does not yield.
const NEAR: Duration = Duration::from_millis(100);

/// How often a wait may recheck before it sleeps.
pub(crate) struct SpinBudget {
    /// How often it has rechecked; `u32::MAX`: the budget is spent.
    spent: u32,
    /// It waits for a lock, which the threads that it yields to may be using.
    is_for_lock: bool,
    timeout: Timeout,
    /// When the first yield began, where yields are timed.
    began: Duration,
    has_yielded_enough: bool,
}

impl SpinBudget {
    /// For an event that another thread brings about, until `timeout`.
    pub(crate) const fn for_event(timeout: Timeout) -> SpinBudget {
        SpinBudget { spent: 0, is_for_lock: false, timeout, began: Duration::ZERO, has_yielded_enough: false }
    }

    /// For a lock, until `timeout`. Without one not the time of the yields counts, but their number: as often as not the
    /// threads that had the processor used it for the same lock.
    pub(crate) const fn for_lock(timeout: Timeout) -> SpinBudget {
        SpinBudget { is_for_lock: true, ..SpinBudget::for_event(timeout) }
    }

    /// Returns true if the time counts that its yields take. (To ask for it costs a tenth of a yield.)
    fn is_timed(&self) -> bool {
        !self.is_for_lock || self.timeout != Timeout::Never
    }

    /// Waits a little; false when it is time to sleep.
    pub(crate) fn pause<F: Futex>(&mut self) -> bool {
        self.pause_by::<F>(YIELDS, |round| 1 << round)
    }

    /// Waits a little for another thread to do something; false when it is time to sleep.
    pub(crate) fn pause_for_hand_over<F: Futex>(&mut self) -> bool {
        self.pause_by::<F>(HAND_OVER_YIELDS, |_| 1)
    }

    /// Pauses, or makes the next of `rounds` rounds of `yields` yields.
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
                // Others had time enough. The thread has a processor now, and looks as it did at first.
                (self.spent, self.has_yielded_enough) = (0, true);
                break;
            }
        }
        true
    }

    /// Returns true if a yield may gain something, and makes no wait end late.
    fn may_yield<F: Futex>(&mut self) -> bool {
        if self.has_yielded_enough {
            return false;
        }
        if self.spent > SPINS {
            // Asked once, where the first yield was in vain.
            return self.spent != SPINS + 1 || F::yields_to_all() || mutated!(spin_real_time);
        }
        if !self.is_timed() {
            return true;
        }
        self.began = F::now().since_beginning();
        let near = self.began.saturating_add(NEAR);
        let is_near = self.timeout < Timeout::At(Deadline::at(near));
        let is_busy = !self.is_for_lock && BUSY.is_busy(self.began);
        !(is_near && !mutated!(spin_near) || is_busy)
    }

    /// Returns true if the yields took so long that another would be one too many.
    fn took_long<F: Futex>(&self) -> bool {
        if !self.is_timed() {
            return false;
        }
        let now = F::now().since_beginning();
        let took = now.saturating_sub(self.began);
        if took >= SLICE && !self.is_for_lock {
            BUSY.begin(now);
        }
        took >= LONG && !mutated!(spin_long)
    }
}

/// Until when no wait of this process for an event yields.
///
/// A word of core's, which loom does not see: an estimate that decides how long is spent, and nothing else.
struct Busy {
    /// That time in nanoseconds, on the clock that waits end by; the bits [`LEVELS`] count how often in a row yields
    /// have taken long.
    until: AtomicU64,
}

static BUSY: Busy = Busy { until: AtomicU64::new(0) };

/// Nanoseconds without yields after the first one that took long. Each other that comes soon after doubles them.
const SPAN: u64 = 50_000_000;
/// The bits of the word that count.
const LEVELS: u64 = 7;
/// The most that they count to.
const MOST_LEVEL: u64 = 4;

const fn span(level: u64) -> u64 {
    SPAN << level
}

impl Busy {
    fn is_busy(&self, now: Duration) -> bool {
        // Relaxed: an estimate.
        let left = self.until.load(Ordering::Relaxed).saturating_sub(now.as_nanos() as u64);
        // Another futex may have another clock: what is farther away than can be was not said by this one.
        left != 0 && left <= span(MOST_LEVEL) + LEVELS && !mutated!(spin_busy)
    }

    /// Yields that ended `now` took long.
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
