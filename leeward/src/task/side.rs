//! A future of a lock and its guard, by one macro: of a mutex, a reader or a writer, with a reference to
//! the lock or an `Arc` of it. Calls `request.rs`.

/// Makes a future and its guard:
/// `side!(FUTURE ['a] of "LOCK::CALL", GUARD, &'a LOCK<T>, COUNT, [mut], [MAKE, TAKE, ASK], DOC)`.
///
/// The future asks for `COUNT` permits of the lock, which the guard's drop gives back. The guard is
/// exclusive if `mut` is in the brackets. Those that own an `Arc` have no lifetime in theirs.
/// The examples make a lock, take it whole, and ask for the future.
macro_rules! side {
    (
        $future:ident [$($life:lifetime)?] of $call:literal, $guard:ident, $lock:ty, $count:expr,
        [$($exclusive:ident)?], [$make:literal, $take:literal, $ask:literal], $doc:literal
    ) => {
        #[doc = concat!("The future that [`", $call, "`] returns.")]
        ///
        /// ```
        /// # use std::{pin::pin, sync::Arc, task::{Context, Waker}};
        /// # use leeward::task::{Mutex, RwLock};
        #[doc = concat!("let lock = Arc::new(", $make, ");")]
        #[doc = concat!("let holder = lock.", $take, "().unwrap();")]
        #[doc = concat!("let mut future = pin!(", $ask, ");")]
        /// let mut context = Context::from_waker(Waker::noop());
        /// assert!(future.as_mut().poll(&mut context).is_pending());
        /// drop(holder);                                           // wakes the task, which polls again
        /// assert!(future.as_mut().poll(&mut context).is_ready());
        /// ```
        #[must_use = "a future does nothing until it is polled"]
        pub struct $future<$($life,)? T: ?Sized>(Request<$lock>);

        impl<$($life,)? T: ?Sized> Future for $future<$($life,)? T> {
            type Output = $guard<$($life,)? T>;

            #[inline]
            fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
                // SAFETY: the request is pinned with the future: nothing moves it out.
                let request = unsafe { self.map_unchecked_mut(|this| &mut this.0) };
                match request.poll(context) {
                    Poll::Ready(Ok(lock)) => Poll::Ready($guard { lock }),
                    // (A lock is never closed.)
                    Poll::Ready(Err(_)) | Poll::Pending => Poll::Pending,
                }
            }
        }

        impl<$($life,)? T: ?Sized> fmt::Debug for $future<$($life,)? T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($future)).finish_non_exhaustive()
            }
        }

        #[doc = $doc]
        ///
        /// ```
        /// # use std::{sync::Arc, task::{Context, Poll, Waker}};
        /// # use leeward::task::{Mutex, RwLock};
        #[doc = concat!("let lock = Arc::new(", $make, ");")]
        #[doc = concat!("let future = std::pin::pin!(", $ask, ");")]
        /// let Poll::Ready(guard) = future.poll(&mut Context::from_waker(Waker::noop())) else {
        ///     unreachable!("it is free")
        /// };
        /// assert_eq!(*guard, 5);
        /// std::thread::scope(|scope| scope.spawn(|| drop(guard)).join().unwrap());
        #[doc = concat!("assert!(lock.", $take, "().is_ok());")]
        #[doc = "```"]
        #[must_use = "the lock is unlocked at once"]
        #[clippy::has_significant_drop]
        pub struct $guard<$($life,)? T: ?Sized> {
            lock: $lock,
        }

        // Locked, by this guard.
        guard! { $guard<$($life,)? T> [$($life,)? T: ?Sized], $($exclusive)? self => self.lock.value.get() }

        impl<$($life,)? T: ?Sized> Drop for $guard<$($life,)? T> {
            #[inline]
            fn drop(&mut self) {
                self.lock.permits.give($count as usize);
            }
        }

        impl<$($life,)? T: ?Sized + fmt::Display> fmt::Display for $guard<$($life,)? T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }
    };
}
pub(super) use side;
