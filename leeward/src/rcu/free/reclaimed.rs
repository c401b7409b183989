//! Retired values as futures.
//!
//! Made of `retired.rs`' values; waits by `future.rs`.

use alloc::boxed::Box;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use super::super::domain::Domain;
use super::super::grace::future::GracePeriod;
use super::retired::Retired;

/// A retired value that comes back after a grace period, which [`Retired::reclaimed`] returns.
///
/// Dropping it before it is ready [defers](Retired::defer) the value's drop. Cost, panics, fork, and what
/// happens where there is no worker are [`GracePeriod`]'s.
///
/// ```
/// use leeward::rcu::{RcuCell, Reclaimed};
/// use std::task::{Context, Poll, Waker};
/// let name = RcuCell::new("a");
/// let mut old: Reclaimed<&str> = name.replace("b").reclaimed();
/// let mut context = Context::from_waker(Waker::noop());
/// loop {
///     // As an executor would, but that an executor waits to be woken.
///     if let Poll::Ready(old) = std::pin::Pin::new(&mut old).poll(&mut context) {
///         break assert_eq!(*old, "a");
///     }
///     std::thread::yield_now();
/// }
/// ```
#[must_use = "a future does nothing until it is polled"]
pub struct Reclaimed<T: ?Sized, D: Domain = super::super::Global> {
    /// Taken when it is ready.
    retired: Option<Retired<T, D>>,
    grace: GracePeriod<D>,
}

impl<T: ?Sized, D: Domain> Retired<T, D> {
    /// Returns a future that is ready with the value after a grace period, when no reader has it any
    /// more.
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
    /// use leeward::rcu::RcuCell;
    /// let name = RcuCell::new(String::from("a"));
    /// let old: Box<String> = block_on(name.replace(String::from("b")).reclaimed());
    /// assert_eq!(*old, "a");
    /// ```
    pub fn reclaimed(self) -> Reclaimed<T, D> {
        Reclaimed { retired: Some(self), grace: GracePeriod::new() }
    }
}

impl<T: ?Sized, D: Domain> Future for Reclaimed<T, D> {
    type Output = Box<T>;

    /// # Panics
    /// When it is polled after it was ready, as well.
    #[track_caller]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Box<T>> {
        if Pin::new(&mut self.grace).poll(context).is_pending() {
            return Poll::Pending;
        }
        let Some(retired) = self.retired.take() else { panic!("leeward: a future was polled after it was ready") };
        // SAFETY: the grace period began after the value was retired, and is over.
        Poll::Ready(unsafe { retired.into_box() })
    }
}

// Nothing in it is pinned.
impl<T: ?Sized, D: Domain> Unpin for Reclaimed<T, D> {}

impl<T: ?Sized, D: Domain> core::fmt::Debug for Reclaimed<T, D> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Reclaimed").finish_non_exhaustive()
    }
}
