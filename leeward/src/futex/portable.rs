//! Platforms without futexes: whoever waits gives its processor away and looks again.

use core::time::Duration;

use super::Wait;
use crate::atomic::{AtomicU32, Ordering};

/// Looks at `word` while it is `expected`, for `limit` at most. May return at any time. Without std nobody measures
/// the time, and no limit is reached.
pub(crate) fn wait(word: &AtomicU32, expected: u32, limit: Option<Duration>) -> Wait {
    #[cfg(feature = "std")]
    let (start, limit) = (std::time::Instant::now(), limit.unwrap_or(Duration::MAX));
    #[cfg(not(feature = "std"))]
    let _ = limit;
    // Relaxed: only decides whether to look again; the caller's own look has the order.
    while word.load(Ordering::Relaxed) == expected {
        #[cfg(feature = "std")]
        if start.elapsed() >= limit {
            return Wait::TimedOut;
        }
        yield_now();
    }
    Wait::LookAgain
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

/// A clock that only goes forward; without std it stands still.
pub(crate) fn now() -> Duration {
    #[cfg(feature = "std")]
    {
        static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
        START.get_or_init(std::time::Instant::now).elapsed()
    }
    #[cfg(not(feature = "std"))]
    Duration::ZERO
}
