//! A queue of values, of many producers and many consumers: [`Queue`].
//!
//! `position` (block and index in one word), `block`, `core` (what producers do), `take` (what the
//! consumer does), `gap` (waiting for a producer), `kinds` (of futex, in `gap`), `consumer` (its lock,
//! and how it waits), `takers` (waiting for it), `queue` (the type), `iter`.

mod block;
mod consumer;
mod core;
pub(super) mod gap;
mod iter;
mod kinds;
#[cfg(all(test, leeward_loom))]
mod loom_tests;
mod position;
#[allow(clippy::module_inception)]
mod queue;
mod take;
mod takers;

pub(super) use self::core::Lines;
pub use consumer::Consumer;
pub use iter::IntoIter;
pub use queue::Queue;
