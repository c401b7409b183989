//! `FUTEX_WAIT`, and `FUTEX_WAKE` of those that wait.

use crate::errno::Errno;
use crate::futex::{ALL, PRIVATE, Time, wait, wake};
use crate::scenario::scenarios;

scenarios! { "wait";
    /// Waits on a word that holds another value than the one given.
    /// Linux answers EAGAIN, at once.
    #[since("2.6.0")]
    #[harm("A thread sleeps although the lock was freed before: it hangs.")]
    fn value_differs(world) {
        world.set(0, 1);
        world.same("FUTEX_WAIT", world.futex(wait(world.address(0), PRIVATE, 0, 0)), Err(Errno::AGAIN))
    }

    /// Waits on a word that holds the value given, with a relative time of 10 ms.
    /// Linux answers ETIMEDOUT.
    #[since("2.6.0")]
    #[harm("A wait with a time limit never ends, or ends as if there had been a wake.")]
    fn time_is_up(world) {
        let time = Time::milliseconds(10);
        let answered = world.futex(wait(world.address(0), PRIVATE, 0, time.address()));
        world.same("FUTEX_WAIT with a time", answered, Err(Errno::TIMEDOUT))
    }

    /// A thread waits; another wakes one.
    /// Linux answers 1 to the wake, and 0 to the wait.
    #[since("2.6.0")]
    #[harm("A thread that was woken does not run, or the waker believes that no thread was there.")]
    fn one_is_woken(world) {
        let sleeper = world.start(|world| world.futex(wait(world.address(0), PRIVATE, 0, 0)))?;
        world.step(&"wakes until the sleeper is woken");
        let woken = world.until_not_zero(|| world.futex(wake(world.address(0), PRIVATE, 1)));
        world.same("FUTEX_WAKE of one", woken, Ok(1))?;
        world.step(&"waits for the end of the sleeper's call");
        world.ends(sleeper, "the sleeper", Ok(0))
    }

    /// A thread waits until its time is up; then another waits without one; then one is woken.
    /// Linux wakes the other: who left by a time-out eats no wake.
    #[seen("StarryOS / tgoskits 494: the waiter that timed out stays queued, and eats the next wake")]
    #[since("2.6.0")]
    #[harm("A wake is lost after a time-out: a thread hangs.")]
    fn who_timed_out_eats_no_wake(world) {
        let time = Time::milliseconds(5);
        let answered = world.futex(wait(world.address(0), PRIVATE, 0, time.address()));
        world.same("FUTEX_WAIT with a time", answered, Err(Errno::TIMEDOUT))?;
        let sleeper = world.start_asleep(|world| world.futex(wait(world.address(0), PRIVATE, 0, 0)))?;
        world.same("FUTEX_WAKE of one", world.futex(wake(world.address(0), PRIVATE, 1)), Ok(1))?;
        world.step(&"waits for the end of the sleeper's call");
        world.ends(sleeper, "the sleeper", Ok(0))
    }

    /// Four threads wait, one after the other; wakes of one, two and all others.
    /// Linux answers 1, 2 and 1.
    #[since("2.6.0")]
    #[harm("Too many threads run, or one is left asleep.")]
    fn counts(world) {
        let sleep = |world: &crate::world::World<'_>| world.futex(wait(world.address(0), PRIVATE, 0, 0));
        let sleepers = [world.start(sleep)?, world.start(sleep)?, world.start(sleep)?, world.start_asleep(sleep)?];
        for (count, woken) in [(1, 1), (2, 2), (ALL, 1), (ALL, 0)] {
            let answered = world.futex(wake(world.address(0), PRIVATE, count));
            world.same(format_args!("FUTEX_WAKE of {count}"), answered, Ok(woken))?;
        }
        world.step(&"waits for the end of the sleepers' calls");
        sleepers.into_iter().try_for_each(|sleeper| world.ends(sleeper, "a sleeper", Ok(0)))
    }
}
