//! `FUTEX_REQUEUE`: what it wakes and moves, and what becomes of those that were moved.

use crate::errno::Errno;
use crate::futex::{ALL, PRIVATE, Time, requeue, wait};
use crate::scenario::{Outcome, scenarios};
use crate::world::{World, late, proven, wrong};

scenarios! { "requeue";
    /// REQUEUE with no waiter.
    /// Linux answers 0.
    #[since("2.6.0")]
    #[harm("A program takes an error for a fault of its own.")]
    fn no_one_waits(world) {
        moves(world, 0, 1, (1, ALL), 0)
    }

    /// Five threads wait; one is woken and two are moved, to a word that holds another value.
    /// Linux answers 3, those woken and those moved together, and two are left at the first word.
    #[since("2.6.0")]
    #[harm("A broadcast leaves threads asleep that it should have moved, or wakes them all at once.")]
    fn counts(world) {
        world.set(1, 5);
        let sleepers = world.asleep::<5>(|world| world.sleep_on(0))?;
        moves(world, 0, 1, (1, 2), 3)?;
        world.same("FUTEX_WAKE at the new word", world.wake_at(1, ALL), Ok(2))?;
        world.same("FUTEX_WAKE at the old word", world.wake_at(0, ALL), Ok(2))?;
        world.all_end(&sleepers)
    }

    /// Two threads wait; none is woken and all are moved.
    /// Linux answers 2, and both sleep on: here a count of 0 wakes none.
    #[since("2.6.0")]
    #[harm("Threads run that should wait for the lock they are moved to.")]
    fn wake_count_0_wakes_none(world) {
        let sleepers = world.asleep::<2>(|world| world.sleep_on(0))?;
        moves(world, 0, 1, (0, ALL), 2)?;
        for sleeper in sleepers {
            world.sleeps(sleeper, "a sleeper that was moved")?;
        }
        world.same("FUTEX_WAKE at the new word", world.wake_at(1, ALL), Ok(2))?;
        world.all_end(&sleepers)
    }

    /// Two threads wait; one is woken and none is moved.
    /// Linux answers 1, and leaves the other where it is.
    #[since("2.6.0")]
    #[harm("A thread is moved to a word where no wake comes.")]
    fn move_count_0_moves_none(world) {
        let sleepers = world.asleep::<2>(|world| world.sleep_on(0))?;
        moves(world, 0, 1, (1, 0), 1)?;
        world.same("FUTEX_WAKE at the second word", world.wake_at(1, ALL), Ok(0))?;
        world.same("FUTEX_WAKE at the first word", world.wake_at(0, ALL), Ok(1))?;
        world.all_end(&sleepers)
    }

    /// Three threads wait; all are woken and all are moved.
    /// Linux answers 3, and has woken all: the sum of the counts does not overflow.
    #[since("2.6.0")]
    #[harm("A broadcast with the largest counts wakes none.")]
    fn huge_counts(world) {
        let sleepers = world.asleep::<3>(|world| world.sleep_on(0))?;
        moves(world, 0, 1, (ALL, ALL), 3)?;
        world.all_end(&sleepers)
    }

    /// A thread waits; the counts are negative, one or the other or both.
    /// Linux answers EINVAL, and neither wakes nor moves.
    #[seen("gVisor: negative requeue counts are accepted")]
    #[since("4.15")]
    #[harm("A count that overflowed in the program wakes a herd, or moves all.")]
    fn negative_counts(world) {
        moves(world, 0, 1, (0, 0), 0)?;
        let sleeper = world.sleeper(|world| world.sleep_on(0))?;
        for (wake, moved) in [(-1, 1), (1, -1), (-1, -1), (i32::MIN, 0), (0, i32::MIN)] {
            let answered = world.futex(requeue(world.address(0), PRIVATE, wake as u32, world.address(1), moved as u32));
            world.same(format_args!("FUTEX_REQUEUE, wake {wake}, move {moved},"), answered, Err(Errno::INVAL))?;
        }
        world.sleeps(sleeper, "the sleeper")?;
        world.same("FUTEX_WAKE at the old word", world.wake_at(0, 1), Ok(1))?;
        world.all_end(&[sleeper])
    }

    /// A thread waits while its word holds 0; the word is changed; the thread is moved.
    /// Linux answers 1: without a comparison it does not look at the word.
    #[since("2.6.0")]
    #[harm("An old C library's broadcast wakes none.")]
    fn value_does_not_matter(world) {
        let sleeper = world.sleeper(|world| world.sleep_on(0))?;
        world.set(0, 77);
        moves(world, 0, 1, (0, 1), 1)?;
        world.same("FUTEX_WAKE at the new word", world.wake_at(1, 1), Ok(1))?;
        world.all_end(&[sleeper])
    }

    /// Five threads wait, one after the other; one is woken and two are moved.
    /// Linux wakes the first, and moves the second and the third: both are taken from the front.
    #[seen("starnix: the split takes the tail")]
    #[since("2.6.22")]
    #[harm("A thread that waits longest is overtaken by all that came later.")]
    fn takes_from_the_front(world) {
        let sleepers = world.in_order::<5>(|world| world.sleep_on(0))?;
        moves(world, 0, 1, (1, 2), 3)?;
        world.step(&"waits until the one that was woken has ended its call");
        if world.first_to_end(&sleepers) != 0 {
            return wrong(format_args!("it woke another than the first waiter; Linux wakes the first"));
        }
        world.wakes_in_order(1, &sleepers[1..3])?;
        world.wakes_in_order(0, &sleepers[3..])
    }

    /// A thread waits at the second word, and then three at the first, which are moved.
    /// Linux wakes at the second word the one that was there, and then the others in their order.
    #[since("2.6.22")]
    #[harm("A thread that waited for a lock is overtaken by all that a broadcast moves there.")]
    fn order_is_kept(world) {
        let there = world.sleeper(|world| world.sleep_on(1))?;
        let [first, second, third] = world.in_order(|world| world.sleep_on(0))?;
        moves(world, 0, 1, (0, ALL), 3)?;
        world.wakes_in_order(1, &[there, first, second, third])
    }

    /// A thread waits and is moved; a wake at the old word, and then one at the new.
    /// Linux answers 0, and then 1.
    #[seen("Occlum, Redox: a requeued clone of the waiter is left behind")]
    #[since("2.6.0")]
    #[harm("A wake is spent on a thread that is no longer there.")]
    fn moved_is_woken_at_the_new_word(world) {
        let sleeper = world.sleeper(|world| world.sleep_on(0))?;
        moves(world, 0, 1, (0, 1), 1)?;
        world.same("FUTEX_WAKE at the old word", world.wake_at(0, ALL), Ok(0))?;
        world.sleeps(sleeper, "the sleeper that was moved")?;
        world.same("FUTEX_WAKE at the new word", world.wake_at(1, ALL), Ok(1))?;
        world.all_end(&[sleeper])
    }

    /// A thread waits and is moved from word 0 to 1, 2, 0 and 3; a wake at each word of the way.
    /// Linux answers 0 at all but the last, where it answers 1, once.
    #[seen("Occlum, Redox: a requeued clone of the waiter is left behind")]
    #[since("2.6.0")]
    #[harm("Copies of a waiter stay behind and eat wakes.")]
    fn no_copy_is_left(world) {
        let sleeper = world.sleeper(|world| world.sleep_on(0))?;
        for (from, to) in [(0, 1), (1, 2), (2, 0), (0, 3)] {
            moves(world, from, to, (0, ALL), 1)?;
            world.same("FUTEX_WAKE at the word it left", world.wake_at(from, ALL), Ok(0))?;
        }
        world.same("FUTEX_WAKE at the last word", world.wake_at(3, ALL), Ok(1))?;
        world.all_end(&[sleeper])?;
        (0..4).try_for_each(|at| world.same("FUTEX_WAKE after the end", world.wake_at(at, ALL), Ok(0)))
    }

    /// Two threads wait, and are moved from a word to the same word.
    /// Linux answers 2, and both wait there still, each once.
    #[since("2.6.0")]
    #[harm("The kernel walks a list in circles, or loses the waiters.")]
    fn onto_itself(world) {
        let sleepers = world.asleep::<2>(|world| world.sleep_on(0))?;
        world.step(&"moves waiters from a word to the same word");
        moves(world, 0, 0, (0, ALL), 2)?;
        world.same("FUTEX_WAKE", world.wake_at(0, ALL), Ok(2))?;
        world.all_end(&sleepers)
    }

    /// A thread waits with a relative time of 200 ms or more and is moved; then its time is up.
    /// Linux answers ETIMEDOUT, and a later waiter at the new word gets the next wake there.
    #[seen("Asterinas 1587: looks in the old bucket and leaves the waiter in the new one; Occlum, Redox")]
    #[since("2.6.0")]
    #[harm("A thread that is gone eats a wake, or the kernel uses memory that is no longer its own.")]
    fn time_is_up_after_the_move(world) {
        let leaves = world.start(|world| {
            let time = world.time_beside(0);
            world.futex(wait(world.address(0), PRIVATE, 0, time.address()))
        })?;
        let one = || match world.has_ended(leaves) {
            true => world.end_of(leaves),
            false => world.futex(requeue(world.address(0), PRIVATE, 0, world.address(1), 1)),
        };
        world.step(&"moves a waiter that has a time");
        match world.until_not_zero(one) {
            Err(Errno::TIMEDOUT) => return late("the waiter"),
            moved => world.same("FUTEX_REQUEUE of one", moved, Ok(1))?,
        }
        world.step(&"waits until the time of the waiter that was moved is up");
        world.ends(leaves, "the waiter that was moved", Err(Errno::TIMEDOUT))?;
        let sleeper = world.sleeper(|world| world.sleep_on(1))?;
        world.same("FUTEX_WAKE at the old word", world.wake_at(0, ALL), Ok(0))?;
        world.same("FUTEX_WAKE of one at the new word", world.wake_at(1, 1), Ok(1))?;
        world.all_end(&[sleeper])
    }

    /// Three threads wait, the first with a relative time of 200 ms or more; all are moved; then its time is up.
    /// Linux answers ETIMEDOUT to the first, and wakes the two others in their order.
    #[seen("Asterinas 1587, 2366: what leaves after a move is removed from the wrong place")]
    #[since("2.6.22")]
    #[harm("A time-out after a broadcast takes another thread out of the list: it hangs.")]
    fn others_stay_when_one_leaves(world) {
        let leaves = world.sleeper(|world| {
            let time = world.time_beside(3);
            world.futex(wait(world.address(0), PRIVATE, 0, time.address()))
        })?;
        let others = world.in_order::<2>(|world| world.sleep_on(0))?;
        let moved = world.futex(requeue(world.address(0), PRIVATE, 0, world.address(1), ALL));
        if moved == Ok(2) && world.has_ended(leaves) && world.end_of(leaves) == Err(Errno::TIMEDOUT) {
            return late("the first");
        }
        world.same("FUTEX_REQUEUE, wake 0, move all,", moved, Ok(3))?;
        world.step(&"waits until the time of the first is up");
        world.ends(leaves, "the first", Err(Errno::TIMEDOUT))?;
        world.wakes_in_order(1, &others)
    }

    /// A thread waits with a relative time of 1000 s and is moved; a wake at the new word.
    /// Linux answers 1, and 0 to the wait: its time was not up.
    #[since("2.6.0")]
    #[harm("A thread that was woken believes that its time is up.")]
    fn moved_with_a_time_is_woken(world) {
        let sleeper = world.sleeper(|world| {
            let time = Time::milliseconds(1_000_000);
            world.futex(wait(world.address(0), PRIVATE, 0, time.address()))
        })?;
        moves(world, 0, 1, (0, 1), 1)?;
        world.same("FUTEX_WAKE at the new word", world.wake_at(1, 1), Ok(1))?;
        world.all_end(&[sleeper])
    }

    /// A thread waits with the flag PRIVATE; a requeue without it, and then one with it.
    /// Linux answers 0, and then 1.
    #[seen("Gramine: treats shared futexes as private ones")]
    #[since("2.6.22")]
    #[harm("Threads are moved by calls that are not for them.")]
    fn shared_does_not_find_private(world) {
        let sleeper = world.sleeper(|world| world.sleep_on(0))?;
        let shared = world.futex(requeue(world.address(0), 0, ALL, world.address(1), ALL));
        world.same("FUTEX_REQUEUE without PRIVATE", shared, Ok(0))?;
        moves(world, 0, 1, (1, 0), 1)?;
        world.all_end(&[sleeper])
    }

    /// Two threads wait without the flag PRIVATE; one is woken and one is moved; a wake of each kind.
    /// Linux answers 2; the waiter that was moved is found by the wake without the flag.
    #[since("2.6.22")]
    #[harm("A condition variable that processes share loses a waiter.")]
    fn shared_stays_shared(world) {
        let sleepers = world.asleep::<2>(|world| world.futex(wait(world.address(0), 0, 0, 0)))?;
        let moved = world.futex(requeue(world.address(0), 0, 1, world.address(1), 1));
        world.same("FUTEX_REQUEUE without PRIVATE", moved, Ok(2))?;
        world.same("FUTEX_WAKE with PRIVATE", world.wake_at(1, ALL), Ok(0))?;
        let woken = world.futex(crate::futex::wake(world.address(1), 0, ALL));
        world.same("FUTEX_WAKE without PRIVATE", woken, Ok(1))?;
        world.all_end(&sleepers)
    }

    /// Two threads wait 100 times each, with a relative time of 100 us, and meanwhile they are moved to
    /// another word and woken at both.
    /// On Linux the wakes' answers together are the number of waits that answered 0, and none is left.
    #[seen("nanos 1006: a requeue races with a wait that ends; Asterinas 2515; OSv 951")]
    #[since("2.6.0")]
    #[harm("A wake is lost on a thread that leaves just then, or the kernel uses memory of one that left.")]
    fn counts_agree_with_time_outs(world) {
        moves(world, 0, 1, (0, 0), 0)?;
        let threads = [world.start(|world| world.wait_briefly())?, world.start(|world| world.wait_briefly())?];
        let mut counted = 0;
        world.step(&"moves and wakes threads whose time is about to be up");
        while threads.iter().any(|&thread| !world.has_ended(thread)) {
            let _ = world.futex(requeue(world.address(0), PRIVATE, 0, world.address(1), 1));
            counted += world.wake_at(1, 1).unwrap_or_default();
            let _ = world.futex(requeue(world.address(0), PRIVATE, 0, world.address(1), ALL));
            counted += world.wake_at(0, 1).unwrap_or_default();
            world.lets_others_run();
        }
        threads.iter().try_for_each(|&thread| world.ends(thread, "a thread with a time", Err(Errno::TIMEDOUT)))?;
        let woken = world.get(2) as usize;
        if woken != counted {
            return proven(format_args!("wakes answered {counted} together, but {woken} waits answered 0"));
        }
        (0..2).try_for_each(|at| world.same("FUTEX_WAKE at the end", world.wake_at(at, ALL), Ok(0)))
    }
}

/// Asserts what a private requeue of these counts answers.
fn moves(world: &World<'_>, from: usize, to: usize, (wake, moved): (u32, u32), linux: usize) -> Outcome {
    let answered = world.futex(requeue(world.address(from), PRIVATE, wake, world.address(to), moved));
    world.same(format_args!("FUTEX_REQUEUE, wake {wake}, move {moved},"), answered, Ok(linux))
}
