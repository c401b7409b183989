//! Sections that belong to no thread. leeward has none: a slot is its thread's. So these are a list, which is looked
//! at when a grace period of the threads is over: what an owned guard may have seen waits until it has left.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::collector::Collector;
use crate::ending;
use crate::guard::Guard;

/// What reclaims an object.
pub(crate) type Call = Box<dyn FnOnce(&Collector)>;

/// The owned guards of a collector, and what waits for them.
pub(crate) struct OwnedGuards {
    /// The number of guards.
    count: AtomicUsize,
    list: Mutex<List>,
    /// True: no heavy fence is possible.
    is_full: bool,
}

/// Guards have numbers, in the order in which they came.
struct List {
    /// The number of the next guard.
    next: u64,
    open: BTreeSet<u64>,
    /// What guards with lesser numbers than this may have.
    waiting: VecDeque<(u64, Call)>,
}

// SAFETY: calls may be made on any thread, by the promise of `retire`; they are in a mutex.
unsafe impl Send for OwnedGuards {}
// SAFETY: as above.
unsafe impl Sync for OwnedGuards {}

impl OwnedGuards {
    pub(crate) fn new() -> OwnedGuards {
        let list = List { next: 0, open: BTreeSet::new(), waiting: VecDeque::new() };
        OwnedGuards { count: AtomicUsize::new(0), list: Mutex::new(list), is_full: leeward::fence::init().is_err() }
    }

    fn list(&self) -> MutexGuard<'_, List> {
        // A reclaimer that panics runs outside of the lock.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if there may be an owned guard that has what was unlinked before.
    #[inline]
    pub(crate) fn may_have(&self) -> bool {
        // The object was unlinked before this, and a guard counts itself before it loads.
        // - If our look at the count comes first, the guard's fence comes after this one, and its loads find that
        //   the object is unlinked.
        // - If the guard's fence comes first, we see its count.
        if self.is_full {
            fence(Ordering::SeqCst);
        } else {
            leeward::fence::light();
        }
        // Acquire: what guards have read that have left. Partner: the release in `leave`.
        self.count.load(Ordering::Acquire) != 0
    }

    /// Keeps a call until the guards have left that are there, or makes it if there is none.
    pub(crate) fn keep(&self, collector: &Collector, call: Call) {
        let mut list = self.list();
        if !list.open.is_empty() {
            let next = list.next;
            list.waiting.push_back((next, call));
            return;
        }
        drop(list);
        call(collector);
    }

    /// Makes all calls that wait: no guard is used any more.
    pub(crate) fn end(&self, collector: &Collector) {
        let waiting = std::mem::take(&mut self.list().waiting);
        waiting.into_iter().for_each(|(_, call)| call(collector));
    }

    fn enter(&self) -> u64 {
        let number = {
            let mut list = self.list();
            let number = list.next;
            list.next += 1;
            list.open.insert(number);
            // Relaxed: by the fence.
            self.count.fetch_add(1, Ordering::Relaxed);
            number
        };
        // As in `may_have`.
        if self.is_full {
            fence(Ordering::SeqCst);
        } else {
            leeward::fence::heavy();
        }
        number
    }

    /// Takes a guard out, and makes the calls that waited for it alone.
    fn leave(&self, number: u64, collector: &Collector) {
        let mut ready = Vec::new();
        {
            let mut list = self.list();
            list.open.remove(&number);
            // Release: what this guard has read. Partner: the acquire in `may_have`.
            self.count.fetch_sub(1, Ordering::Release);
            let oldest = list.open.first().copied().unwrap_or(u64::MAX);
            while list.waiting.front().is_some_and(|(before, _)| *before <= oldest) {
                ready.extend(list.waiting.pop_front());
            }
        }
        ready.into_iter().for_each(|(_, call)| call(collector));
    }
}

/// A section that belongs to no thread, by [`Collector::enter_owned`]: it may be sent, shared, and held across an
/// `await`.
pub struct OwnedGuard<'a> {
    collector: &'a Collector,
    number: u64,
}

impl<'a> OwnedGuard<'a> {
    pub(crate) fn new(collector: &'a Collector) -> Self {
        OwnedGuard { collector, number: collector.inner().owned.enter() }
    }
}

impl Guard for OwnedGuard<'_> {
    fn refresh(&mut self) {
        let owned = &self.collector.inner().owned;
        owned.leave(self.number, self.collector);
        self.number = owned.enter();
    }

    fn flush(&self) {
        self.collector.enter().flush();
    }

    fn collector(&self) -> &Collector {
        self.collector
    }

    fn thread_id(&self) -> usize {
        ending::thread_id()
    }

    unsafe fn defer_retire<T>(&self, ptr: *mut T, reclaim: unsafe fn(*mut T, &Collector)) {
        // SAFETY: the caller's promise. What is retired waits for this guard, as for any other.
        unsafe { self.collector.retire(ptr, reclaim) };
    }
}

impl Drop for OwnedGuard<'_> {
    fn drop(&mut self) {
        self.collector.inner().owned.leave(self.number, self.collector);
    }
}

impl fmt::Debug for OwnedGuard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnedGuard").finish()
    }
}
