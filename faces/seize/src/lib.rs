//! seize 0.5 by name, and leeward's epochs underneath: a program and all that it depends on change over by
//! a line of its `Cargo.toml`. (For seize 0.3 there is a crate of its own, `faces/seize-0.3`.)
//!
//! ```toml
//! [patch.crates-io]
//! seize = { git = "https://github.com/leeward-rs/leeward", version = "0.5" }
//! ```
//!
//! Every public name of seize 0.5.1 is here. A [`Collector`] is one of [`leeward::rcu::epoch`], where the
//! costs and the promises are: entering a section executes no fence and no locked instruction.
//!
//! ```
//! use seize::{Collector, Guard, reclaim};
//! use std::sync::atomic::{AtomicPtr, Ordering};
//! let collector = Collector::new();
//! let cell = AtomicPtr::new(Box::into_raw(Box::new(1)));
//! let guard = collector.enter();
//! let old = guard.swap(&cell, std::ptr::null_mut(), Ordering::AcqRel);
//! // SAFETY: what the guard protects; unlinked above, and retired once.
//! assert_eq!(unsafe { *old }, 1);
//! unsafe { guard.defer_retire(old, reclaim::boxed) };
//! ```
//!
//! # Differences
//! - **What is retired may be reclaimed later.** seize reclaims a batch when the last thread leaves that saw
//!   it. Here threads that retire or enter find out that a grace period is over, 41 objects or more at a time;
//!   [`Guard::flush`] asks at once. [`Collector::reclaim_all`] and the collector's drop leave nothing, as there.
//! - A reader that is preempted in its section holds back all that is retired meanwhile; in seize the batches
//!   that it saw.
//! - [`Collector::batch_size`] says after how many objects a grace period begins at the latest. It does not
//!   depend on the number of threads.
//! - A reclaimer that panics is counted, and the thread goes on; there the panic arrives at the thread that leaves.
//! - [`OwnedGuard`] costs a lock and a heavy fence each; while one is there, what is reclaimed goes through a
//!   list.
//! - [`Guard::thread_id`] numbers are not used again.
//! - A collector that is dropped by one of its own reclaimers, on a thread that exits, is leaked.
//! - In the child of a fork, sections of threads that are not there are over, but for owned guards.
//! - seize's guide is not here: `docs.rs/seize` has it.
//!
//! # Features
//! `fast-barrier` (default) does nothing: leeward asks the system for fences by itself.

mod collector;
mod ending;
mod guard;
mod owned;
pub mod reclaim;

pub use collector::Collector;
pub use guard::{Guard, LocalGuard};
pub use owned::OwnedGuard;
