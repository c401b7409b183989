//! Death at every instruction: a child process takes and frees a robust lock while its parent steps it
//! (`ptrace`), and is killed after the first instruction, another child after the second, and so on.

use core::sync::atomic::Ordering;

use crate::clocks::CLOCK_MONOTONIC;
use crate::futex::Time;
use crate::futex_pi::OWNER_DIED;
use crate::numbers;
use crate::processes::{Child, SIGKILL};
use crate::scenario::{Outcome, Trouble, scenarios};
use crate::scenarios::robust_steps::{FREEING, TAKING, WOKEN, free, take};
use crate::world::{World, unfit, wrong};
use crate::{errno::Answer, robust_list::has_list};

const TRACEME: usize = 0;
const SINGLESTEP: usize = 9;
const SIGSTOP: usize = 19;
const SIGTRAP: i32 = 5;
/// The most instructions that all children together are stepped through, and the most time: on a slow
/// machine it ends early, with those instructions that came first.
const MOST: u32 = 50_000;
const MOST_TIME: Time = Time::milliseconds(4_000);
/// The entry whose lock is not 0 when the child has freed the other.
const DONE: usize = 1;

/// Makes a call of `ptrace`.
fn trace(world: &World<'_>, request: usize, child: usize) -> Answer {
    // SAFETY: neither request has an address.
    unsafe { world.call(numbers::PTRACE, [request, child, 0, 0, 0, 0]) }
}

/// The child: sets its list, stops, takes and frees the lock, and says so.
fn takes_and_frees(world: &World<'_>) -> Answer {
    has_list(world)?;
    let list = world.list();
    // SAFETY: takes no argument.
    let owner = unsafe { world.call(numbers::GETTID, [0; 6]) }? as u32;
    // SAFETY: takes no argument.
    let process = unsafe { world.call(numbers::GETPID, [0; 6]) }?;
    trace(world, TRACEME, 0)?;
    world.kill(Child(process), SIGSTOP);
    for step in 1..=TAKING {
        take(list, owner, step);
    }
    for step in (1..=FREEING).filter(|&step| step != WOKEN) {
        free(world, list, step)?;
    }
    list.set_lock(DONE, 1);
    Ok(0)
}

/// Waits until a child stops; returns by which signal.
fn stop_of(world: &World<'_>, child: Child) -> Result<i32, Trouble> {
    match world.status_of(child)? {
        status if status & 0xff == 0x7f => Ok(status >> 8 & 0xff),
        status => Err(unfit(format_args!("a child cannot be stepped by ptrace: it ends with status {status:#x}"))),
    }
}

/// Starts a child, steps it `instructions` times, and kills it. Returns true if it had freed its lock by then.
fn killed_after(world: &World<'_>, instructions: u32) -> Result<bool, Trouble> {
    let list = world.list();
    world.forget_list_owner();
    world.end_list_owner();
    list.set_pending(0);
    list.link(0, 0);
    list.set_lock(0, 0);
    list.set_lock(DONE, 0);
    let child = world.child(takes_and_frees)?;
    let owner = world.owner_of_list()?;
    let stepped = stop_of(world, child).and_then(|_| {
        (0..instructions).try_for_each(|_| {
            let stepped = trace(world, SINGLESTEP, child.0);
            stepped.map_err(|errno| unfit(format_args!("PTRACE_SINGLESTEP: {errno}")))?;
            match stop_of(world, child)? {
                SIGTRAP => Ok(()),
                signal => Err(unfit(format_args!("a child that is stepped stops by signal {signal}"))),
            }
        })
    });
    let (held, is_done) = (list.lock(0).load(Ordering::SeqCst), list.lock(DONE).load(Ordering::SeqCst) != 0);
    world.kill(child, SIGKILL);
    if stepped.is_ok() {
        world.status_of(child)?;
    }
    stepped?;
    let linux = if held == owner { OWNER_DIED } else { 0 };
    world.soon(|| list.lock(0).load(Ordering::SeqCst) == linux);
    match list.lock(0).load(Ordering::SeqCst) {
        value if value == linux => Ok(is_done),
        value => wrong(format_args!(
            "the word of the lock, {held:#x} when its owner {owner:#x} is killed after {instructions} instructions, \
             holds {value:#x}; on Linux {linux:#x}"
        )),
    }
}

/// Kills a child after each number of instructions.
fn at_each_instruction(world: &World<'_>) -> Outcome {
    world.has_robust_lists()?;
    world.new_list()?;
    world.step(&"steps a child by ptrace through taking and freeing a lock");
    let end = world.ahead(CLOCK_MONOTONIC, MOST_TIME)?;
    let mut all = 0;
    for instructions in 0.. {
        all += instructions;
        if killed_after(world, instructions)? || all > MOST || world.now(CLOCK_MONOTONIC)? >= end {
            break;
        }
    }
    Ok(())
}

scenarios! { "robust";
    /// A child process takes and frees a lock, and is stepped by its parent, one instruction at a time. It is
    /// killed after each instruction: a new child each time, until the lock was freed.
    /// Linux marks the lock if its word names the child when it is killed, and else leaves the word 0.
    #[needs(Fork, Signals, Ptrace)]
    #[since("2.6.17")]
    #[harm("There is an instruction at which a thread must not be killed: its lock stays locked for ever.")]
    fn is_killed_at_each_instruction(world) {
        at_each_instruction(world)
    }
}
