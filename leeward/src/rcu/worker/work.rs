//! The worker's loop: it sleeps until there is work, and does it. Called by its thread (`std.rs`),
//! and by models.

use super::super::backing::Backing;
use super::super::defer::Reclaimed;
use super::Worker;
use crate::atomic::Ordering;
use crate::futex::Timeout;
use crate::process::fork;

impl Worker {
    /// Sleeps until there is work, and does it. Returns false if a callback forked and this is the
    /// child, where this thread is not the worker.
    pub(in super::super) fn work_once<D: Backing>(&self) -> bool {
        let generation = fork::generation();
        self.sleep();
        while work::<D>() && fork::generation() == generation {}
        fork::generation() == generation
    }
}

/// Runs a batch or a grace period that is polled for. Returns false if there was neither.
fn work<D: Backing>() -> bool {
    let state = D::state();
    if state.queue.reclaim::<D>(Timeout::Never) != Reclaimed::Nothing {
        return true;
    }
    // Acquire: partner of the release in `Queue::want`.
    let wanted = state.queue.wanted.load(Ordering::Acquire);
    if state.grace.tickets.is_served(wanted) {
        return false;
    }
    state.grace.wait::<D::Fence>(Timeout::Never)
}
