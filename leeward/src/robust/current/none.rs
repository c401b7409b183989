//! The calling thread, without thread-local storage: its number and its list are asked for at each
//! call, in two system calls.

use super::ListError;
use super::list::RobustList;
use crate::process::{fork_mark, thread_number};

/// The calling thread, with its process and its robust list.
#[derive(Clone, Copy)]
pub(super) struct Current {
    id: u32,
    process: u32,
    pub(super) list: RobustList,
}

/// Returns the calling thread.
pub(super) fn current() -> Result<Current, ListError> {
    Ok(Current { id: thread_number(), process: fork_mark::now(), list: RobustList::find()? })
}

impl Current {
    /// Returns the thread's number, as lock words have it.
    pub(super) fn id(self) -> u32 {
        self.id
    }

    /// Returns false: heavy fences of all processes are not asked for, because an unlock that makes
    /// two system calls gains nothing by a store.
    pub(super) fn is_reached(self) -> bool {
        false
    }

    /// Returns true if the caller is this thread, and not one with its number in the child of a
    /// fork.
    pub(super) fn is_here(self) -> bool {
        fork_mark::is_still(self.process) && thread_number() == self.id
    }

    /// Does nothing: see `is_reached`.
    pub(super) fn ask_to_be_reached(self) {}
}
