//! A bucket: some futexes' waiters (`wait_list`) behind one lock. Found by `table`, changed by the
//! operations. Its lock is in its lock word (`lock_word`), on another cache line.

use core::cell::UnsafeCell;
use core::ptr::NonNull;

use crate::Host;
use crate::atomic::Tracked;
use crate::table::lock_word::LockWord;
use crate::table::plan::Plan;
use crate::table::wait_list::WaitList;

/// One of a table's: the list, on a cache line of its own.
#[repr(align(64))]
pub(crate) struct Bucket<H: Host> {
    list: UnsafeCell<WaitList<H>>,
    tracked: Tracked,
    /// Of the same table, whose allocation all of these are in.
    lock_word: NonNull<LockWord>,
    /// How that table is made.
    plan: NonNull<Plan>,
}

// SAFETY: the list is reached by the lock's holder only; tasks in it may be sent.
unsafe impl<H: Host> Send for Bucket<H> where H::Task: Send {}
// SAFETY: as above.
unsafe impl<H: Host> Sync for Bucket<H> where H::Task: Send {}

impl<H: Host> Bucket<H> {
    /// A bucket of a table that is made by `plan`, with its lock word there, both of which outlive
    /// it.
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

    /// The list, which belongs to the lock's holder.
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
