//! Grace periods as futures, for any executor.
//!
//! Made by `domain.rs` and `reclaimed.rs`; calls `defer/`: a future queues a callback, which wakes its
//! task. Where no worker would run that callback, the polls run the grace period in steps
//! (`grace/step.rs`): they do that in a process that cannot start a thread, after the worker's work
//! ended in a panic, and inside a callback of the domain, behind which the future's own would wait.
//!
//! **Inside a callback** a poll neither panics, as `barrier` does there, nor relies on the queue. It
//! does not know who polls. An executor of the callback's own, which returns when the future is ready,
//! would wait for itself, if the future relied on the queue; a waker that polls its task in place, on
//! the thread that wakes, waits for nothing, and a panic would lose a task that has done nothing
//! wrong. `synchronize` may be called inside a callback, so the grace period is to be had there: the
//! poll runs it. That holds for a future that was first polled outside, too: its callback may be
//! behind the one that runs.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::future::Future;
use core::marker::PhantomData;
use core::pin::Pin;
use core::ptr::{self, NonNull};
use core::task::{Context, Poll, Waker};

use super::super::backing::{Backing, State};
use super::super::fork::watch;
use super::super::free::head::Head;
use super::super::free::worker;
use super::super::section::local;
use crate::atomic::{AtomicPtr, AtomicU32, Ordering, fence_after_update};
use crate::mutant::{check, step};

/// What a future and its callback share. The head comes first.
#[repr(C)]
struct Shared {
    head: Head,
    /// 1: the grace period is over.
    is_over: AtomicU32,
    /// The task that waits, boxed; null: none. Taken and put by exchanges, not under a lock, which the
    /// child of a fork might find held.
    sleeper: AtomicPtr<Sleeper>,
}

/// A task that waits.
struct Sleeper {
    waker: Waker,
    /// The next one in a list of `Sleepers`.
    next: Option<Box<Sleeper>>,
}

/// The function of the futures' callbacks, by which they are told from others. A static, so that its
/// address is one, however often the compiler makes the function. (A function that the linker merges
/// with it does the same with its object.)
static END: unsafe extern "C-unwind" fn(NonNull<Head>) = Shared::end;

impl Shared {
    fn new() -> Arc<Shared> {
        let sleeper = AtomicPtr::new(ptr::null_mut());
        Arc::new(Shared { head: Head::new(), is_over: AtomicU32::new(0), sleeper })
    }

    /// Takes the task out.
    fn take(&self) -> Option<Box<Sleeper>> {
        self.exchange(ptr::null_mut())
    }

    fn exchange(&self, sleeper: *mut Sleeper) -> Option<Box<Sleeper>> {
        // SeqCst: with `is_over`, as `poll` and `end` say. Also: the waker itself.
        let old = NonNull::new(self.sleeper.swap(sleeper, Ordering::SeqCst))?;
        // SAFETY: from a box, and taken by the exchange.
        Some(unsafe { Box::from_raw(old.as_ptr()) })
    }

    /// Returns true if the grace period is over; has `waker` woken otherwise.
    fn poll(&self, waker: &Waker) -> bool {
        let sleeper = self.take().filter(|old| old.waker.will_wake(waker));
        let sleeper = sleeper.unwrap_or_else(|| Box::new(Sleeper { waker: waker.clone(), next: None }));
        drop(self.exchange(Box::into_raw(sleeper)));
        // SeqCst, with the exchanges. Partner: `end`.
        // - If our waker is there first, the callback finds it and wakes.
        // - If the callback looked for one before, it has stored first that all is over.
        self.is_over.load(Ordering::SeqCst) == 1
    }

    /// Wakes the task: the callback.
    ///
    /// # Safety
    /// The head is that of a `Shared` of an `Arc`, one count of which is the callback's.
    unsafe extern "C-unwind" fn end(head: NonNull<Head>) {
        // SAFETY: the head comes first; the count is this call's.
        let shared = unsafe { Arc::from_raw(head.cast::<Shared>().as_ptr()) };
        // SeqCst: as in `poll`.
        shared.is_over.store(1, Ordering::SeqCst);
        if let Some(sleeper) = shared.take() {
            step!(future_wake, sleeper.waker.wake());
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        drop(self.take());
    }
}

/// Tasks that a worker which ends has found among the callbacks: they learn that it has ended.
pub(in crate::rcu) struct Sleepers(Option<Box<Sleeper>>);

impl Sleepers {
    pub(in crate::rcu) fn none() -> Sleepers {
        Sleepers(None)
    }

    /// Takes the task out of a queued callback, if it is a future's and a task waits.
    pub(in crate::rcu) fn take_of(&mut self, head: NonNull<Head>) {
        // SAFETY: the caller has it from the queue, whose lock it holds.
        if !ptr::fn_addr_eq(unsafe { head.as_ref() }.function(), END) {
            return;
        }
        // SAFETY: the head comes first in a `Shared`, which the callback's count keeps alive while it
        // is queued.
        let shared = unsafe { head.cast::<Shared>().as_ref() };
        if let Some(mut sleeper) = shared.take() {
            sleeper.next = self.0.take();
            self.0 = Some(sleeper);
        }
    }

    /// Wakes the tasks. A waker that panics keeps none of the others asleep.
    pub(in crate::rcu) fn wake(mut self) {
        while let Some(sleeper) = self.0.take() {
            let Sleeper { waker, next } = *sleeper;
            self.0 = next;
            let _ = worker::panics(|| waker.wake());
        }
    }
}

/// A grace period as a future, which
/// [`Domain::synchronize_async`](super::super::Domain::synchronize_async) returns: ready once every section
/// has ended that was open when it was first polled.
///
/// ```
/// # fn block_on<F: std::future::Future>(future: F) -> F::Output {
/// #     struct Unpark(std::thread::Thread);
/// #     impl std::task::Wake for Unpark {
/// #         fn wake(self: std::sync::Arc<Self>) { self.0.unpark() }
/// #     }
/// #     let mut future = std::pin::pin!(future);
/// #     let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
/// #     let mut context = std::task::Context::from_waker(&waker);
/// #     loop {
/// #         if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut context) { return output }
/// #         std::thread::park();
/// #     }
/// # }
/// use leeward::rcu::{Domain, Global, RcuCell};
/// let config = RcuCell::new(String::from("listen 80"));
/// block_on(async {
///     let old = config.replace(String::from("listen 81"));
///     Global::synchronize_async().await;
///     old.defer();
/// });
/// ```
///
/// Polling never waits. A future that is dropped gives the grace period up, and nothing else.
///
/// # Cost
/// At the first poll an allocation and what [`Domain::defer_raw`](super::super::Domain::defer_raw) costs; no
/// caller is held up at the domain's limit, which the callback counts towards. The domain's worker
/// runs the grace period, and wakes the task.
///
/// # Without a worker
/// Where the worker cannot be started, and inside a callback of the same domain, the polls run the
/// grace period: the first one issues a heavy fence, and each looks whether a reader is still in the
/// way. Such a poll wakes its own task, so that the executor polls again: the task is busy until the
/// readers have left, and no [stall](super::super::Domain::set_stall_limit) is reported. After a panic of
/// the worker's (a stall's handler panicked, or no heavy fence is possible) one poll does so as well.
///
/// # Panics
/// - The first poll panics in a section of the same domain, as
///   [`Domain::synchronize`](super::super::Domain::synchronize) does: the task would wait for itself.
/// - A poll that runs the grace period panics where no [heavy fence](crate::fence::heavy) is possible.
///
/// # fork
/// The callback of a future that was polled before the fork runs in the parent. In the child nothing
/// wakes the task of such a future but where the child [adopts](super::super::Domain::set_child_adopts)
/// callbacks.
#[must_use = "a future does nothing until it is polled"]
pub struct GracePeriod<D: Backing = super::super::Global> {
    /// Made by the first poll.
    begun: Option<Begun>,
    domain: PhantomData<fn() -> D>,
}

// SAFETY: what is shared is atomic, or (the head) the queue's.
unsafe impl<D: Backing> Send for GracePeriod<D> {}
// SAFETY: as above.
unsafe impl<D: Backing> Sync for GracePeriod<D> {}

/// A grace period that was polled for.
struct Begun {
    shared: Arc<Shared>,
    ticket: u64,
    /// True once the callback is queued, which it is when there is a worker to run it.
    is_queued: bool,
    /// How often the worker had failed when this task last relied on it.
    failures: u32,
}

impl Begun {
    #[track_caller]
    fn begin(domain: &'static State) -> Begun {
        watch(domain);
        assert!(
            !local::is_inside(domain) && !domain.grace.is_inside(),
            "leeward: a grace period was awaited inside a read section of the same domain: the task would wait for \
             itself forever"
        );
        let failures = domain.queue.worker.failures();
        Begun { shared: Shared::new(), ticket: domain.grace.tickets.take(), is_queued: false, failures }
    }

    /// Returns true if the grace period is over; otherwise `waker` is woken, by the worker or at once.
    fn is_ready(&mut self, domain: &'static State, waker: &Waker) -> bool {
        if domain.grace.tickets.is_served(self.ticket) {
            return true;
        }
        let queue = &domain.queue;
        let may_rely = !check!(future_own_callback, queue.runs_here());
        if may_rely && !self.is_queued && queue.worker.serves(domain, queue) {
            self.queue(domain);
        }
        if self.is_queued {
            if self.shared.poll(waker) {
                return true;
            }
            // SeqCst. Pair Q: our callback and our waker are before the look at the worker. Partner:
            // the fence in `Queue::fail`.
            // - If they come first, a worker that ends finds them and wakes us.
            // - If the worker's end comes first, we find that it has failed.
            step!(future_fence, fence_after_update());
        }
        let failures = queue.worker.failures();
        if self.is_queued && may_rely && failures == self.failures && queue.worker.serves(domain, queue) {
            return false;
        }
        step!(future_helps, domain.grace.step_or_panic(&queue.steps, self.ticket));
        if domain.grace.tickets.is_served(self.ticket) {
            return true;
        }
        // A reader is in the way, or a thread that leads. After a failure of which nothing is left,
        // the worker waits for either.
        self.failures = failures;
        if !(self.is_queued && may_rely && queue.worker.serves(domain, queue)) {
            step!(future_wakes_itself, waker.wake_by_ref());
        }
        false
    }

    /// Queues the callback.
    fn queue(&mut self, domain: &'static State) {
        self.is_queued = true;
        let head = Arc::into_raw(Arc::clone(&self.shared)).cast_mut().cast::<Head>();
        if let Some(head) = NonNull::new(head) {
            // SAFETY: the head of an object that was not queued before, which the count keeps until the
            // callback.
            unsafe { domain.queue.push_raw_regardless(domain, head, END) };
        }
    }
}

impl Drop for Begun {
    /// Gives the waker up, so that no task is woken, or kept alive, for nothing.
    fn drop(&mut self) {
        drop(self.shared.take());
    }
}

impl<D: Backing> GracePeriod<D> {
    pub(in crate::rcu) const fn new() -> Self {
        GracePeriod { begun: None, domain: PhantomData }
    }
}

impl<D: Backing> Future for GracePeriod<D> {
    type Output = ();

    #[track_caller]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let domain = D::state();
        // By `match`: a closure would lose the caller's place, which the panic names.
        let begun = match &mut self.begun {
            Some(begun) => begun,
            none => none.insert(Begun::begin(domain)),
        };
        if !begun.is_ready(domain, context.waker()) {
            return Poll::Pending;
        }
        drop(begun.shared.take());
        Poll::Ready(())
    }
}

impl<D: Backing> core::fmt::Debug for GracePeriod<D> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("GracePeriod").finish_non_exhaustive()
    }
}
