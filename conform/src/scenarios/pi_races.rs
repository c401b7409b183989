//! Locks with priority inheritance whose owner exits at the moment at which another thread locks. Each answer that some
//! order of the two explains is right; any other is proven to be wrong.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::errno::{Answer, Errno};
use crate::futex::PRIVATE;
use crate::futex_pi::{OWNER, OWNER_DIED, lock_pi, unlock_pi};
use crate::robust_list::{HEAD, INHERITS};
use crate::scenario::{Outcome, scenarios};
use crate::world::{Body, Shown, World, proven};

/// How many owners exit.
const OWNERS: u32 = 100;
/// The world's words: a lock that is in no list; where an owner says that it has the lock, and that it is about to
/// exit; for how long it has it; and the flags of the lock.
const LOCK: usize = 0;
const HAS_IT: usize = 1;
const LEAVES: usize = 2;
const SPINS: usize = 3;

/// Has the lock by its word alone, as a lock that no one waited for; then exits.
fn has_it_and_exits(world: &World<'_>, word: &AtomicU32) -> Answer {
    word.store(world.own_number().unwrap_or_default(), Ordering::SeqCst);
    world.set(HAS_IT, 1);
    for spin in 0..world.get(SPINS) {
        core::hint::black_box(spin);
    }
    world.set(LEAVES, 1);
    Ok(0)
}

fn owner_without_list(world: &World<'_>) -> Answer {
    has_it_and_exits(world, world.word(LOCK))
}

fn owner_with_list(world: &World<'_>) -> Answer {
    let list = world.list();
    world.set_robust_list(list.head(), HEAD)?;
    list.link(1, 0);
    list.first.fetch_add(INHERITS, Ordering::SeqCst);
    has_it_and_exits(world, list.lock(0))
}

/// Locks a word whose owner exits meanwhile, again and again. `judges` says what is wrong with an answer to the call,
/// which left this in the word.
fn race(
    world: &World<'_>,
    owner: Body,
    (word, flags): (&AtomicU32, u32),
    judges: impl Fn(Answer, u32) -> Option<&'static str>,
) -> Outcome {
    let address = word.as_ptr().expose_provenance();
    for round in 0..OWNERS {
        word.store(0, Ordering::SeqCst);
        world.set(HAS_IT, 0);
        world.set(LEAVES, 0);
        world.set(SPINS, round.wrapping_mul(37) % 1024 * 8);
        let thread = world.start(owner)?;
        world.step(&"waits for a thread that takes a lock and exits");
        while world.get(HAS_IT) == 0 && !world.has_ended(thread) {
            world.lets_others_run_now_and_then();
        }
        world.step(&"locks a lock whose owner exits at this moment");
        let answered = world.futex(lock_pi(address, flags, 0));
        let (left, is_gone) = (word.load(Ordering::SeqCst), world.get(LEAVES) == 1);
        if answered == Err(Errno::NOSYS) {
            return world.same("FUTEX_LOCK_PI", answered, Ok(0));
        }
        let what = match answered {
            Err(Errno::SRCH) if !is_gone => Some("its owner was there"),
            _ => judges(answered, left),
        };
        if let Some(what) = what {
            return proven(format_args!(
                "FUTEX_LOCK_PI while the owner exits answered {}, and the word holds {left:#x}: {what}",
                Shown(answered)
            ));
        }
        if answered == Ok(0) {
            world.same("FUTEX_UNLOCK_PI by the next owner", world.futex(unlock_pi(address, flags)), Ok(0))?;
        }
        world.same("a thread that takes a lock and exits", world.end_of(thread), Ok(0))?;
    }
    Ok(())
}

scenarios! { "pi";
    /// A hundred threads, one after the other, take a lock that is in no robust list, and exit; meanwhile another
    /// thread locks it.
    /// Linux answers 0, and the word names the caller; or, where the owner is gone, ESRCH, and the word is as it was.
    #[since("4.20")]
    #[harm("A thread waits for ever for one that exits just then, or believes that it has a lock that it has not.")]
    fn owner_exits_meanwhile(world) {
        let me = world.own_number()?;
        race(world, owner_without_list, (world.word(LOCK), PRIVATE), |answered, left| match answered {
            Ok(0) if left & OWNER != me => Some("it does not name the caller"),
            Err(Errno::SRCH) if left & OWNER == 0 || left & OWNER == me => Some("it no longer names the owner"),
            Ok(0) | Err(Errno::SRCH) => None,
            _ => Some("Linux answers 0 or ESRCH"),
        })
    }

    /// A hundred threads, one after the other, take a lock that is in their robust list, and exit; meanwhile another
    /// thread locks it.
    /// Linux answers 0, and the word names the caller, with the owner-died bit.
    #[seen("Linux before 4.20: ESRCH, where the lock was taken just after the dying owner's list was walked")]
    #[since("4.20")]
    #[harm("A robust lock fails with an error that a C library takes for its own bug: it ends the program.")]
    fn owner_in_list_exits_meanwhile(world) {
        world.has_robust_lists()?;
        let list = world.new_list()?;
        let me = world.own_number()?;
        race(world, owner_with_list, (list.lock(0), 0), |answered, left| match answered {
            Ok(0) if left & (OWNER | OWNER_DIED) == me | OWNER_DIED => None,
            Ok(0) => Some("Linux has the caller's number there, with 0x40000000"),
            _ => Some("Linux answers 0"),
        })
    }
}
