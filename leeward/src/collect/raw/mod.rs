//! The intrusive cores: a queue and a stack of [`Node`]s that lie inside the caller's objects. They
//! allocate nothing and own nothing, and the C face has the same layout.
//!
//! `link` (nodes, and how one waits for a link), `queue`, `stack`.

mod link;
#[cfg(all(test, leeward_loom))]
mod loom_tests;
#[cfg(feature = "c")]
#[doc(hidden)]
pub mod map;
mod queue;
mod stack;

pub use link::{Node, wake as wake_for_link};
pub use queue::Queue;
pub use stack::Stack;
