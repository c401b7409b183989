//! What the faces of seize have in common: the end of a collector, after which nothing is reclaimed any more, as
//! objects may borrow what ends with it; and the numbers of threads.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{mem, thread};

use leeward::rcu::epoch;

/// How often a thread that is within a reclaimer asks whether a collector can end.
const PATIENCE: u32 = 10_000;

thread_local! {
    /// The number of reclaimers that the thread is within.
    static WITHIN: Cell<u32> = const { Cell::new(0) };
    /// The number of the thread; 0: it has none yet.
    static NUMBER: Cell<usize> = const { Cell::new(0) };
}

/// Calls a reclaimer.
pub(crate) fn call(reclaim: impl FnOnce()) {
    /// Counts back, after a panic as well.
    struct Within;
    impl Drop for Within {
        fn drop(&mut self) {
            WITHIN.set(WITHIN.get() - 1);
        }
    }
    WITHIN.set(WITHIN.get() + 1);
    let _within = Within;
    reclaim();
}

/// Makes all calls that a collector has. Threads that exit, and make calls of it, are waited for.
///
/// Returns false if the calling thread is one of them: it is within a reclaimer, for which it would wait. The
/// collector stays then, with all that it has.
pub(crate) fn end(mut collector: epoch::Collector) -> bool {
    let mut asked = 0;
    while let Err(same) = collector.try_end() {
        if WITHIN.get() != 0 && asked == PATIENCE {
            mem::forget(same);
            return false;
        }
        asked += u32::from(WITHIN.get() != 0);
        thread::yield_now();
        collector = same;
    }
    true
}

/// Returns the number of the calling thread, which no other thread has.
pub(crate) fn thread_id() -> usize {
    /// The next number.
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    if NUMBER.get() == 0 {
        // Relaxed: a number.
        NUMBER.set(NEXT.fetch_add(1, Ordering::Relaxed));
    }
    NUMBER.get()
}
