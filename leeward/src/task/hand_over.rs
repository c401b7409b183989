//! Telling tasks from the front of a queue what they get, and waking them outside its lock. Called by
//! `permits.rs`; calls `queue.rs` and `wake_list.rs`.

use core::task::Waker;

use super::node::TaskNode;
use super::queue::LockedQueue;
use super::wake_list::WakeList;
use crate::mutant::{check, mutated};
use crate::process::panics;

/// Whose queue it is.
pub(super) trait Turns<'a>: Copy {
    /// Locks the queue.
    fn lock(self) -> LockedQueue<'a>;

    /// Frees permits, since no task waits any more.
    fn settle(self, count: usize);
}

/// Tells tasks what they get, and wakes them outside the lock: those at the front of the line that they
/// are granted permits, as far as the gathered ones go; or those beside a guard that they get none.
pub(super) struct HandOver<'a, T: Turns<'a>> {
    turns: T,
    /// The node beside which those are that are refused ([`LockedQueue::part`]). `None`: those in the line
    /// are granted permits.
    refused: Option<&'a TaskNode>,
    wakers: WakeList,
    /// No task is left that could be told.
    is_done: bool,
}

impl<'a, T: Turns<'a>> HandOver<'a, T> {
    /// Returns one that grants what was gathered.
    #[inline]
    pub(super) fn granting(turns: T) -> Self {
        HandOver { turns, refused: None, wakers: WakeList::new(), is_done: false }
    }

    /// Returns one that refuses the tasks beside `guard`. Its drop has refused all of them, in the
    /// process that the guard is of.
    #[inline]
    pub(super) fn refusing(turns: T, guard: &'a TaskNode) -> Self {
        HandOver { turns, refused: Some(guard), wakers: WakeList::new(), is_done: false }
    }

    /// Does it, beginning in the lock that the caller has.
    pub(super) fn run(&mut self, queue: LockedQueue<'a>) {
        self.run_by(queue, Waker::wake);
    }

    #[inline]
    fn run_by(&mut self, mut queue: LockedQueue<'a>, wake: impl Fn(Waker)) {
        loop {
            self.tell(&queue);
            if queue.is_empty() {
                self.turns.settle(queue.counts().take_gathered());
            }
            drop(queue);
            self.wakers.wake(&wake);
            if self.is_done {
                return;
            }
            queue = self.turns.lock();
        }
    }

    /// Tells the tasks that can be told, or as many as can be woken at once.
    fn tell(&mut self, queue: &LockedQueue<'_>) {
        while !self.wakers.is_full() {
            let is_told = match self.refused {
                None => queue.grant_first(&mut self.wakers),
                Some(guard) => queue.refuse_next(guard, &mut self.wakers),
            };
            if !is_told {
                self.is_done = true;
                return;
            }
        }
    }
}

impl<'a, T: Turns<'a>> Drop for HandOver<'a, T> {
    /// Wakes the others where a waker has panicked. The caller gets that panic; others are caught,
    /// since they would end the process here (as they do without the standard library).
    #[inline]
    fn drop(&mut self) {
        let is_left = !self.is_done || !self.wakers.is_empty();
        if check!(task_wake_the_rest, is_left) {
            self.run_by(self.turns.lock(), |waker| {
                panics(|| waker.wake());
            });
        }
    }
}

/// A waker to be dropped after others were woken.
pub(super) struct Spent(pub(super) Option<Waker>);

impl Spent {
    /// Drops the waker: a panic is the caller's.
    pub(super) fn drop(mut self) {
        drop(self.0.take());
    }
}

impl Drop for Spent {
    /// Drops it where another waker has panicked: a panic here is caught, as those of wakes are.
    fn drop(&mut self) {
        if let Some(waker) = self.0.take() {
            if mutated!(task_drop_caught) {
                drop(waker);
            } else {
                panics(|| drop(waker));
            }
        }
    }
}
