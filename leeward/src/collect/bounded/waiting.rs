//! Sleeping until there is a value or room, and waking those that sleep.
//!
//! A pop waits for the tail to move, and a push for the head. A sleeper marks that cursor in
//! one step with the look at it; the next claim moves the cursor, takes the mark away, and wakes. So the two
//! meet in one word, and a claim without a sleeper pays nothing for those that might be there:
//!
//! ```text
//! sleeper (Waiting::sleep)                   claim of the other end
//!   turn = turns            (Acquire)          cursor: exchanged for the next, unmarked    (AcqRel)
//!   looks: nothing, at cursor                  fills or frees its slot                     (Release)
//!   waiting += 1, once                         was marked: turns += 1                      (Release)
//!   cursor: exchanged for itself, marked (AcqRel)          wakes one that sleeps on turns
//!   sleeps while turns is turn
//! ```
//!
//! - If the sleeper's exchange comes first, the claim finds the mark, and counts a turn after the sleeper has
//!   loaded it.
//! - If the claim's exchange comes first, the sleeper's fails, and it looks again.
//!
//! A claim takes the mark for all away and wakes one. So one that has waited, and goes, passes the wake on
//! ([`Waiting`]'s drop): while others wait, it marks the cursor again, and then, if there is something for
//! them, wakes one of them. What was claimed before the mark is seen by the look after it, and what is
//! claimed later finds the mark. Where nobody else waits, the cursor stays unmarked, and the next claim
//! makes no system call.

use super::position::{CLOSED, SLEEPS, place};
use super::ring::Ring;
use super::tasks::Tasks;
use super::waits::Waits;
use crate::atomic::{AtomicU64, Ordering};
use crate::futex::{Futex, Timeout, Wait};
use crate::mutant::{check, mutated, step};

/// What one waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// A value: for the tail to move.
    Pop,
    /// Room: for the head to move.
    Push,
}

/// One that may wait at an end. Its drop passes a wake on that it may have taken.
pub(super) struct Waiting<'a, T, F: Futex> {
    ring: &'a Ring<T, F>,
    end: End,
    /// The fork number of the process in which it was counted: it has waited, or was about to; 0: it was not.
    counted: u32,
    turn: u32,
}

impl<'a, T, F: Futex> Waiting<'a, T, F> {
    pub(super) fn new(ring: &'a Ring<T, F>, end: End) -> Self {
        Waiting { ring, end, counted: 0, turn: 0 }
    }

    /// Returns the ring.
    pub(super) fn ring(&self) -> &'a Ring<T, F> {
        self.ring
    }

    /// Returns the tasks that wait there.
    pub(super) fn tasks(&self) -> &'a Tasks {
        &self.waits().tasks
    }

    fn waits(&self) -> &'a Waits {
        match self.end {
            End::Pop => &self.ring.pops,
            End::Push => &self.ring.pushes,
        }
    }

    /// Returns the cursor whose moves end the wait.
    fn cursor(&self) -> &'a AtomicU64 {
        match self.end {
            End::Pop => &self.ring.tail.0,
            End::Push => &self.ring.head.0,
        }
    }

    /// Begins a turn: a look whether there is something, and a sleep if there is not.
    pub(super) fn begin_turn(&mut self) {
        // Acquire: the look comes after. Partner: the release in `wake`.
        self.turn = self.waits().turns.load(Ordering::Acquire);
    }

    /// Sleeps until `timeout` at most, if the cursor is `seen` still, at which the look found nothing.
    /// Returns true if the time is up.
    pub(super) fn sleep(&mut self, seen: u64, timeout: Timeout) -> bool {
        self.mark(seen) && F::wait(&self.waits().turns, self.turn, timeout) == Wait::TimedOut
    }

    /// Marks the cursor. Returns false if it is not `seen` any more, or the queue was closed.
    pub(super) fn mark(&mut self, seen: u64) -> bool {
        // Relaxed: the process's own number.
        let process = self.ring.process().load(Ordering::Relaxed);
        // In the child of a fork, what was counted before is forgotten.
        if self.counted != process {
            self.counted = process;
            // Relaxed: the exchange below publishes it.
            self.waits().waiting.fetch_add(1, Ordering::Relaxed);
        }
        // AcqRel: release is the partner of the acquires in `claim_room`, `move_head` and `close`: who takes
        // the mark has the turn counted after it was loaded here, and the count above. Acquire: partner of the
        // release in `close`. Relaxed on failure: nothing was learnt.
        let is_marked =
            self.cursor().compare_exchange(seen, seen | SLEEPS, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        if !is_marked && !mutated!(bounded_mark_recheck) {
            return false;
        }
        // The tail says itself that the queue is closed: the exchange has failed then.
        !(self.end == End::Push && check!(bounded_closed_recheck, self.ring.is_closed()))
    }

    /// Returns true if there may be something for those that wait.
    fn may_go(&self, cursor: u64) -> bool {
        let ring = self.ring;
        // Acquire, both: loaded after the caller's exchange. Partner: the releases of the exchanges there.
        match self.end {
            End::Pop => cursor & CLOSED != 0 || place(cursor) != place(ring.head.0.load(Ordering::Acquire)),
            End::Push => {
                let tail = ring.tail.0.load(Ordering::Acquire);
                tail & CLOSED != 0 || place(tail) != ring.laps().lap_after(place(cursor))
            }
        }
    }

    /// Ends the wait: passes on the wake that this one may have taken.
    #[inline]
    pub(super) fn leave(&mut self) {
        // Relaxed: the process's own number.
        let is_counted = self.counted != 0 && self.counted == self.ring.process().load(Ordering::Relaxed);
        self.counted = 0;
        if is_counted {
            step!(bounded_pass_on, self.pass_on());
        }
    }

    /// Passes a wake on, of one that was counted and goes.
    #[cold]
    #[inline(never)]
    fn pass_on(&self) {
        // Relaxed: a sleeper that was counted, and whose mark was taken by the claim that woke this one, is known
        // by the acquire in `begin_turn`. One that is counted later makes a mark of its own.
        if self.waits().waiting.fetch_sub(1, Ordering::Relaxed) == 1 {
            return;
        }
        // AcqRel: as in `mark`.
        let bit = if mutated!(bounded_pass_mark) { 0 } else { SLEEPS };
        let cursor = self.cursor().fetch_or(bit, Ordering::AcqRel);
        if check!(bounded_pass_wake, self.may_go(cursor)) {
            self.waits().wake_one::<F>();
        }
    }
}

impl<T, F: Futex> Drop for Waiting<'_, T, F> {
    #[inline]
    fn drop(&mut self) {
        self.leave();
    }
}
