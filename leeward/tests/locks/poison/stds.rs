//! The behaviours on std's locks: what the tests say of them is so.

use std::sync;

#[path = "behaviours.rs"]
mod behaviours;
