//! What a worker does: it sleeps until there is work, and does what there is.

use super::super::backing::Backing;
use super::super::defer::Reclaimed;
use super::Worker;
use crate::atomic::Ordering;
use crate::futex::Timeout;
use crate::process::fork;

impl Worker {
    /// Sleeps until there is work, and does what there is. False if a callback forked: in the child this thread is no
    /// worker.
    pub(in super::super) fn work_once<D: Backing>(&self) -> bool {
        let generation = fork::generation();
        self.sleep();
        while work::<D>() && fork::generation() == generation {}
        fork::generation() == generation
    }
}

/// Does some of the work; whether there was any.
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
