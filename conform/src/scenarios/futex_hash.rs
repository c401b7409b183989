//! `PR_FUTEX_HASH`: how many slots the table of a process's private futexes has. A table may be exchanged while
//! threads sleep in it.

use core::sync::atomic::Ordering;

use crate::errno::{Answer, Errno};
use crate::futex::{ALL, PRIVATE, requeue, wait};
use crate::numbers;
use crate::scenario::{Outcome, Trouble, scenarios};
use crate::text::Text;
use crate::world::{World, unfit, wrong};

/// The option of `prctl`, and its operations.
const FUTEX_HASH: usize = 78;
const SET_SLOTS: usize = 1;
const GET_SLOTS: usize = 2;
/// The sizes that a table is given in turn.
const SIZES: [usize; 6] = [2, 16, 1024, 4, 128, 2];
/// How many threads sleep, each at a word of its own.
const SLEEPERS: usize = 16;
/// The first of their words, and the word at which they count themselves.
const FIRST: usize = 8;
const NEXT: usize = 2;
/// The word that counts how often a table was exchanged, and how often is enough; how many turns are, and the turn that
/// says so.
const EXCHANGES: usize = 3;
const ENOUGH: u32 = 12;
const TURNS: u32 = 1000;
const OVER: u32 = u32::MAX;

fn hash(world: &World<'_>, operation: usize, [first, second]: [usize; 2]) -> Answer {
    // SAFETY: takes numbers.
    world.step.long(|| unsafe { world.call(numbers::PRCTL, [FUTEX_HASH, operation, first, second, 0, 0]) })
}

fn slots(world: &World<'_>) -> Answer {
    hash(world, GET_SLOTS, [0, 0])
}

/// Gives the table a size. A process that has given its table up has none for ever.
fn set(world: &World<'_>, size: usize) -> Outcome {
    match hash(world, SET_SLOTS, [size, 0]) {
        Err(Errno::BUSY) => Err(unfit(format_args!("this process has given its table up"))),
        answered => world.same(format_args!("PR_FUTEX_HASH_SET_SLOTS of {size}"), answered, Ok(0)),
    }
}

/// Ends the scenario as absent where there is no such option of `prctl`: then it answers `EINVAL`. A Linux without
/// `CONFIG_FUTEX_PRIVATE_HASH`, as 6.16 always is, has the option and no tables of processes: it says that there are 0
/// slots, and answers `EINVAL` to each number of them.
fn has_a_table(world: &World<'_>) -> Outcome {
    let absent = |what| Err(Trouble::Absent(Text::of(format_args!("{what}"))));
    match slots(world) {
        Ok(0) if hash(world, SET_SLOTS, [16, 0]) == Err(Errno::INVAL) => absent("a table of the process's own"),
        Ok(_) => Ok(()),
        Err(Errno::INVAL | Errno::NOSYS) => absent("PR_FUTEX_HASH"),
        answered => world.same("PR_FUTEX_HASH_GET_SLOTS", answered, Ok(0)),
    }
}

/// Sleeps at a word that is no other thread's.
fn sleep_apart(world: &World<'_>) -> Answer {
    let at = world.word(NEXT).fetch_add(1, Ordering::SeqCst) as usize;
    world.sleep_on(FIRST + at)
}

/// Exchanges the table as often as is enough, and counts.
fn exchanges(world: &World<'_>) -> Answer {
    for size in SIZES.into_iter().cycle().take(ENOUGH as usize) {
        hash(world, SET_SLOTS, [size, 0])?;
        world.word(EXCHANGES).fetch_add(1, Ordering::SeqCst);
        world.step.moved();
        world.lets_others_run();
    }
    Ok(0)
}

/// Takes every second turn, until there were enough and the table was exchanged often enough.
fn takes_turns(world: &World<'_>, mine: u32) -> Answer {
    loop {
        let now = world.get(0);
        if now == OVER {
            return Ok(0);
        }
        if now % 2 != mine {
            match world.futex(wait(world.address(0), PRIVATE, now, 0)) {
                Ok(_) | Err(Errno::AGAIN) => continue,
                answered => return answered,
            }
        }
        let is_over = now >= TURNS && world.get(EXCHANGES) >= ENOUGH;
        world.set(0, if is_over { OVER } else { now + 1 });
        world.wake_at(0, 1)?;
    }
}

/// What is asked of a child that gives its table up, by the numbers of the steps.
const STEPS: [&str; 8] = [
    "a thread was started",
    "PR_FUTEX_HASH_SET_SLOTS of 16 answers 0",
    "PR_FUTEX_HASH_SET_SLOTS of 0 answers 0",
    "PR_FUTEX_HASH_GET_SLOTS then answers 0",
    "FUTEX_WAKE of a sleeper from before answers 1",
    "FUTEX_WAKE of a sleeper from after that answers 1",
    "PR_FUTEX_HASH_SET_SLOTS of 16 then answers EBUSY",
    "PR_FUTEX_HASH_GET_SLOTS still answers 0",
];

/// Gives the table up. Returns the number of the first step that went otherwise than on Linux, or that a call is
/// absent.
fn gives_up(world: &World<'_>) -> Result<(), Answer> {
    let is = |step, answered: Answer, linux| match answered {
        answered if answered == linux => Ok(()),
        Err(Errno::NOSYS) => Err(answered),
        _ => Err(Ok(step)),
    };
    let sleeper = |body| world.sleeper(body).map_err(|_| Ok(0));
    is(1, hash(world, SET_SLOTS, [16, 0]), Ok(0))?;
    sleeper(|world| world.sleep_on(FIRST))?;
    is(2, hash(world, SET_SLOTS, [0, 0]), Ok(0))?;
    is(3, slots(world), Ok(0))?;
    sleeper(|world| world.sleep_on(FIRST + 1))?;
    is(4, world.wake_at(FIRST, ALL), Ok(1))?;
    is(5, world.wake_at(FIRST + 1, ALL), Ok(1))?;
    is(6, hash(world, SET_SLOTS, [16, 0]), Err(Errno::BUSY))?;
    is(7, slots(world), Ok(0))
}

scenarios! { "futex_hash";
    /// Gives the table 2, 16, 1024, 4, 128 and 2 slots, and asks for its size after each.
    /// Linux answers 0, and then the size.
    #[since("6.17")]
    #[harm("A program with deadlines takes its locks for free of other programs' delays, and they are not.")]
    fn size_is_told(world) {
        has_a_table(world)?;
        for size in SIZES {
            set(world, size)?;
            world.same("PR_FUTEX_HASH_GET_SLOTS", slots(world), Ok(size))?;
        }
        Ok(())
    }

    /// Sizes that are no power of two, and 1; flags that there are not; operations that there are not.
    /// Linux answers EINVAL, and the table keeps its size.
    #[since("6.17")]
    #[harm("A program's mistake is not found; or a kernel's table has slots that no word falls into.")]
    fn malformed(world) {
        has_a_table(world)?;
        set(world, 8)?;
        for (operation, arguments) in [
            (SET_SLOTS, [1, 0]),
            (SET_SLOTS, [3, 0]),
            (SET_SLOTS, [24, 0]),
            (SET_SLOTS, [16, 1 << 31]),
            (0, [0, 0]),
            (1 << 20, [0, 0]),
        ] {
            let answered = hash(world, operation, arguments);
            let [first, second] = arguments;
            world.same(
                format_args!("operation {operation} of PR_FUTEX_HASH with {first} and {second}"),
                answered,
                Err(Errno::INVAL),
            )?;
        }
        world.same("PR_FUTEX_HASH_GET_SLOTS", slots(world), Ok(8))
    }

    /// Sixteen threads sleep at words of their own; the table is exchanged for smaller and larger ones. Then each is
    /// woken, one of them after it was moved to another word.
    /// Linux answers 1 to each wake, and 0 to each wait.
    #[since("6.17")]
    #[harm("Threads that sleep while the table is exchanged are never found again: they hang.")]
    fn sleepers_are_found_in_a_new_table(world) {
        has_a_table(world)?;
        let sleepers = world.asleep::<SLEEPERS>(sleep_apart)?;
        for size in SIZES {
            set(world, size)?;
            world.same("FUTEX_WAKE at a word of no one", world.wake_at(0, ALL), Ok(0))?;
        }
        let moved = world.futex(requeue(world.address(FIRST), PRIVATE, 0, world.address(0), ALL));
        world.same("FUTEX_REQUEUE of one sleeper", moved, Ok(1))?;
        set(world, 64)?;
        world.same("FUTEX_WAKE of the sleeper that was moved", world.wake_at(0, ALL), Ok(1))?;
        for at in 1..SLEEPERS {
            world.same(format_args!("FUTEX_WAKE of sleeper {at}"), world.wake_at(FIRST + at, ALL), Ok(1))?;
        }
        world.all_end(&sleepers)
    }

    /// Two threads hand each other the turn, a thousand times or more, while a third exchanges the table twelve times.
    /// On Linux no wake is lost.
    #[since("6.17")]
    #[harm("Any lock hangs, now and then, in a program whose table grows with its threads.")]
    fn none_is_lost_meanwhile(world) {
        has_a_table(world)?;
        set(world, 16)?;
        let exchanger = world.start(exchanges)?;
        let other = world.start(|world| takes_turns(world, 1))?;
        world.step(&"hands the turn to another thread and back while the table is exchanged: a wake was lost");
        world.same("a call of the first thread", takes_turns(world, 0), Ok(0))?;
        world.ends(other, "the other thread", Ok(0))?;
        world.ends(exchanger, "the thread that exchanges the table", Ok(0))
    }

    /// Sets a size, and starts a child, which asks for its table's size, and sets another one; then the parent asks.
    /// Linux keeps the parent's size: a table is its process's.
    #[needs(Fork)]
    #[since("6.17")]
    #[harm("A process changes the delays of another's locks.")]
    fn table_is_the_processs(world) {
        has_a_table(world)?;
        set(world, 32)?;
        let by_child = world.in_child(|| {
            hash(world, SET_SLOTS, [4, 0])?;
            slots(world)
        })?;
        world.same("PR_FUTEX_HASH_GET_SLOTS in a child", by_child, Ok(4))?;
        world.same("PR_FUTEX_HASH_GET_SLOTS in its parent", slots(world), Ok(32))
    }

    /// A child gives its table no slots: words are then in the table of all processes. A thread sleeps before, and
    /// another one afterwards; both are woken. Then a size is set.
    /// Linux answers 0, says that the size is 0, finds both, and answers EBUSY to the size: it stays so.
    #[needs(Fork)]
    #[since("6.17")]
    #[harm("A thread that slept while the table was given up is never found again: it hangs.")]
    fn table_of_all_processes(world) {
        has_a_table(world)?;
        world.step(&"waits for a child that gives its table up");
        match world.in_child(|| gives_up(world).err().unwrap_or(Ok(STEPS.len())))? {
            Ok(0) => Err(unfit(format_args!("a child cannot start a thread"))),
            Ok(step) if step < STEPS.len() => wrong(format_args!("it is not so in a child: {}", STEPS[step])),
            answered => world.same("a child that gives its table up", answered, Ok(STEPS.len())),
        }
    }
}
