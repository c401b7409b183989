//! crossbeam-epoch 0.9 by name, and leeward's epochs underneath: a program and all that it depends on
//! change over by a line of its `Cargo.toml`.
//!
//! ```toml
//! [patch.crates-io]
//! crossbeam-epoch = { git = "https://github.com/leeward-rs/leeward" }
//! ```
//!
//! Every public name of crossbeam-epoch 0.9.21 is here, the deprecated ones as well. The types are those
//! of [`leeward::rcu::epoch`], where each has its cost and its promises: entering a section executes no
//! fence, and the thread that frees issues a heavy one for many retired values.
//!
//! # Differences
//! - **[`Pointable`] and [`Pointer`] are sealed.** Every sized type and `[MaybeUninit<T>]` is `Pointable`, as
//!   there; a program that implements it for a type of its own, or calls its functions or
//!   `Pointer::{into_usize, from_usize}`, does not compile.
//! - [`Guard::flush`] makes all calls that may be made; there it makes some hundreds.
//! - A deferred call that panics is counted, and the thread goes on; there the panic arrives at the
//!   thread that pins or defers.
//! - In the child of a fork, sections of threads that are not there are over; there they last for ever.
//! - Two collectors in one program, of this crate and of the real one, know nothing of each other: a
//!   pointer is loaded and retired under guards of one.
//!
//! # Features
//! `std` (default) has [`pin`], [`is_pinned`] and [`default_collector`]. `alloc` is always on, and without
//! `std` the crate needs Linux, as leeward does. `nightly` does nothing, as there. `loom` does nothing:
//! models are made with the real crate, as a `[patch]` section can be left out for them.

#![no_std]

pub use leeward::rcu::epoch::{
    Atomic, Collector, CompareExchangeError, Guard, LocalHandle, Owned, Pointable, Pointer, Shared, unprotected,
};
#[allow(deprecated)]
pub use leeward::rcu::epoch::{CompareAndSetError, CompareAndSetOrdering};
#[cfg(feature = "std")]
pub use leeward::rcu::epoch::{default_collector, is_pinned, pin};
