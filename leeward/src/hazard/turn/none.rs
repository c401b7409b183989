//! The turn without thread-local storage: one thread of the process has it.

use crate::atomic::{AtomicU32, Ordering};

/// 1 while a thread reclaims.
static RECLAIMS: AtomicU32 = AtomicU32::new(0);

/// Takes the turn; returns false if a thread has it.
pub(super) fn take() -> bool {
    // Relaxed: the list orders what the turn is about.
    RECLAIMS.swap(1, Ordering::Relaxed) == 0
}

/// Gives the turn back.
pub(super) fn give() {
    // Relaxed: as above.
    RECLAIMS.store(0, Ordering::Relaxed);
}

/// Gives the turn back that another thread had when the process forked.
pub(in crate::hazard) fn after_fork() {
    give();
}
