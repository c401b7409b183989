//! Waiting until what was queued has run: `Domain::barrier`.

use super::Queue;
use super::reclaim::Reclaimed;
use crate::atomic::Ordering;
use crate::futex::Timeout;
use crate::mutant::check;
use crate::rcu::backing::State;

impl Queue {
    /// Waits until everything that was queued before the call has run.
    pub(in crate::rcu) fn barrier(&'static self, domain: &'static State) {
        // Acquire: what was queued before the call is still here, or was taken, and `taken` counted
        // it before. Partner: the release in `take`.
        let is_empty = self.incoming.last.load(Ordering::Acquire).is_null();
        // Relaxed: ordered by the acquire above.
        let last = self.taken.load(Ordering::Relaxed) + u64::from(!is_empty);
        // Acquire: partner of the release in `finish`. A batch with the number `last` may never
        // come, if another thread took meanwhile what was there: then the queue is idle once that
        // has run.
        let is_done = || self.finished.load(Ordering::Acquire) >= last || self.is_idle();
        let failures = self.worker.failures();
        while check!(barrier_waits, !is_done()) {
            // A worker whose work ended in a panic meanwhile (no heavy fence is possible, or a stall's
            // handler panicked): this thread tries, so that its caller gets the panic.
            if self.worker.failures() == failures && self.worker.wake(domain, self) {
                self.wait_until(|| is_done() || self.worker.failures() != failures, Timeout::Never);
            } else if self.reclaim(domain, Timeout::Never) == Reclaimed::Forked {
                return;
            }
        }
    }
}
