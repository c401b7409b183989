//! The kernel's futex, private to the process. errno is not touched where rustix issues the call itself, and put back
//! elsewhere.

use core::time::Duration;

use rustix::io::Errno;
use rustix::thread::futex::{self, Flags, Timespec};

use super::Wait;
use crate::atomic::AtomicU32;
use crate::sys;

/// Sleeps while `word` is `expected`, for `limit` at most. May return at any time.
pub(crate) fn wait(word: &AtomicU32, expected: u32, limit: Option<Duration>) -> Wait {
    let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
    let errno = sys::Errno::save();
    let outcome = futex::wait(word, Flags::PRIVATE, expected, limit.as_ref());
    errno.restore();
    match outcome {
        Err(Errno::TIMEDOUT) => Wait::TimedOut,
        Ok(()) | Err(Errno::AGAIN | Errno::INTR) => Wait::LookAgain,
        // A sandbox that refuses futexes: nothing is lost but the sleep.
        Err(_) => {
            yield_now();
            Wait::LookAgain
        }
    }
}

/// Wakes up to `count` threads that sleep on `word`.
pub(crate) fn wake(word: &AtomicU32, count: u32) {
    let errno = sys::Errno::save();
    // Refused only by a sandbox, in which nobody sleeps (above).
    let _ = futex::wake(word, Flags::PRIVATE, count);
    errno.restore();
}

/// Lets another thread run.
pub(crate) fn yield_now() {
    rustix::thread::sched_yield();
}

/// A clock that only goes forward.
pub(crate) fn now() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}
