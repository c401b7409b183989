//! The worker's loop: it sleeps until there is work, and does it.

use core::time::Duration;

use super::super::defer::{Queue, Reclaimed};
use super::{Worker, backend};
use crate::atomic::Ordering;
use crate::futex::{Private, Timeout};
use crate::process::fork;
use crate::rcu::backing::State;

/// Callbacks that come so soon after the last ones may be a stream: a wake for each would cost their
/// threads more than all else.
const STREAM: Duration = Duration::from_micros(300);
/// How long the worker naps between two batches of a stream at first, and at most.
const NAPS: (Duration, Duration) = (Duration::from_micros(100), Duration::from_millis(1));
/// A batch of so many callbacks needs no nap to be worth its grace period.
const LARGE: u64 = 256;

impl Worker {
    /// Sleeps until there is work for the worker of `queue`, and does it. Returns false if a callback
    /// forked and this is the child, where this thread is not the worker.
    pub(in crate::rcu) fn work_once(&self, domain: &'static State, queue: &'static Queue) -> bool {
        let generation = fork::generation();
        let begun = Timeout::after::<Private>(STREAM);
        self.sleep();
        let mut naps = !begun.has_passed::<Private>() && self.naps.may_begin();
        let mut time = NAPS.0;
        loop {
            let called = domain.grace.counts.callbacks_run.get();
            let has_worked = work(domain, queue);
            if fork::generation() != generation {
                return false;
            }
            let called = domain.grace.counts.callbacks_run.get().wrapping_sub(called);
            if naps && time != NAPS.0 {
                naps = called >= 2;
                self.naps.learn(naps);
            }
            if !has_worked {
                return true;
            }
            if naps && (1..LARGE).contains(&called) {
                // A nap that was cut short says nothing about the stream.
                naps = self.nap(time);
                time = NAPS.1.min(2 * time);
            }
        }
    }
}

/// Runs a batch or a grace period that is polled for. Returns false if there was neither.
fn work(domain: &'static State, queue: &'static Queue) -> bool {
    backend::begin_turn();
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
