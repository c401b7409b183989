//! The list of retired objects: threads push one after the other, and take all of it at once.
//!
//! The list is R. Kent Treiber's stack (1986). Since nothing is ever taken from it but the whole,
//! it has no ABA.

use core::ptr::{self, NonNull};

use crate::atomic::{AtomicPtr, AtomicUsize, Ordering, const_fn};
use crate::mutant::order;
use crate::rcu::Head;

/// The list, with an approximate count.
pub(super) struct RetiredList {
    /// The head that was pushed last; null: none.
    first: AtomicPtr<Head>,
    /// The number of heads, where no thread is about to push or take; else it may be more, never less.
    count: AtomicUsize,
}

/// The linked heads of retired objects, at least one.
#[derive(Clone, Copy)]
pub(super) struct RetiredChain {
    pub(super) first: NonNull<Head>,
    pub(super) last: NonNull<Head>,
    pub(super) count: usize,
}

impl RetiredChain {
    /// Makes the chain of one head.
    pub(super) fn of_one(head: NonNull<Head>) -> RetiredChain {
        RetiredChain { first: head, last: head, count: 1 }
    }

    /// Makes a chain that begins with `head`, before all that is in `rest`.
    ///
    /// # Safety
    /// All heads are the caller's alone.
    pub(super) unsafe fn before(head: NonNull<Head>, rest: Option<RetiredChain>) -> RetiredChain {
        let Some(rest) = rest else { return RetiredChain::of_one(head) };
        // SAFETY: the caller's promise.
        unsafe { head.as_ref() }.set_next(rest.first.as_ptr());
        RetiredChain { first: head, count: rest.count + 1, ..rest }
    }
}

impl RetiredList {
    const_fn! {
        pub(super) fn new() -> RetiredList {
            RetiredList { first: AtomicPtr::new(ptr::null_mut()), count: AtomicUsize::new(0) }
        }
    }

    /// Pushes a chain, and returns the number of heads in the list then. Lock-free.
    ///
    /// # Safety
    /// The heads are the caller's alone, who gives them up.
    pub(super) unsafe fn push(&self, chain: RetiredChain) -> usize {
        // Relaxed: only the threshold depends on it. Counted first: who takes these heads has acquired
        // them, and so takes off what was counted before.
        let count = self.count.fetch_add(chain.count, Ordering::Relaxed).wrapping_add(chain.count);
        // SAFETY: the caller's promise.
        let last = unsafe { chain.last.as_ref() };
        // Relaxed: the exchange decides, and this thread does not look at that head.
        let mut first = self.first.load(Ordering::Relaxed);
        loop {
            last.set_next(first);
            // Release: the objects, their links, and that they were unlinked, happen before the
            // reclaimer's fence and their end. Partner: the acquire in `take`. Relaxed on failure:
            // as above.
            match self.first.compare_exchange_weak(
                first,
                chain.first.as_ptr(),
                order!(Release, hazard_push_release),
                Ordering::Relaxed,
            ) {
                Ok(_) => return at_least_none(count),
                Err(now) => first = now,
            }
        }
    }

    /// Takes all heads, linked, or null. The caller tells how many they were (`note_taken`).
    pub(super) fn take(&self) -> *mut Head {
        // Acquire: partner of the release in `push`; of every push, since an exchange continues the
        // release of the one before it.
        self.first.swap(ptr::null_mut(), order!(Acquire, hazard_take_acquire))
    }

    /// Takes so many heads off the count, which were taken.
    pub(super) fn note_taken(&self, heads: usize) {
        // Relaxed: see `push`.
        self.count.fetch_sub(heads, Ordering::Relaxed);
    }

    /// Returns the number of heads, approximately.
    pub(super) fn count(&self) -> usize {
        // Relaxed: see `push`.
        at_least_none(self.count.load(Ordering::Relaxed))
    }

    /// Empties the list in the child of a fork.
    pub(super) fn forget(&self) {
        // Relaxed, both: the child has one thread.
        self.first.store(ptr::null_mut(), Ordering::Relaxed);
        self.count.store(0, Ordering::Relaxed);
    }
}

/// Returns the count, or 0 where it is below: a signal handler has forked in the middle of a push, and
/// the child has the heads and not their count (`forget`).
fn at_least_none(count: usize) -> usize {
    if count > isize::MAX as usize { 0 } else { count }
}
