//! Signals that come to threads that wait: which waits end, which are made again, and that no wake is
//! lost on the way.

use core::mem::size_of;

use crate::clocks::CLOCK_MONOTONIC;
use crate::errno::{Answer, Errno};
use crate::futex::{ALL, PRIVATE, Time, requeue, wait, wait_bitset, wake, wake_bitset};
use crate::futex2::{ANY, Entry, U32_PRIVATE, wait2, waitv};
use crate::numbers;
use crate::objects::sleep;
use crate::scenario::{Outcome, scenarios};
use crate::signals::{After, USR1, USR2};
use crate::world::{Body, Shown, World, proven, unfit};

/// A time that no scenario waits for.
const LONG: Time = Time::milliseconds(1_000_000);
/// How many rounds a race has.
const ROUNDS: u32 = 200;

/// Words of a race: the round that the sleeper begins, the one whose answer is there, the answer, and the
/// round that it may begin.
const BEGUN: usize = 1;
const ENDED: usize = 2;
const ANSWER: usize = 3;
const LET: usize = 4;

fn plain(world: &World<'_>) -> Answer {
    world.futex(wait(world.address(0), PRIVATE, 0, 0))
}

fn with_time(world: &World<'_>) -> Answer {
    world.futex(wait(world.address(0), PRIVATE, 0, LONG.address()))
}

fn until_a_time(world: &World<'_>) -> Answer {
    let time = world.ahead(CLOCK_MONOTONIC, LONG).map_err(|_| Errno::NOSYS)?;
    world.futex(wait_bitset(world.address(0), PRIVATE, 0, time.address(), 1))
}

fn waitv_until_a_time(world: &World<'_>) -> Answer {
    let time = world.ahead(CLOCK_MONOTONIC, LONG).map_err(|_| Errno::NOSYS)?;
    let entries = [1, 0].map(|at| Entry::new(world.address(at), U32_PRIVATE));
    world.futex(waitv(&entries, time.address(), CLOCK_MONOTONIC))
}

fn wait2_until_a_time(world: &World<'_>) -> Answer {
    let time = world.ahead(CLOCK_MONOTONIC, LONG).map_err(|_| Errno::NOSYS)?;
    world.futex(wait2(world.address(0), 0, ANY, U32_PRIVATE, (time.address(), CLOCK_MONOTONIC)))
}

/// What a handler does that does nothing.
fn nothing(_: &World<'_>) -> Answer {
    Ok(0)
}

/// Asserts that a handler ends a wait with EINTR, and that no one is queued any more.
fn ends(world: &World<'_>, after: After, body: Body) -> Outcome {
    world.handle(after, nothing)?;
    let sleeper = world.start_asleep(body)?;
    world.interrupt(sleeper)?;
    world.step(&"waits for the end of a wait that a handler interrupted");
    world.ends(sleeper, "a sleeper that was interrupted", Err(Errno::INTR))?;
    world.misses(world.address(0), PRIVATE, "the word of a sleeper that was interrupted")
}

/// Asserts that a wait goes on after a handler, until a wake, which it answers so.
fn goes_on(world: &World<'_>, body: Body, answer: Answer) -> Outcome {
    world.handle(After::Restart, nothing)?;
    let sleeper = world.start_asleep(body)?;
    for _ in 0..2 {
        world.interrupt(sleeper)?;
        if world.has_ended(sleeper) {
            return world.ends(sleeper, "a sleeper that was interrupted", answer);
        }
        world.sleeps(sleeper, "a sleeper that was interrupted, whose handler has SA_RESTART,")?;
    }
    world.same("FUTEX_WAKE", world.futex(wake(world.address(0), PRIVATE, ALL)), Ok(1))?;
    world.step(&"waits for the end of the sleeper's call");
    world.ends(sleeper, "the sleeper", answer)
}

/// Sends signals to a thread at the moments at which it is woken. Whatever comes first: a wake that
/// says that it woke the thread is what ends its wait with 0.
fn meets_a_wake(world: &World<'_>, after: After) -> Outcome {
    world.handle(after, nothing)?;
    let sleeper = world.start(|world| {
        for round in 1..=ROUNDS {
            world.wait_until(|| world.get(LET) == round);
            world.set(BEGUN, round);
            let answered = world.futex(wait(world.address(0), PRIVATE, 0, 0));
            world.set(ANSWER, answered.map_or_else(|errno| u32::from(errno.0), |_| 0));
            world.set(ENDED, round);
        }
        Ok(0)
    })?;
    world.step(&"wakes a thread that gets a signal at the same time, until its wait has ended");
    for round in 1..=ROUNDS {
        // Not before all wakes of the last round have been made.
        world.set(LET, round);
        while world.get(BEGUN) != round {
            world.lets_others_run();
        }
        for _ in 0..round % 16 * 100 {
            core::hint::spin_loop();
        }
        world.send(sleeper, USR1)?;
        let mut woken = 0;
        while world.get(ENDED) != round {
            let answered = world.futex(wake(world.address(0), PRIVATE, 1));
            if answered.is_err() {
                return world.same("FUTEX_WAKE beside a signal", answered, Ok(1));
            }
            woken += answered.unwrap_or_default();
            world.lets_others_run();
        }
        let answer = if world.get(ANSWER) == 0 { Ok(0) } else { Err(Errno(world.get(ANSWER) as u16)) };
        if answer == Err(Errno::NOSYS) {
            return world.same("FUTEX_WAIT beside a signal", answer, Ok(0));
        }
        let fits = match answer {
            Ok(_) => woken == 1,
            Err(errno) => errno == Errno::INTR && after == After::End && woken == 0,
        };
        if !fits {
            let answer = Shown(answer);
            return proven(format_args!("a wait that met a signal answered {answer}, and its wakes woke {woken}"));
        }
    }
    world.ends(sleeper, "the sleeper", Ok(0))
}

scenarios! { "signals";
    /// A thread waits without a time; a handler without SA_RESTART runs.
    /// Linux answers EINTR to the wait, and 0 to a wake after it.
    #[needs(Signals)]
    #[since("2.6.22")]
    #[harm("A program that signals a thread to end a wait hangs, or a later wake is lost.")]
    fn handler_ends_a_wait(world) {
        ends(world, After::End, plain)
    }

    /// A thread waits without a time; a handler with SA_RESTART runs, twice; then the thread is woken.
    /// Linux makes the wait again: it sleeps on, and answers 0 to the wake.
    #[needs(Signals)]
    #[since("2.6.22")]
    #[harm("Waits end with EINTR where programs expect none, or the wake after a signal is lost.")]
    fn wait_restarts(world) {
        goes_on(world, plain, Ok(0))
    }

    /// A thread waits with a relative time; a handler runs, without SA_RESTART and with it.
    /// Linux answers EINTR both times: a wait with a time is not made again after a handler.
    #[needs(Signals)]
    #[since("2.6.22")]
    #[harm("A wait that a signal was to end goes on until its time is up.")]
    fn handler_ends_a_wait_with_a_time(world) {
        ends(world, After::End, with_time)?;
        ends(world, After::Restart, with_time)
    }

    /// A thread waits by FUTEX_WAIT_BITSET until a point in time; a handler runs, without SA_RESTART and
    /// with it.
    /// Linux answers EINTR both times.
    #[needs(Signals)]
    #[since("2.6.25")]
    #[harm("A wait that a signal was to end goes on until its time is up.")]
    fn handler_ends_a_wait_until_a_time(world) {
        ends(world, After::End, until_a_time)?;
        ends(world, After::Restart, until_a_time)
    }

    /// A thread waits by FUTEX_WAIT_BITSET without a time; a handler with SA_RESTART runs, twice; a wake
    /// with other bits comes, and one with the thread's.
    /// Linux makes the wait again, with its bits: it sleeps on until the last.
    #[needs(Signals)]
    #[since("2.6.25")]
    #[harm("After a signal a wait takes wakes that are not meant for it, or misses its own.")]
    fn bitset_survives_a_restart(world) {
        world.handle(After::Restart, nothing)?;
        let sleeper = world.start_asleep(|world| world.futex(wait_bitset(world.address(0), PRIVATE, 0, 0, 2)))?;
        world.interrupt(sleeper)?;
        world.sleeps(sleeper, "a sleeper that was interrupted, whose handler has SA_RESTART,")?;
        let wake = |bits| world.futex(wake_bitset(world.address(0), PRIVATE, ALL, bits));
        world.same("FUTEX_WAKE_BITSET with other bits", wake(!2), Ok(0))?;
        world.same("FUTEX_WAKE_BITSET with the sleeper's bit", wake(2), Ok(1))?;
        world.step(&"waits for the end of the sleeper's call");
        world.ends(sleeper, "the sleeper", Ok(0))
    }

    /// A thread waits by futex_waitv until a point in time; a handler runs, without SA_RESTART and with it.
    /// Linux answers EINTR to the first, and makes the other again until it is woken.
    #[needs(Signals)]
    #[since("5.16")]
    #[harm("Waits for several words end with EINTR, or a wake after a signal is lost.")]
    fn waitv_restarts_with_its_time(world) {
        ends(world, After::End, waitv_until_a_time)?;
        goes_on(world, waitv_until_a_time, Ok(1))
    }

    /// A thread waits by futex_wait until a point in time; a handler runs, without SA_RESTART and with it.
    /// Linux answers EINTR to the first, and makes the other again until it is woken.
    #[needs(Signals)]
    #[since("6.7")]
    #[harm("Waits end with EINTR where programs expect none, or a wake after a signal is lost.")]
    fn futex2_wait_restarts_with_its_time(world) {
        ends(world, After::End, wait2_until_a_time)?;
        goes_on(world, wait2_until_a_time, Ok(0))
    }

    /// A thread waits without a time; a handler with SA_RESTART changes the word.
    /// Linux compares the word again when it makes the wait again, and answers EAGAIN.
    #[needs(Signals)]
    #[since("2.6.22")]
    #[harm("A handler that ends a wait by changing the word is not seen: the thread sleeps on.")]
    fn restart_compares_again(world) {
        world.handle(After::Restart, |world| {
            world.set(0, 1);
            Ok(0)
        })?;
        for body in [plain as Body, sleep] {
            world.set(0, 0);
            world.sleep_at(world.address(0), 0);
            let sleeper = world.start_asleep(body)?;
            world.interrupt(sleeper)?;
            world.step(&"waits for the end of a wait whose word the handler of a signal changed");
            world.ends(sleeper, "a sleeper whose handler changes the word", Err(Errno::AGAIN))?;
        }
        Ok(())
    }

    /// A thread waits without a time; the handler of a signal, with SA_RESTART, waits itself for another
    /// word. That wait is woken, and then the first.
    /// Linux answers 0 to a wake of the first word meanwhile, and 1 to each of the others.
    #[needs(Signals)]
    #[since("2.6.22")]
    #[harm("A handler that waits loses the thread's own wait, or is woken in its place.")]
    fn handler_waits_itself(world) {
        world.handle(After::Restart, |world| world.futex(wait(world.address(1), PRIVATE, 0, 0)))?;
        let sleeper = world.start_asleep(plain)?;
        world.send(sleeper, USR1)?;
        world.rest();
        world.misses(world.address(0), PRIVATE, "a word whose sleeper is in a handler")?;
        world.step(&"wakes until the handler of a signal, which waits, is woken");
        let woken = world.until_not_zero(|| world.futex(wake(world.address(1), PRIVATE, ALL)));
        world.same("FUTEX_WAKE of the handler's word", woken, Ok(1))?;
        world.sleeps(sleeper, "the sleeper whose handler waited")?;
        world.meets(sleeper, world.address(0), PRIVATE, "the first word")
    }

    /// Two threads wait; the first is interrupted, and its wait ends. One is woken.
    /// Linux wakes the other: a wait that a signal ended eats no wake.
    #[seen("Asterinas 1587, Redox: a waiter that a signal took away was left in the queue")]
    #[needs(Signals)]
    #[since("2.6.22")]
    #[harm("A wake is lost after a signal: a thread hangs.")]
    fn who_was_interrupted_eats_no_wake(world) {
        world.handle(After::End, nothing)?;
        let (first, second) = (world.start_asleep(plain)?, world.start_asleep(plain)?);
        world.interrupt(first)?;
        world.step(&"waits for the end of a wait that a handler interrupted");
        world.ends(first, "a sleeper that was interrupted", Err(Errno::INTR))?;
        world.meets(second, world.address(0), PRIVATE, "one of two, of which one was interrupted")
    }

    /// A thread waits and is moved to another word; then a handler without SA_RESTART ends its wait. Then
    /// another thread waits for the second word, and one is woken there.
    /// Linux answers EINTR to the first, and 1 to the wake, which the second takes.
    #[seen("Asterinas 1587, Occlum, Redox: a waiter that was moved and then left stayed in its new queue")]
    #[needs(Signals)]
    #[since("2.6.22")]
    #[harm("A wake of a condition variable's lock is lost after a signal: a thread hangs.")]
    fn moved_and_interrupted_is_gone(world) {
        world.handle(After::End, nothing)?;
        let first = world.start_asleep(plain)?;
        let moved = world.futex(requeue(world.address(0), PRIVATE, 0, world.address(1), ALL));
        world.same("FUTEX_REQUEUE of one", moved, Ok(1))?;
        world.interrupt(first)?;
        world.step(&"waits for the end of a wait that was moved and interrupted");
        world.ends(first, "a sleeper that was moved and interrupted", Err(Errno::INTR))?;
        let second = world.sleeper_of(world.address(1), PRIVATE)?;
        world.meets(second, world.address(1), PRIVATE, "one, where another was moved and interrupted")
    }

    /// A thread waits and is moved to another word; a handler with SA_RESTART runs.
    /// Linux makes the call again as it was made: the thread waits for the first word.
    #[needs(Signals)]
    #[since("2.6.22")]
    #[harm("A thread sleeps where no wake comes, or is woken by two words.")]
    fn moved_and_restarted_is_where_it_began(world) {
        world.handle(After::Restart, nothing)?;
        let sleeper = world.start_asleep(plain)?;
        let moved = world.futex(requeue(world.address(0), PRIVATE, 0, world.address(1), ALL));
        world.same("FUTEX_REQUEUE of one", moved, Ok(1))?;
        world.interrupt(sleeper)?;
        world.sleeps(sleeper, "a sleeper that was moved and interrupted")?;
        world.misses(world.address(1), PRIVATE, "the word to which it was moved")?;
        world.meets(sleeper, world.address(0), PRIVATE, "the word for which it waited first")
    }

    /// A thread waits with a time, and one without. A signal that is ignored is sent to each.
    /// Linux does not interrupt them.
    #[needs(Signals)]
    #[since("2.6.0")]
    #[harm("Waits end for signals that the program does not want.")]
    fn ignored_signal_ends_no_wait(world) {
        world.ignore(USR2)?;
        world.handle(After::End, nothing)?;
        for body in [plain as Body, with_time] {
            let sleeper = world.start_asleep(body)?;
            world.send(sleeper, USR2)?;
            world.sleeps(sleeper, "a sleeper that was sent a signal that is ignored")?;
            world.meets(sleeper, world.address(0), PRIVATE, "a sleeper that was sent a signal that is ignored")?;
        }
        world.by_default(USR2)
    }

    /// A thread blocks a signal and waits without a time; the signal is sent; the thread is woken.
    /// Linux does not interrupt the wait, and answers 1 to the wake and 0 to the wait.
    #[needs(Signals)]
    #[since("2.6.0")]
    #[harm("Waits of threads that block all signals end with EINTR.")]
    fn blocked_signal_ends_no_wait(world) {
        world.handle(After::End, nothing)?;
        let sleeper = world.start(|world| {
            let set = 1_u64 << (USR1 - 1);
            let arguments = [0, (&raw const set).expose_provenance(), 0, size_of::<u64>(), 0, 0];
            // SAFETY: reads the set.
            let blocked = unsafe { world.call(numbers::RT_SIGPROCMASK, arguments) };
            world.set(1, if blocked.is_ok() { 1 } else { 2 });
            plain(world)
        })?;
        world.wait_until(|| world.get(1) != 0);
        world.rest();
        if world.get(1) == 2 {
            return Err(unfit(format_args!("rt_sigprocmask fails")));
        }
        world.send(sleeper, USR1)?;
        world.sleeps(sleeper, "a sleeper that blocks the signal it was sent")?;
        world.meets(sleeper, world.address(0), PRIVATE, "a sleeper that was sent a signal that it blocks")
    }

    /// A thread waits, two hundred times; each time it gets a signal, whose handler has no SA_RESTART, and
    /// a wake at once.
    /// Linux answers 0 to the wait if a wake answered 1, else EINTR.
    #[needs(Signals)]
    #[since("2.6.22")]
    #[harm("A wake that comes with a signal is lost: another thread that it was meant for hangs.")]
    fn wake_beside_a_signal_is_not_lost(world) {
        meets_a_wake(world, After::End)
    }

    /// A thread waits, two hundred times; each time it gets a signal, whose handler has SA_RESTART, and
    /// wakes, until its wait has ended.
    /// Linux answers 0 to the wait, and 1 to one of the wakes.
    #[needs(Signals)]
    #[since("2.6.22")]
    #[harm("A wake that comes with a signal is lost: the wait is made again, and the thread hangs.")]
    fn wake_beside_a_restart_is_not_lost(world) {
        meets_a_wake(world, After::Restart)
    }
}
