//! `FUTEX_ROBUST_UNLOCK`: the kernel gives a robust lock up and clears the pending entry, so that no
//! death falls between the two. Word 0 is the lock, words 2 and 3 are the pending entry.

use crate::errno::{Answer, Errno};
use crate::futex::{Call, Op, PRIVATE, REALTIME, futex, wait, wait_bitset, wake};
use crate::futex_pi::{NO_THREAD, OWNER_DIED, WAITERS, lock_pi};
use crate::pages::{KERNEL, Protection};
use crate::scenario::{Outcome, Trouble, scenarios};
use crate::text::Text;
use crate::world::World;

/// The flag: the call gives the lock up, and clears the pending entry.
const ROBUST_UNLOCK: u32 = 512;
/// The flag: the pending entry has 32 bits.
const LIST32: u32 = 1024;
/// The first word of the pending entry.
const PENDING: usize = 2;
/// What each word of the pending entry holds before.
const ENTRY: u32 = 0x1234_5678;

/// An operation with the flag. `third`: a bitset, which only `FUTEX_WAKE_BITSET` looks at.
fn unlock(world: &World<'_>, op: Op, flags: u32, pending: usize, third: u32) -> Call {
    futex(world.address(0), op as u32 | ROBUST_UNLOCK | flags, 1, 0, pending, third)
}

/// Fills the lock, and the pending entry with the word after it.
fn fill(world: &World<'_>, lock: u32) {
    world.set(0, lock);
    (PENDING..PENDING + 3).for_each(|at| world.set(at, ENTRY));
}

/// Asserts what the pending entry holds, and that the word after it is as it was.
fn pending_holds(world: &World<'_>, low: u32, high: u32) -> Outcome {
    world.holds(PENDING, "the first half of the pending entry", low)?;
    world.holds(PENDING + 1, "the second half of the pending entry", high)?;
    world.holds(PENDING + 2, "the word after the pending entry", ENTRY)
}

/// Asserts that each of the operations that take the flag answers so where no thread waits, and what
/// it leaves of a lock that the caller owns.
fn each(world: &World<'_>, pending: usize, linux: Answer, lock: Option<u32>, entry: u32) -> Outcome {
    let me = world.own_number()?;
    for flags in [PRIVATE, 0] {
        for op in [Op::Wake, Op::WakeBitset, Op::UnlockPi] {
            fill(world, me);
            let answered = world.futex(unlock(world, op, flags, pending, 1));
            world.same(format_args!("operation {} with ROBUST_UNLOCK", op as u32), answered, linux)?;
            world.holds(0, "the word of the lock", lock.unwrap_or(me))?;
            pending_holds(world, entry, entry)?;
        }
    }
    Ok(())
}

scenarios! { "robust_unlock";
    /// Unlocks by WAKE, by WAKE_BITSET and by UNLOCK_PI, with PRIVATE and without; no thread waits.
    /// Linux answers 0; the word and the 64 bits of the pending entry are 0.
    #[since("7.2")]
    #[harm("A thread that dies behind its unlock marks a lock that another has, or memory that was reused.")]
    fn lock_and_entry_are_cleared(world) {
        each(world, world.address(PENDING), Ok(0), Some(0), 0)
    }

    /// Does the same with the flag LIST32.
    /// Linux clears the 32 bits at the address of the pending entry, and no more. Built without programs
    /// of 32 bits it has no such entries: it gives the lock up, leaves the entry, and answers EFAULT.
    #[since("7.2")]
    #[harm("A program of 32 bits loses what lies behind the pending entry, or keeps the entry.")]
    fn entry_of_32_bits(world) {
        let me = world.own_number()?;
        for op in [Op::Wake, Op::WakeBitset, Op::UnlockPi] {
            for at in [PENDING, PENDING + 1] {
                fill(world, me);
                let answered = world.futex(unlock(world, op, PRIVATE | LIST32, world.address(at), 1));
                if answered == Err(Errno::FAULT) {
                    world.holds(0, "the word of the lock", 0)?;
                    pending_holds(world, ENTRY, ENTRY)?;
                    return Err(Trouble::Absent(Text::of(format_args!("FUTEX_ROBUST_LIST32"))));
                }
                world.same("FUTEX_ROBUST_UNLOCK with FUTEX_ROBUST_LIST32", answered, Ok(0))?;
                world.holds(0, "the word of the lock", 0)?;
                let (low, high) = if at == PENDING { (0, ENTRY) } else { (ENTRY, 0) };
                pending_holds(world, low, high)?;
            }
        }
        Ok(())
    }

    /// Wakes with the flag LIST32 and without ROBUST_UNLOCK.
    /// Linux ignores LIST32: it wakes, and touches neither word.
    #[since("7.2")]
    #[harm("A wake clears memory that its caller did not name.")]
    fn entry_of_32_bits_alone(world) {
        fill(world, 1);
        // Where ROBUST_UNLOCK is absent, its second flag is as well.
        let answered = world.futex(unlock(world, Op::Wake, PRIVATE, world.address(PENDING), 1));
        world.same("FUTEX_WAKE with ROBUST_UNLOCK", answered, Ok(0))?;
        fill(world, 1);
        let answered = world.futex(wake(world.address(0), PRIVATE | LIST32, 1));
        world.same("FUTEX_WAKE with FUTEX_ROBUST_LIST32 alone", answered, Ok(0))?;
        world.holds(0, "the word", 1)?;
        pending_holds(world, ENTRY, ENTRY)
    }

    /// Unlocks by WAKE a word that holds 0, that names another thread, that has the waiters bit although
    /// no thread waits, and that says that its owner died.
    /// Linux stores 0 whatever the word holds.
    #[since("7.2")]
    #[harm("A lock stays locked, or stays marked.")]
    fn any_value_is_replaced(world) {
        let me = world.own_number()?;
        for value in [0, NO_THREAD, me | WAITERS, me | OWNER_DIED | WAITERS, u32::MAX] {
            fill(world, value);
            let answered = world.futex(unlock(world, Op::Wake, PRIVATE, world.address(PENDING), 0));
            world.same(format_args!("WAKE with ROBUST_UNLOCK of the word {value:#x}"), answered, Ok(0))?;
            world.holds(0, "the word of the lock", 0)?;
            pending_holds(world, 0, 0)?;
        }
        Ok(())
    }

    /// Unlocks by UNLOCK_PI a word that is 0, and one that names another thread.
    /// Linux answers EPERM; the word and the pending entry are as they were.
    #[since("7.2")]
    #[harm("A thread gives up a lock that is not its own.")]
    fn lock_of_another(world) {
        for value in [0, NO_THREAD] {
            fill(world, value);
            let answered = world.futex(unlock(world, Op::UnlockPi, PRIVATE, world.address(PENDING), 0));
            world.same(format_args!("UNLOCK_PI with ROBUST_UNLOCK of {value:#x}"), answered, Err(Errno::PERM))?;
            world.holds(0, "the word of the lock", value)?;
            pending_holds(world, ENTRY, ENTRY)?;
        }
        Ok(())
    }

    /// Two threads wait for a lock; a third unlocks it, and wakes one.
    /// Linux stores 0, clears the entry, and wakes the first. The second sleeps on, and the word says
    /// nothing of it: a program that unlocks so sets the bit again when it locks, or wakes all.
    #[since("7.2")]
    #[harm("The lock is given up, and the thread that waits for it is not woken.")]
    fn one_waiter_is_woken(world) {
        for op in [Op::Wake, Op::WakeBitset] {
            fill(world, WAITERS | 1);
            let body = |world: &World<'_>| match world.get(1) {
                0 => world.futex(wait(world.address(0), PRIVATE, WAITERS | 1, 0)),
                _ => world.futex(wait_bitset(world.address(0), PRIVATE, WAITERS | 1, 0, 6)),
            };
            world.set(1, u32::from(op == Op::WakeBitset));
            let (first, second) = (world.start_asleep(body)?, world.start_asleep(body)?);
            let answered = world.futex(unlock(world, op, PRIVATE, world.address(PENDING), 4));
            world.same("an unlock for which two threads wait", answered, Ok(1))?;
            world.step(&"waits for the waiter that an unlock with ROBUST_UNLOCK says that it woke");
            world.ends(first, "the first waiter", Ok(0))?;
            world.sleeps(second, "the second waiter")?;
            world.holds(0, "the word of the lock", 0)?;
            pending_holds(world, 0, 0)?;
            let answered = world.futex(wake(world.address(0), PRIVATE, 1));
            world.same("a wake of the second waiter", answered, Ok(1))?;
            world.ends(second, "the second waiter", Ok(0))?;
        }
        Ok(())
    }

    /// A thread waits with a bitset of 2; another unlocks and wakes with a bitset of 4.
    /// Linux stores 0, clears the entry, and wakes none.
    #[since("7.2")]
    #[harm("Threads are woken that wait for something else.")]
    fn bitset_is_heeded(world) {
        fill(world, 1);
        let waiter = world.start_asleep(|world| world.futex(wait_bitset(world.address(0), PRIVATE, 1, 0, 2)))?;
        let answered = world.futex(unlock(world, Op::WakeBitset, PRIVATE, world.address(PENDING), 4));
        world.same("WAKE_BITSET with ROBUST_UNLOCK", answered, Ok(0))?;
        world.sleeps(waiter, "the waiter with another bit")?;
        world.holds(0, "the word of the lock", 0)?;
        pending_holds(world, 0, 0)
    }

    /// A thread waits by LOCK_PI for a lock that the caller owns and unlocks by UNLOCK_PI.
    /// Linux hands the lock to the waiter, and clears the entry.
    #[since("7.2")]
    #[harm("A lock with priority inheritance is not handed on, or its pending entry stays.")]
    fn lock_pi_is_handed_on(world) {
        let me = world.own_number()?;
        fill(world, me);
        let waiter = world.start_asleep(|world| world.futex(lock_pi(world.address(0), PRIVATE, 0)))?;
        let answered = world.futex(unlock(world, Op::UnlockPi, PRIVATE, world.address(PENDING), 0));
        world.same("UNLOCK_PI with ROBUST_UNLOCK", answered, Ok(0))?;
        world.step(&"waits for the thread to which UNLOCK_PI with ROBUST_UNLOCK hands the lock");
        world.ends(waiter, "the waiter", Ok(0))?;
        world.names(0, "the word of the lock", world.number_of(waiter))?;
        pending_holds(world, 0, 0)
    }

    /// Unlocks with a pending entry at 0, where nothing is mapped, in memory that may only be read, and
    /// among the kernel's addresses.
    /// Linux answers EFAULT, after the lock was given up.
    #[needs(Faults)]
    #[since("7.2")]
    #[harm("A program that asks with a bad address what a kernel knows is told something else.")]
    fn bad_entry(world) {
        let read_only = world.pages(Protection::Read)?;
        for entry in [0, world.hole()?, read_only, KERNEL[0]] {
            each(world, entry, Err(Errno::FAULT), Some(0), ENTRY)?;
        }
        Ok(())
    }

    /// Unlocks by WAKE and by WAKE_BITSET a word that is misaligned, one where nothing is mapped, and one
    /// that may only be read; and with a bitset of 0.
    /// Linux answers EINVAL, EFAULT, EFAULT and EINVAL, and clears nothing.
    #[needs(Faults)]
    #[since("7.2")]
    #[harm("The pending entry is lost although the lock was not given up: the death of its owner goes unnoticed.")]
    fn bad_word(world) {
        let (hole, read_only) = (world.hole()?, world.pages(Protection::Read)?);
        let words = [
            (world.address(0) + 1, 1, Err(Errno::INVAL)),
            (hole, 1, Err(Errno::FAULT)),
            (read_only, 1, Err(Errno::FAULT)),
            (world.address(0), 0, Err(Errno::INVAL)),
        ];
        for (word, bits, linux) in words {
            for op in [Op::Wake, Op::WakeBitset] {
                if op == Op::Wake && bits == 0 {
                    continue;
                }
                fill(world, 1);
                let operation = op as u32 | ROBUST_UNLOCK | PRIVATE;
                let answered = world.futex(futex(word, operation, 1, 0, world.address(PENDING), bits));
                world.same(format_args!("operation {} with ROBUST_UNLOCK", op as u32), answered, linux)?;
                world.holds(0, "the word of the lock", 1)?;
                pending_holds(world, ENTRY, ENTRY)?;
            }
        }
        Ok(())
    }

    /// Uses the flag with operations that do not unlock, and with the flag CLOCK_REALTIME.
    /// Linux answers ENOSYS, and does nothing.
    #[since("7.2")]
    #[harm("A lock is given up by a call that its program cannot know to do so.")]
    fn other_operations(world) {
        fill(world, 1);
        let answered = world.futex(unlock(world, Op::Wake, PRIVATE, world.address(PENDING), 1));
        world.same("FUTEX_WAKE with ROBUST_UNLOCK", answered, Ok(0))?;
        let others = [Op::Wait, Op::WaitBitset, Op::Requeue, Op::CmpRequeue, Op::WakeOp, Op::LockPi, Op::TrylockPi];
        let others = others.into_iter().map(|op| (op, 0)).chain([(Op::Wake, REALTIME), (Op::UnlockPi, REALTIME)]);
        for (op, flags) in others {
            fill(world, 1);
            let answered = world.futex(unlock(world, op, PRIVATE | flags, world.address(PENDING), 1));
            let operation = op as u32 | flags;
            world.same(format_args!("operation {operation} with ROBUST_UNLOCK"), answered, Err(Errno::NOSYS))?;
            world.holds(0, "the word of the lock", 1)?;
            pending_holds(world, ENTRY, ENTRY)?;
        }
        Ok(())
    }
}
