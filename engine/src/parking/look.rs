//! Looking before sleeping. A sleep and its wake cost two system calls, and some microseconds until the woken thread runs; a thread that is woken sooner than that
//! should not have slept. To look for about as long as that costs at most twice what the better of the two would have (Karlin, Manasse, McGeoch and Owicki, "Competitive
//! randomized algorithms for nonuniform problems", 1990); to look only while it is of use costs those that wait for long next to nothing.
//!
//! A yield is a look that gives the processor away, and may cost a whole time slice for each thread that wants it: it is done only where that can gain something, and
//! can make no wait end late.

use core::cell::Cell;
use core::sync::atomic::{AtomicU64, Ordering};

use super::{now, schedule};
use crate::mutant::mutated;
use crate::{Clock, Flag};

/// Looks with a pause before each.
const PAUSES: u32 = 8;
/// The most looks with a yield before each: the thread that is to wake this one may need the processor.
const YIELDS: u32 = 12;
/// Nanoseconds that the yields of one look may take together. If they take longer, others had the processor for a time slice: on so busy a machine a thread that sleeps
/// is woken sooner than one that yields.
const LONG: u64 = 20_000;
/// A wait whose deadline is nearer than this many nanoseconds does not yield: others might have the processor for so long.
const NEAR: u64 = 100_000_000;
/// For this many nanoseconds after yields that took [`LONG`] a thread that has not looked before does not yield: it need not find out the same.
const BUSY: u64 = 100_000_000;
/// Of this many parks, and one more, at least one looks.
const MOST_SKIPPED: u32 = 63;

/// What a thread learnt from its looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Learnt {
    /// How many of its next parks do not look.
    skip: u32,
    /// How many did not after its last look.
    last: u32,
    /// It has looked.
    looked: bool,
    /// Its next park is of a wait that it was parked with already.
    again: bool,
}

std::thread_local! {
    static LEARNT: Cell<Learnt> = const { Cell::new(Learnt { skip: 0, last: 0, looked: false, again: false }) };
}

/// Until when the machine counts as busy, on the monotonic clock.
static BUSY_UNTIL: AtomicU64 = AtomicU64::new(0);

/// Looks, until there is no more reason to wait or it is time to sleep; returns true if it did. `left` is the time to the deadline in nanoseconds. After each look in vain
/// twice as many parks do without, up to [`MOST_SKIPPED`]; after one that was of use, none.
#[inline]
pub(super) fn at(flag: &Flag, left: Option<u64>) -> bool {
    let learnt = LEARNT.get();
    if learnt.again {
        LEARNT.set(Learnt { again: false, ..learnt });
        return false;
    }
    if learnt.skip != 0 {
        LEARNT.set(Learnt { skip: learnt.skip - 1, ..learnt });
        return false;
    }
    look(flag, learnt, left.is_none_or(|left| left >= NEAR || mutated!(look_near)));
    true
}

#[inline(never)]
fn look(flag: &Flag, learnt: Learnt, may_yield: bool) {
    // To an ordinary thread a real-time one gives nothing by a yield.
    let may_yield = may_yield && (!schedule::ran_in_real_time() || mutated!(look_real_time));
    let (mut looks, mut began, mut took) = (0, 0, 0);
    flag.look(|| {
        looks += 1;
        if looks <= PAUSES {
            core::hint::spin_loop();
            return true;
        }
        if !may_yield || looks > PAUSES + YIELDS {
            return false;
        }
        let time = now(Clock::Monotonic);
        if looks == PAUSES + 1 {
            began = time;
            // Relaxed: an estimate.
            if !learnt.looked && time < BUSY_UNTIL.load(Ordering::Relaxed) && !mutated!(look_busy) {
                return false;
            }
        }
        took = time.saturating_sub(began);
        if took >= LONG && !mutated!(look_long) {
            return false;
        }
        std::thread::yield_now();
        true
    });
    let is_told = !flag.is_waiting();
    if is_told && looks > PAUSES {
        took = now(Clock::Monotonic).saturating_sub(began);
    }
    if took >= LONG {
        // Relaxed: an estimate.
        BUSY_UNTIL.store(began + took + BUSY, Ordering::Relaxed);
    }
    let last = if is_told && took < LONG { 0 } else { (2 * learnt.last + 1).min(MOST_SKIPPED) };
    LEARNT.set(Learnt { skip: last, last, looked: true, again: false });
}

/// The calling thread's next park goes on with this wait, and neither looks nor counts.
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
    fn looks_in_vain_become_rare_and_a_time_that_is_up_leaves_none() {
        let flag = Flag::new_group();
        for passed in [1, 3, 7, 15, 31, MOST_SKIPPED, MOST_SKIPPED] {
            assert!(at(&flag, None));
            assert_eq!(learnt(), (passed, passed));
            goes_on();
            (0..=passed).for_each(|_| assert!(!at(&flag, None)));
            assert_eq!(learnt(), (0, passed));
        }
        assert_eq!(park(&flag, Some(Deadline { clock: Clock::Monotonic, at: 1 })), ParkEnd::TimedOut);
        assert_eq!(learnt(), (0, MOST_SKIPPED));
        flag.tell_group();
        assert_eq!(park(&flag, None), ParkEnd::Unparked);
        assert_eq!(learnt(), (0, 0));
    }

    #[test]
    fn after_a_look_in_vain_the_word_is_compared_again() {
        let flag = Flag::new_group();
        assert_eq!(park(&flag, None), ParkEnd::Recheck);
        assert_eq!(park(&flag, Some(Deadline { clock: Clock::Monotonic, at: 1 })), ParkEnd::TimedOut);
    }
}
