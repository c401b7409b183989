//! A bucket: the waiters of some futexes (`wait_list`) under one lock. Found by `table`, locked by
//! `locked`, changed by the operations. Its lock is in its bucket lock word (`lock_word`), on
//! another cache line.

use core::cell::UnsafeCell;
use core::ptr::NonNull;

use crate::Host;
use crate::atomic::Tracked;
use crate::table::lock_word::LockWord;
use crate::table::plan::Plan;
use crate::table::wait_list::WaitList;

/// A bucket of a table: the wait list, on a cache line of its own, and where its lock is.
#[repr(align(64))]
pub(crate) struct Bucket<H: Host> {
    list: UnsafeCell<WaitList<H>>,
    tracked: Tracked,
    /// The bucket's lock word, in the same table's allocation.
    lock_word: NonNull<LockWord>,
    /// The plan of the table, in the same allocation.
    plan: NonNull<Plan>,
}

// SAFETY: the list is reached by the lock's holder only; tasks in it may be sent.
unsafe impl<H: Host> Send for Bucket<H> where H::Task: Send {}
// SAFETY: as above.
unsafe impl<H: Host> Sync for Bucket<H> where H::Task: Send {}

impl<H: Host> Bucket<H> {
    /// Makes an empty bucket of a table that is made by `plan`. Both the plan and the lock word
    /// outlive the bucket.
    pub(crate) fn new(plan: NonNull<Plan>, lock_word: NonNull<LockWord>) -> Bucket<H> {
        Bucket { list: UnsafeCell::new(WaitList::new()), tracked: Tracked::new(), lock_word, plan }
    }

    pub(crate) fn lock_word(&self) -> &LockWord {
        // SAFETY: freed together with this.
        unsafe { self.lock_word.as_ref() }
    }

    pub(crate) fn plan(&self) -> &Plan {
        // SAFETY: as above.
        unsafe { self.plan.as_ref() }
    }

    /// Returns the list, which belongs to the lock's holder.
    #[inline(always)]
    pub(crate) fn list(&self) -> *mut WaitList<H> {
        self.tracked.touch();
        self.list.get()
    }
}

#[cfg(all(test, not(leeward_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_a_cache_line() {
        assert_eq!(core::mem::size_of::<Bucket<crate::tests::host::Nowhere>>(), 64);
    }
}
