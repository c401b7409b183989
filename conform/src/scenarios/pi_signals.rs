//! Signals that come to threads that wait for a lock with priority inheritance. Word 0 is the
//! lock.

use crate::clocks::CLOCK_REALTIME;
use crate::errno::{Answer, Errno};
use crate::futex::{PRIVATE, Time};
use crate::futex_pi::{WAITERS, lock_pi, unlock_pi};
use crate::scenario::{Outcome, scenarios};
use crate::scenarios::pi::{TURNS, lock, lock_in_turn, unlock};
use crate::signals::After;
use crate::world::{Body, World};

/// What a handler does that does nothing.
pub(super) fn nothing(_: &World<'_>) -> Answer {
    Ok(0)
}

/// Locks, until a time that no scenario waits for.
fn lock_for_long(world: &World<'_>) -> Answer {
    let now = world.now(CLOCK_REALTIME).map_err(|_| Errno::NOSYS)?;
    let until = now.after(Time::milliseconds(1_000_000));
    world.futex(lock_pi(world.address(0), PRIVATE, until.address()))
}

/// A thread that waits for a lock is interrupted, twice: it waits on, and is then handed the lock.
fn waits_on(world: &World<'_>, after: After, body: Body) -> Outcome {
    world.same("FUTEX_LOCK_PI", lock(world), Ok(0))?;
    world.handle(after, nothing)?;
    let next = world.start_asleep(body)?;
    for _ in 0..2 {
        world.interrupt(next)?;
        world.sleeps(next, "a thread that waits for a lock, and was interrupted,")?;
    }
    world.holds(0, "the word of the lock", world.own_number()? | WAITERS)?;
    world.same("FUTEX_UNLOCK_PI", unlock(world), Ok(0))?;
    world.names(0, "the word after FUTEX_UNLOCK_PI", world.number_of(next))?;
    world.step(&"waits for the end of a thread that was interrupted, and handed a lock");
    world.ends(next, "FUTEX_LOCK_PI", Ok(0))
}

scenarios! { "pi";
    /// A thread waits for a lock, without a time and with one; handlers run on it, with SA_RESTART.
    /// Linux makes the call again: the thread waits on, until it is handed the lock.
    #[needs(Signals)]
    #[since("2.6.18")]
    #[harm("A mutex's lock fails with EINTR, which the C library takes for a fault of its own, and aborts.")]
    fn restarts(world) {
        waits_on(world, After::Restart, lock)?;
        world.set(0, 0);
        waits_on(world, After::Restart, lock_for_long)
    }

    /// A thread waits for a lock, without a time and with one; handlers run on it, without SA_RESTART.
    /// Linux makes the call again all the same: a lock is never interrupted.
    #[needs(Signals)]
    #[since("2.6.18")]
    #[harm("A mutex's lock fails with EINTR, which the C library takes for a fault of its own, and aborts.")]
    fn restarts_without_the_flag(world) {
        waits_on(world, After::End, lock)?;
        world.set(0, 0);
        waits_on(world, After::End, lock_for_long)
    }

    /// Two threads wait for a lock; the first is interrupted, and waits on.
    /// Linux queues it anew: the lock is handed to the second, and then to the first.
    #[needs(Signals)]
    #[since("2.6.18")]
    #[harm("A thread is queued twice, or not at all: the lock is handed to the wrong thread.")]
    fn interrupted_waiter_is_queued_once(world) {
        world.same("FUTEX_LOCK_PI", lock(world), Ok(0))?;
        world.handle(After::Restart, nothing)?;
        let (first, second) = (world.start_asleep(lock_in_turn)?, world.start_asleep(lock_in_turn)?);
        world.interrupt(first)?;
        world.sleeps(first, "a thread that was interrupted")?;
        world.same("FUTEX_UNLOCK_PI", unlock(world), Ok(0))?;
        world.step(&"waits for two threads that lock and unlock, of which one was interrupted");
        world.ends(first, "a thread that was interrupted", Ok(0))?;
        world.ends(second, "a thread that was not interrupted", Ok(0))?;
        world.holds(TURNS + 1, "the place of the next owner", world.number_of(second))?;
        world.holds(TURNS + 2, "the place of the last owner", world.number_of(first))?;
        world.holds(0, "the word in the end", 0)
    }

    /// A thread waits for a lock; the handler of a signal locks and unlocks another lock.
    /// Linux answers 0 to both, and the thread waits on for the first.
    #[needs(Signals)]
    #[since("2.6.18")]
    #[harm("A handler that takes a lock damages what the kernel knows of the thread's wait.")]
    fn handler_locks_another(world) {
        world.same("FUTEX_LOCK_PI", lock(world), Ok(0))?;
        world.handle(After::Restart, |world| {
            let answered = world.futex(lock_pi(world.address(2), PRIVATE, 0));
            world.set(3, world.get(2));
            world.set(4, answered.map_or(2, |_| 1));
            world.futex(unlock_pi(world.address(2), PRIVATE))
        })?;
        let next = world.start_asleep(lock)?;
        world.interrupt(next)?;
        world.sleeps(next, "a thread whose handler has locked another lock")?;
        world.holds(4, "1 if the handler's FUTEX_LOCK_PI succeeded: it", 1)?;
        world.holds(3, "the word of the handler's lock", world.number_of(next))?;
        world.holds(2, "the word of the handler's lock after FUTEX_UNLOCK_PI", 0)?;
        world.same("FUTEX_UNLOCK_PI", unlock(world), Ok(0))?;
        world.step(&"waits for the end of a thread whose handler has locked another lock");
        world.ends(next, "FUTEX_LOCK_PI", Ok(0))
    }
}
