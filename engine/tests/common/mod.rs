//! Parts that several test programs use.

use std::time::{Duration, Instant};

/// Waits until `what` holds; a test whose condition never comes fails here rather than hanging.
#[track_caller]
pub fn until(what: impl Fn() -> bool) {
    let start = Instant::now();
    while !what() {
        assert!(start.elapsed() < Duration::from_secs(20), "it did not come about within 20 s");
        std::thread::yield_now();
    }
}
