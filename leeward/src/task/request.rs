//! A future's part that waits for permits: polled, and taken back when it is dropped.

use core::ops::Deref;
use core::pin::Pin;
use core::task::{Context, Poll};

use super::node::TaskNode;
use super::permits::{Closed, Permits};

/// A lock that is made of permits.
pub(super) trait HasPermits {
    /// Returns the lock's permits: the same each time.
    fn permits(&self) -> &Permits;
}

/// A wish for some permits of `L`, a reference to a lock.
pub(super) struct Request<L: Deref<Target: HasPermits>> {
    lock: L,
    node: TaskNode,
}

impl<L: Deref<Target: HasPermits> + Clone> Request<L> {
    /// Returns a request for `wanted` permits.
    #[inline]
    pub(super) fn new(lock: L, wanted: u32) -> Self {
        Request { lock, node: TaskNode::new(wanted) }
    }

    /// Returns how many permits are wanted.
    #[inline]
    pub(super) fn wanted(&self) -> u32 {
        self.node.wanted()
    }

    /// Returns the lock once the request's permits are the caller's, who has to give them back. A
    /// poll after that begins a new request.
    #[inline]
    pub(super) fn poll(self: Pin<&mut Self>, context: &Context<'_>) -> Poll<Result<L, Closed>> {
        let this = self.into_ref().get_ref();
        let permits = this.lock.permits();
        if this.node.is_idle() && permits.take(this.node.wanted()) {
            return Poll::Ready(Ok(this.lock.clone()));
        }
        // SAFETY: the node is this request's, which is pinned, and whose drop cancels it.
        unsafe { permits.poll(&this.node, context) }.map(|result| result.map(|()| this.lock.clone()))
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
