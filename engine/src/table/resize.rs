//! The decision when a table is too small. Threads that wait and wake are not stopped by a resize,
//! and share no count to say that they read. `migrate` moves the waiters.
//!
//! A table is crowded when more than half of its buckets have waiters: then there are about 7
//! waiters to 10 buckets, and one wake in three walks past a waiter for another word. No count of
//! all waiters is kept, since all threads would have to change it. Instead the lock words beside
//! that of a bucket that looks crowded are sampled. If more than half of them are occupied, all
//! lock words are looked at, but only at some of such suspicions, so that each costs 256 lock words
//! at most on average. There are at least as many waiters as occupied buckets: a table that is
//! twice as large has fewer than four buckets for each of them, whichever words a program chooses.

use crate::Host;
use crate::atomic::{AtomicU32, Ordering};
use crate::table::Table;

/// The number of lock words in a sample.
const SAMPLE: usize = 32;
/// The number of lock words in a sample where each is on a cache line of its own, which may be
/// another processor's.
const SPREAD_SAMPLE: usize = 16;
/// The number of lock words that a suspicion may cost on average. A suspicion is a sample that is
/// crowded.
const SHARE: usize = 256;
/// Lock words lie side by side in a table that is this many times larger than threads alone would
/// ask for: they then have at least as many cache lines as in a table for the threads.
pub(crate) const LOCK_WORDS_A_LINE: usize = 16;
/// The limit of the pause after there was no memory: 2 to this power, less one, requests are passed
/// over.
const LONGEST_PAUSE: u32 = 10;

/// The state of the resizing of a private or a global table.
pub(crate) struct Resize {
    /// 1 while a thread makes a larger table, else 0.
    resizing: AtomicU32,
    /// How often there was no memory for a larger table.
    refused: AtomicU32,
    /// How often in a row there was no memory.
    in_a_row: AtomicU32,
    /// How many requests are passed over before memory is asked for again.
    pause: AtomicU32,
    /// How many samples were crowded.
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

    /// Calls `make` to enlarge the table, unless another thread does, or there was no memory
    /// lately. `make` returns false if there is none now: then 1 request is passed over, then 3, 7
    /// and so on up to 1,023.
    #[cold]
    #[inline(never)]
    pub(crate) fn alone(&self, make: impl FnOnce() -> bool) {
        // Acquire: what the last thread that enlarged it did; partner: `Resizing::drop`. Relaxed on
        // failure: another thread is at it.
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

    /// Returns true if a table is too small. The bucket with that number looks crowded.
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

/// The right of one thread to enlarge the table; dropping this gives it back, also where the host
/// panics.
struct Resizing<'a>(&'a AtomicU32);

impl Drop for Resizing<'_> {
    fn drop(&mut self) {
        // Release: what this thread did to the table; partner: the exchange in `alone`.
        self.0.store(0, Ordering::Release);
    }
}
