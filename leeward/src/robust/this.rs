//! Who the calling thread is and where its list begins: asked once a thread and process, then kept in thread-local storage.
//!
//! The variable has no destructor, so that locks work to the thread's last breath. A thread that shares its maker's
//! thread-local storage (raw `clone` with `CLONE_VM` and without `CLONE_SETTLS`) is no thread to Rust, and none here.

use core::cell::Cell;

use super::ListError;
use super::fork_mark::{self, NEVER};
use super::list::List;

/// The calling thread.
#[derive(Clone, Copy)]
pub(super) struct This {
    /// As lock words have it.
    pub(super) id: u32,
    pub(super) list: List,
}

std::thread_local! {
    /// What was found, and in which process.
    static KNOWN: Cell<(u32, Option<This>)> = const { Cell::new((NEVER, None)) };
}

/// The calling thread.
#[inline]
pub(super) fn this() -> Result<This, ListError> {
    match KNOWN.with(Cell::get) {
        (process, Some(this)) if fork_mark::is_still(process) => Ok(this),
        _ => look(),
    }
}

/// Whether that is the calling thread's number.
#[inline]
pub(super) fn is_caller(id: u32) -> bool {
    match KNOWN.with(Cell::get) {
        (process, Some(this)) if fork_mark::is_still(process) => this.id == id,
        // Nothing was taken, or a fork has come in between.
        _ => false,
    }
}

#[cold]
#[inline(never)]
fn look() -> Result<This, ListError> {
    let process = fork_mark::now();
    let this = This { id: super::number(), list: List::find()? };
    KNOWN.with(|known| known.set((process, Some(this))));
    Ok(this)
}
