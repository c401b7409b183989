//! What the standard library does for this one: it catches panics and, where the C library is not
//! asked, starts threads.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `callback`, and returns true if it panicked. The panic hook has reported the panic; its
/// payload is leaked, since dropping it may panic again.
pub(crate) fn panics(callback: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(callback)).map_err(core::mem::forget).is_err()
}

/// Runs `work` on a new detached thread of the standard library's. Returns false if no thread can
/// be started.
pub(crate) fn start(work: impl FnOnce() + Send + 'static) -> bool {
    std::thread::Builder::new().name("leeward-rcu".into()).spawn(work).is_ok()
}
