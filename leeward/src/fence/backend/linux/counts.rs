//! How many heavy fences there were, as [`Counters`] reports them. Counted where they are issued.

use core::sync::atomic::AtomicU64;

use super::super::counters::Counters;
use crate::atomic::Ordering;

/// Served by `membarrier(PRIVATE_EXPEDITED)`.
pub(super) static PRIVATE: AtomicU64 = AtomicU64::new(0);
/// Served by `membarrier(GLOBAL)`.
pub(super) static GLOBAL: AtomicU64 = AtomicU64::new(0);
/// Served by signals.
pub(super) static SIGNAL: AtomicU64 = AtomicU64::new(0);
/// Those of the signals that visited the processors.
pub(super) static VISITS: AtomicU64 = AtomicU64::new(0);
/// Calls that were refused, and tried again or handed to the next strategy.
pub(super) static RETRIES: AtomicU64 = AtomicU64::new(0);
/// Issued for threads of other processes.
pub(super) static PROCESSES: AtomicU64 = AtomicU64::new(0);

pub(super) fn count(what: &AtomicU64) {
    // Relaxed: a count.
    what.fetch_add(1, Ordering::Relaxed);
}

pub(in super::super) fn counters() -> Counters {
    // Relaxed, all: counts.
    let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
    Counters {
        membarrier_private: read(&PRIVATE),
        membarrier_global: read(&GLOBAL),
        signal: read(&SIGNAL),
        visits: read(&VISITS),
        retries: read(&RETRIES),
        processes: read(&PROCESSES),
        ..Counters::default()
    }
}
