//! Robust lists that are damaged: the walk ends there, and the kernel goes on.

use core::sync::atomic::Ordering;

use crate::errno::Errno;
use crate::robust_list::{HEAD, List};
use crate::scenario::{Outcome, scenarios};
use crate::world::{World, wrong};

/// A process dies with a list that leads from its first lock to a bad entry, and a pending lock: the
/// walk is over there.
fn stops(world: &World<'_>, bad: impl Fn(&List, u32) -> usize) -> Outcome {
    let list = world.new_list()?;
    let (child, owner) = world.child_with_list()?;
    list.link(2, owner);
    list.set_next(0, bad(list, owner));
    list.set_pending(list.entry(1));
    world.step(&"waits for the end of a child with a damaged list");
    world.end_list_owner();
    world.ends_well(child, "a child with a damaged list")?;
    list.is_marked(world, 0, "the lock before")?;
    list.holds(world, 1, "the pending lock", owner)
}

scenarios! { "robust";
    /// A process ends whose list leads, after a lock, to memory that may not be read.
    /// Linux marks the lock, stops there, leaves the pending lock alone, and ends the process.
    #[needs(Faults, Fork)]
    #[since("2.6.17")]
    #[harm("The kernel stops, or it goes on from garbage.")]
    fn an_entry_is_not_mapped(world) {
        let bad = world.unwritable(false)?;
        stops(world, |_, _| bad)
    }

    /// A process ends whose list leads, after a lock, to address 0.
    /// Linux marks the lock, stops there, leaves the pending lock alone, and ends the process.
    #[needs(Faults, Fork)]
    #[since("2.6.17")]
    #[harm("The kernel stops, or it goes on from garbage.")]
    fn an_entry_is_null(world) {
        stops(world, |_, _| 0)
    }

    /// A process ends whose list leads, after a lock, to an address that user programs cannot have.
    /// Linux marks the lock, stops there, leaves the pending lock alone, and ends the process.
    #[needs(Faults, Fork)]
    #[since("2.6.17")]
    #[harm("A program writes the memory of the kernel.")]
    fn an_entry_is_the_kernels(world) {
        stops(world, |_, _| 0xffff_8000_0000_0000_u64 as usize)
    }

    /// A thread ends whose list leads, after a lock, to one in memory that may only be read.
    /// Linux marks the first lock, stops there, leaves the others alone, and ends the thread.
    #[needs(Faults)]
    #[since("2.6.17")]
    #[harm("The kernel stops, or writes memory that may only be read.")]
    fn a_lock_is_read_only(world) {
        let list = world.new_list()?;
        let (dying, owner) = world.thread_with_list()?;
        list.link(2, owner);
        let (entry, lock) = world.read_only_entry(list, owner)?;
        list.set_next(0, entry);
        list.set_pending(list.entry(1));
        world.dies(dying);
        list.is_marked(world, 0, "the lock before")?;
        world.rest();
        list.holds(world, 1, "the pending lock", owner)?;
        match lock.load(Ordering::SeqCst) {
            value if value == owner => Ok(()),
            value => wrong(format_args!("a lock that may only be read holds {value:#x}; on Linux {owner:#x}")),
        }
    }

    /// A process ends whose list leads, after a lock, to one at an address that is no multiple of 4.
    /// Linux marks the first lock, stops there, leaves the pending lock alone, and ends the process.
    #[needs(Fork)]
    #[since("2.6.17")]
    #[harm("The kernel writes across the border of a word.")]
    fn a_lock_is_misaligned(world) {
        stops(world, |list, owner| list.misaligned(5, owner))
    }

    /// A process ends with an entry that may not be read, whose lock can be reached.
    /// Linux marks the lock, and then stops: it leaves the pending lock alone.
    #[needs(Faults, Fork)]
    #[since("2.6.17")]
    #[harm("The last lock before damaged memory stays locked.")]
    fn an_unreadable_entry_has_a_lock(world) {
        let list = world.new_list()?;
        let bad = world.unwritable(false)?;
        let (child, owner) = world.child_with_list()?;
        list.first.store(bad, Ordering::SeqCst);
        list.offset.store(list.lock_address(0).wrapping_sub(bad), Ordering::SeqCst);
        list.set_lock(0, owner);
        list.set_lock(1, owner);
        list.set_pending(bad.wrapping_add(list.entry(1) - list.entry(0)));
        world.step(&"waits for the end of a child whose list leads to memory that may not be read");
        world.end_list_owner();
        world.ends_well(child, "the child")?;
        list.is_marked(world, 0, "the lock of the entry")?;
        list.holds(world, 1, "the pending lock", owner)
    }

    /// A process ends with a head that may not be read.
    /// Linux does nothing with it, and ends the process.
    #[needs(Faults, Fork)]
    #[since("2.6.17")]
    #[harm("A program stops the kernel, or cannot end.")]
    fn the_head_is_not_mapped(world) {
        world.has_robust_lists()?;
        let child = world.child(|world| {
            let bad = world.unwritable(false).map_err(|_| Errno::NOMEM)?;
            world.set_robust_list(bad, HEAD)
        })?;
        world.step(&"waits for the end of a child whose list is not mapped");
        world.ends_well(child, "a child whose list is not mapped")
    }
}
