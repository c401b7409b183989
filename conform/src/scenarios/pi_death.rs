//! Locks with priority inheritance whose owner or waiter dies, and those that processes share. The
//! lock is that of the first entry of the scenario's robust list.

use core::sync::atomic::Ordering;

use crate::errno::{Answer, Errno};
use crate::futex_pi::{OWNER, OWNER_DIED, WAITERS, lock_pi, trylock_pi, unlock_pi};
use crate::processes::SIGKILL;
use crate::robust_list::{HEAD, INHERITS};
use crate::scenario::{Outcome, scenarios};
use crate::world::{Body, World, wrong};

/// The word in which a thread says that it has the lock.
const HAS_IT: usize = 40;
/// The word that says to it that it may end.
const MAY_END: usize = 41;

fn lock(world: &World<'_>) -> Answer {
    world.futex(lock_pi(world.list().lock_address(0), 0, 0))
}

fn trylock(world: &World<'_>) -> Answer {
    world.futex(trylock_pi(world.list().lock_address(0), 0))
}

fn unlock(world: &World<'_>) -> Answer {
    world.futex(unlock_pi(world.list().lock_address(0), 0))
}

fn word(world: &World<'_>) -> u32 {
    world.list().lock(0).load(Ordering::SeqCst)
}

/// Makes the lock: that of the first entry of a list, which is linked, with its low bit.
fn new_lock(world: &World<'_>) -> Outcome {
    let list = world.new_list()?;
    list.link(1, 0);
    list.first.fetch_add(INHERITS, Ordering::SeqCst);
    world.same("FUTEX_LOCK_PI", lock(world), Ok(0))?;
    world.same("FUTEX_UNLOCK_PI", unlock(world), Ok(0))
}

/// Locks, and ends when it may.
fn lock_and_end(world: &World<'_>) -> Answer {
    let answered = lock(world);
    world.list().set_lock(HAS_IT, 1);
    for _ in 0..100_000 {
        if world.list().lock(MAY_END).load(Ordering::SeqCst) != 0 {
            break;
        }
        world.rest();
    }
    answered
}

/// Sets the list, locks, and ends when it may.
fn lock_in_list_and_end(world: &World<'_>) -> Answer {
    world.set_robust_list(world.list().head(), HEAD)?;
    lock_and_end(world)
}

/// Waits until the owner has the lock.
fn until_it_is_held(world: &World<'_>) {
    world.step(&"waits for the owner to lock");
    while world.list().lock(HAS_IT).load(Ordering::SeqCst) == 0 {
        world.rest();
    }
}

/// Lets the owner end.
fn end_owner(world: &World<'_>) {
    world.list().set_lock(MAY_END, 1);
}

/// Locks, writes what the word then is, unlocks, and writes it again, in words of the world.
fn lock_and_look(world: &World<'_>) -> Answer {
    lock(world)?;
    world.set(0, word(world));
    let answered = unlock(world);
    world.set(1, word(world));
    answered
}

/// A thread that has the lock ends; another waits for it: it is the next owner, and learns of the death.
fn is_next(world: &World<'_>, owner: Body) -> Outcome {
    new_lock(world)?;
    let owner = world.start(owner)?;
    until_it_is_held(world);
    let next = world.start_asleep(lock_and_look)?;
    end_owner(world);
    world.step(&"waits for a thread that waits for the lock of a thread that has died");
    world.ends(next, "FUTEX_LOCK_PI and FUTEX_UNLOCK_PI by the next owner", Ok(0))?;
    let _ = owner;
    let (number, held) = (world.number_of(next), world.get(0));
    if held & !WAITERS != number | OWNER_DIED {
        let linux = number | OWNER_DIED;
        return wrong(format_args!(
            "the word that the next owner finds is {held:#x}; on Linux {linux:#x}, or {WAITERS:#x} more"
        ));
    }
    world.holds(1, "the word after its FUTEX_UNLOCK_PI", 0)
}

scenarios! { "pi";
    /// A thread ends with a lock for which another waits; the lock is in its robust list.
    /// Linux hands the lock to the other: its call answers 0, and the word names it, with the owner-died bit.
    #[since("2.6.18")]
    #[harm("The waiters of a thread that died wait for ever, or do not learn that data may be damaged.")]
    fn owner_in_list_dies(world) {
        world.has_robust_lists()?;
        is_next(world, lock_in_list_and_end)
    }

    /// A thread ends with a lock for which another waits; it has no robust list.
    /// Linux hands the lock to the other: its call answers 0, and the word names it, with the owner-died bit.
    #[since("2.6.18")]
    #[harm("The waiters of a thread that died wait for ever, or do not learn that data may be damaged.")]
    fn owner_without_list_dies(world) {
        is_next(world, lock_and_end)
    }

    /// A thread ends with a lock for which two others wait; they lock and unlock one after the other.
    /// Linux hands the lock to the first with the owner-died bit and the waiters bit, and to the second
    /// without the owner-died bit.
    #[since("2.6.18")]
    #[harm("A lock is believed to be damaged for ever, or its last waiter sleeps for ever.")]
    fn two_wait_for_an_owner_that_dies(world) {
        world.has_robust_lists()?;
        new_lock(world)?;
        world.start(lock_in_list_and_end)?;
        until_it_is_held(world);
        let first = world.start_asleep(lock_and_look)?;
        let second = world.start_asleep(|world| {
            lock(world)?;
            world.set(2, word(world));
            unlock(world)
        })?;
        end_owner(world);
        world.step(&"waits for two threads that wait for the lock of a thread that has died");
        world.ends(first, "FUTEX_LOCK_PI and FUTEX_UNLOCK_PI by the next owner", Ok(0))?;
        world.ends(second, "FUTEX_LOCK_PI and FUTEX_UNLOCK_PI by the last owner", Ok(0))?;
        world.holds(0, "the word that the next owner finds", world.number_of(first) | OWNER_DIED | WAITERS)?;
        match world.get(2) & !WAITERS {
            held if held == world.number_of(second) => Ok(()),
            held => wrong(format_args!("the word that the last owner finds is {held:#x}; on Linux its number alone")),
        }
    }

    /// A thread ends with a lock that is in its robust list; none waits. Another tries to lock it.
    /// Linux leaves the owner-died bit alone in the word; the other call answers 0, and keeps the bit.
    #[since("2.6.18")]
    #[harm("The lock of a thread that died is never locked again.")]
    fn trylock_of_an_owner_that_died(world) {
        world.has_robust_lists()?;
        new_lock(world)?;
        world.start(lock_in_list_and_end)?;
        until_it_is_held(world);
        end_owner(world);
        world.list().is_marked(world, 0, "the lock of a thread that died")?;
        world.same("FUTEX_TRYLOCK_PI", trylock(world), Ok(0))?;
        world.list().holds(world, 0, "the lock", world.own_number()? | OWNER_DIED)
    }

    /// A thread ends with a lock that is in no robust list; none waits. Another locks it.
    /// Linux leaves the word as it is, and answers ESRCH.
    #[since("2.6.18")]
    #[harm("A thread waits for ever for one that has died, where it must learn that the lock is lost.")]
    fn lock_of_an_owner_that_died_without_list(world) {
        new_lock(world)?;
        let owner = world.start(lock_and_end)?;
        until_it_is_held(world);
        end_owner(world);
        world.step(&"locks a lock whose owner has died");
        let _ = world.end_of(owner);
        // The thread may still be on its way out.
        world.rest();
        world.same("FUTEX_LOCK_PI", lock(world), Err(Errno::SRCH))?;
        world.list().holds(world, 0, "the lock", world.number_of(owner) | WAITERS)
    }

    /// A child process has a lock in shared memory; a thread of its parent locks it, and waits; the child
    /// unlocks.
    /// Linux hands the lock over: the thread's call answers 0, and the word names it.
    #[needs(Fork)]
    #[since("2.6.18")]
    #[harm("Processes that share a lock hang, or have it both.")]
    fn processes_hand_over(world) {
        new_lock(world)?;
        let child = world.child(|world| {
            lock_and_end(world)?;
            unlock(world)
        })?;
        until_it_is_held(world);
        let next = world.start_asleep(lock)?;
        world.sleeps(next, "a thread that locks a lock of another process")?;
        world.list().holds(world, 0, "the lock for which it waits", child.0 as u32 | WAITERS)?;
        end_owner(world);
        world.step(&"waits for a child that unlocks");
        world.ends_well(child, "a child that unlocks")?;
        world.step(&"waits for the thread that the lock was handed to");
        world.ends(next, "FUTEX_LOCK_PI", Ok(0))?;
        match word(world) & OWNER {
            owner if owner == world.number_of(next) => Ok(()),
            owner => wrong(format_args!("the word names {owner:#x}; on Linux {:#x}", world.number_of(next))),
        }
    }

    /// A child process that has a lock in shared memory is killed by SIGKILL; a thread of its parent waits.
    /// Linux hands the lock to the thread, with the owner-died bit.
    #[needs(Fork)]
    #[since("2.6.18")]
    #[harm("Processes that share a lock hang when one is killed.")]
    fn owners_process_is_killed(world) {
        world.has_robust_lists()?;
        new_lock(world)?;
        let child = world.child(lock_in_list_and_end)?;
        until_it_is_held(world);
        let next = world.start_asleep(lock_and_look)?;
        world.kill(child, SIGKILL);
        let _ = world.status_of(child)?;
        world.step(&"waits for a thread that waits for the lock of a process that was killed");
        world.ends(next, "FUTEX_LOCK_PI and FUTEX_UNLOCK_PI by the next owner", Ok(0))?;
        match world.get(0) & !WAITERS {
            held if held == world.number_of(next) | OWNER_DIED => Ok(()),
            held => wrong(format_args!("the next owner finds {held:#x}; on Linux its number with {OWNER_DIED:#x}")),
        }
    }

    /// A child process waits for a lock, and then a thread of its parent; the child is killed by SIGKILL;
    /// the owner unlocks.
    /// Linux hands the lock to the thread.
    #[needs(Fork)]
    #[since("2.6.18")]
    #[harm("The lock is handed to a process that is gone: all others hang.")]
    fn waiter_is_killed(world) {
        new_lock(world)?;
        world.same("FUTEX_LOCK_PI", lock(world), Ok(0))?;
        let child = world.child(lock)?;
        world.soon(|| word(world) & WAITERS != 0);
        let next = world.start_asleep(lock)?;
        world.kill(child, SIGKILL);
        let _ = world.status_of(child)?;
        world.same("FUTEX_UNLOCK_PI", unlock(world), Ok(0))?;
        world.step(&"waits for a thread that waits for a lock behind a process that was killed");
        world.ends(next, "FUTEX_LOCK_PI", Ok(0))
    }
}
