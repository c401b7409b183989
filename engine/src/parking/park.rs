//! A thread's sleep on its waiter's flag, and the end of it.

use core::cell::Cell;

use super::unbroken::Unbroken;
use super::{NANOS, futex, now, spin, spin_before_sleep};
use crate::mutant::mutated;
use crate::{Clock, Deadline, Flag, ParkEnd};

/// The kernel's operations.
const WAIT: i32 = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG;
const WAKE: i32 = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;

/// A thread that parks, or did: the address of its waiter's flag, which may be gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parked(pub(super) usize);

impl Parked {
    /// The thread that is about to park with that flag: the calling one, which has not compared its
    /// word yet.
    #[inline]
    pub fn with(flag: &Flag) -> Parked {
        // After a spin it is asked to compare the word again in any case.
        if spin_before_sleep::is_skipped() {
            begin(flag);
        }
        Parked(flag.word().addr())
    }

    /// Ends its park. If that has ended already and something else sleeps there by now, that is
    /// woken for no reason, as whoever sleeps on a futex has to expect.
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

/// Sleeps while the flag says that there is reason to, until a deadline. Before that it spins: a
/// wake that comes meanwhile spares both threads the futex call.
///
/// # Cost
/// Spinning takes up to 8 pauses and 12 yields, some 5 µs; a yield may cost a time slice where
/// others want the processor, so spins end when their yields took 20 µs together, and a wait whose
/// deadline is within 100 ms, and a real-time thread, do not yield. After each spin in vain twice
/// as many of the thread's waits do without, 63 at most.
///
/// # Signals
/// As [`Host::park`](crate::Host::park) asks for, it answers [`Recheck`](ParkEnd::Recheck) where a
/// handler may have run on the thread since the engine compared the word: after each spin in vain.
/// On x86-64 with glibc 2.35 or later no handler slips through: the kernel tells, by restartable
/// sequences, whether it interrupted the thread before the system call (so most sleeps begin with
/// one `Recheck`). Elsewhere a handler that runs in the few instructions between the comparison and
/// the call, changes the word and wakes nobody goes unnoticed.
#[inline]
pub fn park(flag: &Flag, until: Option<Deadline>) -> ParkEnd {
    match until {
        Some(until) if until.at != u64::MAX => park_until(flag, until),
        _ => park_for_good(flag),
    }
}

#[inline]
fn park_for_good(flag: &Flag) -> ParkEnd {
    let spun = spin_before_sleep::spin(flag, None);
    if !flag.is_waiting() {
        return ParkEnd::Unparked;
    }
    match Unbroken::of_this_thread() {
        Some(thread) => match thread.futex(flag.word().addr(), WAIT, Flag::WAITING, 0) {
            Some(slept) => end(slept, None),
            None => broken(flag, None),
        },
        None if spun && !mutated!(spin_recheck) => recheck(),
        // With a time, so that every handler ends it: without, the kernel begins some sleeps anew
        // by itself.
        None => end(sleep(flag, NEVER), None),
    }
}

#[inline(never)]
fn park_until(flag: &Flag, until: Deadline) -> ParkEnd {
    let left = until.at.saturating_sub(now(until.clock));
    // A time that is up leaves none to spin, nor anything to compare.
    if left == 0 {
        return end(sleep(flag, until), Some(until));
    }
    let spun = spin_before_sleep::spin(flag, Some(left));
    if !flag.is_waiting() {
        return ParkEnd::Unparked;
    }
    match Unbroken::of_this_thread() {
        Some(thread) => {
            let (operation, time) = arguments(until);
            let time = core::ptr::from_ref(&time).expose_provenance();
            match thread.futex(flag.word().addr(), operation, Flag::WAITING, time) {
                Some(slept) => end(slept, Some(until)),
                None => broken(flag, Some(until)),
            }
        }
        None if spun && !mutated!(spin_recheck) => recheck(),
        None => end(sleep(flag, until), Some(until)),
    }
}

std::thread_local! {
    /// How often in a row the thread was interrupted before it slept.
    static BROKEN: Cell<u32> = const { Cell::new(0) };
}

/// From here on interruptions of the calling thread count, for that flag.
#[inline]
fn begin(flag: &Flag) {
    if let Some(thread) = Unbroken::of_this_thread() {
        thread.begin(flag.word().addr());
    }
}

/// A time that does not come: the kernel's clock ends there.
const NEVER: Deadline = Deadline { clock: Clock::Monotonic, at: i64::MAX as u64 };

/// How often in a row a thread may be interrupted just before it sleeps: more often it is only
/// where a debugger goes through it step by step.
const MOST_BROKEN: u32 = 2;
/// Nanoseconds.
const MOMENT: u64 = 1_000_000;

fn recheck() -> ParkEnd {
    spin_before_sleep::goes_on();
    ParkEnd::Recheck
}

/// The thread was interrupted since the word was compared, or it is not known that it was not.
#[inline(never)]
fn broken(flag: &Flag, until: Option<Deadline>) -> ParkEnd {
    let times = BROKEN.get();
    if mutated!(park_recheck) {
        return end(sleep(flag, until.unwrap_or(NEVER)), until);
    }
    if times == MOST_BROKEN {
        return sleep_a_moment(flag, until);
    }
    BROKEN.set(times + 1);
    begin(flag);
    recheck()
}

/// Sleeps, but not for so long that a handler that was not seen could be missed.
#[cold]
#[inline(never)]
fn sleep_a_moment(flag: &Flag, until: Option<Deadline>) -> ParkEnd {
    BROKEN.set(0);
    let at = now(Clock::Monotonic).saturating_add(MOMENT);
    let moment = Deadline { clock: Clock::Monotonic, at };
    match end(sleep(flag, moment), Some(moment)) {
        ParkEnd::TimedOut if until.is_some_and(|until| now(until.clock) >= until.at) => ParkEnd::TimedOut,
        ParkEnd::TimedOut => {
            begin(flag);
            recheck()
        }
        end => end,
    }
}

/// The operation for a sleep with a deadline, and the time.
fn arguments(until: Deadline) -> (i32, libc::timespec) {
    let time = libc::timespec { tv_sec: (until.at / NANOS) as _, tv_nsec: (until.at % NANOS) as _ };
    let clock = if until.clock == Clock::Realtime { libc::FUTEX_CLOCK_REALTIME } else { 0 };
    (WAIT | clock, time)
}

fn sleep(flag: &Flag, until: Deadline) -> Result<u32, i32> {
    let (operation, time) = arguments(until);
    let time = core::ptr::from_ref(&time).expose_provenance();
    futex(flag.word().addr(), operation, Flag::WAITING, time, 0)
}

#[inline]
fn end(slept: Result<u32, i32>, until: Option<Deadline>) -> ParkEnd {
    BROKEN.set(0);
    match slept {
        Ok(_) | Err(libc::EAGAIN) => ParkEnd::Unparked,
        Err(why) => ended(why, until),
    }
}

/// A sleep that was ended by something else than an unpark.
#[cold]
#[inline(never)]
fn ended(why: i32, until: Option<Deadline>) -> ParkEnd {
    match why {
        libc::ETIMEDOUT => ParkEnd::TimedOut,
        libc::EINTR => ParkEnd::Interrupted,
        _ => {
            // A sandbox that refuses the sleep: look again, having let others run, which a yield of
            // a real-time thread does not.
            spin(u32::MAX);
            match until {
                Some(until) if now(until.clock) >= until.at => ParkEnd::TimedOut,
                _ => ParkEnd::Unparked,
            }
        }
    }
}
