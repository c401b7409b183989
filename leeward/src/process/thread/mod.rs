//! The identity of the calling thread: its id, which slots record, and its number, which the kernel
//! gave it.
//!
//! An address tells threads apart that live at the same time, and no others.
//!
//! An id is never used again, and stays the thread's in the child of its fork; neither holds for a
//! number. The owner's word of a slot is an id from [`current`], perhaps with [`ENDED`], or with that
//! and [`LEAKED`]. Ids below [`FIRST`] have a meaning of their own in slots.

#[cfg(leeward_loom)]
#[path = "model.rs"]
mod backend;
#[cfg(all(not(feature = "threads"), not(leeward_loom)))]
#[path = "none.rs"]
mod backend;
#[cfg(all(feature = "threads", not(leeward_loom)))]
#[path = "local.rs"]
mod backend;

// `address` is for callers that share heavy fences, which they do on Linux only.
#[allow(unused_imports)]
pub(crate) use backend::{address, current, give_handle, number, take_handle};
// For the owners of a list's lock; lists need `std`, or are models.
#[cfg(any(feature = "std", leeward_loom))]
pub(crate) use backend::{is_here, watch_forks};

/// The id that [`current`] returns where threads cannot be told apart: equal to no thread's id.
pub(crate) const UNKNOWN: u64 = u64::MAX >> 2;
/// The least id of a thread.
const FIRST: u64 = 16;
/// Bit of an owner's word: the thread has run its thread-local destructors, or all but the last of
/// them, and may have exited. What its leaked guards protect is not given up in the child of a
/// fork.
pub(crate) const ENDED: u64 = 1 << 63;
/// Bit of an owner's word, beside [`ENDED`]: the thread gave the slot up inside a section, as it
/// exited. The section is counted as leaked until it ends.
pub(crate) const LEAKED: u64 = 1 << 62;

/// Returns the id in an owner's word.
pub(crate) const fn id(owner: u64) -> u64 {
    owner & !(ENDED | LEAKED)
}
