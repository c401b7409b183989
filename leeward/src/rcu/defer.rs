//! Deferred callbacks: queued by any thread, run in batches, one grace period a batch, by the domain's worker.
//!
//! The queue is a stack of heads that producers push to by compare-exchange: no lock, no allocation, whole at any
//! instruction, so that the child of a fork finds it whole. The worker (or a caller that helps) takes all of it,
//! brings it into order, waits for a grace period and calls one after the other, and looks again; it sleeps only when
//! it found nothing, so nothing waits for a clock. What stands on the way from queue to call is kept in the domain,
//! not on the worker's stack: a grace period that unwinds leaves the batch where it is, and a fork's child may adopt it.
//!
//! The stack is R. K. Treiber's ("Systems Programming: Coping with Parallelism", 1986), taken whole: so nothing is
//! popped, and no address can be mistaken for another (ABA).

use core::ptr::{self, NonNull};
use core::time::Duration;

use super::callback::{self, Bytes, Head, SizeOf};
use super::domain::{Domain, State};
use super::limit::{Bounds, Count, Full, Held, Limit, Policy};
use super::stats::Stats;
use super::{local, worker};
use crate::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, const_fn, fence};
use crate::fence::Pair;
use crate::futex::{self, Deadline, Private, Wait};
use crate::mutant::mutated;
use crate::raw::Mutex;
use crate::{fork, thread};

/// `current` while a batch is taken and brought into order. No head's address.
const TAKING: *mut Head = ptr::without_provenance_mut(1);
/// How long a fork waits until no callback is running, so that none is lost to a child that adopts them.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
const NAP: Duration = Duration::from_micros(50);

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

/// What became of an attempt to run callbacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reclaimed {
    /// A batch has run.
    Batch,
    /// There was none.
    Nothing,
    /// The time was up, and the batch is queued still.
    TimedOut,
    /// A callback forked, and this is the child.
    Forked,
}

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
                grace.report_beyond_limit(policy.bound().unwrap_or_default());
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
        runner == thread::this() && runner != thread::UNKNOWN
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

/// The thread that takes batches and runs them.
impl Queue {
    /// Takes what is queued, waits for a grace period and runs it; not later than `until` begins to.
    ///
    /// A panic (in a stall's handler, or for want of any heavy fence) leaves the batch queued.
    pub(super) fn reclaim<D: Domain>(&'static self, until: Option<Deadline>) -> Reclaimed {
        let is_ours = match until {
            Some(until) => self.reclaiming.try_lock_until(until),
            None => {
                self.reclaiming.lock();
                true
            }
        };
        if !is_ours {
            return Reclaimed::TimedOut;
        }
        let generation = fork::generation();
        let _reclaiming = Reclaiming { queue: self, state: D::state(), generation };
        // Relaxed: changed under the lock.
        if self.batch.load(Ordering::Relaxed).is_null() && !self.take::<D>() {
            return Reclaimed::Nothing;
        }
        // Never refused: nothing may run before its grace period, whatever became of this thread's own sections.
        if !mutated!(worker_grace) && !D::state().grace.wait::<D::Fence>(until) {
            return Reclaimed::TimedOut;
        }
        self.run::<D>(generation)
    }

    /// Takes all that is queued and brings it into order. False if there is nothing.
    fn take<D: Domain>(&self) -> bool {
        // Relaxed: only the holder of the lock takes.
        if self.incoming.last.load(Ordering::Relaxed).is_null() {
            return false;
        }
        self.begin::<D>(TAKING);
        // Relaxed, both: changed under the lock. Before the exchange: who finds nothing queued finds it counted.
        self.taken.store(self.taken.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        let order = if mutated!(take_acquire) { Ordering::Release } else { Ordering::AcqRel };
        // Acquire: partner of the releases in `link`. Release: partner of the acquire in `barrier`.
        let last = self.incoming.last.swap(ptr::null_mut(), order);
        // SAFETY: taken: nobody else has them.
        self.batch.store(unsafe { in_order(last, ptr::null_mut()) }, Ordering::Relaxed);
        self.end();
        true
    }

    /// Says what is begun, so that no fork comes in its middle while that can be waited for.
    fn begin<D: Domain>(&self, what: *mut Head) {
        loop {
            // Relaxed: ordered by the fence.
            self.current.store(what, Ordering::Relaxed);
            if !mutated!(pause_light) {
                // Pair L, light half: what we begin is told before the look at `pausing`. Partner: the
                // heavy fence in `pause`. Either the forking thread sees that something runs, and waits
                // for its end; or we see that it forks, and do not begin.
                D::Fence::light();
            }
            // Relaxed: ordered by the fence.
            if self.pausing.load(Ordering::Relaxed) == 0 {
                return;
            }
            self.end();
            self.wait_for_forks();
        }
    }

    /// Waits until no fork is under way; for some time, since the parent's handler is not sure to come.
    #[cold]
    fn wait_for_forks(&self) {
        let end = Deadline::after::<Private>(LONGEST_PAUSE);
        loop {
            // Relaxed, both: a count.
            let pausing = self.pausing.load(Ordering::Relaxed);
            if pausing == 0 {
                return;
            }
            if end.has_passed::<Private>() {
                let _ = self.pausing.compare_exchange(pausing, 0, Ordering::Relaxed, Ordering::Relaxed);
                return;
            }
            futex::wait_until(&self.pausing, pausing, Some(end));
        }
    }

    fn end(&self) {
        // Release: what was begun is done, for the forking thread. Partner: the acquire in `pause`.
        self.current.store(ptr::null_mut(), Ordering::Release);
    }

    /// Runs the batch.
    fn run<D: Domain>(&self, generation: u64) -> Reclaimed {
        // Relaxed: read by the thread itself, and as a hint by those who poll.
        self.runner.store(thread::this(), Ordering::Relaxed);
        // Relaxed, here and below: changed under the lock.
        while let Some(head) = NonNull::new(self.batch.load(Ordering::Relaxed)) {
            self.begin::<D>(head.as_ptr());
            // SAFETY: in the batch, so whole, and ours.
            let next = unsafe { head.as_ref() }.next();
            // Release: a child that finds the rest finds that this one was begun. (Its thread is not there, and its
            // memory is a copy of some instant.)
            self.batch.store(next, Ordering::Release);
            self.bytes.store(0, Ordering::Relaxed);
            // SAFETY: ours, not in the batch any more, and its grace period has passed.
            unsafe { Head::call(head) };
            if fork::generation() != generation {
                // The callback forked, and this is the child: everything is as new.
                return Reclaimed::Forked;
            }
            self.end();
            self.count_one(D::state());
        }
        self.finish();
        Reclaimed::Batch
    }

    /// What the callback that runs holds.
    pub(super) fn note_bytes(&self, bytes: usize) {
        // Relaxed: changed under the lock.
        self.bytes.store(bytes as u64, Ordering::Relaxed);
    }

    fn count_one(&self, state: &State) {
        state.grace.counts.callbacks_run.add(1);
        // Relaxed, all: changed under the lock.
        let inherited = self.inherited.load(Ordering::Relaxed);
        if inherited != 0 {
            self.inherited.store(inherited - 1, Ordering::Relaxed);
        } else {
            self.incoming.held.subtract(Held::one(self.bytes.load(Ordering::Relaxed) as usize));
        }
    }

    /// The batch has run.
    fn finish(&self) {
        // Relaxed: as in `run`.
        self.runner.store(0, Ordering::Relaxed);
        // Relaxed: changed under the lock.
        let taken = self.taken.load(Ordering::Relaxed);
        // Release: partner of the acquire in `barrier`: what the callbacks did.
        self.finished.store(taken, Ordering::Release);
        self.wake_waiting();
    }
}

/// Heads linked from the last to the first, brought into order before those of `rest`; the first.
///
/// # Safety
/// They are the caller's alone.
unsafe fn in_order(last: *mut Head, mut rest: *mut Head) -> *mut Head {
    let mut head = last;
    // SAFETY: the caller's promise.
    while let Some(this) = unsafe { head.as_ref() } {
        head = this.next();
        this.set_next(rest);
        rest = ptr::from_ref(this).cast_mut();
    }
    rest
}

/// Around forks.
impl Queue {
    /// Has children run what they inherit.
    pub(super) fn set_child_adopts(&self, adopts: bool) {
        // Relaxed: read by the thread that forks, which was told, or comes before.
        self.child_adopts.store(u32::from(adopts), Ordering::Relaxed);
    }

    fn child_adopts(&self) -> bool {
        // Relaxed: as above.
        self.child_adopts.load(Ordering::Relaxed) != 0
    }

    /// Before a fork: sees to it, for some time, that no callback runs. `heavy` is the domain's heavy fence.
    pub(super) fn pause(&self, heavy: impl FnOnce()) {
        if !self.child_adopts() {
            return;
        }
        // Relaxed: ordered by the fence.
        self.pausing.fetch_add(1, Ordering::Relaxed);
        if self.stats().callbacks_queued == 0 || self.runs_here() {
            return;
        }
        if !mutated!(pause_heavy) {
            // Pair L, heavy half: the request is before the look at what runs. Partner: the light fence in `begin`.
            heavy();
        }
        let end = Deadline::after::<Private>(LONGEST_PAUSE);
        // Acquire: partner of the release in `end`.
        while !self.current.load(Ordering::Acquire).is_null() && !end.has_passed::<Private>() {
            let napping = AtomicU32::new(0);
            futex::wait(&napping, 0, Some(NAP));
        }
    }

    /// After the fork, in the parent: callbacks go on.
    pub(super) fn go_on(&self) {
        // Relaxed, both: a count; the wake is a system call. (There is none to be taken away where the child does not
        // adopt, or was only said to between the handlers.)
        let counted = self.pausing.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_sub(1));
        if counted.is_ok() {
            futex::wake(&self.pausing, futex::ALL);
        }
    }

    /// In the child of a fork: what was queued is the parent's, and the copy here is forgotten or adopted. How many
    /// were being run by a thread that is not here, and are lost to a child that adopts the others.
    pub(super) fn after_fork(&self) -> u64 {
        // Relaxed, all: the child has one thread.
        let current = self.current.swap(ptr::null_mut(), Ordering::Relaxed);
        let batch = self.batch.load(Ordering::Relaxed);
        let last = self.incoming.last.swap(ptr::null_mut(), Ordering::Relaxed);
        let runs_here = self.runs_here();
        self.reclaiming.reset();
        self.worker.after_fork();
        for word in [&self.pausing, &self.waiting] {
            word.store(0, Ordering::Relaxed);
        }
        self.runner.store(0, Ordering::Relaxed);
        self.incoming.held.reset();
        let adopted = if self.child_adopts() && !mutated!(fork_adopts) {
            // SAFETY: whole at any instruction but within `TAKING`, where what is taken is in neither list; and this
            // thread's alone now.
            let queued = unsafe { in_order(last, ptr::null_mut()) };
            // SAFETY: as above.
            unsafe { append(batch, queued) }
        } else {
            ptr::null_mut()
        };
        self.batch.store(adopted, Ordering::Relaxed);
        // SAFETY: as above.
        self.inherited.store(unsafe { length(adopted) }, Ordering::Relaxed);
        let taken = self.finished.load(Ordering::Relaxed) + u64::from(!adopted.is_null());
        self.taken.store(taken, Ordering::Relaxed);
        // One that was told and is in the batch still was not begun.
        let is_lost = !current.is_null() && !ptr::eq(current, batch) && !runs_here;
        u64::from(is_lost && self.child_adopts())
    }

    /// Returns true if the child has adopted callbacks.
    pub(super) fn has_inherited(&self) -> bool {
        // Relaxed: the child has one thread.
        self.inherited.load(Ordering::Relaxed) != 0
    }
}

/// Two lists in order, one after the other.
///
/// # Safety
/// They are the caller's alone.
unsafe fn append(first: *mut Head, second: *mut Head) -> *mut Head {
    let mut end = first;
    // SAFETY: the caller's promise.
    while let Some(this) = unsafe { end.as_ref() } {
        end = this.next();
        if end.is_null() {
            this.set_next(second);
        }
    }
    if first.is_null() { second } else { first }
}

/// # Safety
/// They are the caller's alone.
unsafe fn length(first: *mut Head) -> u64 {
    let (mut count, mut head) = (0, first);
    // SAFETY: the caller's promise.
    while let Some(this) = unsafe { head.as_ref() } {
        (count, head) = (count + 1, this.next());
    }
    count
}

/// The holding of `reclaiming`; given up when dropped, also by a panic.
struct Reclaiming {
    queue: &'static Queue,
    state: &'static State,
    generation: u64,
}

impl Drop for Reclaiming {
    fn drop(&mut self) {
        if fork::generation() != self.generation {
            // A callback forked, and this is the child, whose lock is as new.
            return;
        }
        // A panic may have come from a callback, where none is caught: the rest of the batch waits for another grace period.
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
