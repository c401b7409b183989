//! Ids in a model, where threads have no numbers.

use core::sync::atomic::{AtomicU64, Ordering};

use super::FIRST;

/// Returns the calling thread's number: 0, which is no thread's.
pub(crate) use super::super::thread_number as number;

/// Returns the calling thread's id. The count is core's atomic: loom need not explore it. (An
/// address would be used again, or not, as the allocator likes, and loom wants every execution to
/// do the same.)
pub(crate) fn current() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(FIRST);
    // Relaxed: only uniqueness matters.
    loom::thread_local! { static ID: u64 = LAST.fetch_add(1, Ordering::Relaxed); }
    ID.with(|id| *id)
}

/// Returns the calling thread's id, which is as good as an address.
pub(crate) use current as address;

/// Returns the owner's word of a handle that the calling thread takes.
pub(crate) fn take_handle() -> u64 {
    current()
}

/// Does nothing: the handles of a thread are not counted here.
pub(crate) fn give_handle() {}

/// Does nothing: models do not fork.
pub(crate) fn watch_forks() {}

/// Returns true: models do not fork.
pub(crate) fn is_here(_: u64) -> bool {
    true
}
