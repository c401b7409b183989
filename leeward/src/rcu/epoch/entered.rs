//! Entering without a handle: a thread finds its record of a collector among those that it has used.

use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::cell::RefCell;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr::{self, NonNull};

use super::collector::{Collector, Owner};
use super::guard::Guard;
use super::local::Local;
use crate::process::local::{Word, word};

word! {
    /// The address of the collector that the thread entered last, and its record of it; 0: none.
    static EPOCH_LAST: (u64, *const Local) = (0, 0)
}

std::thread_local! {
    /// The collectors that the thread has entered, with its records of them. The address of one that
    /// has ended is not used again while it is here.
    static KNOWN: RefCell<Known> = const { RefCell::new(Known(Vec::new())) };
}

/// The records that a thread uses. Its drop gives them back, at the thread's exit.
struct Known(Vec<(Weak<Owner>, NonNull<Local>)>);

impl Drop for Known {
    fn drop(&mut self) {
        EPOCH_LAST.set((0, ptr::null()));
        for (collector, local) in self.0.drain(..) {
            if let Some(_kept) = collector.upgrade() {
                // SAFETY: the collector is alive, and with it the record, which is this thread's.
                unsafe { Local::drop_handle(local) };
            }
        }
    }
}

/// An open section of a [`Collector`], which [`Collector::enter`] returns: a [`Guard`] that borrows its
/// collector.
///
/// ```
/// use leeward::rcu::epoch::{Atomic, Collector, Guard};
/// use std::sync::atomic::Ordering::Acquire;
/// /// A structure with a collector of its own.
/// struct Slot { value: Atomic<u32>, collector: Collector }
/// fn is_empty(slot: &Slot, guard: &Guard) -> bool {
///     slot.value.load(Acquire, guard).is_null()
/// }
/// let slot = Slot { value: Atomic::null(), collector: Collector::new() };
/// assert!(is_empty(&slot, &slot.collector.enter()));
/// ```
///
/// The collector outlives it:
///
/// ```compile_fail,E0505
/// use leeward::rcu::epoch::Collector;
/// let collector = Collector::new();
/// let _guard = collector.enter();
/// drop(collector);
/// ```
#[must_use = "the section ends when the guard is dropped"]
pub struct CollectorGuard<'c> {
    guard: Guard,
    collector: PhantomData<&'c Collector>,
}

impl CollectorGuard<'_> {
    /// Lets grace periods pass; see [`Guard::repin`].
    #[inline]
    pub fn repin(&mut self) {
        self.guard.repin();
    }

    /// Leaves the section for the time of a call; see [`Guard::repin_after`].
    pub fn repin_after<R>(&mut self, during: impl FnOnce() -> R) -> R {
        self.guard.repin_after(during)
    }
}

impl Drop for CollectorGuard<'_> {
    /// Does nothing but say that the guard's end uses the collector, which must not end before it.
    fn drop(&mut self) {}
}

impl Deref for CollectorGuard<'_> {
    type Target = Guard;

    #[inline]
    fn deref(&self) -> &Guard {
        &self.guard
    }
}

impl fmt::Debug for CollectorGuard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CollectorGuard").finish_non_exhaustive()
    }
}

impl Collector {
    /// Enters a section on the calling thread, without a handle: the thread's first call takes a record
    /// of the collector, which it keeps until it exits.
    ///
    /// # Cost
    /// That of [`LocalHandle::pin`](super::LocalHandle::pin), and a look at thread-local storage; a search
    /// where the thread's last call was another collector's.
    ///
    /// # Panics
    /// If there is no memory for the thread's slot.
    #[inline]
    pub fn enter(&self) -> CollectorGuard<'_> {
        let (last, local) = EPOCH_LAST.get();
        match NonNull::new(local.cast_mut()) {
            // SAFETY: the thread's own record of this collector, which is borrowed for as long.
            Some(local) if last == self.address() => unsafe { self.guard(local) },
            _ => self.enter_rarely(),
        }
    }

    fn address(&self) -> u64 {
        Arc::as_ptr(&self.0).addr() as u64
    }

    /// Enters a section.
    ///
    /// # Safety
    /// The record is the calling thread's, of this collector.
    #[inline(always)]
    unsafe fn guard(&self, local: NonNull<Local>) -> CollectorGuard<'_> {
        // SAFETY: the caller's promise; the record lives as long as the collector does.
        CollectorGuard { guard: unsafe { Guard::enter(local) }, collector: PhantomData }
    }

    /// Looks for the thread's record, and takes one if there is none.
    #[cold]
    #[inline(never)]
    fn enter_rarely(&self) -> CollectorGuard<'_> {
        // First: the address of a collector that is forgotten below may be used again.
        EPOCH_LAST.set((0, ptr::null()));
        let known = KNOWN.try_with(|known| {
            let mut known = known.borrow_mut();
            let here = known.0.iter().find(|(collector, _)| ptr::eq(collector.as_ptr(), Arc::as_ptr(&self.0)));
            if let Some(&(_, local)) = here {
                return local;
            }
            known.0.retain(|(collector, _)| collector.strong_count() != 0);
            let local = self.take();
            known.0.push((Arc::downgrade(&self.0), local));
            local
        });
        let local = known.unwrap_or_else(|_| self.take());
        // SAFETY: the thread's own record, of this collector.
        let guard = unsafe { self.guard(local) };
        if known.is_ok() {
            EPOCH_LAST.set((self.address(), local.as_ptr()));
        } else {
            // The thread exits: the record is given back with the guard.
            // SAFETY: taken above.
            unsafe { Local::drop_handle(local) };
        }
        guard
    }

    /// Takes a record for the calling thread.
    fn take(&self) -> NonNull<Local> {
        let list = &self.0.lent;
        let taken = Local::borrow(list).and_then(|local| local.map_or_else(|| Local::lend(self, list), Ok));
        match taken {
            Ok(local) => local,
            Err(error) => panic!("leeward: {error}"),
        }
    }
}
