//! Which thread the calling one is, as slots record their owners.
//!
//! An owner's word is a name from [`this`], perhaps with [`ENDED`]. Names below [`FIRST`] have a meaning
//! of their own in slots.

#[cfg(leeward_loom)]
#[path = "model.rs"]
mod how;
#[cfg(all(feature = "std", not(leeward_loom)))]
#[path = "local.rs"]
mod how;
#[cfg(all(target_os = "linux", not(feature = "std"), not(leeward_loom)))]
#[path = "bare.rs"]
mod how;
#[cfg(all(not(target_os = "linux"), not(feature = "std"), not(leeward_loom)))]
#[path = "unknown.rs"]
mod how;

pub(crate) use crate::tid::this as number;
pub(crate) use how::{give_handle, take_handle, this};

/// What `this` is where threads cannot be told apart: equal to no thread's name.
pub(crate) const UNKNOWN: u64 = u64::MAX >> 1;
/// The least name.
const FIRST: u64 = 16;
/// Bit of an owner's word: the thread has run its thread-local destructors, or all but the last of
/// them, and may be gone. What a leaked guard of its protects is not given up in the child of a fork.
pub(crate) const ENDED: u64 = 1 << 63;

/// The name in an owner's word.
pub(crate) const fn name(owner: u64) -> u64 {
    owner & !ENDED
}
