//! Names without thread-local storage: the address of the thread's control block, which the child of
//! a fork keeps, and which may be used again when the thread has gone. Only handles are recorded then,
//! and a forgotten one may be taken for a later thread's: `synchronize` panics there instead of waiting
//! for ever.

use super::FIRST;

/// The calling thread's name.
pub(crate) fn this() -> u64 {
    // SAFETY: has no precondition.
    let block = unsafe { libc::pthread_self() };
    (block as u64).max(FIRST)
}

/// The owner's word of a handle that the calling thread takes. The thread's end is not noticed.
pub(crate) fn take_handle() -> u64 {
    this()
}

/// The calling thread gives a handle up.
pub(crate) fn give_handle() {}
