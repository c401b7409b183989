//! Words that differ in the upper 32 bits of their address, or of their place in a file: a kernel that keeps the lower
//! ones alone takes them for one futex.

use crate::errno::{Answer, Errno};
use crate::futex::{ALL, PRIVATE, cmp_requeue, wait};
use crate::futex2::{Entry, U32, U32_PRIVATE, waitv};
use crate::objects::{Map, Region, SIZE};
use crate::scenario::{Outcome, scenarios};
use crate::world::World;

/// A flag that is not set: words that other processes share.
const SHARED: u32 = 0;
/// Where a thread finds an address, and the flags of its word.
const ADDRESS: usize = 0;
const FLAGS: usize = 2;

/// Asserts that no wake at one of two words reaches a sleeper at the other, and that one at its own does.
fn do_not_meet(world: &World<'_>, [one, other]: [Region; 2], flags: u32) -> Outcome {
    for (own, far) in [(one, other), (other, one)] {
        let sleeper = world.sleeper_of(own.word(3), flags)?;
        world.misses(far.word(3), flags, "the word whose address has the same lower 32 bits")?;
        world.sleeps(sleeper, "the sleeper")?;
        world.meets(sleeper, own.word(3), flags, "its word")?;
    }
    Ok(())
}

fn wait_for_one(world: &World<'_>) -> Answer {
    world.futex(waitv(&[Entry::new(world.address_in(ADDRESS), world.get(FLAGS))], 0, 0))
}

scenarios! { "keys";
    /// Two pieces of private memory whose addresses differ by 4 GiB, or a multiple. A thread waits with the private
    /// flag for a word of one; a wake goes to the same word of the other, and the other way round.
    /// Linux answers 0 to it, and 1 to the wake of the word itself.
    #[since("2.6.22")]
    #[harm("In a program with more than 4 GiB of memory locks take each other's wakes: threads hang, rarely.")]
    fn private_words_4_gib_apart(world) {
        let one = world.map(Map::PRIVATE)?;
        do_not_meet(world, [one, world.map_far_from(one, Map::PRIVATE)?], PRIVATE)
    }

    /// Two words whose addresses differ by 4 GiB, or a multiple: in private memory, in shared anonymous memory, and in
    /// two files. A thread waits for one without the private flag; a wake goes to the other.
    /// Linux answers 0 to the wake of the other word, and 1 to the wake of the word itself.
    #[since("2.6.0")]
    #[harm("In a program with more than 4 GiB of memory locks take each other's wakes: threads hang, rarely.")]
    fn shared_words_4_gib_apart(world) {
        let [first, second] = [world.object(SIZE)?, world.object(SIZE)?];
        let files = [Map::of(first), Map::of(second)];
        for [one, other] in [[Map::PRIVATE; 2], [Map::SHARED; 2], files] {
            let one = world.map(one)?;
            do_not_meet(world, [one, world.map_far_from(one, other)?], SHARED)?;
        }
        Ok(())
    }

    /// A file is mapped at two addresses that differ by 4 GiB, or a multiple. A thread waits for a word by one.
    /// Linux answers 0 to a wake by the other with the private flag, where the wait has it, and 1 to one without,
    /// where it has none: the address is nothing to a shared word, and all to a private one.
    #[since("2.6.22")]
    #[harm("Wakes are lost, or found where there are none, for words that lie far from each other.")]
    fn one_object_4_gib_apart(world) {
        let object = world.object(SIZE)?;
        let one = world.map(Map::of(object))?;
        let far = world.map_far_from(one, Map::of(object))?;
        do_not_meet(world, [one, far], PRIVATE)?;
        let sleeper = world.sleeper_of(one.word(3), SHARED)?;
        world.meets(sleeper, far.word(3), SHARED, "the word by its other address")
    }

    /// A thread waits for a private word; it is moved to the word whose address has the same lower 32 bits.
    /// Linux answers 1 to the requeue, 0 to a wake at the old word, and 1 to one at the new.
    #[since("2.6.22")]
    #[harm("A condition variable and its lock are taken for one word: threads hang, rarely.")]
    fn moves_to_a_word_4_gib_apart(world) {
        let one = world.map(Map::PRIVATE)?;
        let far = world.map_far_from(one, Map::PRIVATE)?;
        let sleeper = world.sleeper_of(one.word(3), PRIVATE)?;
        let moved = world.futex(cmp_requeue(one.word(3), PRIVATE, 0, far.word(3), ALL, 0));
        world.same("FUTEX_CMP_REQUEUE to the word 4 GiB away, or a multiple,", moved, Ok(1))?;
        world.misses(one.word(3), PRIVATE, "the old word")?;
        world.sleeps(sleeper, "the sleeper")?;
        world.meets(sleeper, far.word(3), PRIVATE, "the new word")
    }

    /// Two words whose addresses have the same lower 32 bits hold 0 and 1. Waits for 0 at the latter, and for 1 at the
    /// former.
    /// Linux answers EAGAIN to both: each is compared with its own word.
    #[since("2.6.0")]
    #[harm("A thread sleeps although the lock was freed before: it hangs.")]
    fn values_4_gib_apart(world) {
        let one = world.map(Map::PRIVATE)?;
        let far = world.map_far_from(one, Map::PRIVATE)?;
        world.store(far.word(3), 1_u32);
        world.step(&"waits for a word while it holds what another word holds");
        for flags in [PRIVATE, SHARED] {
            for (region, value) in [(one, 1), (far, 0)] {
                let answered = world.futex(wait(region.word(3), flags, value, 0));
                world.same("FUTEX_WAIT for the other word's value", answered, Err(Errno::AGAIN))?;
            }
        }
        Ok(())
    }

    /// A thread waits by futex_waitv for a word, private and then shared; a wake goes to the word whose address has the
    /// same lower 32 bits.
    /// Linux answers 0 to it, and 1 to the wake of the word itself.
    #[since("5.16")]
    #[harm("A program that waits for many objects is woken by others.")]
    fn words_of_waitv_4_gib_apart(world) {
        let one = world.map(Map::PRIVATE)?;
        let far = world.map_far_from(one, Map::PRIVATE)?;
        for (flags, entry) in [(PRIVATE, U32_PRIVATE), (SHARED, U32)] {
            for (own, other) in [(one, far), (far, one)] {
                world.set_address(ADDRESS, own.word(3));
                world.set(FLAGS, entry);
                let sleeper = world.sleeper(wait_for_one)?;
                world.misses(other.word(3), flags, "the word whose address has the same lower 32 bits")?;
                world.sleeps(sleeper, "the sleeper")?;
                world.meets(sleeper, own.word(3), flags, "its word")?;
            }
        }
        Ok(())
    }

    /// A file in memory of 2^48 bytes and a little more, without contents, whose last page is number 2^32 or later
    /// where pages have 64 KiB or less. A thread waits for the word at 2^48, and at 2^44.
    /// Linux answers 0 to the wake of the word at 0, and 1 to the wake of the word itself.
    #[since("2.6.0")]
    #[harm("Words of large files that lie 2^32 pages apart take each other's wakes.")]
    fn places_2_to_the_32_pages_apart(world) {
        const PLACES: [usize; 2] = [1 << 44, 1 << 48];
        let object = world.object(PLACES[1] + SIZE)?;
        let low = world.map(Map::of(object))?;
        for place in PLACES {
            let map = Map::of(object).from(place);
            let (high, again) = (world.map(map)?, world.map(map)?);
            let sleeper = world.sleeper_of(high.word(0), SHARED)?;
            world.misses(low.word(0), SHARED, "the word at the file's begin")?;
            world.sleeps(sleeper, "the sleeper")?;
            world.meets(sleeper, again.word(0), SHARED, "the word by another mapping")?;
        }
        Ok(())
    }
}
