//! What tests of collectors defer: calls that count.

#![allow(dead_code, missing_docs)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use leeward::rcu::epoch::Guard;

/// The number of calls in a bag.
pub const BAG: usize = 41;

/// A value that counts its drop.
pub struct Counted(pub Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// Defers `calls` calls that count.
pub fn defer_counting(guard: &Guard, calls: usize, count: &Arc<AtomicUsize>) {
    for _ in 0..calls {
        let counted = Counted(Arc::clone(count));
        guard.defer(move || drop(counted));
    }
}
