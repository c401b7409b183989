//! Cells of `Arc`s: readers that keep a value beyond their section clone it.
//!
//! Calls `domain.rs` to give counts up after a grace period.

#[cfg(feature = "std")]
mod cache;
mod cell;
mod option;

#[cfg(feature = "std")]
pub use cache::Cache;
pub use cell::ArcCell;
pub use option::ArcOption;
