//! The child of a fork, which finds the ring as the parent's threads had it at some instruction.
//!
//! Each call asks first whether the ring is this process's, so the first call of a child finds that it is
//! not, and settles it while the other threads of the child wait. No thread of the child has claimed a slot
//! before: all that is claimed, and neither filled nor freed, is a thread's that is not there. A value is
//! moved nowhere and a filled slot stays, so a fork beside this leaves to its own child what there was.

use super::position::{CLOSED, FILLED, PASSED, place};
use super::ring::Ring;
use crate::atomic::{AtomicU32, Ordering};
use crate::futex::{ALL, Futex, Timeout};
use crate::mutant::mutated;
use crate::process::fork_mark;

/// The bit of the process's number that says that a thread of the process settles the ring.
const SETTLES: u32 = 1 << 31;

impl<T, F: Futex> Ring<T, F> {
    /// Makes the ring this process's.
    #[cold]
    #[inline(never)]
    pub(super) fn adopt(&self) {
        let (process, word) = (fork_mark::now(), self.process());
        loop {
            // Acquire: partner of the release below.
            let old = word.load(Ordering::Acquire);
            if old == process {
                return;
            }
            if old == process | SETTLES {
                F::wait(word, old, Timeout::Never);
                continue;
            }
            // Acquire: as above. Relaxed on failure: loaded again.
            let order = (Ordering::Acquire, Ordering::Relaxed);
            if word.compare_exchange(old, process | SETTLES, order.0, order.1).is_ok() {
                break;
            }
        }
        if !mutated!(bounded_adopt) {
            self.settle();
        }
        // Release: partner of the acquires above and in `enter`.
        word.store(process, Ordering::Release);
        let word: &AtomicU32 = word;
        F::wake(word, ALL);
    }

    /// Settles what threads that are not there have claimed. No other thread uses the ring meanwhile.
    fn settle(&self) {
        // Relaxed, all: `adopt` publishes it.
        let (laps, tail) = (self.laps(), self.tail.0.load(Ordering::Relaxed));
        let (mut first, mut last) = (place(self.head.0.load(Ordering::Relaxed)), place(tail));
        let is_filled = |position| self.slot(position).state.load(Ordering::Relaxed) == position | FILLED;
        // At both ends there are values then, so a queue without any is empty.
        while first != last && !is_filled(laps.previous(last)) {
            last = laps.previous(last);
        }
        while first != last && !is_filled(first) {
            first = laps.next(first);
        }
        self.tail.0.store(last | tail & CLOSED, Ordering::Relaxed);
        self.head.0.store(first, Ordering::Relaxed);
        let mut position = first;
        while position != last {
            if !is_filled(position) {
                self.slot(position).state.store(position | PASSED, Ordering::Relaxed);
            }
            position = laps.next(position);
        }
        for _ in laps.distance(first, last)..laps.capacity() {
            self.slot(position).state.store(position, Ordering::Relaxed);
            position = laps.next(position);
        }
        self.pops.forget();
        self.pushes.forget();
    }
}
