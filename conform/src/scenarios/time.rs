//! Times: lengths and points, two clocks, and what is no time.

use crate::clocks::{CLOCK_MONOTONIC, CLOCK_REALTIME};
use crate::errno::Errno;
use crate::futex::{Op, PRIVATE, REALTIME, Time, futex, wait, wait_bitset};
use crate::pages::{KERNEL, Protection};
use crate::scenario::{Trouble, scenarios};
use crate::world::{World, unfit, wrong};

/// Bits that meet every wake.
const ANY: u32 = u32::MAX;

/// What is no time.
const INVALID: [Time; 6] = [
    Time { seconds: 0, nanoseconds: 1_000_000_000 },
    Time { seconds: 0, nanoseconds: -1 },
    Time { seconds: 1, nanoseconds: i64::MAX },
    Time { seconds: 1, nanoseconds: i64::MIN },
    Time { seconds: -1, nanoseconds: 0 },
    Time { seconds: i64::MIN, nanoseconds: 0 },
];

scenarios! { "time";
    /// Waits with a relative time of 0.
    /// Linux answers ETIMEDOUT.
    #[since("2.6.0")]
    #[harm("A wait that was only to look never ends.")]
    fn relative_zero(world) {
        let zero = Time::milliseconds(0);
        world.step(&"waits with a relative time of 0");
        world.same("FUTEX_WAIT", world.futex(wait(world.address(0), PRIVATE, 0, zero.address())), Err(Errno::TIMEDOUT))
    }

    /// Waits with a relative time of 0, at a word that holds another value.
    /// Linux answers EAGAIN: it compares the value before it looks at the time.
    #[since("2.6.0")]
    #[harm("A lock that was freed is reported as timed out, to a thread that could have had it.")]
    fn value_comes_before_zero(world) {
        let zero = Time::milliseconds(0);
        world.same("FUTEX_WAIT", world.futex(wait(world.address(0), PRIVATE, 1, zero.address())), Err(Errno::AGAIN))
    }

    /// Waits with relative times of 1, 20 and 1001 ms (a whole second, and more).
    /// Linux answers ETIMEDOUT, and the monotonic clock shows that the time has passed.
    #[since("2.6.0")]
    #[harm("A wait ends too early: a program takes its partner for dead.")]
    fn relative_is_waited_for(world) {
        for milliseconds in [1, 20, 1001] {
            let time = Time::milliseconds(milliseconds);
            let until = world.now(CLOCK_MONOTONIC)?.after(time);
            let waited = world.futex(wait(world.address(0), PRIVATE, 0, time.address()));
            world.same("FUTEX_WAIT with a time", waited, Err(Errno::TIMEDOUT))?;
            world.is_past(CLOCK_MONOTONIC, until, "FUTEX_WAIT")?;
        }
        Ok(())
    }

    /// Waits with a relative time of 10 ms, and looks at the time that was given.
    /// Linux does not write to it.
    #[since("2.6.0")]
    #[harm("A program that uses one time for many waits waits shorter each time.")]
    fn given_time_is_not_changed(world) {
        let time = Time::milliseconds(10);
        let waited = world.futex(wait(world.address(0), PRIVATE, 0, time.address()));
        world.same("FUTEX_WAIT with a time", waited, Err(Errno::TIMEDOUT))?;
        // SAFETY: a time of this function's.
        let now = unsafe { core::ptr::with_exposed_provenance::<Time>(time.address()).read_volatile() };
        if now == Time::milliseconds(10) { Ok(()) } else { wrong(format_args!("the time was changed to {now:?}")) }
    }

    /// Waits with a time that lies in memory that can only be read.
    /// Linux answers ETIMEDOUT.
    #[needs(Faults)]
    #[since("2.6.0")]
    #[harm("A constant of a program cannot be its time limit.")]
    fn in_read_only_memory(world) {
        let pages = world.pages(Protection::Read)?;
        let waited = world.futex(wait(world.address(0), PRIVATE, 0, pages));
        world.same("FUTEX_WAIT with a time in read-only memory", waited, Err(Errno::TIMEDOUT))
    }

    /// Waits with relative times whose nanoseconds are less than 0 or from 1,000,000,000, and whose
    /// seconds are less than 0.
    /// Linux answers EINVAL.
    #[since("2.6.22")]
    #[harm("A time that a program computed wrongly is a wait without an end.")]
    fn invalid_relative(world) {
        for time in INVALID {
            world.step(&"waits with a time that is none");
            let waited = world.futex(wait(world.address(0), PRIVATE, 0, time.address()));
            world.same(format_args!("FUTEX_WAIT with {time:?}"), waited, Err(Errno::INVAL))?;
        }
        Ok(())
    }

    /// Waits until points in time whose nanoseconds are less than 0 or from 1,000,000,000, and whose
    /// seconds are less than 0, on both clocks.
    /// Linux answers EINVAL: a point before the clock's first second is no past time.
    #[since("2.6.28")]
    #[harm("A time that a program computed wrongly is a wait without an end.")]
    fn invalid_point(world) {
        for time in INVALID {
            for clock in [0, REALTIME] {
                world.step(&"waits with a time that is none");
                let waited = world.futex(wait_bitset(world.address(0), PRIVATE | clock, 0, time.address(), ANY));
                world.same(format_args!("FUTEX_WAIT_BITSET with {time:?}"), waited, Err(Errno::INVAL))?;
            }
        }
        Ok(())
    }

    /// Waits with a time at an address where nothing is, in memory that can't be read, half in a page
    /// and half where nothing is, and among the kernel's addresses.
    /// Linux answers EFAULT.
    #[needs(Faults)]
    #[since("2.6.0")]
    #[harm("A bad pointer is a crash in the kernel, or a wait with a time of chance.")]
    fn bad_pointer(world) {
        for (time, place) in bad_pointers(world)? {
            world.step(&"waits with a bad pointer to a time");
            let waited = world.futex(wait(world.address(0), PRIVATE, 0, time));
            world.same(format_args!("FUTEX_WAIT with a time {place}"), waited, Err(Errno::FAULT))?;
            let waited = world.futex(wait_bitset(world.address(0), PRIVATE, 0, time, ANY));
            world.same(format_args!("FUTEX_WAIT_BITSET with a time {place}"), waited, Err(Errno::FAULT))?;
        }
        Ok(())
    }

    /// Waits at a word that holds another value, with times that are none and with bad pointers.
    /// Linux answers EINVAL and EFAULT: it reads the time before it looks at the word.
    #[needs(Faults)]
    #[since("2.6.22")]
    #[harm("A program's mistake shows only now and then.")]
    fn bad_time_comes_before_the_value(world) {
        for time in INVALID {
            let waited = world.futex(wait(world.address(0), PRIVATE, 1, time.address()));
            world.same(format_args!("FUTEX_WAIT with {time:?}"), waited, Err(Errno::INVAL))?;
        }
        for (time, place) in bad_pointers(world)? {
            let waited = world.futex(wait(world.address(0), PRIVATE, 1, time));
            world.same(format_args!("FUTEX_WAIT with a time {place}"), waited, Err(Errno::FAULT))?;
        }
        Ok(())
    }

    /// Wakes where no thread waits, with a bad pointer in the place where a wait has its time.
    /// Linux answers 0: a wake has no time.
    #[needs(Faults)]
    #[since("2.6.0")]
    #[harm("A program that leaves a register as it was cannot wake.")]
    fn wake_has_none(world) {
        for (time, place) in bad_pointers(world)? {
            let woken = world.futex(futex(world.address(0), Op::Wake as u32 | PRIVATE, 1, time, 0, 0));
            world.same(format_args!("FUTEX_WAKE with a time {place}"), woken, Ok(0))?;
        }
        Ok(())
    }

    /// Threads wait with the longest times: a length, and points of both clocks.
    /// On Linux they sleep on: their sum with the clock does not overflow. Then a wake answers 3.
    #[since("2.6.28")]
    #[harm("A program's way to say for ever is no wait at all: it spins.")]
    fn longest(world) {
        let sleepers = [
            world.sleeper(|world| world.futex(wait(world.address(0), PRIVATE, 0, LONGEST.address())))?,
            world.sleeper(|world| world.futex(wait_bitset(world.address(0), PRIVATE, 0, LONGEST.address(), ANY)))?,
            world.sleeper(|world| {
                world.futex(wait_bitset(world.address(0), PRIVATE | REALTIME, 0, LONGEST.address(), ANY))
            })?,
        ];
        for sleeper in sleepers {
            world.sleeps(sleeper, "a sleeper with the longest time")?;
        }
        world.same("FUTEX_WAKE", world.wake_at(0, 9), Ok(3))?;
        world.all_end(&sleepers)
    }

    /// Waits by FUTEX_WAIT_BITSET until a point that is 20 ms ahead on the real-time clock.
    /// Linux answers ETIMEDOUT, not before that clock shows the time.
    #[since("2.6.28")]
    #[harm("pthread_cond_timedwait ends at once, or never.")]
    fn realtime_is_waited_for(world) {
        let until = world.now(CLOCK_REALTIME)?.after(Time::milliseconds(20));
        world.step(&"waits until a point of the real-time clock that is 20 ms ahead");
        let waited = world.futex(wait_bitset(world.address(0), PRIVATE | REALTIME, 0, until.address(), ANY));
        world.same("FUTEX_WAIT_BITSET with CLOCK_REALTIME", waited, Err(Errno::TIMEDOUT))?;
        world.is_past(CLOCK_REALTIME, until, "FUTEX_WAIT_BITSET")
    }

    /// Waits until a point that is past on the real-time clock, and more than 1000 s ahead on the other.
    /// Linux answers ETIMEDOUT.
    #[seen("Gramine: one clock for all time-outs")]
    #[since("2.6.28")]
    #[harm("A wait whose time is up lasts for decades.")]
    fn realtime_is_not_monotonic(world) {
        let _ = ahead(world)?;
        let past = world.now(CLOCK_MONOTONIC)?.after(Time::milliseconds(1_000_000));
        world.step(&"waits until a point that is past on the real-time clock");
        let waited = world.futex(wait_bitset(world.address(0), PRIVATE | REALTIME, 0, past.address(), ANY));
        world.same("FUTEX_WAIT_BITSET with CLOCK_REALTIME", waited, Err(Errno::TIMEDOUT))
    }

    /// A thread waits until a point that is past on the real-time clock, and more than 1000 s ahead on
    /// the monotonic one, which is the one it waits by.
    /// On Linux it sleeps on.
    #[seen("Gramine: one clock for all time-outs")]
    #[since("2.6.28")]
    #[harm("A wait ends at once that should last: the program spins.")]
    fn monotonic_is_not_realtime(world) {
        let past = ahead(world)?;
        world.set(1, past.seconds as u32);
        let sleeper = world.sleeper(|world| {
            let until = Time { seconds: i64::from(world.get(1)), nanoseconds: 0 };
            world.futex(wait_bitset(world.address(0), PRIVATE, 0, until.address(), ANY))
        })?;
        world.sleeps(sleeper, "a sleeper whose time is far ahead on the monotonic clock")?;
        world.same("FUTEX_WAKE", world.wake_at(0, 1), Ok(1))?;
        world.all_end(&[sleeper])
    }

    /// Calls FUTEX_WAKE, WAKE_BITSET, REQUEUE, CMP_REQUEUE and WAKE_OP with the flag CLOCK_REALTIME.
    /// Linux answers ENOSYS, also where the words or the bits would be refused.
    #[since("2.6.28")]
    #[harm("A program that asks which flags there are believes that these calls have a clock.")]
    fn realtime_where_there_is_no_time(world) {
        for op in [Op::Wake, Op::WakeBitset, Op::Requeue, Op::CmpRequeue, Op::WakeOp] {
            for word in [world.address(0), world.address(0) + 1] {
                let op = op as u32;
                let answered = world.futex(futex(word, op | PRIVATE | REALTIME, 1, 1, world.address(1), 0));
                world.same(format_args!("operation {op} with CLOCK_REALTIME"), answered, Err(Errno::NOSYS))?;
            }
        }
        Ok(())
    }

    /// Calls FUTEX_WAIT with the flag CLOCK_REALTIME, with a time and without.
    /// Linux answers ENOSYS. From 4.5 to 5.12 it took the flag, and ended such a wait at once.
    #[since("5.13")]
    #[harm("A wait with a relative time ends at once, for it is taken for a point of the real-time clock.")]
    fn realtime_for_a_length(world) {
        let time = Time::milliseconds(10);
        for (value, time) in [(0, time.address()), (1, time.address()), (1, 0)] {
            let waited = world.futex(wait(world.address(0), PRIVATE | REALTIME, value, time));
            world.same("FUTEX_WAIT with CLOCK_REALTIME", waited, Err(Errno::NOSYS))?;
        }
        Ok(())
    }

    /// Three threads wait at one word: with relative times of 1000 s and 20 ms, and without one.
    /// Linux answers ETIMEDOUT to the second, and the others sleep on.
    #[since("2.6.0")]
    #[harm("One time is kept for all waiters of a word: a thread waits as long as another.")]
    fn each_has_its_own(world) {
        let long = world.start(|world| {
            let time = Time::milliseconds(1_000_000);
            world.futex(wait(world.address(0), PRIVATE, 0, time.address()))
        })?;
        let short = world.start(|world| {
            let time = Time::milliseconds(20);
            world.futex(wait(world.address(0), PRIVATE, 0, time.address()))
        })?;
        let without = world.sleeper(|world| world.sleep_on(0))?;
        world.step(&"waits until the time of one of three sleepers is up");
        world.ends(short, "the sleeper with 20 ms", Err(Errno::TIMEDOUT))?;
        world.sleeps(long, "the sleeper with 1000 s")?;
        world.sleeps(without, "the sleeper without a time")?;
        world.same("FUTEX_WAKE", world.wake_at(0, 9), Ok(2))?;
        world.all_end(&[long, without])
    }
}

static LONGEST: Time = Time { seconds: i64::MAX, nanoseconds: 999_999_999 };

/// Returns a point that is past on the real-time clock and far ahead on the monotonic one.
fn ahead(world: &World<'_>) -> Result<Time, Trouble> {
    let (monotonic, real) = (world.now(CLOCK_MONOTONIC)?, world.now(CLOCK_REALTIME)?);
    let point = Time { seconds: real.seconds - 1000, nanoseconds: 0 };
    if point <= monotonic.after(Time::milliseconds(2_000_000)) {
        return Err(unfit(format_args!("the two clocks show much the same: the real-time clock was never set")));
    }
    Ok(point)
}

/// Returns addresses where no time can be read, and where they are.
fn bad_pointers(world: &World<'_>) -> Result<[(usize, &'static str); 4], Trouble> {
    let hole = world.hole()?;
    Ok([
        (hole, "where nothing is mapped"),
        (world.pages(Protection::Nothing)?, "in memory that can't be read"),
        (hole - 8, "that begins in a page and ends where nothing is"),
        (KERNEL[1], "of the kernel's"),
    ])
}
