//! The worker in a model, which says what becomes of each start, and which turn of the worker's work
//! ends in a panic. Where a model says nothing, no worker can be started.

use core::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread_local;

use super::super::defer::Queue;
pub(in crate::rcu) use crate::process::panics;
use crate::rcu::backing::State;

/// What starts a worker, and returns false if it does not.
#[cfg_attr(not(test), allow(dead_code))]
pub(in crate::rcu) type Start = fn(&'static Queue) -> bool;

thread_local! {
    // Loom runs all threads of a model on one thread of the system, one at a time.
    static START: Cell<Option<Start>> = const { Cell::new(None) };
    /// How many turns of work fail from now on, and whether a worker ends by that.
    static FAILURES: Cell<(u32, bool)> = const { Cell::new((0, false)) };
}

/// Has workers started by `start` from now on, on this thread of the system.
#[cfg(test)]
pub(in crate::rcu) fn arrange(start: Option<Start>) {
    START.set(start);
    FAILURES.set((0, false));
}

/// Has the next `count` turns of work end in a panic: as without heavy fences if a worker `ends` by
/// that, otherwise as by a stall's handler.
#[cfg(test)]
pub(in crate::rcu) fn fail_next(count: u32, ends: bool) {
    FAILURES.set((count, ends));
}

/// Returns true if the model says what becomes of a start.
pub(super) fn starts() -> bool {
    START.get().is_some()
}

/// Starts the worker as the model says. Returns false if that fails.
pub(super) fn start(queue: &'static Queue) -> bool {
    START.get().is_some_and(|start| start(queue))
}

/// Panics in a turn of work that the model has fail. Called between the worker's sleep and its look.
pub(super) fn begin_turn() {
    let (left, ends) = FAILURES.get();
    if left != 0 {
        FAILURES.set((left - 1, ends));
        // Without the hook: the panic is meant.
        std::panic::resume_unwind(std::boxed::Box::new("the worker fails"));
    }
}

/// Runs `work`, and returns true if it ended in a panic of `begin_turn`.
pub(super) fn fails(work: impl FnOnce()) -> bool {
    let Err(panic) = catch_unwind(AssertUnwindSafe(work)) else { return false };
    if !panic.is::<&str>() {
        std::panic::resume_unwind(panic);
    }
    true
}

/// Returns true if the failures are those of a heavy fence.
pub(super) fn is_hopeless(_: &State) -> bool {
    FAILURES.get().1
}
