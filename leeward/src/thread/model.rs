//! Names in a model.

use core::sync::atomic::{AtomicU64, Ordering};

use super::FIRST;

/// The calling thread's name. Core's atomic: loom need not know it. (An address would be used again,
/// or not, as the allocator likes, and loom wants every execution to do the same.)
pub(crate) fn this() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(FIRST);
    // Relaxed: only its being unique matters.
    loom::thread_local! { static NAME: u64 = LAST.fetch_add(1, Ordering::Relaxed); }
    NAME.with(|name| *name)
}

/// The owner's word of a handle that the calling thread takes.
pub(crate) fn take_handle() -> u64 {
    this()
}

/// The calling thread gives a handle up.
pub(crate) fn give_handle() {}
