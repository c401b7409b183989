//! The calling process and thread: forks ([`fork`], [`fork_mark`]), thread-local storage
//! ([`local`]), threads' ids ([`thread`]), errno, starting a thread, and catching a panic.
//!
//! # Which process is this?
//! A part that keeps something across calls keeps a number beside it, by which a later call finds that
//! it runs in the child of a fork. What the part needs decides which number:
//!
//! - `fork::generation`, one load, the parent's in a child of `_Fork` or a raw `clone`: for what fork
//!   handlers repair, and what is no worse unrepaired than the rest of such a child. These are
//!   `inherited` and `writer/own`, the lock of ordered maps, `rcu` and its collectors where a callback
//!   may itself have forked, and shared fences.
//! - `fork_mark::is_still`, two loads, different in each child: for what no child may take for its own,
//!   since the parent goes on with it, or because threads are missed without which it hangs. These are
//!   the guards of `robust` and `shared`, the pops of queues and stacks, a queue's gaps, the queues of
//!   tasks, and where a condition variable's waiters have their mutex.
//! - `thread::is_here`, two loads, the parent's as the first: for the question which *thread*, where the
//!   one that forked must be told from those that it left behind. That is the lock of lists.
//! - The first two together, in `raw/forked.rs` and `collect/raw/queue.rs`: for the question whether any
//!   fork lies behind the process, since waiters or producers may not be there whom a word counts.
//!
//! `getpid` answers none of these: it is a system call, and a number comes again. The visits of threads
//! (`fence`) give it to the kernel and keep it for no other call.

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
