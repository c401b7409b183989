//! Words that are none, memory that isn't there, and operations that aren't.

use crate::errno::{Answer, Errno};
use crate::futex::{
    ALL, Call, Change, Compare, Op, PRIVATE, Time, cmp_requeue, encode, futex, requeue, wait, wait_bitset, wake,
    wake_bitset, wake_op,
};
use crate::pages::{KERNEL, Protection};
use crate::scenario::{Outcome, Trouble, scenarios};
use crate::world::World;

/// What the operations answer at a word that is refused for its address, in the order of `operations`.
const MISALIGNED: [Answer; 7] = [Err(Errno::INVAL); 7];
const REFUSED: [Answer; 7] = [Err(Errno::FAULT); 7];
/// What they answer at a private word that cannot be read: wakes do not read it.
const UNREADABLE: [Answer; 7] = [Err(Errno::FAULT), Ok(0), Ok(0), Err(Errno::FAULT), Ok(0), Err(Errno::FAULT), Ok(0)];
/// What they answer at a word of 0 where no thread waits.
const GOOD: [Answer; 7] = [Err(Errno::TIMEDOUT), Ok(0), Ok(0), Ok(0), Ok(0), Err(Errno::TIMEDOUT), Ok(0)];

static ZERO: Time = Time::milliseconds(0);

scenarios! { "errors";
    /// Calls each operation with a word whose address is 1, 2 and 3 more than a multiple of 4, with the
    /// flag PRIVATE and without.
    /// Linux answers EINVAL.
    #[since("2.6.0")]
    #[harm("A word that lies across two pages, or on no word, is accepted and then not found.")]
    fn misaligned(world) {
        for flags in [PRIVATE, 0] {
            (1..4).try_for_each(|by| answer(world, operations(world, world.address(0) + by, flags), &MISALIGNED))?;
        }
        Ok(())
    }

    /// Calls REQUEUE, CMP_REQUEUE and WAKE_OP with a second word that is misaligned.
    /// Linux answers EINVAL.
    #[since("2.6.0")]
    #[harm("Waiters are moved to where no wake finds them.")]
    fn misaligned_second(world) {
        for flags in [PRIVATE, 0] {
            (1..4).try_for_each(|by| answer(world, second(world, world.address(1) + by, flags), &MISALIGNED))?;
        }
        Ok(())
    }

    /// Calls each operation with a misaligned word where nothing is mapped, and among the kernel's
    /// addresses.
    /// Linux answers EINVAL: the alignment comes before the memory.
    #[since("2.6.0")]
    #[harm("A program that asks with bad addresses what a kernel knows is told something else.")]
    fn misaligned_comes_before_unmapped(world) {
        let hole = world.hole()?;
        for word in [hole + 1, KERNEL[0] + 2, 3] {
            answer(world, operations(world, word, PRIVATE), &MISALIGNED)?;
        }
        Ok(())
    }

    /// Calls each operation with a private word where nothing is mapped, and at address 0.
    /// Linux answers EFAULT to WAIT, WAIT_BITSET and CMP_REQUEUE, which read the word, and 0 to the others.
    #[needs(Faults)]
    #[since("2.6.22")]
    #[harm("A thread that wakes after another has freed the word, as glibc's does, gets an error.")]
    fn unmapped_private(world) {
        answer(world, operations(world, world.hole()?, PRIVATE), &UNREADABLE)?;
        answer(world, operations(world, 0, PRIVATE), &UNREADABLE)
    }

    /// Calls each operation without the flag PRIVATE, with a word where nothing is mapped, and at 0.
    /// Linux answers EFAULT to each: it must find out what memory the word is in.
    #[needs(Faults)]
    #[since("2.6.0")]
    #[harm("A bad address goes unnoticed.")]
    fn unmapped_shared(world) {
        answer(world, operations(world, world.hole()?, 0), &REFUSED)?;
        answer(world, operations(world, 0, 0), &REFUSED)
    }

    /// Calls REQUEUE, CMP_REQUEUE and WAKE_OP with a private second word where nothing is mapped.
    /// Linux answers 0 to the requeues, which only look the word up, and EFAULT to WAKE_OP.
    #[needs(Faults)]
    #[since("2.6.22")]
    #[harm("A bad address goes unnoticed, or a call fails that succeeds on Linux.")]
    fn unmapped_second_private(world) {
        answer(world, second(world, world.hole()?, PRIVATE), &[Ok(0), Ok(0), Err(Errno::FAULT)])
    }

    /// Calls the three without the flag PRIVATE, with a second word where nothing is mapped.
    /// Linux answers EFAULT to each.
    #[needs(Faults)]
    #[since("2.6.0")]
    #[harm("A bad address goes unnoticed.")]
    fn unmapped_second_shared(world) {
        answer(world, second(world, world.hole()?, 0), &REFUSED)
    }

    /// Calls each operation with a word among the kernel's addresses, with the flag PRIVATE and without.
    /// Linux answers EFAULT to each, also to a private wake.
    #[needs(Faults)]
    #[since("2.6.22")]
    #[harm("A program reads the kernel's memory word by word, by asking what a word holds.")]
    fn kernel_address(world) {
        for word in KERNEL {
            world.step(&"calls an operation with a word among the kernel's addresses");
            answer(world, operations(world, word, PRIVATE), &REFUSED)?;
            answer(world, operations(world, word, 0), &REFUSED)?;
        }
        Ok(())
    }

    /// Calls REQUEUE, CMP_REQUEUE and WAKE_OP with a second word among the kernel's addresses.
    /// Linux answers EFAULT to each.
    #[needs(Faults)]
    #[since("2.6.22")]
    #[harm("A program changes the kernel's memory.")]
    fn kernel_address_second(world) {
        for word in KERNEL {
            world.step(&"calls an operation with a second word among the kernel's addresses");
            answer(world, second(world, word, PRIVATE), &REFUSED)?;
            answer(world, second(world, word, 0), &REFUSED)?;
        }
        Ok(())
    }

    /// Calls each operation with a word in memory that can't be read.
    /// Linux answers as where nothing is mapped.
    #[needs(Faults)]
    #[since("2.6.22")]
    #[harm("A program reads by a wait what it may not read.")]
    fn unreadable(world) {
        let pages = world.pages(Protection::Nothing)?;
        answer(world, operations(world, pages, PRIVATE), &UNREADABLE)?;
        answer(world, operations(world, pages, 0), &REFUSED)
    }

    /// Calls each operation with a private word in anonymous memory that can only be read.
    /// Linux answers as at any word: none of them writes to the first word.
    #[needs(Faults)]
    #[since("2.6.22")]
    #[harm("A thread cannot wait at a word that it may only read.")]
    fn read_only_private(world) {
        answer(world, operations(world, world.pages(Protection::Read)?, PRIVATE), &GOOD)
    }

    /// Calls each operation without the flag PRIVATE, with a word in anonymous memory that can only be
    /// read.
    /// Linux answers EFAULT to each.
    #[needs(Faults)]
    #[since("2.6.29")]
    #[harm("A wait succeeds at a page that its first write replaces by a copy: no wake finds it.")]
    fn read_only_shared(world) {
        answer(world, operations(world, world.pages(Protection::Read)?, 0), &REFUSED)
    }

    /// Calls REQUEUE, CMP_REQUEUE and WAKE_OP with a second word in anonymous memory that can only be read.
    /// Linux answers 0 to the private requeues, and EFAULT to WAKE_OP and to all without PRIVATE.
    #[needs(Faults)]
    #[since("2.6.29")]
    #[harm("A program writes to memory that it may only read.")]
    fn read_only_second(world) {
        let pages = world.pages(Protection::Read)?;
        answer(world, second(world, pages, PRIVATE), &[Ok(0), Ok(0), Err(Errno::FAULT)])?;
        answer(world, second(world, pages, 0), &REFUSED)
    }

    /// Calls each operation with a word in a page that no one has touched, with PRIVATE and without.
    /// Linux answers as at any word that holds 0: it faults the page in.
    #[since("2.6.22")]
    #[harm("A lock in fresh memory fails, until by chance it is touched.")]
    fn untouched_page(world) {
        for flags in [PRIVATE, 0] {
            for (at, linux) in GOOD.iter().enumerate() {
                let (name, call) = operations(world, world.pages(Protection::ReadWrite)?, flags)[at];
                answer(world, [(name, call)], &[*linux])?;
            }
            answer(world, second(world, world.pages(Protection::ReadWrite)?, flags), &[Ok(0), Ok(0)])?;
            let [_, _, change] = second(world, world.pages(Protection::ReadWrite)?, flags);
            answer(world, [change], &[Ok(0)])?;
        }
        Ok(())
    }

    /// Calls each operation with the last word of a page, after which nothing is mapped.
    /// Linux answers as at any word.
    #[since("2.6.22")]
    #[harm("A kernel that reads eight bytes for four faults at the end of memory.")]
    fn last_word_before_a_hole(world) {
        for flags in [PRIVATE, 0] {
            let word = world.hole()? - 4;
            answer(world, operations(world, word, flags), &GOOD)?;
            answer(world, second(world, word, flags), &[Ok(0), Ok(0), Ok(0)])?;
        }
        Ok(())
    }

    /// A thread waits at a private word in a page that no one has written to; the page is written to;
    /// a wake of one.
    /// Linux answers 1: the word is its address, whatever page is there.
    #[since("2.6.22")]
    #[harm("A lock hangs when the memory beside it is written to for the first time.")]
    fn page_is_replaced_while_one_waits(world) {
        keep_address(world, world.pages(Protection::ReadWrite)?);
        let sleeper = world.sleeper(|world| world.futex(wait(kept_address(world), PRIVATE, 0, 0)))?;
        // SAFETY: an aligned word of a mapping that can be written to.
        unsafe { core::ptr::with_exposed_provenance_mut::<u32>(kept_address(world) + 4).write_volatile(1) };
        world.sleeps(sleeper, "the sleeper")?;
        world.same("FUTEX_WAKE", world.futex(wake(kept_address(world), PRIVATE, 1)), Ok(1))?;
        world.all_end(&[sleeper])
    }

    /// A thread waits at a private word in memory that can only be read; a wake of one.
    /// Linux answers 1.
    #[needs(Faults)]
    #[since("2.6.22")]
    #[harm("A thread that watches a word which it may only read hangs.")]
    fn read_only_word_is_woken(world) {
        keep_address(world, world.pages(Protection::Read)?);
        let sleeper = world.sleeper(|world| world.futex(wait(kept_address(world), PRIVATE, 0, 0)))?;
        world.same("FUTEX_WAKE", world.futex(wake(kept_address(world), PRIVATE, 1)), Ok(1))?;
        world.all_end(&[sleeper])
    }

    /// A thread waits at a private word, which is unmapped; a wake of one.
    /// Linux answers 1: the word is its address.
    #[since("2.6.22")]
    #[harm("A thread hangs whose word was freed by the one that wakes it, or the kernel crashes.")]
    fn unmapped_while_one_waits(world) {
        keep_address(world, world.pages(Protection::ReadWrite)?);
        let sleeper = world.sleeper(|world| world.futex(wait(kept_address(world), PRIVATE, 0, 0)))?;
        world.unmap(kept_address(world))?;
        world.sleeps(sleeper, "the sleeper")?;
        world.same("FUTEX_WAKE", world.futex(wake(kept_address(world), PRIVATE, 1)), Ok(1))?;
        world.all_end(&[sleeper])
    }

    /// A thread waits at the first word; calls that would wake or move it, but whose second word is
    /// misaligned, or among the kernel's addresses, or unmapped.
    /// Linux answers errors, and the thread sleeps on at its word.
    #[needs(Faults)]
    #[since("2.6.22")]
    #[harm("A call that fails has done half of its work, and the program does it again.")]
    fn refused_calls_wake_none(world) {
        let sleeper = world.sleeper(|world| world.sleep_on(0))?;
        answer(world, second(world, world.address(1) + 2, PRIVATE), &MISALIGNED)?;
        answer(world, second(world, KERNEL[0], PRIVATE), &REFUSED)?;
        let [_, _, unmapped] = second(world, world.hole()?, PRIVATE);
        answer(world, [unmapped], &REFUSED)?;
        world.sleeps(sleeper, "the sleeper")?;
        world.same("FUTEX_WAKE", world.wake_at(0, ALL), Ok(1))?;
        world.all_end(&[sleeper])
    }

    /// Calls operations that there are not: 2, which there was once, 14, 64 and 127, at a good word, a
    /// misaligned one and one where nothing is mapped.
    /// Linux answers ENOSYS to each.
    #[seen("OSv 853: aborts on other operations")]
    #[since("2.6.26")]
    #[harm("A program that asks whether there is an operation believes that there is, or the kernel stops.")]
    fn unknown_operation(world) {
        world.same("FUTEX_WAKE", world.wake_at(0, 1), Ok(0))?;
        let hole = world.hole()?;
        for word in [world.address(0), world.address(0) + 1, hole] {
            for operation in [2, 14, 64, 127] {
                for flags in [0, PRIVATE] {
                    world.step(&"calls an operation that there is not");
                    let answered = world.futex(futex(word, operation | flags, 1, 0, 0, 0));
                    world.same(format_args!("operation {operation}"), answered, Err(Errno::NOSYS))?;
                }
            }
        }
        Ok(())
    }

    /// Calls FUTEX_WAIT with another value, and FUTEX_WAKE, with flags that there are not: bits 11, 16 and 31.
    /// Linux answers ENOSYS to each: it takes them for a part of the operation's number.
    #[seen("OSv 853: aborts on other operations")]
    #[since("2.6.22")]
    #[harm("A program that asks whether there is a flag believes that there is.")]
    fn unknown_flags(world) {
        world.same("FUTEX_WAKE", world.wake_at(0, 1), Ok(0))?;
        for flag in [1 << 11, 1 << 16, 1 << 31] {
            for operation in [Op::Wait, Op::Wake] {
                let operation = operation as u32;
                let answered = world.futex(futex(world.address(0), operation | PRIVATE | flag, 1, 0, 0, 0));
                world.same(format_args!("operation {operation} with {flag:#x}"), answered, Err(Errno::NOSYS))?;
            }
        }
        Ok(())
    }

    /// Calls operations with something in the upper halves of the registers of operation, values and
    /// counts.
    /// Linux looks at the lower halves alone.
    #[since("2.6.29")]
    #[harm("A call from a program that leaves the upper halves as they were fails, or never ends.")]
    fn upper_halves_do_not_matter(world) {
        let upper = |call: Call, arguments: &[usize]| {
            let mut call = call;
            arguments.iter().for_each(|&at| call.arguments[at] |= 0x5555_5555 << 32);
            world.futex(call)
        };
        world.step(&"waits with a value in the upper half of a register");
        let waited = upper(wait(world.address(0), PRIVATE, 0, ZERO.address()), &[1, 2]);
        world.same("FUTEX_WAIT with the value in the lower half", waited, Err(Errno::TIMEDOUT))?;
        let sleepers = world.asleep::<3>(|world| world.sleep_on(0))?;
        let woken = upper(wake(world.address(0), PRIVATE, 1), &[1, 2]);
        world.same("FUTEX_WAKE with a count of 1 in the lower half", woken, Ok(1))?;
        let moved = upper(cmp_requeue(world.address(0), PRIVATE, 0, world.address(1), 1, 0), &[1, 2, 3, 5]);
        world.same("FUTEX_CMP_REQUEUE of 1 with counts in the lower halves", moved, Ok(1))?;
        world.same("FUTEX_WAKE at the old word", world.wake_at(0, ALL), Ok(1))?;
        world.same("FUTEX_WAKE at the new word", world.wake_at(1, ALL), Ok(1))?;
        world.all_end(&sleepers)
    }
}

/// Returns a call of each operation at this first word; none of them sleeps.
fn operations(world: &World<'_>, word: usize, flags: u32) -> [(&'static str, Call); 7] {
    let second = world.address(9);
    [
        ("FUTEX_WAIT", wait(word, flags, 0, ZERO.address())),
        ("FUTEX_WAKE", wake(word, flags, 1)),
        ("FUTEX_REQUEUE", requeue(word, flags, 1, second, 1)),
        ("FUTEX_CMP_REQUEUE", cmp_requeue(word, flags, 1, second, 1, 0)),
        ("FUTEX_WAKE_OP", wake_op(word, flags, 1, second, 1, SET_1)),
        ("FUTEX_WAIT_BITSET", wait_bitset(word, flags, 0, ZERO.address(), 1)),
        ("FUTEX_WAKE_BITSET", wake_bitset(word, flags, 1, 1)),
    ]
}

const SET_1: u32 = encode(Change::Set as u32, 1, Compare::Equal as u32, 0);

/// Returns a call of each operation that has a second word, with this one; the first is word 0.
fn second(world: &World<'_>, word: usize, flags: u32) -> [(&'static str, Call); 3] {
    let first = world.address(0);
    [
        ("FUTEX_REQUEUE, by its second word,", requeue(first, flags, 1, word, 1)),
        ("FUTEX_CMP_REQUEUE, by its second word,", cmp_requeue(first, flags, 1, word, 1, 0)),
        ("FUTEX_WAKE_OP, by its second word,", wake_op(first, flags, 1, word, 1, SET_1)),
    ]
}

/// Asserts what calls answer. Where one is absent, the others are asked all the same.
fn answer<const N: usize>(world: &World<'_>, calls: [(&'static str, Call); N], linux: &[Answer]) -> Outcome {
    let mut outcome = Ok(());
    for ((name, call), &linux) in calls.into_iter().zip(linux) {
        let [first, .., second, _] = call.arguments;
        let answered = world.futex(call);
        match world.same(format_args!("{name} at {first:#x}, second word {second:#x},"), answered, linux) {
            Err(Trouble::Absent(text)) => outcome = Err(Trouble::Absent(text)),
            asked => asked?,
        }
    }
    outcome
}

/// Keeps an address in words 2 and 3, for threads.
fn keep_address(world: &World<'_>, address: usize) {
    world.set(2, address as u32);
    world.set(3, (address as u64 >> 32) as u32);
}

fn kept_address(world: &World<'_>) -> usize {
    (u64::from(world.get(3)) << 32 | u64::from(world.get(2))) as usize
}
