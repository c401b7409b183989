//! A queue of tasks that wait, linked through nodes which lie in the waiting futures: no
//! allocation.
//!
//! Each future has its [`TaskNode`] and is pinned before the node is linked. Pin promises that the
//! memory is not used for anything else before the future is dropped, and that drop takes the node
//! out ([`LockedQueue::leave`], [`LockedQueue::fetch`]). So a future that is leaked stays in the
//! queue, in memory that stays.
//!
//! A node that was told that it has its permits stays linked, in another structure (`handed.rs`),
//! until its owner comes for them. Meanwhile another future of the same task may
//! [take its place](LockedQueue::trade).
//!
//! The child of a fork is the exception: memory that other threads of the parent had, such as their
//! stacks, is used again there without any drop. So the queue knows the process that filled it
//! (`process/`, the fork mark), and is emptied by the first call of another one that needs the
//! queue, or would wait for its tasks.
//!
//! No waker is cloned, woken or dropped under the queue's lock, since a waker is foreign code.

use core::task::Waker;

use super::counts::Counts;
use super::handed::Handed;
use super::line::Line;
use super::node::{Status, TaskNode};
use super::wake_list::WakeList;
use crate::atomic::{AtomicU32, Ordering, const_fn};
use crate::futex::{self, Timeout};
use crate::mutant::{check, mutated, step};
use crate::process::fork_mark;
use crate::raw::Mutex;

/// A node that was handed permits, of the task of another node that waits.
pub(super) enum Sibling<'a> {
    /// There is none.
    None,
    /// Its owner was polled since the other's owner was: the task may be about to do so again.
    Polled,
    /// Its owner was not polled since the other's was.
    PassedOver(&'a TaskNode),
}

/// A wait queue with its lock.
pub(super) struct Queue {
    lock: Mutex,
    /// Twice the number of the process whose nodes are in the queue; 0: none was there yet. The
    /// last bit: a thread of that process is emptying the queue.
    process: AtomicU32,
    /// Those that wait. Guarded by the lock, as are the next two.
    line: Line,
    /// Those that were handed permits, and did not come for them.
    handed: Handed,
    /// The permits that the first one has so far, and those that were handed over; and polls.
    counts: Counts,
}

// SAFETY: the cells are guarded by the lock, and nodes are Send and Sync.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

impl Queue {
    const_fn! {
        /// Returns an empty queue.
        pub(super) fn new() -> Queue {
            Queue {
                lock: Mutex::new(),
                process: AtomicU32::new(0),
                line: Line::new(),
                handed: Handed::new(),
                counts: Counts::new(),
            }
        }
    }

    /// Locks the queue, [entered](Self::enter).
    #[inline]
    pub(super) fn lock(&self, settle: impl FnOnce(usize)) -> LockedQueue<'_> {
        self.enter(settle);
        self.lock.lock();
        LockedQueue { queue: self }
    }

    /// Empties the queue if another process filled it, and has `settle` done what that means for
    /// the permits that were kept there, before another thread can lock the queue. Returns true if
    /// it did, or waited for a thread that did.
    #[inline]
    pub(super) fn enter(&self, settle: impl FnOnce(usize)) -> bool {
        // Acquire: partner of the release in `adopt`: the queue is empty.
        let process = self.process.load(Ordering::Acquire);
        let is_ours = process != 0 && process % 2 == 0 && fork_mark::is_still(process / 2);
        if !is_ours {
            self.adopt(fork_mark::now() * 2, settle);
        }
        !is_ours
    }

    /// Returns true if tasks may have waited here, in this process or in one that it was forked
    /// from.
    #[inline]
    pub(super) fn was_used(&self) -> bool {
        // Relaxed: what it leads to decides.
        self.process.load(Ordering::Relaxed) != 0
    }

    /// Makes the queue that of `process`, the calling one: empty, settled and unlocked.
    #[cold]
    #[inline(never)]
    fn adopt(&self, process: u32, settle: impl FnOnce(usize)) {
        loop {
            // Acquire: partner of the release below.
            let old = self.process.load(Ordering::Acquire);
            if old == process {
                return;
            }
            if old == process | 1 {
                // That thread needs a few instructions, but it may have lost its processor to us.
                futex::wait(&self.process, old, Timeout::Never);
                continue;
            }
            // A new queue is empty.
            let next = if old == 0 { process } else { process | 1 };
            // Acquire: as above. Relaxed on failure: read again.
            if self.process.compare_exchange(old, next, Ordering::Acquire, Ordering::Relaxed).is_err() {
                continue;
            }
            // No thread of this process uses the lock or the list before the store below.
            if old != 0 && !mutated!(task_forked) {
                self.lock.reset();
                self.line.clear();
                self.handed.clear();
                settle(self.counts.take_all());
            }
            // Release: partner of the acquires here and in `lock`.
            self.process.store(process, Ordering::Release);
            if old != 0 {
                futex::wake(&self.process, futex::ALL);
            }
            return;
        }
    }
}

/// A queue whose lock the calling thread holds.
pub(super) struct LockedQueue<'a> {
    queue: &'a Queue,
}

impl Drop for LockedQueue<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: locked by `Queue::lock`.
        unsafe { self.queue.lock.unlock() };
    }
}

impl<'a> LockedQueue<'a> {
    /// Returns true if no task waits.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.queue.line.first().is_none()
    }

    /// Returns the queue's counts.
    #[inline]
    pub(super) fn counts(&self) -> &'a Counts {
        &self.queue.counts
    }

    /// Links a node as the last, with the waker of its owner's task if there is one to be woken.
    ///
    /// # Safety
    /// The caller is the node's owner; the node is idle, and pinned. Before its memory is used for
    /// anything else, the owner has seen that it was refused, or taken it out, if the queue
    /// [has](Self::has) it.
    pub(super) unsafe fn push(&self, node: &TaskNode, waker: Option<Waker>) {
        self.queue.line.push_back(node);
        // Relaxed: the process's own number.
        node.process.set(self.queue.process.load(Ordering::Relaxed));
        node.set(Status::Queued);
        self.note_poll(node);
        if let Some(waker) = waker {
            // SAFETY: the lock guards it. An idle node has no waker.
            drop(unsafe { node.set_waker(waker) });
        }
    }

    /// Makes the last node in the line the first.
    pub(super) fn turn_back(&self) {
        self.queue.line.turn_back();
    }

    /// Notes that the node's owner is polled.
    pub(super) fn note_poll(&self, node: &TaskNode) {
        node.polled.set(self.counts().poll());
    }

    /// Returns true if the node, which is its owner's to ask about, is in this queue, or was told
    /// something here: it may be in that of a process from which this one was forked.
    pub(super) fn has(&self, node: &TaskNode) -> bool {
        // Relaxed: the process's own number.
        node.process.get() == self.queue.process.load(Ordering::Relaxed) || mutated!(task_forked)
    }

    /// Takes a node out of the line. Returns its waker.
    ///
    /// # Safety
    /// The queue has the node, which is queued. The caller is its owner, and sets its status.
    pub(super) unsafe fn leave(&self, node: &TaskNode) -> Option<Waker> {
        self.queue.line.remove(node);
        // SAFETY: the lock guards it.
        unsafe { node.take_waker(false) }
    }

    /// Takes a node out that was handed permits, which are the caller's from now on.
    ///
    /// # Safety
    /// The queue has the node, which was handed permits. The caller sets its status.
    pub(super) unsafe fn fetch(&self, node: &TaskNode) {
        self.queue.handed.remove(node);
        self.queue.counts.fetch(node.wanted());
    }

    /// Takes the first node out of the line, if as many permits were gathered as its owner wants: the
    /// owner is handed these, and the waker of its task is added to `wakers`. Returns false if not.
    pub(super) fn grant_first(&self, wakers: &mut WakeList) -> bool {
        let first = self.queue.line.first();
        let Some(first) = first.filter(|first| first.wanted() as usize <= self.counts().gathered()) else {
            return false;
        };
        self.queue.line.remove(first);
        // SAFETY: the lock guards it.
        let waker = unsafe { first.take_waker(true) };
        self.queue.counts.hand(first.wanted());
        first.set(Status::Handed);
        self.queue.handed.insert(first);
        waker.into_iter().for_each(|waker| wakers.push(waker));
        true
    }

    /// Takes all nodes out of the line, into a circle of their own beside `guard`: those that are queued
    /// from now on are not among them.
    ///
    /// The nodes are queued as before, and their owners may take them out. (A line knows its last node
    /// only, which this one is.)
    ///
    /// # Safety
    /// `guard` is idle and pinned. Before its memory is used for anything else,
    /// [`refuse_next`](Self::refuse_next) has returned false for it.
    pub(super) unsafe fn part(&self, guard: &TaskNode) {
        // Relaxed: the process's own number.
        guard.process.set(self.queue.process.load(Ordering::Relaxed));
        self.queue.line.push_back(guard);
        step!(task_refuse_parts, self.queue.line.clear());
    }

    /// Takes the next node out of the circle beside `guard`, and refuses its owner: the waker of the
    /// owner's task is added to `wakers`. Returns false if there is no other node.
    pub(super) fn refuse_next(&self, guard: &TaskNode, wakers: &mut WakeList) -> bool {
        // In the child of a fork, of which a waker was the caller, the others may be gone.
        if check!(task_refuse_forked, !self.has(guard)) {
            return false;
        }
        let Some(next) = guard.next.get().filter(|_| !guard.next.is(guard)) else { return false };
        self.queue.line.remove(next);
        // SAFETY: the lock guards it.
        let waker = unsafe { next.take_waker(false) };
        // The node may be gone once the lock is free.
        next.set(Status::Refused);
        waker.into_iter().for_each(|waker| wakers.push(waker));
        true
    }

    /// Looks for a node that was handed permits, of the task that polls the owner of `node`.
    ///
    /// # Safety
    /// The queue has the node, which is queued.
    pub(super) unsafe fn sibling(&self, node: &TaskNode) -> Sibling<'_> {
        /// Returns true if `one` is the later of two counts of polls.
        fn is_later(one: u32, other: u32) -> bool {
            one.wrapping_sub(other) as i32 > 0
        }
        // SAFETY: the lock guards it.
        let task = unsafe { node.task() };
        // (A node that no poll has queued is of no task.)
        let Some(other) = task.and_then(|task| self.queue.handed.of(task)) else { return Sibling::None };
        if !check!(task_kept_is_polled, is_later(other.polled.get(), node.polled.get())) {
            return Sibling::PassedOver(other);
        }
        // One that was not polled for 2^31 polls would be taken for polled again and again.
        if is_later(other.polled.get(), self.counts().polls()) {
            other.polled.set(self.counts().polls());
        }
        Sibling::Polled
    }

    /// Changes the places of `node`, which waits, and of `other`, which was handed permits: `node`
    /// is the first in the line from now on, and what the other was handed is gathered for it.
    ///
    /// # Safety
    /// The queue has both. `waker` wakes the task of both.
    pub(super) unsafe fn trade(&self, node: &TaskNode, other: &TaskNode, waker: Waker, most: usize) {
        // SAFETY: the caller's promise; the permits go back at once.
        unsafe { self.fetch(other) };
        self.counts().gather(other.wanted() as usize, most);
        other.set(Status::Queued);
        if !mutated!(task_kept_waker) {
            // SAFETY: the lock guards it. The waker of a node that was handed permits was taken out.
            drop(unsafe { other.set_waker(waker) });
        }
        let line = &self.queue.line;
        if mutated!(task_kept_place) {
            line.push_back(other);
        } else {
            line.insert_after(node, other);
        }
        if mutated!(task_kept_first) && self.counts().gathered() < node.wanted() as usize {
            return;
        }
        line.remove(node);
        line.push_front(node);
    }

    /// Returns true if the node's waker wakes the same task as `waker`.
    ///
    /// # Safety
    /// The queue has the node.
    pub(super) unsafe fn will_wake(&self, node: &TaskNode, waker: &Waker) -> bool {
        // SAFETY: the lock guards it.
        unsafe { node.will_wake(waker) }
    }

    /// Gives the node another waker. Returns the one that it had.
    ///
    /// # Safety
    /// The queue has the node.
    pub(super) unsafe fn set_waker(&self, node: &TaskNode, waker: Waker) -> Option<Waker> {
        // SAFETY: the lock guards it.
        unsafe { node.set_waker(waker) }
    }
}
