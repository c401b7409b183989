//! Telling tasks from the front of a queue what they get, and waking them outside its lock. Called by
//! `permits.rs`; calls `queue.rs` and `wake_list.rs`.

use core::marker::PhantomData;
use core::task::Waker;

use super::queue::{LockedQueue, Verdict};
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

/// Tells tasks from the front of the queue what they get, as far as the gathered permits go, and
/// wakes them outside the lock.
pub(super) struct HandOver<'a, T: Turns<'a>> {
    turns: T,
    verdict: Verdict,
    wakers: WakeList,
    /// No task is left that could be told.
    is_done: bool,
    _queue: PhantomData<&'a ()>,
}

impl<'a, T: Turns<'a>> HandOver<'a, T> {
    #[inline]
    pub(super) fn new(turns: T, verdict: Verdict) -> Self {
        HandOver { turns, verdict, wakers: WakeList::new(), is_done: false, _queue: PhantomData }
    }

    /// Does it, beginning in the lock that the caller has.
    pub(super) fn run(&mut self, queue: LockedQueue<'a>) {
        self.run_by(queue, Waker::wake);
    }

    #[inline]
    fn run_by(&mut self, mut queue: LockedQueue<'a>, wake: impl Fn(Waker)) {
        loop {
            self.pop(&queue);
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

    /// Takes out the tasks that can be told, or as many as can be woken at once.
    fn pop(&mut self, queue: &LockedQueue<'_>) {
        while !self.wakers.is_full() {
            let is_told = match (queue.first_wanted(), self.verdict) {
                (Some(_), Verdict::Refused) => true,
                (Some(wanted), Verdict::Granted) => wanted as usize <= queue.counts().gathered(),
                (None, _) => false,
            };
            if !is_told {
                self.is_done = true;
                return;
            }
            if let Some(waker) = queue.pop(self.verdict) {
                self.wakers.push(waker);
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
