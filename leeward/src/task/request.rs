//! A future's part that waits for permits: polled, and taken back when it is dropped.

use core::ops::Deref;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use super::node::TaskNode;
use super::permits::{Permits, Refused};

/// A lock that is made of permits.
pub(crate) trait HasPermits {
    /// Returns the lock's permits: the same each time.
    fn permits(&self) -> &Permits;
}

/// A wish for some permits of `L`, a reference to a lock.
pub(crate) struct Request<L: Deref<Target: HasPermits>> {
    lock: L,
    node: TaskNode,
}

impl<L: Deref<Target: HasPermits> + Clone> Request<L> {
    /// Returns a request for `wanted` permits.
    #[inline]
    pub(crate) fn new(lock: L, wanted: u32) -> Self {
        Request { lock, node: TaskNode::new(wanted) }
    }

    /// Returns how many permits are wanted.
    #[inline]
    pub(super) fn wanted(&self) -> u32 {
        self.node.wanted()
    }

    /// Returns true if the request is in no queue, and was handed nothing.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.node.is_idle()
    }

    /// Returns the lock once the request's permits are the caller's, who has to give them back. A
    /// poll after that begins a new request.
    #[inline]
    pub(crate) fn poll(mut self: Pin<&mut Self>, context: &Context<'_>) -> Poll<Result<L, Refused>> {
        let met = self.as_mut().poll_unless(Some(context.waker()), |_| false);
        met.map(|result| result.map(|()| self.lock.clone()))
    }

    /// Polls as `poll` does; the lock is the caller's to know. Where the permits are not free at once, the
    /// request is refused if `is_told` of the lock. Without a waker no task is woken.
    #[inline]
    pub(super) fn poll_unless(
        self: Pin<&mut Self>,
        waker: Option<&Waker>,
        is_told: impl Fn(&L::Target) -> bool,
    ) -> Poll<Result<(), Refused>> {
        let this = self.into_ref().get_ref();
        let permits = this.lock.permits();
        if this.node.is_idle() && permits.take(this.node.wanted()) {
            return Poll::Ready(Ok(()));
        }
        // SAFETY: the node is this request's, which is pinned, and whose drop cancels it.
        unsafe { permits.poll(&this.node, waker, || is_told(&this.lock)) }
    }
}

impl<L: Deref<Target: HasPermits>> Drop for Request<L> {
    #[inline]
    fn drop(&mut self) {
        if !self.node.is_idle() {
            // SAFETY: the node was polled with these permits only.
            unsafe { self.lock.permits().cancel(&self.node) };
        }
    }
}
