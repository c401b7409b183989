//! Which words are one futex: by address in a process, by object and place where memory is shared.

use crate::errno::Errno;
use crate::futex::{ALL, PRIVATE, Time, wait, wake};
use crate::objects::{Map, SIZE, sleep};
use crate::scenario::scenarios;
use crate::world::WORDS;

/// A flag that is not set: words that other processes share.
const SHARED: u32 = 0;

scenarios! { "keys";
    /// A thread waits for a private word. Wakes go to every other word of the same page.
    /// Linux answers 0 to each, and 1 to the wake of the word itself.
    #[since("2.6.22")]
    #[harm("Threads that wait for one word take the wakes of another: both hang.")]
    fn private_words_do_not_meet(world) {
        let sleeper = world.sleeper_of(world.address(0), PRIVATE)?;
        (1..WORDS).try_for_each(|at| world.misses(world.address(at), PRIVATE, "another word of the page"))?;
        world.sleeps(sleeper, "the sleeper")?;
        world.meets(sleeper, world.address(0), PRIVATE, "its word")
    }

    /// Two private pages that were never written to, which a kernel may keep as one page of zeroes. A
    /// thread waits for a word of one; a wake goes to the same place of the other.
    /// Linux answers 0 to it, and 1 to the wake of the word itself.
    #[since("2.6.22")]
    #[harm("Locks in fresh memory take each other's wakes: threads hang.")]
    fn untouched_pages_do_not_meet(world) {
        let (one, other) = (world.map(Map::PRIVATE)?, world.map(Map::PRIVATE)?);
        for flags in [PRIVATE, SHARED] {
            let sleeper = world.sleeper_of(one.word(0), flags)?;
            world.misses(other.word(0), flags, "the other page")?;
            world.sleeps(sleeper, "the sleeper")?;
            world.meets(sleeper, one.word(0), flags, "its word")?;
        }
        Ok(())
    }

    /// A thread waits for a word of anonymous memory that was never written to; then the page is
    /// written to, beside the word, which gives it memory of its own.
    /// Linux wakes the thread by the word's address.
    #[since("2.6.22")]
    #[harm("A kernel that knows futexes by physical addresses loses the wakes of fresh memory.")]
    fn first_write_keeps_the_sleeper(world) {
        for flags in [PRIVATE, SHARED] {
            let region = world.map(Map::PRIVATE)?;
            let sleeper = world.sleeper_of(region.word(0), flags)?;
            world.store(region.word(8), 1_u32);
            world.meets(sleeper, region.word(0), flags, "a word whose page was written to")?;
        }
        Ok(())
    }

    /// A thread waits for a word of anonymous memory. The process forks, and both the parent and the child
    /// write beside the word, so that one of them gets a copy of the page.
    /// Linux wakes the thread by the word's address.
    #[needs(Fork)]
    #[since("2.6.22")]
    #[harm("After a fork, a kernel that knows futexes by physical addresses loses wakes in the parent.")]
    fn copy_on_write_keeps_the_sleeper(world) {
        for flags in [PRIVATE, SHARED] {
            let region = world.map(Map::PRIVATE)?;
            world.store(region.word(8), 1_u32);
            let sleeper = world.sleeper_of(region.word(0), flags)?;
            let _ = world.in_child(|| {
                world.store(region.word(8), 2_u32);
                Ok(0)
            })?;
            world.meets(sleeper, region.word(0), flags, "a word whose page was shared with a child")?;
            let sleeper = world.sleeper_of(region.word(0), flags)?;
            let child = world.child(|world| {
                world.rest();
                Ok(0)
            })?;
            world.store(region.word(8), 3_u32);
            world.meets(sleeper, region.word(0), flags, "a word whose page was copied for a child")?;
            world.ends_well(child, "a child")?;
        }
        Ok(())
    }

    /// A thread waits for a word with the private flag; a wake comes without it. Then the other way round.
    /// Linux answers 0 to both: private and shared are two futexes, also in memory of this process alone.
    #[seen("Gramine: shared words were treated as private ones")]
    #[since("2.6.22")]
    #[harm("Two parts of a program that use a word each in its way take each other's wakes.")]
    fn private_and_shared_do_not_meet(world) {
        for (flags, others) in [(PRIVATE, SHARED), (SHARED, PRIVATE)] {
            let sleeper = world.sleeper_of(world.address(0), flags)?;
            world.misses(world.address(0), others, "the same word with the other flag")?;
            world.sleeps(sleeper, "the sleeper")?;
            world.meets(sleeper, world.address(0), flags, "its word")?;
        }
        Ok(())
    }

    /// A thread waits, without the private flag, for a word of memory that a child has a copy of. The
    /// child wakes all at the same address, before and after it wrote to its copy.
    /// Linux answers 0 to the child: copies are other words. The parent's wake answers 1.
    #[needs(Fork)]
    #[since("2.6.0")]
    #[harm("A child takes the wakes of its parent, or wakes its threads.")]
    fn copies_of_a_fork_do_not_meet(world) {
        let sleeper = world.sleeper_of(world.address(0), SHARED)?;
        let by_child = || world.futex(wake(world.address(0), SHARED, ALL));
        world.same("FUTEX_WAKE of a copy of the word, by a child,", world.in_child(by_child)?, Ok(0))?;
        let by_writer = || {
            world.set(1, 1);
            by_child()
        };
        world.same("FUTEX_WAKE of a copy that was written to, by a child,", world.in_child(by_writer)?, Ok(0))?;
        world.sleeps(sleeper, "the sleeper")?;
        world.meets(sleeper, world.address(0), SHARED, "its word")
    }

    /// A child waits for a word of anonymous memory that it shares with its parent; the parent wakes it.
    /// Linux answers 1 to the wake, and 0 to the child.
    #[seen("Gramine: shared words were treated as private ones")]
    #[needs(Fork)]
    #[since("2.6.0")]
    #[harm("Processes that share a lock never hear of each other: they hang.")]
    fn anonymous_memory_over_fork(world) {
        let shared = world.map(Map::SHARED)?;
        world.sleep_at(shared.word(3), SHARED);
        let child = world.child(sleep)?;
        world.step(&"wakes until the child is woken");
        let woken = world.until_not_zero(|| world.futex(wake(shared.word(3), SHARED, 1)));
        world.same("FUTEX_WAKE of a child's word", woken, Ok(1))?;
        world.step(&"waits for the end of the child");
        world.ends_well(child, "the child")
    }

    /// A thread waits, with the private flag, for a word of memory that a child shares; the child wakes
    /// all there with the private flag.
    /// Linux answers 0 to the child: private words are those of one process.
    #[needs(Fork)]
    #[since("2.6.22")]
    #[harm("A wake goes to a process that does not expect it, and is missed by the one that does.")]
    fn private_words_of_processes_do_not_meet(world) {
        let shared = world.map(Map::SHARED)?;
        let sleeper = world.sleeper_of(shared.word(0), PRIVATE)?;
        let answered = world.in_child(|| world.futex(wake(shared.word(0), PRIVATE, 1)))?;
        world.same("FUTEX_WAKE of a private word, by a child,", answered, Ok(0))?;
        world.sleeps(sleeper, "the sleeper")?;
        world.meets(sleeper, shared.word(0), PRIVATE, "its word")
    }

    /// A file in memory is mapped twice. A thread waits by one address; wakes come by the other.
    /// Linux answers 1 to the shared wake.
    #[since("2.6.0")]
    #[harm("A lock in shared memory hangs where it is mapped at two addresses.")]
    fn one_object_at_two_addresses(world) {
        let object = world.object(SIZE)?;
        let (one, other) = (world.map(Map::of(object))?, world.map(Map::of(object))?);
        let sleeper = world.sleeper_of(one.word(5), SHARED)?;
        world.misses(other.word(4), SHARED, "another word of the object")?;
        world.meets(sleeper, other.word(5), SHARED, "the word by its other address")
    }

    /// A file in memory is mapped twice. A thread waits by one address, with the private flag; a wake
    /// comes by the other address with the same flag.
    /// Linux answers 0: a private word is an address.
    #[since("2.6.22")]
    #[harm("None that programs rely on; but a kernel that answers otherwise looks up what it need not.")]
    fn private_word_is_an_address(world) {
        let object = world.object(SIZE)?;
        let (one, other) = (world.map(Map::of(object))?, world.map(Map::of(object))?);
        let sleeper = world.sleeper_of(one.word(0), PRIVATE)?;
        world.misses(other.word(0), PRIVATE, "the word by its other address")?;
        world.sleeps(sleeper, "the sleeper")?;
        world.meets(sleeper, one.word(0), PRIVATE, "its word")
    }

    /// A file in memory is mapped whole, and from its second part. A thread waits for the first word of
    /// the second mapping.
    /// Linux answers 0 to the wake of the file's first word, and 1 to the wake at the second part's.
    #[since("2.6.0")]
    #[harm("Locks at the same place of two mappings take each other's wakes.")]
    fn place_in_the_object_counts(world) {
        let object = world.object(2 * SIZE)?;
        let (first, second) = (world.map(Map::of(object))?, world.map(Map::of(object).from(SIZE))?);
        let again = world.map(Map::of(object).from(SIZE))?;
        let sleeper = world.sleeper_of(second.word(0), SHARED)?;
        world.misses(first.word(0), SHARED, "the first part's word")?;
        world.sleeps(sleeper, "the sleeper")?;
        world.meets(sleeper, again.word(0), SHARED, "the word by another mapping of its part")
    }

    /// Two files in memory, and two pieces of shared anonymous memory. A thread waits for the first word of
    /// one; wakes go to the first word of each other.
    /// Linux answers 0 to them.
    #[since("2.6.0")]
    #[harm("Locks at the same place of two files take each other's wakes: threads hang.")]
    fn two_objects_do_not_meet(world) {
        let one = world.map(Map::of(world.object(SIZE)?))?;
        let others = [world.map(Map::of(world.object(SIZE)?))?, world.map(Map::SHARED)?, world.map(Map::SHARED)?];
        for at in 0..others.len() {
            let sleeper = world.sleeper_of(one.word(0), SHARED)?;
            world.misses(others[at].word(0), SHARED, "another object's first word")?;
            world.sleeps(sleeper, "the sleeper")?;
            world.meets(sleeper, one.word(0), SHARED, "its word")?;
            let sleeper = world.sleeper_of(others[at].word(0), SHARED)?;
            world.misses(others[(at + 1) % others.len()].word(0), SHARED, "another object's first word")?;
            world.meets(sleeper, others[at].word(0), SHARED, "its word")?;
        }
        Ok(())
    }

    /// A file in memory of 4 GiB and a little more, without contents. A thread waits for the word at 4 GiB.
    /// Linux answers 0 to the wake of the word at 0, and 1 to the wake of the word at 4 GiB.
    #[since("2.6.0")]
    #[harm("Words of large files that lie 4 GiB apart take each other's wakes.")]
    fn places_beyond_4_gib(world) {
        let object = world.object((4 << 30) + SIZE)?;
        let (low, high) = (world.map(Map::of(object))?, world.map(Map::of(object).from(4 << 30))?);
        let again = world.map(Map::of(object).from(4 << 30))?;
        let sleeper = world.sleeper_of(high.word(0), SHARED)?;
        world.misses(low.word(0), SHARED, "the word 4 GiB before")?;
        world.sleeps(sleeper, "the sleeper")?;
        world.meets(sleeper, again.word(0), SHARED, "the word by another mapping")
    }

    /// A thread waits for a word of a file in memory; then the mapping is moved by mremap.
    /// Linux answers 1 to the wake at the new address.
    #[since("2.6.0")]
    #[harm("A mapping that grows by moving loses its sleepers.")]
    fn moved_mapping_keeps_its_sleeper(world) {
        let region = world.map(Map::of(world.object(SIZE)?))?;
        let sleeper = world.sleeper_of(region.word(7), SHARED)?;
        let moved = world.moved(region)?;
        world.meets(sleeper, moved.word(7), SHARED, "the word at its new address")
    }

    /// A thread waits for a word of a file in memory; the mapping is replaced by one of another file, at the
    /// same address.
    /// Linux answers 0 to the wake at that address, and 1 to the wake by another mapping of the first file.
    #[since("2.6.0")]
    #[harm("Memory that is mapped anew takes over the sleepers of what was there: wakes go astray.")]
    fn mapped_anew_is_another_word(world) {
        let (first, second) = (world.object(SIZE)?, world.object(SIZE)?);
        let (region, elsewhere) = (world.map(Map::of(first))?, world.map(Map::of(first))?);
        let sleeper = world.sleeper_of(region.word(0), SHARED)?;
        let anew = world.map(Map::of(second).over(region))?;
        world.misses(anew.word(0), SHARED, "the new object's word")?;
        world.sleeps(sleeper, "the sleeper")?;
        world.meets(sleeper, elsewhere.word(0), SHARED, "the old object's word")
    }

    /// A thread waits for a private word; the memory is unmapped, and other memory is mapped at the same
    /// address.
    /// Linux answers 1 to the private wake at that address: a private word is an address.
    #[since("2.6.22")]
    #[harm("A program that gives memory back while a thread sleeps there cannot wake the thread.")]
    fn private_word_outlives_its_memory(world) {
        let region = world.map(Map::PRIVATE)?;
        let sleeper = world.sleeper_of(region.word(0), PRIVATE)?;
        let anew = world.map(Map::PRIVATE.over(region))?;
        world.meets(sleeper, anew.word(0), PRIVATE, "a private word whose memory is new")
    }

    /// A thread waits, with a time, for a word of a file in memory of which nothing is left then: it
    /// is unmapped and closed. Sixty-four new files get wakes at the same place.
    /// Linux answers 0 to each, and ETIMEDOUT to the wait: no new object is taken for the old one.
    #[since("2.6.0")]
    #[harm("A file that gets the number of one that is gone takes over its sleepers, and they its wakes.")]
    fn new_objects_are_not_old_ones(world) {
        let object = world.object(SIZE)?;
        let region = world.map(Map::of(object))?;
        world.set_address(0, region.word(0));
        let sleeper = world.start_asleep(|world| {
            let time = Time::milliseconds(200);
            world.futex(wait(world.address_in(0), SHARED, 0, time.address()))
        })?;
        world.unmap_region(region)?;
        world.close(object);
        for _ in 0..64 {
            let object = world.object(SIZE)?;
            let region = world.map(Map::of(object))?;
            world.misses(region.word(0), SHARED, "a new object's word")?;
            world.unmap_region(region)?;
            world.close(object);
        }
        world.step(&"waits for the end of a wait with a time, whose memory is gone");
        world.ends(sleeper, "the sleeper", Err(Errno::TIMEDOUT))
    }

    /// A file in memory is mapped shared, and as a copy (MAP_PRIVATE). A thread waits, without the private
    /// flag, for a word of the copy; a wake goes to the same word of the file.
    /// Linux answers 0: the copy is another word.
    #[since("2.6.0")]
    #[harm("Memory of one process takes the wakes of a file that many share.")]
    fn copy_of_an_object_does_not_meet_it(world) {
        let object = world.object(SIZE)?;
        let (file, copy) = (world.map(Map::of(object))?, world.map(Map::of(object).copied())?);
        for (one, other) in [(copy, file), (file, copy)] {
            let sleeper = world.sleeper_of(one.word(0), SHARED)?;
            world.misses(other.word(0), SHARED, "the copy, or of what it was copied from,")?;
            world.sleeps(sleeper, "the sleeper")?;
            world.meets(sleeper, one.word(0), SHARED, "its word")?;
        }
        Ok(())
    }

    /// A file in memory is mapped for writing, and for reading alone. A thread waits by the latter; a wake
    /// comes by the former.
    /// Linux answers 1 to the wake.
    #[needs(Faults)]
    #[since("3.1")]
    #[harm("A process that may only read shared memory cannot wait for a change there.")]
    fn reader_of_an_object_is_met(world) {
        let object = world.object(SIZE)?;
        let (file, read) = (world.map(Map::of(object))?, world.map(Map::of(object).read_only())?);
        let sleeper = world.sleeper_of(read.word(0), SHARED)?;
        world.meets(sleeper, file.word(0), SHARED, "the word by its other address")
    }
}
