//! Locks with priority inheritance, and threads of several priorities. Word 0 is the lock.

use core::mem::size_of;
use core::sync::atomic::Ordering;

use crate::clocks::CLOCK_MONOTONIC;
use crate::errno::Answer;
use crate::futex::Time;
use crate::numbers;
use crate::scenario::{Trouble, scenarios};
use crate::scenarios::pi::{TURNS, lock, lock_in_turn, unlock};
use crate::world::{World, unfit, wrong};

const SCHED_FIFO: usize = 1;

/// The word that says that the owner has the lock, or that its rival has begun.
const BEGUN: usize = 40;
/// The word that ends what the owner and its rival do.
const END: usize = 41;
/// The words in which the owner and its rival count.
const OWNER_COUNTS: usize = 42;
const RIVAL_COUNTS: usize = 43;

/// Gives the calling thread this priority: 0 is that of usual threads, 1 and above are real time.
fn set_priority(world: &World<'_>, priority: u32) -> Answer {
    let policy = if priority == 0 { 0 } else { SCHED_FIFO };
    let address = (&raw const priority).expose_provenance();
    // SAFETY: reads the priority.
    unsafe { world.call(numbers::SCHED_SETSCHEDULER, [0, policy, address, 0, 0, 0]) }
}

/// Lets the calling thread run on the first processor alone.
fn use_first_processor(world: &World<'_>) -> Answer {
    let first = 1_usize;
    let address = (&raw const first).expose_provenance();
    // SAFETY: reads the set of processors.
    unsafe { world.call(numbers::SCHED_SETAFFINITY, [0, size_of::<usize>(), address, 0, 0, 0]) }
}

/// The calling thread has real-time priority while this is there. At its end the race is over, which
/// nothing but that ends.
struct Urgent<'a>(&'a World<'a>);

impl<'a> Urgent<'a> {
    fn new(world: &'a World<'a>) -> Result<Self, Trouble> {
        let answered = set_priority(world, 20);
        answered.map(|_| Urgent(world)).map_err(|errno| unfit(format_args!("sched_setscheduler: {errno}")))
    }
}

impl Drop for Urgent<'_> {
    fn drop(&mut self) {
        self.0.set(END, 1);
        let _ = set_priority(self.0, 0);
    }
}

/// Counts until the end.
fn count(world: &World<'_>, at: usize) {
    while world.get(END) == 0 {
        world.word(at).fetch_add(1, Ordering::SeqCst);
        world.lets_others_run_now_and_then();
    }
}

/// An owner of usual priority and a rival of priority 5 have one processor, for 20 ms; returns how far
/// each has counted. A thread of priority 10 waits for the owner's lock, or none.
fn race(world: &World<'_>, has_waiter: bool) -> Result<(u32, u32), Trouble> {
    for at in [0, BEGUN, END, OWNER_COUNTS, RIVAL_COUNTS] {
        world.set(at, 0);
    }
    let _urgent = Urgent::new(world)?;
    let owner = world.start(|world| {
        lock(world)?;
        let answered = use_first_processor(world).and(set_priority(world, 0));
        world.set(BEGUN, 1);
        count(world, OWNER_COUNTS);
        answered.and(unlock(world))
    })?;
    world.step(&"waits for an owner of usual priority");
    while world.get(BEGUN) != 1 && !world.has_ended(owner) {
        world.rest();
    }
    let waiter = |world: &World<'_>| {
        set_priority(world, 10)?;
        lock(world)?;
        unlock(world)
    };
    let waiter = if has_waiter { Some(world.start_asleep(waiter)?) } else { None };
    let rival = world.start(|world| {
        world.set(BEGUN, 2);
        let answered = use_first_processor(world).and(set_priority(world, 5));
        count(world, RIVAL_COUNTS);
        answered
    })?;
    world.step(&"waits for a rival of its owner");
    while world.get(BEGUN) != 2 {
        world.rest();
    }
    world.rest();
    let before = world.get(OWNER_COUNTS);
    let until = world.now(CLOCK_MONOTONIC)?.after(Time::milliseconds(20));
    let is_over = |now: Time| (now.seconds, now.nanoseconds) >= (until.seconds, until.nanoseconds);
    while !is_over(world.now(CLOCK_MONOTONIC)?) {
        world.rest();
    }
    let counts = (world.get(OWNER_COUNTS).wrapping_sub(before), world.get(RIVAL_COUNTS));
    world.set(END, 1);
    world.step(&"waits for the end of an owner, of a thread that waits for its lock, and of a rival");
    let threads = [Some(owner), waiter, Some(rival)];
    threads.into_iter().flatten().try_for_each(|thread| {
        let answered = world.end_of(thread);
        answered
            .map(drop)
            .map_err(|errno| unfit(format_args!("a thread of another priority, or on one processor: {errno}")))
    })?;
    Ok(counts)
}

scenarios! { "pi";
    /// Four threads wait for a lock: one of usual priority, and then some of real-time priority 5, 10,
    /// and 5 again.
    /// Linux hands the lock over in the order 10, 5, 5 (in the order in which they came), usual.
    #[since("2.6.18")]
    #[harm("An urgent thread waits behind others that are not.")]
    fn by_priority(world) {
        world.same("FUTEX_LOCK_PI", lock(world), Ok(0))?;
        drop(Urgent::new(world)?);
        let bodies: [fn(&World<'_>) -> Answer; 4] = [
            lock_in_turn,
            |world| set_priority(world, 5).and_then(|_| lock_in_turn(world)),
            |world| set_priority(world, 10).and_then(|_| lock_in_turn(world)),
            |world| set_priority(world, 5).and_then(|_| lock_in_turn(world)),
        ];
        let mut threads = [None; 4];
        for (thread, body) in threads.iter_mut().zip(bodies) {
            *thread = Some(world.start_asleep(body)?);
        }
        world.same("FUTEX_UNLOCK_PI", unlock(world), Ok(0))?;
        world.step(&"waits for four threads that lock and unlock");
        for thread in threads.into_iter().flatten() {
            world.ends(thread, "a thread that locks and unlocks", Ok(0))?;
        }
        for (turn, thread) in [2, 1, 3, 0].into_iter().filter_map(|at: usize| threads[at]).enumerate() {
            world.holds(TURNS + 1 + turn, "the place of the next owner in the order", world.number_of(thread))?;
        }
        Ok(())
    }

    /// A thread of usual priority has a lock and works; another of real-time priority 5 works on the same
    /// processor; then one of priority 10 waits for the lock.
    /// Linux lets the owner work in place of its rival, as long as the third waits.
    #[since("2.6.18")]
    #[harm("An urgent thread waits for work that is less urgent than it: priority inversion, without end.")]
    fn owner_has_the_priority_of_its_waiter(world) {
        world.same("FUTEX_LOCK_PI", lock(world), Ok(0))?;
        let (owner, rival) = race(world, false)?;
        if owner > rival / 4 {
            return Err(unfit(format_args!("real-time priority makes no difference: {owner} and {rival} rounds")));
        }
        match race(world, true)? {
            (owner, rival) if owner > rival => Ok(()),
            (owner, rival) => wrong(format_args!(
                "while an urgent thread waits, its owner works {owner} rounds, and a less urgent rival {rival}; \
                 on Linux the owner alone works"
            )),
        }
    }
}
