//! Threads that take all values of a queue at once, while another thread has the consumers' lock.
//!
//! Such a taker waits until it has the lock, or until the queue is empty: then there is nothing to
//! take. So a consumer that sleeps for a value, with the lock, holds no taker up.
//!
//! ```text
//! taker (Consumer::await_turn)            the thread that has the lock
//!   turn = turns       (Acquire)            about to sleep: marks the tail       (AcqRel)
//!   waiting = 1                             or frees the lock, found marked      (Release, Acquire)
//!   marks the lock     (Release)            if waiting, by an exchange for 0:
//!   adds 0 to the tail (AcqRel)               turns += 1                         (Release)
//!   if the queue is empty, returns            wakes all that sleep on turns
//!   sleeps while turns is turn
//! ```
//!
//! The two meet in one word, the lock's or the tail's, and each changes it in one step:
//! - If the taker's change comes first, the other thread finds `waiting` set, counts a turn and wakes
//!   it. A taker that loaded the count after that has set `waiting` after it was taken away, for the
//!   next thread to find.
//! - If the other's change comes first, the taker finds the lock free or another's, or the queue empty.
//!
//! The turns have a word of their own. A bit of the lock's word would be flipped twice, if two
//! consumers one after the other became idle, and a taker that was slow to sleep would miss both.

use crate::atomic::{AtomicU32, Ordering, const_fn};
use crate::futex::{ALL, Futex, Timeout};
use crate::mutant::step;

/// The words by which a queue's consumer learns of takers that wait.
pub(super) struct Takers {
    /// 1: a taker waits, or is about to.
    waiting: AtomicU32,
    /// How often takers were told to look again. They sleep on this word.
    turns: AtomicU32,
}

impl Takers {
    const_fn! {
        pub(super) fn new() -> Self {
            Takers { waiting: AtomicU32::new(0), turns: AtomicU32::new(0) }
        }
    }

    /// Says that the calling thread waits, and returns the count of turns. The caller publishes what it
    /// said, by a change of the lock and by one of the tail, before it sleeps.
    pub(super) fn enter(&self) -> u32 {
        // Acquire: partner of the release in `wake`: a taker that finds the new count sets the word below
        // after it was taken away.
        let turn = self.turns.load(Ordering::Acquire);
        // Relaxed: the caller publishes it.
        self.waiting.store(1, Ordering::Relaxed);
        turn
    }

    /// Sleeps as long as the count of turns is what [`enter`](Self::enter) returned.
    pub(super) fn sleep<F: Futex>(&self, turn: u32) {
        F::wait(&self.turns, turn, Timeout::Never);
    }

    /// Has the takers that wait look again. Called by the thread that has the lock, where the queue is
    /// empty, and after it has freed the lock.
    #[inline]
    pub(super) fn tell<F: Futex>(&self) {
        // Relaxed: the caller has acquired what the taker changed.
        if self.waiting.load(Ordering::Relaxed) != 0 {
            self.wake::<F>();
        }
    }

    #[cold]
    #[inline(never)]
    fn wake<F: Futex>(&self) {
        // Relaxed: the addition below publishes it.
        if self.waiting.swap(0, Ordering::Relaxed) != 0 {
            // Release: partner of the acquire in `enter`.
            step!(queue_turn, self.turns.fetch_add(1, Ordering::Release));
            F::wake(&self.turns, ALL);
        }
    }
}
