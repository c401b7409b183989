//! Spinning before sleeping; `park` calls it. A sleep and its wake cost two system calls, and some
//! microseconds until the woken thread runs; a thread that is woken sooner than that should not
//! sleep. To spin for about as long as that costs at most twice what the better of the two would
//! have (Karlin, Manasse, McGeoch and Owicki, "Competitive randomized algorithms for nonuniform
//! problems", 1990); to spin only while it is of use costs threads that wait for long next to
//! nothing.
//!
//! A yield is a recheck that gives the processor away, and may cost a whole time slice for each
//! thread that wants it: it is done only where that can gain something, and can make no wait end
//! late.

use core::cell::Cell;
use core::sync::atomic::{AtomicU64, Ordering};

use super::{now, now_by, schedule, unbroken};
use crate::mutant::check;
use crate::{Clock, Flag};

/// The number of rechecks with a pause before each.
const PAUSES: u32 = 8;
/// The most rechecks with a yield before each: the thread that is to wake this one may need the
/// processor.
const YIELDS: u32 = 12;
/// Nanoseconds that the yields of one spin may take together. If they take longer, others had the
/// processor for a time slice, or have their turn first: then a thread that sleeps is woken sooner
/// than one that yields, and costs less.
const LONG: u64 = 20_000;
/// The number of spins that are of use and not measured exactly, before one that is.
const UNMEASURED: u32 = 3;
/// A wait whose deadline is nearer than this many nanoseconds does not yield: others might have the
/// processor for that long.
const NEAR: u64 = 100_000_000;
/// The nanoseconds after yields that took long for which a thread that has not spun before does not
/// yield: it need not find that out itself.
const BUSY: u64 = 100_000_000;
/// The most parks in a row that do without a spin.
const MOST_SKIPPED: u32 = 63;

/// What a thread learnt from its spins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Learnt {
    /// The number of its next parks that do not spin.
    skip: u32,
    /// The number of its parks that did not spin after its last spin, or will not.
    last: u32,
    /// True if it has spun.
    spun: bool,
    /// True if its next park is of a wait that it was parked with already.
    again: bool,
    /// The number of spins in a row that were measured by the coarse clock.
    unmeasured: u32,
}

std::thread_local! {
    /// What the calling thread learnt.
    static LEARNT: Cell<Learnt> = const {
        Cell::new(Learnt { skip: 0, last: 0, spun: false, again: false, unmeasured: 0 })
    };
}

/// The time until which the machine counts as busy, on the monotonic clock.
static BUSY_UNTIL: AtomicU64 = AtomicU64::new(0);

/// Spins until there is no more reason to wait or it is time to sleep; returns true if it spun.
/// `left` is asked for the time to the deadline in nanoseconds if there may be a spin; there is none
/// if the time is up. After each spin in vain twice as many parks do without, up to
/// [`MOST_SKIPPED`]; after one that was of use, none.
#[inline]
pub(super) fn spin(flag: &Flag, left: impl FnOnce() -> Option<u64>) -> bool {
    let learnt = LEARNT.get();
    if learnt.again {
        LEARNT.set(Learnt { again: false, ..learnt });
        return false;
    }
    if learnt.skip != 0 {
        LEARNT.set(Learnt { skip: learnt.skip - 1, ..learnt });
        return false;
    }
    let left = left();
    if left == Some(0) {
        return false;
    }
    let is_near = left.is_some_and(|left| check!(spin_near, left < NEAR));
    spin_on(flag, learnt, !is_near);
    true
}

/// Spins, and notes what was learnt.
#[inline(never)]
fn spin_on(flag: &Flag, learnt: Learnt, may_yield: bool) {
    // A yield of a real-time thread gives an ordinary one nothing.
    let may_yield = may_yield && !check!(spin_real_time, schedule::ran_in_real_time());
    let (mut spins, mut yields) = (0, Yields::of(learnt));
    flag.spin(|| {
        spins += 1;
        if spins <= PAUSES {
            core::hint::spin_loop();
            return true;
        }
        let more = may_yield && spins <= PAUSES + YIELDS && yields.may_go_on(!learnt.spun);
        if more {
            unbroken::forget();
            std::thread::yield_now();
        }
        more
    });
    let is_told = !flag.is_waiting();
    let took_long = if is_told { yields.took_long() } else { yields.long };
    if took_long {
        // Relaxed: an estimate.
        BUSY_UNTIL.store(now(Clock::Monotonic) + BUSY, Ordering::Relaxed);
    }
    let last = if is_told && !took_long { 0 } else { (2 * learnt.last + 1).min(MOST_SKIPPED) };
    let unmeasured = if last == 0 && yields.unmeasured { learnt.unmeasured + 1 } else { 0 };
    LEARNT.set(Learnt { skip: last, last, spun: true, again: false, unmeasured });
}

/// The yields of one spin, and how long they take. As long as spins are of use three in four are
/// measured by the coarse clock, which goes on with the system's ticks and costs a tenth of what
/// the exact one does: it too shows that others had the processor for a time slice.
struct Yields {
    /// True if the coarse clock measures them.
    unmeasured: bool,
    /// The time of the first, by either clock; 0: there was none yet.
    began: u64,
    /// True if they took long.
    long: bool,
}

impl Yields {
    /// Returns the yields of a thread's next spin.
    fn of(learnt: Learnt) -> Yields {
        let unmeasured = learnt.spun && learnt.last == 0 && learnt.unmeasured < UNMEASURED;
        Yields { unmeasured, began: 0, long: false }
    }

    /// Returns the time by the clock that measures them.
    fn time(&self) -> u64 {
        if self.unmeasured { now_by(libc::CLOCK_MONOTONIC_COARSE) } else { now(Clock::Monotonic) }
    }

    /// Returns true if one more may gain something. `first`: the thread has not spun before.
    fn may_go_on(&mut self, first: bool) -> bool {
        if self.began == 0 {
            self.began = self.time();
            // Relaxed: an estimate.
            return !check!(spin_busy, first && self.began < BUSY_UNTIL.load(Ordering::Relaxed));
        }
        self.long = self.took_long();
        !check!(spin_long, self.long)
    }

    /// Returns true if they have taken long by now.
    fn took_long(&self) -> bool {
        let most = if self.unmeasured { 1 } else { LONG };
        self.began != 0 && self.time() - self.began >= most
    }
}

/// Returns true if the calling thread's next park does without a spin.
#[inline]
pub(super) fn is_skipped() -> bool {
    let learnt = LEARNT.get();
    learnt.again || learnt.skip != 0
}

/// Notes that the calling thread's next park goes on with this wait: it neither spins nor counts.
#[inline]
pub(super) fn goes_on() {
    LEARNT.set(Learnt { again: true, ..LEARNT.get() });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parking::park;
    use crate::{Deadline, ParkEnd};

    fn learnt() -> (u32, u32) {
        (LEARNT.get().skip, LEARNT.get().last)
    }

    #[test]
    fn spins_in_vain_become_rare_and_a_time_that_is_up_leaves_none() {
        let flag = Flag::new_group();
        for passed in [1, 3, 7, 15, 31, MOST_SKIPPED, MOST_SKIPPED] {
            assert!(spin(&flag, || None));
            assert_eq!(learnt(), (passed, passed));
            goes_on();
            (0..=passed).for_each(|_| assert!(!spin(&flag, || None)));
            assert_eq!(learnt(), (0, passed));
        }
        assert_eq!(park(&flag, Some(Deadline { clock: Clock::Monotonic, at: 1 })), ParkEnd::TimedOut);
        assert_eq!(learnt(), (0, MOST_SKIPPED));
        flag.tell_group();
        assert_eq!(park(&flag, None), ParkEnd::Unparked);
        assert_eq!(learnt(), (0, 0));
    }

    #[test]
    fn after_a_spin_in_vain_the_word_is_compared_again() {
        let flag = Flag::new_group();
        assert_eq!(park(&flag, None), ParkEnd::Recheck);
        assert_eq!(park(&flag, Some(Deadline { clock: Clock::Monotonic, at: 1 })), ParkEnd::TimedOut);
    }
}
