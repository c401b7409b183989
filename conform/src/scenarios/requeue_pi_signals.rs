//! Signals that come to threads that wait for a condition whose waiters are moved to a lock with
//! priority inheritance. Word 0 is the lock, word 1 the condition.

use crate::errno::{Answer, Errno};
use crate::futex::PRIVATE;
use crate::futex_pi::{cmp_requeue_pi, wait_requeue_pi};
use crate::scenario::{Outcome, scenarios};
use crate::scenarios::pi::{lock, unlock};
use crate::scenarios::pi_signals::nothing;
use crate::signals::After;
use crate::world::World;

/// Waits for the condition.
fn wait_moved(world: &World<'_>) -> Answer {
    world.futex(wait_requeue_pi(world.address(1), PRIVATE, 0, 0, world.address(0)))
}

/// Moves the first waiter of the condition to the lock.
fn signal(world: &World<'_>) -> Answer {
    world.futex(cmp_requeue_pi(world.address(1), PRIVATE, 1, world.address(0), 0, 0))
}

/// A thread that waits for a condition is interrupted, and moved after that: it still waits.
fn waits_on_and_is_moved(world: &World<'_>, after: After) -> Outcome {
    world.same("FUTEX_CMP_REQUEUE_PI where no thread waits", signal(world), Ok(0))?;
    world.handle(after, nothing)?;
    let waiter = world.start_asleep(wait_moved)?;
    world.interrupt(waiter)?;
    world.sleeps(waiter, "a thread that waits for a condition, and was interrupted,")?;
    world.same("FUTEX_CMP_REQUEUE_PI to a free lock", signal(world), Ok(1))?;
    world.step(&"waits for a waiter that was interrupted, and then moved to a free lock");
    world.ends(waiter, "FUTEX_WAIT_REQUEUE_PI", Ok(0))
}

scenarios! { "requeue_pi";
    /// A thread waits for a condition; a handler runs on it, with SA_RESTART; then it is moved.
    /// Linux makes the call again: the thread is moved, and has the lock.
    #[needs(Signals)]
    #[since("2.6.31")]
    #[harm("A condition variable's wait ends without the mutex, or a signal of it is lost.")]
    fn restarts(world) {
        waits_on_and_is_moved(world, After::Restart)
    }

    /// A thread waits for a condition; a handler runs on it, without SA_RESTART; then it is moved.
    /// Linux makes the call again all the same.
    #[needs(Signals)]
    #[since("2.6.31")]
    #[harm("A condition variable's wait ends without the mutex, or a signal of it is lost.")]
    fn restarts_without_the_flag(world) {
        waits_on_and_is_moved(world, After::End)
    }

    /// A thread is moved to a lock that is held; a handler runs on it.
    /// Linux answers EAGAIN: the call cannot be made again, since the condition's word was compared.
    #[needs(Signals)]
    #[since("2.6.31")]
    #[harm("A waiter of a condition variable waits for it a second time, and hangs.")]
    fn interrupted_after_the_move(world) {
        world.same("FUTEX_LOCK_PI", lock(world), Ok(0))?;
        world.handle(After::Restart, nothing)?;
        let waiter = world.start_asleep(wait_moved)?;
        world.same("FUTEX_CMP_REQUEUE_PI", signal(world), Ok(1))?;
        world.interrupt(waiter)?;
        world.step(&"waits for a waiter that was moved to a lock, and interrupted");
        world.ends(waiter, "FUTEX_WAIT_REQUEUE_PI", Err(Errno::AGAIN))?;
        world.names(0, "the word of the lock", world.own_number()?)?;
        world.same("FUTEX_UNLOCK_PI", unlock(world), Ok(0))?;
        world.holds(0, "the word after FUTEX_UNLOCK_PI", 0)
    }
}
