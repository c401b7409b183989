//! Collectors: leeward's, and who they are for a reclaimer.

use std::fmt;
use std::mem::{self, ManuallyDrop};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use leeward::rcu::epoch;

use crate::ending;
use crate::guard::{Guard, LocalGuard};
use crate::owned::{Call, OwnedGuard, OwnedGuards};

/// The batch size that seize has by default: shown, and not set.
const SHOWN: usize = 32;

/// A set of readers, and what they retire.
///
/// Reclaimers are given a reference to it, also where it was moved since, and while it is dropped.
pub struct Collector {
    /// Never cloned: a reclaimer is given a copy without a count.
    inner: Arc<Inner>,
}

/// The words of a collector, which stay where they are.
pub(crate) struct Inner {
    /// A box, of leeward's collector. `reclaim_all` puts another one into its place, and ends it.
    epochs: AtomicPtr<epoch::Collector>,
    /// As `batch_size` was told.
    batch_size: Option<usize>,
    /// True: something was retired since the last `reclaim_all`.
    has_retired: AtomicBool,
    pub(crate) owned: OwnedGuards,
}

impl Collector {
    /// Makes a collector without readers.
    pub fn new() -> Collector {
        let inner = Inner {
            epochs: AtomicPtr::new(Box::into_raw(Box::new(epoch::Collector::new()))),
            batch_size: None,
            has_retired: AtomicBool::new(false),
            owned: OwnedGuards::new(),
        };
        Collector { inner: Arc::new(inner) }
    }

    /// Sets after how many retired objects a grace period begins at the latest. The default is what a fence costs
    /// the machine.
    pub fn batch_size(mut self, batch_size: usize) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.batch_size = Some(batch_size);
            inner.limit(inner.epochs());
        }
        self
    }

    /// Enters a section, in which protected pointers stay valid, on the calling thread. Sections nest.
    #[inline]
    pub fn enter(&self) -> LocalGuard<'_> {
        LocalGuard::new(self, self.inner.epochs().enter())
    }

    /// Enters a section that belongs to no thread.
    pub fn enter_owned(&self) -> OwnedGuard<'_> {
        OwnedGuard::new(self)
    }

    /// Has `reclaim` called when no section is open that could have the object.
    ///
    /// # Safety
    /// The object is unlinked, and retired once; `reclaim` may be called with it on any thread. The caller does not
    /// use it any more.
    #[inline]
    pub unsafe fn retire<T>(&self, ptr: *mut T, reclaim: unsafe fn(*mut T, &Collector)) {
        // SAFETY: the caller's promise.
        unsafe { self.enter().defer_retire(ptr, reclaim) };
    }

    /// Reclaims all that was retired, on all threads, and what reclaimers retire meanwhile.
    ///
    /// # Safety
    /// No section of this collector is open, and no other thread uses it during the call.
    pub unsafe fn reclaim_all(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.inner.reclaim_all(self) };
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }
}

impl Inner {
    fn epochs(&self) -> &epoch::Collector {
        // Acquire: the box. Partner: the release in `reclaim_all`.
        let epochs = self.epochs.load(Ordering::Acquire);
        // SAFETY: freed after another one is there, and when no thread has this one (`reclaim_all`).
        unsafe { &*epochs }
    }

    fn limit(&self, epochs: &epoch::Collector) {
        if let Some(batch_size) = self.batch_size {
            // A grace period begins when a quarter of the limit waits.
            epochs.set_limit(batch_size.saturating_mul(4));
        }
    }

    /// Notes that something is retired.
    #[inline]
    pub(crate) fn note_retired(&self) {
        // Relaxed, both: the thread that reads it was handed the collector, or waits for this one (`ending::end`).
        if !self.has_retired.load(Ordering::Relaxed) {
            self.has_retired.store(true, Ordering::Relaxed);
        }
    }

    /// Reclaims an object whose grace period is over, now or when owned guards have left.
    ///
    /// # Safety
    /// `this` is what a collector has, which is there. Else the promise of `retire`.
    pub(crate) unsafe fn reclaim<T>(this: *const Inner, ptr: *mut T, reclaim: unsafe fn(*mut T, &Collector)) {
        // SAFETY: from `Arc::as_ptr`. The copy gives no count back.
        let collector = ManuallyDrop::new(Collector { inner: unsafe { Arc::from_raw(this) } });
        let call = move |collector: &Collector| {
            // SAFETY: the promise of `retire`.
            ending::call(|| unsafe { reclaim(ptr, collector) });
        };
        if collector.inner.owned.may_have() {
            let call: Box<dyn FnOnce(&Collector) + '_> = Box::new(call);
            // SAFETY: made before what the object borrows ends: before the collector's drop does.
            let call = unsafe { mem::transmute::<Box<dyn FnOnce(&Collector) + '_>, Call>(call) };
            collector.inner.owned.keep(&collector, call);
        } else {
            call(&collector);
        }
    }

    /// Reclaims all. Returns false if the calling thread makes calls of the collector at this moment: it exits.
    ///
    /// # Safety
    /// As for `Collector::reclaim_all`.
    unsafe fn reclaim_all(&self, collector: &Collector) -> bool {
        // Relaxed: as in `note_retired`.
        while self.has_retired.swap(false, Ordering::Relaxed) {
            let new = epoch::Collector::new();
            self.limit(&new);
            // Release: the new box. Partner: the acquire in `epochs`. Acquire: the old one.
            let old = self.epochs.swap(Box::into_raw(Box::new(new)), Ordering::AcqRel);
            // A thread that exits may look at the box as long as it has what is in there, for which `end` waits.
            // SAFETY: the box's content, which is not used as its owner again.
            if !ending::end(unsafe { ptr::read(old) }) {
                return false;
            }
            // SAFETY: made by `Box::into_raw`; the content was given up above.
            drop(unsafe { Box::from_raw(old.cast::<ManuallyDrop<epoch::Collector>>()) });
            self.owned.end(collector);
        }
        true
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: made by `Box::into_raw`, and nothing was retired since the collector ended.
        drop(unsafe { Box::from_raw(*self.epochs.get_mut()) });
    }
}

impl Drop for Collector {
    /// Reclaims all that was retired.
    fn drop(&mut self) {
        // SAFETY: guards borrow the collector; those that were leaked are not used.
        if !unsafe { self.inner.reclaim_all(self) } {
            // This thread comes back to it.
            mem::forget(self.inner.clone());
        }
    }
}

impl Default for Collector {
    fn default() -> Self {
        Self::new()
    }
}

/// True for a collector and itself.
impl PartialEq for Collector {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for Collector {}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collector").field("batch_size", &self.inner.batch_size.unwrap_or(SHOWN)).finish()
    }
}
