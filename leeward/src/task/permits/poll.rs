//! A future's side of the permits: its request is polled until it is met, or taken back.

use core::task::{Poll, Waker};

use super::super::hand_over::{HandOver, Spent};
use super::super::node::{Status, TaskNode};
use super::super::queue::{LockedQueue, Sibling};
use super::super::word::{CLOSED, ONE, SINGLE, WAITING};
use super::{Permits, Refused};
use crate::atomic::Ordering;
use crate::mutant::{check, mutated, step};

/// What a poll returns.
type Outcome = Poll<Result<(), Refused>>;

/// The wakers of one poll. They are cloned and dropped outside of the queue's lock, since they are
/// foreign code, and cloned only where one is needed.
struct Wakers<'c> {
    /// The waker of the context. `None`: the request is queued, or looked at, and no task is to be woken
    /// by that.
    own: Option<&'c Waker>,
    /// A clone that was made, and is not used yet.
    spare: Option<Waker>,
    /// True if this poll has given the node a clone.
    is_set: bool,
}

impl Wakers<'_> {
    /// Returns a clone to be used: the spare one, if there is one.
    fn take(&mut self) -> Option<Waker> {
        self.spare.take().or_else(|| self.own.cloned())
    }
}

impl Permits {
    /// Polls a request that could not be met at once, or is queued. It is refused, without any permits
    /// but those that it was handed, if `is_told` of the time when the queue is locked.
    ///
    /// # Safety
    /// The caller is the node's owner; the node is pinned, used with these permits only, and
    /// [`cancel`](Self::cancel)led before its memory is used for anything else, unless it is idle.
    #[cold]
    #[inline(never)]
    pub(in crate::task) unsafe fn poll(
        &self,
        node: &TaskNode,
        waker: Option<&Waker>,
        is_told: impl Fn() -> bool,
    ) -> Outcome {
        let mut wakers = Wakers { own: waker, spare: None, is_set: false };
        loop {
            if node.is(Status::Held) {
                // A waker's drop panicked in the poll that took the permits.
                node.set(Status::Idle);
                return Poll::Ready(Ok(()));
            }
            if node.is_idle() {
                // SAFETY: the caller's promise; it is idle.
                return unsafe { self.queue(node, wakers, is_told) };
            }
            let queue = self.lock();
            if !queue.has(node) {
                drop(queue);
                // SAFETY: linked in the process from which this one was forked; the owner's here.
                let old = unsafe { node.take_waker(false) };
                node.set(Status::Idle);
                drop(old);
                continue;
            }
            let is_queued = node.is(Status::Queued);
            if is_queued && !is_told() && !check!(task_refuse_closed, self.is_closed()) {
                // SAFETY: the caller's promise; the queue has it, and it is queued.
                match unsafe { self.wait_on(queue, node, &mut wakers) } {
                    Some(end) => return end,
                    None => continue,
                }
            }
            if wakers.spare.is_some() {
                // If the waker's drop panics, the request is as it was.
                drop(queue);
                wakers.spare = None;
                continue;
            }
            if is_queued {
                // SAFETY: the caller's promise; the queue has it, and it is queued.
                unsafe { self.leave(queue, node) };
                return Poll::Ready(Err(Refused));
            }
            // SAFETY: the queue has it, and it was told.
            return Poll::Ready(unsafe { hear(&queue, node) });
        }
    }

    /// Polls a request that is queued and was told nothing: gives it the task's newer waker, or the
    /// permits that another future of the task was handed. Returns `None` if the caller has to look
    /// at the node again.
    ///
    /// # Safety
    /// As for `poll`; the queue has the node, and it is queued.
    unsafe fn wait_on(&self, queue: LockedQueue<'_>, node: &TaskNode, wakers: &mut Wakers<'_>) -> Option<Outcome> {
        let Some(own) = wakers.own else { return Some(Poll::Pending) };
        // SAFETY: the queue has it.
        if !wakers.is_set && !unsafe { queue.will_wake(node, own) } && !mutated!(task_new_waker) {
            drop(queue);
            let waker = wakers.spare.take().unwrap_or_else(|| own.clone());
            // SAFETY: the caller's promise.
            unsafe { self.renew(node, waker) };
            wakers.is_set = true;
            return None;
        }
        // SAFETY: the queue has it, and it is queued.
        match unsafe { queue.sibling(node) } {
            Sibling::PassedOver(other) if !mutated!(task_kept_taken) => {
                let Some(waker) = wakers.spare.take() else {
                    drop(queue);
                    wakers.spare = Some(own.clone());
                    return None;
                };
                // SAFETY: the queue has both, which are of this context's task.
                unsafe { queue.trade(node, other, waker, Permits::MOST) };
                if queue.counts().gathered() < node.wanted() as usize {
                    // Another one may have been handed the rest.
                    return None;
                }
                // SAFETY: the caller's promise; the node is the first, and has what it wants.
                unsafe { self.take_first(queue, node) };
                Some(Poll::Ready(Ok(())))
            }
            sibling => {
                queue.note_poll(node);
                let is_woken = matches!(sibling, Sibling::Polled);
                drop(queue);
                wakers.spare = None;
                if is_woken {
                    step!(task_kept_wakes, own.wake_by_ref());
                }
                Some(Poll::Pending)
            }
        }
    }

    /// Gives a node that is queued another waker.
    ///
    /// # Safety
    /// As for `poll`, and the node was queued in this process.
    unsafe fn renew(&self, node: &TaskNode, waker: Waker) {
        let queue = self.lock();
        if queue.has(node) && node.is(Status::Queued) {
            // SAFETY: the queue has it.
            let old = unsafe { queue.set_waker(node, waker) };
            drop(queue);
            drop(old);
        } else {
            drop(queue);
            drop(waker);
        }
    }

    /// Takes what was gathered for the first task, which is the caller's, and hands the rest on.
    ///
    /// # Safety
    /// As for `poll`; the node is the first in the line, and as much was gathered as it wants.
    unsafe fn take_first(&self, queue: LockedQueue<'_>, node: &TaskNode) {
        queue.counts().spend(node.wanted());
        // SAFETY: the queue has it.
        let spent = Spent(unsafe { queue.leave(node) });
        // If a waker panics from here on, the permits are those of a request that is dropped.
        node.set(Status::Held);
        if mutated!(task_kept_rest) {
            drop(queue);
        } else {
            HandOver::granting(self).run(queue);
        }
        spent.drop();
        node.set(Status::Idle);
    }

    /// Takes the permits, or queues the node.
    ///
    /// # Safety
    /// As for `poll`, and the node is idle.
    unsafe fn queue(&self, node: &TaskNode, mut wakers: Wakers<'_>, is_told: impl Fn() -> bool) -> Outcome {
        let wanted = node.wanted() as usize;
        let waker = wakers.take();
        let queue = self.lock();
        if is_told() {
            drop(queue);
            return Poll::Ready(Err(Refused));
        }
        // Relaxed: the exchange decides.
        let mut state = self.state.load(Ordering::Relaxed);
        while state & CLOSED == 0 && state & WAITING == 0 {
            let free = state / ONE;
            let is_enough = free >= wanted;
            let next = if is_enough { state - wanted * ONE } else { (state & SINGLE) | WAITING };
            // Acquire: as in `take`: a task that is given the rest has waited for these as
            // well.
            match self.state.compare_exchange_weak(state, next, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) if is_enough => {
                    drop(queue);
                    // If the waker's drop panics, the permits are those of a request that is
                    // dropped.
                    node.set(Status::Held);
                    drop(waker);
                    node.set(Status::Idle);
                    return Poll::Ready(Ok(()));
                }
                Ok(_) => {
                    queue.counts().gather(free, Permits::MOST);
                    break;
                }
                Err(_) if mutated!(task_queue_recheck) => break,
                Err(now) => state = now,
            }
        }
        if state & CLOSED != 0 {
            drop(queue);
            return Poll::Ready(Err(Refused));
        }
        // SAFETY: the caller's promise.
        unsafe { queue.push(node, waker) };
        // SAFETY: the queue has it, and it is queued.
        let has_sibling = !matches!(unsafe { queue.sibling(node) }, Sibling::None);
        drop(queue);
        if let Some(own) = wakers.own.filter(|_| has_sibling) {
            step!(task_kept_wakes_first, own.wake_by_ref());
        }
        Poll::Pending
    }

    /// Takes back a request that is not idle: gives on what it was granted, or takes it out of the
    /// queue.
    ///
    /// # Safety
    /// As for `poll`.
    #[cold]
    #[inline(never)]
    pub(in crate::task) unsafe fn cancel(&self, node: &TaskNode) {
        if node.is(Status::Held) {
            // (Where one permit at most is free, under the lock.)
            return self.give_slow(node.wanted() as usize);
        }
        let queue = self.lock();
        if !queue.has(node) {
            drop(queue);
            // SAFETY: linked in the process from which this one was forked; the owner's here.
            drop(unsafe { node.take_waker(false) });
        } else if node.is(Status::Handed) {
            // SAFETY: the queue has it, and it was handed permits.
            unsafe { queue.fetch(node) };
            step!(task_pass_on, self.hand_on(queue, node.wanted() as usize));
        } else if node.is(Status::Queued) {
            // SAFETY: the caller's promise; the queue has it, and it is queued.
            unsafe { self.leave(queue, node) };
        }
    }

    /// Takes a request out of the line.
    ///
    /// # Safety
    /// As for `poll`; the queue has the node, and it is queued.
    unsafe fn leave(&self, queue: LockedQueue<'_>, node: &TaskNode) {
        // SAFETY: the queue has it.
        let spent = Spent(unsafe { queue.leave(node) });
        node.set(Status::Idle);
        // What was gathered for it may be enough for the next task.
        step!(task_cancel_hands_over, self.hand_on(queue, 0));
        spent.drop();
    }
}

/// Ends a request whose node was told: takes what it was handed, if anything.
///
/// # Safety
/// The caller is the node's owner; the queue has the node, which was told.
unsafe fn hear(queue: &LockedQueue<'_>, node: &TaskNode) -> Result<(), Refused> {
    let is_granted = node.is(Status::Handed);
    if is_granted {
        // SAFETY: the queue has it, and it was handed permits.
        unsafe { queue.fetch(node) };
    }
    node.set(Status::Idle);
    if is_granted { Ok(()) } else { Err(Refused) }
}
