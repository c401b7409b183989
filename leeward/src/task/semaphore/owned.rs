//! The semaphore's calls and permits that keep it alive, by an `Arc`.

use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use super::super::request::Request;
use super::{AcquireError, Semaphore, TryAcquireError};

impl Semaphore {
    /// Returns a future as [`acquire`](Self::acquire) does, whose permit keeps the semaphore alive: for a
    /// task that outlives the borrow.
    ///
    /// ```
    /// # use std::{future::Future, pin::pin, sync::Arc, task::{Context, Poll, Waker}};
    /// use leeward::task::Semaphore;
    /// let free = Arc::new(Semaphore::new(1));
    /// let acquiring = free.clone().acquire_owned();
    /// let Poll::Ready(Ok(permit)) = pin!(acquiring).poll(&mut Context::from_waker(Waker::noop())) else {
    ///     unreachable!("one is free")
    /// };
    /// std::thread::spawn(move || drop(permit)).join().unwrap();
    /// assert_eq!(free.available_permits(), 1);
    /// ```
    #[inline]
    pub fn acquire_owned(self: Arc<Self>) -> AcquireOwned {
        self.acquire_many_owned(1)
    }

    /// Returns a future as [`acquire_many`](Self::acquire_many) does, whose permits keep the semaphore
    /// alive.
    ///
    /// ```
    /// # use std::{future::Future, pin::pin, sync::Arc, task::{Context, Waker}};
    /// use leeward::task::Semaphore;
    /// let (free, mut context) = (Arc::new(Semaphore::new(1)), Context::from_waker(Waker::noop()));
    /// let mut three = pin!(free.clone().acquire_many_owned(3));
    /// assert!(three.as_mut().poll(&mut context).is_pending());
    /// free.add_permits(2);
    /// assert!(three.as_mut().poll(&mut context).is_ready());
    /// ```
    #[inline]
    pub fn acquire_many_owned(self: Arc<Self>, permits: u32) -> AcquireOwned {
        AcquireOwned(Request::new(self, permits))
    }

    /// Takes a permit if one is free, which keeps the semaphore alive.
    ///
    /// ```
    /// use leeward::task::{Semaphore, TryAcquireError};
    /// use std::sync::Arc;
    /// let free = Arc::new(Semaphore::new(1));
    /// let permit = free.clone().try_acquire_owned()?;
    /// assert_eq!(free.try_acquire_owned().unwrap_err(), TryAcquireError::NoPermits);
    /// # drop(permit);
    /// # Ok::<(), TryAcquireError>(())
    /// ```
    ///
    /// # Errors
    /// As [`try_acquire`](Self::try_acquire).
    #[inline]
    pub fn try_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.try_acquire_many_owned(1)
    }

    /// Takes `permits` permits if that many are free, which keep the semaphore alive.
    ///
    /// ```
    /// use leeward::task::Semaphore;
    /// let free = std::sync::Arc::new(Semaphore::new(3));
    /// assert_eq!(free.try_acquire_many_owned(3).unwrap().num_permits(), 3);
    /// ```
    ///
    /// # Errors
    /// As [`try_acquire_many`](Self::try_acquire_many).
    #[inline]
    pub fn try_acquire_many_owned(self: Arc<Self>, permits: u32) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.try_take(permits)?;
        Ok(OwnedSemaphorePermit { semaphore: self, permits: permits as usize })
    }
}

/// The future that [`Semaphore::acquire_owned`] and [`Semaphore::acquire_many_owned`] return.
#[must_use = "a future does nothing until it is polled"]
pub struct AcquireOwned(Request<Arc<Semaphore>>);

impl Future for AcquireOwned {
    type Output = Result<OwnedSemaphorePermit, AcquireError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let permits = self.0.wanted() as usize;
        // SAFETY: the request is pinned with the future: nothing moves it out.
        let request = unsafe { self.map_unchecked_mut(|this| &mut this.0) };
        request.poll(context).map(|result| match result {
            Ok(semaphore) => Ok(OwnedSemaphorePermit { semaphore, permits }),
            Err(_) => Err(AcquireError(())),
        })
    }
}

impl fmt::Debug for AcquireOwned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AcquireOwned").field("permits", &self.0.wanted()).finish_non_exhaustive()
    }
}

/// Permits of a [`Semaphore`] that keep it alive, given back when this is dropped, on any thread.
///
/// ```
/// use leeward::task::{OwnedSemaphorePermit, Semaphore};
/// use std::sync::Arc;
/// struct Connection { _slot: OwnedSemaphorePermit }
/// let slots = Arc::new(Semaphore::new(2));
/// let connection = Connection { _slot: slots.clone().try_acquire_owned().unwrap() };
/// assert_eq!(slots.available_permits(), 1);
/// drop(connection);
/// assert_eq!(slots.available_permits(), 2);
/// ```
#[must_use = "the permits are given back at once"]
#[clippy::has_significant_drop]
#[derive(Debug)]
pub struct OwnedSemaphorePermit {
    semaphore: Arc<Semaphore>,
    permits: usize,
}

impl OwnedSemaphorePermit {
    /// Returns how many permits these are.
    ///
    /// ```
    /// use leeward::task::Semaphore;
    /// let free = std::sync::Arc::new(Semaphore::new(3));
    /// assert_eq!(free.try_acquire_many_owned(2).unwrap().num_permits(), 2);
    /// ```
    pub fn num_permits(&self) -> usize {
        self.permits
    }

    /// Returns the semaphore that the permits are of.
    ///
    /// ```
    /// use leeward::task::Semaphore;
    /// use std::sync::Arc;
    /// let free = Arc::new(Semaphore::new(3));
    /// assert!(Arc::ptr_eq(free.clone().try_acquire_owned().unwrap().semaphore(), &free));
    /// ```
    pub fn semaphore(&self) -> &Arc<Semaphore> {
        &self.semaphore
    }

    /// Keeps the permits for good: the semaphore has that many fewer.
    ///
    /// ```
    /// use leeward::task::Semaphore;
    /// let free = std::sync::Arc::new(Semaphore::new(3));
    /// free.clone().try_acquire_owned().unwrap().forget();
    /// assert_eq!(free.available_permits(), 2);
    /// ```
    pub fn forget(mut self) {
        self.permits = 0;
    }

    /// Takes `permits` of these out; `None`, with nothing changed, if there are fewer.
    ///
    /// ```
    /// use leeward::task::Semaphore;
    /// let free = std::sync::Arc::new(Semaphore::new(3));
    /// let mut three = free.clone().try_acquire_many_owned(3).unwrap();
    /// drop(three.split(2));
    /// assert_eq!((three.num_permits(), free.available_permits()), (1, 2));
    /// assert!(three.split(2).is_none());
    /// ```
    pub fn split(&mut self, permits: usize) -> Option<Self> {
        let left = self.permits.checked_sub(permits)?;
        let semaphore = Arc::clone(&self.semaphore);
        self.permits = left;
        Some(OwnedSemaphorePermit { semaphore, permits })
    }

    /// Adds the permits of `other` to these.
    ///
    /// ```
    /// use leeward::task::Semaphore;
    /// let free = std::sync::Arc::new(Semaphore::new(3));
    /// let mut one = free.clone().try_acquire_owned().unwrap();
    /// one.merge(free.try_acquire_many_owned(2).unwrap());
    /// assert_eq!(one.num_permits(), 3);
    /// ```
    ///
    /// # Panics
    /// If they are of another semaphore, or more together than a `usize` counts. Nothing is lost
    /// then.
    #[track_caller]
    pub fn merge(&mut self, mut other: Self) {
        self.permits = self.semaphore.merged(self.permits, &other.semaphore, other.permits);
        other.permits = 0;
    }
}

impl Drop for OwnedSemaphorePermit {
    #[inline]
    fn drop(&mut self) {
        self.semaphore.permits.give(self.permits);
    }
}
