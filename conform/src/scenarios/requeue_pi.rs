//! `FUTEX_WAIT_REQUEUE_PI` and `FUTEX_CMP_REQUEUE_PI`: a condition variable whose waiters are moved to
//! a lock that inherits priorities. Word 0 is the condition, word 1 the lock.

use crate::clocks::{CLOCK_MONOTONIC, CLOCK_REALTIME};
use crate::errno::{Answer, Errno};
use crate::futex::{ALL, PRIVATE, REALTIME, Time, cmp_requeue, requeue, wait, wake};
use crate::futex_pi::{NO_THREAD, WAITERS, cmp_requeue_pi, lock_pi, trylock_pi, unlock_pi, wait_requeue_pi};
use crate::scenario::{Outcome, scenarios};
use crate::world::{Body, Started, World, unfit, wrong};

/// The word with the number of those that had the lock; the words after it have their numbers.
const TURNS: usize = 20;
/// The words with a time.
const TIME: usize = 40;

fn lock(world: &World<'_>) -> Answer {
    world.futex(lock_pi(world.address(1), PRIVATE, 0))
}

fn unlock(world: &World<'_>) -> Answer {
    world.futex(unlock_pi(world.address(1), PRIVATE))
}

/// Waits for the condition, until a time.
fn wait_until(world: &World<'_>, flags: u32, time: usize) -> Answer {
    world.futex(wait_requeue_pi(world.address(0), PRIVATE | flags, 0, time, world.address(1)))
}

/// Waits for the condition.
fn wait_moved(world: &World<'_>) -> Answer {
    wait_until(world, 0, 0)
}

/// Waits for the condition, writes its number behind those that had the lock before, and unlocks.
fn wait_in_turn(world: &World<'_>) -> Answer {
    let number = world.own_number().map_err(|_| Errno::NOSYS)?;
    wait_moved(world)?;
    let turn = world.get(TURNS) + 1;
    world.set(TURNS, turn);
    world.set(TURNS + turn as usize, number);
    unlock(world)
}

/// Waits for the condition, until the time that `set_time` wrote.
fn wait_for_time(world: &World<'_>) -> Answer {
    let [low, high, nanoseconds] = [0, 1, 2].map(|at| world.get(TIME + at));
    let seconds = (u64::from(low) | u64::from(high) << 32) as i64;
    let until = Time { seconds, nanoseconds: i64::from(nanoseconds) };
    wait_until(world, 0, until.address())
}

/// Writes a time in words of the world: one that comes after several whiles.
fn set_time(world: &World<'_>) -> Outcome {
    let before = world.now(CLOCK_MONOTONIC)?;
    world.rest();
    let mut until = world.now(CLOCK_MONOTONIC)?.after(Time::milliseconds(100));
    // Four times what a while takes.
    let (seconds, nanoseconds) = (until.seconds - before.seconds, until.nanoseconds - before.nanoseconds);
    let milliseconds = seconds * 1000 + nanoseconds / 1_000_000;
    until = until.after(Time::milliseconds(4 * milliseconds));
    world.set(TIME, until.seconds as u32);
    world.set(TIME + 1, (until.seconds >> 32) as u32);
    world.set(TIME + 2, until.nanoseconds as u32);
    Ok(())
}

/// Moves the first waiter to the lock, and after it as many as `moved` says.
fn signal(world: &World<'_>, moved: u32) -> Answer {
    world.futex(cmp_requeue_pi(world.address(0), PRIVATE, 1, world.address(1), moved, 0))
}

/// Asserts that both operations are there.
fn is_there(world: &World<'_>) -> Outcome {
    let answered = world.futex(wait_requeue_pi(world.address(0), PRIVATE, 1, 0, world.address(1)));
    world.same("FUTEX_WAIT_REQUEUE_PI of a word with another value", answered, Err(Errno::AGAIN))?;
    world.same("FUTEX_CMP_REQUEUE_PI where no thread waits", signal(world, 0), Ok(0))
}

/// Starts a thread that waits for the condition, and lets it go to sleep.
fn waiter(world: &World<'_>, body: Body) -> Result<Started, crate::scenario::Trouble> {
    is_there(world)?;
    world.start_asleep(body)
}

/// Asserts that a waiter still waits for the condition: it is moved to the lock, which is free, and has
/// it then.
fn still_waits(world: &World<'_>, waiter: Started) -> Outcome {
    world.set(1, 0);
    world.same("FUTEX_CMP_REQUEUE_PI to a free lock", signal(world, 0), Ok(1))?;
    world.step(&"waits for a waiter that was moved to a free lock");
    world.ends(waiter, "FUTEX_WAIT_REQUEUE_PI", Ok(0))?;
    world.names(1, "the word of the lock", world.number_of(waiter))
}

scenarios! { "requeue_pi";
    /// A thread waits; another, which has the lock, moves it there, and unlocks.
    /// Linux answers 1, and sets the waiters bit of the lock; the thread sleeps on until the unlock, which
    /// hands the lock over. Its call answers 0.
    #[since("2.6.31")]
    #[harm("A condition variable with a mutex that inherits priorities hangs, or two threads have the mutex.")]
    fn moved_and_handed_over(world) {
        let waiter = waiter(world, wait_moved)?;
        let me = world.own_number()?;
        world.same("FUTEX_LOCK_PI", lock(world), Ok(0))?;
        world.same("FUTEX_CMP_REQUEUE_PI", signal(world, 0), Ok(1))?;
        world.holds(1, "the word of the lock", me | WAITERS)?;
        world.sleeps(waiter, "a waiter that was moved to a lock that is held")?;
        world.same("FUTEX_UNLOCK_PI", unlock(world), Ok(0))?;
        world.names(1, "the word of the lock after FUTEX_UNLOCK_PI", world.number_of(waiter))?;
        world.step(&"waits for a waiter that was moved to a lock and handed it");
        world.ends(waiter, "FUTEX_WAIT_REQUEUE_PI", Ok(0))
    }

    /// A thread waits; another moves it to a lock that is free.
    /// Linux answers 1, and gives the thread the lock: the word names it, and its call answers 0.
    #[since("2.6.31")]
    #[harm("A waiter returns without the mutex, or sleeps although it is free.")]
    fn free_lock_is_acquired(world) {
        let waiter = waiter(world, wait_moved)?;
        world.same("FUTEX_CMP_REQUEUE_PI", signal(world, 0), Ok(1))?;
        world.names(1, "the word of the lock after FUTEX_CMP_REQUEUE_PI", world.number_of(waiter))?;
        world.step(&"waits for a waiter that was moved to a free lock");
        world.ends(waiter, "FUTEX_WAIT_REQUEUE_PI", Ok(0))
    }

    /// Four threads wait; another, which has the lock, moves all of them; each unlocks.
    /// Linux answers 4, and hands the lock over in the order in which they came.
    #[since("2.6.31")]
    #[harm("A broadcast leaves threads asleep, or lets a late one have the mutex first.")]
    fn all_are_moved(world) {
        is_there(world)?;
        let mut threads = [None; 4];
        for thread in &mut threads {
            *thread = Some(world.start_asleep(wait_in_turn)?);
        }
        world.same("FUTEX_LOCK_PI", lock(world), Ok(0))?;
        world.same("FUTEX_CMP_REQUEUE_PI of four", signal(world, ALL), Ok(4))?;
        world.same("FUTEX_CMP_REQUEUE_PI after all were moved", signal(world, ALL), Ok(0))?;
        world.same("FUTEX_UNLOCK_PI", unlock(world), Ok(0))?;
        world.step(&"waits for four threads that were moved to a lock");
        for thread in threads.into_iter().flatten() {
            world.ends(thread, "FUTEX_WAIT_REQUEUE_PI and FUTEX_UNLOCK_PI", Ok(0))?;
        }
        for (turn, thread) in threads.into_iter().flatten().enumerate() {
            world.holds(TURNS + 1 + turn, "the place of the next owner in the order", world.number_of(thread))?;
        }
        world.holds(1, "the word of the lock in the end", 0)
    }

    /// Three threads wait; another moves the first and one more to a lock that is free.
    /// Linux answers 2: the first has the lock, the second waits for it, and the third for the condition.
    #[since("2.6.31")]
    #[harm("Too many or too few waiters are moved: some sleep for ever.")]
    fn count_of_moved(world) {
        is_there(world)?;
        let first = world.start_asleep(wait_moved)?;
        let second = world.start_asleep(wait_moved)?;
        let third = world.start_asleep(wait_moved)?;
        world.same("FUTEX_CMP_REQUEUE_PI of two", signal(world, 1), Ok(2))?;
        world.step(&"waits for a waiter that was moved to a free lock");
        world.ends(first, "FUTEX_WAIT_REQUEUE_PI of the first", Ok(0))?;
        // It has ended with the lock: the second gets it from a dead owner.
        world.step(&"waits for a waiter that was moved to a lock whose owner has died");
        world.ends(second, "FUTEX_WAIT_REQUEUE_PI of the second", Ok(0))?;
        world.sleeps(third, "the third waiter")?;
        still_waits(world, third)
    }

    /// A thread waits; another calls FUTEX_CMP_REQUEUE_PI with wake counts other than 1.
    /// Linux answers EINVAL, and the thread waits on.
    #[since("2.6.31")]
    #[harm("Threads are woken without the mutex, and run in the critical section of another.")]
    fn wake_count_is_one(world) {
        let waiter = waiter(world, wait_moved)?;
        for count in [0, 2, ALL, u32::MAX] {
            let answered = world.futex(cmp_requeue_pi(world.address(0), PRIVATE, count, world.address(1), 1, 0));
            world.same(format_args!("FUTEX_CMP_REQUEUE_PI with wake count {count}"), answered, Err(Errno::INVAL))?;
        }
        still_waits(world, waiter)
    }

    /// A thread waits; another calls FUTEX_CMP_REQUEUE_PI where the condition's word has changed.
    /// Linux answers EAGAIN, and the thread waits on.
    #[since("2.6.31")]
    #[harm("A signal of a condition variable goes to a waiter that came after it.")]
    fn value_has_changed(world) {
        let waiter = waiter(world, wait_moved)?;
        world.set(0, 1);
        world.same("FUTEX_CMP_REQUEUE_PI of a word with another value", signal(world, 1), Err(Errno::AGAIN))?;
        world.set(0, 0);
        still_waits(world, waiter)
    }

    /// A thread calls FUTEX_WAIT_REQUEUE_PI for a word that has another value.
    /// Linux answers EAGAIN, at once.
    #[since("2.6.31")]
    #[harm("A signal of a condition variable that came just before the wait is lost: the thread hangs.")]
    fn wait_compares(world) {
        is_there(world)
    }

    /// A thread calls each operation with the same word as condition and as lock.
    /// Linux answers EINVAL.
    #[since("3.15")]
    #[harm("A program stops the kernel: this was used to take over machines.")]
    fn same_word(world) {
        is_there(world)?;
        let word = world.address(0);
        world.step(&"waits with the same word as condition and as lock");
        let answered = world.futex(wait_requeue_pi(word, PRIVATE, 0, 0, word));
        world.same("FUTEX_WAIT_REQUEUE_PI with one word", answered, Err(Errno::INVAL))?;
        let answered = world.futex(cmp_requeue_pi(word, PRIVATE, 1, word, 1, 0));
        world.same("FUTEX_CMP_REQUEUE_PI with one word", answered, Err(Errno::INVAL))
    }

    /// A thread waits; another moves it to a word that is not the lock which the thread has named.
    /// Linux answers EINVAL, and the thread waits on.
    #[since("2.6.31")]
    #[harm("A waiter is given another mutex than the one that it then unlocks.")]
    fn another_lock(world) {
        let waiter = waiter(world, wait_moved)?;
        for before in [0, world.own_number()?] {
            world.set(2, before);
            let answered = world.futex(cmp_requeue_pi(world.address(0), PRIVATE, 1, world.address(2), 1, 0));
            world.same("FUTEX_CMP_REQUEUE_PI to another lock", answered, Err(Errno::INVAL))?;
        }
        world.sleeps(waiter, "the waiter")?;
        still_waits(world, waiter)
    }

    /// A thread waits; another calls FUTEX_WAKE, FUTEX_REQUEUE and FUTEX_CMP_REQUEUE of its word.
    /// Linux answers EINVAL to each, and the thread waits on.
    #[seen("DragonOS: FUTEX_WAIT_REQUEUE_PI panics the kernel from user space")]
    #[since("2.6.31")]
    #[harm("A waiter returns without the mutex, and runs in the critical section of another.")]
    fn plain_calls_are_refused(world) {
        let waiter = waiter(world, wait_moved)?;
        let (condition, other) = (world.address(0), world.address(2));
        let answered = world.futex(wake(condition, PRIVATE, 1));
        world.same("FUTEX_WAKE of such a waiter", answered, Err(Errno::INVAL))?;
        let answered = world.futex(requeue(condition, PRIVATE, 0, other, ALL));
        world.same("FUTEX_REQUEUE of such a waiter", answered, Err(Errno::INVAL))?;
        let answered = world.futex(cmp_requeue(condition, PRIVATE, 1, other, ALL, 0));
        world.same("FUTEX_CMP_REQUEUE of such a waiter", answered, Err(Errno::INVAL))?;
        world.sleeps(waiter, "the waiter")?;
        still_waits(world, waiter)
    }

    /// A thread waits by FUTEX_WAIT; another moves it by FUTEX_CMP_REQUEUE_PI.
    /// Linux answers EINVAL, and the thread sleeps on.
    #[since("2.6.31")]
    #[harm("A plain waiter is given a mutex of which it knows nothing: all others hang.")]
    fn plain_waiter_is_refused(world) {
        is_there(world)?;
        let plain = world.start_asleep(|world| world.futex(wait(world.address(0), PRIVATE, 0, 0)))?;
        world.same("FUTEX_CMP_REQUEUE_PI of a plain waiter", signal(world, 1), Err(Errno::INVAL))?;
        world.sleeps(plain, "the plain waiter")?;
        world.same("FUTEX_WAKE", world.futex(wake(world.address(0), PRIVATE, 1)), Ok(1))?;
        world.step(&"waits for the end of the plain waiter's call");
        world.ends(plain, "the plain waiter", Ok(0))
    }

    /// A thread waits with the private flag; another moves the waiters without it.
    /// Linux finds none: it answers 0.
    #[since("2.6.31")]
    #[harm("Waiters of unrelated words are moved.")]
    fn private_and_shared_are_two(world) {
        let waiter = waiter(world, wait_moved)?;
        let answered = world.futex(cmp_requeue_pi(world.address(0), 0, 1, world.address(1), ALL, 0));
        world.same("FUTEX_CMP_REQUEUE_PI without the private flag", answered, Ok(0))?;
        still_waits(world, waiter)
    }

    /// A thread waits; another moves it to a lock whose word names a thread that there is not.
    /// Linux answers ESRCH, and the thread waits on.
    #[since("2.6.31")]
    #[harm("A waiter is moved to a lock that is never unlocked.")]
    fn locks_owner_is_gone(world) {
        let waiter = waiter(world, wait_moved)?;
        world.set(1, NO_THREAD);
        world.same("FUTEX_CMP_REQUEUE_PI to a lost lock", signal(world, 1), Err(Errno::SRCH))?;
        world.sleeps(waiter, "the waiter")?;
        still_waits(world, waiter)
    }

    /// A thread waits until a time of CLOCK_MONOTONIC, and until one of CLOCK_REALTIME with the flag; no
    /// other moves it.
    /// Linux answers ETIMEDOUT, not before the time, and leaves the lock's word as it is.
    #[since("2.6.31")]
    #[harm("A condition variable's wait with a time limit never ends, or ends too early.")]
    fn time_is_up_before_the_move(world) {
        is_there(world)?;
        let me = world.own_number()?;
        world.set(1, me);
        for (flags, clock) in [(0, CLOCK_MONOTONIC), (REALTIME, CLOCK_REALTIME)] {
            let until = world.now(clock)?.after(Time::milliseconds(20));
            world.step(&"waits by FUTEX_WAIT_REQUEUE_PI until a time that is 20 ms ahead");
            let answered = wait_until(world, flags, until.address());
            world.same("FUTEX_WAIT_REQUEUE_PI until a time", answered, Err(Errno::TIMEDOUT))?;
            let now = world.now(clock)?;
            if (now.seconds, now.nanoseconds) < (until.seconds, until.nanoseconds) {
                return wrong(format_args!("FUTEX_WAIT_REQUEUE_PI answered ETIMEDOUT before its time; on Linux never"));
            }
            world.same("FUTEX_CMP_REQUEUE_PI after a time-out", signal(world, 1), Ok(0))?;
        }
        world.holds(1, "the word of the lock", me)
    }

    /// A thread waits until a time of CLOCK_REALTIME that is past, but is ahead on CLOCK_MONOTONIC.
    /// Linux answers ETIMEDOUT, at once.
    #[seen("Gramine: one clock for all time-outs")]
    #[since("2.6.31")]
    #[harm("A condition variable's wait with a time limit does not end: the limit is read on another clock.")]
    fn clocks_are_two(world) {
        is_there(world)?;
        let (monotonic, realtime) = (world.now(CLOCK_MONOTONIC)?, world.now(CLOCK_REALTIME)?);
        let until = monotonic.after(Time::milliseconds(1_000_000));
        if realtime.seconds < until.seconds + 1000 {
            return Err(unfit(format_args!("CLOCK_REALTIME is near CLOCK_MONOTONIC")));
        }
        world.step(&"waits until a time that is past on CLOCK_REALTIME, not on CLOCK_MONOTONIC");
        let answered = wait_until(world, REALTIME, until.address());
        world.same("FUTEX_WAIT_REQUEUE_PI with FUTEX_CLOCK_REALTIME", answered, Err(Errno::TIMEDOUT))
    }

    /// A thread waits until a time, and is moved to a lock that is held until after the time.
    /// Linux answers ETIMEDOUT; the word names the owner, whose unlock answers 0 and leaves it 0.
    #[seen("starnix: a LOCK_PI that timed out stays queued, and is later handed the lock")]
    #[since("2.6.31")]
    #[harm("The mutex is handed to a thread that does not wait any more: all others hang.")]
    fn time_is_up_after_the_move(world) {
        is_there(world)?;
        set_time(world)?;
        let waiter = world.start_asleep(wait_for_time)?;
        let me = world.own_number()?;
        world.same("FUTEX_LOCK_PI", lock(world), Ok(0))?;
        world.same("FUTEX_CMP_REQUEUE_PI", signal(world, 1), Ok(1))?;
        world.step(&"waits for a waiter that was moved to a lock, and whose time is up");
        world.ends(waiter, "FUTEX_WAIT_REQUEUE_PI until a time", Err(Errno::TIMEDOUT))?;
        world.names(1, "the word of the lock", me)?;
        world.same("FUTEX_UNLOCK_PI", unlock(world), Ok(0))?;
        world.holds(1, "the word of the lock after FUTEX_UNLOCK_PI", 0)?;
        let answered = world.futex(trylock_pi(world.address(1), PRIVATE));
        world.same("FUTEX_TRYLOCK_PI of the lock that is free", answered, Ok(0))
    }

    /// A thread waits; another moves it to its lock and ends without unlocking.
    /// Linux hands the lock to the thread, with the owner-died bit: its call answers 0.
    #[since("2.6.31")]
    #[harm("A waiter of a condition variable hangs when the thread that signalled it dies.")]
    fn owner_dies_after_the_move(world) {
        let waiter = waiter(world, wait_moved)?;
        let owner = world.start(|world| {
            lock(world)?;
            signal(world, 0)
        })?;
        world.step(&"waits for a waiter that was moved to a lock whose owner then died");
        world.ends(owner, "FUTEX_CMP_REQUEUE_PI", Ok(1))?;
        world.ends(waiter, "FUTEX_WAIT_REQUEUE_PI", Ok(0))?;
        world.names(1, "the word of the lock", world.number_of(waiter))
    }

    /// Each operation with a condition or a lock at an address that is no multiple of 4, and with a
    /// condition in memory that may not be read.
    /// Linux answers EINVAL to the first, and EFAULT to the second.
    #[seen("DragonOS: FUTEX_WAIT_REQUEUE_PI panics the kernel from user space")]
    #[needs(Faults)]
    #[since("2.6.31")]
    #[harm("A program stops the kernel.")]
    fn bad_addresses(world) {
        is_there(world)?;
        let (condition, lock) = (world.address(0), world.address(1));
        let cases = [
            (condition + 2, lock, Errno::INVAL),
            (condition, lock + 2, Errno::INVAL),
            (world.unwritable(false)?, lock, Errno::FAULT),
        ];
        for (condition, lock, linux) in cases {
            world.step(&"waits by FUTEX_WAIT_REQUEUE_PI with a bad address, until a time that is past");
            let past = Time { seconds: 0, nanoseconds: 1 };
            let answered = world.futex(wait_requeue_pi(condition, PRIVATE, 0, past.address(), lock));
            world.same("FUTEX_WAIT_REQUEUE_PI with a bad address", answered, Err(linux))?;
            let answered = world.futex(cmp_requeue_pi(condition, PRIVATE, 1, lock, 1, 0));
            world.same("FUTEX_CMP_REQUEUE_PI with a bad address", answered, Err(linux))?;
        }
        Ok(())
    }
}
