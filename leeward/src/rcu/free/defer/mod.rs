//! Deferred callbacks: queued by any thread, run in batches by the domain's worker, with one grace
//! period for each batch.
//!
//! The queue is a stack of heads that producers push to by compare-exchange: no lock, no
//! allocation, and whole at any instruction, so the child of a fork finds it whole. The worker (or
//! a caller that helps) takes all of it, brings it into order, waits for a grace period, calls one
//! head after the other, and looks again. It sleeps only when it found nothing, so nothing waits
//! for a clock. A batch on its way from stack to call is kept in the domain, not on the worker's
//! stack: a grace period that unwinds leaves the batch where it is, and the child of a fork may
//! adopt it.
//!
//! | file | idea |
//! |---|---|
//! | `mod` | the queue |
//! | `queueing` | the thread that queues, and the limit |
//! | `barrier` | the thread that waits for callbacks |
//! | `queued` | looking at all that is queued |
//! | `reclaim` | the thread that takes a batch and runs it |
//! | `adopt` | forks |
//! | `twice` | a head that is queued again before it was called |
//!
//! The stack is R. K. Treiber's ("Systems Programming: Coping with Parallelism", 1986). It is taken
//! as a whole, never popped, so no address can be mistaken for another (ABA).

mod adopt;
mod barrier;
#[cfg(any(feature = "threads", leeward_loom))]
mod queued;
mod queueing;
mod reclaim;
mod twice;

use core::ptr;

pub(in crate::rcu) use reclaim::Reclaimed;

use super::super::grace::Steps;
use super::super::grace::stats::Stats;
use super::head::Head;
use super::limit::{Bounds, Count, Limit};
use super::worker;
use crate::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, const_fn, fence};
use crate::futex::{self, Timeout, Wait};
use crate::mutant::{check, mutated, step};
use crate::process::thread;
use crate::raw::Mutex;

/// The words that producers write, on lines apart from the consumer's.
#[repr(align(128))]
struct Incoming {
    /// The head that was queued last.
    last: AtomicPtr<Head>,
    /// The amount that was queued and has not run.
    held: Count,
}

/// A domain's queue of deferred callbacks.
#[repr(align(128))]
pub(crate) struct Queue {
    incoming: Incoming,
    /// The lock of the one thread that takes batches and runs them, so that they end in order.
    reclaiming: Mutex,
    /// The number of batches that were taken. Changed under `reclaiming`.
    taken: AtomicU64,
    /// The number of the last batch that has run.
    finished: AtomicU64,
    /// The rest of the batch that was taken last, in order. Changed under `reclaiming`.
    batch: AtomicPtr<Head>,
    /// The head that is being called, or `TAKING` while a batch is taken; null: neither. Changed
    /// under `reclaiming`.
    current: AtomicPtr<Head>,
    /// The bytes that the running callback counted. Changed under `reclaiming`.
    bytes: AtomicU64,
    /// The number of heads in the batch that came from the parent of a fork; `incoming.held` does
    /// not count them.
    inherited: AtomicU64,
    /// The number of forks under way, during which no callback begins.
    pausing: AtomicU32,
    /// The id of the thread that runs callbacks now (`thread::current`); 0: none.
    runner: AtomicU64,
    /// Changes when a batch has run. `barrier` and callers beyond the limit sleep on this word.
    round: AtomicU32,
    /// The number of threads that sleep on `round`, or are about to.
    waiting: AtomicU32,
    /// 1: the child of a fork forgets what it inherited; 0: it runs that.
    child_forgets: AtomicU32,
    /// The greatest ticket that a thread polls for.
    pub(in crate::rcu) wanted: AtomicU64,
    /// The grace period of the tasks that no worker serves.
    #[cfg_attr(not(feature = "threads"), allow(dead_code))]
    pub(in crate::rcu) steps: Steps,
    pub(in crate::rcu) worker: worker::Worker,
    limit: Bounds,
    /// The domain's state, for the worker's thread, which begins with the queue alone.
    pub(in crate::rcu) domain: AtomicPtr<()>,
}

// SAFETY: heads belong to callbacks that may be called on any thread, and one thread calls each.
unsafe impl Sync for Queue {}
// SAFETY: as above.
unsafe impl Send for Queue {}

impl Queue {
    const_fn! {
        /// Makes a queue with the default limit, whose copies children forget.
        pub(crate) fn new() -> Queue {
            Queue::with(Bounds::new(), 1)
        }
    }

    /// Makes a queue without a limit, whose copies children run.
    #[cfg(all(feature = "c", not(leeward_loom)))]
    pub(crate) const fn for_c() -> Queue {
        Queue::with(Bounds::none(), 0)
    }

    const_fn! {
        fn with(limit: Bounds, child_forgets: u32) -> Queue {
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
                child_forgets: AtomicU32::new(child_forgets),
                wanted: AtomicU64::new(0),
                steps: Steps::new(),
                worker: worker::Worker::new(),
                limit,
                domain: AtomicPtr::new(ptr::null_mut()),
            }
        }
    }

    pub(in crate::rcu) fn limit(&self) -> Limit {
        self.limit.get()
    }

    pub(in crate::rcu) fn set_limit(&self, limit: Limit) {
        self.limit.set(limit);
        step!(set_limit_wake, self.wake_waiting());
    }

    pub(in crate::rcu) fn has_worker(&self) -> bool {
        self.worker.is_running()
    }

    pub(in crate::rcu) fn stats(&self) -> Stats {
        let held = self.incoming.held.get();
        // Relaxed: a count.
        let inherited = self.inherited.load(Ordering::Relaxed);
        Stats { callbacks_queued: held.callbacks() + inherited, bytes_queued: held.bytes(), ..Stats::default() }
    }

    fn is_beyond_limit(&self) -> bool {
        self.limit.are_exceeded_by(self.incoming.held.get())
    }

    /// Returns true if the calling thread is running a callback of this queue.
    pub(in crate::rcu) fn runs_here(&self) -> bool {
        // Relaxed: if the runner is this thread, the store was its own.
        let runner = self.runner.load(Ordering::Relaxed);
        runner == thread::current() && runner != thread::UNKNOWN
    }

    /// Returns true while callbacks are running, during which the worker runs no grace period for
    /// threads that poll.
    pub(in crate::rcu) fn is_running_callbacks(&self) -> bool {
        // Relaxed: a hint.
        self.runner.load(Ordering::Relaxed) != 0
    }
}

/// Threads that wait for callbacks.
impl Queue {
    /// Returns true if all that was queued has run.
    fn is_idle(&self) -> bool {
        // Acquire: nothing is queued, and what was queued is in a batch that `taken` counts.
        // Partner: as in `barrier`.
        let is_empty = self.incoming.last.load(Ordering::Acquire).is_null();
        // Relaxed: ordered by the acquire above.
        let taken = self.taken.load(Ordering::Relaxed);
        // Acquire: partner of the release in `finish`.
        is_empty && self.finished.load(Ordering::Acquire) >= taken
    }

    /// Sleeps until `is_so` returns true, which it calls again whenever a batch has run or the worker
    /// has failed; or until there is no worker (it could not be started, or ended), or the time is
    /// up.
    fn wait_until(&self, is_so: impl Fn() -> bool, timeout: Timeout) {
        let is_so = || is_so() || !self.worker.is_running();
        while !is_so() {
            // Relaxed: compared by the kernel.
            let round = self.round.load(Ordering::Relaxed);
            // Relaxed: ordered by the fence.
            self.waiting.fetch_add(1, Ordering::Relaxed);
            // SeqCst. Pair E: our announcement is before our last look. Partner: the fence in
            // `wake_waiting`.
            // - If our announcement comes first, the worker sees it and wakes us.
            // - If the worker's stores come first, we see what it did.
            step!(waiting_fence, fence(Ordering::SeqCst));
            let is_late =
                (mutated!(waiting_recheck) || !is_so()) && futex::wait(&self.round, round, timeout) == Wait::TimedOut;
            // Relaxed: a worker that still counts us makes a needless wake.
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            if is_late {
                return;
            }
        }
    }

    /// Wakes the threads that sleep in `wait_until`.
    pub(in crate::rcu) fn wake_waiting(&self) {
        // SeqCst. Pair E: what has been done is before the look at `waiting`. Partner: the fence in
        // `wait_until`.
        // - If the waiter's announcement comes first, we see it and wake the waiter.
        // - If our stores come first, the waiter sees what was done.
        step!(batch_fence, fence(Ordering::SeqCst));
        // Relaxed: ordered by the fence.
        if check!(batch_wake, self.waiting.load(Ordering::Relaxed) != 0) {
            // Relaxed: the kernel compares it under its queue's lock.
            self.round.fetch_add(1, Ordering::Relaxed);
            futex::wake(&self.round, futex::ALL);
        }
    }
}
