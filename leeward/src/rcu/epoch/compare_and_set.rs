//! The compare-exchange of older programs: crossbeam-epoch's `compare_and_set`, which it has deprecated
//! since 0.8 and still has.

#![allow(deprecated)]

use core::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

use super::atomic::{Atomic, CompareExchangeError};
use super::guard::Guard;
use super::pointable::Pointable;
use super::pointer::{Pointer, Shared};

/// What [`Atomic::compare_and_set`] takes as its orderings: one, which is that of success, or a pair of
/// those of success and failure. After one alone, the failure's is the strongest that goes with it.
///
/// ```
/// #![allow(deprecated)]
/// use leeward::rcu::epoch::CompareAndSetOrdering;
/// use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
/// assert_eq!((AcqRel.success(), AcqRel.failure()), (AcqRel, Acquire));
/// assert_eq!((AcqRel, Relaxed).failure(), Relaxed);
/// ```
#[deprecated(note = "`compare_exchange` takes both orderings, as std's atomics do")]
pub trait CompareAndSetOrdering {
    /// The ordering if the pointer was stored.
    fn success(&self) -> Ordering;
    /// The ordering if another pointer was there.
    fn failure(&self) -> Ordering;
}

impl CompareAndSetOrdering for Ordering {
    fn success(&self) -> Ordering {
        *self
    }

    fn failure(&self) -> Ordering {
        match self {
            Relaxed | Release => Relaxed,
            Acquire | AcqRel => Acquire,
            _ => SeqCst,
        }
    }
}

impl CompareAndSetOrdering for (Ordering, Ordering) {
    fn success(&self) -> Ordering {
        self.0
    }

    fn failure(&self) -> Ordering {
        self.1
    }
}

/// The error of [`Atomic::compare_and_set`]: that of a compare-exchange.
#[deprecated(note = "it is `CompareExchangeError`")]
pub type CompareAndSetError<'g, T, P> = CompareExchangeError<'g, T, P>;

impl<T: ?Sized + Pointable> Atomic<T> {
    /// Does as [`compare_exchange`](Self::compare_exchange), with the orderings in one argument: for programs
    /// that were written for crossbeam-epoch before 0.9.
    ///
    /// # Errors
    /// The pointer that was there, and `new`.
    #[deprecated(note = "`compare_exchange` takes both orderings, as std's atomics do")]
    pub fn compare_and_set<'g, P: Pointer<T>>(
        &self,
        current: Shared<'_, T>,
        new: P,
        order: impl CompareAndSetOrdering,
        guard: &'g Guard,
    ) -> Result<Shared<'g, T>, CompareAndSetError<'g, T, P>> {
        self.compare_exchange(current, new, order.success(), order.failure(), guard)
    }

    /// Does as [`compare_exchange_weak`](Self::compare_exchange_weak), with the orderings in one argument.
    ///
    /// # Errors
    /// The pointer that was there, and `new`.
    #[deprecated(note = "`compare_exchange_weak` takes both orderings, as std's atomics do")]
    pub fn compare_and_set_weak<'g, P: Pointer<T>>(
        &self,
        current: Shared<'_, T>,
        new: P,
        order: impl CompareAndSetOrdering,
        guard: &'g Guard,
    ) -> Result<Shared<'g, T>, CompareAndSetError<'g, T, P>> {
        self.compare_exchange_weak(current, new, order.success(), order.failure(), guard)
    }
}
