//! The futex of platforms without futexes: a waiter yields its processor and rechecks the word.

use core::time::Duration;

use super::{Changed, Deadline, Timeout, Wait, WaitAny, WakeOp};
use crate::atomic::{AtomicU32, Ordering};

/// Yields once if `word` is `expected`. Returns that it was woken, or that `timeout` has passed.
/// Without std no clock is read, and no deadline comes.
///
/// It returns after each yield, in which others may have run, since a word that is stored to and
/// stored back would hide a wake.
pub(super) fn wait<const SHARED: bool>(word: &AtomicU32, expected: u32, timeout: Timeout) -> Wait {
    // Relaxed: only decides whether to yield; the caller's own check of its condition has the
    // order.
    if word.load(Ordering::Relaxed) != expected {
        return Wait::Changed;
    }
    yield_now();
    match timeout.deadline() {
        Some(deadline) if Deadline::at(now()) >= deadline => Wait::TimedOut,
        _ => Wait::Woken,
    }
}

/// Returns 0: no thread sleeps here.
pub(super) fn wake<const SHARED: bool>(_: *const AtomicU32, _: u32) -> u32 {
    0
}

/// Compares `from` with `expected`; no thread sleeps here that could be moved.
///
/// # Safety
/// `from` is alive.
pub(super) unsafe fn requeue<const SHARED: bool>(
    from: *const AtomicU32,
    expected: u32,
    _: u32,
    _: *const AtomicU32,
    _: u32,
) -> Result<u32, Changed> {
    // SAFETY: the caller's promise.
    let word = unsafe { &*from };
    // Relaxed: as in `wait`.
    if word.load(Ordering::Relaxed) == expected { Ok(0) } else { Err(Changed) }
}

/// Does `op` to `on`. Returns 0: no thread sleeps here.
///
/// # Safety
/// `on` is alive and may be written so.
pub(super) unsafe fn wake_op<const SHARED: bool>(
    _: *const AtomicU32,
    _: u32,
    on: *const AtomicU32,
    op: WakeOp,
    _: u32,
) -> u32 {
    // SAFETY: the caller's promise.
    op.apply_to(unsafe { &*on });
    0
}

/// The answer of [`wait_any`]: the platform has no wait for several words.
pub(super) struct Refused;

/// Refuses, so that the caller looks at the words in turn.
pub(super) fn wait_any<const SHARED: bool>(_: &[(&AtomicU32, u32)], _: Timeout) -> Result<WaitAny, Refused> {
    Err(Refused)
}

/// Lets another thread run.
pub(crate) fn yield_now() {
    #[cfg(feature = "std")]
    std::thread::yield_now();
    #[cfg(not(feature = "std"))]
    core::hint::spin_loop();
}

/// Reads a clock that only goes forward; without std it stands still.
pub(crate) fn now() -> Duration {
    #[cfg(feature = "std")]
    {
        static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
        START.get_or_init(std::time::Instant::now).elapsed()
    }
    #[cfg(not(feature = "std"))]
    Duration::ZERO
}

/// Returns true: a yield lets all threads run.
pub(super) fn yields_to_all() -> bool {
    true
}

/// Returns 0: threads have no numbers here.
pub(super) fn thread_number() -> u32 {
    0
}
