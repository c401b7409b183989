//! Permits that tasks wait for, in turn: the one core under the locks of this folder. A mutex has
//! one permit; of a readers-writer lock's permits a reader takes one and a writer all.
//!
//! # How a lock uses it
//! 1. `take` (or `try_take`, for a call that never queues): the permits, if they are free and no task
//!    waits. Most calls end here.
//! 2. A future that found too few has a `TaskNode`, idle at first, and calls `poll` with it each time that it
//!    is polled. The first `poll` takes the permits or queues the node with the task's waker; a later
//!    one returns the permits that the node was handed, or gives the node the newer waker.
//! 3. A future that is dropped in between calls `cancel`: what the node was handed goes to the next one.
//! 4. `give` ends the use: it hands the permits to the first task in the line that can have all it
//!    wants, and wakes it; or frees them.
//!
//! # The word, and the line
//! The state's word says how many permits are free, and whether a task waits. While none waits,
//! taking and giving are one compare-exchange each. Once one waits, the word has no free permits,
//! and it changes under the queue's lock only: what is given is gathered for the first task until
//! that has all it wants. So tasks are served in the order in which they were queued, and no task
//! that comes later passes them.
//!
//! - If a giver's exchange comes first, the exchange that would set `WAITING` finds its permits.
//! - If `WAITING` is set first, the giver's exchange fails. The giver waits for the lock, and finds
//!   the node there.
//!
//! # A future that is kept, and not polled
//! A task polls a future that waits, keeps it, and awaits another one of the same lock (oxide's RFD
//! 609 calls that a futurelock). The first one is handed the permits, and its task is woken, which
//! polls the second one only: without more, both wait for ever. So what a future is handed stays
//! with the queue until the future is polled, and a poll of another one of the same task looks for
//! it. Two wakers that `will_wake` the same task tell that the task is the same.
//!
//! | the poll that finds what another of its task's futures was handed | does |
//! |---|---|
//! | is this one's first | queues it, and wakes the task, which thus polls it again |
//! | is a later one; the other was polled after this one's last poll | wakes the task, as above |
//! | is a later one; the other was not polled since this one's last poll | changes their places |
//!
//! The third row is the mend. The first two are for tasks that poll several futures in turn: there
//! the other one's poll comes next, and it has what it was handed. No future loses its turn by being
//! polled after another one, as long as it is polled as often. Without their wake the task could
//! sleep, since that of the hand-over was used up, perhaps before this future was made.
//!
//! - **The places are the task's.** The future that is polled goes to the head of the line, where
//!   the other one was; the other one goes to where this one was. No other task's future has more or
//!   less before it than before. Had the other one gone to the back, or kept the first place, the
//!   task would have lost a place, or got one. What the place is used for may change: a future
//!   that wants more than the other one did waits at the head for the rest, as it would have done
//!   had the task asked for as much in the first place. One that wants less leaves the rest to those
//!   behind it.
//! - **The poll and the hand-over meet under the lock.** If the other future was handed permits before
//!   the poll has the lock, the poll finds its node. If after, then the task is woken after this
//!   poll, so it polls again, and that poll finds the node.
//! - **The poll of the other future, and its drop,** take the lock as well: whichever comes first
//!   has the permits. The other one's poll finds itself queued, by a waker of its task; its drop takes
//!   it out of the line.
//!
//! Where the wakers differ, as by combinators that give each of their futures a waker of its own,
//! nothing is found.
//!
//! The design (one batch semaphore under all locks, nodes in the futures) is that of tokio's
//! `sync`, by Eliza Weisman and others; nothing of its code is here.

use core::pin::pin;

use super::hand_over::{HandOver, Turns};
use super::node::TaskNode;
use super::queue::{LockedQueue, Queue};
use super::word::{CLOSED, MOST, ONE, SINGLE, WAITING, more, plus};
use crate::atomic::{AtomicUsize, Ordering, const_fn};
use crate::mutant::{check, mutated, order, step};

mod poll;

/// The request gets no permits: they were closed, or all that waited were told ([`Permits::refuse`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Refused;

/// A number of permits, and the tasks that wait for some.
pub(crate) struct Permits {
    /// Its bits are told in `word.rs`.
    state: AtomicUsize,
    queue: Queue,
}

impl Permits {
    /// The greatest number of permits.
    pub(super) const MOST: usize = MOST;

    const_fn! {
        /// Returns that many free permits.
        #[track_caller]
        pub(crate) fn new(count: usize) -> Permits {
            assert!(count <= Permits::MOST, "leeward: a Semaphore cannot count so many permits");
            Permits { state: AtomicUsize::new(count * ONE), queue: Queue::new() }
        }
    }

    const_fn! {
        /// Returns permits of which one at most is free, and none is now.
        pub(super) fn single() -> Permits {
            Permits { state: AtomicUsize::new(SINGLE), queue: Queue::new() }
        }
    }

    /// Returns how many permits are free; out of date when it returns.
    pub(super) fn free(&self) -> usize {
        self.enter();
        // Relaxed: out of date when it returns.
        self.state.load(Ordering::Relaxed) / ONE
    }

    /// Settles the permits in the child of a fork, where the tasks that waited are not, and nothing
    /// else would settle them if no task waits there. Returns true if it did: for a call that does
    /// not queue, and found too few.
    #[cold]
    fn enter(&self) -> bool {
        check!(task_forked_try, self.queue.was_used()) && self.queue.enter(|count| self.settle(count))
    }

    /// Locks the queue, settled if another process filled it.
    #[inline]
    pub(super) fn lock(&self) -> LockedQueue<'_> {
        self.queue.lock(|count| self.settle(count))
    }

    /// Returns true if the permits were closed.
    pub(super) fn is_closed(&self) -> bool {
        // Relaxed: says nothing about what was done before.
        self.state.load(Ordering::Relaxed) & CLOSED != 0
    }

    /// Takes `wanted` permits if that many are free and nothing is closed; returns true if it did.
    /// For a call that queues otherwise: in the child of a fork it may find too few.
    #[inline]
    pub(super) fn take(&self, wanted: u32) -> bool {
        let wanted = wanted as usize;
        // Relaxed: the exchange decides.
        let mut state = self.state.load(Ordering::Relaxed);
        while state & CLOSED == 0 && state / ONE >= wanted {
            let next = state - wanted * ONE;
            // Acquire: partner of the releases in `give` and `settle`.
            let order = order!(Acquire, task_take_acquire);
            match self.state.compare_exchange_weak(state, next, order, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => state = now,
            }
        }
        false
    }

    /// Takes `wanted` permits as `take` does, for a call that does not queue.
    #[inline]
    pub(super) fn try_take(&self, wanted: u32) -> bool {
        self.take(wanted) || self.take_settled(wanted)
    }

    #[cold]
    #[inline(never)]
    fn take_settled(&self, wanted: u32) -> bool {
        self.enter() && self.take(wanted)
    }

    /// Takes up to `count` free permits away for good. Returns how many it took.
    pub(super) fn remove(&self, count: usize) -> usize {
        self.enter();
        // Relaxed: the exchange decides.
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            let taken = count.min(state / ONE);
            // Acquire: as in `take`.
            let next = state - taken * ONE;
            match self.state.compare_exchange_weak(state, next, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return taken,
                Err(now) => state = now,
            }
        }
    }

    /// Gives permits: to the tasks that wait, in turn, and the rest to those that come.
    ///
    /// Where there would be more than `MOST`, there are `MOST`.
    #[inline]
    pub(super) fn give(&self, count: usize) {
        // Relaxed: the exchange decides.
        let mut state = self.state.load(Ordering::Relaxed);
        while state & WAITING == 0 {
            let Some(next) = plus(state, count) else { break };
            // Release: partner of the acquires in `take` and `queue`: what was done with the
            // permits happens before they are taken again.
            let order = order!(Release, task_give_release);
            match self.state.compare_exchange_weak(state, next, order, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => state = now,
            }
        }
        self.give_slow(count);
    }

    /// Gives a permit of those that are [`single`](Self::single): to the task that has waited longest,
    /// or, with `to_last`, to the one that was queued last; or it is free. One that is free already stays
    /// the only one.
    #[inline]
    pub(super) fn give_one(&self, to_last: bool) {
        // Relaxed: the exchange decides.
        let mut state = self.state.load(Ordering::Relaxed);
        while state & WAITING == 0 {
            if state & ONE != 0 && mutated!(notify_again) {
                return;
            }
            // Release: partner of the acquires in `take` and `queue`. A permit that is free already is
            // exchanged too, so that the task that takes it sees what this caller did before.
            let order = order!(Release, notify_release);
            let kept = if mutated!(notify_keeps) { state } else { state | ONE };
            match self.state.compare_exchange_weak(state, kept, order, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => state = now,
            }
        }
        self.give_one_slow(to_last);
    }

    /// Gives one permit while a task waits, or did.
    #[cold]
    #[inline(never)]
    fn give_one_slow(&self, to_last: bool) {
        let queue = self.lock();
        if to_last {
            step!(notify_turns_back, queue.turn_back());
        }
        self.hand_on(queue, 1);
    }

    /// Gives a permit if a task waits, and does nothing else.
    pub(crate) fn give_to_one_that_waits(&self) {
        // Relaxed: the caller has acquired what the task did after it was queued.
        if self.state.load(Ordering::Relaxed) & WAITING != 0 {
            self.give_slow(1);
        }
    }

    /// Adds permits as `give` does. Returns false, with nothing changed, if there would be more
    /// than `MOST`.
    pub(super) fn add(&self, count: usize) -> bool {
        let queue = self.lock();
        // Relaxed: under the lock only `give` can add to the word, and that does not panic.
        let free = self.state.load(Ordering::Relaxed) / ONE + queue.counts().gathered();
        let is_possible = free.checked_add(count).is_some_and(|sum| sum <= Permits::MOST);
        drop(queue);
        if is_possible {
            self.give_slow(count);
        }
        is_possible
    }

    /// Gives permits while a task waits, or did.
    #[cold]
    #[inline(never)]
    fn give_slow(&self, count: usize) {
        let queue = self.lock();
        self.hand_on(queue, count);
    }

    /// Gives permits to those that wait, in turn, and frees the rest.
    fn hand_on(&self, queue: LockedQueue<'_>, count: usize) {
        queue.counts().gather(count, Permits::MOST);
        HandOver::granting(self).run(queue);
    }

    /// Refuses permits to all tasks that wait, and to all that come.
    pub(crate) fn close(&self) {
        let queue = self.lock();
        // Relaxed: says nothing about what was done before.
        self.state.fetch_or(CLOSED, Ordering::Relaxed);
        self.refuse(queue);
    }

    /// Refuses permits to all tasks that wait now. Those that are queued meanwhile, by a waker for
    /// instance, are not among them.
    pub(super) fn refuse(&self, queue: LockedQueue<'_>) {
        let guard = pin!(TaskNode::new(0));
        // SAFETY: it is new, pinned, and dropped after what refuses all beside it (also by a panic).
        unsafe { queue.part(&guard) };
        HandOver::refusing(self, &guard).run(queue);
    }
}

impl<'a> Turns<'a> for &'a Permits {
    #[inline]
    fn lock(self) -> LockedQueue<'a> {
        Permits::lock(self)
    }

    /// Takes the mark of waiting tasks away, and frees `count` permits: of a queue that is empty,
    /// and that the caller has locked, or makes its process's.
    fn settle(self, count: usize) {
        // Relaxed: the exchange decides.
        let mut state = self.state.load(Ordering::Relaxed);
        while state & WAITING != 0 || count != 0 {
            let next = more(state & !WAITING, count);
            // Release: as in `give`.
            match self.state.compare_exchange_weak(state, next, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => state = now,
            }
        }
    }
}
