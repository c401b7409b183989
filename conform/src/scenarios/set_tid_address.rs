//! `set_tid_address`: the word that becomes 0 when its thread ends, and whom that wakes.

use crate::errno::{Answer, Errno};
use crate::futex::{ALL, PRIVATE, wait, wake};
use crate::objects::Map;
use crate::pages::{KERNEL, Protection};
use crate::scenario::{Outcome, scenarios};
use crate::task_words::{SHARED, THERE, WORD, too_late};
use crate::world::{Body, World, unfit, wrong};

/// The word that is named first where another is named after it.
const FIRST: usize = 4;
/// Where threads find an address.
const ADDRESS: usize = 10;
/// How many threads are joined one after the other.
const THREADS: usize = 100;

/// Names the word, and ends when it may.
fn has_word(world: &World<'_>) -> Answer {
    world.named(world.set_tid_address(world.address(WORD)))
}

/// Names a word elsewhere, and ends when it may.
fn has_word_elsewhere(world: &World<'_>) -> Answer {
    world.named(world.set_tid_address(world.address_in(ADDRESS)))
}

/// Asserts that a thread whose word cannot be written ends nevertheless.
fn ends_without(world: &World<'_>, address: usize) -> Outcome {
    world.set_address(ADDRESS, address);
    let thread = world.thread_with_word(has_word_elsewhere)?;
    world.end_thread(thread)?;
    world.is_gone(thread)
}

scenarios! { "set_tid_address";
    /// A thread names its word: in its memory, at an address that is not mapped, at one that is misaligned, at one of
    /// the kernel's, and none (0).
    /// Linux answers the thread's number each time.
    #[since("2.5.49")]
    #[harm("A C library's first call ends the program, or it takes another number for its thread's.")]
    fn answers_the_number(world) {
        world.set_address(ADDRESS, world.hole()?);
        let thread = world.thread_with_word(|world| {
            let number = world.own_number().unwrap_or_default() as usize;
            for address in [world.address(WORD), world.address_in(ADDRESS), world.address(WORD) + 1, KERNEL[0]] {
                let answered = world.set_tid_address(address);
                if answered != Ok(number) {
                    return answered;
                }
            }
            world.named(world.set_tid_address(0))
        })?;
        world.end_thread(thread)
    }

    /// A thread names its word, which holds its value as long as the thread is there; then the thread ends.
    /// Linux stores 0 in the word, and leaves the one behind it.
    #[since("2.5.49")]
    #[harm("Every pthread_join hangs, and stacks of threads that ended are never used again.")]
    fn word_is_cleared(world) {
        let thread = world.thread_with_word(has_word)?;
        world.set(WORD + 1, THERE);
        world.rest();
        world.is_left(WORD, "the word of a thread that is there")?;
        world.end_thread(thread)?;
        world.is_cleared(WORD);
        world.is_left(WORD + 1, "the word behind that of a thread that has ended")
    }

    /// A thread waits, without the private flag, for the word of another, which ends.
    /// Linux stores 0 and wakes the waiter: its call answers 0.
    #[since("2.5.49")]
    #[harm("Every pthread_join hangs that comes before the thread's end.")]
    fn waiter_is_woken(world) {
        let thread = world.thread_with_word(has_word)?;
        let waiter = world.joiner()?;
        world.end_thread(thread)?;
        world.is_joined(waiter)?;
        world.holds(WORD, "the word of a thread that has ended", 0)
    }

    /// A thread waits, with the private flag, for the word of another, which ends.
    /// Linux stores 0, and the waiter sleeps on: the kernel's wake is one without the private flag.
    #[since("2.6.22")]
    #[harm("A library that waits with the private flag works here and hangs on Linux.")]
    fn private_waiter_is_not_woken(world) {
        let thread = world.thread_with_word(has_word)?;
        let waiter = world.start_asleep(|world| world.futex(wait(world.address(WORD), PRIVATE, THERE, 0)))?;
        world.end_thread(thread)?;
        world.is_cleared(WORD);
        world.rest();
        if world.has_ended(waiter) && world.end_of(waiter) == Err(Errno::AGAIN) {
            return too_late();
        }
        world.sleeps(waiter, "a waiter with the private flag")?;
        world.meets(waiter, world.address(WORD), PRIVATE, "the word, with the private flag,")
    }

    /// Two threads wait for the word of a third, which ends.
    /// Linux wakes one; a wake of all then answers 1.
    #[since("2.5.49")]
    #[harm("A program that counts on one wake a thread, or hands it on, has too many or none.")]
    fn one_waiter_is_woken(world) {
        let thread = world.thread_with_word(has_word)?;
        let waiters = [world.joiner()?, world.joiner()?];
        world.end_thread(thread)?;
        world.step(&"waits until one of two waiters for the word of a thread that has ended is woken");
        let first = world.first_to_end(&waiters);
        world.is_joined(waiters[first])?;
        let other = waiters[1 - first];
        world.rest();
        if world.has_ended(other) && world.end_of(other) == Err(Errno::AGAIN) {
            return too_late();
        }
        world.sleeps(other, "the other waiter")?;
        let woken = world.futex(wake(world.address(WORD), SHARED, ALL));
        world.same("FUTEX_WAKE of the other waiter", woken, Ok(1))?;
        world.is_joined(other)
    }

    /// A thread names a word, and then another one; it ends.
    /// Linux stores 0 in the last that was named, and leaves the first.
    #[since("2.5.49")]
    #[harm("The kernel writes to memory that a program has long used for other things.")]
    fn last_word_counts(world) {
        world.set(FIRST, THERE);
        let thread = world.thread_with_word(|world| {
            let _ = world.set_tid_address(world.address(FIRST));
            has_word(world)
        })?;
        world.end_thread(thread)?;
        world.is_cleared(WORD);
        world.is_left(FIRST, "the word that was named first")
    }

    /// A thread names a word, and then none (0); it ends.
    /// Linux leaves the word.
    #[needs(Signals)]
    #[since("2.5.49")]
    #[harm("The kernel writes to memory that a program has taken back.")]
    fn address_0_is_no_word(world) {
        let thread = world.thread_with_word(|world| {
            let _ = world.set_tid_address(world.address(WORD));
            world.named(world.set_tid_address(0))
        })?;
        world.end_thread(thread)?;
        world.is_gone(thread)?;
        world.is_left(WORD, "the word that was named before none")
    }

    /// A thread that has named its word starts another one, which names none and ends. Then the first ends.
    /// Linux leaves the word until the first ends.
    #[needs(Signals)]
    #[since("2.5.49")]
    #[harm("A thread is joined that still runs: its stack is given back while it is used.")]
    fn new_thread_has_none(world) {
        let creator: Body = |world| {
            let answered = world.set_tid_address(world.address(WORD));
            let started = world.start(|_| Ok(0)).and_then(|other| {
                let _ = world.end_of(other);
                world.is_gone(other)
            });
            world.set(FIRST, u32::from(started.is_ok()));
            world.named(answered)
        };
        let thread = world.thread_with_word(creator)?;
        if world.get(FIRST) == 0 {
            return Err(unfit(format_args!("a thread cannot start another, or see its end")));
        }
        world.is_left(WORD, "the word of a thread that is there")?;
        world.end_thread(thread)?;
        world.is_cleared(WORD);
        Ok(())
    }

    /// Threads whose words are at an address that is not mapped, at one of the kernel's, and in memory that may only
    /// be read; they end.
    /// Linux lets them end: neither the store's failure nor the wake's is told to anyone.
    #[needs(Faults, Signals)]
    #[since("2.5.49")]
    #[harm("A thread whose stack was given back before its end ends the program, or the kernel crashes.")]
    fn words_that_cannot_be_written(world) {
        let read_only = world.pages(Protection::Read)?;
        for address in [world.hole()?, KERNEL[0], KERNEL[1], read_only] {
            ends_without(world, address)?;
        }
        let answered = world.futex(wait(read_only, PRIVATE, THERE, 0));
        world.same("FUTEX_WAIT of the word that may only be read", answered, Err(Errno::AGAIN))
    }

    /// A child process waits for a word of memory that it shares, which a thread of its parent has named; the thread
    /// ends.
    /// Linux wakes the child: its call answers 0.
    #[needs(Fork)]
    #[since("2.6.0")]
    #[harm("A process that waits for another's thread hangs.")]
    fn waiter_in_another_process(world) {
        let shared = world.map(Map::SHARED)?;
        world.store(shared.word(0), THERE);
        world.set_address(ADDRESS, shared.word(0));
        let thread = world.thread_with_word(has_word_elsewhere)?;
        let child = world.child(|world| world.futex(wait(world.address_in(ADDRESS), SHARED, THERE, 0)))?;
        world.rest();
        world.end_thread(thread)?;
        world.step(&"waits for a child that waits for the word of a thread that has ended");
        match world.status_of(child)? {
            status if status >> 8 == i32::from(Errno::AGAIN.0) => too_late(),
            0 => Ok(()),
            status => wrong(format_args!("the child's wait ends with status {status:#x}; on Linux it answers 0")),
        }
    }

    /// A child process, which is alone in its memory, names a word of memory that it shares with its parent; it ends.
    /// A thread of the parent waits for the word.
    /// Linux leaves the word and wakes no one: the word is for those who share the thread's whole memory.
    #[needs(Fork)]
    #[since("2.6.0")]
    #[harm("None that programs rely on; but an ended process writes to memory that others use.")]
    fn alone_in_its_memory(world) {
        let shared = world.map(Map::SHARED)?;
        world.store(shared.word(0), THERE);
        world.set_address(ADDRESS, shared.word(0));
        let waiter = world.start_asleep(|world| world.futex(wait(world.address_in(ADDRESS), SHARED, THERE, 0)))?;
        let child = world.child(|world| world.set_tid_address(world.address_in(ADDRESS)))?;
        world.step(&"waits for a child that has named a word");
        world.ends_well(child, "a child that calls set_tid_address")?;
        if world.futex(wait(shared.word(0), SHARED, 0, 0)) != Err(Errno::AGAIN) {
            return wrong(format_args!("the word of a process that ended alone holds 0; on Linux what stood there"));
        }
        world.sleeps(waiter, "a waiter for the word of a process that ended alone")?;
        world.meets(waiter, shared.word(0), SHARED, "the word")
    }

    /// A hundred threads, one after the other, name their word and end at once; each is joined meanwhile: a thread
    /// waits until the word is 0.
    /// On Linux no wait misses the end.
    #[since("2.5.49")]
    #[harm("pthread_join hangs, now and then.")]
    fn threads_are_joined(world) {
        let first = world.thread_with_word(has_word)?;
        world.end_thread(first)?;
        world.join()?;
        for _ in 1..THREADS {
            world.set(WORD, THERE);
            let thread = world.start(|world| world.set_tid_address(world.address(WORD)))?;
            world.step(&"joins a thread that ends at this moment");
            world.join()?;
            world.same("set_tid_address", world.end_of(thread), Ok(world.number_of(thread) as usize))?;
        }
        Ok(())
    }
}
