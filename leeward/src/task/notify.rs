//! A notification for tasks: at most one permit, which is not given back; and a count of the calls that
//! tell all. Calls `request.rs`.

use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::ops::Deref;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use super::permits::Permits;
use super::request::{HasPermits, Request};
use crate::atomic::{AtomicUsize, Ordering, const_fn};
use crate::mutant::{check, order};

/// One call that tells all, in the count of them. (The lowest bit of a copy is [`DONE`].)
const CALL: usize = 2;
/// The future is ready: it was told.
const DONE: usize = 1;

/// Tells tasks that something has happened: one of them, or all that wait.
///
/// A notification carries no value. What has happened is in the program's own data, which the task
/// looks at after it was told. If no task waits, [`notify_one`](Self::notify_one) keeps one notification
/// for the next that does, so none is lost between a look and a wait.
///
/// What was done before a call of `notify_one` happens before the return of the `notified().await` that
/// it ends; so it does for a call that finds a notification which is kept already, and for each future
/// that [`notify_waiters`](Self::notify_waiters) ends. See the [module](crate::task) for fairness,
/// cancellation, panics, forks and signals.
///
/// ```
/// # fn block_on<F: Future>(future: F) -> F::Output {
/// #     let mut future = std::pin::pin!(future);
/// #     let mut context = std::task::Context::from_waker(std::task::Waker::noop());
/// #     loop {
/// #         if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut context) { return output }
/// #         std::thread::yield_now();
/// #     }
/// # }
/// use leeward::task::Notify;
/// use std::sync::atomic::{AtomicU32, Ordering};
/// static JOBS: AtomicU32 = AtomicU32::new(0);
/// static MORE: Notify = Notify::const_new();
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         JOBS.store(7, Ordering::Relaxed);
///         MORE.notify_one();
///     });
///     block_on(async {
///         while JOBS.load(Ordering::Relaxed) == 0 {
///             MORE.notified().await;
///         }
///     });
/// });
/// ```
///
/// # Telling all
/// `notify_waiters` keeps nothing for those that come later. A future counts from its making, and not
/// from its first poll: one that [`notified`](Self::notified) has returned before the call is ready
/// after it. So a task that waits for a condition makes its future before it looks:
///
/// ```
/// # use std::{future::Future, pin::pin, task::{Context, Waker}};
/// # use std::sync::atomic::{AtomicBool, Ordering};
/// use leeward::task::Notify;
/// async fn until(flag: &AtomicBool, changed: &Notify) {
///     loop {
///         let told = changed.notified();
///         if flag.load(Ordering::Relaxed) {
///             return;
///         }
///         told.await;
///     }
/// }
/// let (flag, changed, mut context) = (AtomicBool::new(false), Notify::new(), Context::from_waker(Waker::noop()));
/// let mut waiting = pin!(until(&flag, &changed));
/// assert!(waiting.as_mut().poll(&mut context).is_pending());
/// flag.store(true, Ordering::Relaxed);
/// changed.notify_waiters();
/// assert!(waiting.as_mut().poll(&mut context).is_ready());
/// ```
///
/// # Differences from tokio's `Notify`
/// - A task that keeps a future which was told, and awaits another one, is told by that one
///   ([why](crate::task#a-future-that-is-kept-and-not-polled)).
/// - What a future was told by [`notify_last`](Self::notify_last), and did not come for, goes to the task
///   that has waited longest when it is dropped.
/// - It is neither `UnwindSafe` nor `RefUnwindSafe`.
/// - A notification that is kept costs less than half as much, and one for a future that waits half as
///   much again.
///
/// # Cost
/// While no task waits: a compare-exchange to notify one, and one to take that. Telling all takes the
/// queue's lock. No call allocates. 56 bytes; a future has 72.
pub struct Notify {
    /// The notification that is kept, and the tasks that wait.
    permits: Permits,
    /// The number of calls that told all, times [`CALL`]. It changes under the queue's lock only.
    calls: AtomicUsize,
}

impl Notify {
    const_fn! {
        /// Returns one that keeps no notification.
        pub fn new() -> Self {
            Notify { permits: Permits::single(), calls: AtomicUsize::new(0) }
        }
    }

    const_fn! {
        /// Returns one that keeps no notification: [`new`](Self::new) by the name that it has in tokio.
        pub fn const_new() -> Self {
            Notify::new()
        }
    }

    /// Returns a future that is ready when it was told: by a notification that was kept, which it takes;
    /// by [`notify_one`](Self::notify_one), in turn; or by a call of
    /// [`notify_waiters`](Self::notify_waiters) after this one. It is queued when it is polled first, or
    /// [enabled](Notified::enable).
    ///
    /// ```
    /// # use std::{future::Future, pin::pin, task::{Context, Waker}};
    /// use leeward::task::Notify;
    /// let (notify, mut context) = (Notify::new(), Context::from_waker(Waker::noop()));
    /// notify.notify_one();
    /// notify.notify_one();                                // one is kept
    /// assert!(pin!(notify.notified()).poll(&mut context).is_ready());
    /// assert!(pin!(notify.notified()).poll(&mut context).is_pending());
    /// ```
    ///
    /// A future that is dropped after it was told by `notify_one`, and before it was ready, passes the
    /// notification on.
    #[inline]
    pub fn notified(&self) -> Notified<'_> {
        Notified(Told::new(self))
    }

    /// Returns a future as [`notified`](Self::notified) does, which keeps the `Notify` alive.
    ///
    /// ```
    /// # use std::{future::Future, pin::pin, sync::Arc, task::{Context, Waker}};
    /// use leeward::task::{Notify, OwnedNotified};
    /// let notify = Arc::new(Notify::new());
    /// let told: OwnedNotified = Arc::clone(&notify).notified_owned();
    /// notify.notify_waiters();
    /// drop(notify);
    /// assert!(pin!(told).poll(&mut Context::from_waker(Waker::noop())).is_ready());
    /// ```
    #[inline]
    pub fn notified_owned(self: Arc<Self>) -> OwnedNotified {
        OwnedNotified(Told::new(self))
    }

    /// Tells the task that has waited longest; if none waits, keeps one notification for the next.
    ///
    /// ```
    /// # use std::{future::Future, pin::pin, task::{Context, Waker}};
    /// use leeward::task::Notify;
    /// let (notify, mut context) = (Notify::new(), Context::from_waker(Waker::noop()));
    /// let mut told = pin!(notify.notified());
    /// assert!(told.as_mut().poll(&mut context).is_pending());
    /// notify.notify_one();
    /// assert!(told.as_mut().poll(&mut context).is_ready());
    /// ```
    #[inline]
    pub fn notify_one(&self) {
        self.permits.give_one(false);
    }

    /// Tells the task that was queued last; if none waits, keeps one notification for the next.
    ///
    /// ```
    /// # use std::{future::Future, pin::pin, task::{Context, Waker}};
    /// use leeward::task::Notify;
    /// let (notify, mut context) = (Notify::new(), Context::from_waker(Waker::noop()));
    /// let (mut first, mut last) = (pin!(notify.notified()), pin!(notify.notified()));
    /// assert!(!first.as_mut().enable() && !last.as_mut().enable()); // queued, in this order
    /// notify.notify_last();
    /// assert!(last.as_mut().poll(&mut context).is_ready());
    /// assert!(first.as_mut().poll(&mut context).is_pending());
    /// ```
    #[inline]
    pub fn notify_last(&self) {
        self.permits.give_one(true);
    }

    /// Tells all tasks that wait now, and keeps nothing for others. A future that was made before the
    /// call waits, polled or not; one that is made by a waker, within the call, does not.
    ///
    /// ```
    /// # use std::{future::Future, pin::pin, task::{Context, Waker}};
    /// use leeward::task::Notify;
    /// let (notify, mut context) = (Notify::new(), Context::from_waker(Waker::noop()));
    /// let before = pin!(notify.notified());
    /// notify.notify_waiters();
    /// let after = pin!(notify.notified());
    /// assert!(before.poll(&mut context).is_ready() && after.poll(&mut context).is_pending());
    /// ```
    pub fn notify_waiters(&self) {
        let queue = self.permits.lock();
        // Relaxed: it changes under the lock only.
        let calls = self.calls.load(Ordering::Relaxed);
        // Release: partner of the acquire in `Told::new`: a future that counts this call, and so is not
        // told by it, is made after what was done before the call.
        self.calls.store(calls.wrapping_add(CALL), order!(Release, notify_calls_release));
        self.permits.refuse(queue);
    }
}

impl HasPermits for Notify {
    #[inline]
    fn permits(&self) -> &Permits {
        &self.permits
    }
}

impl Default for Notify {
    fn default() -> Self {
        Notify::new()
    }
}

impl fmt::Debug for Notify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notify").field("is_kept", &(self.permits.free() != 0)).finish()
    }
}

/// A future's wait for a notification of `N`, a reference to a [`Notify`].
struct Told<N: Deref<Target = Notify>> {
    request: Request<N>,
    /// The calls that told all when this was made; with [`DONE`].
    calls: usize,
}

impl<N: Deref<Target = Notify> + Clone> Told<N> {
    #[inline]
    fn new(notify: N) -> Self {
        // Acquire: partner of the release in `notify_waiters`.
        let calls = notify.calls.load(order!(Acquire, notify_calls_acquire));
        Told { request: Request::new(notify, 1), calls }
    }

    /// Returns `Ready` if it was told. Without a waker no task is woken by what comes.
    #[inline]
    fn poll(self: Pin<&mut Self>, waker: Option<&Waker>) -> Poll<()> {
        // SAFETY: nothing is moved out.
        let this = unsafe { self.get_unchecked_mut() };
        if this.calls & DONE == 0 {
            let made = this.calls;
            // Relaxed: under the lock, in which it changes.
            let is_told = |notify: &Notify| check!(notify_made, notify.calls.load(Ordering::Relaxed) != made);
            // SAFETY: pinned with this, which does not move it.
            let request = unsafe { Pin::new_unchecked(&mut this.request) };
            if request.poll_unless(waker, is_told).is_pending() {
                return Poll::Pending;
            }
            this.calls |= DONE;
        }
        Poll::Ready(())
    }
}

/// Makes the future that a call returns.
macro_rules! notified {
    ($name:ident [$($life:lifetime)?] of $call:literal, $notify:ty) => {
        #[doc = concat!("The future that [`", $call, "`] returns. Once it was ready it stays so.")]
        #[must_use = "a future does nothing until it is polled"]
        pub struct $name$(<$life>)?(Told<$notify>);

        impl$(<$life>)? $name$(<$life>)? {
            /// Queues the future, if it is not yet; returns true if it was told, and so is ready.
            ///
            /// A future that is queued has its turn, although no task has polled it. When it is polled,
            /// the task is woken, as always. It is no future of a certain task before that: another one
            /// does not take what it is told.
            ///
            /// ```
            /// # use std::{future::Future, pin::pin, sync::Arc, task::{Context, Waker}};
            /// use leeward::task::Notify;
            /// let (notify, mut context) = (Arc::new(Notify::new()), Context::from_waker(Waker::noop()));
            /// let mut told = pin!(notify.clone().notified_owned());
            /// assert!(!told.as_mut().enable());
            /// notify.notify_one();                            // not kept: there is one that waits
            /// assert!(pin!(notify.notified()).poll(&mut context).is_pending());
            /// assert!(told.as_mut().enable() && told.as_mut().poll(&mut context).is_ready());
            /// ```
            pub fn enable(self: Pin<&mut Self>) -> bool {
                self.told().poll(None).is_ready()
            }

            #[inline]
            fn told(self: Pin<&mut Self>) -> Pin<&mut Told<$notify>> {
                // SAFETY: it is pinned with the future: nothing moves it out.
                unsafe { self.map_unchecked_mut(|this| &mut this.0) }
            }
        }

        impl$(<$life>)? Future for $name$(<$life>)? {
            type Output = ();

            #[inline]
            fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
                self.told().poll(Some(context.waker()))
            }
        }

        impl$(<$life>)? fmt::Debug for $name$(<$life>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    };
}

notified!(Notified ['a] of "Notify::notified", &'a Notify);
notified!(OwnedNotified [] of "Notify::notified_owned", Arc<Notify>);
