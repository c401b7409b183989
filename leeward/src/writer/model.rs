//! Indices in a model: those of its threads, in the order in which they ask.

use core::sync::atomic::{AtomicUsize, Ordering};

loom::lazy_static! {
    /// Core's atomic, which is a new one in each execution: loom need not explore it.
    static ref NEXT: AtomicUsize = AtomicUsize::new(0);
}
loom::thread_local! {
    // Relaxed: only uniqueness matters.
    static INDEX: usize = NEXT.fetch_add(1, Ordering::Relaxed);
}

/// Calls `act` with an index that no other thread has.
pub(crate) fn with_index<R>(act: impl FnOnce(usize) -> R) -> R {
    act(INDEX.with(|index| *index))
}
