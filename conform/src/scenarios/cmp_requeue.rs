//! `FUTEX_CMP_REQUEUE`: the comparison, and that it moves as `FUTEX_REQUEUE` does.

use crate::errno::{Answer, Errno};
use crate::futex::{ALL, PRIVATE, cmp_requeue, wait};
use crate::scenario::{Outcome, scenarios};
use crate::world::{World, late, wrong};

scenarios! { "cmp_requeue";
    /// Five threads wait; one is woken and two are moved, if the word holds the value that it holds.
    /// Linux answers 3, those woken and those moved together, and two are left at the first word.
    #[since("2.6.7")]
    #[harm("A broadcast leaves threads asleep that it should have moved, or wakes them all at once.")]
    fn counts(world) {
        world.set(1, 5);
        let sleepers = world.asleep::<5>(|world| world.sleep_on(0))?;
        moves(world, (1, 2), 0, Ok(3))?;
        world.same("FUTEX_WAKE at the new word", world.wake_at(1, ALL), Ok(2))?;
        world.same("FUTEX_WAKE at the old word", world.wake_at(0, ALL), Ok(2))?;
        world.all_end(&sleepers)
    }

    /// A thread waits; one is to be woken and all to be moved, if the word holds another value.
    /// Linux answers EAGAIN, and neither wakes nor moves.
    #[since("2.6.7")]
    #[harm("A broadcast moves threads that came after it, which no wake is for.")]
    fn value_differs(world) {
        let sleeper = world.sleeper(|world| world.sleep_on(0))?;
        moves(world, (1, ALL), 1, Err(Errno::AGAIN))?;
        moves(world, (0, ALL), u32::MAX, Err(Errno::AGAIN))?;
        world.sleeps(sleeper, "the sleeper")?;
        world.same("FUTEX_WAKE at the second word", world.wake_at(1, ALL), Ok(0))?;
        world.same("FUTEX_WAKE at the first word", world.wake_at(0, ALL), Ok(1))?;
        world.all_end(&[sleeper])
    }

    /// CMP_REQUEUE with no waiter, once with the word's value and once with another.
    /// Linux answers 0, and EAGAIN: it compares also when there is none to move.
    #[since("2.6.7")]
    #[harm("A program does not learn that its word has changed.")]
    fn compares_when_no_one_waits(world) {
        moves(world, (1, ALL), 0, Ok(0))?;
        moves(world, (1, ALL), 1, Err(Errno::AGAIN))
    }

    /// A thread waits while its word holds 0; the first word is changed to 7, and the second holds 9.
    /// Linux answers EAGAIN for 0 and for 9, and 1 for 7: it compares with the first word as it is now.
    #[since("2.6.7")]
    #[harm("A broadcast never moves, for it is compared with another word.")]
    fn compares_with_the_first_word(world) {
        let sleeper = world.sleeper(|world| world.sleep_on(0))?;
        world.set(0, 7);
        world.set(1, 9);
        moves(world, (0, 1), 0, Err(Errno::AGAIN))?;
        moves(world, (0, 1), 9, Err(Errno::AGAIN))?;
        moves(world, (0, 1), 7, Ok(1))?;
        world.same("FUTEX_WAKE at the new word", world.wake_at(1, ALL), Ok(1))?;
        world.all_end(&[sleeper])
    }

    /// A thread waits; the counts are negative, one or the other or both.
    /// Linux answers EINVAL, also if the value differs, and neither wakes nor moves.
    #[seen("gVisor: negative requeue counts are accepted")]
    #[since("4.15")]
    #[harm("A count that overflowed in the program wakes a herd, or moves all.")]
    fn negative_counts(world) {
        moves(world, (0, 0), 0, Ok(0))?;
        let sleeper = world.sleeper(|world| world.sleep_on(0))?;
        for (wake, moved) in [(-1, 1), (1, -1), (-1, -1), (i32::MIN, 0), (0, i32::MIN)] {
            moves(world, (wake as u32, moved as u32), 0, Err(Errno::INVAL))?;
            moves(world, (wake as u32, moved as u32), 1, Err(Errno::INVAL))?;
        }
        world.sleeps(sleeper, "the sleeper")?;
        world.same("FUTEX_WAKE at the old word", world.wake_at(0, 1), Ok(1))?;
        world.all_end(&[sleeper])
    }

    /// Two threads wait; none is woken and all are moved.
    /// Linux answers 2, and both sleep on until a wake at the new word: here a count of 0 wakes none.
    #[since("2.6.7")]
    #[harm("Threads run that should wait for the lock they are moved to.")]
    fn wake_count_0_wakes_none(world) {
        let sleepers = world.asleep::<2>(|world| world.sleep_on(0))?;
        moves(world, (0, ALL), 0, Ok(2))?;
        for sleeper in sleepers {
            world.sleeps(sleeper, "a sleeper that was moved")?;
        }
        world.same("FUTEX_WAKE at the old word", world.wake_at(0, ALL), Ok(0))?;
        world.same("FUTEX_WAKE at the new word", world.wake_at(1, ALL), Ok(2))?;
        world.all_end(&sleepers)
    }

    /// Three threads wait; all are woken and all are moved, and at a second call the same.
    /// Linux answers 3, has woken all, and answers 0.
    #[since("2.6.7")]
    #[harm("A broadcast with the largest counts wakes none.")]
    fn huge_counts(world) {
        let sleepers = world.asleep::<3>(|world| world.sleep_on(0))?;
        moves(world, (ALL, ALL), 0, Ok(3))?;
        moves(world, (ALL, ALL), 0, Ok(0))?;
        world.all_end(&sleepers)
    }

    /// A thread waits at the second word, then four at the first: one is woken, two are moved.
    /// Linux wakes the first of the four. At the second word it wakes the one that was there, and then
    /// the second and the third of the four, in this order.
    #[seen("starnix: the split takes the tail")]
    #[since("2.6.22")]
    #[harm("A thread that waits longest is overtaken by all that came later.")]
    fn order_is_kept(world) {
        let there = world.sleeper(|world| world.sleep_on(1))?;
        let sleepers = world.in_order::<4>(|world| world.sleep_on(0))?;
        moves(world, (1, 2), 0, Ok(3))?;
        world.step(&"waits until the one that was woken has ended its call");
        if world.first_to_end(&sleepers) != 0 {
            return wrong(format_args!("it woke another than the first waiter; Linux wakes the first"));
        }
        world.wakes_in_order(1, &[there, sleepers[1], sleepers[2]])?;
        world.wakes_in_order(0, &sleepers[3..])
    }

    /// Two threads wait, and are moved from a word to the same word.
    /// Linux answers 2, and both wait there still, each once.
    #[since("2.6.7")]
    #[harm("The kernel walks a list in circles, or loses the waiters.")]
    fn onto_itself(world) {
        let sleepers = world.asleep::<2>(|world| world.sleep_on(0))?;
        world.step(&"moves waiters from a word to the same word");
        let answered = world.futex(cmp_requeue(world.address(0), PRIVATE, 0, world.address(0), ALL, 0));
        world.same("FUTEX_CMP_REQUEUE onto itself", answered, Ok(2))?;
        world.same("FUTEX_WAKE", world.wake_at(0, ALL), Ok(2))?;
        world.all_end(&sleepers)
    }

    /// A thread waits with a relative time of 200 ms or more and is moved; then its time is up.
    /// Linux answers ETIMEDOUT, and a later waiter at the new word gets the next wake there.
    #[seen("Asterinas 1587: looks in the old bucket and leaves the waiter in the new one; Occlum, Redox")]
    #[since("2.6.7")]
    #[harm("A thread that is gone eats a wake, or the kernel uses memory that is no longer its own.")]
    fn time_is_up_after_the_move(world) {
        let leaves = world.start(|world| {
            let time = world.time_beside(0);
            world.futex(wait(world.address(0), PRIVATE, 0, time.address()))
        })?;
        let one = || match world.has_ended(leaves) {
            true => world.end_of(leaves),
            false => world.futex(cmp_requeue(world.address(0), PRIVATE, 0, world.address(1), 1, 0)),
        };
        world.step(&"moves a waiter that has a time");
        match world.until_not_zero(one) {
            Err(Errno::TIMEDOUT) => return late("the waiter"),
            moved => world.same("FUTEX_CMP_REQUEUE of one", moved, Ok(1))?,
        }
        world.step(&"waits until the time of the waiter that was moved is up");
        world.ends(leaves, "the waiter that was moved", Err(Errno::TIMEDOUT))?;
        let sleeper = world.sleeper(|world| world.sleep_on(1))?;
        world.same("FUTEX_WAKE at the old word", world.wake_at(0, ALL), Ok(0))?;
        world.same("FUTEX_WAKE of one at the new word", world.wake_at(1, 1), Ok(1))?;
        world.all_end(&[sleeper])
    }

    /// A thread waits without the flag PRIVATE; a call with it, and then one without.
    /// Linux answers 0, and then 1.
    #[seen("Gramine: treats shared futexes as private ones")]
    #[since("2.6.22")]
    #[harm("Threads are moved by calls that are not for them.")]
    fn private_does_not_find_shared(world) {
        let sleeper = world.sleeper(|world| world.futex(wait(world.address(0), 0, 0, 0)))?;
        moves(world, (ALL, ALL), 0, Ok(0))?;
        let shared = world.futex(cmp_requeue(world.address(0), 0, 1, world.address(1), 1, 0));
        world.same("FUTEX_CMP_REQUEUE without PRIVATE", shared, Ok(1))?;
        world.all_end(&[sleeper])
    }
}

/// Asserts what a private call of these counts from word 0 to word 1 answers, if word 0 holds `value`.
fn moves(world: &World<'_>, (wake, moved): (u32, u32), value: u32, linux: Answer) -> Outcome {
    let answered = world.futex(cmp_requeue(world.address(0), PRIVATE, wake, world.address(1), moved, value));
    let (wake, moved) = (wake as i32, moved as i32);
    world.same(format_args!("FUTEX_CMP_REQUEUE, wake {wake}, move {moved}, if {value},"), answered, linux)
}
