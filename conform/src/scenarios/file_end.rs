//! Words of a mapped file that lie beyond the file's end: pages that are mapped and that there is nothing behind. A
//! program that touches them is sent `SIGBUS`; a call answers `EFAULT`.

use crate::errno::{Answer, Errno};
use crate::futex::{ALL, Change, Compare, PRIVATE, encode, requeue, wait, wake, wake_op};
use crate::futex_pi::{lock_pi, trylock_pi, unlock_pi};
use crate::futex2::{Entry, U32, U32_PRIVATE, waitv};
use crate::objects::{Map, Object, Region, SIZE};
use crate::scenario::{Trouble, scenarios};
use crate::world::World;

/// A flag that is not set: words that other processes share.
const SHARED: u32 = 0;
/// The first word beyond the end of a file of `SIZE` bytes.
const BEYOND: usize = SIZE / 4;
/// What is lacking of a whole page at the end of a file.
const LACKS: usize = 100;
const EFAULT: Answer = Err(Errno::FAULT);

/// Maps a file of one region's size, and as many bytes beyond its end.
fn with_a_hole(world: &World<'_>) -> Result<(Object, Region), Trouble> {
    let object = world.object(SIZE)?;
    Ok((object, world.map(Map::of(object).sized(2 * SIZE))?))
}

scenarios! { "file_end";
    /// A word beyond the end of a mapped file, private and shared: waits, by FUTEX_WAIT and futex_waitv.
    /// Linux answers EFAULT, and no signal comes.
    #[needs(Faults)]
    #[since("2.6.0")]
    #[harm("A program that shares a file with one that cuts it is killed, or hangs.")]
    fn waits_beyond_it(world) {
        let (_, region) = with_a_hole(world)?;
        let word = region.word(BEYOND);
        for flags in [PRIVATE, SHARED] {
            world.same("FUTEX_WAIT of a word beyond a file's end", world.futex(wait(word, flags, 0, 0)), EFAULT)?;
        }
        for flags in [U32_PRIVATE, U32] {
            let answered = world.futex(waitv(&[Entry::new(region.word(0), flags), Entry::new(word, flags)], 0, 0));
            if answered != Err(Errno::NOSYS) {
                world.same("futex_waitv of a word beyond a file's end", answered, EFAULT)?;
            }
        }
        Ok(())
    }

    /// A wake of all at such a word: private, which looks at the address alone, and shared.
    /// Linux answers 0 to the private one, and EFAULT to the shared one.
    #[needs(Faults)]
    #[since("2.6.22")]
    #[harm("A program that shares a file with one that cuts it is killed, or takes an error for a fault of its own.")]
    fn wakes_beyond_it(world) {
        let (_, region) = with_a_hole(world)?;
        let word = region.word(BEYOND);
        world.same("FUTEX_WAKE of a private word beyond a file's end", world.futex(wake(word, PRIVATE, ALL)), Ok(0))?;
        world.same("FUTEX_WAKE of a shared word beyond a file's end", world.futex(wake(word, SHARED, ALL)), EFAULT)
    }

    /// The second word of a requeue and of FUTEX_WAKE_OP lies beyond the file's end. A thread waits for the first.
    /// Linux answers EFAULT to the shared requeue and to FUTEX_WAKE_OP, and the thread sleeps on.
    #[needs(Faults)]
    #[since("2.6.22")]
    #[harm("A waiter is moved to a word that there is not, or woken without the change that goes with it.")]
    fn second_word_beyond_it(world) {
        let (_, region) = with_a_hole(world)?;
        let (first, beyond) = (region.word(0), region.word(BEYOND));
        let change = encode(Change::Add as u32, 1, Compare::Equal as u32, 0);
        for flags in [PRIVATE, SHARED] {
            let sleeper = world.sleeper_of(first, flags)?;
            let answered = world.futex(wake_op(first, flags, 1, beyond, 1, change));
            world.same("FUTEX_WAKE_OP whose second word is beyond a file's end", answered, EFAULT)?;
            if flags == SHARED {
                let answered = world.futex(requeue(first, flags, 0, beyond, 1));
                world.same("FUTEX_REQUEUE to a word beyond a file's end", answered, EFAULT)?;
            }
            world.sleeps(sleeper, "the sleeper")?;
            world.meets(sleeper, first, flags, "its word")?;
        }
        Ok(())
    }

    /// A lock with priority inheritance at such a word is locked, tried and unlocked; private and shared.
    /// Linux answers EFAULT.
    #[needs(Faults)]
    #[since("2.6.22")]
    #[harm("A program that shares a file with one that cuts it is killed, or hangs.")]
    fn lock_beyond_it(world) {
        let (_, region) = with_a_hole(world)?;
        let word = region.word(BEYOND);
        for flags in [PRIVATE, SHARED] {
            for (what, call) in [
                ("FUTEX_LOCK_PI", lock_pi(word, flags, 0)),
                ("FUTEX_TRYLOCK_PI", trylock_pi(word, flags)),
                ("FUTEX_UNLOCK_PI", unlock_pi(word, flags)),
            ] {
                world.same(format_args!("{what} of a lock beyond a file's end"), world.futex(call), EFAULT)?;
            }
        }
        Ok(())
    }

    /// A file that ends within a page. A thread waits for the last word of the page, which is not the file's any more.
    /// Linux takes it for a word like any other: a wake by another mapping answers 1.
    #[since("2.6.0")]
    #[harm("Locks at the end of a file that is no whole number of pages do not work.")]
    fn rest_of_the_last_page(world) {
        let object = world.object(SIZE - LACKS)?;
        let (one, other) = (world.map(Map::of(object))?, world.map(Map::of(object))?);
        let last = BEYOND - 1;
        let sleeper = world.sleeper_of(one.word(last), SHARED)?;
        world.meets(sleeper, other.word(last), SHARED, "the last word of the file's last page")
    }

    /// A thread waits for a shared word of a file, which is then cut before the word, and made longer again.
    /// Linux answers EFAULT to a wake while the word lies beyond the end, the thread sleeps on, and a wake finds it
    /// afterwards: it is the same place of the same file.
    #[needs(Faults)]
    #[since("2.6.0")]
    #[harm("A sleeper is lost when a file is cut and filled anew: its thread hangs.")]
    fn file_is_cut_and_grows(world) {
        let object = world.object(2 * SIZE)?;
        let region = world.map(Map::of(object).sized(2 * SIZE))?;
        let word = region.word(BEYOND);
        let sleeper = world.sleeper_of(word, SHARED)?;
        world.resize(object, SIZE)?;
        let answered = world.futex(wake(word, SHARED, ALL));
        world.same("FUTEX_WAKE of a word beyond the end of a file that was cut", answered, EFAULT)?;
        world.sleeps(sleeper, "a sleeper whose file was cut")?;
        world.resize(object, 2 * SIZE)?;
        world.meets(sleeper, word, SHARED, "the word, after the file has grown again,")
    }

    /// A thread waits for a private word of a file, which is then cut before the word.
    /// Linux answers 1 to a private wake: the word is an address.
    #[needs(Faults)]
    #[since("2.6.22")]
    #[harm("A program that cuts a file while a thread sleeps there cannot wake the thread.")]
    fn private_sleeper_of_a_file_that_is_cut(world) {
        let object = world.object(2 * SIZE)?;
        let region = world.map(Map::of(object).sized(2 * SIZE))?;
        let sleeper = world.sleeper_of(region.word(BEYOND), PRIVATE)?;
        world.resize(object, SIZE)?;
        let waited = world.futex(wait(region.word(BEYOND), PRIVATE, 0, 0));
        world.same("FUTEX_WAIT of a word beyond the end of a file that was cut", waited, EFAULT)?;
        world.sleeps(sleeper, "a sleeper whose file was cut")?;
        world.meets(sleeper, region.word(BEYOND), PRIVATE, "a private word of a file that was cut")
    }
}
