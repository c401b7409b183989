//! Many waiters at one word, and many words of one wait: what a kernel does that has room for a few.

use crate::errno::{Answer, Errno};
use crate::futex::{ALL, PRIVATE, requeue};
use crate::futex2::{Entry, U32_PRIVATE, waitv};
use crate::scenario::{Outcome, Trouble, scenarios};
use crate::world::{Started, World};

/// How many threads wait.
const MANY: usize = 100;
/// How many words a call of `futex_waitv` may have.
const WORDS: usize = 128;
/// How many threads wait by `futex_waitv`, each as often as a call has words.
const FEW: usize = 4;
/// The entries of `wait_for_the_last_words` whose words are no other entry's: the first after the
/// 64th, and the last two. The one at an index has the word one above it.
const OWN: [usize; 3] = [64, 126, 127];

scenarios! { "crowds";
    /// A hundred threads wait for one word; a wake of seventy, and one of all.
    /// Linux answers 70 and 30, and each thread's wait answers 0.
    #[since("2.6.0")]
    #[harm("A kernel that wakes a few at a time leaves threads asleep at a barrier, or at the end of a pool.")]
    fn are_woken(world) {
        let sleepers = world.asleep::<MANY>(|world| world.sleep_on(0))?;
        world.same("FUTEX_WAKE of 70", world.wake_at(0, 70), Ok(70))?;
        world.same("FUTEX_WAKE of all", world.wake_at(0, ALL), Ok(MANY - 70))?;
        world.all_end(&sleepers)
    }

    /// A hundred threads wait for one word; one is woken and the others are moved, and woken there.
    /// Linux answers 100 to the requeue, 0 to a wake at the old word, and 99 to one at the new.
    #[since("2.6.0")]
    #[harm("A broadcast to many threads leaves some of them at the condition's word, where no wake comes.")]
    fn are_moved(world) {
        let sleepers = world.asleep::<MANY>(|world| world.sleep_on(0))?;
        moves(world, 1, MANY)?;
        world.same("FUTEX_WAKE at the old word", world.wake_at(0, ALL), Ok(0))?;
        world.same("FUTEX_WAKE at the new word", world.wake_at(1, ALL), Ok(MANY - 1))?;
        world.all_end(&sleepers)
    }

    /// Four threads wait for one word by futex_waitv, 128 times each; all are woken.
    /// Linux answers 512, and 127 to each thread: the last of its entries.
    #[since("5.16")]
    #[harm("A wake ends before the last waiter: threads sleep on.")]
    fn of_entries_are_woken(world) {
        let sleepers = at_one_word(world)?;
        world.same("FUTEX_WAKE of all", world.wake_at(0, ALL), Ok(FEW * WORDS))?;
        all_answer(world, &sleepers, WORDS - 1)
    }

    /// Four threads wait for one word by futex_waitv, 128 times each; all are moved, and woken there.
    /// Linux answers 512 to both, and 127 to each thread.
    #[since("5.16")]
    #[harm("A requeue ends before the last waiter: threads sleep on at a word where no wake comes.")]
    fn of_entries_are_moved(world) {
        let sleepers = at_one_word(world)?;
        moves(world, 0, FEW * WORDS)?;
        world.same("FUTEX_WAKE at the old word", world.wake_at(0, ALL), Ok(0))?;
        world.same("FUTEX_WAKE at the new word", world.wake_at(1, ALL), Ok(FEW * WORDS))?;
        all_answer(world, &sleepers, WORDS - 1)
    }

    /// A thread waits for 128 words, of which the 65th, the 127th and the 128th are not the others';
    /// one of these is woken, each once. Then one of them holds another value, each once.
    /// Linux answers the word's index to the thread, and EAGAIN where the value differs.
    #[since("5.16")]
    #[harm("A program that waits for many objects misses the last of them.")]
    fn of_words_have_a_last_one(world) {
        for (at, index) in (1..).zip(OWN) {
            let sleeper = world.sleeper(wait_for_the_last_words)?;
            world.same(format_args!("FUTEX_WAKE of entry {index}"), world.wake_at(at, 1), Ok(1))?;
            world.step(&"waits for the end of a futex_waitv of 128 words");
            world.ends(sleeper, "the sleeper", Ok(index))?;
        }
        for (at, index) in (1..).zip(OWN) {
            world.set(at, 1);
            world.step(&"asks futex_waitv of 128 words of which one differs");
            let answered = wait_for_the_last_words(world);
            world.same(format_args!("futex_waitv whose entry {index} differs"), answered, Err(Errno::AGAIN))?;
            world.set(at, 0);
        }
        Ok(())
    }
}

/// Waits for 128 words: word 0, and at the indices in `OWN` the words 1 to 3.
fn wait_for_the_last_words(world: &World<'_>) -> Answer {
    let word = |index| OWN.iter().position(|&own| own == index).map_or(0, |at| at + 1);
    let entries: [_; WORDS] = core::array::from_fn(|index| Entry::new(world.address(word(index)), U32_PRIVATE));
    world.futex(waitv(&entries, 0, 0))
}

/// Starts threads that wait for word 0 by each entry of a `futex_waitv`.
fn at_one_word(world: &World<'_>) -> Result<[Started; FEW], Trouble> {
    world.asleep(|world| world.futex(waitv(&[Entry::new(world.address(0), U32_PRIVATE); WORDS], 0, 0)))
}

/// Asserts what a requeue from word 0 to word 1 answers that wakes some and moves all others.
fn moves(world: &World<'_>, wake: u32, linux: usize) -> Outcome {
    let answered = world.futex(requeue(world.address(0), PRIVATE, wake, world.address(1), ALL));
    world.same("FUTEX_REQUEUE of all", answered, Ok(linux))
}

/// Asserts that all threads end with this answer.
fn all_answer(world: &World<'_>, sleepers: &[Started], linux: usize) -> Outcome {
    world.step(&"waits for the end of the sleepers' calls");
    sleepers.iter().try_for_each(|&sleeper| world.ends(sleeper, "a sleeper", Ok(linux)))
}
