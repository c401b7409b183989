//! Without std there are no threads to start; a model may say that one of its own is the worker.

use super::super::backing::Backing;
use super::Worker;

impl Worker {
    /// Says that there is work, to a worker if there is one. False if there is none.
    pub(in super::super) fn wake<D: Backing>(&'static self) -> bool {
        let is_there = self.is_running();
        if is_there {
            self.call();
        }
        is_there
    }
}

/// Without std nobody catches.
pub(in super::super) fn panics(callback: impl FnOnce()) -> bool {
    callback();
    false
}
