//! `futex_wake`, `futex_wait` and `futex_requeue`: the calls whose words have flags of their own.

use crate::clocks::{CLOCK_MONOTONIC, CLOCK_REALTIME};
use crate::errno::{Answer, Errno};
use crate::futex::{PRIVATE, Time, wake_bitset};
use crate::futex2::{ANY, Entry, NUMA, U32, U32_PRIVATE, requeue2, wait2, wake2};
use crate::scenario::{Outcome, Trouble, scenarios};
use crate::text::Text;
use crate::world::{Body, World, wrong};

/// The address of no time.
const NEVER: (usize, usize) = (0, 0);

/// Flags that there are not: sizes of 8, 16 and 64 bits, and unknown ones.
const NO_FLAGS: [u32; 8] = [0, 1, 3, PRIVATE, U32 | 16, U32 | 1 << 8, U32_PRIVATE | 1 << 9, U32 | 1 << 31];

fn wait_for_the_first(world: &World<'_>) -> Answer {
    world.futex(wait2(world.address(0), 0, ANY, U32_PRIVATE, NEVER))
}

/// Returns the world's first word and its second, for a requeue.
fn first_two(world: &World<'_>) -> [Entry; 2] {
    [0, 1].map(|at| Entry::new(world.address(at), U32_PRIVATE))
}

/// Asserts how many `futex_wake` wakes at one of the world's words.
fn wakes(world: &World<'_>, at: usize, count: i32, linux: usize) -> Outcome {
    let woken = world.futex(wake2(world.address(at), ANY, count, U32_PRIVATE));
    world.same(format_args!("futex_wake of {count}"), woken, Ok(linux))
}

scenarios! { "futex2";
    /// A thread waits by futex_wait and is woken by FUTEX_WAKE; another waits by FUTEX_WAIT and is woken by
    /// futex_wake. Once for private words, once for shared ones.
    /// Linux answers 1 to both wakes and 0 to both waits.
    #[since("6.7")]
    #[harm("Parts of a program that were built at different times do not wake each other.")]
    fn meets_the_older_calls(world) {
        let shared = |world: &World<'_>| world.futex(wait2(world.address(0), 0, ANY, U32, NEVER));
        for (body, flags) in [(wait_for_the_first as Body, PRIVATE), (shared, 0)] {
            let sleeper = world.start_asleep(body)?;
            if world.has_ended(sleeper) {
                return world.same("futex_wait", world.end_of(sleeper), Ok(0));
            }
            world.meets(sleeper, world.address(0), flags, "a sleeper in futex_wait")?;
            let sleeper = world.sleeper_of(world.address(0), flags)?;
            let woken = world.futex(wake2(world.address(0), ANY, 1, U32 | flags));
            world.same("futex_wake of a sleeper in FUTEX_WAIT", woken, Ok(1))?;
            world.step(&"waits for the end of the sleeper's call");
            world.ends(sleeper, "the sleeper", Ok(0))?;
        }
        Ok(())
    }

    /// A thread waits with a mask of one bit. Wakes come with all other bits and with that one, by futex_wake
    /// and FUTEX_WAKE_BITSET.
    /// Linux answers 0 to the former and 1 to the latter.
    #[since("6.7")]
    #[harm("A thread takes wakes that are not meant for it, and another hangs.")]
    fn masks(world) {
        for bit in [1_usize, 1 << 31] {
            world.set(1, bit as u32);
            let sleeper = world.start_asleep(|world| {
                world.futex(wait2(world.address(0), 0, world.get(1) as usize, U32_PRIVATE, NEVER))
            })?;
            if world.has_ended(sleeper) {
                return world.same("futex_wait", world.end_of(sleeper), Ok(0));
            }
            let woken = world.futex(wake2(world.address(0), ANY & !bit, 1, U32_PRIVATE));
            world.same("futex_wake with other bits", woken, Ok(0))?;
            let woken = world.futex(wake_bitset(world.address(0), PRIVATE, 1, !(bit as u32)));
            world.same("FUTEX_WAKE_BITSET with other bits", woken, Ok(0))?;
            let woken = world.futex(wake2(world.address(0), bit, 1, U32_PRIVATE));
            world.same("futex_wake with the sleeper's bit", woken, Ok(1))?;
            world.step(&"waits for the end of the sleeper's call");
            world.ends(sleeper, "the sleeper", Ok(0))?;
        }
        Ok(())
    }

    /// Wakes and waits with a mask of 0, and of more than 32 bits.
    /// Linux answers EINVAL, before it compares the word.
    #[since("6.7")]
    #[harm("A wait that no wake can end hangs for ever, where Linux refuses it.")]
    fn malformed_masks(world) {
        world.set(0, 1);
        for mask in [0, 1 << 32, usize::MAX] {
            let answered = world.futex(wake2(world.address(0), mask, 1, U32_PRIVATE));
            world.same(format_args!("futex_wake with mask {mask:#x}"), answered, Err(Errno::INVAL))?;
            let answered = world.futex(wait2(world.address(0), 0, mask, U32_PRIVATE, NEVER));
            world.same(format_args!("futex_wait with mask {mask:#x}"), answered, Err(Errno::INVAL))?;
        }
        Ok(())
    }

    /// Calls with sizes of 8, 16 and 64 bits, and with unknown flags; no value is the word's.
    /// Linux answers EINVAL to futex_wake, futex_wait and to either word of futex_requeue.
    #[since("6.7")]
    #[harm("A program that asks which sizes and flags there are believes that this kernel has all of them.")]
    fn sizes_and_flags(world) {
        world.set(0, 1);
        for flags in NO_FLAGS {
            let answered = world.futex(wake2(world.address(0), ANY, 1, flags));
            world.same(format_args!("futex_wake with flags {flags:#x}"), answered, Err(Errno::INVAL))?;
            let answered = world.futex(wait2(world.address(0), 0, ANY, flags, NEVER));
            world.same(format_args!("futex_wait with flags {flags:#x}"), answered, Err(Errno::INVAL))?;
            let [from, to] = first_two(world);
            for words in [[Entry { flags, ..from }, to], [from, Entry { flags, ..to }]] {
                let answered = world.futex(requeue2(&words, 0, 0, 0));
                world.same(format_args!("futex_requeue with flags {flags:#x}"), answered, Err(Errno::INVAL))?;
            }
        }
        Ok(())
    }

    /// Two threads wait. Wakes of 0, of -1, and of all.
    /// Linux wakes none for 0, where FUTEX_WAKE wakes one, and one for -1.
    #[since("6.7")]
    #[harm("A wake of none wakes a thread that was not to run yet, or a thread is left asleep.")]
    fn counts(world) {
        let sleepers = [world.start_asleep(wait_for_the_first)?, world.start_asleep(wait_for_the_first)?];
        if world.has_ended(sleepers[0]) {
            return world.same("futex_wait", world.end_of(sleepers[0]), Ok(0));
        }
        for (count, woken) in [(0, 0), (-1, 1), (i32::MAX, 1), (i32::MAX, 0)] {
            wakes(world, 0, count, woken)?;
        }
        world.step(&"waits for the end of the sleepers' calls");
        sleepers.into_iter().try_for_each(|sleeper| world.ends(sleeper, "a sleeper", Ok(0)))
    }

    /// A word that holds another value than the one given, and a value of 33 bits whose lower 32 are the
    /// word's.
    /// Linux answers EAGAIN to the former, and EINVAL to the latter.
    #[since("6.7")]
    #[harm("A thread sleeps although the lock was freed before: it hangs.")]
    fn value_differs(world) {
        let answered = world.futex(wait2(world.address(0), 1, ANY, U32_PRIVATE, NEVER));
        world.same("futex_wait with another value", answered, Err(Errno::AGAIN))?;
        let answered = world.futex(wait2(world.address(0), 1 << 32, ANY, U32_PRIVATE, NEVER));
        world.same("futex_wait with a value of 33 bits", answered, Err(Errno::INVAL))
    }

    /// Times: points that are past and that are soon, on both clocks; and a point that is past on the clock of
    /// the date, and far on the other.
    /// Linux answers ETIMEDOUT to each, and no one is queued after it.
    #[seen("Gramine: one clock for all time-outs")]
    #[since("6.7")]
    #[harm("Waits with a time never end, or end at once, or their rests take others' wakes.")]
    fn time_is_up(world) {
        let far = world.ahead(CLOCK_MONOTONIC, Time::milliseconds(1_000_000))?;
        let soon = Time::milliseconds(10);
        for (time, clock) in [
            (Time::milliseconds(0), CLOCK_MONOTONIC),
            (Time::milliseconds(1), CLOCK_REALTIME),
            (world.ahead(CLOCK_MONOTONIC, soon)?, CLOCK_MONOTONIC),
            (world.ahead(CLOCK_REALTIME, soon)?, CLOCK_REALTIME),
            (far, CLOCK_REALTIME),
        ] {
            world.step(&"waits for the end of a futex_wait with a point in time that is soon");
            let answered = world.futex(wait2(world.address(0), 0, ANY, U32_PRIVATE, (time.address(), clock)));
            world.same("futex_wait with a time", answered, Err(Errno::TIMEDOUT))?;
            wakes(world, 0, 1, 0)?;
        }
        Ok(())
    }

    /// Times that are none: an unknown clock, nanoseconds of a second, and an address that is not mapped.
    /// The word holds another value.
    /// Linux answers EINVAL, and EFAULT to the last. Without a time the clock is not looked at: EAGAIN.
    #[needs(Faults)]
    #[since("6.7")]
    #[harm("A program's mistake is not found, or a wait lasts for another time than it says.")]
    fn malformed_times(world) {
        world.set(0, 1);
        let (time, none) = (Time::milliseconds(1), Time { seconds: 0, nanoseconds: 1_000_000_000 });
        let hole = world.hole()?;
        for (time, linux) in [
            ((time.address(), 7), Errno::INVAL),
            ((none.address(), CLOCK_MONOTONIC), Errno::INVAL),
            ((hole, CLOCK_MONOTONIC), Errno::FAULT),
            ((0, 7), Errno::AGAIN),
        ] {
            let answered = world.futex(wait2(world.address(0), 0, ANY, U32_PRIVATE, time));
            world.same("futex_wait with a time that is none", answered, Err(linux))?;
        }
        Ok(())
    }

    /// Words that are misaligned, and that are not mapped.
    /// Linux answers EINVAL to the former. To the latter it answers EFAULT, except to the wake of a private word,
    /// which finds no one: 0.
    #[needs(Faults)]
    #[since("6.7")]
    #[harm("A kernel that reads such a word may crash; or a wake of memory that was given back fails.")]
    fn bad_addresses(world) {
        let hole = world.hole()?;
        for (word, flags, linux) in [
            (world.address(0) + 1, U32_PRIVATE, Err(Errno::INVAL)),
            (world.address(0) + 2, U32, Err(Errno::INVAL)),
            (hole, U32_PRIVATE, Ok(0)),
            (hole, U32, Err(Errno::FAULT)),
        ] {
            world.same("futex_wake of a bad address", world.futex(wake2(word, ANY, 1, flags)), linux)?;
            let answered = world.futex(wait2(word, 0, ANY, flags, NEVER));
            let linux = Err(linux.err().unwrap_or(Errno::FAULT));
            world.same("futex_wait of a bad address", answered, linux)?;
        }
        Ok(())
    }

    /// Four threads wait; one is woken and two are moved to another word.
    /// Linux answers 3: the first was woken, the next two wait for the other word, the last is where it was.
    #[seen("starnix: a requeue took waiters from the tail")]
    #[since("6.7")]
    #[harm("Threads wait at the wrong word, and hang.")]
    fn requeue_wakes_and_moves(world) {
        let start = || world.start_asleep(wait_for_the_first);
        let [first, second, third, last] = [start()?, start()?, start()?, start()?];
        if world.has_ended(first) {
            return world.same("futex_wait", world.end_of(first), Ok(0));
        }
        let words = first_two(world);
        world.same("futex_requeue of one and two", world.futex(requeue2(&words, 0, 1, 2)), Ok(3))?;
        world.step(&"waits for the end of the first sleeper's call");
        world.ends(first, "the first sleeper", Ok(0))?;
        world.sleeps(last, "the last sleeper")?;
        wakes(world, 1, i32::MAX, 2)?;
        world.step(&"waits for the ends of the calls of the sleepers that were moved");
        world.ends(second, "the second sleeper", Ok(0))?;
        world.ends(third, "the third sleeper", Ok(0))?;
        wakes(world, 0, i32::MAX, 1)?;
        world.ends(last, "the last sleeper", Ok(0))
    }

    /// A requeue of none, while a thread waits; and one where the first word holds another value.
    /// Linux answers 0 to the former, and EAGAIN to the latter: the thread sleeps on, where it was.
    #[since("6.7")]
    #[harm("A thread is moved to a lock that has changed meanwhile, and hangs.")]
    fn requeue_compares(world) {
        let sleeper = world.start_asleep(wait_for_the_first)?;
        if world.has_ended(sleeper) {
            return world.same("futex_wait", world.end_of(sleeper), Ok(0));
        }
        let mut words = first_two(world);
        world.same("futex_requeue of none", world.futex(requeue2(&words, 0, 0, 0)), Ok(0))?;
        words[0].value = 1;
        let answered = world.futex(requeue2(&words, 0, 1, 1));
        world.same("futex_requeue with another value", answered, Err(Errno::AGAIN))?;
        world.sleeps(sleeper, "the sleeper")?;
        wakes(world, 1, 1, 0)?;
        world.meets(sleeper, world.address(0), PRIVATE, "the first word")
    }

    /// The second word's value differs from what its entry says.
    /// Linux does not compare it: the requeue answers 0.
    #[since("6.7")]
    #[harm("A requeue fails whose second word's value the program left unset.")]
    fn requeue_compares_the_first_alone(world) {
        let [from, to] = first_two(world);
        let words = [from, Entry { value: 7, ..to }];
        world.same("futex_requeue with another value of its second word", world.futex(requeue2(&words, 0, 1, 1)), Ok(0))
    }

    /// Requeues with negative counts, with flags of the call, with a reserved field that is not 0, of a word to
    /// itself misaligned, and with an array that is not mapped.
    /// Linux answers EINVAL to all but the last: EFAULT.
    #[seen("gVisor: negative requeue counts were accepted")]
    #[needs(Faults)]
    #[since("6.7")]
    #[harm("A count of -1 moves or wakes every thread; a kernel that reads such an array may crash.")]
    fn malformed_requeues(world) {
        let words = first_two(world);
        let hole = world.hole()?;
        let [from, to] = words;
        let mut unmapped = requeue2(&words, 0, 0, 0);
        unmapped.arguments[0] = hole;
        for (what, call, linux) in [
            ("a wake count of -1", requeue2(&words, 0, -1, 1), Errno::INVAL),
            ("a count of -1", requeue2(&words, 0, 1, -1), Errno::INVAL),
            ("flags", requeue2(&words, 1, 1, 1), Errno::INVAL),
            ("a reserved field of 1", requeue2(&[from, Entry { reserved: 1, ..to }], 0, 1, 1), Errno::INVAL),
            ("a misaligned word", requeue2(&[from, Entry { address: to.address + 2, ..to }], 0, 1, 1), Errno::INVAL),
            ("an array that is not mapped", unmapped, Errno::FAULT),
        ] {
            world.same(format_args!("futex_requeue with {what}"), world.futex(call), Err(linux))?;
        }
        Ok(())
    }

    /// A requeue from a private word to a shared one, and from a shared to a private one, while a thread
    /// waits for the first.
    /// Linux answers EINVAL, and the thread sleeps on.
    #[seen("Linux before 7.0 (CVE-2026-31554): flags that differ were accepted; memory was used after it was freed")]
    #[since("7.0")]
    #[harm("A program without rights may crash this kernel, or take it over.")]
    fn requeue_with_different_flags(world) {
        let sleeper = world.start_asleep(wait_for_the_first)?;
        if world.has_ended(sleeper) {
            return world.same("futex_wait", world.end_of(sleeper), Ok(0));
        }
        let [from, to] = first_two(world);
        for words in [[from, Entry { flags: U32, ..to }], [Entry { flags: U32, ..from }, to]] {
            // Of none, so that a kernel that accepts it comes to no harm.
            let answered = world.futex(requeue2(&words, 0, 0, 0));
            world.same("futex_requeue of words with different flags", answered, Err(Errno::INVAL))?;
        }
        world.meets(sleeper, world.address(0), PRIVATE, "the first word")
    }

    /// A word whose memory node is named behind it, which says -1: any. A wait with a time that is past.
    /// Linux answers ETIMEDOUT, and has written a node's number behind the word. To a word that is not aligned to
    /// both it answers EINVAL.
    #[since("6.16")]
    #[harm("A program that places its locks beside their memory cannot.")]
    fn word_with_a_node(world) {
        const NO_NODE: u32 = u32::MAX;
        let time = Time::milliseconds(0);
        let until = (time.address(), CLOCK_MONOTONIC);
        world.set(1, NO_NODE);
        let answered = world.futex(wait2(world.address(0), 0, ANY, U32_PRIVATE | NUMA, until));
        if answered == Err(Errno::INVAL) {
            // Refused, as by a kernel that knows no such flag.
            return Err(Trouble::Absent(Text::of(format_args!("FUTEX2_NUMA"))));
        }
        world.same("futex_wait of a word with a node", answered, Err(Errno::TIMEDOUT))?;
        if world.get(1) == NO_NODE {
            return wrong(format_args!("no node's number was written behind the word; Linux writes one"));
        }
        let answered = world.futex(wait2(world.address(3), 0, ANY, U32_PRIVATE | NUMA, until));
        world.same("futex_wait of a misaligned word with a node", answered, Err(Errno::INVAL))?;
        world.set(1, 1 << 30);
        let answered = world.futex(wait2(world.address(0), 0, ANY, U32_PRIVATE | NUMA, until));
        world.same("futex_wait of a word with a node that there is not", answered, Err(Errno::INVAL))
    }

    /// A thread waits for a word that names no node behind it (-1). A wake comes for the same words.
    /// Linux answers 1: the wake finds the node that the wait wrote there.
    #[since("6.16")]
    #[harm("A lock with a node loses wakes: threads hang.")]
    fn word_with_a_node_is_met(world) {
        world.set(1, u32::MAX);
        let sleeper =
            world.start_asleep(|world| world.futex(wait2(world.address(0), 0, ANY, U32_PRIVATE | NUMA, NEVER)))?;
        if world.has_ended(sleeper) {
            return match world.end_of(sleeper) {
                Err(Errno::INVAL) => Err(Trouble::Absent(Text::of(format_args!("FUTEX2_NUMA")))),
                answered => world.same("futex_wait of a word with a node", answered, Ok(0)),
            };
        }
        let woken = world.futex(wake2(world.address(0), ANY, 1, U32_PRIVATE | NUMA));
        world.same("futex_wake of a word with a node", woken, Ok(1))?;
        world.step(&"waits for the end of the sleeper's call");
        world.ends(sleeper, "the sleeper", Ok(0))
    }
}
