//! Which waiters the death of a thread wakes, of the locks in its robust list and of the one that is
//! pending: being locked or unlocked.

use core::sync::atomic::Ordering;

use crate::futex::wait;
use crate::futex_pi::{NO_THREAD, OWNER_DIED, WAITERS};
use crate::processes::SIGKILL;
use crate::robust_list::INHERITS;
use crate::scenario::{Outcome, Trouble, scenarios};
use crate::world::{Started, World, unfit};

/// The word of the world with what the word of the lock was when a waiter woke.
const FOUND: usize = 10;

/// Starts a thread that waits for a lock of the list, with the key that processes share.
fn waiter(world: &World<'_>) -> Result<Started, Trouble> {
    world.start_asleep(|world| {
        let list = world.list();
        let value = list.lock(0).load(Ordering::SeqCst);
        let answered = world.futex(wait(list.lock_address(0), 0, value, 0));
        world.set(FOUND, list.lock(0).load(Ordering::SeqCst));
        answered
    })
}

/// A thread dies with a lock pending, whose word is the number of the thread or 0, with these bits,
/// and for which another waits: is the other woken, and what does the word hold then?
fn pending(world: &World<'_>, is_owner: bool, bits: u32, wakes: bool, left: u32) -> Outcome {
    let list = world.new_list()?;
    let (dying, owner) = world.thread_with_list()?;
    list.set_lock(0, if is_owner { owner } else { 0 } | bits);
    list.set_pending(list.entry(0));
    let waiter = waiter(world)?;
    world.dies(dying);
    if wakes {
        world.step(&"waits for the waiter of the pending lock, which the death of its owner wakes");
        world.ends(waiter, "the waiter", Ok(0))?;
    } else {
        world.sleeps(waiter, "the waiter")?;
    }
    list.holds(world, 0, "the pending lock", left)
}

scenarios! { "robust";
    /// A thread ends whose lock has the waiters bit; two threads wait for it.
    /// Linux marks the lock, keeps the waiters bit, and then wakes one of the two.
    #[since("2.6.17")]
    #[harm("The waiters of a dead owner sleep on; or the next owner forgets those that still wait.")]
    fn one_waiter_is_woken(world) {
        let list = world.new_list()?;
        let (dying, owner) = world.thread_with_list()?;
        list.link(1, owner | WAITERS);
        let (first, second) = (waiter(world)?, waiter(world)?);
        world.dies(dying);
        world.step(&"waits for a waiter of the lock, which the death of its owner wakes");
        world.ends(first, "the first waiter", Ok(0))?;
        world.holds(FOUND, "the word that it finds", OWNER_DIED | WAITERS)?;
        world.sleeps(second, "the second waiter")
    }

    /// A child process is killed whose lock has the waiters bit; a thread of its parent waits for it.
    /// Linux wakes the waiter: it uses the key that processes share.
    #[needs(Fork)]
    #[since("2.6.17")]
    #[harm("A process that waits for a lock in shared memory hangs when the owner is killed.")]
    fn another_process_is_woken(world) {
        let list = world.new_list()?;
        let (child, owner) = world.child_with_list()?;
        list.link(1, owner | WAITERS);
        let waiter = waiter(world)?;
        world.kill(child, SIGKILL);
        let _ = world.status_of(child)?;
        world.step(&"waits for the waiter of the lock, which the death of its owner wakes");
        world.ends(waiter, "the waiter", Ok(0))
    }

    /// A child process is killed whose number has bit 7 set, with a lock for which its parent waits.
    /// Linux wakes the waiter.
    #[seen("gVisor: the wake tests bit 7 of the lock's word for the PRIVATE flag")]
    #[needs(Fork)]
    #[since("2.6.17")]
    #[harm("Half of all processes wake no waiter in another process when they die.")]
    fn owner_with_bit_7(world) {
        let list = world.new_list()?;
        let mut tries = 0;
        let (child, owner) = loop {
            let (child, owner) = world.child_with_list()?;
            if owner & 0x80 != 0 {
                break (child, owner);
            }
            world.end_list_owner();
            world.ends_well(child, "a child")?;
            world.forget_list_owner();
            tries += 1;
            if tries == 400 {
                return Err(unfit(format_args!("no process of 400 has a number with bit 7 set")));
            }
        };
        list.link(1, owner | WAITERS);
        let waiter = waiter(world)?;
        world.kill(child, SIGKILL);
        let _ = world.status_of(child)?;
        world.step(&"waits for the waiter of the lock, whose owner had a number with bit 7");
        world.ends(waiter, "the waiter", Ok(0))
    }

    /// A thread ends whose lock has not the waiters bit, although a thread waits for it.
    /// Linux marks the lock, and wakes none.
    #[since("2.6.17")]
    #[harm("Threads are woken that did not ask for it.")]
    fn none_is_woken_without_the_bit(world) {
        let list = world.new_list()?;
        let (dying, owner) = world.thread_with_list()?;
        list.link(1, owner);
        let waiter = waiter(world)?;
        world.dies(dying);
        list.is_marked(world, 0, "the lock")?;
        world.sleeps(waiter, "the waiter")
    }

    /// A thread ends with a lock whose pointer has the low bit set, and with the waiters bit; a thread
    /// waits for it with FUTEX_WAIT.
    /// Linux marks the lock, and wakes none: a lock that inherits priorities has waiters of its own kind.
    #[since("2.6.18")]
    #[harm("A waiter of another kind is woken in place of the next owner.")]
    fn locks_that_inherit_wake_none(world) {
        let list = world.new_list()?;
        let (dying, owner) = world.thread_with_list()?;
        list.link(1, owner | WAITERS);
        list.first.fetch_add(INHERITS, Ordering::SeqCst);
        let waiter = waiter(world)?;
        world.dies(dying);
        list.holds(world, 0, "the lock", OWNER_DIED | WAITERS)?;
        world.sleeps(waiter, "the waiter")
    }

    /// A thread ends while it frees a lock (which is pending): the word is 0 already, and no one was woken.
    /// Linux wakes one waiter, and leaves the word 0.
    #[since("5.5")]
    #[harm("A thread that is killed between unlocking and waking leaves all waiters asleep.")]
    fn pending_and_free(world) {
        pending(world, false, 0, true, 0)
    }

    /// A thread ends with a pending lock whose word names no thread, and has the waiters bit.
    /// Linux wakes one waiter, and leaves the word as it is.
    #[since("6.2")]
    #[harm("A thread that is killed between unlocking and waking leaves all waiters asleep.")]
    fn pending_and_free_with_waiters(world) {
        pending(world, false, WAITERS, true, WAITERS)
    }

    /// A thread ends with a pending lock whose word names no thread, and has the owner-died bit.
    /// Linux wakes one waiter, and leaves the word as it is.
    #[since("6.2")]
    #[harm("The second owner in a row that is killed leaves all waiters asleep.")]
    fn pending_and_owner_died(world) {
        pending(world, false, OWNER_DIED, true, OWNER_DIED)
    }

    /// A thread ends with a pending lock whose word names no thread, and has the owner-died bit and the
    /// waiters bit.
    /// Linux wakes one waiter, and leaves the word as it is.
    #[since("6.2")]
    #[harm("The second owner in a row that is killed leaves all waiters asleep.")]
    fn pending_and_owner_died_with_waiters(world) {
        pending(world, false, OWNER_DIED | WAITERS, true, OWNER_DIED | WAITERS)
    }

    /// A thread ends that has just taken a pending lock: it owns the lock, which is not in its list.
    /// Linux marks the lock, and wakes none.
    #[since("2.6.17")]
    #[harm("A thread that is killed between locking and linking keeps the lock for ever.")]
    fn pending_and_owned(world) {
        pending(world, true, 0, false, OWNER_DIED)
    }

    /// A thread ends that has just taken a pending lock: it owns the lock, whose word has the waiters bit.
    /// Linux marks the lock, keeps the waiters bit, and wakes one.
    #[since("2.6.17")]
    #[harm("A thread that is killed between locking and linking keeps the lock for ever.")]
    fn pending_and_owned_with_waiters(world) {
        pending(world, true, WAITERS, true, OWNER_DIED | WAITERS)
    }

    /// A thread ends with a pending lock that another thread owns.
    /// Linux does nothing with it.
    #[since("2.6.17")]
    #[harm("The death of a thread that waits for a lock takes it from its owner.")]
    fn pending_and_anothers(world) {
        pending(world, false, NO_THREAD | WAITERS, false, NO_THREAD | WAITERS)
    }

    /// A thread ends with a pending lock that names no thread and inherits priorities.
    /// Linux wakes none.
    #[since("5.5")]
    #[harm("A waiter of another kind is woken.")]
    fn pending_and_free_and_inherits(world) {
        let list = world.new_list()?;
        let (dying, owner) = world.thread_with_list()?;
        list.link(2, owner);
        list.set_lock(0, 0);
        list.set_pending(list.entry(0) + INHERITS);
        let waiter = waiter(world)?;
        world.dies(dying);
        list.is_marked(world, 1, "the lock in the list")?;
        world.sleeps(waiter, "the waiter")?;
        list.holds(world, 0, "the pending lock", 0)
    }

    /// A thread ends with a lock that is in its list and pending too; two threads wait for it.
    /// Linux handles it once: it marks the lock, and wakes one.
    #[since("2.6.17")]
    #[harm("Two threads are woken where one can have the lock; a lock that was taken meanwhile is marked.")]
    fn pending_and_in_the_list(world) {
        let list = world.new_list()?;
        let (dying, owner) = world.thread_with_list()?;
        list.link(2, owner | WAITERS);
        list.set_pending(list.entry(0));
        let (first, second) = (waiter(world)?, waiter(world)?);
        world.dies(dying);
        world.step(&"waits for a waiter of the lock, which the death of its owner wakes");
        world.ends(first, "the first waiter", Ok(0))?;
        list.holds(world, 0, "the lock", OWNER_DIED | WAITERS)?;
        list.holds(world, 1, "the other lock", OWNER_DIED | WAITERS)?;
        world.sleeps(second, "the second waiter")
    }
}
