//! The calling process and thread: forks ([`fork`], [`fork_mark`]), threads' ids ([`thread`]),
//! errno, and starting a thread.
//!
//! Called by all parts that keep something for a thread or across a fork.

#[cfg(all(target_os = "linux", not(leeward_loom)))]
#[path = "backend/linux/mod.rs"]
mod backend;
#[cfg(not(all(target_os = "linux", not(leeward_loom))))]
#[path = "backend/none.rs"]
mod backend;
#[cfg(all(feature = "threads", not(leeward_loom)))]
pub(crate) mod local;
pub(crate) mod thread;

pub(crate) use backend::*;

/// What a thread of this library's own does.
#[cfg(feature = "std")]
pub(crate) trait Work: Sync + 'static {
    /// Does it, on the new thread.
    fn work(&'static self);
}
