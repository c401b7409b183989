//! The calling process and thread: forks ([`fork`], [`fork_mark`]), thread-local storage
//! ([`local`]), threads' ids ([`thread`]), errno, starting a thread, and catching a panic.

#[cfg(all(target_os = "linux", not(leeward_loom)))]
#[path = "backend/linux/mod.rs"]
mod backend;
#[cfg(not(all(target_os = "linux", not(leeward_loom))))]
#[path = "backend/none.rs"]
mod backend;
#[cfg(all(feature = "threads", not(leeward_loom)))]
pub(crate) mod local;
#[cfg(not(feature = "std"))]
#[path = "runtime/none.rs"]
mod runtime;
#[cfg(feature = "std")]
#[path = "runtime/std.rs"]
mod runtime;
pub(crate) mod thread;

pub(crate) use backend::*;
pub(crate) use runtime::panics;

/// What a thread of this library's own does.
#[cfg(feature = "threads")]
pub(crate) trait Work: Sync + 'static {
    /// Does it, on the new thread.
    fn work(&'static self);
}
