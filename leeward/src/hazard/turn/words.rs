//! The turn as a word of the calling thread's.

use crate::mutant::check;
use crate::process::local::{Word, word};

word! {
    /// 1 while the thread reclaims.
    static HAZARD_RECLAIMS: u64 = 0
}

/// Takes the turn; returns false if the calling thread has it.
pub(super) fn take() -> bool {
    if check!(hazard_turn, HAZARD_RECLAIMS.get() != 0) {
        return false;
    }
    HAZARD_RECLAIMS.set(1);
    true
}

/// Gives the turn back.
pub(super) fn give() {
    HAZARD_RECLAIMS.set(0);
}

/// Does nothing: the child's thread has its own flag.
pub(in crate::hazard) fn after_fork() {}
