//! The words of those that wait at one end of a bounded queue, and how they are woken. `waiting.rs` says how
//! one waits.

use super::tasks::Tasks;
use crate::atomic::{AtomicU32, Ordering};
use crate::futex::{ALL, Futex};
use crate::mutant::step;

/// The words of those that wait at one end.
pub(super) struct Waits {
    /// How many wait, or are about to, or have waited and are about to go.
    pub(super) waiting: AtomicU32,
    /// How often some were told to look again. Threads sleep on this word.
    pub(super) turns: AtomicU32,
    pub(super) tasks: Tasks,
}

impl Waits {
    pub(super) fn new() -> Self {
        Waits { waiting: AtomicU32::new(0), turns: AtomicU32::new(0), tasks: Tasks::new() }
    }

    /// Has one that waits look again: a thread and a task, since it is not known which of them do.
    #[cold]
    #[inline(never)]
    pub(super) fn wake_one<F: Futex>(&self) {
        self.wake::<F>(1);
        step!(bounded_wake_task, self.tasks.wake_one());
    }

    /// Has all that wait look again: the queue is closed.
    #[cold]
    #[inline(never)]
    pub(super) fn wake_all<F: Futex>(&self) {
        self.wake::<F>(ALL);
        step!(bounded_close_tasks, self.tasks.wake_all());
    }

    fn wake<F: Futex>(&self, count: u32) {
        // Release: partner of the acquire in `Waiting::begin_turn`: what the caller has done is found.
        self.turns.fetch_add(1, Ordering::Release);
        F::wake(&self.turns, count);
    }

    /// Forgets those that waited, in the child of a fork.
    pub(super) fn forget(&self) {
        // Relaxed: the caller publishes it.
        self.waiting.store(0, Ordering::Relaxed);
    }
}
