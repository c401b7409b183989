//! `futex_waitv`: waits for several words at once.

use core::mem::size_of;

use crate::clocks::{CLOCK_MONOTONIC, CLOCK_REALTIME};
use crate::errno::{Answer, Errno};
use crate::futex::{ALL, PRIVATE, Time, requeue, wake};
use crate::futex2::{Entry, U32, U32_PRIVATE, waitv, waitv_of};
use crate::objects::{Map, SIZE};
use crate::scenario::{Outcome, scenarios};
use crate::world::{Body, World, proven};

/// The most words of a call.
const MOST: usize = 128;
/// A word of a race: how many wakes a thread has noticed.
const NOTICED: usize = 8;
/// A word of a race: it is over.
const OVER: usize = 9;

/// Returns entries for the first words of the world.
fn private<const N: usize>(world: &World<'_>) -> [Entry; N] {
    core::array::from_fn(|at| Entry::new(world.address(at), U32_PRIVATE))
}

fn wait_for_four(world: &World<'_>) -> Answer {
    world.futex(waitv(&private::<4>(world), 0, 0))
}

/// Asserts what a call answers whose time is up at once if it is right.
fn answers(world: &World<'_>, what: &str, entries: &[Entry], linux: Answer) -> Outcome {
    let time = Time::milliseconds(1);
    world.step(&"asks futex_waitv with a point in time that is past");
    world.same(what, world.futex(waitv(entries, time.address(), CLOCK_MONOTONIC)), linux)
}

/// Asserts that no one waits for the first words.
fn none_is_queued(world: &World<'_>, words: usize, after: &str) -> Outcome {
    (0..words).try_for_each(|at| {
        let woken = world.futex(wake(world.address(at), PRIVATE, ALL));
        world.same(format_args!("FUTEX_WAKE after {after}"), woken, Ok(0))
    })
}

scenarios! { "waitv";
    /// A thread waits for four words; one of them is woken. Once for each of the four.
    /// Linux answers 1 to the wake, and the word's index to the thread.
    #[since("5.16")]
    #[harm("A program that waits for several objects, as Windows programs do, takes one for another.")]
    fn index_is_answered(world) {
        for index in 0..4 {
            let sleeper = world.start_asleep(wait_for_four)?;
            if world.has_ended(sleeper) {
                return world.ends(sleeper, "a sleeper", Ok(index));
            }
            world.same("FUTEX_WAKE", world.futex(wake(world.address(index), PRIVATE, 1)), Ok(1))?;
            world.step(&"waits for the end of the sleeper's call");
            world.ends(sleeper, "the sleeper", Ok(index))?;
        }
        Ok(())
    }

    /// A thread waits for four words, and one of them is woken; then all four are, and another thread
    /// waits for one of the others.
    /// Linux answers 0 to the wakes of all, and 1 to a wake of the other thread.
    #[since("5.16")]
    #[harm("What is left in the queues takes wakes that are meant for others, and points at a dead stack.")]
    fn nothing_is_left_after_a_wake(world) {
        let sleeper = world.start_asleep(wait_for_four)?;
        if world.has_ended(sleeper) {
            return world.ends(sleeper, "a sleeper", Ok(2));
        }
        world.same("FUTEX_WAKE", world.futex(wake(world.address(2), PRIVATE, 1)), Ok(1))?;
        world.step(&"waits for the end of the sleeper's call");
        world.ends(sleeper, "the sleeper", Ok(2))?;
        none_is_queued(world, 4, "a futex_waitv that was woken")?;
        let other = world.sleeper_of(world.address(3), PRIVATE)?;
        world.meets(other, world.address(3), PRIVATE, "a word of a futex_waitv that was woken")
    }

    /// A thread waits for four words of which one holds another value, the first to the last.
    /// Linux answers EAGAIN, and no word has a sleeper after it.
    #[seen("litebox: a waiter was queued before its value was checked, and ate a wake")]
    #[since("5.16")]
    #[harm("A change is missed and the thread hangs, or words that were queued take others' wakes.")]
    fn one_value_differs(world) {
        for differs in 0..4 {
            let mut entries = private::<4>(world);
            entries[differs].value = 1;
            answers(world, "futex_waitv of a word with another value", &entries, Err(Errno::AGAIN))?;
            none_is_queued(world, 4, "a futex_waitv that answered EAGAIN")?;
        }
        Ok(())
    }

    /// A thread asks to wait for a word that holds the value and one that does not, again and again, while
    /// the first is woken.
    /// Linux answers the index, not EAGAIN, to each call that a wake met: as many as wakes answered 1.
    #[seen("litebox: a waiter was queued before its value was checked, and ate a wake")]
    #[since("5.16")]
    #[harm("A thread that never slept eats a wake: the thread that it was meant for hangs.")]
    fn wake_during_the_setup_is_noticed(world) {
        world.set(1, 1);
        let asker = world.start(|world| {
            while world.get(OVER) == 0 {
                match world.futex(waitv(&private::<2>(world), 0, 0)) {
                    Ok(0) => world.set(NOTICED, world.get(NOTICED) + 1),
                    Err(Errno::AGAIN) => world.lets_others_run_now_and_then(),
                    answered => return answered,
                }
            }
            Ok(0)
        })?;
        world.step(&"wakes a thread that asks for words of which one differs");
        let mut woken = 0;
        for _ in 0..50_000 {
            woken += world.futex(wake(world.address(0), PRIVATE, 1)).unwrap_or(0);
            if woken == 250 || world.has_ended(asker) {
                break;
            }
            world.lets_others_run_now_and_then();
        }
        world.set(OVER, 1);
        world.step(&"waits for the end of a thread that asks for words of which one differs");
        world.ends(asker, "a thread that asks for words of which one differs", Ok(0))?;
        match world.get(NOTICED) {
            noticed if noticed as usize == woken => Ok(()),
            noticed => proven(format_args!("wakes woke a thread {woken} times, which noticed {noticed}")),
        }
    }

    /// Calls with 0 and 129 entries, and with 128.
    /// Linux answers EINVAL to the first two; the third waits until its time is up: ETIMEDOUT.
    #[since("5.16")]
    #[harm("A program that waits for many objects learns too late, or never, how many it may.")]
    fn number_of_entries(world) {
        let entries = [Entry::new(world.address(0), U32_PRIVATE); MOST + 1];
        answers(world, "futex_waitv of 0 words", &[], Err(Errno::INVAL))?;
        answers(world, "futex_waitv of 129 words", &entries, Err(Errno::INVAL))?;
        answers(world, "futex_waitv of 128 words", &entries[..MOST], Err(Errno::TIMEDOUT))?;
        none_is_queued(world, 1, "a futex_waitv whose time was up")
    }

    /// Entries with no size, sizes of 8, 16 and 64 bits, an unknown flag, and something in the reserved
    /// field. Each stands behind one that is right.
    /// Linux answers EINVAL to each.
    #[since("5.16")]
    #[harm("A program that asks which flags there are believes that this kernel has all of them.")]
    fn malformed_entries(world) {
        let good = private::<2>(world);
        let flags = [0, PRIVATE, 1, 3, U32_PRIVATE | 1 << 8, U32_PRIVATE | 16, U32_PRIVATE | 1 << 31];
        for flags in flags {
            let entries = [good[0], Entry { flags, ..good[1] }];
            answers(world, "futex_waitv with flags that there are not", &entries, Err(Errno::INVAL))?;
        }
        let entries = [good[0], Entry { reserved: 1, ..good[1] }];
        answers(world, "futex_waitv with a reserved field of 1", &entries, Err(Errno::INVAL))?;
        none_is_queued(world, 2, "a futex_waitv that answered EINVAL")
    }

    /// An entry with a value of more than 32 bits, behind one that is right.
    /// Linux answers EINVAL; 6.1 compares the lower half alone.
    #[since("6.7")]
    #[harm("A program that waits for words of 64 bits sleeps although the upper half differs.")]
    fn value_of_33_bits(world) {
        let good = private::<2>(world);
        let entries = [good[0], Entry { value: 1 << 32, ..good[1] }];
        answers(world, "futex_waitv with a value of 33 bits", &entries, Err(Errno::INVAL))?;
        none_is_queued(world, 2, "a futex_waitv that answered EINVAL")
    }

    /// A call with flags of its own, which there are none of.
    /// Linux answers EINVAL.
    #[since("5.16")]
    #[harm("A program that asks which flags there are believes that this kernel has all of them.")]
    fn flags_of_the_call(world) {
        let (entries, time) = (private::<1>(world), Time::milliseconds(1));
        for flags in [1, 1 << 31] {
            let mut call = waitv(&entries, time.address(), CLOCK_MONOTONIC);
            call.arguments[2] = flags;
            world.same("futex_waitv with flags", world.futex(call), Err(Errno::INVAL))?;
        }
        Ok(())
    }

    /// Entries whose word is misaligned, or is not mapped; an array that is not mapped, and one at address 0.
    /// Linux answers EINVAL to the first and the last, and EFAULT to the others.
    #[needs(Faults)]
    #[since("5.16")]
    #[harm("A kernel that reads such a word or array may crash.")]
    fn bad_addresses(world) {
        let hole = world.hole()?;
        let good = private::<2>(world);
        let entry = |address| [good[0], Entry::new(address, U32_PRIVATE)];
        answers(world, "futex_waitv of a misaligned word", &entry(world.address(1) + 2), Err(Errno::INVAL))?;
        answers(world, "futex_waitv of a word that is not mapped", &entry(hole), Err(Errno::FAULT))?;
        for (array, linux) in [(0, Errno::INVAL), (hole, Errno::FAULT), (usize::MAX - 7, Errno::FAULT)] {
            let answered = world.futex(waitv_of(array, 1, 0, 0));
            world.same(format_args!("futex_waitv with an array at {array:#x}"), answered, Err(linux))?;
        }
        none_is_queued(world, 1, "a futex_waitv that answered EFAULT")
    }

    /// An array that begins in mapped memory and ends where none is.
    /// Linux answers EFAULT, and the first word has no sleeper.
    #[needs(Faults)]
    #[since("5.16")]
    #[harm("A kernel that reads such an array may crash, or leave words queued.")]
    fn array_ends_in_a_hole(world) {
        let last = world.before_a_hole()?.word(SIZE / 4) - size_of::<Entry>();
        world.store(last, Entry::new(world.address(0), U32_PRIVATE));
        let answered = world.futex(waitv_of(last, 2, 0, 0));
        world.same("futex_waitv with an array that ends in a hole", answered, Err(Errno::FAULT))?;
        none_is_queued(world, 1, "a futex_waitv that answered EFAULT")
    }

    /// Times: a point that is past and one that is soon, on both clocks.
    /// Linux answers ETIMEDOUT, and no word has a sleeper after it.
    #[since("5.16")]
    #[harm("Waits with a time never end, or what is left of them takes others' wakes.")]
    fn time_is_up(world) {
        for clock in [CLOCK_REALTIME, CLOCK_MONOTONIC] {
            for time in [Time::milliseconds(0), Time::milliseconds(1), world.ahead(clock, Time::milliseconds(10))?] {
                world.step(&"waits for the end of a futex_waitv with a point in time that is soon");
                let answered = world.futex(waitv(&private::<3>(world), time.address(), clock));
                world.same("futex_waitv with a time", answered, Err(Errno::TIMEDOUT))?;
                none_is_queued(world, 3, "a futex_waitv whose time was up")?;
            }
        }
        Ok(())
    }

    /// A point in time that a clock which began at the start of the machine reaches in 1000 s, on the clock
    /// of the date; and as much ahead on the clock that it is meant for.
    /// Linux answers ETIMEDOUT to the first at once, and sleeps in the second until a wake.
    #[seen("Gramine: one clock for all time-outs")]
    #[since("5.16")]
    #[harm("A wait ends decades too late, or at once.")]
    fn clock_is_the_one_named(world) {
        let time = world.ahead(CLOCK_MONOTONIC, Time::milliseconds(1_000_000))?;
        world.step(&"waits for the end of a futex_waitv whose time is past on the clock of the date");
        let answered = world.futex(waitv(&private::<1>(world), time.address(), CLOCK_REALTIME));
        world.same("futex_waitv with a time that is past", answered, Err(Errno::TIMEDOUT))?;
        let bodies: [Body; 2] = [
            |world| {
                let time = world.ahead(CLOCK_MONOTONIC, Time::milliseconds(1_000_000)).map_err(|_| Errno::NOSYS)?;
                world.futex(waitv(&private::<1>(world), time.address(), CLOCK_MONOTONIC))
            },
            |world| {
                let time = world.ahead(CLOCK_REALTIME, Time::milliseconds(1_000_000)).map_err(|_| Errno::NOSYS)?;
                world.futex(waitv(&private::<1>(world), time.address(), CLOCK_REALTIME))
            },
        ];
        for body in bodies {
            let sleeper = world.start_asleep(body)?;
            world.sleeps(sleeper, "a sleeper whose time is far")?;
            world.meets(sleeper, world.address(0), PRIVATE, "its word")?;
        }
        Ok(())
    }

    /// Times that are none: an unknown clock, nanoseconds of a second or more, negative seconds, and an
    /// address that is not mapped. The word holds another value.
    /// Linux answers EINVAL, and EFAULT to the last, before it compares. Without a time the clock is not looked at:
    /// EAGAIN.
    #[needs(Faults)]
    #[since("5.16")]
    #[harm("A program's mistake is not found, or a wait lasts for another time than it says.")]
    fn malformed_times(world) {
        world.set(0, 1);
        let entries = private::<1>(world);
        let answer = |time, clock| world.futex(waitv(&entries, time, clock));
        let good = Time::milliseconds(1);
        world.same("futex_waitv on clock 7", answer(good.address(), 7), Err(Errno::INVAL))?;
        for (seconds, nanoseconds) in [(0, 1_000_000_000), (0, -1), (-1, 0)] {
            let time = Time { seconds, nanoseconds };
            world.same("futex_waitv with a time that is none", answer(time.address(), 1), Err(Errno::INVAL))?;
        }
        let hole = world.hole()?;
        world.same("futex_waitv with a time that is not mapped", answer(hole, 1), Err(Errno::FAULT))?;
        world.same("futex_waitv on clock 7 without a time", answer(0, 7), Err(Errno::AGAIN))
    }

    /// A thread waits for the same word three times; all are woken there.
    /// Linux answers 3 to the wake: each entry is a sleeper. The thread answers the index of the last.
    #[since("5.16")]
    #[harm("A kernel that looks for an entry by its word removes the wrong one, and leaves the other queued.")]
    fn same_word_thrice(world) {
        let sleeper = world.start_asleep(|world| {
            let entry = Entry::new(world.address(0), U32_PRIVATE);
            world.futex(waitv(&[entry; 3], 0, 0))
        })?;
        if world.has_ended(sleeper) {
            return world.ends(sleeper, "a sleeper", Ok(2));
        }
        world.same("FUTEX_WAKE of all", world.futex(wake(world.address(0), PRIVATE, ALL)), Ok(3))?;
        world.step(&"waits for the end of the sleeper's call");
        world.ends(sleeper, "the sleeper", Ok(2))?;
        none_is_queued(world, 1, "a futex_waitv that was woken")
    }

    /// A thread waits for one word by its private key, and for another by its shared one. Wakes come
    /// with the other flag each, and with the right one.
    /// Linux answers 0 to the former and 1 to the latter, and the word's index to the thread.
    #[since("5.16")]
    #[harm("A wait for words of two kinds misses the wakes of one kind.")]
    fn private_and_shared_words(world) {
        for (index, flags) in [(0, PRIVATE), (1, 0)] {
            let sleeper = world.start_asleep(|world| {
                let entries = [Entry::new(world.address(0), U32_PRIVATE), Entry::new(world.address(1), U32)];
                world.futex(waitv(&entries, 0, 0))
            })?;
            if world.has_ended(sleeper) {
                return world.ends(sleeper, "a sleeper", Ok(index));
            }
            world.misses(world.address(0), 0, "the private word by its shared key")?;
            world.misses(world.address(1), PRIVATE, "the shared word by its private key")?;
            world.sleeps(sleeper, "the sleeper")?;
            world.same("FUTEX_WAKE", world.futex(wake(world.address(index), flags, 1)), Ok(1))?;
            world.step(&"waits for the end of the sleeper's call");
            world.ends(sleeper, "the sleeper", Ok(index))?;
        }
        Ok(())
    }

    /// Two threads wait for the same four words, a third by FUTEX_WAIT for one of them. Two are woken.
    /// Linux wakes them in the order in which they came: the third sleeps on.
    #[since("5.16")]
    #[harm("A wake goes to more threads than it says, or to another than is first.")]
    fn wake_of_some(world) {
        let first = world.start_asleep(wait_for_four)?;
        if world.has_ended(first) {
            return world.ends(first, "a sleeper", Ok(1));
        }
        let second = world.start_asleep(wait_for_four)?;
        let third = world.sleeper_of(world.address(1), PRIVATE)?;
        world.same("FUTEX_WAKE of two", world.futex(wake(world.address(1), PRIVATE, 2)), Ok(2))?;
        world.step(&"waits for the end of the sleepers' calls");
        world.ends(first, "the first sleeper", Ok(1))?;
        world.ends(second, "the second sleeper", Ok(1))?;
        world.sleeps(third, "the third sleeper")?;
        world.meets(third, world.address(1), PRIVATE, "the third sleeper")
    }

    /// A thread waits for four words; who waits for the third is moved to another word, and woken there.
    /// Linux answers 1 to both, and 2 to the thread; none of the five words has a sleeper then.
    #[seen("Occlum, Redox: copies of a waiter that was moved were left behind")]
    #[since("5.16")]
    #[harm("A wake is lost, or what is left in a queue points at a dead stack.")]
    fn entry_that_was_moved(world) {
        let sleeper = world.start_asleep(wait_for_four)?;
        if world.has_ended(sleeper) {
            return world.ends(sleeper, "a sleeper", Ok(2));
        }
        let moved = world.futex(requeue(world.address(2), PRIVATE, 0, world.address(4), ALL));
        world.same("FUTEX_REQUEUE", moved, Ok(1))?;
        world.misses(world.address(2), PRIVATE, "the word that it was moved from")?;
        world.sleeps(sleeper, "the sleeper")?;
        world.same("FUTEX_WAKE of the new word", world.futex(wake(world.address(4), PRIVATE, 1)), Ok(1))?;
        world.step(&"waits for the end of the sleeper's call");
        world.ends(sleeper, "the sleeper", Ok(2))?;
        none_is_queued(world, 5, "a futex_waitv that was woken")
    }

    /// A thread waits for words of two objects, each of which the waker maps elsewhere.
    /// Linux answers 1 to a wake by the other address, and the word's index to the thread.
    #[since("5.16")]
    #[harm("Waits for several objects of several processes hang.")]
    fn words_of_two_objects(world) {
        let objects = [world.object(SIZE)?, world.object(SIZE)?];
        for (index, object) in objects.into_iter().enumerate() {
            for (at, object) in objects.into_iter().enumerate() {
                world.set_address(10 + 2 * at, world.map(Map::of(object))?.word(0));
            }
            let sleeper = world.start_asleep(|world| {
                world.futex(waitv(&[10, 12].map(|at| Entry::new(world.address_in(at), U32)), 0, 0))
            })?;
            if world.has_ended(sleeper) {
                return world.ends(sleeper, "a sleeper", Ok(index));
            }
            let elsewhere = world.map(Map::of(object))?;
            world.same("FUTEX_WAKE", world.futex(wake(elsewhere.word(0), 0, 1)), Ok(1))?;
            world.step(&"waits for the end of the sleeper's call");
            world.ends(sleeper, "the sleeper", Ok(index))?;
        }
        Ok(())
    }
}
