//! Records that are the collector's, which lends them to threads that enter without a handle.
//!
//! A list of them is a part of the collector. It grows only; a record that no thread uses any more
//! serves the next one that comes.

use core::cell::Cell;
use core::ptr::{self, NonNull};
use core::sync::atomic::AtomicBool;

use super::deferred::Bag;
use crate::atomic::{AtomicPtr, Ordering};

/// What is done with the bags of a record whose collector ends.
pub(super) type Run<'a> = &'a mut dyn FnMut(&mut Bag);

/// The words of a record that is the collector's.
pub(super) struct Lent {
    /// The record that was made before this one; null: none.
    next: Cell<*mut Lent>,
    /// True: some thread uses it.
    pub(super) is_used: AtomicBool,
    /// The id of the thread that uses it, and the generation of forks in which it began to.
    pub(super) user: Cell<(u64, u64)>,
    /// Frees the record, when the collector ends.
    end: unsafe fn(NonNull<Lent>, Run<'_>),
}

impl Lent {
    pub(super) const fn new(user: (u64, u64), end: unsafe fn(NonNull<Lent>, Run<'_>)) -> Lent {
        Lent { next: Cell::new(ptr::null_mut()), is_used: AtomicBool::new(true), user: Cell::new(user), end }
    }
}

/// The records of a collector, newest first.
pub(super) struct LentList(AtomicPtr<Lent>);

impl LentList {
    pub(super) const fn new() -> LentList {
        LentList(AtomicPtr::new(ptr::null_mut()))
    }

    /// Puts a record in.
    ///
    /// # Safety
    /// It is in no list, and lives until the list's end frees it.
    pub(super) unsafe fn push(&self, record: NonNull<Lent>) {
        // Relaxed: the exchange decides.
        let mut first = self.0.load(Ordering::Relaxed);
        loop {
            // SAFETY: the caller's own until the exchange.
            unsafe { record.as_ref() }.next.set(first);
            // Release: the record. Partner: the acquire in `find`.
            match self.0.compare_exchange_weak(first, record.as_ptr(), Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => first = now,
            }
        }
    }

    /// Returns what `take` makes of the first record for which it makes something.
    pub(super) fn find<R>(&self, mut take: impl FnMut(NonNull<Lent>) -> Option<R>) -> Option<R> {
        // Acquire: partner of the release in `push`; and of those before, whose records it follows.
        let mut record = NonNull::new(self.0.load(Ordering::Acquire));
        while let Some(this) = record {
            if let Some(found) = take(this) {
                return Some(found);
            }
            // SAFETY: in the list, so alive; its link does not change any more.
            record = NonNull::new(unsafe { this.as_ref() }.next.get());
        }
        None
    }

    /// Frees all records.
    ///
    /// # Safety
    /// No thread uses them any more.
    pub(super) unsafe fn end(&self, run: Run<'_>) {
        // Acquire: partner of the release in `push`.
        let mut record = NonNull::new(self.0.swap(ptr::null_mut(), Ordering::Acquire));
        while let Some(this) = record {
            // SAFETY: not freed yet.
            let lent = unsafe { this.as_ref() };
            let (next, end) = (lent.next.get(), lent.end);
            // SAFETY: in the list, and freed once.
            unsafe { end(this, run) };
            record = NonNull::new(next);
        }
    }
}
