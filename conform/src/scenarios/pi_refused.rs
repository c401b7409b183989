//! Calls that a lock with priority inheritance refuses: those of other kinds of waits, those of words
//! that are damaged, and those of bad addresses. Word 0 is the lock.

use crate::errno::Errno;
use crate::futex::{ALL, PRIVATE, cmp_requeue, requeue, wait, wake};
use crate::futex_pi::{WAITERS, lock_pi, trylock_pi, unlock_pi};
use crate::scenario::scenarios;
use crate::scenarios::pi::{lock, unlock};

scenarios! { "pi";
    /// A thread waits by FUTEX_LOCK_PI; another calls FUTEX_WAKE of the word.
    /// Linux answers EINVAL, and the thread sleeps on.
    #[since("2.6.25")]
    #[harm("A thread that was woken believes that it has the lock, which another has.")]
    fn wake_is_refused(world) {
        world.same("FUTEX_LOCK_PI", lock(world), Ok(0))?;
        let next = world.start_asleep(lock)?;
        let answered = world.futex(wake(world.address(0), PRIVATE, 1));
        world.same("FUTEX_WAKE of a lock's waiter", answered, Err(Errno::INVAL))?;
        world.sleeps(next, "a thread that waits for a lock")?;
        world.same("FUTEX_UNLOCK_PI", unlock(world), Ok(0))?;
        world.step(&"waits for the end of the thread that the lock was handed to");
        world.ends(next, "the next owner", Ok(0))
    }

    /// A thread waits by FUTEX_LOCK_PI; another moves its waiters by FUTEX_REQUEUE and FUTEX_CMP_REQUEUE.
    /// Linux answers EINVAL, and the thread sleeps on, and gets the lock.
    #[since("2.6.31")]
    #[harm("A waiter is lost: its thread hangs, or the kernel uses memory that was freed.")]
    fn requeue_is_refused(world) {
        let me = world.own_number()?;
        world.same("FUTEX_LOCK_PI", lock(world), Ok(0))?;
        let next = world.start_asleep(lock)?;
        let [from, to] = [0, 1].map(|at| world.address(at));
        let answered = world.futex(requeue(from, PRIVATE, 0, to, ALL));
        world.same("FUTEX_REQUEUE of a lock's waiter", answered, Err(Errno::INVAL))?;
        let answered = world.futex(cmp_requeue(from, PRIVATE, 0, to, ALL, me | WAITERS));
        world.same("FUTEX_CMP_REQUEUE of a lock's waiter", answered, Err(Errno::INVAL))?;
        world.same("FUTEX_UNLOCK_PI", unlock(world), Ok(0))?;
        world.step(&"waits for the end of the thread that the lock was handed to");
        world.ends(next, "the next owner", Ok(0))
    }

    /// A thread waits for a word by FUTEX_WAIT, which names its owner; the owner unlocks it, and another
    /// thread locks it.
    /// Linux answers EINVAL to both, and the first sleeps on.
    #[since("2.6.18")]
    #[harm("A plain waiter is taken for the next owner: the lock is lost.")]
    fn plain_waiters_are_refused(world) {
        let me = world.own_number()?;
        world.same("FUTEX_LOCK_PI", lock(world), Ok(0))?;
        world.set(0, me | WAITERS);
        let plain = world.start_asleep(|world| world.futex(wait(world.address(0), PRIVATE, world.get(0), 0)))?;
        world.step(&"locks a word for which a thread waits by FUTEX_WAIT");
        let other = world.start(lock)?;
        world.ends(other, "FUTEX_LOCK_PI of a word with a plain waiter", Err(Errno::INVAL))?;
        world.same("FUTEX_UNLOCK_PI of a word with a plain waiter", unlock(world), Err(Errno::INVAL))?;
        world.sleeps(plain, "the plain waiter")
    }

    /// A thread waits for a lock; the word is changed to name another thread, which then locks it, and
    /// then to 0, where the owner then unlocks it.
    /// Linux trusts what it knows: it answers EINVAL to the lock, and EPERM to the unlock.
    #[since("3.15")]
    #[harm("A program that damages a lock's word damages the kernel: this was used to take over machines.")]
    fn word_is_damaged(world) {
        let me = world.own_number()?;
        world.same("FUTEX_LOCK_PI", lock(world), Ok(0))?;
        let next = world.start_asleep(lock)?;
        world.set(0, WAITERS | world.number_of(next));
        let third = world.start(lock)?;
        world.step(&"locks a word that names another owner than the one that a thread waits for");
        world.ends(third, "FUTEX_LOCK_PI of a word that names another owner", Err(Errno::INVAL))?;
        world.set(0, 0);
        world.same("FUTEX_UNLOCK_PI of a word that names none", unlock(world), Err(Errno::PERM))?;
        world.set(0, me | WAITERS);
        world.same("FUTEX_UNLOCK_PI of the repaired word", unlock(world), Ok(0))?;
        world.step(&"waits for the end of the thread that the lock was handed to");
        world.ends(next, "the next owner", Ok(0))
    }

    /// Each call for a word at an address that is no multiple of 4, in memory that may not be read, and
    /// in memory that may not be written.
    /// Linux answers EINVAL to the first, and EFAULT to the others.
    #[needs(Faults)]
    #[since("2.6.18")]
    #[harm("A program stops the kernel, or writes memory that may only be read.")]
    fn bad_addresses(world) {
        world.same("FUTEX_LOCK_PI", lock(world), Ok(0))?;
        let places = [
            (world.address(0) + 2, Errno::INVAL),
            (world.unwritable(false)?, Errno::FAULT),
            (world.unwritable(true)?, Errno::FAULT),
        ];
        for (word, linux) in places {
            let answered = world.futex(lock_pi(word, PRIVATE, 0));
            world.same("FUTEX_LOCK_PI of a bad address", answered, Err(linux))?;
            let answered = world.futex(trylock_pi(word, PRIVATE));
            world.same("FUTEX_TRYLOCK_PI of a bad address", answered, Err(linux))?;
        }
        let answered = world.futex(unlock_pi(places[1].0, PRIVATE));
        world.same("FUTEX_UNLOCK_PI of memory that may not be read", answered, Err(Errno::FAULT))?;
        let answered = world.futex(unlock_pi(places[2].0, PRIVATE));
        world.same("FUTEX_UNLOCK_PI of a free lock that may not be written", answered, Err(Errno::PERM))
    }
}
