//! Processes that are stopped while they wait (SIGSTOP), and go on (SIGCONT).

use crate::errno::Errno;
use crate::futex::{ALL, PRIVATE, Time, wait, wake};
use crate::objects::{Map, sleep};
use crate::processes::Child;
use crate::scenario::{Outcome, scenarios};
use crate::world::{World, wrong};

/// Stops a child that waits.
fn stops(world: &World<'_>, child: Child) -> Outcome {
    world.stop(child)?.map_or(Ok(()), |status| ended(world, status))
}

/// What is said of a child that ended with this status, and was to be stopped.
fn ended(world: &World<'_>, status: i32) -> Outcome {
    match (status & 0x7f, status >> 8 & 0xff) {
        (0, 0) => Ok(()),
        (0, errno) => world.same("a wait that is stopped and goes on", Err(Errno(errno as u16)), Ok(0)),
        (signal, _) => wrong(format_args!("a child that was sent SIGSTOP was killed by signal {signal}")),
    }
}

scenarios! { "stops";
    /// A child waits for a word that it shares, without a time; it is stopped and goes on; then it is
    /// woken.
    /// Linux makes the wait again: it answers 0.
    #[needs(Fork, Signals)]
    #[since("2.6.22")]
    #[harm("A program that is stopped and continued, as shells do, finds its waits ended, or hangs.")]
    fn wait_goes_on(world) {
        let shared = world.map(Map::SHARED)?;
        world.sleep_at(shared.word(0), 0);
        let child = world.child(sleep)?;
        world.rest();
        stops(world, child)?;
        world.go_on(child);
        world.step(&"wakes until the child that was stopped is woken");
        let woken = world.until_not_zero(|| world.futex(wake(shared.word(0), 0, ALL)));
        world.same("FUTEX_WAKE of a child that was stopped", woken, Ok(1))?;
        world.step(&"waits for the end of the child");
        world.ends_well(child, "the child that was stopped")
    }

    /// A child waits for a word that it shares, and is stopped. A thread waits for the word too; one is
    /// woken.
    /// Linux wakes the thread: who is stopped is not queued, and queues again when it goes on.
    #[needs(Fork, Signals)]
    #[since("2.6.22")]
    #[harm("A process that is stopped takes a wake with which it does nothing: all others hang.")]
    fn who_is_stopped_eats_no_wake(world) {
        let shared = world.map(Map::SHARED)?;
        world.sleep_at(shared.word(0), 0);
        let child = world.child(sleep)?;
        world.rest();
        stops(world, child)?;
        let sleeper = world.sleeper_of(shared.word(0), 0)?;
        world.meets(sleeper, shared.word(0), 0, "one of two, of which one is stopped")?;
        world.go_on(child);
        world.step(&"wakes until the child that was stopped is woken");
        let woken = world.until_not_zero(|| world.futex(wake(shared.word(0), 0, ALL)));
        world.same("FUTEX_WAKE of a child that was stopped", woken, Ok(1))?;
        world.ends_well(child, "the child that was stopped")
    }

    /// A child waits for a word that it shares, and is stopped; the word changes; it goes on.
    /// Linux compares the word again, and answers EAGAIN.
    #[needs(Fork, Signals)]
    #[since("2.6.22")]
    #[harm("A change that is made while a process is stopped is not seen: the process hangs.")]
    fn change_is_seen(world) {
        let shared = world.map(Map::SHARED)?;
        world.sleep_at(shared.word(0), 0);
        let child = world.child(|world| match sleep(world) {
            Err(Errno::AGAIN) => Ok(0),
            Ok(_) => Err(Errno::BUSY),
            other => other,
        })?;
        world.rest();
        stops(world, child)?;
        world.store(shared.word(0), 1_u32);
        world.go_on(child);
        world.step(&"waits for the end of a child that was stopped while its word changed");
        world.ends_well(child, "the child that was stopped (EBUSY: it answered 0 instead of EAGAIN)")
    }

    /// A child waits with a relative time of 200 ms, and is stopped and continued again and again.
    /// Linux makes the wait again with the time that is left: it ends with ETIMEDOUT.
    #[needs(Fork, Signals)]
    #[since("2.6.22")]
    #[harm("A wait with a time begins anew at each stop, and never ends; or it ends with EINTR.")]
    fn time_runs_on(world) {
        let child = world.child(|world| {
            let time = Time::milliseconds(200);
            match world.futex(wait(world.address(0), PRIVATE, 0, time.address())) {
                Err(Errno::TIMEDOUT) => Ok(0),
                Ok(_) => Err(Errno::BUSY),
                other => other,
            }
        })?;
        world.rest();
        loop {
            if let Some(status) = world.stop(child)? {
                return ended(world, status);
            }
            world.go_on(child);
            world.rest();
        }
    }
}
