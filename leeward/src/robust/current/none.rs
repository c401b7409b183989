//! Without thread-local storage: who the calling thread is and where its list begins is asked each time, in two system calls.

use super::ListError;
use super::list::List;
use crate::process::{fork_mark, thread_number};

/// The calling thread.
#[derive(Clone, Copy)]
pub(super) struct Current {
    id: u32,
    process: u32,
    pub(super) list: List,
}

/// The calling thread.
pub(super) fn current() -> Result<Current, ListError> {
    Ok(Current { id: thread_number(), process: fork_mark::now(), list: List::find()? })
}

impl Current {
    /// As lock words have it.
    pub(super) fn id(self) -> u32 {
        self.id
    }

    /// Never: with two system calls an unlock, what else it costs is no matter.
    pub(super) fn is_reached(self) -> bool {
        false
    }

    /// Whether the caller is the thread that asked, and not one with its number in the child of a fork.
    pub(super) fn is_here(self) -> bool {
        fork_mark::is_still(self.process) && thread_number() == self.id
    }

    /// Nothing to ask for.
    pub(super) fn ask_to_be_reached(self) {}
}
