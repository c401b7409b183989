//! A thread's sleep on its waiter's flag, and the end of it.

use super::{NANOS, futex, look, now};
use crate::mutant::mutated;
use crate::{Clock, Deadline, Flag, ParkEnd};

/// The kernel's operations.
const WAIT: i32 = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG;
const WAKE: i32 = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;

/// A thread that parks, or did: the address of its waiter's flag, which may be gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parked(pub(super) usize);

impl Parked {
    /// The thread that is about to park with that flag.
    #[inline]
    pub fn with(flag: &Flag) -> Parked {
        Parked(flag.word().addr())
    }

    /// Ends its park. If that has ended already and something else sleeps there by now, that is woken for no reason, as
    /// whoever sleeps on a futex has to expect.
    #[inline]
    pub fn unpark(self) {
        self.unpark_some(1);
    }

    #[inline]
    pub(super) fn unpark_some(self, count: u32) {
        // The kernel does not touch the word; where the memory is gone it answers so.
        let _ = futex(self.0, WAKE, count, 0, 0);
    }
}

/// Sleeps while the flag says that there is reason to, until a deadline. Before that it looks: a wake that comes meanwhile spares both threads the futex call.
///
/// # Cost
/// Looking takes up to 8 pauses and 12 yields, some 5 µs. After each look in vain twice as many of the thread's parks sleep at once, 63 at most.
#[inline]
pub fn park(flag: &Flag, until: Option<Deadline>) -> ParkEnd {
    let until = until.filter(|until| until.at != u64::MAX);
    let left = until.map(|until| until.at.saturating_sub(now(until.clock)));
    // A time that is up leaves none to look.
    if left != Some(0) {
        let looked = look::at(flag, left);
        if !flag.is_waiting() {
            return ParkEnd::Unparked;
        }
        if looked && !mutated!(look_recheck) {
            return ParkEnd::Recheck;
        }
    }
    let end = match until {
        None => futex(flag.word().addr(), WAIT, Flag::WAITING, 0, 0),
        Some(until) => sleep_until(flag, until),
    };
    match end {
        Ok(_) | Err(libc::EAGAIN) => ParkEnd::Unparked,
        Err(why) => ended(why, until),
    }
}

#[inline(never)]
fn sleep_until(flag: &Flag, until: Deadline) -> Result<u32, i32> {
    let time = libc::timespec { tv_sec: (until.at / NANOS) as _, tv_nsec: (until.at % NANOS) as _ };
    let clock = if until.clock == Clock::Realtime { libc::FUTEX_CLOCK_REALTIME } else { 0 };
    futex(flag.word().addr(), WAIT | clock, Flag::WAITING, core::ptr::from_ref(&time).expose_provenance(), 0)
}

/// A sleep that was ended by something else than an unpark.
#[cold]
#[inline(never)]
fn ended(why: i32, until: Option<Deadline>) -> ParkEnd {
    match why {
        libc::ETIMEDOUT => ParkEnd::TimedOut,
        libc::EINTR => ParkEnd::Interrupted,
        _ => {
            // A sandbox that refuses the sleep: look again, having let others run.
            std::thread::yield_now();
            match until {
                Some(until) if now(until.clock) >= until.at => ParkEnd::TimedOut,
                _ => ParkEnd::Unparked,
            }
        }
    }
}
