//! Without thread-local storage: who the calling thread is and where its list begins is asked each time, in two system calls.

use super::ListError;
use super::list::List;
use super::lock::Owner;
use crate::fork_mark;

/// The calling thread.
#[derive(Clone, Copy)]
pub(super) struct This {
    /// As lock words have it.
    pub(super) id: u32,
    /// Its process's `fork_mark`.
    pub(super) process: u32,
    pub(super) list: List,
}

/// The calling thread.
pub(super) fn this() -> Result<This, ListError> {
    Ok(This { id: super::number(), process: fork_mark::now(), list: List::find()? })
}

/// The calling thread, if it is that owner. Not if a fork has come in between: a child may be given a dead owner's number.
pub(super) fn this_if(owner: Owner) -> Option<This> {
    fork_mark::is_still(owner.process).then(this)?.ok().filter(|this| this.id == owner.id)
}

/// Whether that is the calling thread.
pub(super) fn is_caller(owner: Owner) -> bool {
    fork_mark::is_still(owner.process) && super::number() == owner.id
}
