//! `clone`: the words that its flags name, and processes that share their parent's whole memory (`CLONE_VM` without
//! `CLONE_THREAD`), whose private words are the same ones.

use crate::barriers::{Light, PRIVATE_EXPEDITED, REGISTER_PRIVATE_EXPEDITED};
use crate::errno::{Answer, Errno};
use crate::futex::{ALL, PRIVATE, requeue, wait, wake};
use crate::futex_pi::{OWNER_DIED, WAITERS, lock_pi, unlock_pi};
use crate::processes::{Child, SHARER, SIGKILL};
use crate::robust_list::has_list;
use crate::scenario::{Outcome, Trouble, scenarios};
use crate::syscalls::THREAD;
use crate::task_words::{MAY_END, SHARED, THERE, WORD, has_number};
use crate::world::{Body, Started, World, wrong};

const PARENT_SETTID: usize = 0x10_0000;
const CHILD_CLEARTID: usize = 0x20_0000;
const CHILD_SETTID: usize = 0x100_0000;

/// The world's word for the number that `clone` tells the parent.
const PARENT: usize = 2;
/// The word by which a task says that it has done what it was to do.
const DONE: usize = 9;
/// The number of a lock's word, and of the one that says that its owner may leave.
const LOCK: usize = 12;
const MAY_LEAVE: usize = 13;

/// Starts a process that shares this one's memory.
fn sharer(world: &World<'_>, body: Body) -> Result<(Started, Child), Trouble> {
    let (started, number) = world.start_as(SHARER, [PARENT, WORD], body)?;
    Ok((started, Child(number)))
}

/// As `sharer`, with its word: `CLONE_CHILD_CLEARTID`. It holds a value while the process is there.
fn sharer_with_word(world: &World<'_>, body: Body) -> Result<(Started, Child), Trouble> {
    world.set(WORD, THERE);
    let (started, number) = world.start_as(SHARER | CHILD_CLEARTID, [PARENT, WORD], body)?;
    Ok((started, Child(number)))
}

/// Waits for the end of a process whose body has answered.
fn is_reaped(world: &World<'_>, child: Child) -> Outcome {
    world.step(&"waits for the end of a process that shares its parent's memory");
    world.status_of(child).map(drop)
}

/// A process that ends in some way while a thread waits for its word: asserts that the thread is woken.
fn is_joined_after(world: &World<'_>, body: Body, end: impl FnOnce(Child)) -> Outcome {
    let (_, child) = sharer_with_word(world, body)?;
    let waiter = world.joiner()?;
    world.is_left(WORD, "the word of a process that is there")?;
    end(child);
    world.is_joined(waiter)?;
    world.holds(WORD, "the word of a process that has ended", 0)?;
    is_reaped(world, child)
}

fn ends_when_it_may(world: &World<'_>) -> Answer {
    world.may_go_on(MAY_END);
    Ok(0)
}

fn lock(world: &World<'_>) -> Answer {
    world.futex(lock_pi(world.address(LOCK), PRIVATE, 0))
}

/// Locks, says so, and ends when it may.
fn locks(world: &World<'_>) -> Answer {
    let answered = lock(world);
    world.set(DONE, 1);
    world.may_go_on(MAY_END);
    answered
}

/// Asserts what the word of the lock is for its owner, whatever its waiters bit.
fn is_owned(world: &World<'_>, by: u32, also: u32) -> Outcome {
    match world.get(LOCK) & !WAITERS {
        word if word == by | also => Ok(()),
        word => wrong(format_args!("the lock's word holds {word:#x}; on Linux {:#x}", by | also)),
    }
}

scenarios! { "clone";
    /// A thread is started with CLONE_PARENT_SETTID and CLONE_CHILD_SETTID.
    /// Linux stores its number in the first word before clone returns, in the other before the thread runs, and answers
    /// it.
    #[since("2.5.49")]
    #[harm("A thread that asks for its own number right at its start takes another's, and its locks with it.")]
    fn numbers_are_stored(world) {
        let own: Body = |world| {
            let number = world.own_number().unwrap_or_default();
            Ok(usize::from(number == world.get(WORD)))
        };
        let flags = THREAD | PARENT_SETTID | CHILD_SETTID;
        let (thread, number) = world.start_as(flags, [PARENT, WORD], own)?;
        has_number(world, thread, number)?;
        world.holds(PARENT, "the word for the parent, after clone,", number as u32)?;
        world.step(&"waits for a thread that looks at its number");
        match world.end_of(thread) {
            Ok(1) => Ok(()),
            _ => wrong(format_args!("a new thread does not find its number in its word; on Linux it does")),
        }
    }

    /// A thread is started with CLONE_CHILD_CLEARTID; another waits for the word; the thread ends.
    /// Linux stores 0 in the word and wakes the waiter.
    #[since("2.5.49")]
    #[harm("Every pthread_join hangs.")]
    fn word_of_a_thread_is_cleared(world) {
        world.set(WORD, THERE);
        let (thread, number) = world.start_as(THREAD | CHILD_CLEARTID, [PARENT, WORD], ends_when_it_may)?;
        has_number(world, thread, number)?;
        let waiter = world.joiner()?;
        world.is_left(WORD, "the word of a thread that is there")?;
        world.let_end();
        world.is_joined(waiter)?;
        world.holds(WORD, "the word of a thread that has ended", 0)
    }

    /// A thread is started with CLONE_CHILD_CLEARTID, and names another word by set_tid_address; it ends.
    /// Linux stores 0 in the other word, and leaves the first.
    #[since("2.5.49")]
    #[harm("The kernel writes to memory that a program has taken back.")]
    fn set_tid_address_replaces_the_word(world) {
        world.set(WORD, THERE);
        world.set(PARENT, THERE);
        let names: Body = |world| world.set_tid_address(world.address(PARENT));
        let (thread, number) = world.start_as(THREAD | CHILD_CLEARTID, [PARENT, WORD], names)?;
        world.same("set_tid_address", world.end_of(thread), Ok(number))?;
        world.is_cleared(PARENT);
        world.is_left(WORD, "the word that clone was given")
    }

    /// A hundred threads, one after the other, are started with their number in the word that CLONE_CHILD_CLEARTID
    /// names, and end at once; each is joined: a thread waits until the word is 0.
    /// On Linux no wait misses the end.
    #[since("2.5.49")]
    #[harm("pthread_join hangs, now and then.")]
    fn threads_are_joined(world) {
        let flags = THREAD | PARENT_SETTID | CHILD_CLEARTID;
        for _ in 0..100 {
            let (thread, number) = world.start_as(flags, [WORD, WORD], |_| Ok(0))?;
            has_number(world, thread, number)?;
            world.step(&"joins a thread that ends at this moment");
            world.join()?;
        }
        Ok(())
    }

    /// A process that shares its parent's memory waits for a word, with the private flag and without; the parent
    /// wakes it. Then the parent's thread waits, and the process wakes it.
    /// Linux answers 1 to the wakes and 0 to the waits: a private word is one of the memory, not of the process.
    #[needs(Fork)]
    #[since("2.6.22")]
    #[harm("Processes that share memory (vfork, posix_spawn, LinuxThreads, wine) do not wake each other.")]
    fn words_of_one_memory_meet(world) {
        let sleep: Body = |world| world.futex(wait(world.address(WORD), world.get(PARENT), 0, 0));
        let wakes: Body = |world| world.futex(wake(world.address(WORD), world.get(PARENT), ALL));
        for flags in [PRIVATE, SHARED] {
            world.set(PARENT, flags);
            let (started, child) = sharer(world, sleep)?;
            world.step(&"wakes until the process that shares memory is woken");
            let woken = world.until_not_zero(|| world.futex(wake(world.address(WORD), flags, ALL)));
            world.same(format_args!("FUTEX_WAKE, flags {flags}, of a process that shares memory"), woken, Ok(1))?;
            world.step(&"waits for the end of a wait in a process that shares memory");
            world.ends(started, "the process that shares memory", Ok(0))?;
            is_reaped(world, child)?;
            let sleeper = world.start_asleep(sleep)?;
            let (started, child) = sharer(world, wakes)?;
            let what = "FUTEX_WAKE by a process that shares memory";
            world.same(what, world.end_of(started), Ok(1))?;
            world.step(&"waits for the end of the sleeper's call");
            world.ends(sleeper, "the sleeper", Ok(0))?;
            is_reaped(world, child)?;
        }
        Ok(())
    }

    /// A thread waits for a private word; a process that shares its memory moves it to another word and wakes it
    /// there.
    /// Linux answers 1 to the requeue and 1 to the wake.
    #[needs(Fork)]
    #[since("2.6.22")]
    #[harm("Processes that share memory do not wake each other.")]
    fn moves_in_one_memory(world) {
        let sleeper = world.sleeper(|world| world.sleep_on(WORD))?;
        let (started, child) = sharer(world, |world| {
            let moved = world.futex(requeue(world.address(WORD), PRIVATE, 0, world.address(PARENT), 1))?;
            world.set(DONE, moved as u32);
            world.futex(wake(world.address(PARENT), PRIVATE, ALL))
        })?;
        world.same("FUTEX_WAKE after FUTEX_REQUEUE, by a process that shares memory", world.end_of(started), Ok(1))?;
        world.holds(DONE, "what FUTEX_REQUEUE of a process that shares memory answered", 1)?;
        world.all_end(&[sleeper])?;
        is_reaped(world, child)
    }

    /// A process that shares its parent's memory has a private lock with priority inheritance, for which a thread of
    /// the parent waits; the process unlocks it.
    /// Linux hands the lock to the thread: the call answers 0 and the word names it.
    #[needs(Fork)]
    #[since("2.6.22")]
    #[harm("Processes that share memory hang, or have a lock both.")]
    fn lock_is_handed_over_in_one_memory(world) {
        // The owner stays, so that it is not its end that hands the lock over.
        let owns: Body = |world| {
            locks(world)?;
            world.futex(unlock_pi(world.address(LOCK), PRIVATE))?;
            world.may_go_on(MAY_LEAVE);
            Ok(0)
        };
        let (owner, child) = sharer(world, owns)?;
        world.step(&"waits for a process that locks");
        world.wait_until(|| world.get(DONE) == 1);
        let next = world.sleeper(lock)?;
        world.sleeps(next, "a thread that locks a lock of a process that shares memory")?;
        world.let_end();
        world.step(&"waits for the thread that a process which shares memory handed its lock to");
        world.ends(next, "FUTEX_LOCK_PI", Ok(0))?;
        is_owned(world, world.number_of(next), 0)?;
        world.set(MAY_LEAVE, 1);
        world.ends(owner, "FUTEX_UNLOCK_PI of a process that shares memory", Ok(0))?;
        is_reaped(world, child)
    }

    /// A process that shares its parent's memory has a private lock with priority inheritance, for which a thread of
    /// the parent waits; the process is killed by SIGKILL.
    /// Linux hands the lock to the thread that waits, with the owner-died bit; the other threads live on.
    #[needs(Fork)]
    #[since("2.6.22")]
    #[harm("Processes that share memory hang when one of them is killed.")]
    fn owner_in_one_memory_is_killed(world) {
        let (_, child) = sharer(world, locks)?;
        world.step(&"waits for a process that locks");
        world.wait_until(|| world.get(DONE) == 1);
        let next = world.sleeper(lock)?;
        world.sleeps(next, "a thread that locks a lock of a process that shares memory")?;
        world.kill(child, SIGKILL);
        world.step(&"waits for a thread that waits for the lock of a process that was killed");
        world.ends(next, "FUTEX_LOCK_PI", Ok(0))?;
        is_owned(world, world.number_of(next), OWNER_DIED)?;
        is_reaped(world, child)
    }

    /// A process that shares its parent's memory has a robust list with a lock, and is killed by SIGKILL.
    /// Linux marks the lock with the owner-died bit.
    #[needs(Fork)]
    #[since("2.6.17")]
    #[harm("The lock of a process that was killed stays locked for ever.")]
    fn robust_list_in_one_memory(world) {
        world.has_robust_lists()?;
        let list = world.new_list()?;
        let (_, child) = sharer(world, has_list)?;
        let owner = world.owner_of_list()?;
        list.link(1, owner);
        world.kill(child, SIGKILL);
        is_reaped(world, child)?;
        list.is_marked(world, 0, "a lock in the list of a process that was killed")
    }

    /// A process that shares its parent's memory has a word by CLONE_CHILD_CLEARTID, for which a thread of the parent
    /// waits; the process ends.
    /// Linux stores 0 and wakes the thread.
    #[needs(Fork)]
    #[since("2.5.49")]
    #[harm("A program that started a helper in its own memory waits for its end for ever.")]
    fn word_of_a_process_that_ends(world) {
        is_joined_after(world, ends_when_it_may, |_| world.let_end())
    }

    /// A process that shares its parent's memory has a word by CLONE_CHILD_CLEARTID, for which a thread of the parent
    /// waits; the process is killed by SIGKILL.
    /// Linux stores 0 and wakes the thread.
    #[needs(Fork)]
    #[since("4.9")]
    #[harm("A program whose helper was killed waits for its end for ever.")]
    fn word_of_a_process_that_is_killed(world) {
        is_joined_after(world, ends_when_it_may, |child| world.kill(child, SIGKILL))
    }

    /// A process that shares its parent's memory has a word by CLONE_CHILD_CLEARTID, for which a thread of the parent
    /// waits; the process executes another program, by which it leaves the memory.
    /// Linux stores 0 and wakes the thread.
    #[needs(Fork)]
    #[since("2.6.0")]
    #[harm("posix_spawn of a C library that waits for the word hangs.")]
    fn word_of_a_process_that_executes(world) {
        let (_, child) = sharer_with_word(world, |world| {
            world.may_go_on(MAY_END);
            world.execute_nothing()
        })?;
        let waiter = world.joiner()?;
        world.let_end();
        world.has_done(child, "execute a program")?;
        world.is_joined(waiter)?;
        world.holds(WORD, "the word of a process that executes a program", 0)
    }

    /// A process that shares its parent's memory registers for the private expedited barrier; the parent asks for it.
    /// Linux answers 0: a registration is the memory's.
    #[needs(Fork)]
    #[since("4.14")]
    #[harm("A program whose helper registered has no barriers, and mostly ends.")]
    fn registration_is_the_memorys(world) {
        world.has_barriers(PRIVATE_EXPEDITED | REGISTER_PRIVATE_EXPEDITED)?;
        world.is_unregistered(REGISTER_PRIVATE_EXPEDITED)?;
        let unregistered = world.membarrier(PRIVATE_EXPEDITED, 0, 0);
        world.same("membarrier before the registration", unregistered, Err(Errno::PERM))?;
        let (started, child) = sharer(world, |world| world.membarrier(REGISTER_PRIVATE_EXPEDITED, 0, 0))?;
        world.ends(started, "a process that shares memory and registers", Ok(0))?;
        is_reaped(world, child)?;
        let answered = world.membarrier(PRIVATE_EXPEDITED, 0, 0);
        world.same("membarrier after the registration by a process that shares memory", answered, Ok(0))?;
        // Other scenarios in this process are to know.
        world.register(REGISTER_PRIVATE_EXPEDITED)
    }

    /// Thousands of rounds: one thread stores, calls the private expedited command, and loads; a process that shares
    /// its memory stores and loads, with no instruction in between.
    /// On Linux at least one of the two loads sees the other's store.
    #[needs(Fork, Processors)]
    #[since("4.14")]
    #[harm("Hazard pointers, RCU and garbage collectors free memory that is in use.")]
    fn barrier_reaches_the_whole_memory(world) {
        world.has_barriers(PRIVATE_EXPEDITED | REGISTER_PRIVATE_EXPEDITED)?;
        world.register(REGISTER_PRIVATE_EXPEDITED)?;
        world.orders_stores(Light::Sharer, &|| world.membarrier(PRIVATE_EXPEDITED, 0, 0))
    }
}
