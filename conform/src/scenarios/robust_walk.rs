//! The walk of a robust list at the death of a thread: which locks are marked, and which are not.

use core::sync::atomic::Ordering;

use crate::futex_pi::{NO_THREAD, OWNER_DIED, WAITERS};
use crate::robust_list::{ENTRIES, INHERITS, LOW_HALF, OFFSET_BEFORE};
use crate::scenario::scenarios;
use crate::world::{unfit, wrong};

scenarios! { "robust";
    /// A thread ends with a free lock, another thread's lock, one that is marked, and one that it owns
    /// in its list, in this order.
    /// Linux marks the last alone, and leaves the others' words as they are.
    #[seen("StarryOS / tgoskits 545: the exit checks no owner")]
    #[since("2.6.17")]
    #[harm("Locks of threads that live are taken from them.")]
    fn locks_of_others_stay(world) {
        let list = world.new_list()?;
        let (dying, owner) = world.thread_with_list()?;
        list.link(4, owner);
        let others = [0, WAITERS | NO_THREAD, WAITERS | OWNER_DIED];
        (0..3).for_each(|at| list.set_lock(at, others[at]));
        world.dies(dying);
        list.is_marked(world, 3, "the thread's own lock")?;
        (0..3).try_for_each(|at| list.holds(world, at, "a lock that it does not own", others[at]))
    }

    /// A thread ends with eight locks in its list.
    /// Linux marks them all.
    #[seen("Asterinas: the walk ends at the first entry, and treats the head as a lock")]
    #[since("2.6.17")]
    #[harm("Only the first lock of a thread that died is freed.")]
    fn all_locks_are_marked(world) {
        let list = world.new_list()?;
        let (dying, owner) = world.thread_with_list()?;
        list.link(8, owner);
        list.set_lock(8, owner);
        world.dies(dying);
        (0..8).try_for_each(|at| list.is_marked(world, at, "one of eight locks"))?;
        list.holds(world, 8, "a lock outside of the list", owner)
    }

    /// A thread ends with an empty list, in whose head the word that an entry's lock would have holds
    /// the thread's number.
    /// Linux leaves it alone: the head is no entry.
    #[seen("Asterinas: the walk ends at the first entry, and treats the head as a lock")]
    #[since("2.6.17")]
    #[harm("The word behind the list's head is written, which may be anything.")]
    fn the_head_is_no_lock(world) {
        let list = world.new_list()?;
        let (dying, owner) = world.thread_with_list()?;
        let distance = list.lock_address(3).wrapping_sub(list.head());
        list.offset.store(distance, Ordering::SeqCst);
        list.set_lock(3, owner);
        list.set_lock(3 + 1, owner);
        list.set_pending(list.lock_address(4).wrapping_sub(distance));
        world.dies(dying);
        list.is_marked(world, 4, "the pending lock")?;
        list.holds(world, 3, "the place of the head's lock", owner)
    }

    /// A thread ends whose head says that locks lie before their entries.
    /// Linux marks those words, and not those behind.
    #[since("2.6.17")]
    #[harm("The kernel writes into another part of the lock, and the lock stays locked.")]
    fn locks_before_their_entries(world) {
        let list = world.new_list()?;
        let (dying, owner) = world.thread_with_list()?;
        list.offset.store(OFFSET_BEFORE as usize, Ordering::SeqCst);
        list.link(2, owner);
        for at in 0..3 {
            list.lock_before(at).store(owner, Ordering::SeqCst);
        }
        list.set_pending(list.entry(2));
        world.dies(dying);
        world.soon(|| list.lock_before(2).load(Ordering::SeqCst) == OWNER_DIED);
        for at in 0..3 {
            let value = list.lock_before(at).load(Ordering::SeqCst);
            if value != OWNER_DIED {
                return wrong(format_args!("the lock before entry {at} holds {value:#x}; on Linux {OWNER_DIED:#x}"));
            }
        }
        (0..2).try_for_each(|at| list.holds(world, at, "what lies behind an entry", owner))
    }

    /// A thread ends whose head and whose entries lead on by pointers with the low bit set.
    /// Linux takes the bit for what it is (the next lock inherits priorities), and marks all locks.
    #[seen("gVisor: the bit is not masked in `next`")]
    #[since("2.6.18")]
    #[harm("Locks behind one that inherits priorities stay locked, or a word beside one is written.")]
    fn low_bits_are_masked(world) {
        let list = world.new_list()?;
        let (dying, owner) = world.thread_with_list()?;
        list.link(4, owner);
        list.set_lock(4, owner);
        list.first.fetch_add(INHERITS, Ordering::SeqCst);
        list.set_next(0, list.entry(1) + INHERITS);
        list.set_next(2, list.entry(3) + INHERITS);
        list.set_pending(list.entry(4) + INHERITS);
        world.dies(dying);
        list.is_marked(world, 4, "the pending lock")?;
        (0..4).try_for_each(|at| list.is_marked(world, at, "one of four locks"))
    }

    /// A thread ends with a list whose first lock is a part of the pointer to the next entry: to mark the
    /// lock is to change the pointer.
    /// Linux reads the pointer before it marks: it goes on to the next entry, and marks the pending lock.
    #[since("2.6.17")]
    #[harm("The walk goes astray when a thread that was woken reuses the memory of the lock at once.")]
    fn next_is_read_before_the_lock(world) {
        let list = world.new_list()?;
        list.offset.store(LOW_HALF, Ordering::SeqCst);
        // The pointer has the number of the thread in it, and without its low bit is a multiple of 4.
        for _ in 0..12 {
            let (thread, owner) = world.thread_with_list()?;
            if owner & 2 == 0 {
                let next = world.entry_like(owner & !1, list.head())?;
                list.set_next(0, next + (owner & 1) as usize);
                list.set_next(1, 0);
                list.next_low(1).store(owner, Ordering::SeqCst);
                list.set_pending(list.entry(1));
                list.first.store(list.entry(0), Ordering::SeqCst);
            }
            world.dies(thread);
            if owner & 2 == 0 {
                world.soon(|| list.next_low(1).load(Ordering::SeqCst) == OWNER_DIED);
                return match list.next_low(1).load(Ordering::SeqCst) {
                    OWNER_DIED => Ok(()),
                    value => wrong(format_args!("the pending lock holds {value:#x}; on Linux {OWNER_DIED:#x}")),
                };
            }
            world.forget_list_owner();
        }
        Err(unfit(format_args!("no thread of 12 has a number whose bit 1 is 0")))
    }

    /// A thread ends with a list that never comes back to its head: the second entry leads to the first.
    /// Linux marks both, and the pending lock, and the thread ends.
    #[since("2.6.17")]
    #[harm("A program keeps a processor in the kernel for ever.")]
    fn a_circle_ends(world) {
        let list = world.new_list()?;
        let (dying, owner) = world.thread_with_list()?;
        list.link(3, owner);
        list.set_next(1, list.entry(0));
        list.set_pending(list.entry(2));
        world.dies(dying);
        list.is_marked(world, 2, "the pending lock")?;
        (0..2).try_for_each(|at| list.is_marked(world, at, "a lock in the circle"))
    }

    /// A thread ends with 2100 locks in its list, and another pending.
    /// Linux marks the first 2048 and the pending one, and no others.
    #[since("2.6.17")]
    #[harm("A program whose locks come late in a long list hangs; or it keeps a processor in the kernel.")]
    fn at_most_2048(world) {
        let list = world.new_list()?;
        let (dying, owner) = world.thread_with_list()?;
        list.link(ENTRIES - 1, owner);
        list.set_lock(ENTRIES - 1, owner);
        list.set_pending(list.entry(ENTRIES - 1));
        world.dies(dying);
        list.is_marked(world, ENTRIES - 1, "the pending lock")?;
        list.is_marked(world, 2047, "lock 2048")?;
        list.holds(world, 2048, "lock 2049", owner)?;
        (0..2048).try_for_each(|at| list.is_marked(world, at, "a lock of the first 2048"))
    }
}
