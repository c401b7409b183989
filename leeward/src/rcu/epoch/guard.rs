//! Guards of collectors.

use core::fmt;
use core::ptr::NonNull;

use super::collector::Collector;
use super::deferred::Deferred;
use super::local::Local;
use super::pointable::Pointable;
use super::pointer::sealed::Sealed;
use super::pointer::{Owned, Shared};

/// An open section of a [`Collector`]: what was loaded with it stays alive until it is dropped.
///
/// [`pin`](super::pin) and [`LocalHandle::pin`](super::LocalHandle::pin) make guards, which stay on
/// their thread. One that is forgotten keeps its section open for ever: nothing that is retired from
/// then on is freed.
///
/// ```
/// use leeward::rcu::epoch;
/// let mut guard = epoch::pin();
/// guard.defer(|| println!("when every section that is open now has ended"));
/// guard.flush();
/// guard.repin();
/// assert!(guard.collector().is_some());
/// let sum = guard.repin_after(|| 1 + 1);  // outside, and then inside again
/// assert_eq!(sum, 2);
/// ```
#[must_use = "the section ends when the guard is dropped"]
pub struct Guard {
    /// The record of the guard's thread; `None`: the guard protects nothing (`unprotected`).
    local: Option<NonNull<Local>>,
}

impl Guard {
    /// Enters a section.
    ///
    /// # Safety
    /// The record is the calling thread's, and alive.
    #[inline(always)]
    pub(super) unsafe fn enter(local: NonNull<Local>) -> Guard {
        // SAFETY: the caller's promise.
        unsafe { local.as_ref() }.enter();
        Guard { local: Some(local) }
    }

    fn local(&self) -> Option<&Local> {
        // SAFETY: the section keeps the record.
        self.local.map(|local| unsafe { local.as_ref() })
    }

    /// Calls `call` once every section of the collector that is open now has ended: on this thread or
    /// another, while it defers, pins, flushes or drops a handle. Without a thread that does so it
    /// waits.
    ///
    /// # Panics
    /// What panics in `call` is caught (with `std`) and counted in
    /// [`Stats::callback_panics`](crate::rcu::Stats::callback_panics).
    pub fn defer<F: FnOnce() -> R + Send + 'static, R>(&self, call: F) {
        // SAFETY: it may be sent, and borrows nothing.
        unsafe { self.defer_unchecked(call) };
    }

    /// Defers a call as [`defer`](Self::defer) does, of a closure that the compiler cannot check. Under
    /// the guard that [protects nothing](super::unprotected) it is made at once.
    ///
    /// ```
    /// use leeward::rcu::epoch;
    /// let node = Box::into_raw(Box::new(7));
    /// let guard = epoch::pin();
    /// // SAFETY: no thread can find the node any more, and a number may be dropped anywhere.
    /// unsafe { guard.defer_unchecked(move || drop(Box::from_raw(node))) };
    /// ```
    ///
    /// # Cost
    /// Three words are written. A closure of more than two words is boxed.
    ///
    /// # Safety
    /// The closure may be called on any thread, and what it borrows lives until then.
    #[inline]
    pub unsafe fn defer_unchecked<F: FnOnce() -> R, R>(&self, call: F) {
        match self.local() {
            // SAFETY: the caller's promise.
            Some(local) => local.defer(unsafe { Deferred::new(move || drop(call())) }),
            None => drop(call()),
        }
    }

    /// Drops and frees the value that `pointer` points to, once every section that is open now has
    /// ended; as [`defer_unchecked`](Self::defer_unchecked).
    ///
    /// ```
    /// use leeward::rcu::epoch::{self, Atomic, Owned};
    /// use std::sync::atomic::Ordering::{AcqRel, Acquire};
    /// let name = Atomic::new("a");
    /// let guard = epoch::pin();
    /// let old = name.swap(Owned::new("b"), AcqRel, &guard);
    /// // SAFETY: unlinked above, and retired once.
    /// unsafe { guard.defer_destroy(old) };
    /// // SAFETY: this section still protects it.
    /// assert_eq!(unsafe { *old.deref() }, "a");
    /// # drop(guard);
    /// # drop(unsafe { name.into_owned() });
    /// ```
    ///
    /// # Safety
    /// The pointer is not null; the value is unlinked, so that no section that begins later finds it;
    /// it is retired once; and its drop may run on any thread.
    #[inline]
    pub unsafe fn defer_destroy<T: ?Sized + Pointable>(&self, pointer: Shared<'_, T>) {
        // SAFETY: by the caller's promise it owns the value, which has no reader when this is called.
        let destroy = move || drop(unsafe { pointer.into_owned() });
        // SAFETY: as above.
        unsafe { self.defer_unchecked(destroy) };
    }

    /// Gives what this thread has deferred to be called as soon as may be, and makes calls whose time
    /// has come.
    ///
    /// # Cost
    /// A heavy fence, if no grace period is under way.
    pub fn flush(&self) {
        if let Some(local) = self.local() {
            local.flush(true);
        }
    }

    /// Lets grace periods pass, as if the section had been left and entered again; does nothing while
    /// another guard of the same handle is open.
    #[inline]
    pub fn repin(&mut self) {
        if let Some(local) = self.local() {
            local.refresh();
        }
    }

    /// Leaves the section for the time of a call, after which it is entered again; stays inside while
    /// another guard of the same handle is open.
    pub fn repin_after<R>(&mut self, during: impl FnOnce() -> R) -> R {
        match self.local {
            // SAFETY: the guard's own section, whose loads the borrow of `self` has ended.
            Some(local) => unsafe { Local::outside(local, during) },
            None => during(),
        }
    }

    /// Returns the guard's collector; none, if it protects nothing.
    pub fn collector(&self) -> Option<&Collector> {
        self.local().map(Local::collector)
    }
}

impl Drop for Guard {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(local) = self.local {
            // SAFETY: the guard's own section, on its thread.
            unsafe { Local::leave(local) };
        }
    }
}

impl<T: ?Sized + Pointable> Owned<T> {
    /// Gives the value up for a pointer to it, which nobody owns until it is in an
    /// [`Atomic`](super::Atomic).
    ///
    /// ```
    /// use leeward::rcu::epoch::{self, Atomic, Owned};
    /// use std::sync::atomic::Ordering::Release;
    /// let guard = epoch::pin();
    /// let node = Owned::new(7).into_shared(&guard);
    /// let (first, second) = (Atomic::null(), Atomic::null());
    /// first.store(node, Release);                     // one node in two lists
    /// second.store(node, Release);
    /// # drop(unsafe { node.into_owned() });
    /// ```
    pub fn into_shared<'g>(self, _: &'g Guard) -> Shared<'g, T> {
        // SAFETY: it was this one's.
        unsafe { Shared::from_pointer(self.into_pointer()) }
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").finish_non_exhaustive()
    }
}

/// Returns a guard that protects nothing, and under which what is deferred is called at once: for the
/// making and the drop of a structure that no other thread has.
///
/// ```
/// use leeward::rcu::epoch::{self, Atomic};
/// use std::sync::atomic::Ordering;
/// let cell = Atomic::new(7);
/// // SAFETY: no other thread has the cell.
/// let guard = unsafe { epoch::unprotected() };
/// let value = cell.load(Ordering::Relaxed, guard);
/// // SAFETY: as above.
/// unsafe { guard.defer_destroy(value) };
/// ```
///
/// # Safety
/// No other thread uses what is loaded, stored or retired under it.
pub unsafe fn unprotected() -> &'static Guard {
    /// A guard that threads may share: it has no record.
    struct Unprotected(Guard);
    // SAFETY: without a record, there is nothing that a thread could reach.
    unsafe impl Sync for Unprotected {}
    static UNPROTECTED: Unprotected = Unprotected(Guard { local: None });
    &UNPROTECTED.0
}
