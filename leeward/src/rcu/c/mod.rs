//! The domains that C programs share with Rust: `lee_memb`, `lee_bp`, `lee_mb` and `lee_qsbr` of
//! `<leeward/rcu.h>`, as types.
//!
//! A reader in C and a reader in Rust of the same thread share the thread's slot, and a writer in
//! either language waits for both. This holds where the C code is linked with the Rust program's
//! own copy of this library (the crate `leeward-capi` has the functions): two copies in one process,
//! such as the program's and `libleeward.so`, do not see each other's readers.
//!
//! The rest of this module is for `leeward-capi`. What C programs rely on, and Rust's domains do
//! not do, is decided here:
//! - a thread that exits inside a section ends it, unless a guard of Rust keeps it open;
//! - what is deferred is not limited, unless the program asks for it;
//! - the child of a fork runs the callbacks that it inherits;
//! - misuse is an error, and never a panic.
#![cfg_attr(feature = "std", doc = "")]
#![cfg_attr(feature = "std", doc = "```")]
#![cfg_attr(feature = "std", doc = "use leeward::rcu::{Domain, RcuCell, c::Memb};")]
#![cfg_attr(feature = "std", doc = "let cell = RcuCell::<_, Memb>::new_in(7);")]
#![cfg_attr(feature = "std", doc = "assert_eq!(*cell.load(&Memb::read()), 7);   // a section of `lee_memb`")]
#![cfg_attr(feature = "std", doc = "```")]

mod callbacks;
mod count;
mod domains;
mod inlined;
mod raw;
mod reader;
#[cfg(test)]
mod tests;
mod thread;
#[cfg(feature = "std")]
mod types;
mod words;
mod writer;

#[cfg(feature = "std")]
pub use types::{Bp, Mb, Memb, Qsbr};
pub use writer::Refused;

pub use super::free::head::Head;
pub use super::grace::stall::CStall;
pub use super::section::inlined::{Common, Count, Served};
pub use super::section::slot::Slot;

pub(super) use callbacks::Callbacks;
pub use domains::{lee_bp, lee_mb, lee_memb, lee_qsbr};
pub(super) use raw::name_of;
pub use raw::{RawDomain, SIZE};

/// Wakes the writer that sleeps until the slot's reader leaves.
pub fn wake_writer(slot: &Slot) {
    slot.wake_writer();
}
