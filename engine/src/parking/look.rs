//! Looking before sleeping. A sleep and its wake cost two system calls, and some microseconds until the woken runs; who is woken sooner than that had better
//! not slept. To look for about as long as that costs at most twice what the better of the two would have (Karlin, Manasse, McGeoch and Owicki, "Competitive
//! randomized algorithms for nonuniform problems", 1990); to look only while it is of use costs those that wait for long next to nothing.

use core::cell::Cell;

use super::now;
use crate::{Clock, Flag};

/// Looks with a pause before each.
const PAUSES: u32 = 8;
/// Looks with the processor offered to others before each: whoever is to wake this thread may need it.
const YIELDS: u32 = 12;
/// If these take longer than so many nanoseconds, others had the processor for a time slice: on so busy a machine who sleeps is woken sooner than who yields.
const LONG: u64 = 20_000;
/// Of so many parks, and one more, at least one looks.
const MOST_SKIPPED: u32 = 63;

std::thread_local! {
    /// How many of this thread's next parks do not look, and how many did not after its last look.
    static SKIP: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
}

/// Looks, until there is no more reason to wait or it is time to sleep. After each look in vain twice as many parks do without, up to [`MOST_SKIPPED`]; after one
/// that was of use, none.
#[inline]
pub(super) fn at(flag: &Flag) {
    match SKIP.get() {
        (0, last) => look(flag, last),
        (more, last) => SKIP.set((more - 1, last)),
    }
}

#[inline(never)]
fn look(flag: &Flag, last: u32) {
    let (mut looks, mut began) = (0, 0);
    flag.look(|| {
        looks += 1;
        if looks <= PAUSES {
            core::hint::spin_loop();
        } else {
            if looks == PAUSES + 1 {
                began = now(Clock::Monotonic);
            }
            std::thread::yield_now();
        }
        looks <= PAUSES + YIELDS
    });
    let was_of_use = !flag.is_waiting() && (looks <= PAUSES || now(Clock::Monotonic).saturating_sub(began) < LONG);
    let next = if was_of_use { 0 } else { (2 * last + 1).min(MOST_SKIPPED) };
    SKIP.set((next, next));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parking::park;
    use crate::{Deadline, ParkEnd};

    #[test]
    fn looks_in_vain_become_rare_and_a_time_that_is_up_leaves_none() {
        let flag = Flag::new_group();
        for passed in [1, 3, 7, 15, 31, MOST_SKIPPED, MOST_SKIPPED] {
            at(&flag);
            assert_eq!(SKIP.get(), (passed, passed));
            (0..passed).for_each(|_| at(&flag));
            assert_eq!(SKIP.get(), (0, passed));
        }
        assert_eq!(park(&flag, Some(Deadline { clock: Clock::Monotonic, at: 1 })), ParkEnd::TimedOut);
        assert_eq!(SKIP.get(), (0, MOST_SKIPPED));
        flag.tell_group();
        assert_eq!(park(&flag, None), ParkEnd::Unparked);
        assert_eq!(SKIP.get(), (0, 0));
    }
}
