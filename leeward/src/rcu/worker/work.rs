//! The worker's loop: it sleeps until there is work, and does it. Called by its thread (`std.rs`),
//! and by models.

use super::super::backing::State;
use super::super::defer::{Queue, Reclaimed};
use super::Worker;
use crate::atomic::Ordering;
use crate::futex::Timeout;
use crate::process::fork;

impl Worker {
    /// Sleeps until there is work for the worker of `queue`, and does it. Returns false if a callback
    /// forked and this is the child, where this thread is not the worker.
    pub(in super::super) fn work_once(&self, domain: &'static State, queue: &'static Queue) -> bool {
        let generation = fork::generation();
        self.sleep();
        while work(domain, queue) && fork::generation() == generation {}
        fork::generation() == generation
    }
}

/// Runs a batch or a grace period that is polled for. Returns false if there was neither.
fn work(domain: &'static State, queue: &'static Queue) -> bool {
    if queue.reclaim(domain, Timeout::Never) != Reclaimed::Nothing {
        return true;
    }
    // Acquire: partner of the release in `Queue::want`.
    let wanted = queue.wanted.load(Ordering::Acquire);
    if domain.grace.tickets.is_served(wanted) {
        return false;
    }
    domain.grace.wait(Timeout::Never)
}
