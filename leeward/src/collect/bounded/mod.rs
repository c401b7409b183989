//! A queue of a fixed capacity, of many producers and many consumers: [`Bounded`].
//!
//! `position` (laps and marks in one word), `slot` (the memory), `ring` (claiming, filling and freeing a
//! slot), `waiting` (sleeping for room or for a value), `waits` (wakes), `tasks` (the same of tasks), `adopt` (the
//! child of a fork), `bounded` (the type), `futures` (its async ends), `error`, `iter`.

mod adopt;
#[allow(clippy::module_inception)]
mod bounded;
mod error;
#[cfg(any(feature = "task", leeward_loom))]
mod futures;
mod iter;
#[cfg(all(test, leeward_loom))]
mod loom_tests;
mod position;
mod ring;
mod slot;
#[cfg(any(feature = "task", leeward_loom))]
mod tasks;
#[cfg(not(any(feature = "task", leeward_loom)))]
#[path = "no_tasks.rs"]
mod tasks;
mod waiting;
mod waits;

pub use bounded::Bounded;
pub use error::PushError;
#[cfg(any(feature = "task", leeward_loom))]
pub use futures::{Pop, Push};
pub use iter::IntoIter;
