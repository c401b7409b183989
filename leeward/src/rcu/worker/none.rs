//! The worker without `threads`, where there is no thread to start. A model may say that one of its
//! threads is the worker.

use super::super::backing::State;
use super::super::defer::Queue;
use super::Worker;

impl Worker {
    /// Announces that something was queued, if there is a worker.
    pub(in super::super) fn notify(&self, _: &'static State, _: &'static Queue) {
        if self.is_running() {
            self.tell();
        }
    }

    /// Announces that a thread waits for the worker. Returns false if there is none.
    pub(in super::super) fn wake(&self, _: &'static State, _: &'static Queue) -> bool {
        let is_there = self.is_running();
        if is_there {
            self.call();
        }
        is_there
    }
}

/// Runs `callback`, and returns false: without `std`, a panic is not caught.
pub(in super::super) fn panics(callback: impl FnOnce()) -> bool {
    callback();
    false
}
