//! `FUTEX_WAKE`: how many it wakes, which of them, and at which words.

use core::sync::atomic::Ordering;

use crate::errno::{Answer, Errno};
use crate::futex::{ALL, PRIVATE, Time, wait, wake};
use crate::scenario::{Outcome, scenarios};
use crate::world::{World, proven};

/// How often two threads hand each other the turn.
const TURNS: u32 = 1000;
/// How often a thread waits.
const TIMES: usize = 100;

scenarios! { "wake";
    /// Wakes one, and then all, at a word where no thread waits; private, and shared.
    /// Linux answers 0.
    #[since("2.6.0")]
    #[harm("A program counts threads that it did not wake, or takes an error for a fault of its own.")]
    fn no_one_waits(world) {
        for (flags, count) in [(PRIVATE, 1), (PRIVATE, ALL), (0, 1), (0, ALL)] {
            let woken = world.futex(wake(world.address(0), flags, count));
            world.same(format_args!("FUTEX_WAKE of {count}, flags {flags},"), woken, Ok(0))?;
        }
        Ok(())
    }

    /// Wakes five where no thread waits; then waits with a relative time of 10 ms.
    /// Linux answers ETIMEDOUT to the wait: a wake is not kept for later waiters.
    #[since("2.6.0")]
    #[harm("Waits end by wakes of long ago: a lock that trusts its wakes is entered twice.")]
    fn is_not_kept(world) {
        world.same("FUTEX_WAKE of five", world.wake_at(0, 5), Ok(0))?;
        let time = Time::milliseconds(10);
        let waited = world.futex(wait(world.address(0), PRIVATE, 0, time.address()));
        world.same("FUTEX_WAIT with a time", waited, Err(Errno::TIMEDOUT))
    }

    /// Two threads wait; a wake of 0.
    /// Linux answers 1: it wakes one and then compares the count.
    #[since("2.6.0")]
    #[harm("A program that wakes with a count of 0, as it may on Linux, leaves a thread asleep.")]
    fn count_0_wakes_one(world) {
        wakes_one_of_two(world, 0)
    }

    /// Two threads wait; a wake of -1.
    /// Linux answers 1: the count has a sign, and one is woken before it is compared.
    #[since("2.6.0")]
    #[harm("A program that passes a negative count wakes a herd of threads, or none.")]
    fn count_minus_1_wakes_one(world) {
        wakes_one_of_two(world, -1)
    }

    /// Two threads wait; a wake of the least number.
    /// Linux answers 1, as for every negative count.
    #[since("2.6.0")]
    #[harm("A count that is negated or reduced by one overflows in the kernel.")]
    fn least_count_wakes_one(world) {
        wakes_one_of_two(world, i32::MIN)
    }

    /// Eight threads wait; three wakes of three.
    /// Linux answers 3, 3 and 2: each thread is counted by one wake.
    #[since("2.6.0")]
    #[harm("The sum of the wakes' answers is not the number of threads: a semaphore's count is wrong.")]
    fn each_is_counted_once(world) {
        let sleepers = world.asleep::<8>(|world| world.sleep_on(0))?;
        for woken in [3, 3, 2, 0] {
            world.same("FUTEX_WAKE of 3", world.wake_at(0, 3), Ok(woken))?;
        }
        world.all_end(&sleepers)
    }

    /// Five threads wait, one after the other; then each of five wakes takes one.
    /// Linux wakes equal waiters in the order in which they came.
    #[seen("Asterinas 2366: removal from the middle of the list breaks first in, first out")]
    #[since("2.6.22")]
    #[harm("A fair lock is not fair, and a thread may starve.")]
    fn first_in_first_out(world) {
        let sleepers = world.in_order::<5>(|world| world.sleep_on(0))?;
        world.wakes_in_order(0, &sleepers)
    }

    /// Two threads wait without a time, and between them came one with a time, which is up by now.
    /// Linux wakes the two in the order in which they came.
    #[seen("Asterinas 2366: removal from the middle of the list breaks first in, first out")]
    #[since("2.6.22")]
    #[harm("A time-out makes a later waiter overtake an earlier one.")]
    fn order_stays_when_one_leaves(world) {
        let first = world.sleeper(|world| world.sleep_on(0))?;
        let leaves = world.sleeper(|world| {
            let time = world.time_beside(3);
            world.futex(wait(world.address(0), PRIVATE, 0, time.address()))
        })?;
        let others = world.in_order::<3>(|world| world.sleep_on(0))?;
        world.step(&"waits until the time of the thread in the middle is up");
        world.ends(leaves, "the thread with a time", Err(Errno::TIMEDOUT))?;
        world.wakes_in_order(0, &[first, others[0], others[1], others[2]])
    }

    /// A thread waits at one word; a wake of all at each of the 63 others beside it.
    /// Linux answers 0 to each, and 1 to a wake at the word itself.
    #[since("2.6.0")]
    #[harm("Threads run for words that are not theirs, and the thread that was meant sleeps on.")]
    fn other_words_are_others(world) {
        let sleeper = world.sleeper(|world| world.sleep_on(31))?;
        for at in (0..64).filter(|&at| at != 31) {
            world.same(format_args!("FUTEX_WAKE at word {at}"), world.wake_at(at, ALL), Ok(0))?;
        }
        world.sleeps(sleeper, "the sleeper at word 31")?;
        world.same("FUTEX_WAKE at word 31", world.wake_at(31, ALL), Ok(1))?;
        world.all_end(&[sleeper])
    }

    /// A thread waits while the word holds 0; the word is changed; a wake of one.
    /// Linux answers 1: a wake does not look at the word.
    #[since("2.6.0")]
    #[harm("Every lock changes its word before it wakes: all of them hang.")]
    fn value_does_not_matter(world) {
        let sleeper = world.sleeper(|world| world.sleep_on(0))?;
        world.set(0, 77);
        world.sleeps(sleeper, "the sleeper whose word was changed")?;
        world.same("FUTEX_WAKE of one", world.wake_at(0, 1), Ok(1))?;
        world.all_end(&[sleeper])
    }

    /// A thread waits without the flag PRIVATE; a wake with it, and then one without.
    /// Linux answers 0, and then 1: they are two futexes at one address.
    #[seen("Gramine: treats shared futexes as private ones")]
    #[since("2.6.22")]
    #[harm("Programs that mix the two by mistake work here and hang on Linux.")]
    fn private_does_not_find_shared(world) {
        finds_its_own_alone(world, |world| world.futex(wait(world.address(0), 0, 0, 0)), PRIVATE, 0)
    }

    /// A thread waits with the flag PRIVATE; a wake without it, and then one with it.
    /// Linux answers 0, and then 1: they are two futexes at one address.
    #[seen("Gramine: treats shared futexes as private ones")]
    #[since("2.6.22")]
    #[harm("Programs that mix the two by mistake work here and hang on Linux.")]
    fn shared_does_not_find_private(world) {
        finds_its_own_alone(world, |world| world.sleep_on(0), 0, PRIVATE)
    }

    /// Two threads hand each other the turn 1000 times: each stores the next turn and wakes one, then
    /// waits while the word holds that turn. A thread that finds another value does not wait.
    /// On Linux no wake is lost between the comparison and the sleep.
    #[seen("Unikraft 1763: the value is checked outside the lock")]
    #[since("2.6.0")]
    #[harm("Any lock and any condition variable hangs, now and then.")]
    fn none_is_lost(world) {
        world.same("FUTEX_WAKE of one", world.wake_at(0, 1), Ok(0))?;
        let other = world.start(|world| take_turns(world, 1))?;
        world.step(&"hands the turn to another thread and back, 1000 times: a wake was lost");
        world.same("a call of the first thread", take_turns(world, 0), Ok(0))?;
        world.ends(other, "the other thread", Ok(0))
    }

    /// A thread waits again and again, and each wait is ended by a wake of one. Beside it another
    /// thread calls wait all the time with a value that the word never holds.
    /// Linux answers EAGAIN to each of those calls, and no wake goes to their thread.
    #[seen("litebox: the waiter is queued before its value is checked, and eats a wake")]
    #[since("2.6.0")]
    #[harm("A wake goes to a thread that never slept, and the sleeper hangs.")]
    fn who_finds_another_value_eats_none(world) {
        let passer = world.start(pass_by)?;
        let sleeper = world.start(|world| {
            for _ in 0..TIMES {
                world.sleep_on(0)?;
                world.word(2).fetch_add(1, Ordering::SeqCst);
            }
            Ok(0)
        })?;
        for time in 1..=TIMES {
            world.step(&"wakes until the sleeper is woken");
            world.same("FUTEX_WAKE of one", world.until_not_zero(|| world.wake_at(0, 1)), Ok(1))?;
            world.step(&"waits for the end of the sleeper's call: the wake went to a thread that does not sleep");
            world.wait_until(|| world.get(2) as usize >= time);
        }
        world.set(1, 1);
        world.ends(sleeper, "the sleeper", Ok(0))?;
        world.ends(passer, "the thread with another value", Err(Errno::AGAIN))
    }

    /// Two threads wait 100 times each, with a relative time of 100 us, and are woken meanwhile.
    /// On Linux the wakes' answers together are the number of waits that answered 0: who was counted
    /// by a wake does not answer ETIMEDOUT, and who answers ETIMEDOUT was counted by none.
    #[seen("zCore 44, OSv 951: races of a wake and a wait; nanos 1601: not removed on a time-out")]
    #[since("2.6.0")]
    #[harm("A wake is lost on a thread whose time is up just then: another thread hangs.")]
    fn counts_agree_with_time_outs(world) {
        let threads = [world.start(|world| world.wait_briefly())?, world.start(|world| world.wait_briefly())?];
        let mut counted = 0;
        world.step(&"wakes while threads wait until their time is up");
        while threads.iter().any(|&thread| !world.has_ended(thread)) {
            counted += world.wake_at(0, 1).unwrap_or_default();
            world.lets_others_run();
        }
        threads.iter().try_for_each(|&thread| world.ends(thread, "a thread with a time", Err(Errno::TIMEDOUT)))?;
        match world.get(2) as usize {
            woken if woken == counted => world.same("FUTEX_WAKE at the end", world.wake_at(0, ALL), Ok(0)),
            woken => proven(format_args!("wakes answered {counted} together, but {woken} waits answered 0")),
        }
    }
}

/// Asserts that a wake with this count takes one of two waiters.
fn wakes_one_of_two(world: &World<'_>, count: i32) -> Outcome {
    let sleepers = world.asleep::<2>(|world| world.sleep_on(0))?;
    world.same(format_args!("FUTEX_WAKE of {count}"), world.wake_at(0, count as u32), Ok(1))?;
    world.step(&"waits until one of the sleepers has ended its call");
    let other = sleepers[1 - world.first_to_end(&sleepers)];
    world.sleeps(other, "the other sleeper")?;
    world.same("FUTEX_WAKE of one", world.wake_at(0, 1), Ok(1))?;
    world.all_end(&sleepers)
}

/// Asserts that a wake with some flags does not find a sleeper, and one with its own does.
fn finds_its_own_alone(world: &World<'_>, sleep: fn(&World<'_>) -> Answer, others: u32, own: u32) -> Outcome {
    let sleeper = world.sleeper(sleep)?;
    world.same("FUTEX_WAKE of the other kind", world.futex(wake(world.address(0), others, ALL)), Ok(0))?;
    world.sleeps(sleeper, "the sleeper")?;
    world.same("FUTEX_WAKE of the same kind", world.futex(wake(world.address(0), own, ALL)), Ok(1))?;
    world.all_end(&[sleeper])
}

/// Takes every second turn, from `mine` on.
fn take_turns(world: &World<'_>, mine: u32) -> Answer {
    for turn in (mine..TURNS).step_by(2) {
        loop {
            let now = world.get(0);
            if now >= turn {
                break;
            }
            match world.futex(wait(world.address(0), PRIVATE, now, 0)) {
                Ok(_) | Err(Errno::AGAIN) => {}
                Err(errno) => return Err(errno),
            }
        }
        world.set(0, turn + 1);
        world.wake_at(0, 1)?;
    }
    Ok(0)
}

/// Waits on word 0 with a value that it does not hold, until word 1 says to stop.
fn pass_by(world: &World<'_>) -> Answer {
    loop {
        match world.futex(wait(world.address(0), PRIVATE, 5, 0)) {
            Err(Errno::AGAIN) if world.get(1) == 0 => world.lets_others_run_now_and_then(),
            answered => return answered,
        }
    }
}
