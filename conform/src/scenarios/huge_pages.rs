//! Words in huge pages: a page of 2 MiB has 512 places with one offset in pages of 4 KiB, and two huge pages have each
//! place twice.

use crate::futex::PRIVATE;
use crate::objects::{Map, Region, SIZE};
use crate::scenario::{Outcome, Trouble, scenarios};
use crate::world::{World, unfit};

/// A flag that is not set: words that other processes share.
const SHARED: u32 = 0;
/// The size of a huge page, in bytes.
const HUGE: usize = 2 << 20;
/// The size of the pages that others know, in words.
const PAGE: usize = 1024;
/// The word of a page that is slept at.
const WORD: usize = 5;

/// Maps two huge pages, one behind the other, that were set aside (hugetlb).
fn set_aside(world: &World<'_>, map: Map) -> Result<Region, Trouble> {
    let region = world.map(map.huge().sized(2 * HUGE));
    region
        .map_err(|_| unfit(format_args!("there are no two huge pages of 2 MiB that were set aside (vm.nr_hugepages)")))
}

/// Maps private memory of two huge pages that the kernel makes of its own (transparent ones), if it can at this moment.
fn transparent(world: &World<'_>) -> Result<Region, Trouble> {
    let region = world.map(Map::PRIVATE.sized(3 * HUGE))?.aligned(HUGE);
    world.make_huge(region, 2 * HUGE)?;
    // A page is made at the first store.
    for page in [region, region.after(HUGE)] {
        world.store(page.word(0), 0_u32);
    }
    Ok(region)
}

/// Asserts that a sleeper in huge pages is met at its word, and at no word of the same place in a page of 4 KiB whose
/// number differs in one bit; by the tenth bit it is one of the other huge page.
fn each_word_is_its_own(world: &World<'_>, pages: Region, flags: u32) -> Outcome {
    for page in [0, 3, 511] {
        let own = pages.word(WORD + page * PAGE);
        let sleeper = world.sleeper_of(own, flags)?;
        for other in (0..10).map(|bit| page ^ 1 << bit) {
            let word = pages.word(WORD + other * PAGE);
            world.misses(word, flags, "a word at the same place of another page of 4 KiB")?;
        }
        world.sleeps(sleeper, "the sleeper")?;
        world.meets(sleeper, own, flags, "its word")?;
    }
    Ok(())
}

/// Asserts it for both kinds of words, and gives the pages back: few are set aside.
fn words_of(world: &World<'_>, pages: Region) -> Outcome {
    [PRIVATE, SHARED].into_iter().try_for_each(|flags| each_word_is_its_own(world, pages, flags))?;
    world.unmap_all(pages, 2 * HUGE)
}

scenarios! { "huge_pages";
    /// Private memory of two huge pages that were set aside (hugetlb). A thread waits for a word, with the private flag
    /// and without; wakes go to the same place of other pages of 4 KiB, and of the other huge page.
    /// Linux answers 0 to them, and 1 to the wake of the word itself.
    #[needs(HugePages)]
    #[since("2.6.38")]
    #[harm("Locks at the same place of two pages take each other's wakes: threads hang.")]
    fn words_of_private_ones(world) {
        words_of(world, set_aside(world, Map::PRIVATE)?)
    }

    /// Shared anonymous memory of two huge pages that were set aside (hugetlb). A thread waits for a word, with the
    /// private flag and without; wakes go to the same place of other pages of 4 KiB, and of the other huge page.
    /// Linux answers 0 to the wakes of other words, and 1 to the wake of the word itself.
    #[seen("Linux before 3.11: the words at one place of all small pages of a huge page were one futex")]
    #[needs(HugePages)]
    #[since("3.11")]
    #[harm("Locks at the same place of two pages take each other's wakes: threads hang.")]
    fn words_of_shared_ones(world) {
        words_of(world, set_aside(world, Map::SHARED)?)
    }

    /// A file of two huge pages is mapped twice. A thread waits by one mapping; wakes come by the other: at the same
    /// place of other pages of 4 KiB, and at the word.
    /// Linux answers 0 to the former, and 1 to the latter.
    #[seen("Linux before 3.11: the words at one place of all small pages of a huge page were one futex")]
    #[needs(HugePages)]
    #[since("3.11")]
    #[harm("Processes that share huge pages take each other's wakes, or miss their own: they hang.")]
    fn words_of_a_file(world) {
        let object = world.huge_object(2 * HUGE)?;
        let map = Map::of(object).sized(2 * HUGE);
        let [one, other] = [world.map(map), world.map(map)].map(|region| {
            region.map_err(|_| unfit(format_args!("there are no two huge pages that were set aside (vm.nr_hugepages)")))
        });
        let (one, other) = (one?, other?);
        each_word_is_its_own(world, one, SHARED)?;
        for own in [WORD, WORD + 3 * PAGE, WORD + 700 * PAGE] {
            let sleeper = world.sleeper_of(one.word(own), SHARED)?;
            world.misses(other.word(own + PAGE), SHARED, "the same place of the next page")?;
            world.misses(other.word((own + HUGE / 4) % (HUGE / 2)), SHARED, "the same place of the other huge page")?;
            world.sleeps(sleeper, "the sleeper")?;
            world.meets(sleeper, other.word(own), SHARED, "the word by the other mapping")?;
        }
        world.close(object);
        [one, other].into_iter().try_for_each(|mapping| world.unmap_all(mapping, 2 * HUGE))
    }

    /// Private memory of two huge pages that the kernel makes where it can (transparent ones). A thread waits for a
    /// word, with the private flag and without; wakes go to the same place of other pages of 4 KiB.
    /// Linux answers 0 to them, and 1 to the wake of the word itself.
    #[needs(HugePages)]
    #[since("2.6.38")]
    #[harm("Locks at the same place of two pages take each other's wakes: threads hang.")]
    fn words_of_transparent_ones(world) {
        words_of(world, transparent(world)?)
    }

    /// Threads wait for words of a transparent huge page, which is then torn apart: a part of it is unmapped, and the
    /// part with the words is made read-only and writable again.
    /// Linux answers 1 to the wakes of the words.
    #[needs(Faults, HugePages)]
    #[since("2.6.38")]
    #[harm("A kernel that knows futexes by physical pages loses the sleepers of a page that it splits.")]
    fn page_is_split(world) {
        for flags in [PRIVATE, SHARED] {
            let pages = transparent(world)?;
            let words = [WORD + 100 * PAGE, WORD + 511 * PAGE].map(|word| pages.word(word));
            let sleepers = [world.sleeper_of(words[0], flags)?, world.sleeper_of(words[1], flags)?];
            world.unmap_region(pages)?;
            world.protect(pages.after(SIZE), HUGE - SIZE, false)?;
            world.protect(pages.after(SIZE), HUGE - SIZE, true)?;
            for (sleeper, word) in sleepers.into_iter().zip(words) {
                world.sleeps(sleeper, "a sleeper whose page was split")?;
                world.meets(sleeper, word, flags, "a word whose huge page was split")?;
            }
        }
        Ok(())
    }
}
