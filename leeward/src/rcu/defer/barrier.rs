//! The thread that waits until what was queued has run.

use super::super::backing::Backing;
use super::Queue;
use super::reclaim::Reclaimed;
use crate::atomic::Ordering;
use crate::futex::Timeout;
use crate::mutant::mutated;

impl Queue {
    pub(in super::super) fn barrier<D: Backing>(&'static self) {
        // Acquire: what was queued before is here still, or was taken, and counted before it was. Partner:
        // the release in `take`.
        let is_empty = self.incoming.last.load(Ordering::Acquire).is_null();
        // Relaxed: ordered by the acquire above.
        let last = self.taken.load(Ordering::Relaxed) + u64::from(!is_empty);
        // Acquire: partner of the release in `run`. The batch counted last may never come, if another
        // thread took meanwhile what was there: then all that was taken has run, and nothing is left.
        let is_done = || self.finished.load(Ordering::Acquire) >= last || self.is_idle();
        let deaths = self.worker.deaths();
        while !is_done() && !mutated!(barrier_waits) {
            // A worker that ended meanwhile did so by a panic (there is no heavy fence, or a stall's
            // handler panicked): this thread tries, so that its caller learns of it.
            if self.worker.deaths() == deaths && self.worker.wake::<D>() {
                self.wait_until(is_done, Timeout::Never);
            } else if self.reclaim::<D>(Timeout::Never) == Reclaimed::Forked {
                return;
            }
        }
    }
}
