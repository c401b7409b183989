//! Permits that tasks wait for, in turn: the one core under the locks of this folder. A mutex has
//! one permit; of a readers-writer lock's permits a reader takes one and a writer all.
//!
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
//! The design (one batch semaphore under all locks, nodes in the futures) is that of tokio's
//! `sync`, by Eliza Weisman and others; nothing of its code is here.
//!
//! Called by `request.rs`, `mutex.rs`, `semaphore.rs` and `rwlock.rs`; calls `queue.rs` and
//! `wake_list.rs`.

use core::cell::Cell;
use core::task::{Context, Poll, Waker};

use super::queue::{Locked, Node, Queue, Verdict};
use super::wake_list::WakeList;
use crate::atomic::{AtomicUsize, Ordering, const_fn};
use crate::mutant::{check, mutated, order, step};
use crate::process::panics;

const WAITING: usize = 1;
const CLOSED: usize = 2;
/// One permit in the word.
const ONE: usize = 4;

/// The permits were closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Closed;

/// Returns the sum of two counts, or `MOST`.
#[inline]
const fn sum(count: usize, more: usize) -> usize {
    let sum = count.saturating_add(more);
    if sum > Permits::MOST { Permits::MOST } else { sum }
}

/// Returns the word with more free permits, unless they would be more than `MOST`.
#[inline]
const fn plus(state: usize, count: u32) -> Option<usize> {
    let Some(more) = (count as usize).checked_mul(ONE) else { return None };
    match state.checked_add(more) {
        Some(next) if next < (Permits::MOST + 1) * ONE => Some(next),
        _ => None,
    }
}

/// Returns the word with more free permits, at most `MOST`.
#[inline]
const fn more(state: usize, count: usize) -> usize {
    (state & (ONE - 1)) | (sum(state / ONE, count) * ONE)
}

/// A number of permits, and the tasks that wait for some.
pub(super) struct Permits {
    /// | bits | meaning |
    /// |---|---|
    /// | 0 | waiting: a task may be queued. Then the word changes under the queue's lock only |
    /// | 1 | closed: no task gets a permit any more |
    /// | 2- | free permits; none while a task waits |
    state: AtomicUsize,
    queue: Queue,
}

impl Permits {
    /// The greatest number of permits.
    pub(super) const MOST: usize = usize::MAX >> 3;

    const_fn! {
        /// Returns that many free permits.
        pub(super) fn new(count: usize) -> Permits {
            assert!(count <= Permits::MOST, "a Semaphore cannot count so many permits");
            Permits { state: AtomicUsize::new(count * ONE), queue: Queue::new() }
        }
    }

    /// Returns how many permits are free; out of date when it returns.
    pub(super) fn free(&self) -> usize {
        self.load() / ONE
    }

    /// Returns the word, for a call that does not queue. In the child of a fork, where the tasks
    /// that waited are not, it is settled first: nothing else would, if no task waits there.
    #[inline]
    fn load(&self) -> usize {
        // Relaxed: out of date when it returns, or decided by an exchange.
        let state = self.state.load(Ordering::Relaxed);
        if check!(task_forked_try, state & WAITING != 0) { self.load_settled() } else { state }
    }

    #[cold]
    #[inline(never)]
    fn load_settled(&self) -> usize {
        self.queue.enter(|gathered| self.settle(gathered));
        // Relaxed: as in `load`.
        self.state.load(Ordering::Relaxed)
    }

    /// Locks the queue, settled if another process filled it.
    #[inline]
    fn lock(&self) -> Locked<'_> {
        self.queue.lock(|gathered| self.settle(gathered))
    }

    /// Returns true if the permits were closed.
    pub(super) fn is_closed(&self) -> bool {
        // Relaxed: says nothing about what was done before.
        self.state.load(Ordering::Relaxed) & CLOSED != 0
    }

    /// Takes `wanted` permits if that many are free and nothing is closed; returns true if it did.
    #[inline]
    pub(super) fn try_take(&self, wanted: u32) -> bool {
        let wanted = wanted as usize;
        let mut state = self.load();
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

    /// Takes up to `count` free permits away for good. Returns how many it took.
    pub(super) fn remove(&self, count: usize) -> usize {
        let mut state = self.load();
        loop {
            let taken = count.min(state / ONE);
            // Acquire: as in `try_take`.
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
    pub(super) fn give(&self, count: u32) {
        // Relaxed: the exchange decides.
        let mut state = self.state.load(Ordering::Relaxed);
        while state & WAITING == 0 {
            let Some(next) = plus(state, count) else { break };
            // Release: partner of the acquires in `try_take` and `queue`: what was done with the
            // permits happens before they are taken again.
            let order = order!(Release, task_give_release);
            match self.state.compare_exchange_weak(state, next, order, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => state = now,
            }
        }
        self.give_slow(count as usize);
    }

    /// Adds permits as `give` does. Returns false, with nothing changed, if there would be more
    /// than `MOST`.
    pub(super) fn add(&self, count: usize) -> bool {
        let queue = self.lock();
        // Relaxed: under the lock only `give` can add to the word, and that does not panic.
        let free = self.state.load(Ordering::Relaxed) / ONE + queue.gathered().get();
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
        queue.gathered().set(sum(queue.gathered().get(), count));
        HandOver::new(self, Verdict::Granted).run(queue);
    }

    /// Takes the mark of waiting tasks away, and frees what was `gathered`: of a queue that is
    /// empty, and that the caller has locked, or makes its process's.
    fn settle(&self, gathered: &Cell<usize>) {
        let count = gathered.take();
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

    /// Refuses permits to all tasks that wait, and to all that come.
    pub(super) fn close(&self) {
        let queue = self.lock();
        // Relaxed: says nothing about what was done before.
        self.state.fetch_or(CLOSED, Ordering::Relaxed);
        HandOver::new(self, Verdict::Refused).run(queue);
    }

    /// Polls a request that could not be met at once, or is queued.
    ///
    /// # Safety
    /// The caller is the node's owner; the node is pinned, used with these permits only, and
    /// [`cancel`](Self::cancel)led before its memory is used for anything else, unless it is idle.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn poll(&self, node: &Node, context: &Context<'_>) -> Poll<Result<(), Closed>> {
        // Cloned outside the lock, and only where it is needed.
        let mut spare = None;
        loop {
            if let Some(verdict) = node.verdict() {
                // Before the reset: if the waker's drop panics, the request is one that is dropped.
                drop(spare);
                node.reset();
                return Poll::Ready(if verdict == Verdict::Granted { Ok(()) } else { Err(Closed) });
            }
            if node.is_idle() {
                let waker = spare.take().unwrap_or_else(|| context.waker().clone());
                // SAFETY: the caller's promise; it is idle.
                return unsafe { self.queue(node, waker) };
            }
            let queue = self.lock();
            if node.verdict().is_some() {
                continue;
            }
            if !queue.has(node) {
                // Linked in the process from which this one was forked.
                node.reset();
                continue;
            }
            // SAFETY: the queue has it, since it has no verdict.
            if unsafe { queue.will_wake(node, context.waker()) } || mutated!(task_new_waker) {
                return Poll::Pending;
            }
            let Some(waker) = spare.take() else {
                drop(queue);
                spare = Some(context.waker().clone());
                continue;
            };
            // SAFETY: as above.
            let old = unsafe { queue.set_waker(node, waker) };
            drop(queue);
            drop(old);
            return Poll::Pending;
        }
    }

    /// Takes the permits, or queues the node.
    ///
    /// # Safety
    /// As for `poll`, and the node is idle.
    unsafe fn queue(&self, node: &Node, waker: Waker) -> Poll<Result<(), Closed>> {
        let wanted = node.wanted() as usize;
        let queue = self.lock();
        // Relaxed: the exchange decides.
        let mut state = self.state.load(Ordering::Relaxed);
        while state & CLOSED == 0 && state & WAITING == 0 {
            let free = state / ONE;
            let is_enough = free >= wanted;
            let next = if is_enough { state - wanted * ONE } else { WAITING };
            // Acquire: as in `try_take`: a task that is given the rest has waited for these as
            // well.
            match self.state.compare_exchange_weak(state, next, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) if is_enough => {
                    drop(queue);
                    // If the waker's drop panics, the permits are those of a request that is
                    // dropped.
                    node.grant();
                    drop(waker);
                    node.reset();
                    return Poll::Ready(Ok(()));
                }
                Ok(_) => {
                    queue.gathered().set(free);
                    break;
                }
                Err(_) if mutated!(task_queue_recheck) => break,
                Err(now) => state = now,
            }
        }
        if state & CLOSED != 0 {
            drop(queue);
            return Poll::Ready(Err(Closed));
        }
        // SAFETY: the caller's promise.
        let old = unsafe { queue.push(node, waker) };
        drop(queue);
        drop(old);
        Poll::Pending
    }

    /// Takes back a request that is not idle: gives on what it was granted, or takes it out of the
    /// queue.
    ///
    /// # Safety
    /// As for `poll`.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn cancel(&self, node: &Node) {
        let queue = self.lock();
        match node.verdict() {
            Some(Verdict::Granted) => {
                drop(queue);
                step!(task_pass_on, self.give(node.wanted()));
            }
            Some(Verdict::Refused) => {}
            None if queue.has(node) => {
                // SAFETY: the queue has it, since it has no verdict.
                unsafe { queue.remove(node) };
                // What was gathered for it may be enough for the next task.
                step!(task_cancel_hands_over, HandOver::new(self, Verdict::Granted).run(queue));
            }
            None => {}
        }
    }
}

/// Tells tasks from the front of the queue what they get, as far as the gathered permits go, and
/// wakes them outside the lock.
struct HandOver<'a> {
    permits: &'a Permits,
    verdict: Verdict,
    wakers: WakeList,
    /// No task is left that could be told.
    is_done: bool,
}

impl<'a> HandOver<'a> {
    #[inline]
    fn new(permits: &'a Permits, verdict: Verdict) -> Self {
        HandOver { permits, verdict, wakers: WakeList::new(), is_done: false }
    }

    fn run(&mut self, queue: Locked<'a>) {
        self.run_by(queue, Waker::wake);
    }

    #[inline]
    fn run_by(&mut self, mut queue: Locked<'a>, wake: impl Fn(Waker)) {
        loop {
            self.pop(&queue);
            if queue.is_empty() {
                self.permits.settle(queue.gathered());
            }
            drop(queue);
            self.wakers.wake(&wake);
            if self.is_done {
                return;
            }
            queue = self.permits.lock();
        }
    }

    /// Takes out the tasks that can be told, or as many as can be woken at once.
    fn pop(&mut self, queue: &Locked<'_>) {
        while !self.wakers.is_full() {
            let gathered = queue.gathered().get();
            let wanted = match (queue.first_wanted(), self.verdict) {
                (Some(_), Verdict::Refused) => 0,
                (Some(wanted), Verdict::Granted) if wanted <= gathered => wanted,
                _ => {
                    self.is_done = true;
                    return;
                }
            };
            queue.gathered().set(gathered - wanted);
            if let Some(waker) = queue.pop(self.verdict) {
                self.wakers.push(waker);
            }
        }
    }
}

impl Drop for HandOver<'_> {
    /// Wakes the others where a waker has panicked. The caller gets that panic; others are caught,
    /// since they would end the process here (as they do without the standard library).
    #[inline]
    fn drop(&mut self) {
        let is_left = !self.is_done || !self.wakers.is_empty();
        if check!(task_wake_the_rest, is_left) {
            self.run_by(self.permits.lock(), |waker| {
                panics(|| waker.wake());
            });
        }
    }
}
