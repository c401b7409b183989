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
//! | `mod` | the queue, who queues and who waits |
//! | `reclaim` | the thread that takes a batch and runs it |
//! | `adopt` | forks |
//!
//! The stack is R. K. Treiber's ("Systems Programming: Coping with Parallelism", 1986), taken whole: so nothing is
//! popped, and no address can be mistaken for another (ABA).

mod adopt;
mod reclaim;

use core::ptr::{self, NonNull};

pub(super) use reclaim::Reclaimed;

use super::callback::{self, Bytes, Head, SizeOf};
use super::domain::Domain;
use super::limit::{Bounds, Count, Full, Held, Limit, Policy};
use super::stats::Stats;
use super::{local, worker};
use crate::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, const_fn, fence};
use crate::futex::{self, Deadline, Private, Wait};
use crate::mutant::mutated;
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
    /// The thread that runs callbacks now, as `thread::this` names it; 0: none.
    runner: AtomicU64,
    /// Changes when a batch has run; where `barrier` and callers beyond the limit sleep.
    turn: AtomicU32,
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
                turn: AtomicU32::new(0),
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
        if !mutated!(set_limit_wake) {
            self.wake_waiting();
        }
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
}

/// Producers.
impl Queue {
    /// Queues a closure. Beyond the limit the caller is held up, as the policy says.
    pub(super) fn defer<D: Domain, F: FnOnce() + Send + 'static>(&'static self, call: F) {
        match callback::callback::<D, _, _>(call, SizeOf::<F>::NEW) {
            Ok(head) => self.push::<D>(head, size_of::<F>()),
            Err(_) => alloc::alloc::handle_alloc_error(core::alloc::Layout::new::<F>()),
        }
    }

    /// The same for what may as well be called by the caller, after a grace period, where there is no memory to
    /// queue it; or never.
    pub(super) fn defer_or_wait<D: Domain, F: FnOnce() + Send + 'static>(&'static self, call: F, bytes: impl Bytes) {
        let call = match callback::callback::<D, _, _>(call, bytes) {
            Ok(head) => return self.push::<D>(head, bytes.get()),
            Err(call) => call,
        };
        super::watch::<D>();
        let grace = &D::state().grace;
        let until = self.limit.get().policy.bound().map(Deadline::after::<Private>);
        if !self.may_not_wait::<D>() && grace.wait::<D::Fence>(until) {
            return call();
        }
        grace.counts.lost.add(1);
        core::mem::forget(call);
    }

    /// Queues a closure, or gives it back at the limit.
    pub(super) fn try_defer<D: Domain, F: FnOnce() + Send + 'static>(
        &'static self,
        call: F,
        bytes: impl Bytes,
    ) -> Result<(), Full<F>> {
        if !self.limit.have_room(self.incoming.held.get(), bytes.get()) {
            return Err(Full(call));
        }
        let head = callback::callback::<D, _, _>(call, bytes).map_err(Full)?;
        self.push_regardless::<D>(head, bytes.get());
        Ok(())
    }

    /// Queues what a head stands for. Beyond the limit the caller is held up, as the policy says.
    pub(super) fn push<D: Domain>(&'static self, head: NonNull<Head>, bytes: usize) {
        let held = self.push_regardless::<D>(head, bytes);
        if self.limit.are_exceeded_by(held) {
            self.hold_up::<D>();
        }
    }

    /// Queues what a head stands for; how much is queued then.
    fn push_regardless<D: Domain>(&'static self, head: NonNull<Head>, bytes: usize) -> Held {
        super::watch::<D>();
        // Counted before it can be taken, so that the count never falls below 0.
        let held = self.incoming.held.add(Held::one(bytes));
        let is_first = self.link(head);
        // The worker takes all of it until it finds nothing: only the first has to wake it. If no thread
        // can be started, `barrier` and the limit run what is queued, where waiting is expected.
        if (is_first || !self.worker.is_running()) && !mutated!(worker_wake) {
            self.worker.wake::<D>();
        }
        held
    }

    /// Pushes it; returns true if nothing was there.
    fn link(&self, head: NonNull<Head>) -> bool {
        // SAFETY: the caller's own until the exchange below.
        let this = unsafe { head.as_ref() };
        // Relaxed: the exchange decides.
        let mut last = self.incoming.last.load(Ordering::Relaxed);
        loop {
            this.set_next(last);
            let order = if mutated!(push_release) { Ordering::Relaxed } else { Ordering::Release };
            // Release: the object is whole. Partner: the acquire in `take`. Relaxed on failure: again.
            match self.incoming.last.compare_exchange_weak(last, head.as_ptr(), order, Ordering::Relaxed) {
                Ok(_) => return last.is_null(),
                Err(now) => last = now,
            }
        }
    }

    /// What happens to a caller beyond the limit. Its callback is queued already: nothing is lost by a panic.
    #[cold]
    #[inline(never)]
    fn hold_up<D: Domain>(&'static self) {
        let policy = self.limit.get().policy;
        let until = policy.bound().map(Deadline::after::<Private>);
        let waits = !self.may_not_wait::<D>() && !mutated!(limit_waits);
        if waits {
            self.wait_for_room::<D>(policy, until);
        }
        if self.is_beyond_limit() {
            let grace = &D::state().grace;
            grace.counts.over_limit.add(1);
            if waits {
                let expedites = matches!(policy, Policy::Expedite(_));
                grace.report_beyond_limit(policy.bound().unwrap_or_default(), expedites);
            }
        }
    }

    fn wait_for_room<D: Domain>(&'static self, policy: Policy, until: Option<Deadline>) {
        let expedites = matches!(policy, Policy::Expedite(_));
        while self.is_beyond_limit() && !until.is_some_and(Deadline::has_passed::<Private>) {
            if !expedites && self.worker.wake::<D>() {
                self.wait_until(|| !self.is_beyond_limit(), until);
            } else if self.reclaim::<D>(until) == Reclaimed::Forked {
                return;
            }
        }
    }

    fn is_beyond_limit(&self) -> bool {
        self.limit.are_exceeded_by(self.incoming.held.get())
    }

    /// Returns true in a section or a callback of the domain's: waiting for callbacks would be waiting for oneself.
    fn may_not_wait<D: Domain>(&self) -> bool {
        self.runs_here() || local::is_inside::<D>() || D::state().grace.is_inside()
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

    /// Asks for a grace period for a thread that polls.
    pub(super) fn want<D: Domain>(&'static self, ticket: u64) {
        // Release: partner of the worker's acquire.
        self.wanted.fetch_max(ticket, Ordering::Release);
        if !mutated!(want_wake) {
            self.worker.wake::<D>();
        }
    }
}

/// Those who wait for callbacks.
impl Queue {
    pub(super) fn barrier<D: Domain>(&'static self) {
        // Acquire: what was queued before is here still, or was taken, and counted before it was. Partner:
        // the release in `take`.
        let is_empty = self.incoming.last.load(Ordering::Acquire).is_null();
        // Relaxed: ordered by the acquire above.
        let last = self.taken.load(Ordering::Relaxed) + u64::from(!is_empty);
        // Acquire: partner of the release in `run`. The batch counted last may never come, if another
        // thread took meanwhile what was there: then all that was taken has run, and nothing is left.
        let is_done = || self.finished.load(Ordering::Acquire) >= last || self.is_idle();
        let deaths = self.worker.deaths();
        while !is_done() && !mutated!(barrier_waits) {
            // A worker that ended meanwhile did so by a panic (there is no heavy fence, or a stall's
            // handler panicked): this thread tries, so that its caller learns of it.
            if self.worker.deaths() == deaths && self.worker.wake::<D>() {
                self.wait_until(is_done, None);
            } else if self.reclaim::<D>(None) == Reclaimed::Forked {
                return;
            }
        }
    }

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
    fn wait_until(&self, is_so: impl Fn() -> bool, until: Option<Deadline>) {
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
            let is_late =
                (mutated!(waiting_recheck) || !is_so()) && futex::wait_until(&self.turn, turn, until) == Wait::TimedOut;
            // Relaxed: counted too long, it costs a wake for nothing.
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            if is_late {
                return;
            }
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
}
