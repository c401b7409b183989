//! Who the calling thread is and where its list begins: asked once a thread and process, then kept in thread-local storage.
//!
//! The variable has no destructor, so that locks work to the thread's last breath. A thread that shares its maker's
//! thread-local storage (raw `clone` with `CLONE_VM` and without `CLONE_SETTLS`) is no thread to Rust, and none here.

use core::cell::Cell;

use super::ListError;
use super::list::List;
use super::lock::Owner;
use crate::fork_mark;
use crate::mutant::mutated;

/// The calling thread.
#[derive(Clone, Copy)]
pub(super) struct This {
    /// As lock words have it.
    pub(super) id: u32,
    /// Its process's `fork_mark`.
    pub(super) process: u32,
    pub(super) list: List,
}

std::thread_local! {
    /// What was found; of another process, if this one was forked since.
    static KNOWN: Cell<Option<This>> = const { Cell::new(None) };
}

/// The calling thread.
#[inline]
pub(super) fn this() -> Result<This, ListError> {
    match KNOWN.with(Cell::get) {
        Some(this) if fork_mark::is_still(this.process) => Ok(this),
        _ => look(),
    }
}

/// The calling thread, if it is that owner. Not if a fork has come in between: a child may be given a dead owner's number.
#[inline]
pub(super) fn this_if(owner: Owner) -> Option<This> {
    KNOWN.with(Cell::get).filter(|this| {
        let is_same = this.process == owner.process || mutated!(robust_fork_mark);
        this.id == owner.id && is_same && fork_mark::is_still(this.process)
    })
}

/// Whether that is the calling thread.
#[inline]
pub(super) fn is_caller(owner: Owner) -> bool {
    this_if(owner).is_some()
}

#[cold]
#[inline(never)]
fn look() -> Result<This, ListError> {
    let this = This { id: super::number(), process: fork_mark::now(), list: List::find()? };
    KNOWN.with(|known| known.set(Some(this)));
    Ok(this)
}
