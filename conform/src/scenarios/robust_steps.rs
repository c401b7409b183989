//! Deaths in the middle: a child process takes or frees a robust lock, as a C library does, and dies
//! after each of the steps that other processes can see.
//!
//! Taking a lock: name it as pending; exchange its word from 0 to the own number; store where its entry
//! leads; store the entry as the list's first; name none as pending. Freeing it: name it as pending; take
//! its entry out of the list; exchange its word for 0; wake one waiter; name none as pending.

use core::sync::atomic::Ordering;

use crate::errno::{Answer, Errno};
use crate::futex::{wait, wake};
use crate::futex_pi::{OWNER_DIED, WAITERS};
use crate::numbers;
use crate::processes::{Child, SIGKILL};
use crate::robust_list::{List, has_list};
use crate::scenario::{Outcome, scenarios};
use crate::world::{World, wrong};

/// The words that tell the child what to do: how many steps, whether it frees, and how it dies.
const STEPS: usize = 8;
const FREES: usize = 9;
const DEATH: usize = 10;
/// The word that tells the waiter what the lock's word holds.
const VALUE: usize = 11;

/// How the child dies.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Death {
    Exit,
    Kill,
    Execute,
}

/// The number of steps in which a lock is taken, and in which it is freed.
pub(super) const TAKING: u32 = 5;
pub(super) const FREEING: u32 = 5;
/// The step of freeing after which the word is 0, and the one after which a waiter was woken.
const FREED: u32 = 3;
pub(super) const WOKEN: u32 = 4;
/// The step of taking after which the word names the owner.
const TAKEN: u32 = 2;

/// What the report on a scenario that hangs says: the waiter is not woken.
static WAITS: [&str; FREEING as usize + 1] = [
    "waits for the waiter of a lock whose owner died",
    "waits for the waiter of a lock whose owner died after it named the lock as pending",
    "waits for the waiter of a lock whose owner died after it took the entry out of its list",
    "waits for the waiter of a lock whose owner died after it freed the word, before it woke",
    "waits for the waiter of a lock whose owner died after it woke",
    "waits for the waiter of a lock whose owner died after it had freed the lock",
];

/// Makes one step of taking the lock.
pub(super) fn take(list: &List, owner: u32, step: u32) {
    match step {
        1 => list.set_pending(list.entry(0)),
        2 => list.lock(0).store(owner, Ordering::SeqCst),
        3 => list.set_next(0, list.first.load(Ordering::SeqCst)),
        4 => list.first.store(list.entry(0), Ordering::SeqCst),
        _ => list.set_pending(0),
    }
}

/// Makes one step of freeing the lock, the list's only one.
pub(super) fn free(world: &World<'_>, list: &List, step: u32) -> Answer {
    match step {
        1 => list.set_pending(list.entry(0)),
        2 => list.first.store(list.head(), Ordering::SeqCst),
        3 => list.set_lock(0, 0),
        4 => return world.futex(wake(list.lock_address(0), 0, 1)),
        _ => list.set_pending(0),
    }
    Ok(0)
}

/// The child: sets its list, waits until it may end, makes the steps, and dies.
fn dies_midway(world: &World<'_>) -> Answer {
    has_list(world)?;
    let list = world.list();
    // SAFETY: takes no argument.
    let owner = unsafe { world.call(numbers::GETTID, [0; 6]) }? as u32;
    for step in 1..=world.get(STEPS) {
        if world.get(FREES) == 1 {
            free(world, list, step)?;
        } else {
            take(list, owner, step);
        }
    }
    if world.get(DEATH) == Death::Execute as u32 {
        return world.execute_nothing();
    }
    if world.get(DEATH) == Death::Kill as u32 {
        // SAFETY: takes no argument.
        let process = unsafe { world.call(numbers::GETPID, [0; 6]) }?;
        world.kill(Child(process), SIGKILL);
        return Err(Errno::PERM);
    }
    Ok(0)
}

/// Starts a child that makes `steps` steps when it is told to, and dies; returns it with its number.
fn child(world: &World<'_>, steps: u32, frees: bool, death: Death) -> Result<(Child, u32), crate::scenario::Trouble> {
    world.forget_list_owner();
    world.set(STEPS, steps);
    world.set(FREES, u32::from(frees));
    world.set(DEATH, death as u32);
    let child = world.child(dies_midway)?;
    Ok((child, world.owner_of_list()?))
}

/// Lets the child die, and waits for its end.
fn ends(world: &World<'_>, child: Child, death: Death) -> Outcome {
    world.step(&"waits for the end of a child that dies while it has a lock");
    world.end_list_owner();
    if death != Death::Kill {
        return world.has_done(child, "die as it should");
    }
    match world.status_of(child)? & 0x7f {
        9 => Ok(()),
        _ => wrong(format_args!("a child survives the SIGKILL that it sends itself")),
    }
}

/// The lock is free, and the child dies after each step of taking it.
fn taking(world: &World<'_>, death: Death) -> Outcome {
    let list = world.new_list()?;
    for steps in 0..=TAKING {
        list.set_pending(0);
        list.link(0, 0);
        list.set_lock(0, 0);
        let (child, _) = child(world, steps, false, death)?;
        ends(world, child, death)?;
        let linux = if steps < TAKEN { 0 } else { OWNER_DIED };
        let what = ["a lock", "its lock after step 1", "after step 2", "after step 3", "after step 4", "after step 5"];
        list.holds(world, 0, what[steps as usize], linux)?;
    }
    Ok(())
}

/// The child has the lock, for which a thread of its parent waits, and dies after each step of freeing it.
fn freeing(world: &World<'_>, death: Death) -> Outcome {
    let list = world.new_list()?;
    for steps in 0..=FREEING {
        list.set_pending(0);
        let (child, owner) = child(world, steps, true, death)?;
        list.link(1, owner | WAITERS);
        world.set(VALUE, owner | WAITERS);
        let waits = |world: &World<'_>| world.futex(wait(world.list().lock_address(0), 0, world.get(VALUE), 0));
        let waiter = world.sleeper(waits)?;
        world.sleeps(waiter, "the waiter")?;
        ends(world, child, death)?;
        // Neither the walk nor the pending entry wakes where the owner has woken: the waiter is gone.
        let linux = if steps < FREED { OWNER_DIED | WAITERS } else { 0 };
        let what = ["a lock", "its lock after step 1", "after step 2", "after step 3", "after step 4", "after step 5"];
        list.holds(world, 0, what[steps as usize], linux)?;
        world.step(&WAITS[steps as usize]);
        world.ends(waiter, if steps < WOKEN { "the waiter of the dead" } else { "the waiter" }, Ok(0))?;
    }
    Ok(())
}

scenarios! { "robust";
    /// A child process takes a lock step by step, and ends after each step.
    /// Linux marks the lock from the step on by which its word names the child: owner-died, no owner.
    #[needs(Fork)]
    #[since("2.6.17")]
    #[harm("A thread that ends while it takes a lock keeps it for ever.")]
    fn ends_at_each_step_of_taking(world) {
        taking(world, Death::Exit)
    }

    /// A child process takes a lock step by step, and is killed after each step.
    /// Linux marks the lock from the step on by which its word names the child: owner-died, no owner.
    #[needs(Fork)]
    #[since("2.6.17")]
    #[harm("A process that is killed while it takes a lock keeps it for ever.")]
    fn is_killed_at_each_step_of_taking(world) {
        taking(world, Death::Kill)
    }

    /// A child process takes a lock step by step, and executes another program after each step.
    /// Linux marks the lock from the step on by which its word names the child: owner-died, no owner.
    #[needs(Fork)]
    #[since("2.6.17")]
    #[harm("A process that executes a program while it takes a lock keeps it for ever.")]
    fn executes_at_each_step_of_taking(world) {
        taking(world, Death::Execute)
    }

    /// A child process frees a lock step by step, and ends after each step; a thread of its parent waits
    /// for the lock.
    /// Linux marks the lock up to the step by which its word is 0, and leaves that; the waiter is woken each time.
    #[needs(Fork)]
    #[since("5.5")]
    #[harm("A thread that ends while it frees a lock leaves all waiters asleep.")]
    fn ends_at_each_step_of_freeing(world) {
        freeing(world, Death::Exit)
    }

    /// A child process frees a lock step by step, and is killed after each step; a thread of its parent waits
    /// for the lock.
    /// Linux marks the lock up to the step by which its word is 0, and leaves that; the waiter is woken each time.
    #[needs(Fork)]
    #[since("5.5")]
    #[harm("A process that is killed while it frees a lock leaves all waiters asleep.")]
    fn is_killed_at_each_step_of_freeing(world) {
        freeing(world, Death::Kill)
    }

    /// A child process frees a lock step by step, and executes another program after each step; a thread of
    /// its parent waits for the lock.
    /// Linux marks the lock up to the step by which its word is 0, and leaves that; the waiter is woken each time.
    #[needs(Fork)]
    #[since("5.5")]
    #[harm("A process that executes a program while it frees a lock leaves all waiters asleep.")]
    fn executes_at_each_step_of_freeing(world) {
        freeing(world, Death::Execute)
    }
}
