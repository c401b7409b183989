//! When a table is too small. Threads that wait and wake are not stopped, and leave no trace that
//! they read. `migrate` moves the waiters.
//!
//! A table is crowded when more than half of its buckets have waiters: then as a rule there are 7
//! waiters to 10 buckets, and one wake in three walks past a stranger. Nobody counts waiters where
//! all threads would have to: a bucket that looks crowded has the lock words beside its own looked
//! at, and if those are too, all of them, once for so many such looks that it costs each 256 lock
//! words at most. Since as many wait at least as buckets have waiters, a table that is twice as
//! large has fewer than four buckets for each of them, whoever chooses the words.

use crate::Host;
use crate::atomic::{AtomicU32, Ordering};
use crate::table::Table;

/// How many lock words are looked at first.
const SAMPLE: usize = 32;
/// The same where each is on a line of its own, which may be another processor's.
const SPREAD_SAMPLE: usize = 16;
/// How many lock words a look at all of them may cost each time that the first look says so.
const SHARE: usize = 256;
/// Lock words side by side where there are so many times more than threads alone would ask for: as
/// many lines as those at least.
pub(crate) const LOCK_WORDS_A_LINE: usize = 16;
/// At most so many asks in two's powers are passed over after there was no memory.
const LONGEST_PAUSE: u32 = 10;

/// What a store knows of its resizing.
pub(crate) struct Resize {
    /// 1: somebody makes a larger table.
    resizing: AtomicU32,
    /// How often there was no memory for one.
    refused: AtomicU32,
    /// How often in a row.
    in_a_row: AtomicU32,
    /// How many asks are passed over before memory is asked for again.
    pause: AtomicU32,
    /// How often the lock words beside a crowded bucket's were too.
    suspicions: AtomicU32,
}

impl Resize {
    pub(crate) fn new() -> Resize {
        let zero = || AtomicU32::new(0);
        Resize { resizing: zero(), refused: zero(), in_a_row: zero(), pause: zero(), suspicions: zero() }
    }

    pub(crate) fn refused(&self) -> u64 {
        // Relaxed: a statistic.
        u64::from(self.refused.load(Ordering::Relaxed))
    }

    /// Enlarges, unless somebody is at it, or there was no memory lately. `make` is false if there
    /// is none now: then 1 ask is passed over, then 3, 7 and so on up to 1,023.
    #[cold]
    #[inline(never)]
    pub(crate) fn alone(&self, make: impl FnOnce() -> bool) {
        // Acquire: what the last one to enlarge it did; partner: `Resizing::drop`. Relaxed on
        // failure: somebody is at it.
        if self.resizing.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return;
        }
        // Relaxed, all: one thread at a time.
        let _resizing = Resizing(&self.resizing);
        let pause = self.pause.load(Ordering::Relaxed);
        if pause != 0 {
            self.pause.store(pause - 1, Ordering::Relaxed);
        } else if make() {
            self.in_a_row.store(0, Ordering::Relaxed);
        } else {
            let row = (self.in_a_row.load(Ordering::Relaxed) + 1).min(LONGEST_PAUSE);
            self.in_a_row.store(row, Ordering::Relaxed);
            self.pause.store((1 << row) - 1, Ordering::Relaxed);
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether a table is too small, of which the bucket with that number is crowded.
    pub(crate) fn is_crowded<H: Host>(&self, table: &Table<H>, number: usize) -> bool {
        let crowded = |from: usize, count: usize| {
            let occupied = (from..from + count).filter(|&number| table.lock_word(number).is_occupied()).count();
            2 * occupied > count
        };
        let sample = if table.plan().dense { SAMPLE } else { SPREAD_SAMPLE };
        if table.len() <= sample {
            return crowded(0, table.len());
        }
        if !crowded(number, sample) {
            return false;
        }
        let period = (table.len() / SHARE).max(1) as u32;
        // Relaxed: a statistic.
        self.suspicions.fetch_add(1, Ordering::Relaxed) % period == 0 && crowded(0, table.len())
    }
}

/// The right to enlarge: given back also where the host panics.
struct Resizing<'a>(&'a AtomicU32);

impl Drop for Resizing<'_> {
    fn drop(&mut self) {
        // Release: partner: the exchange in `alone`.
        self.0.store(0, Ordering::Release);
    }
}
