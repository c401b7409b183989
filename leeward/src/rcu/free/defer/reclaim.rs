//! Taking what is queued, waiting for a grace period, and running it.

use core::ptr::{self, NonNull};

use super::super::head::Head;
use super::super::limit::QueuedAmount;
use super::super::worker;
use super::Queue;
use super::twice::deferred_twice;
use crate::atomic::Ordering;
use crate::futex::Timeout;
use crate::mutant::{check, mutated, order, step};
use crate::process::{fork, thread};
use crate::rcu::backing::State;
use crate::rcu::c::Callbacks;

/// `current` while a batch is taken and brought into order. No head has this address.
const TAKING: *mut Head = ptr::without_provenance_mut(1);

/// The outcome of an attempt to run callbacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::rcu) enum Reclaimed {
    /// A batch has run.
    Batch,
    /// Nothing was queued.
    Nothing,
    /// The time was up, and the batch stays queued.
    TimedOut,
    /// A callback forked, and this is the child.
    Forked,
}

impl Queue {
    /// Takes what is queued, waits for a grace period until `timeout` at most, and runs the batch.
    ///
    /// A panic (of a stall's handler, or where no heavy fence is possible) leaves the batch queued.
    pub(in crate::rcu) fn reclaim(&'static self, domain: &'static State, timeout: Timeout) -> Reclaimed {
        let is_ours = match timeout {
            Timeout::Now => self.reclaiming.try_lock(),
            Timeout::At(deadline) => self.reclaiming.try_lock_until(deadline),
            Timeout::Never => {
                self.reclaiming.lock();
                true
            }
        };
        if !is_ours {
            return Reclaimed::TimedOut;
        }
        let generation = fork::generation();
        let _reclaiming = Reclaiming { queue: self, state: domain, generation };
        // Relaxed: changed under the lock.
        if self.batch.load(Ordering::Relaxed).is_null() && !self.take(domain) {
            return Reclaimed::Nothing;
        }
        // `wait`, which is never refused: nothing may run before its grace period, whatever became
        // of this thread's own sections.
        if !mutated!(worker_grace) && !domain.grace.wait(timeout) {
            return Reclaimed::TimedOut;
        }
        self.run(domain, generation)
    }

    /// Takes all that is queued and brings it into order. Returns false if there is nothing.
    fn take(&self, domain: &'static State) -> bool {
        // Relaxed: only the holder of the lock takes.
        if self.incoming.last.load(Ordering::Relaxed).is_null() {
            return false;
        }
        self.begin(domain, TAKING);
        // Relaxed, both: changed under the lock. Before the exchange: a thread that finds nothing
        // queued finds the batch counted.
        self.taken.store(self.taken.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        // Acquire: partner of the releases in `link`. Release: partner of the acquire in `barrier`.
        let last = self.incoming.last.swap(ptr::null_mut(), order!(AcqRel, take_acquire => Release));
        // SAFETY: the heads were taken: no other thread has them.
        let batch = unsafe { in_order(last) }.unwrap_or_else(|head| deferred_twice(domain, head));
        self.batch.store(batch, Ordering::Relaxed);
        self.end();
        true
    }

    /// Announces what is begun in `current`, so that a fork waits for its end; waits first while
    /// the process forks. Both waits are bounded.
    fn begin(&self, domain: &'static State, what: *mut Head) {
        loop {
            // Relaxed: ordered by the fence.
            self.current.store(what, Ordering::Relaxed);
            // Pair L, light half. Partner: the heavy fence in `pause`.
            // - If our store comes first, the forking thread sees that something runs and waits for
            //   its end.
            // - If the heavy fence comes first, we see that it forks and do not begin.
            step!(pause_light, domain.grace.kind.light());
            // Relaxed: ordered by the fence.
            if self.pausing.load(Ordering::Relaxed) == 0 {
                return;
            }
            self.end();
            self.wait_for_forks();
        }
    }

    /// Announces that what was begun has ended.
    fn end(&self) {
        // Release: what was begun is done, for the forking thread. Partner: the acquire in `pause`.
        self.current.store(ptr::null_mut(), Ordering::Release);
    }

    /// Runs the batch, whose grace period has passed.
    fn run(&self, domain: &'static State, generation: u64) -> Reclaimed {
        if !self.call_all(domain, generation) {
            return Reclaimed::Forked;
        }
        // A thread that learns of this finds no reader any more that was one for the callbacks.
        self.finish();
        Reclaimed::Batch
    }

    /// Calls the callbacks of the batch. Returns false in the child of a fork by one of them, where the
    /// queue was reset.
    fn call_all(&self, domain: &'static State, generation: u64) -> bool {
        let _callbacks = Callbacks::begin(domain);
        // Relaxed: read by the thread itself, and as a hint by threads that poll.
        self.runner.store(thread::current(), Ordering::Relaxed);
        // Relaxed, here and below: changed under the lock.
        while let Some(head) = NonNull::new(self.batch.load(Ordering::Relaxed)) {
            self.begin(domain, head.as_ptr());
            // SAFETY: the head is in the batch, so it is whole, and ours.
            let this = unsafe { head.as_ref() };
            if check!(twice_in_batch, !this.is_taken()) {
                // What comes after it in the batch cannot be found any more.
                deferred_twice(domain, head.as_ptr());
            }
            let next = this.next_unmarked();
            // Release: the child of a fork that finds the rest of the batch also finds, in
            // `current`, that this head was begun. (The child's memory is a copy of some instant.)
            self.batch.store(next, Ordering::Release);
            self.bytes.store(0, Ordering::Relaxed);
            // SAFETY: the head is ours, not in the batch any more, and its grace period has passed.
            if worker::panics(|| unsafe { Head::call(head) }) {
                domain.grace.counts.callback_panics.add(1);
            }
            if fork::generation() != generation {
                return false;
            }
            self.end();
            self.count_one(domain);
        }
        true
    }

    /// Notes how many bytes the running callback counted.
    pub(in crate::rcu) fn note_bytes(&self, bytes: usize) {
        // Relaxed: changed under the lock.
        self.bytes.store(bytes as u64, Ordering::Relaxed);
    }

    /// Counts one callback as run, and no longer as queued.
    fn count_one(&self, state: &State) {
        state.grace.counts.callbacks_run.add(1);
        // Relaxed, all: changed under the lock.
        let inherited = self.inherited.load(Ordering::Relaxed);
        if inherited != 0 {
            self.inherited.store(inherited - 1, Ordering::Relaxed);
        } else {
            self.incoming.held.subtract(QueuedAmount::one(self.bytes.load(Ordering::Relaxed) as usize));
        }
    }

    /// Announces that the batch has run, and wakes the threads that wait for it.
    fn finish(&self) {
        // Relaxed: as in `run`.
        self.runner.store(0, Ordering::Relaxed);
        // Relaxed: changed under the lock.
        let taken = self.taken.load(Ordering::Relaxed);
        // Release: what the callbacks did. Partner: the acquire in `barrier`.
        self.finished.store(taken, Ordering::Release);
        self.wake_waiting();
    }
}

/// Brings heads that are linked from the last to the first into order, marks them as taken, and
/// returns the first.
///
/// # Errors
/// A head that was taken before: it is met for the second time, or is another queue's as well.
///
/// # Safety
/// The heads are the caller's alone.
pub(super) unsafe fn in_order(last: *mut Head) -> Result<*mut Head, *mut Head> {
    let (mut head, mut rest) = (last, ptr::null_mut());
    while !head.is_null() {
        // SAFETY: the caller's promise. Pointers go on, not references: a head is a part of what its
        // callback frees, and the pointer that was queued may reach all of that.
        let this = unsafe { &*head };
        if check!(twice_in_queue, this.is_taken()) {
            return Err(head);
        }
        let next = this.next_unmarked();
        this.set_taken_next(rest);
        (head, rest) = (next, head);
    }
    Ok(rest)
}

/// The guard of the lock `reclaiming`. Its drop unlocks, after a panic as well.
struct Reclaiming {
    queue: &'static Queue,
    state: &'static State,
    generation: u64,
}

impl Drop for Reclaiming {
    fn drop(&mut self) {
        if fork::generation() != self.generation {
            // A callback forked, and this is the child, where the lock was reset.
            return;
        }
        // Without `std` a callback's panic is not caught and comes here. The rest of the batch then
        // waits for another grace period.
        // Relaxed, both: as in `run`.
        self.queue.runner.store(0, Ordering::Relaxed);
        if !self.queue.current.load(Ordering::Relaxed).is_null() {
            self.queue.end();
            self.queue.count_one(self.state);
        }
        // SAFETY: locked by the thread that made this.
        unsafe { self.queue.reclaiming.unlock() };
    }
}
