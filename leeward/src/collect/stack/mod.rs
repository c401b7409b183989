//! A stack of values: [`Stack`].
//!
//! `entry` (the node with its value), `stack` (the type), `taken` (all values at once).

mod entry;
#[cfg(all(test, leeward_loom))]
mod loom_tests;
#[allow(clippy::module_inception)]
mod stack;
mod taken;

pub use stack::{IntoIter, Stack};
pub use taken::Taken;
