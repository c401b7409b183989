//! The behaviours on our locks.

use leeward::sync::poison as sync;

#[path = "behaviours.rs"]
mod behaviours;
