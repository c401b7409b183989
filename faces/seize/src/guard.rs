//! Sections: the trait of both kinds, and the kind that stays on its thread.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use leeward::rcu::epoch::CollectorGuard;

use crate::collector::{Collector, Inner};
use crate::ending;

/// An open section of a [`Collector`].
///
/// A pointer that is loaded through a guard points to an object that is there until the guard's end, unless this
/// thread retires it without a guard. A load is one of the standard library, with its ordering.
pub trait Guard {
    /// Ends the section and opens another one, unless the thread has an outer one.
    fn refresh(&mut self);

    /// Has what the thread has retired reclaimed as soon as no section is in the way.
    fn flush(&self);

    /// Returns the collector.
    fn collector(&self) -> &Collector;

    /// Returns a number of the calling thread.
    fn thread_id(&self) -> usize;

    /// Loads a pointer.
    #[inline]
    fn protect<T>(&self, ptr: &AtomicPtr<T>, order: Ordering) -> *mut T {
        ptr.load(order)
    }

    /// Stores a pointer, and returns the one that was there.
    #[inline]
    fn swap<T>(&self, ptr: &AtomicPtr<T>, value: *mut T, order: Ordering) -> *mut T {
        ptr.swap(value, order)
    }

    /// Stores a pointer if `current` is there.
    ///
    /// # Errors
    /// The pointer that was there.
    #[inline]
    fn compare_exchange<T>(
        &self,
        ptr: &AtomicPtr<T>,
        current: *mut T,
        new: *mut T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<*mut T, *mut T> {
        ptr.compare_exchange(current, new, success, failure)
    }

    /// Stores a pointer if `current` is there; may fail if it is.
    ///
    /// # Errors
    /// The pointer that was there.
    #[inline]
    fn compare_exchange_weak<T>(
        &self,
        ptr: &AtomicPtr<T>,
        current: *mut T,
        new: *mut T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<*mut T, *mut T> {
        ptr.compare_exchange_weak(current, new, success, failure)
    }

    /// Has `reclaim` called when this section has ended, and all that are open now.
    ///
    /// # Safety
    /// The object is unlinked, and retired once; `reclaim` may be called with it on any thread.
    unsafe fn defer_retire<T>(&self, ptr: *mut T, reclaim: unsafe fn(*mut T, &Collector));
}

/// A section of the calling thread, by [`Collector::enter`].
pub struct LocalGuard<'a> {
    guard: CollectorGuard<'a>,
    collector: &'a Collector,
}

impl<'a> LocalGuard<'a> {
    #[inline]
    pub(crate) fn new(collector: &'a Collector, guard: CollectorGuard<'a>) -> Self {
        LocalGuard { guard, collector }
    }
}

impl Guard for LocalGuard<'_> {
    #[inline]
    fn refresh(&mut self) {
        self.guard.repin();
    }

    #[inline]
    fn flush(&self) {
        self.guard.flush();
    }

    #[inline]
    fn collector(&self) -> &Collector {
        self.collector
    }

    #[inline]
    fn thread_id(&self) -> usize {
        ending::thread_id()
    }

    #[inline]
    unsafe fn defer_retire<T>(&self, ptr: *mut T, reclaim: unsafe fn(*mut T, &Collector)) {
        let inner = self.collector.inner();
        inner.note_retired();
        let inner = Arc::as_ptr(inner);
        // SAFETY: the caller's promise; the collector's drop waits until the call was made.
        let call = move || unsafe { Inner::reclaim(inner, ptr, reclaim) };
        // SAFETY: the caller's promise.
        unsafe { self.guard.defer_unchecked(call) };
    }
}

impl fmt::Debug for LocalGuard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LocalGuard").finish()
    }
}
