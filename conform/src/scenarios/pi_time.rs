//! Time-outs of locks with priority inheritance. Word 0 is the lock.

use crate::clocks::{CLOCK_MONOTONIC, CLOCK_REALTIME};
use crate::errno::{Answer, Errno};
use crate::futex::{PRIVATE, REALTIME, Time};
use crate::futex_pi::{WAITERS, lock_pi, lock_pi2};
use crate::scenario::{Outcome, Trouble, scenarios};
use crate::scenarios::pi::{lock, unlock};
use crate::world::{Started, World, unfit, wrong};

/// The word that says that the owner has locked, or tried to.
const HAS_LOCKED: usize = 41;
/// The word that says to the owner that it may end.
const MAY_END: usize = 42;

/// Starts a thread that has the lock, until it may end.
fn owner(world: &World<'_>) -> Result<Started, Trouble> {
    let owner = world.start(|world| {
        let answered = lock(world);
        world.set(HAS_LOCKED, 1);
        world.may_go_on(MAY_END);
        answered.and_then(|_| unlock(world))
    })?;
    world.step(&"waits for a thread that locks a free lock");
    world.may_go_on(HAS_LOCKED);
    if world.get(0) == 0 {
        world.set(MAY_END, 1);
        world.ends(owner, "FUTEX_LOCK_PI", Ok(0))?;
    }
    Ok(owner)
}

/// Asserts that a call which waits for a lock, with a time of this clock 20 ms ahead, answers that the
/// time is up, and not before.
fn is_up(world: &World<'_>, what: &str, clock: usize, call: fn(&World<'_>, usize) -> Answer) -> Outcome {
    owner(world)?;
    let until = world.now(clock)?.after(Time::milliseconds(20));
    world.step(&"waits for a lock until a time that is 20 ms ahead");
    world.same(what, call(world, until.address()), Err(Errno::TIMEDOUT))?;
    let now = world.now(clock)?;
    if (now.seconds, now.nanoseconds) < (until.seconds, until.nanoseconds) {
        return wrong(format_args!("{what} answered ETIMEDOUT before its time; on Linux never"));
    }
    let past = Time { seconds: 0, nanoseconds: 1 };
    world.same(format_args!("{what} with a time that is past"), call(world, past.address()), Err(Errno::TIMEDOUT))?;
    world.set(MAY_END, 1);
    Ok(())
}

fn realtime_1(world: &World<'_>, time: usize) -> Answer {
    world.futex(lock_pi(world.address(0), PRIVATE, time))
}

fn monotonic_2(world: &World<'_>, time: usize) -> Answer {
    world.futex(lock_pi2(world.address(0), PRIVATE, time))
}

fn realtime_2(world: &World<'_>, time: usize) -> Answer {
    world.futex(lock_pi2(world.address(0), PRIVATE | REALTIME, time))
}

scenarios! { "pi";
    /// Waits for a lock by FUTEX_LOCK_PI until a time of CLOCK_REALTIME that is 20 ms ahead, and until one
    /// that is past.
    /// Linux answers ETIMEDOUT, and not before the time.
    #[since("2.6.18")]
    #[harm("A mutex with a time limit is given up too early, or waited for without end.")]
    fn lock_until_realtime(world) {
        is_up(world, "FUTEX_LOCK_PI until a time of CLOCK_REALTIME", CLOCK_REALTIME, realtime_1)
    }

    /// Waits for a lock by FUTEX_LOCK_PI2 until a time of CLOCK_MONOTONIC that is 20 ms ahead, and until
    /// one that is past.
    /// Linux answers ETIMEDOUT, and not before the time.
    #[since("5.14")]
    #[harm("A mutex with a time limit is given up too early, or waited for without end.")]
    fn lock_2_until_monotonic(world) {
        is_up(world, "FUTEX_LOCK_PI2 until a time of CLOCK_MONOTONIC", CLOCK_MONOTONIC, monotonic_2)
    }

    /// Waits for a lock by FUTEX_LOCK_PI2 with FUTEX_CLOCK_REALTIME until a time of CLOCK_REALTIME that is
    /// 20 ms ahead, and until one that is past.
    /// Linux answers ETIMEDOUT, and not before the time.
    #[since("5.14")]
    #[harm("A mutex with a time limit is given up too early, or waited for without end.")]
    fn lock_2_until_realtime(world) {
        is_up(world, "FUTEX_LOCK_PI2 until a time of CLOCK_REALTIME", CLOCK_REALTIME, realtime_2)
    }

    /// Waits for a lock by FUTEX_LOCK_PI, and by FUTEX_LOCK_PI2 with FUTEX_CLOCK_REALTIME, until a time
    /// that CLOCK_REALTIME has passed and CLOCK_MONOTONIC has not.
    /// Linux answers ETIMEDOUT, at once.
    #[seen("Gramine: one clock for all time-outs")]
    #[since("5.14")]
    #[harm("A mutex with a time limit is waited for without end, as the limit is read on another clock.")]
    fn clocks_are_two(world) {
        let (monotonic, realtime) = (world.now(CLOCK_MONOTONIC)?, world.now(CLOCK_REALTIME)?);
        let until = monotonic.after(Time::milliseconds(1_000_000));
        if realtime.seconds < until.seconds + 1000 {
            return Err(unfit(format_args!("CLOCK_REALTIME is near CLOCK_MONOTONIC")));
        }
        owner(world)?;
        world.step(&"waits by FUTEX_LOCK_PI until a time that is past on CLOCK_REALTIME, not on CLOCK_MONOTONIC");
        let answered = realtime_1(world, until.address());
        world.same("FUTEX_LOCK_PI", answered, Err(Errno::TIMEDOUT))?;
        world.step(&"waits by FUTEX_LOCK_PI2 until a time that is past on CLOCK_REALTIME, not on CLOCK_MONOTONIC");
        let answered = realtime_2(world, until.address());
        world.set(MAY_END, 1);
        world.same("FUTEX_LOCK_PI2 with FUTEX_CLOCK_REALTIME", answered, Err(Errno::TIMEDOUT))
    }

    /// Calls FUTEX_LOCK_PI with FUTEX_CLOCK_REALTIME, which has that clock anyway.
    /// Linux answers ENOSYS: the flag is not for this operation.
    #[since("2.6.28")]
    #[harm("A program takes FUTEX_LOCK_PI for one of the operations that have two clocks.")]
    fn lock_takes_no_clock(world) {
        world.same("FUTEX_LOCK_PI", lock(world), Ok(0))?;
        world.same("FUTEX_UNLOCK_PI", unlock(world), Ok(0))?;
        let answered = world.futex(lock_pi(world.address(0), PRIVATE | REALTIME, 0));
        world.same("FUTEX_LOCK_PI with FUTEX_CLOCK_REALTIME", answered, Err(Errno::NOSYS))
    }

    /// Calls FUTEX_LOCK_PI of a free lock with times that are none (negative, too many nanoseconds), and
    /// with an address of a time that is not mapped.
    /// Linux answers EINVAL to the first and EFAULT to the last, and does not lock.
    #[needs(Faults)]
    #[since("2.6.18")]
    #[harm("A time that was computed wrongly is a wait without end.")]
    fn bad_times(world) {
        world.same("FUTEX_LOCK_PI", lock(world), Ok(0))?;
        world.same("FUTEX_UNLOCK_PI", unlock(world), Ok(0))?;
        for (seconds, nanoseconds) in [(-1, 0), (1, 1_000_000_000), (1, -1)] {
            let time = Time { seconds, nanoseconds };
            let answered = realtime_1(world, time.address());
            world.same(format_args!("FUTEX_LOCK_PI until {seconds} s, {nanoseconds} ns"), answered, Err(Errno::INVAL))?;
        }
        let answered = realtime_1(world, world.unwritable(false)?);
        world.same("FUTEX_LOCK_PI with a time that is not mapped", answered, Err(Errno::FAULT))?;
        world.holds(0, "the word of the lock", 0)
    }

    /// Locks a free lock with a time that is past.
    /// Linux answers 0: the time limits a wait, and there is none.
    #[since("2.6.18")]
    #[harm("A lock is refused that is free.")]
    fn free_lock_in_the_past(world) {
        let past = Time { seconds: 0, nanoseconds: 1 };
        world.same("FUTEX_LOCK_PI of a free lock with a time that is past", realtime_1(world, past.address()), Ok(0))
    }

    /// A thread waits for a lock until its time is up; then the owner unlocks, and locks and unlocks
    /// again.
    /// Linux answers 0 to each, and the word is 0: the lock is not handed to the thread that left.
    #[seen("starnix: a LOCK_PI that timed out stays queued, and is later handed the lock")]
    #[since("2.6.18")]
    #[harm("The lock is handed to a thread that does not wait any more: all others hang.")]
    fn who_left_is_not_handed_the_lock(world) {
        let me = world.own_number()?;
        world.same("FUTEX_LOCK_PI", lock(world), Ok(0))?;
        let left = world.start(timed)?;
        world.step(&"waits for a thread that waits for a lock with a time limit");
        world.ends(left, "FUTEX_LOCK_PI until a time", Err(Errno::TIMEDOUT))?;
        world.names(0, "the word after the time-out", me)?;
        for _ in 0..2 {
            world.same("FUTEX_UNLOCK_PI", unlock(world), Ok(0))?;
            world.holds(0, "the word after FUTEX_UNLOCK_PI", 0)?;
            world.same("FUTEX_LOCK_PI", lock(world), Ok(0))?;
        }
        Ok(())
    }

    /// A thread waits for a lock until its time is up, and another without one; then the owner unlocks.
    /// Linux hands the lock to the other.
    #[seen("starnix: a LOCK_PI that timed out stays queued, and is later handed the lock")]
    #[since("2.6.18")]
    #[harm("The lock is handed to a thread that does not wait any more: all others hang.")]
    fn the_next_in_line_is_handed_the_lock(world) {
        let me = world.own_number()?;
        world.same("FUTEX_LOCK_PI", lock(world), Ok(0))?;
        let left = world.start(timed)?;
        world.soon(|| world.get(0) & WAITERS != 0);
        let next = world.start_asleep(lock)?;
        world.step(&"waits for a thread that waits for a lock with a time limit");
        world.ends(left, "FUTEX_LOCK_PI until a time", Err(Errno::TIMEDOUT))?;
        world.holds(0, "the word after the time-out", me | WAITERS)?;
        world.same("FUTEX_UNLOCK_PI", unlock(world), Ok(0))?;
        world.names(0, "the word after FUTEX_UNLOCK_PI", world.number_of(next))?;
        world.step(&"waits for the end of the thread that the lock was handed to");
        world.ends(next, "the next owner", Ok(0))
    }
}

/// Waits for the lock, for 100 ms.
fn timed(world: &World<'_>) -> Answer {
    let until = world.now(CLOCK_REALTIME).map_err(|_| Errno::NOSYS)?.after(Time::milliseconds(100));
    realtime_1(world, until.address())
}
