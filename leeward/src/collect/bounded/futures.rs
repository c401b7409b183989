//! The async ends of a bounded queue: a push and a pop as futures.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use super::Bounded;
use super::position::CLOSED;
use super::ring::{NoRoom, NoValue, Ring};
use super::tasks::Tasks;
use super::waiting::{End, Waiting};
use crate::futex::{Futex, Private};
use crate::process::panics;
use crate::task::Request;

/// The future of [`Bounded::pop_async`].
///
/// It may be dropped at any time: no value is lost, and a wake that it had is another's. Where a producer is in
/// the midst of its push, it wakes its task at once, which thus polls it again.
#[must_use = "a future does nothing until it is polled"]
pub struct Pop<'a, T, F: Futex = Private> {
    task: Task<'a, T, F>,
    /// What was popped, until it is returned.
    value: Option<T>,
}

/// The future of [`Bounded::push_async`].
///
/// It may be dropped at any time, and drops its value if that was not pushed. Where a consumer is in the midst of
/// its pop, it wakes its task at once, which thus polls it again.
#[must_use = "a future does nothing until it is polled"]
pub struct Push<'a, T, F: Futex = Private> {
    task: Task<'a, T, F>,
    /// `None`: it was pushed.
    value: Option<T>,
}

/// A future's part that waits. Its drop gives the chance to look on that the future may have, and then passes
/// the wake on.
struct Task<'a, T, F: Futex> {
    request: Request<&'a Tasks>,
    waiting: Waiting<'a, T, F>,
}

impl<'a, T, F: Futex> Task<'a, T, F> {
    fn new(ring: &'a Ring<T, F>, end: End) -> Self {
        let waiting = Waiting::new(ring, end);
        Task { request: Request::new(waiting.tasks(), 1), waiting }
    }

    fn ring(&self) -> &'a Ring<T, F> {
        self.waiting.ring()
    }

    /// Queues the task, if the cursor is `seen` still, at which the look found nothing. Returns false if it is time
    /// to look again.
    fn is_queued(self: Pin<&mut Self>, seen: u64, context: &Context<'_>) -> bool {
        // SAFETY: the request is moved nowhere.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: pinned with the rest.
        let request = unsafe { Pin::new_unchecked(&mut this.request) };
        // The node first: who takes the mark finds it.
        request.poll(context).is_pending() && this.waiting.mark(seen)
    }

    /// Takes the chance to look that the future may have, since it looks now; and queues it by its newer waker.
    fn looks(self: Pin<&mut Self>, context: &Context<'_>) {
        // SAFETY: as above.
        let this = unsafe { self.get_unchecked_mut() };
        if !this.request.is_idle() {
            // SAFETY: as above.
            let request = unsafe { Pin::new_unchecked(&mut this.request) };
            let _ = request.poll(context);
        }
    }

    /// Ends the wait: the future has what it waited for, or will not have it.
    fn end(self: Pin<&mut Self>) {
        // SAFETY: as above.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: as above.
        let mut request = unsafe { Pin::new_unchecked(&mut this.request) };
        request.set(Request::new(this.waiting.tasks(), 1));
        this.waiting.leave();
    }
}

impl<T, F: Futex> Future for Pop<'_, T, F> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        // SAFETY: the task's part is moved nowhere; values are not pinned.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: pinned with the rest.
        let mut task = unsafe { Pin::new_unchecked(&mut this.task) };
        let ring = task.ring();
        ring.enter();
        task.as_mut().looks(context);
        while this.value.is_none() {
            match ring.take() {
                Ok(value) => this.value = Some(value),
                Err(NoValue::Empty(tail)) if tail & CLOSED != 0 => break,
                Err(NoValue::Empty(tail)) => {
                    if task.as_mut().is_queued(tail, context) {
                        return Poll::Pending;
                    }
                }
                Err(NoValue::Held(_)) => {
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
            }
        }
        // If the waker of another task panics, this one has what it has.
        panics(|| task.end());
        Poll::Ready(this.value.take())
    }
}

impl<T, F: Futex> Future for Push<'_, T, F> {
    type Output = Result<(), T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), T>> {
        // SAFETY: the task's part is moved nowhere; values are not pinned.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: pinned with the rest.
        let mut task = unsafe { Pin::new_unchecked(&mut this.task) };
        let ring = task.ring();
        ring.enter();
        task.as_mut().looks(context);
        while let Some(value) = this.value.take() {
            let Err((value, why)) = ring.put(value, false) else { break };
            this.value = Some(value);
            match why {
                NoRoom::Closed => break,
                NoRoom::Full(head) => {
                    if task.as_mut().is_queued(head, context) {
                        return Poll::Pending;
                    }
                }
                NoRoom::Held(_) => {
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
            }
        }
        // If the waker of another task panics, this one has what it has.
        panics(|| task.end());
        Poll::Ready(this.value.take().map_or(Ok(()), Err))
    }
}

impl<T, F: Futex> Bounded<T, F> {
    /// Returns a future that pushes a value to the end, waiting while the queue is full; its output is the value
    /// if the queue is [closed](Self::close).
    ///
    /// Where it waits, its task waits, on any executor, without an allocation; threads and tasks may use one queue.
    /// (With the feature `task`. See [`task`](crate::task) for wakers, and for futures that are kept and not polled.)
    ///
    /// ```
    /// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
    /// use leeward::collect::Bounded;
    /// let (queue, mut context) = (Bounded::with_capacity(1), Context::from_waker(Waker::noop()));
    /// queue.try_push(1).unwrap();
    /// let mut push = pin!(queue.push_async(2));
    /// assert!(push.as_mut().poll(&mut context).is_pending());
    /// assert_eq!(queue.pop(), Some(1));
    /// assert_eq!(push.as_mut().poll(&mut context), Poll::Ready(Ok(())));
    /// ```
    pub fn push_async(&self, value: T) -> Push<'_, T, F> {
        Push { task: Task::new(self.ring(), End::Push), value: Some(value) }
    }

    /// Returns a future that takes the first value, waiting until there is one; its output is `None` if the queue is
    /// [closed](Self::close) and empty.
    ///
    /// It waits as that of [`push_async`](Self::push_async) does.
    ///
    /// ```
    /// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
    /// use leeward::collect::Bounded;
    /// let (queue, mut context) = (Bounded::with_capacity(1), Context::from_waker(Waker::noop()));
    /// let mut pop = pin!(queue.pop_async());
    /// assert!(pop.as_mut().poll(&mut context).is_pending());
    /// queue.push(1).unwrap();
    /// assert_eq!(pop.as_mut().poll(&mut context), Poll::Ready(Some(1)));
    /// ```
    pub fn pop_async(&self) -> Pop<'_, T, F> {
        Pop { task: Task::new(self.ring(), End::Pop), value: None }
    }
}

impl<T, F: Futex> fmt::Debug for Pop<'_, T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pop").finish_non_exhaustive()
    }
}

impl<T, F: Futex> fmt::Debug for Push<'_, T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Push").finish_non_exhaustive()
    }
}
