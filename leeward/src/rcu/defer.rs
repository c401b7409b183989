//! Deferred callbacks: queued by anybody, run in batches, one grace period a batch, by the domain's worker.
//!
//! Producers fill the pending batch under a short lock. The worker takes it whole, waits for a grace period, runs it,
//! and looks again; it sleeps only when it found nothing, so nothing waits for a clock. What may be queued is
//! bounded.

use alloc::vec::Vec;
use core::cell::UnsafeCell;

use super::callback::Callback;
use super::domain::{Domain, State};
use super::limit::{Full, Limit, Policy};
use super::stats::Stats;
use super::{fork, local, thread, worker};
use crate::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, const_fn, fence};
use crate::futex;
use crate::mutant::mutated;
use crate::raw::Mutex;

/// The batch that is being filled.
struct Pending {
    callbacks: Vec<Callback>,
    /// The next batch's number, counted from 1.
    number: u64,
}

pub(crate) struct Queue {
    lock: Mutex,
    /// Guarded by `lock`.
    pending: UnsafeCell<Pending>,
    /// Held from the taking of a batch until it has run: batches end in order.
    reclaiming: Mutex,
    /// The thread that runs callbacks now, as `thread::this` names it; 0: none.
    runner: AtomicU64,
    /// The last batch that has run.
    finished: AtomicU64,
    /// Changes when a batch has run; where `barrier` and callers at the limit sleep.
    turn: AtomicU32,
    /// How many of those there are.
    waiting: AtomicU32,
    /// Callbacks and bytes that were queued and have not run.
    callbacks: AtomicUsize,
    bytes: AtomicUsize,
    /// The latest ticket that somebody polls for.
    pub(super) wanted: AtomicU64,
    pub(super) worker: worker::Worker,
    limit: UnsafeCell<Limit>,
}

// SAFETY: `pending` and `limit` are touched under `lock` only.
unsafe impl Sync for Queue {}
// SAFETY: callbacks are `Send`.
unsafe impl Send for Queue {}

impl Queue {
    const_fn! {
        pub(crate) fn new() -> Queue {
            Queue {
                lock: <Mutex>::new(),
                pending: UnsafeCell::new(Pending { callbacks: Vec::new(), number: 1 }),
                reclaiming: <Mutex>::new(),
                runner: AtomicU64::new(0),
                finished: AtomicU64::new(0),
                turn: AtomicU32::new(0),
                waiting: AtomicU32::new(0),
                callbacks: AtomicUsize::new(0),
                bytes: AtomicUsize::new(0),
                wanted: AtomicU64::new(0),
                worker: worker::Worker::new(),
                limit: UnsafeCell::new(Limit::DEFAULT),
            }
        }
    }

    /// Does something to the pending batch and the limit, which no panic may leave half done: `work` calls nobody's
    /// code.
    fn locked<R>(&self, work: impl FnOnce(&mut Pending, &mut Limit) -> R) -> R {
        self.lock.lock();
        // SAFETY: guarded by the lock, which we hold.
        let pending = unsafe { &mut *self.pending.get() };
        // SAFETY: as above.
        let limit = unsafe { &mut *self.limit.get() };
        let result = work(pending, limit);
        // SAFETY: locked above.
        unsafe { self.lock.unlock() };
        result
    }

    pub(super) fn limit(&self) -> Limit {
        self.locked(|_, limit| *limit)
    }

    pub(super) fn set_limit(&self, limit: Limit) {
        self.locked(|_, old| *old = limit);
        if !mutated!(set_limit_wake) {
            self.wake_waiting();
        }
    }

    /// Queues a callback; waits, helps or exceeds the limit where there is no room.
    pub(super) fn defer<D: Domain>(&'static self, mut callback: Callback) {
        fork::watch(D::state());
        loop {
            match self.push(callback, false) {
                Ok(first) => return self.after_push::<D>(first),
                Err((back, policy)) => {
                    callback = back;
                    if !self.make_room::<D>(policy, callback.bytes()) {
                        D::state().grace.counts.over_limit.add(1);
                        match self.push(callback, true) {
                            Ok(first) => self.after_push::<D>(first),
                            // No memory for the queue, and no way to wait for some: never run, never freed.
                            Err(_) => D::state().grace.counts.lost.add(1),
                        }
                        return;
                    }
                }
            }
        }
    }

    pub(super) fn try_defer<D: Domain, F: FnOnce() + Send + 'static>(
        &'static self,
        callback: F,
    ) -> Result<(), Full<F>> {
        self.try_push::<D>(Callback::from_closure(callback)).map_err(|back| {
            // SAFETY: it is the one that we made.
            Full(unsafe { back.into_closure() })
        })
    }

    pub(super) fn try_push<D: Domain>(&'static self, callback: Callback) -> Result<(), Callback> {
        fork::watch(D::state());
        match self.push(callback, false) {
            Ok(first) => {
                self.after_push::<D>(first);
                Ok(())
            }
            Err((back, _)) => Err(back),
        }
    }

    /// Ok tells whether it is the first of its batch. No memory for the queue itself counts as no room.
    fn push(&self, callback: Callback, regardless: bool) -> Result<bool, (Callback, Policy)> {
        self.locked(|pending, limit| {
            if !(regardless || self.has_room(limit, callback.bytes())) || pending.callbacks.try_reserve(1).is_err() {
                return Err((callback, limit.policy));
            }
            // Relaxed, both: bounds, which need no order; taken and given under locks anyhow.
            self.callbacks.fetch_add(1, Ordering::Relaxed);
            self.bytes.fetch_add(callback.bytes(), Ordering::Relaxed);
            pending.callbacks.push(callback);
            Ok(pending.callbacks.len() == 1)
        })
    }

    /// A value larger than the whole limit is let in when nothing else is there.
    fn has_room(&self, limit: &Limit, bytes: usize) -> bool {
        // Relaxed, both: bounds.
        let callbacks = self.callbacks.load(Ordering::Relaxed);
        let held = self.bytes.load(Ordering::Relaxed);
        callbacks == 0 || (callbacks < limit.callbacks && held.saturating_add(bytes) <= limit.bytes)
    }

    /// The worker takes whole batches until it finds none: only the first of a batch has to wake it.
    fn after_push<D: Domain>(&'static self, first: bool) {
        if first && !mutated!(worker_wake) {
            // If no thread can be started, `barrier` and the limit run what is queued, where waiting is expected.
            self.worker.wake::<D>();
        }
    }

    /// Asks for a grace period for somebody who polls.
    pub(super) fn want<D: Domain>(&'static self, ticket: u64) {
        // Release: partner of the worker's acquire.
        self.wanted.fetch_max(ticket, Ordering::Release);
        if !mutated!(want_wake) {
            self.worker.wake::<D>();
        }
    }

    pub(super) fn has_worker(&self) -> bool {
        self.worker.is_running()
    }

    /// In a section or a callback of the domain's: waiting for callbacks would be waiting for oneself.
    fn may_not_wait<D: Domain>(&self) -> bool {
        self.runs_here() || local::is_inside::<D>() || D::state().grace.is_inside()
    }

    /// Whether the calling thread is running a callback.
    fn runs_here(&self) -> bool {
        // Relaxed: if it is us, it is our own store.
        let runner = self.runner.load(Ordering::Relaxed);
        runner == thread::this() && runner != thread::UNKNOWN
    }

    /// Waits for room, or makes some. False where the caller can do neither.
    #[cold]
    #[inline(never)]
    fn make_room<D: Domain>(&'static self, policy: Policy, bytes: usize) -> bool {
        if mutated!(limit_waits) || self.may_not_wait::<D>() {
            return false;
        }
        if policy == Policy::Block && self.worker.wake::<D>() {
            self.wait_until(|| self.locked(|_, limit| self.has_room(limit, bytes)));
            // Room at once means that it is memory that is wanting.
            futex::yield_now();
        } else if !self.reclaim::<D>() {
            // Somebody else took the batch and has run it by now, or it is running: no memory, or none left to take.
            futex::yield_now();
        }
        true
    }

    /// Sleeps until `is_so`, looking again whenever a batch has run; or until there is no worker (it could not be
    /// started).
    fn wait_until(&self, is_so: impl Fn() -> bool) {
        let is_so = || is_so() || !self.worker.is_running();
        while !is_so() {
            // Relaxed: compared by the kernel.
            let turn = self.turn.load(Ordering::Relaxed);
            // Relaxed: ordered by the fence.
            self.waiting.fetch_add(1, Ordering::Relaxed);
            if !mutated!(waiting_fence) {
                // SeqCst. Pair E: our announcement is before our last look; partner: the fence in `wake_waiting`.
                fence(Ordering::SeqCst);
            }
            if mutated!(waiting_recheck) || !is_so() {
                futex::wait(&self.turn, turn, None);
            }
            // Relaxed: counted too long, it costs a wake for nothing.
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }

    pub(super) fn wake_waiting(&self) {
        if !mutated!(batch_fence) {
            // SeqCst. Pair E: what has been done is before the look at who waits; partner: the fence in `wait_until`.
            fence(Ordering::SeqCst);
        }
        // Relaxed: ordered by the fence.
        if self.waiting.load(Ordering::Relaxed) != 0 && !mutated!(batch_wake) {
            // Relaxed: the kernel compares it under its queue's lock.
            self.turn.fetch_add(1, Ordering::Relaxed);
            futex::wake(&self.turn, futex::ALL);
        }
    }

    pub(super) fn barrier<D: Domain>(&'static self) {
        assert!(
            !self.runs_here(),
            "leeward: barrier() called inside a callback of the same domain: it would wait for itself for ever"
        );
        assert!(
            !local::is_inside::<D>() && !D::state().grace.is_inside(),
            "leeward: barrier() called inside a read section of the same domain: it would wait for itself for ever"
        );
        // The batch that holds the last callback queued so far.
        let last = self.locked(|pending, _| pending.number - u64::from(pending.callbacks.is_empty()));
        // Acquire: partner of the release in `run`.
        let finished = || self.finished.load(Ordering::Acquire) >= last;
        while !finished() && !mutated!(barrier_waits) {
            if self.worker.wake::<D>() {
                self.wait_until(finished);
            } else {
                self.reclaim::<D>();
            }
        }
    }

    /// Takes the pending batch, waits for a grace period and runs it. False if there was none. The caller may wait.
    pub(super) fn reclaim<D: Domain>(&'static self) -> bool {
        self.reclaiming.lock();
        let mut running = Running { queue: self, generation: fork::generation(), number: None };
        let (callbacks, number) = self.locked(|pending, _| {
            let callbacks = core::mem::take(&mut pending.callbacks);
            let number = pending.number;
            pending.number += u64::from(!callbacks.is_empty());
            (callbacks, number)
        });
        if callbacks.is_empty() {
            return false;
        }
        running.number = Some(number);
        if !mutated!(worker_grace) {
            // Never refused: nothing may run before its grace period, whatever became of this thread's own sections.
            D::state().grace.wait::<D::Fence>();
        }
        self.run(D::state(), callbacks, running.generation);
        true
    }

    /// Runs a batch; stops if a callback forked and this is the child, whose queue was cleared: the rest is the
    /// parent's.
    fn run(&self, state: &State, callbacks: Vec<Callback>, generation: u64) {
        // Relaxed: read by the thread itself, and as a hint by those who poll.
        self.runner.store(thread::this(), Ordering::Relaxed);
        for callback in callbacks {
            let bytes = callback.bytes();
            if worker::panics(|| callback.run()) {
                state.grace.counts.callback_panics.add(1);
            }
            if fork::generation() != generation {
                return;
            }
            state.grace.counts.callbacks_run.add(1);
            // Relaxed, both: bounds.
            self.callbacks.fetch_sub(1, Ordering::Relaxed);
            self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    /// Whether callbacks are running, so that the worker runs no grace period for those who poll.
    pub(super) fn is_running_callbacks(&self) -> bool {
        // Relaxed: a hint.
        self.runner.load(Ordering::Relaxed) != 0
    }

    pub(super) fn stats(&self) -> Stats {
        // Relaxed, both: counts.
        let read = |count: &AtomicUsize| count.load(Ordering::Relaxed) as u64;
        Stats { callbacks_queued: read(&self.callbacks), bytes_queued: read(&self.bytes), ..Stats::default() }
    }

    /// In the child of a fork: what was queued is the parent's; the copy here is forgotten, whatever state it was
    /// caught in.
    pub(super) fn after_fork(&self) {
        self.lock.reset();
        self.reclaiming.reset();
        // SAFETY: the child has one thread; overwritten without a drop, since a thread that is not here may have been
        // changing it.
        unsafe {
            self.pending
                .get()
                .write(Pending { callbacks: Vec::new(), number: self.finished.load(Ordering::Relaxed) + 1 })
        };
        // Relaxed: the child has one thread.
        self.runner.store(0, Ordering::Relaxed);
        for word in [&self.callbacks, &self.bytes] {
            // Relaxed: the child has one thread.
            word.store(0, Ordering::Relaxed);
        }
        // Relaxed: as above.
        self.waiting.store(0, Ordering::Relaxed);
        self.worker.after_fork();
    }
}

/// That batches are being taken and run, until dropped; also by a panic, which without std may come from a callback:
/// then the rest of the batch is leaked.
struct Running<'a> {
    queue: &'a Queue,
    generation: u64,
    number: Option<u64>,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if fork::generation() != self.generation {
            // A callback forked, and this is the child: everything is as new.
            return;
        }
        if let Some(number) = self.number {
            // Relaxed: as in `run`.
            self.queue.runner.store(0, Ordering::Relaxed);
            // Release: partner of the acquire in `barrier`: what the callbacks did.
            self.queue.finished.store(number, Ordering::Release);
            self.queue.wake_waiting();
        }
        // SAFETY: whoever made this holds it.
        unsafe { self.queue.reclaiming.unlock() };
    }
}
