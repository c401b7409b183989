//! Grace periods as futures, for any executor.
//!
//! Made by `domain.rs` and `reclaimed.rs`; calls `defer/`: a future queues a callback, which wakes its
//! task.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::future::Future;
use core::marker::PhantomData;
use core::pin::Pin;
use core::ptr::{self, NonNull};
use core::task::{Context, Poll, Waker};

use super::backing::Backing;
use super::fork::watch;
use super::head::Head;
use super::local;
use crate::atomic::{AtomicPtr, AtomicU32, Ordering};
use crate::mutant::step;

/// What a future and its callback share. The head comes first.
#[repr(C)]
struct Shared {
    head: Head,
    /// 1: the grace period is over.
    is_over: AtomicU32,
    /// The waker of the task that waits, boxed; null: none. Taken and put by exchanges, not under a
    /// lock, which the child of a fork might find held.
    waker: AtomicPtr<Waker>,
}

impl Shared {
    /// Takes the waker out.
    fn take(&self) -> Option<Box<Waker>> {
        self.exchange(ptr::null_mut())
    }

    fn exchange(&self, waker: *mut Waker) -> Option<Box<Waker>> {
        // SeqCst: with `is_over`, as `poll` and `end` say. Also: the waker itself.
        let old = NonNull::new(self.waker.swap(waker, Ordering::SeqCst))?;
        // SAFETY: from a box, and taken by the exchange.
        Some(unsafe { Box::from_raw(old.as_ptr()) })
    }

    /// Returns true if the grace period is over; has `waker` woken otherwise.
    fn poll(&self, waker: &Waker) -> bool {
        let waker = self.take().filter(|old| old.will_wake(waker)).unwrap_or_else(|| Box::new(waker.clone()));
        drop(self.exchange(Box::into_raw(waker)));
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
        if let Some(waker) = shared.take() {
            step!(future_wake, waker.wake());
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        drop(self.take());
    }
}

/// A grace period as a future, which
/// [`Domain::synchronize_async`](super::Domain::synchronize_async) returns: ready once every section
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
/// At the first poll an allocation and what [`Domain::defer_raw`](super::Domain::defer_raw) costs; no
/// caller is held up at the domain's limit, which the callback counts towards. The domain's worker
/// runs the grace period, and wakes the task.
///
/// # Panics
/// The first poll panics in a section of the same domain, as
/// [`Domain::synchronize`](super::Domain::synchronize) does: the task would wait for itself.
///
/// # fork
/// The callback of a future that was polled before the fork runs in the parent. In the child such a
/// future is ready after a grace period only where the child
/// [adopts](super::Domain::set_child_adopts) callbacks.
#[must_use = "a future does nothing until it is polled"]
pub struct GracePeriod<D: Backing = super::Global> {
    /// Made by the first poll.
    shared: Option<Arc<Shared>>,
    domain: PhantomData<fn() -> D>,
}

// SAFETY: what is shared is atomic, or (the head) the queue's.
unsafe impl<D: Backing> Send for GracePeriod<D> {}
// SAFETY: as above.
unsafe impl<D: Backing> Sync for GracePeriod<D> {}

impl<D: Backing> GracePeriod<D> {
    pub(super) const fn new() -> Self {
        GracePeriod { shared: None, domain: PhantomData }
    }

    /// Queues the callback.
    #[track_caller]
    fn begin() -> Arc<Shared> {
        let state = D::state();
        watch(state);
        assert!(
            !local::is_inside(state) && !state.grace.is_inside(),
            "leeward: a grace period was awaited inside a read section of the same domain: the task would wait for \
             itself forever"
        );
        let (is_over, waker) = (AtomicU32::new(0), AtomicPtr::new(ptr::null_mut()));
        let shared = Arc::new(Shared { head: Head::new(), is_over, waker });
        let head = Arc::into_raw(Arc::clone(&shared)).cast_mut().cast::<Head>();
        if let Some(head) = NonNull::new(head) {
            // SAFETY: the head of a fresh object, which the count keeps until the callback.
            unsafe { state.queue.push_raw_regardless(state, head, Shared::end) };
        }
        shared
    }
}

impl<D: Backing> Drop for GracePeriod<D> {
    /// Gives the waker up, so that no task is woken, or kept alive, for nothing.
    fn drop(&mut self) {
        if let Some(shared) = &self.shared {
            drop(shared.take());
        }
    }
}

impl<D: Backing> Future for GracePeriod<D> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let shared = self.shared.get_or_insert_with(Self::begin);
        if shared.poll(context.waker()) { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl<D: Backing> core::fmt::Debug for GracePeriod<D> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("GracePeriod").finish_non_exhaustive()
    }
}
