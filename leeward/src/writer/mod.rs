//! What a container keeps for each thread that writes, so that writers of several processors write
//! no line in common, and need no lock for what is their own.
//!
//! A thread takes an index when it first writes, in whatever container, and gives it back when it
//! exits. An index is one thread's at a time.

#[cfg(not(leeward_loom))]
#[path = "thread.rs"]
mod backend;
#[cfg(leeward_loom)]
#[path = "model.rs"]
mod backend;
#[cfg(feature = "std")]
mod own;
mod place;

#[cfg(all(feature = "std", not(leeward_loom)))]
pub(crate) use backend::try_with_index;
pub(crate) use backend::with_index;
#[cfg(feature = "std")]
pub(crate) use own::WriterOwned;
pub(crate) use place::{Fresh, PerWriter};
