//! `FUTEX_WAIT_BITSET` and `FUTEX_WAKE_BITSET`.

use crate::clocks::CLOCK_MONOTONIC;
use crate::errno::Errno;
use crate::futex::{ALL, PRIVATE, Time, requeue, wait, wait_bitset, wake_bitset};
use crate::scenario::{Outcome, scenarios};
use crate::world::World;

/// Bits that meet every wake.
const ANY: u32 = u32::MAX;

scenarios! { "bitset";
    /// A thread waits with bit 1; a wake with all other bits, and then one with bits 1 and 3.
    /// Linux answers 0, and then 1: a wake finds those with which it has a bit in common.
    #[since("2.6.25")]
    #[harm("Readers are woken for writers, or the thread that was meant sleeps on.")]
    fn bits_meet(world) {
        let sleeper = world.sleeper(|world| world.futex(wait_bitset(world.address(0), PRIVATE, 0, 0, 2)))?;
        wakes(world, ALL, !2, 0)?;
        world.sleeps(sleeper, "the sleeper with another bit")?;
        wakes(world, ALL, 2 | 8, 1)?;
        world.all_end(&[sleeper])
    }

    /// A thread waits with the highest bit; a wake with the lowest, and then one with the highest.
    /// Linux answers 0, and then 1: the bitset has 32 bits without a sign.
    #[since("2.6.25")]
    #[harm("A waiter whose bit is the sign of a number is found by all wakes, or by none.")]
    fn highest_bit(world) {
        let sleeper = world.sleeper(|world| world.futex(wait_bitset(world.address(0), PRIVATE, 0, 0, 1 << 31)))?;
        wakes(world, ALL, 1, 0)?;
        wakes(world, ALL, 1 << 31, 1)?;
        world.all_end(&[sleeper])
    }

    /// Waits without a bit, at a word with the value given, and at one with another.
    /// Linux answers EINVAL.
    #[since("2.6.25")]
    #[harm("A thread waits that no wake finds: it hangs.")]
    fn wait_without_a_bit(world) {
        let past = Time::milliseconds(1);
        for value in [0, 1] {
            let waited = world.futex(wait_bitset(world.address(0), PRIVATE, value, past.address(), 0));
            world.same("FUTEX_WAIT_BITSET without a bit", waited, Err(Errno::INVAL))?;
        }
        Ok(())
    }

    /// A thread waits; a wake without a bit.
    /// Linux answers EINVAL, and wakes none.
    #[since("2.6.25")]
    #[harm("A mask that is 0 by mistake goes unnoticed.")]
    fn wake_without_a_bit(world) {
        let sleeper = world.sleeper(|world| world.sleep_on(0))?;
        let woken = world.futex(wake_bitset(world.address(0), PRIVATE, 1, 0));
        world.same("FUTEX_WAKE_BITSET without a bit", woken, Err(Errno::INVAL))?;
        world.sleeps(sleeper, "the sleeper")?;
        world.same("FUTEX_WAKE", world.wake_at(0, 1), Ok(1))?;
        world.all_end(&[sleeper])
    }

    /// A thread waits with bit 0, and another by FUTEX_WAIT; then FUTEX_WAKE of all.
    /// Linux answers 2: a plain wake has all bits.
    #[since("2.6.25")]
    #[harm("Threads that wait with bits sleep through plain wakes.")]
    fn plain_wake_has_all_bits(world) {
        let sleepers = [
            world.start(|world| world.futex(wait_bitset(world.address(0), PRIVATE, 0, 0, 1)))?,
            world.sleeper(|world| world.sleep_on(0))?,
        ];
        world.same("FUTEX_WAKE of all", world.wake_at(0, ALL), Ok(2))?;
        world.all_end(&sleepers)
    }

    /// Two threads wait by FUTEX_WAIT; a wake of one with bit 5, and one with all bits.
    /// Linux answers 1 to each: a plain wait has all bits.
    #[since("2.6.25")]
    #[harm("Threads that wait without bits sleep through wakes with some.")]
    fn plain_wait_has_all_bits(world) {
        let sleepers = world.asleep::<2>(|world| world.sleep_on(0))?;
        wakes(world, 1, 1 << 5, 1)?;
        wakes(world, 1, ANY, 1)?;
        world.all_end(&sleepers)
    }

    /// Threads wait with bits 0, 1 and 0, in this order; then one more with bit 0. A wake of two with
    /// bit 0.
    /// Linux answers 2, and wakes the first and the third: who does not match counts not.
    #[since("2.6.25")]
    #[harm("A wake is spent on a thread that it was not for.")]
    fn count_is_of_those_that_match(world) {
        let zero = |world: &World<'_>| world.futex(wait_bitset(world.address(0), PRIVATE, 0, 0, 1));
        let first = world.sleeper(zero)?;
        let other = world.sleeper(|world| world.futex(wait_bitset(world.address(0), PRIVATE, 0, 0, 2)))?;
        let [third, last] = world.in_order::<2>(zero)?;
        wakes(world, 2, 1, 2)?;
        world.sleeps(other, "the sleeper with another bit")?;
        world.sleeps(last, "the last of three that match")?;
        world.all_end(&[first, third])?;
        wakes(world, ALL, 1, 1)?;
        wakes(world, ALL, 2, 1)?;
        world.all_end(&[other, last])
    }

    /// Two threads wait; a wake of 0 with all bits.
    /// Linux answers 1, as FUTEX_WAKE does.
    #[since("2.6.25")]
    #[harm("A program that wakes with a count of 0, as it may on Linux, leaves a thread asleep.")]
    fn count_0_wakes_one(world) {
        let sleepers = world.asleep::<2>(|world| world.sleep_on(0))?;
        wakes(world, 0, ANY, 1)?;
        wakes(world, ALL, ANY, 1)?;
        world.all_end(&sleepers)
    }

    /// A thread waits with bit 1 and is moved to another word. There a wake of all without this bit,
    /// and then one with it.
    /// Linux answers 0, and then 1: a waiter that is moved keeps its bits.
    #[seen("Asterinas 1642: the bitset is overwritten on a requeue")]
    #[since("2.6.25")]
    #[harm("After a condition variable's broadcast a thread is found by wakes that are not for it.")]
    fn bits_are_kept_over_a_requeue(world) {
        let sleeper = world.sleeper(|world| world.futex(wait_bitset(world.address(0), PRIVATE, 0, 0, 2)))?;
        let moved = world.futex(requeue(world.address(0), PRIVATE, 0, world.address(1), 1));
        world.same("FUTEX_REQUEUE of one", moved, Ok(1))?;
        let others = world.futex(wake_bitset(world.address(1), PRIVATE, ALL, !2));
        world.same("FUTEX_WAKE_BITSET with other bits", others, Ok(0))?;
        world.sleeps(sleeper, "the sleeper")?;
        let own = world.futex(wake_bitset(world.address(1), PRIVATE, ALL, 2));
        world.same("FUTEX_WAKE_BITSET with the sleeper's bit", own, Ok(1))?;
        world.all_end(&[sleeper])
    }

    /// Waits until a time that is 20 ms ahead on the monotonic clock.
    /// Linux answers ETIMEDOUT, not before that time: the time is a point, not a length.
    #[since("2.6.25")]
    #[harm("A wait with a time ends at once, or after as long as the machine has run.")]
    fn time_is_a_point(world) {
        let until = world.now(CLOCK_MONOTONIC)?.after(Time::milliseconds(20));
        world.step(&"waits until a time that is 20 ms ahead");
        let waited = world.futex(wait_bitset(world.address(0), PRIVATE, 0, until.address(), ANY));
        world.same("FUTEX_WAIT_BITSET with a time", waited, Err(Errno::TIMEDOUT))?;
        world.is_past(CLOCK_MONOTONIC, until, "FUTEX_WAIT_BITSET")
    }

    /// Waits until times that are past: the clock's first nanosecond, 0, and what it shows now.
    /// Linux answers ETIMEDOUT to each.
    #[since("2.6.25")]
    #[harm("A wait whose time is up before it begins never ends, or ends as if there had been a wake.")]
    fn past_time(world) {
        let now = world.now(CLOCK_MONOTONIC)?;
        for until in [Time { seconds: 0, nanoseconds: 1 }, Time::milliseconds(0), now] {
            world.step(&"waits until a time that is past");
            let waited = world.futex(wait_bitset(world.address(0), PRIVATE, 0, until.address(), ANY));
            world.same("FUTEX_WAIT_BITSET with a past time", waited, Err(Errno::TIMEDOUT))?;
        }
        Ok(())
    }

    /// Waits until a time that is past, at a word that holds another value.
    /// Linux answers EAGAIN: it compares the value before it looks at the clock.
    #[since("2.6.25")]
    #[harm("A lock that was freed is reported as timed out, to a thread that could have had it.")]
    fn value_comes_before_a_past_time(world) {
        let past = Time { seconds: 0, nanoseconds: 1 };
        let waited = world.futex(wait_bitset(world.address(0), PRIVATE, 1, past.address(), ANY));
        world.same("FUTEX_WAIT_BITSET with a past time and another value", waited, Err(Errno::AGAIN))
    }

    /// A thread waits with bit 1 until its time is up; then another waits with bit 1; a wake of one.
    /// Linux answers 1, and wakes the other.
    #[since("2.6.25")]
    #[harm("A wake is lost after a time-out: a thread hangs.")]
    fn who_timed_out_eats_no_wake(world) {
        let until = world.now(CLOCK_MONOTONIC)?.after(Time::milliseconds(5));
        let waited = world.futex(wait_bitset(world.address(0), PRIVATE, 0, until.address(), 2));
        world.same("FUTEX_WAIT_BITSET with a time", waited, Err(Errno::TIMEDOUT))?;
        let sleeper = world.sleeper(|world| world.futex(wait_bitset(world.address(0), PRIVATE, 0, 0, 2)))?;
        wakes(world, 1, 2, 1)?;
        world.all_end(&[sleeper])
    }

    /// A thread waits with a time and bits, another with a relative time by FUTEX_WAIT; both are woken.
    /// Linux answers 0 to both: they were woken before their time was up.
    #[since("2.6.25")]
    #[harm("A thread that was woken believes that its time is up.")]
    fn woken_before_its_time(world) {
        let sleepers = [
            world.start(|world| {
                let later = Time { seconds: i64::from(i32::MAX), nanoseconds: 0 };
                world.futex(wait_bitset(world.address(0), PRIVATE, 0, later.address(), 1))
            })?,
            world.sleeper(|world| {
                let long = Time { seconds: 1000, nanoseconds: 0 };
                world.futex(wait(world.address(0), PRIVATE, 0, long.address()))
            })?,
        ];
        wakes(world, ALL, 1, 2)?;
        world.all_end(&sleepers)
    }
}

/// Asserts what a wake at word 0 answers.
fn wakes(world: &World<'_>, count: u32, bits: u32, linux: usize) -> Outcome {
    let woken = world.futex(wake_bitset(world.address(0), PRIVATE, count, bits));
    world.same(format_args!("FUTEX_WAKE_BITSET of {count} with bits {bits:#x}"), woken, Ok(linux))
}
