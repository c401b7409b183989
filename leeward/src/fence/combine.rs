//! How callers share heavy fences: one of them leads and issues a fence, and those that come
//! meanwhile sleep until the next one has served them. N callers cost two fences, not N. Called by
//! the backends; calls the futex.
//!
//! A caller needs a fence that *starts* after it arrived. Fences are numbered: while number `n`
//! runs, a caller asks for number `n + 1`. The leader of number `n` wakes all that wait for `n`,
//! and one of those that wait for `n + 1`, which then leads. The idea is that of RCU's tickets;
//! here the number, the lead and the marks of the sleepers are one word, so that a caller alone
//! executes no more locked instructions than without all this.
//!
//! **Nothing here is held.** Any thread may issue a fence of its own at any time, and end the
//! number that ran when it began, for the leader: whatever that number serves arrived before it
//! started, thus before this fence did. A follower does so ("relieves" the leader) where the leader
//! is the thread itself, interrupted by a signal handler; where it was left behind by a fork; where
//! its fence failed; and where the follower has waited for [`PATIENCE`].

#[cfg(all(test, leeward_loom))]
mod loom_tests;

use core::time::Duration;

use crate::atomic::{AtomicU32, AtomicU64, Ordering, const_fn, fence, fence_after_update, outside_model, spin_hint};
use crate::futex::{self, Private, Timeout};
use crate::mutant::{check, mutated, order, step};
use crate::process::{fork, thread};

/// How often a follower rechecks before it sleeps: about as long as an undisturbed fence takes.
const RECHECKS: u32 = 32;

/// How long a follower waits before it issues a fence of its own. A leader may be stopped, run at a
/// lower priority, have jumped out of a signal handler, or be missing in a process whose fork no
/// handler noticed.
const PATIENCE: Duration = Duration::from_millis(100);

/// `leader`: the leader has not said yet who it is, or is about to end its number.
const UNKNOWN: u64 = 0;
/// `leader`: the leader's fence failed, and the number is still to be served. (Below all
/// addresses of threads.)
const FAILED: u64 = 1;

/// The number of the latest fence, whether it runs, and who sleeps.
///
/// | bits | meaning |
/// |---|---|
/// | 0 | followers sleep in room 0, or are about to |
/// | 1 | followers sleep in room 1, or are about to |
/// | 2 | the fence runs: a thread leads |
/// | 3 to 63 | the number of the fence that began last |
#[derive(Clone, Copy, PartialEq, Eq)]
struct State(u64);

impl State {
    const RUNS: u64 = 1 << 2;
    const ONE: u64 = 1 << 3;

    /// Returns the mark of the room in which followers with this ticket sleep.
    const fn mark(ticket: u64) -> u64 {
        1 << (ticket & 1)
    }

    /// Returns the state in which number `number` runs and no follower sleeps.
    const fn running(number: u64) -> State {
        State((number * Self::ONE) | Self::RUNS)
    }

    const fn number(self) -> u64 {
        self.0 / Self::ONE
    }

    const fn runs(self) -> bool {
        self.0 & Self::RUNS != 0
    }

    /// Returns true if followers with this ticket may sleep.
    const fn has_sleepers(self, ticket: u64) -> bool {
        self.0 & Self::mark(ticket) != 0
    }

    /// Returns the number of the first fence that starts after this state was seen.
    const fn ticket(self) -> u64 {
        self.number() + 1
    }

    /// Returns true if the fence with the number `ticket`, or a later one, has ended.
    const fn serves(self, ticket: u64) -> bool {
        // While a number runs, the one before it has ended.
        self.number() - self.runs() as u64 >= ticket
    }

    /// Returns the state in which the next number runs.
    const fn begun(self) -> State {
        State((self.0 + Self::ONE) | Self::RUNS)
    }

    /// Returns the state in which the number that runs has ended, and its followers are awake.
    const fn ended(self) -> State {
        State(self.0 & !Self::RUNS & !Self::mark(self.number()))
    }

    /// Returns the state with the mark of those that sleep with this ticket.
    const fn marked(self, ticket: u64) -> State {
        State(self.0 | Self::mark(ticket))
    }
}

/// What the callers of heavy fences share, alone on its lines.
#[repr(align(128))]
pub(super) struct Combiner {
    state: AtomicU64,
    /// The address of the thread that leads; [`UNKNOWN`] or [`FAILED`]. A hint, which may be that
    /// of an earlier leader: a wrong one costs a wait of [`PATIENCE`], or a fence.
    leader: AtomicU64,
    /// The number of forks before the leader began, so that a child knows that it has no leader.
    led_in: AtomicU64,
    /// Where followers sleep, by the parity of their ticket: words that each wake changes.
    rooms: [AtomicU32; 2],
}

impl Combiner {
    const_fn! {
        pub(super) fn new() -> Combiner {
            Combiner {
                state: AtomicU64::new(0),
                leader: AtomicU64::new(UNKNOWN),
                led_in: AtomicU64::new(0),
                rooms: [AtomicU32::new(0), AtomicU32::new(0)],
            }
        }
    }

    /// Has one fence executed that starts after the call and ends before its return, by `issue` or
    /// by another caller's. The calling thread executes full fences before and after it.
    ///
    /// `issue` follows a full fence of the calling thread, and must not unwind.
    ///
    /// # Errors
    /// That of `issue`.
    #[inline]
    pub(super) fn run<E>(&self, issue: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        // Relaxed: `try_lead` compares it.
        let seen = State(self.state.load(Ordering::Relaxed));
        if !seen.runs() && self.try_lead(seen) { self.lead(seen.ticket(), issue) } else { self.join(issue) }
    }

    /// Begins the next number, if the state is still `seen`, and returns true then.
    #[inline]
    fn try_lead(&self, seen: State) -> bool {
        // Acquire: partner of the release in `end`: the earlier leader's store to `leader` is
        // before ours.
        let began = self.state.compare_exchange(seen.0, seen.begun().0, Ordering::Acquire, Ordering::Relaxed);
        if began.is_ok() {
            // SeqCst. Pair O, heavy half: the number is begun before the fence that follows. Partner:
            // the fence in `join`. It is the caller's own half of the heavy fence as well.
            // - If our number comes first, the caller sees it and asks for the next one.
            // - If the caller's fence comes first, our fence covers what the caller did before.
            step!(combine_leader_fence, fence_after_update());
        }
        began.is_ok()
    }

    /// Issues the fence with the number `number`. For the leader.
    #[inline(always)]
    fn lead<E>(&self, number: u64, issue: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        // Relaxed, all three: hints.
        self.led_in.store(fork::generation(), Ordering::Relaxed);
        self.leader.store(thread::address(), Ordering::Relaxed);
        let outcome = issue();
        if outcome.is_err() {
            self.fail();
            return outcome;
        }
        self.leader.store(UNKNOWN, Ordering::Relaxed);
        self.end(number);
        // SeqCst: the caller's own half, for the accesses that follow.
        fence_after_update();
        outcome
    }

    /// Ends the number `number`, unless that was done, and wakes its followers and the next leader.
    /// The calling thread has executed a whole fence since that number began.
    #[inline]
    fn end(&self, number: u64) {
        let alone = State::running(number);
        if !self.try_end(alone) {
            self.end_and_wake(number);
        }
    }

    /// Ends the number that runs in the state `seen`, if the state is still that. Returns true
    /// then.
    #[inline]
    fn try_end(&self, seen: State) -> bool {
        // Release: partner of the fences of those who see that they are served: the fence is before
        // what they do next.
        let order = order!(Release, combine_end_release);
        self.state.compare_exchange(seen.0, seen.ended().0, order, Ordering::Relaxed).is_ok()
    }

    /// Does what [`end`](Self::end) does, where followers may have come.
    #[cold]
    #[inline(never)]
    fn end_and_wake(&self, number: u64) {
        let seen = loop {
            // Relaxed: `try_end` compares it.
            let seen = State(self.state.load(Ordering::Relaxed));
            if !seen.runs() || seen.number() != number {
                return;
            }
            if self.try_end(seen) {
                break seen;
            }
        };
        if seen.has_sleepers(number) {
            step!(combine_wake_served, self.wake(number, futex::ALL));
        }
        if seen.has_sleepers(number + 1) {
            step!(combine_wake_next, self.wake(number + 1, 1));
        }
    }

    /// Wakes up to `count` followers with this ticket.
    #[cold]
    fn wake(&self, ticket: u64, count: u32) {
        let room = self.room(ticket);
        // Release: one that reads this round sees the state, and what the leader says of itself.
        // Partner: the acquire in `join`.
        room.fetch_add(1, Ordering::Release);
        futex::wake(room, count);
    }

    /// Leaves the number that runs to the followers, since no fence was possible: each issues its
    /// own, and the first that succeeds ends the number. For the leader.
    #[cold]
    fn fail(&self) {
        // Relaxed: ordered by the release in `wake`.
        self.leader.store(FAILED, Ordering::Relaxed);
        for ticket in 0..2 {
            step!(combine_fail_wake, self.wake(ticket, futex::ALL));
        }
    }

    /// Returns the word on which followers with this ticket sleep.
    fn room(&self, ticket: u64) -> &AtomicU32 {
        &self.rooms[(ticket & 1) as usize]
    }

    /// Waits until another caller's fence has served this one, or leads the next, or relieves the
    /// leader.
    #[cold]
    #[inline(never)]
    fn join<E>(&self, issue: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        // SeqCst. Pair O, the caller's half: what the caller did is before its look at the number.
        // Partner: the fence in `try_lead`, and the leader's heavy fence.
        // - If the leader's number comes first, we see it and ask for the next one.
        // - If this fence comes first, the leader's fence, still to come, covers what we did.
        step!(combine_caller_fence, fence(Ordering::SeqCst));
        // Relaxed: ordered by the fence.
        let seen = State(self.state.load(Ordering::Relaxed));
        let ticket = if mutated!(combine_ticket) && seen.runs() { seen.number() } else { seen.ticket() };
        let mut rechecks = outside_model(RECHECKS);
        let mut patience = None;
        loop {
            // Acquire: partner of the release in `wake`. The state and the leader that we see below
            // are at least those at that wake.
            let round = self.room(ticket).load(Ordering::Acquire);
            // Relaxed: the fence below orders what a served caller does next; else it is compared.
            let seen = State(self.state.load(Ordering::Relaxed));
            if seen.serves(ticket) {
                // SeqCst: the caller's own half, for the accesses that follow. As an acquire fence,
                // partner of the release in `end`.
                step!(combine_served_fence, fence(Ordering::SeqCst));
                return Ok(());
            }
            if !seen.runs() {
                if self.try_lead(seen) {
                    return self.lead(seen.ticket(), issue);
                }
            } else if self.is_left(rechecks) || patience.is_some_and(|limit: Timeout| limit.has_passed::<Private>()) {
                return self.relieve(seen.number(), issue);
            } else if rechecks > 0 {
                rechecks -= 1;
                spin_hint();
            } else {
                let limit = *patience.get_or_insert_with(|| Timeout::after::<Private>(PATIENCE));
                // Relaxed: the exchange shows that the number still runs, so its end comes later,
                // and finds the mark. The round was read before: the wake that follows that end
                // changes it.
                let marked = seen.marked(ticket).0;
                if self.state.compare_exchange(seen.0, marked, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                    futex::wait(self.room(ticket), round, limit);
                }
            }
        }
    }

    /// Returns true if the leader of the number that runs will not, or may not, end it before this
    /// call returns. With `rechecks` left, a leader that does not say who it is may do so soon.
    fn is_left(&self, rechecks: u32) -> bool {
        // Relaxed, both: hints, and the calling thread's own stores.
        match self.leader.load(Ordering::Relaxed) {
            UNKNOWN => rechecks == 0,
            FAILED => true,
            // The leader was interrupted by this very call's signal handler. Where threads cannot
            // be told apart, this says so of all.
            leader if check!(combine_own_lead, leader == thread::address()) => true,
            _ => self.led_in.load(Ordering::Relaxed) != fork::generation(),
        }
    }

    /// Issues a fence of the caller's own, and ends for its leader the number that ran before.
    fn relieve<E>(&self, number: u64, issue: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        // SeqCst: the number ran before our fence starts; whatever it serves arrived earlier.
        fence(Ordering::SeqCst);
        issue()?;
        self.end(number);
        // SeqCst: the caller's own half, for the accesses that follow.
        fence(Ordering::SeqCst);
        Ok(())
    }
}
