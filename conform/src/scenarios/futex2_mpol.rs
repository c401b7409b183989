//! Words whose memory node is that of their memory's policy (`FUTEX2_MPOL`).

use crate::clocks::CLOCK_MONOTONIC;
use crate::errno::{Answer, Errno};
use crate::futex::{ALL, Time};
use crate::futex2::{ANY, Entry, MPOL, NUMA, U32, U32_PRIVATE, requeue2, wait2, waitv, wake2};
use crate::numbers;
use crate::objects::{Map, Region, SIZE};
use crate::scenario::{Outcome, Trouble, scenarios};
use crate::text::Text;
use crate::world::{World, unfit, wrong};

/// The address of no time.
const NEVER: (usize, usize) = (0, 0);
/// The word's address, its flags, and where its node is: the word behind it.
const ADDRESS: usize = 8;
const FLAGS: usize = 10;
const NODE: usize = 1;
const NO_NODE: u32 = u32::MAX;

/// A wait by the thread that finds the word's address and flags in the world.
fn sleep_at_node(world: &World<'_>) -> Answer {
    world.futex(wait2(world.address_in(ADDRESS), 0, ANY, world.get(FLAGS), NEVER))
}

/// Ends the scenario as absent where the flag is refused, as by a kernel that knows no such flag.
fn has_policies(world: &World<'_>) -> Outcome {
    match world.futex(wake2(world.address(0), ANY, 1, U32_PRIVATE | MPOL)) {
        Err(Errno::INVAL | Errno::NOSYS) => Err(Trouble::Absent(Text::of(format_args!("FUTEX2_MPOL")))),
        answered => world.same("futex_wake of a word whose policy counts", answered, Ok(0)),
    }
}

/// Binds memory to a node; returns false if it cannot be.
fn is_bound(world: &World<'_>, region: Region, node: u32) -> bool {
    const MPOL_BIND: usize = 2;
    // The count of bits, and one more, as the call wants it.
    const BITS: usize = 65;
    let nodes = 1_u64 << node;
    let arguments = [region.word(0), SIZE, MPOL_BIND, (&raw const nodes).expose_provenance(), BITS, 0];
    // SAFETY: reads the set of nodes; a region of the scenario's.
    unsafe { world.call(numbers::MBIND, arguments) }.is_ok()
}

/// Asserts that a sleeper at a word with these flags is met by a wake with them.
fn is_met(world: &World<'_>, word: usize, flags: u32, what: &str) -> Outcome {
    world.set_address(ADDRESS, word);
    world.set(FLAGS, flags);
    let sleeper = world.sleeper(sleep_at_node)?;
    let woken = world.futex(wake2(word, ANY, ALL as i32, flags));
    world.same(format_args!("futex_wake of {what}"), woken, Ok(1))?;
    world.step(&"waits for the end of the sleeper's call");
    world.ends(sleeper, "the sleeper", Ok(0))
}

scenarios! { "futex2";
    /// A thread waits for a word whose memory's policy says the node: a private word, a shared word of private memory,
    /// of shared anonymous memory, and of a file. A wake comes with the same flags.
    /// Linux answers 1, and 0 to the wait.
    #[since("6.16")]
    #[harm("Locks of a program that places its memory lose wakes: threads hang.")]
    fn word_with_a_policy_is_met(world) {
        has_policies(world)?;
        let file = world.map(Map::of(world.object(SIZE)?))?;
        for (word, flags, what) in [
            (world.address(0), U32_PRIVATE, "a private word with a policy"),
            (world.address(0), U32, "a shared word of private memory with a policy"),
            (world.map(Map::SHARED)?.word(0), U32, "a word of shared anonymous memory with a policy"),
            (file.word(0), U32, "a word of a file with a policy"),
        ] {
            is_met(world, word, flags | MPOL, what)?;
        }
        Ok(())
    }

    /// A word with both flags: its node is named behind it, where -1 stands, and the policy says which. A wait with a
    /// time that is past; then a thread waits, and a wake comes.
    /// Linux answers ETIMEDOUT and has written a node's number behind the word; it answers 1 to the wake.
    #[since("6.16")]
    #[harm("Locks of a program that places its memory lose wakes: threads hang.")]
    fn word_with_a_policy_and_a_node(world) {
        has_policies(world)?;
        let time = Time::milliseconds(0);
        let flags = U32_PRIVATE | NUMA | MPOL;
        world.set(NODE, NO_NODE);
        let waited = world.futex(wait2(world.address(0), 0, ANY, flags, (time.address(), CLOCK_MONOTONIC)));
        world.same("futex_wait of a word with a policy and a node", waited, Err(Errno::TIMEDOUT))?;
        if world.get(NODE) == NO_NODE {
            return wrong(format_args!("no node's number was written behind the word; Linux writes one"));
        }
        world.set(NODE, NO_NODE);
        is_met(world, world.address(0), flags, "a word with a policy and a node")?;
        world.set(NODE, 1 << 30);
        let waited = world.futex(wait2(world.address(0), 0, ANY, flags, NEVER));
        world.same("futex_wait of a word with a policy and a node that there is not", waited, Err(Errno::INVAL))
    }

    /// Memory is bound to each node in turn that takes it. A wait, with a time that is past, for a word there with both
    /// flags, behind which -1 stands.
    /// Linux writes the number of the node to which the memory is bound.
    #[since("6.16")]
    #[harm("Locks of a program that places its memory are kept on other nodes than the memory.")]
    fn policy_names_the_node(world) {
        has_policies(world)?;
        let (region, time) = (world.map(Map::PRIVATE)?, Time::milliseconds(0));
        let mut bound = 0;
        for node in 0..64 {
            if !is_bound(world, region, node) {
                continue;
            }
            bound += 1;
            world.store(region.word(NODE), NO_NODE);
            let until = (time.address(), CLOCK_MONOTONIC);
            let waited = world.futex(wait2(region.word(0), 0, ANY, U32_PRIVATE | NUMA | MPOL, until));
            world.same("futex_wait of a word with a policy and a node", waited, Err(Errno::TIMEDOUT))?;
            let written: u32 = world.load(region.word(NODE));
            if written != node {
                return wrong(format_args!("memory is bound to node {node}, and {written} is written behind the word"));
            }
        }
        if bound == 0 { Err(unfit(format_args!("mbind binds memory to none of the nodes 0 to 63"))) } else { Ok(()) }
    }

    /// Waits for words with a policy that hold another value, that are misaligned, and that are not mapped; a wake of
    /// all at the latter.
    /// Linux answers EAGAIN, EINVAL and EFAULT, and to the private wake, which finds no one, 0.
    #[needs(Faults)]
    #[since("6.16")]
    #[harm("A thread sleeps although its lock was freed; or a kernel looks for the policy of no memory, and crashes.")]
    fn malformed_words_with_a_policy(world) {
        has_policies(world)?;
        let hole = world.hole()?;
        for flags in [U32_PRIVATE | MPOL, U32 | MPOL] {
            for (what, word, value, linux) in [
                ("another value", world.address(0), 1, Errno::AGAIN),
                ("a misaligned word", world.address(0) + 2, 0, Errno::INVAL),
                ("an unmapped word", hole, 0, Errno::FAULT),
            ] {
                let waited = world.futex(wait2(word, value, ANY, flags, NEVER));
                world.same(format_args!("futex_wait with a policy and {what}"), waited, Err(linux))?;
            }
        }
        let woken = world.futex(wake2(hole, ANY, ALL as i32, U32_PRIVATE | MPOL));
        world.same("futex_wake of an unmapped private word with a policy", woken, Ok(0))
    }

    /// A thread waits for a word with a policy; it is moved to another one, by futex_requeue, and woken there. Another
    /// waits by futex_waitv.
    /// Linux answers 1 to the requeue and to the wakes, 0 to the wait by futex_wait, and the entry's index to the
    /// other.
    #[since("6.16")]
    #[harm("A condition variable of a program that places its memory loses its waiters: threads hang.")]
    fn word_with_a_policy_is_moved(world) {
        has_policies(world)?;
        let flags = U32_PRIVATE | MPOL;
        world.set_address(ADDRESS, world.address(0));
        world.set(FLAGS, flags);
        let sleeper = world.sleeper(sleep_at_node)?;
        let words = [0, 2].map(|at| Entry::new(world.address(at), flags));
        world.same("futex_requeue of words with a policy", world.futex(requeue2(&words, 0, 0, 1)), Ok(1))?;
        for (at, linux) in [(0, 0), (2, 1)] {
            let woken = world.futex(wake2(world.address(at), ANY, ALL as i32, flags));
            world.same(format_args!("futex_wake of word {at} with a policy"), woken, Ok(linux))?;
        }
        world.step(&"waits for the end of the sleeper's call");
        world.ends(sleeper, "the sleeper", Ok(0))?;
        let sleeper = world.sleeper(|world| {
            let flags = world.get(FLAGS);
            world.futex(waitv(&[0, 2].map(|at| Entry::new(world.address(at), flags)), 0, 0))
        })?;
        let woken = world.futex(wake2(world.address(2), ANY, ALL as i32, flags));
        world.same("futex_wake of the second word of a futex_waitv with a policy", woken, Ok(1))?;
        world.step(&"waits for the end of a futex_waitv of words with a policy");
        world.ends(sleeper, "the sleeper", Ok(1))
    }
}
