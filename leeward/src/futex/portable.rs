//! Platforms without futexes: whoever waits gives its processor away and looks again.

use core::time::Duration;

use super::Wait;
use crate::atomic::{AtomicU32, Ordering};

/// Looks at `word` a while. May return at any time.
pub(crate) fn wait(word: &AtomicU32, expected: u32, limit: Option<Duration>) -> Wait {
    const LOOKS: u32 = 64;
    for _ in 0..LOOKS {
        // Relaxed: only decides whether to look again; the caller's own look has the order.
        if word.load(Ordering::Relaxed) != expected {
            return Wait::LookAgain;
        }
        yield_now();
    }
    // Nobody here measures the time: a limit counts as reached, and the caller asks its clock, if it has one.
    if limit.is_some() { Wait::TimedOut } else { Wait::LookAgain }
}

/// Nobody sleeps here.
pub(crate) fn wake(_: &AtomicU32, _: u32) {}

/// Lets another thread run.
pub(crate) fn yield_now() {
    #[cfg(feature = "std")]
    std::thread::yield_now();
    #[cfg(not(feature = "std"))]
    core::hint::spin_loop();
}
