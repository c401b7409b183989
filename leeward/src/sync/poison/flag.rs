//! What a lock knows of panics: a flag of its own, and what each guard that may change the data
//! remembers for it. Used by `mutex.rs` and `rwlock.rs`.

use core::marker::PhantomData;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LockResult, PoisonError};
use std::thread;

use lock_api::GuardNoSend;

use crate::mutant::check;

/// Says that a thread panicked while it could change the data of a lock.
///
/// The lock orders what a guard does with the flag. Looks without the lock (`is_poisoned`) are out of
/// date when they return, so nothing is ordered by the flag.
pub(super) struct Flag(AtomicBool);

impl Flag {
    pub(super) const fn new() -> Flag {
        Flag(AtomicBool::new(false))
    }

    #[inline]
    pub(super) fn is_set(&self) -> bool {
        // Relaxed: see above.
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn clear(&self) {
        // Relaxed: see above.
        self.0.store(false, Ordering::Relaxed);
    }

    /// Returns `value`, in an error if the flag is set.
    #[inline]
    pub(super) fn result<T>(&self, value: T) -> LockResult<T> {
        if check!(poison_seen, self.is_set()) { Err(PoisonError::new(value)) } else { Ok(value) }
    }

    /// Begins to watch the calling thread, which holds the lock and may change the data.
    #[inline]
    pub(super) fn watch(&self) -> Watch<'_> {
        Watch { flag: self, was_panicking: thread::panicking(), stays: PhantomData }
    }
}

/// The part of a guard that poisons the lock if the thread has begun to panic since it locked. A guard
/// drops it before it unlocks.
///
/// It is about the thread that locked, so it is not sent to another one.
pub(super) struct Watch<'a> {
    flag: &'a Flag,
    /// True if the thread unwound already when it locked. It may end the unwinding's destructor without
    /// another panic, which cannot be told from one with.
    was_panicking: bool,
    stays: PhantomData<GuardNoSend>,
}

impl<'a> Watch<'a> {
    #[inline]
    pub(super) fn flag(&self) -> &'a Flag {
        self.flag
    }
}

impl Drop for Watch<'_> {
    #[inline]
    fn drop(&mut self) {
        let was_panicking = check!(poison_earlier, self.was_panicking);
        if check!(poison_set, !was_panicking && thread::panicking()) {
            // Relaxed: as in `Flag`.
            self.flag.0.store(true, Ordering::Relaxed);
        }
    }
}
