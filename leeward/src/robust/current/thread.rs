//! The calling thread, in thread-local storage: its number and its list are asked for once a thread
//! and process, and kept.
//!
//! The pair of words has no destructor, so locks work until the thread's exit. A thread that shares its
//! maker's thread-local storage (raw `clone` with `CLONE_VM` and without `CLONE_SETTLS`) is not a
//! thread to Rust, and none here.

use super::ListError;
use super::list::{Head, RobustList};
use crate::fence::processes;
use crate::mutant::mutated;
use crate::process::local::{Word, word};
use crate::process::{fork_mark, thread_number};

/// The calling thread, in two words, so that it stays in registers.
#[derive(Clone, Copy)]
pub(super) struct Current {
    /// | bits | meaning |
    /// |---|---|
    /// | 0-29 | the thread's number, as lock words have it |
    /// | 30 | heavy fences of all processes reach this one |
    /// | 32-63 | the fork mark of the process in which the thread was found |
    who: u64,
    pub(super) list: RobustList,
}

const NUMBER: u64 = (1 << 30) - 1;
const REACHED: u64 = 1 << 30;
const PROCESS_SHIFT: u32 = 32;

/// The value of `who` before the thread is asked for: its fork mark is no process's.
const UNKNOWN: u64 = (u32::MAX as u64) << PROCESS_SHIFT;

word! {
    /// The thread's `who`, or `UNKNOWN`, and its `list`, by its head.
    static ROBUST_KNOWN: (u64, *const Head) = (UNKNOWN, 0)
}

/// Returns the calling thread.
#[inline]
pub(super) fn current() -> Result<Current, ListError> {
    let (who, head) = ROBUST_KNOWN.get();
    if !is_here(who) {
        return find();
    }
    // SAFETY: `find` has stored the list of this thread.
    Ok(Current { who, list: unsafe { RobustList::at(head) } })
}

/// Returns true if the caller is in the process in which `who` was found, not in the child of a
/// fork.
#[inline]
fn is_here(who: u64) -> bool {
    fork_mark::is_still((who >> PROCESS_SHIFT) as u32)
        || mutated!(robust_fork_mark) && thread_number() == (who & NUMBER) as u32
}

impl Current {
    /// Returns the thread's number, as lock words have it.
    #[inline]
    pub(super) fn id(self) -> u32 {
        (self.who & NUMBER) as u32
    }

    /// Returns true if heavy fences of all processes reach this one.
    #[inline]
    pub(super) fn is_reached(self) -> bool {
        self.who & REACHED != 0
    }

    /// Returns true if the caller is in the process in which this thread was found, not in the
    /// child of a fork.
    #[inline]
    pub(super) fn is_here(self) -> bool {
        is_here(self.who)
    }

    /// Registers this process for heavy fences of all processes, if the kernel allows it. The
    /// thread's locks know of it from the next one on.
    #[cold]
    pub(super) fn ask_to_be_reached(self) {
        if processes::join() {
            ROBUST_KNOWN.set((self.who | REACHED, self.list.head()));
        }
    }
}

#[cold]
#[inline(never)]
fn find() -> Result<Current, ListError> {
    let process = fork_mark::now();
    let who = u64::from(thread_number()) | u64::from(process) << PROCESS_SHIFT;
    let me = Current { who, list: RobustList::find()? };
    ROBUST_KNOWN.set((me.who, me.list.head()));
    Ok(me)
}
