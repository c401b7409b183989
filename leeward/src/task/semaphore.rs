//! A semaphore for tasks: permits, with errors and guards. Calls `request.rs`.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use super::permits::Permits;
use super::request::{HasPermits, Request};
use crate::atomic::const_fn;

mod owned;

pub use owned::{AcquireOwned, OwnedSemaphorePermit};

/// A number of permits that any task may take, some at a time, and give back.
///
/// What was done before permits are given back happens before the return of the call that takes
/// them. See the [module](crate::task) for fairness, cancellation, panics, forks and signals.
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
/// use leeward::task::Semaphore;
/// static REQUESTS: Semaphore = Semaphore::const_new(3);
/// block_on(async {
///     let one = REQUESTS.acquire().await.unwrap();
///     let two = REQUESTS.acquire_many(2).await.unwrap();
///     assert!(REQUESTS.try_acquire().is_err());
///     drop(two);
///     assert_eq!(REQUESTS.available_permits(), 2);
///     # drop(one);
/// });
/// ```
///
/// # Cost
/// Free: a compare-exchange to take permits, however many, and one to give them back.
pub struct Semaphore {
    permits: Permits,
}

impl Semaphore {
    /// The greatest number of permits.
    pub const MAX_PERMITS: usize = Permits::MOST;

    const_fn! {
        /// Returns a semaphore with `permits` permits.
        ///
        /// # Panics
        /// If that is more than [`MAX_PERMITS`](Self::MAX_PERMITS).
        #[track_caller]
        pub fn new(permits: usize) -> Self {
            Semaphore { permits: Permits::new(permits) }
        }
    }

    const_fn! {
        /// Returns a semaphore: [`new`](Self::new) by the name that it has in tokio.
        ///
        /// # Panics
        /// As `new` does.
        pub fn const_new(permits: usize) -> Self {
            Semaphore::new(permits)
        }
    }

    /// Returns how many permits are free; out of date when it returns.
    ///
    /// ```
    /// assert_eq!(leeward::task::Semaphore::new(3).available_permits(), 3);
    /// ```
    pub fn available_permits(&self) -> usize {
        self.permits.free()
    }

    /// Returns a future that is ready with a permit, or with the error that the semaphore was
    /// closed.
    ///
    /// ```
    /// # use std::{future::Future, pin::pin, task::{Context, Waker}};
    /// use leeward::task::Semaphore;
    /// let (free, mut context) = (Semaphore::new(0), Context::from_waker(Waker::noop()));
    /// let mut permit = pin!(free.acquire());
    /// assert!(permit.as_mut().poll(&mut context).is_pending());
    /// free.add_permits(1);
    /// assert!(permit.as_mut().poll(&mut context).is_ready());
    /// ```
    #[inline]
    pub fn acquire(&self) -> Acquire<'_> {
        self.acquire_many(1)
    }

    /// Returns a future that is ready with `permits` permits, all at once, or with the error that
    /// the semaphore was closed. One that asks for more than there will ever be waits for ever, and
    /// those behind it with it.
    ///
    /// ```
    /// # use std::{future::Future, pin::pin, task::{Context, Waker}};
    /// use leeward::task::Semaphore;
    /// let (free, mut context) = (Semaphore::new(1), Context::from_waker(Waker::noop()));
    /// let mut three = pin!(free.acquire_many(3));
    /// assert!(three.as_mut().poll(&mut context).is_pending());
    /// assert!(free.try_acquire().is_err());               // the one is kept for the three
    /// free.add_permits(2);
    /// assert!(three.as_mut().poll(&mut context).is_ready());
    /// ```
    #[inline]
    pub fn acquire_many(&self, permits: u32) -> Acquire<'_> {
        Acquire(Request::new(self, permits))
    }

    /// Takes a permit if one is free.
    ///
    /// ```
    /// use leeward::task::{Semaphore, TryAcquireError};
    /// let free = Semaphore::new(1);
    /// let permit = free.try_acquire()?;
    /// assert_eq!(free.try_acquire().unwrap_err(), TryAcquireError::NoPermits);
    /// # drop(permit);
    /// # Ok::<(), TryAcquireError>(())
    /// ```
    ///
    /// # Errors
    /// If none is free, or a task waits; or if the semaphore is closed.
    #[inline]
    pub fn try_acquire(&self) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.try_acquire_many(1)
    }

    /// Takes `permits` permits if that many are free.
    ///
    /// ```
    /// use leeward::task::Semaphore;
    /// let free = Semaphore::new(3);
    /// assert_eq!(free.try_acquire_many(3).unwrap().num_permits(), 3);
    /// ```
    ///
    /// # Errors
    /// If fewer are free, or a task waits; or if the semaphore is closed.
    #[inline]
    pub fn try_acquire_many(&self, permits: u32) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.try_take(permits)?;
        Ok(SemaphorePermit { semaphore: self, permits: permits as usize })
    }

    /// Takes `permits` permits if that many are free. They are the caller's, who has to give them back.
    #[inline]
    fn try_take(&self, permits: u32) -> Result<(), TryAcquireError> {
        if self.permits.try_take(permits) {
            Ok(())
        } else if self.is_closed() {
            Err(TryAcquireError::Closed)
        } else {
            Err(TryAcquireError::NoPermits)
        }
    }

    /// Returns the sum of some permits of this semaphore and of `others`, which must be the same.
    #[track_caller]
    fn merged(&self, permits: usize, other: &Semaphore, others: usize) -> usize {
        assert!(core::ptr::eq(self, other), "leeward: permits of two semaphores cannot be merged");
        permits.checked_add(others).expect("leeward: a SemaphorePermit cannot count so many permits")
    }

    /// Adds permits, for good.
    ///
    /// ```
    /// use leeward::task::Semaphore;
    /// let free = Semaphore::new(1);
    /// free.add_permits(2);
    /// assert_eq!(free.available_permits(), 3);
    /// ```
    ///
    /// # Panics
    /// If there would be more than [`MAX_PERMITS`](Self::MAX_PERMITS). Nothing has changed then.
    #[track_caller]
    pub fn add_permits(&self, permits: usize) {
        assert!(self.permits.add(permits), "leeward: a Semaphore cannot count so many permits");
    }

    /// Takes up to `permits` free permits away, for good. Returns how many it took.
    ///
    /// ```
    /// use leeward::task::Semaphore;
    /// let free = Semaphore::new(2);
    /// assert_eq!((free.forget_permits(1), free.forget_permits(3)), (1, 1));
    /// ```
    pub fn forget_permits(&self, permits: usize) -> usize {
        self.permits.remove(permits)
    }

    /// Closes the semaphore: all tasks that wait, and all that come, get an error.
    ///
    /// ```
    /// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
    /// use leeward::task::Semaphore;
    /// let (free, mut context) = (Semaphore::new(0), Context::from_waker(Waker::noop()));
    /// let mut permit = pin!(free.acquire());
    /// assert!(permit.as_mut().poll(&mut context).is_pending());
    /// free.close();
    /// assert!(matches!(permit.as_mut().poll(&mut context), Poll::Ready(Err(_))));
    /// ```
    pub fn close(&self) {
        self.permits.close();
    }

    /// Returns true if the semaphore was closed.
    ///
    /// ```
    /// let free = leeward::task::Semaphore::new(1);
    /// free.close();
    /// assert!(free.is_closed() && free.try_acquire().is_err());
    /// ```
    pub fn is_closed(&self) -> bool {
        self.permits.is_closed()
    }
}

impl HasPermits for Semaphore {
    #[inline]
    fn permits(&self) -> &Permits {
        &self.permits
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (permits, closed) = (self.available_permits(), self.is_closed());
        f.debug_struct("Semaphore").field("permits", &permits).field("closed", &closed).finish()
    }
}

/// The future that [`Semaphore::acquire`] and [`Semaphore::acquire_many`] return.
///
/// ```
/// # use std::{pin::pin, task::{Context, Waker}};
/// use leeward::task::Semaphore;
/// let (free, mut context) = (Semaphore::new(1), Context::from_waker(Waker::noop()));
/// let one = free.try_acquire().unwrap();
/// let mut acquire = pin!(free.acquire());
/// assert!(acquire.as_mut().poll(&mut context).is_pending());
/// drop(one);                                              // wakes the task, which polls again
/// assert!(acquire.as_mut().poll(&mut context).is_ready());
/// ```
#[must_use = "a future does nothing until it is polled"]
pub struct Acquire<'a>(Request<&'a Semaphore>);

impl<'a> Future for Acquire<'a> {
    type Output = Result<SemaphorePermit<'a>, AcquireError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let permits = self.0.wanted() as usize;
        // SAFETY: the request is pinned with the future: nothing moves it out.
        let request = unsafe { self.map_unchecked_mut(|this| &mut this.0) };
        match request.poll(context) {
            Poll::Ready(Ok(semaphore)) => Poll::Ready(Ok(SemaphorePermit { semaphore, permits })),
            Poll::Ready(Err(_)) => Poll::Ready(Err(AcquireError(()))),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl fmt::Debug for Acquire<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acquire").field("permits", &self.0.wanted()).finish_non_exhaustive()
    }
}

/// Permits of a [`Semaphore`], given back when this is dropped, on any thread.
///
/// ```
/// use leeward::task::Semaphore;
/// let free = Semaphore::new(3);
/// let mut three = free.try_acquire_many(3).unwrap();
/// let one = three.split(1).unwrap();
/// drop(three);
/// assert_eq!(free.available_permits(), 2);
/// one.forget();                                           // for good
/// assert_eq!(free.available_permits(), 2);
/// ```
#[must_use = "the permits are given back at once"]
#[clippy::has_significant_drop]
#[derive(Debug)]
pub struct SemaphorePermit<'a> {
    semaphore: &'a Semaphore,
    permits: usize,
}

impl SemaphorePermit<'_> {
    /// Returns how many permits these are.
    ///
    /// ```
    /// use leeward::task::Semaphore;
    /// let free = Semaphore::new(3);
    /// assert_eq!(free.try_acquire_many(2).unwrap().num_permits(), 2);
    /// ```
    pub fn num_permits(&self) -> usize {
        self.permits
    }

    /// Keeps the permits for good: the semaphore has that many fewer.
    ///
    /// ```
    /// use leeward::task::Semaphore;
    /// let free = Semaphore::new(3);
    /// free.try_acquire().unwrap().forget();
    /// assert_eq!(free.available_permits(), 2);
    /// ```
    pub fn forget(mut self) {
        self.permits = 0;
    }

    /// Takes `permits` of these out; `None`, with nothing changed, if there are fewer.
    ///
    /// ```
    /// use leeward::task::Semaphore;
    /// let free = Semaphore::new(3);
    /// let mut three = free.try_acquire_many(3).unwrap();
    /// drop(three.split(2));
    /// assert_eq!((three.num_permits(), free.available_permits()), (1, 2));
    /// assert!(three.split(2).is_none());
    /// ```
    pub fn split(&mut self, permits: usize) -> Option<Self> {
        self.permits = self.permits.checked_sub(permits)?;
        Some(SemaphorePermit { permits, ..*self })
    }

    /// Adds the permits of `other` to these.
    ///
    /// ```
    /// use leeward::task::Semaphore;
    /// let free = Semaphore::new(3);
    /// let (mut one, two) = (free.try_acquire().unwrap(), free.try_acquire_many(2).unwrap());
    /// one.merge(two);
    /// assert_eq!(one.num_permits(), 3);
    /// ```
    ///
    /// # Panics
    /// If they are of another semaphore, or more together than a `usize` counts. Nothing is lost
    /// then.
    #[track_caller]
    pub fn merge(&mut self, mut other: Self) {
        self.permits = self.semaphore.merged(self.permits, other.semaphore, other.permits);
        other.permits = 0;
    }
}

impl Drop for SemaphorePermit<'_> {
    #[inline]
    fn drop(&mut self) {
        self.semaphore.permits.give(self.permits);
    }
}

/// The error of [`Semaphore::acquire`]: the semaphore was closed.
///
/// ```
/// # use std::{pin::pin, task::{Context, Poll, Waker}};
/// use leeward::task::Semaphore;
/// let (free, mut context) = (Semaphore::new(0), Context::from_waker(Waker::noop()));
/// let mut acquire = pin!(free.acquire());
/// assert!(acquire.as_mut().poll(&mut context).is_pending());
/// free.close();
/// let Poll::Ready(Err(error)) = acquire.as_mut().poll(&mut context) else { panic!("it was closed") };
/// assert_eq!(error.to_string(), "the semaphore was closed");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AcquireError(());

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the semaphore was closed")
    }
}

impl core::error::Error for AcquireError {}

/// The error of [`Semaphore::try_acquire`].
///
/// ```
/// use leeward::task::{Semaphore, TryAcquireError};
/// let free = Semaphore::new(0);
/// assert_eq!(free.try_acquire().unwrap_err(), TryAcquireError::NoPermits);
/// free.close();
/// assert_eq!(free.try_acquire().unwrap_err(), TryAcquireError::Closed);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TryAcquireError {
    /// The semaphore was closed.
    Closed,
    /// There were fewer free permits, or a task waits for some.
    NoPermits,
}

impl fmt::Display for TryAcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TryAcquireError::Closed => "the semaphore was closed",
            TryAcquireError::NoPermits => "there are not so many free permits",
        })
    }
}

impl core::error::Error for TryAcquireError {}
