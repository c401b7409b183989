//! The numbers of heavy fences, as [`Counters`] reports them. The strategies count where they issue
//! a fence.

use core::sync::atomic::AtomicU64;

use super::super::counters::Counters;
use crate::atomic::Ordering;

/// Fences served by `membarrier(PRIVATE_EXPEDITED)`.
pub(super) static PRIVATE: AtomicU64 = AtomicU64::new(0);
/// Fences served by `membarrier(GLOBAL)`.
pub(super) static GLOBAL: AtomicU64 = AtomicU64::new(0);
/// Fences served by signals.
pub(super) static SIGNAL: AtomicU64 = AtomicU64::new(0);
/// Times that a signal fence visited the processors.
pub(super) static VISITS: AtomicU64 = AtomicU64::new(0);
/// Calls that were refused, and tried again or handed to the next strategy.
pub(super) static RETRIES: AtomicU64 = AtomicU64::new(0);
/// Fences issued for threads of other processes.
pub(super) static PROCESSES: AtomicU64 = AtomicU64::new(0);

/// Adds one to a counter.
pub(super) fn count(what: &AtomicU64) {
    // Relaxed: a count.
    what.fetch_add(1, Ordering::Relaxed);
}

/// Reads all counters.
pub(in crate::fence) fn counters() -> Counters {
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
