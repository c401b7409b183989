//! The ids of asymmetric locks: by which a slot names the lock that its thread is inside of. Called
//! by `slots`, `rwlock` and `mutex`.

use crate::atomic::{AtomicU64, Ordering, const_fn};

/// The id of a lock that has none yet: announced for an instant, found to be no lock's, and taken
/// back.
const NO_ID: u64 = 1;
/// The least id of a lock.
const FIRST_ID: u64 = 16;

/// Bit of an id, and so of a slot's `lock`: the lock is a mutex.
pub(super) const MUTEX: u64 = 1 << 61;

/// Returns an id for a lock, which no other lock of this process has had; or a number for something
/// else that has to be told from others of its kind.
pub(super) fn new_id() -> u64 {
    use core::sync::atomic::AtomicU64;
    static LAST: AtomicU64 = AtomicU64::new(FIRST_ID);
    // Relaxed: it only has to be unique.
    LAST.fetch_add(1, core::sync::atomic::Ordering::Relaxed)
}

/// The id of a lock, given to it at its first slow path.
pub(super) struct LockId(AtomicU64);

impl LockId {
    const_fn! {
        pub(super) fn new() -> LockId {
            LockId(AtomicU64::new(NO_ID))
        }
    }

    /// Returns the id, or `NO_ID`.
    #[inline(always)]
    pub(super) fn get(&self) -> u64 {
        // Relaxed: given once, and the word that lets threads enter the lock was stored after it.
        self.0.load(Ordering::Relaxed)
    }

    /// Returns the id, or none if the lock has none yet.
    #[inline(always)]
    pub(super) fn given(&self) -> Option<u64> {
        Some(self.get()).filter(|&id| id != NO_ID)
    }

    /// Returns the id; gives the lock one now if it has none.
    pub(super) fn give(&self, is_mutex: bool) -> u64 {
        let known = self.get();
        if known != NO_ID {
            return known;
        }
        let new = new_id() | if is_mutex { MUTEX } else { 0 };
        // Relaxed, both: it is only a number.
        match self.0.compare_exchange(NO_ID, new, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => new,
            Err(other) => other,
        }
    }
}
