//! The operations of fences.

use leeward::fence::{self, Strategy};

use super::Operation;

operations! {
    "fences";
    light: fence::light;
    heavy: fence::heavy;
    init: || {
        fence::init().unwrap();
    };
    strategy: || {
        let _ = fence::strategy();
    };
    counters: || {
        let _ = fence::counters();
    };
    heavy_by_membarrier: || heavy_by(Strategy::MembarrierPrivate);
    heavy_by_signals: || heavy_by(Strategy::Signal);
}

fn heavy_by(strategy: Strategy) {
    match fence::force(strategy) {
        Ok(()) => fence::heavy(),
        Err(error) => println!("skipped: {error}"),
    }
}

/// Tries the operations that issue heavy fences.
#[test]
fn with_signals() {
    crate::with_signals("fences", &["heavy"]);
}
