//! How callers share grace periods: a ticket each, one of them leads, the others sleep until their ticket is served.
//!
//! A caller needs a grace period that *starts* after it arrived. `started` counts those that began, so the next one,
//! number `started + 1`, serves everybody who arrives while number `started` runs. The leader of number `n` wakes all
//! who wait for `n`, and one of those who wait for `n + 1`, who then leads. N callers cost two grace periods, not N.

use crate::atomic::{AtomicU32, AtomicU64, Ordering, const_fn, fence, outside_model, spin_hint};
use crate::futex::{self, Timeout};
use crate::mutant::{mutated, step};

/// Alone on its lines: callers of `synchronize` share it, readers never touch it.
#[repr(align(128))]
pub(crate) struct Tickets {
    /// Grace periods that began. Written by the leader only.
    started: AtomicU64,
    /// The latest grace period that ended. Written by the leader only.
    done: AtomicU64,
    /// 1: somebody leads.
    leader: AtomicU32,
    /// Where followers sleep, by the parity of their ticket.
    rooms: [Room; 2],
}

struct Room {
    /// Counts the wakes. Followers sleep on it.
    round: AtomicU32,
    /// Followers that sleep here, or are about to.
    sleepers: AtomicU32,
}

impl Room {
    const_fn! {
        fn new() -> Room {
            Room { round: AtomicU32::new(0), sleepers: AtomicU32::new(0) }
        }
    }

    fn wake(&self, count: u32) {
        // Relaxed: pair D's fence in `hand_over` orders it.
        if self.sleepers.load(Ordering::Relaxed) != 0 {
            // Relaxed: the kernel compares it under its queue's lock.
            self.round.fetch_add(1, Ordering::Relaxed);
            futex::wake(&self.round, count);
        }
    }
}

/// How often a follower rechecks before it sleeps: about as long as an undisturbed grace period takes.
const RECHECKS: u32 = 32;

impl Tickets {
    const_fn! {
        pub(crate) fn new() -> Tickets {
            Tickets {
                started: AtomicU64::new(0),
                done: AtomicU64::new(0),
                leader: AtomicU32::new(0),
                rooms: [Room::new(), Room::new()],
            }
        }
    }

    /// A ticket: the number of a grace period that starts after everything that the caller did before.
    #[inline]
    pub(crate) fn take(&self) -> u64 {
        // SeqCst. Pair B: the caller's unlink is before its look at `started`; the partner is the leader's heavy
        // fence, which follows its store of `started`. So either we see that number, and ask for the
        // one behind it, or its heavy fence covers our unlink. Without this fence the unlink may still
        // sit in our store buffer while a whole grace period passes that we take for ours.
        step!(caller_fence, fence(Ordering::SeqCst));
        // Relaxed: ordered by the fence.
        let started = self.started.load(Ordering::Relaxed);
        if mutated!(ticket_started) { started } else { started + 1 }
    }

    /// Whether the grace period of that number, or a later one, has ended.
    #[inline]
    pub(crate) fn is_served(&self, ticket: u64) -> bool {
        // Acquire: partner of the release in `hand_over`: the readers' sections end before what the caller does next.
        self.done.load(Ordering::Acquire) >= ticket
    }

    /// Takes the lead if nobody has it.
    pub(crate) fn try_lead(&self) -> bool {
        // Acquire: partner of the release in `hand_over`: what the leader before us did to the slots and counters.
        self.leader.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// The leader begins a grace period; its number. A heavy fence must follow.
    pub(crate) fn begin(&self) -> u64 {
        // Relaxed, both: only the leader writes it; pair B's heavy fence orders the store.
        let mine = self.started.load(Ordering::Relaxed) + 1;
        self.started.store(mine, Ordering::Relaxed);
        mine
    }

    /// The leader gives the lead away, after grace period `served` ended (or without one, which serves nobody).
    pub(crate) fn hand_over(&self, served: Option<u64>) {
        // Relaxed: only the leader writes it.
        let before = self.done.load(Ordering::Relaxed);
        if mutated!(done_release) {
            self.leader.store(0, Ordering::Relaxed);
            for _ in 0..outside_model(64) {
                spin_hint();
            }
        }
        if let Some(served) = served {
            // Release: partner of the acquire in `is_served`.
            self.done.store(served, Ordering::Release);
        }
        // Release: partner of the acquire in `try_lead`.
        self.leader.store(0, Ordering::Release);
        // SeqCst. Pair D: the stores above are before the look at `sleepers`; partner: the fence in `follow`. Both
        // halves are full fences, since each stands on a path that pays for a system call anyway.
        step!(hand_over_fence, fence(Ordering::SeqCst));
        match served {
            Some(served) if served == before + 1 => {
                step!(follower_wake, self.room(served).wake(futex::ALL));
                step!(next_leader_wake, self.room(served + 1).wake(1));
            }
            // A number was begun and given up: tickets that wait for it share a room with those of two numbers on.
            _ => self.rooms.iter().for_each(|room| room.wake(futex::ALL)),
        }
    }

    /// Gives the lead away unused: the caller's ticket was served before it had the lead. Whoever failed to get it
    /// meanwhile may have gone to sleep, and only the holder of the lead wakes: so this one too wakes a caller of
    /// the next grace period. (Without it a model finds a lost wake-up with three callers and no weak memory at
    /// all.)
    pub(crate) fn step_down(&self) {
        // Relaxed: only the leader writes it.
        let next = self.done.load(Ordering::Relaxed) + 1;
        // Release: partner of the acquire in `try_lead`.
        self.leader.store(0, Ordering::Release);
        // SeqCst. Pair D, as in `hand_over`.
        step!(step_down_fence, fence(Ordering::SeqCst));
        step!(step_down_wake, self.room(next).wake(1));
    }

    fn room(&self, ticket: u64) -> &Room {
        &self.rooms[(ticket & 1) as usize]
    }

    /// Waits until `ticket` is served, no thread leads or the time is up; the caller looks which, and may be wrong to
    /// think that it still holds.
    /// False if the caller may not sleep, which is asked only when it would.
    pub(crate) fn follow(&self, ticket: u64, may_sleep: impl FnOnce() -> bool, timeout: Timeout) -> bool {
        for _ in 0..outside_model(RECHECKS) {
            if self.may_go_on(ticket) {
                return true;
            }
            spin_hint();
        }
        if !may_sleep() {
            return false;
        }
        let room = self.room(ticket);
        // Relaxed: compared by the kernel.
        let round = room.round.load(Ordering::Relaxed);
        // Relaxed: ordered by the fence.
        room.sleepers.fetch_add(1, Ordering::Relaxed);
        // SeqCst. Pair D: our announcement is before our last look. Either the leader sees us and wakes, or we see
        // what it did.
        step!(follower_fence, fence(Ordering::SeqCst));
        if mutated!(follower_recheck) || !self.may_go_on(ticket) {
            futex::wait(&room.round, round, timeout);
        }
        // Relaxed: a leader that still counts us makes a system call for nothing.
        room.sleepers.fetch_sub(1, Ordering::Relaxed);
        true
    }

    fn may_go_on(&self, ticket: u64) -> bool {
        // Relaxed: `try_lead` decides.
        self.is_served(ticket) || self.leader.load(Ordering::Relaxed) == 0
    }

    /// In the child of a fork: the leader and the followers are not here, and what they ran was not finished.
    pub(crate) fn after_fork(&self) {
        // Relaxed, all: the child has one thread.
        self.leader.store(0, Ordering::Relaxed);
        for room in &self.rooms {
            room.sleepers.store(0, Ordering::Relaxed);
        }
    }
}
