//! fork: the child has one thread. Readers that were others are not there any more; a mutex that another thread was
//! inside of stays locked, as any mutex does.
//!
//! Children of `vfork`, `_Fork` and the raw `clone` call run no handler: what other threads had locked stays locked.

use core::sync::atomic::{AtomicU32, Ordering};

use super::local;
use crate::mutant::mutated;
use crate::rcu::thread;

/// Has the slots mended in children from now on.
pub(super) fn watch() {
    static INSTALLED: AtomicU32 = AtomicU32::new(0);
    // Relaxed, both: twice is as good as once, and the thread that is told has done it itself or forks later.
    if INSTALLED.load(Ordering::Relaxed) == 0 {
        install();
        INSTALLED.store(1, Ordering::Relaxed);
    }
}

#[cfg(target_os = "linux")]
fn install() {
    // SAFETY: a handler without arguments that lives as long as the code does. It fails for lack of memory only; then
    // children are not mended, as after `vfork`.
    let _ = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
}

#[cfg(not(target_os = "linux"))]
fn install() {
    let _ = in_child;
}

/// Runs in the child, on its only thread, before fork returns.
extern "C" fn in_child() {
    if mutated!(asym_fork) {
        return;
    }
    crate::fence::after_fork();
    let me = thread::this();
    let kept = local::blocks().slots().filter(|block| block.outlives_fork(me)).count();
    local::blocks().set_claimed(kept);
}
