//! Deferred callbacks: queued by any thread, run in batches, one grace period a batch, by the domain's worker.
//!
//! The queue is a stack of heads that producers push to by compare-exchange: no lock, no allocation, whole at any
//! instruction, so that the child of a fork finds it whole. The worker (or a caller that helps) takes all of it,
//! brings it into order, waits for a grace period and calls one after the other, and looks again; it sleeps only when
//! it found nothing, so nothing waits for a clock. What stands on the way from queue to call is kept in the domain,
//! not on the worker's stack: a grace period that unwinds leaves the batch where it is, and a fork's child may adopt it.
//!
//! | file | idea |
//! |---|---|
//! | `mod` | the queue |
//! | `queueing` | the thread that queues, and the limit |
//! | `barrier` | the thread that waits for callbacks |
//! | `reclaim` | the thread that takes a batch and runs it |
//! | `adopt` | forks |
//!
//! The stack is R. K. Treiber's ("Systems Programming: Coping with Parallelism", 1986), taken whole: so nothing is
//! popped, and no address can be mistaken for another (ABA).

mod adopt;
mod barrier;
mod queueing;
mod reclaim;

use core::ptr::{self, NonNull};

pub(super) use reclaim::Reclaimed;

use super::head::Head;
use super::limit::{Bounds, Count, Limit};
use super::stats::Stats;
use super::worker;
use crate::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, const_fn, fence};
use crate::futex::{self, Timeout, Wait};
use crate::mutant::{check, mutated, order, step};
use crate::process::thread;
use crate::raw::Mutex;

/// What producers write, apart from what the consumer does.
#[repr(align(128))]
struct Incoming {
    /// The head that was queued last.
    last: AtomicPtr<Head>,
    held: Count,
}

#[repr(align(128))]
pub(crate) struct Queue {
    incoming: Incoming,
    /// Held by the one thread that takes batches and runs them, so that they end in order.
    reclaiming: Mutex,
    /// Batches that were taken. Changed under `reclaiming`.
    taken: AtomicU64,
    /// The last batch that has run.
    finished: AtomicU64,
    /// What is left of the batch that was taken last, in order. Changed under `reclaiming`.
    batch: AtomicPtr<Head>,
    /// The head that is being called, or `TAKING`; null: neither. Changed under `reclaiming`.
    current: AtomicPtr<Head>,
    /// What the callback that runs counted. Changed under `reclaiming`.
    bytes: AtomicU64,
    /// How many of the batch came from the parent of a fork: they are not in `incoming.held`.
    inherited: AtomicU64,
    /// Forks under way, beside which no callback is to begin.
    pausing: AtomicU32,
    /// The id of the thread that runs callbacks now (`thread::current`); 0: none.
    runner: AtomicU64,
    /// Changes when a batch has run; where `barrier` and callers beyond the limit sleep.
    round: AtomicU32,
    /// How many of those there are.
    waiting: AtomicU32,
    /// 1: the child of a fork runs what it inherited.
    child_adopts: AtomicU32,
    /// The latest ticket that is polled for.
    pub(super) wanted: AtomicU64,
    pub(super) worker: worker::Worker,
    limit: Bounds,
}

// SAFETY: heads are of callbacks that may be called on any thread, and each is called by one.
unsafe impl Sync for Queue {}
// SAFETY: as above.
unsafe impl Send for Queue {}

impl Queue {
    const_fn! {
        pub(crate) fn new() -> Queue {
            Queue {
                incoming: Incoming { last: AtomicPtr::new(ptr::null_mut()), held: Count::new() },
                reclaiming: <Mutex>::new(),
                taken: AtomicU64::new(0),
                finished: AtomicU64::new(0),
                batch: AtomicPtr::new(ptr::null_mut()),
                current: AtomicPtr::new(ptr::null_mut()),
                bytes: AtomicU64::new(0),
                inherited: AtomicU64::new(0),
                pausing: AtomicU32::new(0),
                runner: AtomicU64::new(0),
                round: AtomicU32::new(0),
                waiting: AtomicU32::new(0),
                child_adopts: AtomicU32::new(0),
                wanted: AtomicU64::new(0),
                worker: worker::Worker::new(),
                limit: Bounds::new(),
            }
        }
    }

    pub(super) fn limit(&self) -> Limit {
        self.limit.get()
    }

    pub(super) fn set_limit(&self, limit: Limit) {
        self.limit.set(limit);
        step!(set_limit_wake, self.wake_waiting());
    }

    pub(super) fn has_worker(&self) -> bool {
        self.worker.is_running()
    }

    pub(super) fn stats(&self) -> Stats {
        let held = self.incoming.held.get();
        // Relaxed: a count.
        let inherited = self.inherited.load(Ordering::Relaxed);
        Stats { callbacks_queued: held.callbacks() + inherited, bytes_queued: held.bytes(), ..Stats::default() }
    }

    /// Pushes it; returns true if nothing was there.
    fn link(&self, head: NonNull<Head>) -> bool {
        // SAFETY: the caller's own until the exchange below.
        let this = unsafe { head.as_ref() };
        // Relaxed: the exchange decides.
        let mut last = self.incoming.last.load(Ordering::Relaxed);
        loop {
            this.set_next(last);
            // Release: the object is whole. Partner: the acquire in `take`. Relaxed on failure: again.
            match self.incoming.last.compare_exchange_weak(
                last,
                head.as_ptr(),
                order!(Release, push_release),
                Ordering::Relaxed,
            ) {
                Ok(_) => return last.is_null(),
                Err(now) => last = now,
            }
        }
    }

    fn is_beyond_limit(&self) -> bool {
        self.limit.are_exceeded_by(self.incoming.held.get())
    }

    /// Returns true if the calling thread is running a callback.
    pub(super) fn runs_here(&self) -> bool {
        // Relaxed: if it is this thread, it is its own store.
        let runner = self.runner.load(Ordering::Relaxed);
        runner == thread::current() && runner != thread::UNKNOWN
    }

    /// Returns true while callbacks are running, so that the worker runs no grace period for those who poll.
    pub(super) fn is_running_callbacks(&self) -> bool {
        // Relaxed: a hint.
        self.runner.load(Ordering::Relaxed) != 0
    }
}

/// Those who wait for callbacks.
impl Queue {
    /// Returns true if all that was queued has run.
    fn is_idle(&self) -> bool {
        // Acquire: nothing is queued, and all that was is among those taken. Partner: as in `barrier`.
        let is_empty = self.incoming.last.load(Ordering::Acquire).is_null();
        // Relaxed: ordered by the acquire above.
        let taken = self.taken.load(Ordering::Relaxed);
        // Acquire: partner of the release in `run`.
        is_empty && self.finished.load(Ordering::Acquire) >= taken
    }

    /// Sleeps until `is_so`, looking again whenever a batch has run; or until there is no worker (it could not be
    /// started, or ended), or the time is up.
    fn wait_until(&self, is_so: impl Fn() -> bool, timeout: Timeout) {
        let is_so = || is_so() || !self.worker.is_running();
        while !is_so() {
            // Relaxed: compared by the kernel.
            let round = self.round.load(Ordering::Relaxed);
            // Relaxed: ordered by the fence.
            self.waiting.fetch_add(1, Ordering::Relaxed);
            // SeqCst. Pair E: our announcement is before our last look; partner: the fence in `wake_waiting`.
            step!(waiting_fence, fence(Ordering::SeqCst));
            let is_late =
                (mutated!(waiting_recheck) || !is_so()) && futex::wait(&self.round, round, timeout) == Wait::TimedOut;
            // Relaxed: counted too long, it costs a wake for nothing.
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            if is_late {
                return;
            }
        }
    }

    pub(super) fn wake_waiting(&self) {
        // SeqCst. Pair E: what has been done is before the look at who waits; partner: the fence in `wait_until`.
        step!(batch_fence, fence(Ordering::SeqCst));
        // Relaxed: ordered by the fence.
        if check!(batch_wake, self.waiting.load(Ordering::Relaxed) != 0) {
            // Relaxed: the kernel compares it under its queue's lock.
            self.round.fetch_add(1, Ordering::Relaxed);
            futex::wake(&self.round, futex::ALL);
        }
    }
}
