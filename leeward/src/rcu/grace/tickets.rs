//! How callers share grace periods: each takes a ticket, one of them leads, and the others sleep
//! until their ticket is served.
//!
//! A caller needs a grace period that *starts* after it arrived. `started` counts those that began,
//! so the next one, number `started + 1`, serves all callers that arrive while number `started`
//! runs. The leader of number `n` wakes all that wait for `n`, and one of those that wait for
//! `n + 1`, which then leads. N callers cost two grace periods, not N.

use crate::atomic::{AtomicU32, AtomicU64, Ordering, const_fn, fence, outside_model, spin_hint};
use crate::futex::{self, Timeout};
use crate::mutant::{mutated, step};

/// The tickets of one domain, alone on their lines: callers of `synchronize` share them, readers
/// never touch them.
#[repr(align(128))]
pub(crate) struct Tickets {
    /// The number of grace periods that began. Written by the leader only.
    started: AtomicU64,
    /// The number of the latest grace period that ended. Written by the leader only.
    done: AtomicU64,
    /// 1: a thread leads; 0: none does.
    leader: AtomicU32,
    /// Where followers sleep, by the parity of their ticket.
    rooms: [Room; 2],
}

/// A place where followers sleep.
struct Room {
    /// Counts the wakes. Followers sleep on this word.
    round: AtomicU32,
    /// The number of followers that sleep here, or are about to.
    sleepers: AtomicU32,
}

impl Room {
    const_fn! {
        fn new() -> Room {
            Room { round: AtomicU32::new(0), sleepers: AtomicU32::new(0) }
        }
    }

    /// Wakes up to `count` followers, if any sleeps here.
    fn wake(&self, count: u32) {
        // Relaxed: pair D's fence in `hand_over` or `step_down` orders it.
        if self.sleepers.load(Ordering::Relaxed) != 0 {
            // Relaxed: the kernel compares it under its queue's lock.
            self.round.fetch_add(1, Ordering::Relaxed);
            futex::wake(&self.round, count);
        }
    }
}

/// How often a follower rechecks before it sleeps: about as long as an undisturbed grace period
/// takes.
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

    /// Takes a ticket: the number of a grace period that starts after everything that the caller
    /// did before.
    #[inline]
    pub(crate) fn take(&self) -> u64 {
        // SeqCst. Pair B: the caller's unlink is before its look at `started`. Partner: the
        // leader's heavy fence in `Grace::advance`, which follows its store of `started`. Without
        // this fence the unlink may stay in our store buffer while a whole grace period passes that
        // we take for ours.
        // - If the leader's store comes first, we see its number and ask for the next one.
        // - If this fence comes first, the leader's heavy fence covers our unlink.
        step!(caller_fence, fence(Ordering::SeqCst));
        // Relaxed: ordered by the fence.
        let started = self.started.load(Ordering::Relaxed);
        if mutated!(ticket_started) { started } else { started + 1 }
    }

    /// Returns true if the grace period with the number `ticket`, or a later one, has ended.
    #[inline]
    pub(crate) fn is_served(&self, ticket: u64) -> bool {
        // Acquire: partner of the release in `hand_over`: the readers' sections end before what the
        // caller does next.
        self.done.load(Ordering::Acquire) >= ticket
    }

    /// Takes the lead if no thread has it, and returns true then.
    pub(crate) fn try_lead(&self) -> bool {
        // Acquire: partner of the release in `hand_over`: what the previous leader did to the slots
        // and counters.
        self.leader.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Begins a grace period and returns its number. For the leader; a heavy fence must follow.
    pub(crate) fn begin(&self) -> u64 {
        // Relaxed, both: only the leader writes it; pair B's heavy fence orders the store.
        let mine = self.started.load(Ordering::Relaxed) + 1;
        self.started.store(mine, Ordering::Relaxed);
        mine
    }

    /// Gives the lead away after the grace period `served` ended, or after none did (`None`), which
    /// serves no ticket. For the leader.
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
        // SeqCst. Pair D: the stores above are before the look at `sleepers`. Partner: the fence in
        // `follow`. Both halves are full fences, since both paths make a system call anyway.
        // - If the follower's announcement comes first, we see it and wake the follower.
        // - If our stores come first, the follower sees that it is served, or that no thread leads.
        step!(hand_over_fence, fence(Ordering::SeqCst));
        match served {
            Some(served) if served == before + 1 => {
                step!(follower_wake, self.room(served).wake(futex::ALL));
                step!(next_leader_wake, self.room(served + 1).wake(1));
            }
            // A number was begun and given up: tickets that wait for it share a room with those two
            // numbers later.
            _ => self.rooms.iter().for_each(|room| room.wake(futex::ALL)),
        }
    }

    /// Gives the lead away unused, since the caller's ticket was served before it had the lead.
    ///
    /// A caller that failed to get the lead meanwhile may have gone to sleep, and only the holder
    /// of the lead wakes: so this wakes one caller of the next grace period. (Without that wake a
    /// model finds a lost wake-up with three callers and no weak memory at all.)
    pub(crate) fn step_down(&self) {
        // Relaxed: only the leader writes it.
        let next = self.done.load(Ordering::Relaxed) + 1;
        // Release: partner of the acquire in `try_lead`.
        self.leader.store(0, Ordering::Release);
        // SeqCst. Pair D, as in `hand_over`.
        step!(step_down_fence, fence(Ordering::SeqCst));
        step!(step_down_wake, self.room(next).wake(1));
    }

    /// Returns the place where followers with this ticket sleep.
    fn room(&self, ticket: u64) -> &Room {
        &self.rooms[(ticket & 1) as usize]
    }

    /// Waits until `ticket` is served, no thread leads, or the time is up. May also return early,
    /// so the caller looks which it is.
    ///
    /// Returns false if the caller may not sleep; `may_sleep` is called only when it would.
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
        // SeqCst. Pair D: our announcement is before our last look. Partners: the fences in
        // `hand_over` and `step_down`.
        // - If our announcement comes first, the leader sees it and wakes us.
        // - If the leader's stores come first, we see that we are served, or that no thread leads.
        step!(follower_fence, fence(Ordering::SeqCst));
        if mutated!(follower_recheck) || !self.may_go_on(ticket) {
            futex::wait(&room.round, round, timeout);
        }
        // Relaxed: a leader that still counts us makes a needless system call.
        room.sleepers.fetch_sub(1, Ordering::Relaxed);
        true
    }

    /// Returns true if a follower with this ticket need not sleep.
    fn may_go_on(&self, ticket: u64) -> bool {
        // Relaxed: `try_lead` decides.
        self.is_served(ticket) || self.leader.load(Ordering::Relaxed) == 0
    }

    /// Forgets the leader in the child of a fork, where it does not exist. Its grace period has not
    /// ended. Sleepers stay counted: one may be this thread, which forked in a signal handler and
    /// will take itself off; for the others, leaders make needless system calls.
    pub(crate) fn after_fork(&self) {
        // Relaxed: the child has one thread.
        self.leader.store(0, Ordering::Relaxed);
    }
}
