//! The turn in a model.

use core::cell::Cell;

loom::thread_local! {
    static RECLAIMS: Cell<bool> = Cell::new(false);
}

/// Takes the turn; returns false if the calling thread has it.
pub(super) fn take() -> bool {
    RECLAIMS.with(|reclaims| !reclaims.replace(true))
}

/// Gives the turn back.
pub(super) fn give() {
    RECLAIMS.with(|reclaims| reclaims.set(false));
}

/// Does nothing: a model does not fork.
pub(in crate::hazard) fn after_fork() {}
