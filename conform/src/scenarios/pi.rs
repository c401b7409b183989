//! `FUTEX_LOCK_PI`, `FUTEX_LOCK_PI2`, `FUTEX_TRYLOCK_PI` and `FUTEX_UNLOCK_PI`: what they answer, and
//! who has the lock. Word 0 is the lock.

use crate::errno::{Answer, Errno};
use crate::futex::PRIVATE;
use crate::futex_pi::{NO_THREAD, OWNER_DIED, WAITERS, lock_pi, lock_pi2, trylock_pi, unlock_pi};
use crate::scenario::{Outcome, scenarios};
use crate::world::{World, wrong};

/// The word that says to threads that have the lock that they may go on.
const MAY_GO_ON: usize = 40;
/// The word with the number of those that had the lock; the words after it have their numbers.
pub(super) const TURNS: usize = 20;

pub(super) fn lock(world: &World<'_>) -> Answer {
    world.futex(lock_pi(world.address(0), PRIVATE, 0))
}

fn lock_2(world: &World<'_>) -> Answer {
    world.futex(lock_pi2(world.address(0), PRIVATE, 0))
}

fn trylock(world: &World<'_>) -> Answer {
    world.futex(trylock_pi(world.address(0), PRIVATE))
}

pub(super) fn unlock(world: &World<'_>) -> Answer {
    world.futex(unlock_pi(world.address(0), PRIVATE))
}

/// Locks, waits until it may go on, and unlocks.
fn lock_and_unlock(world: &World<'_>) -> Answer {
    lock(world)?;
    world.may_go_on(MAY_GO_ON);
    unlock(world)
}

/// Locks, writes its number behind those that had the lock before, and unlocks.
pub(super) fn lock_in_turn(world: &World<'_>) -> Answer {
    let number = world.own_number().map_err(|_| Errno::NOSYS)?;
    lock(world)?;
    let turn = world.get(TURNS) + 1;
    world.set(TURNS, turn);
    world.set(TURNS + turn as usize, number);
    unlock(world)
}

/// Asserts what a call answers for each of these words, and what they hold then.
fn for_words(world: &World<'_>, what: &str, call: fn(&World<'_>) -> Answer, words: &[(u32, Answer, u32)]) -> Outcome {
    words.iter().try_for_each(|(before, linux, after)| {
        world.set(0, *before);
        world.same(format_args!("{what} of the word {before:#x}"), call(world), *linux)?;
        match world.get(0) {
            value if value == *after => Ok(()),
            value => wrong(format_args!("{what} changes the word {before:#x} to {value:#x}; Linux to {after:#x}")),
        }
    })
}

scenarios! { "pi";
    /// A thread locks a free lock and unlocks it; no other waits.
    /// Linux answers 0 to both; the word is the number of the thread as long as it has the lock, and then 0.
    #[since("2.6.18")]
    #[harm("The program's own next lock or unlock fails: the word is not what it compares with.")]
    fn lock_and_unlock_alone(world) {
        let me = world.own_number()?;
        for_words(world, "FUTEX_LOCK_PI", lock, &[(0, Ok(0), me)])?;
        for_words(world, "FUTEX_UNLOCK_PI", unlock, &[(me, Ok(0), 0)])
    }

    /// A thread locks a free lock by FUTEX_LOCK_PI2; no other waits.
    /// Linux answers 0; the word is the number of the thread.
    #[since("5.14")]
    #[harm("A mutex with a time of CLOCK_MONOTONIC cannot be locked.")]
    fn lock_2_alone(world) {
        let me = world.own_number()?;
        for_words(world, "FUTEX_LOCK_PI2", lock_2, &[(0, Ok(0), me)])
    }

    /// A thread tries to lock a free lock.
    /// Linux answers 0; the word is the number of the thread.
    #[since("2.6.18")]
    #[harm("A thread does not get a lock that is free.")]
    fn trylock_alone(world) {
        let me = world.own_number()?;
        for_words(world, "FUTEX_TRYLOCK_PI", trylock, &[(0, Ok(0), me)])
    }

    /// A thread locks, and tries to lock, where the word names no owner but has the waiters bit.
    /// Linux answers 0, and clears the bit: no thread waits in the kernel.
    #[since("3.17")]
    #[harm("A lock that no thread owns cannot be locked.")]
    fn waiters_bit_of_a_free_lock(world) {
        let me = world.own_number()?;
        for_words(world, "FUTEX_LOCK_PI", lock, &[(WAITERS, Ok(0), me)])?;
        for_words(world, "FUTEX_TRYLOCK_PI", trylock, &[(WAITERS, Ok(0), me)])
    }

    /// A thread locks, and tries to lock, where the owner died: the word names none, and has the
    /// owner-died bit, alone and with the waiters bit.
    /// Linux answers 0; the word is the number of the thread with the owner-died bit.
    #[since("3.17")]
    #[harm("A robust lock is never locked again, or its next owner does not learn that data may be damaged.")]
    fn owner_died_bit_stays(world) {
        let after = world.own_number()? | OWNER_DIED;
        let words = [(OWNER_DIED, Ok(0), after), (OWNER_DIED | WAITERS, Ok(0), after)];
        for_words(world, "FUTEX_LOCK_PI", lock, &words)?;
        for_words(world, "FUTEX_TRYLOCK_PI", trylock, &words)
    }

    /// A thread unlocks where the word names it, with the waiters bit, the owner-died bit, and both, and
    /// no thread waits in the kernel.
    /// Linux answers 0; the word is 0.
    #[since("2.6.18")]
    #[harm("A lock stays locked whose only waiter has left.")]
    fn unlock_clears_all_bits(world) {
        let me = world.own_number()?;
        let words = [(me | WAITERS, Ok(0), 0), (me | OWNER_DIED, Ok(0), 0), (me | OWNER_DIED | WAITERS, Ok(0), 0)];
        for_words(world, "FUTEX_UNLOCK_PI", unlock, &words)
    }

    /// A thread that has the lock locks again, and tries to; the word has each of its bits.
    /// Linux answers EDEADLK, and leaves the word as it is.
    #[since("2.6.18")]
    #[harm("A thread waits for itself, for ever, where a mutex that checks errors must say so.")]
    fn own_lock(world) {
        let me = world.own_number()?;
        let words = [me, me | WAITERS, me | OWNER_DIED].map(|word| (word, Err(Errno::DEADLK), word));
        for_words(world, "FUTEX_LOCK_PI", lock, &words)?;
        for_words(world, "FUTEX_TRYLOCK_PI", trylock, &words)
    }

    /// A thread that has the lock locks it again by FUTEX_LOCK_PI2.
    /// Linux answers EDEADLK, and leaves the word as it is.
    #[since("5.14")]
    #[harm("A thread waits for itself, for ever, where a mutex that checks errors must say so.")]
    fn own_lock_2(world) {
        let me = world.own_number()?;
        for_words(world, "FUTEX_LOCK_PI2", lock_2, &[(me, Err(Errno::DEADLK), me)])
    }

    /// A thread unlocks where the word names no thread, or another, with and without the other bits.
    /// Linux answers EPERM, and leaves the word as it is.
    #[since("2.6.18")]
    #[harm("A thread frees the lock of another: two are in the critical section.")]
    fn unlock_anothers(world) {
        world.same("FUTEX_LOCK_PI", lock(world), Ok(0))?;
        let words = [0, WAITERS, OWNER_DIED, NO_THREAD, NO_THREAD | WAITERS, NO_THREAD | OWNER_DIED];
        for_words(world, "FUTEX_UNLOCK_PI", unlock, &words.map(|word| (word, Err(Errno::PERM), word)))
    }

    /// A thread locks, and tries to lock, where the word names a thread that there is not.
    /// Linux answers ESRCH, and the word names that thread still.
    #[since("2.6.18")]
    #[harm("A thread waits for ever for an owner that is gone, or takes a lock whose data may be damaged.")]
    fn owner_is_gone(world) {
        for bits in [0, WAITERS, OWNER_DIED] {
            world.set(0, NO_THREAD | bits);
            world.same("FUTEX_LOCK_PI of a thread that is gone", lock(world), Err(Errno::SRCH))?;
            world.names(0, "the word", NO_THREAD)?;
            world.set(0, NO_THREAD | bits);
            world.same("FUTEX_TRYLOCK_PI of a thread that is gone", trylock(world), Err(Errno::SRCH))?;
            world.names(0, "the word", NO_THREAD)?;
        }
        Ok(())
    }

    /// Another thread has the lock, which it took without the kernel; a thread tries to lock it.
    /// Linux answers EAGAIN, at once; the word names the owner still.
    #[since("2.6.18")]
    #[harm("A thread takes a lock that another has, or waits where it does not want to.")]
    fn trylock_of_anothers(world) {
        let owner = world.start(|world| {
            world.may_go_on(MAY_GO_ON);
            Ok(0)
        })?;
        world.set(0, world.number_of(owner));
        let answered = trylock(world);
        let word = world.names(0, "the word", world.number_of(owner));
        world.set(MAY_GO_ON, 1);
        world.same("FUTEX_TRYLOCK_PI", answered, Err(Errno::AGAIN))?;
        word
    }

    /// A thread has the lock; another locks it and sleeps; the first unlocks.
    /// Linux sets the waiters bit when the second waits. The unlock answers 0 and leaves the word naming
    /// the second, which is woken: the lock is never free in between.
    #[since("2.6.18")]
    #[harm("A thread that comes late takes the lock, and the first waiter starves; or two threads have it.")]
    fn unlock_hands_over(world) {
        let me = world.own_number()?;
        world.same("FUTEX_LOCK_PI", lock(world), Ok(0))?;
        let next = world.start_asleep(lock_and_unlock)?;
        world.soon(|| world.get(0) != me);
        world.holds(0, "the word of a lock for which a thread waits", me | WAITERS)?;
        world.sleeps(next, "a thread that locks a lock that is held")?;
        world.same("FUTEX_UNLOCK_PI", unlock(world), Ok(0))?;
        let owner = world.names(0, "the word after FUTEX_UNLOCK_PI", world.number_of(next));
        let mine = trylock(world);
        world.set(MAY_GO_ON, 1);
        owner?;
        world.same("FUTEX_TRYLOCK_PI of a lock that was handed over", mine, Err(Errno::AGAIN))?;
        world.step(&"waits for the end of the thread that the lock was handed to");
        world.ends(next, "FUTEX_LOCK_PI and then FUTEX_UNLOCK_PI by the next owner", Ok(0))?;
        world.holds(0, "the word in the end", 0)
    }

    /// A thread has a lock; another locks it by FUTEX_LOCK_PI2, and
    /// sleeps; the first unlocks.
    /// Linux answers 0 to both, and the word names the second.
    #[since("5.14")]
    #[harm("A thread that locks a mutex with a time of CLOCK_MONOTONIC hangs, or two have the lock.")]
    fn unlock_hands_over_2(world) {
        let me = world.own_number()?;
        world.same("FUTEX_LOCK_PI2 of a free lock", lock_2(world), Ok(0))?;
        world.holds(0, "the word of a lock that is held", me)?;
        let next = world.start_asleep(lock_2)?;
        world.sleeps(next, "a thread that locks a lock that is held")?;
        world.same("FUTEX_UNLOCK_PI", unlock(world), Ok(0))?;
        world.names(0, "the word after FUTEX_UNLOCK_PI", world.number_of(next))?;
        world.step(&"waits for the end of the thread that the lock was handed to");
        world.ends(next, "FUTEX_LOCK_PI2 of the next owner", Ok(0))
    }

    /// A thread has the lock, for which two others wait; it unlocks.
    /// Linux leaves the word naming the first, with the waiters bit: it must unlock by the kernel.
    #[since("2.6.18")]
    #[harm("The next owner unlocks without the kernel, and the other waiter sleeps for ever.")]
    fn waiters_bit_for_those_left(world) {
        world.same("FUTEX_LOCK_PI", lock(world), Ok(0))?;
        let first = world.start_asleep(lock_and_unlock)?;
        let second = world.start_asleep(lock_and_unlock)?;
        world.same("FUTEX_UNLOCK_PI", unlock(world), Ok(0))?;
        let word = world.holds(0, "the word after FUTEX_UNLOCK_PI", world.number_of(first) | WAITERS);
        let sleeps = world.sleeps(second, "the second waiter");
        world.set(MAY_GO_ON, 1);
        word.and(sleeps)?;
        world.step(&"waits for two threads that lock and unlock");
        world.ends(first, "the first waiter", Ok(0))?;
        world.ends(second, "the second waiter", Ok(0))?;
        world.holds(0, "the word in the end", 0)
    }

    /// Four threads lock a lock that another has, one after the other; each unlocks it.
    /// Linux hands the lock over in the order in which they came.
    #[since("2.6.18")]
    #[harm("A thread starves while others get the lock again and again.")]
    fn first_come(world) {
        world.same("FUTEX_LOCK_PI", lock(world), Ok(0))?;
        let mut threads = [None; 4];
        for thread in &mut threads {
            *thread = Some(world.start_asleep(lock_in_turn)?);
        }
        world.same("FUTEX_UNLOCK_PI", unlock(world), Ok(0))?;
        world.step(&"waits for four threads that lock and unlock");
        for thread in threads.into_iter().flatten() {
            world.ends(thread, "a thread that locks and unlocks", Ok(0))?;
        }
        for (turn, thread) in threads.into_iter().flatten().enumerate() {
            world.holds(TURNS + 1 + turn, "the place of the next owner in the order", world.number_of(thread))?;
        }
        world.holds(0, "the word in the end", 0)
    }

    /// Two threads, each with a lock, lock the other's: the second would close a circle.
    /// Linux answers EDEADLK to the second; the first sleeps on until the second unlocks.
    #[since("2.6.18")]
    #[harm("Two threads wait for each other for ever.")]
    fn circle_of_two(world) {
        world.same("FUTEX_LOCK_PI", lock(world), Ok(0))?;
        let other = world.start(|world| {
            world.futex(lock_pi(world.address(1), PRIVATE, 0))?;
            lock(world)
        })?;
        world.soon(|| world.get(0) & WAITERS != 0);
        world.rest();
        world.step(&"locks a lock whose owner waits for a lock that the caller has");
        let answered = world.futex(lock_pi(world.address(1), PRIVATE, 0));
        world.same("FUTEX_LOCK_PI that closes a circle", answered, Err(Errno::DEADLK))?;
        world.sleeps(other, "the other thread of the circle")?;
        world.same("FUTEX_UNLOCK_PI", unlock(world), Ok(0))?;
        world.step(&"waits for the other thread of the circle");
        world.ends(other, "the other thread of the circle", Ok(0))
    }

    /// Three threads, each with a lock, lock the next one's: the last would close a circle.
    /// Linux answers EDEADLK to the last; the others sleep on.
    #[since("2.6.18")]
    #[harm("Three threads wait for each other for ever.")]
    fn circle_of_three(world) {
        fn lock_two(world: &World<'_>, first: usize, then: usize) -> Answer {
            world.futex(lock_pi(world.address(first), PRIVATE, 0))?;
            world.futex(lock_pi(world.address(then), PRIVATE, 0))
        }
        world.same("FUTEX_LOCK_PI", lock(world), Ok(0))?;
        let first = world.start_asleep(|world| lock_two(world, 1, 0))?;
        let second = world.start_asleep(|world| lock_two(world, 2, 1))?;
        world.step(&"locks a lock whose owner waits for a thread that waits for the caller");
        let answered = world.futex(lock_pi(world.address(2), PRIVATE, 0));
        world.same("FUTEX_LOCK_PI that closes a circle of three", answered, Err(Errno::DEADLK))?;
        world.sleeps(second, "the second thread of the circle")?;
        world.sleeps(first, "the first thread of the circle")?;
        world.same("FUTEX_UNLOCK_PI", unlock(world), Ok(0))?;
        world.step(&"waits for the other threads of the circle, of which each ends with its locks");
        world.ends(first, "the first thread of the circle", Ok(0))?;
        world.ends(second, "the second thread of the circle", Ok(0))
    }
}
