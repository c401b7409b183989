//! Ids and numbers without thread-local storage.
//!
//! The id is the address of the thread's control block, which the child of a fork keeps, and which
//! may be used again when the thread has exited. Only handles are recorded then, and a forgotten
//! handle may be taken for a later thread's: `synchronize` panics there instead of waiting forever.
//! Where no such address is known, all threads are one.

use super::super::control_block;
use super::{FIRST, UNKNOWN};

/// Returns the calling thread's number, for which the kernel is asked each time.
pub(crate) use super::super::thread_number as number;

/// Returns the calling thread's id.
pub(crate) fn current() -> u64 {
    match control_block() {
        0 => UNKNOWN,
        block => block.max(FIRST),
    }
}

/// Returns the calling thread's id, which is an address here.
pub(crate) use current as address;

/// Returns the owner's word of a handle that the calling thread takes. The thread's exit is not
/// noticed.
pub(crate) fn take_handle() -> u64 {
    current()
}

/// Does nothing: the handles of a thread are not counted here.
pub(crate) fn give_handle() {}
