//! The worker without `threads`, where there is no thread to start.

use super::super::defer::Queue;
use super::Worker;
use crate::rcu::backing::State;

impl Worker {
    /// Does nothing: there is no worker that could be told.
    pub(in crate::rcu) fn notify(&self, _: &'static State, _: &'static Queue) {}

    /// Returns false: there is no worker.
    pub(in crate::rcu) fn wake(&self, _: &'static State, _: &'static Queue) -> bool {
        false
    }
}

/// Runs `callback`, and returns false: without `std`, a panic is not caught.
pub(in crate::rcu) fn panics(callback: impl FnOnce()) -> bool {
    callback();
    false
}

/// Does nothing: only a model has turns of work fail.
pub(super) fn begin_turn() {}
