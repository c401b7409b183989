//! The C face of leeward: the functions behind `<leeward/*.h>`.
//!
//! C programs link `libleeward.so` or `libleeward.a`, which `make -C capi` builds from this crate.
//! A Rust program with parts in C may depend on this crate instead: it then has the same symbols,
//! and shares its domains and locks with its C parts ([`leeward::rcu::c`]).

#![no_std]

extern crate alloc;

pub mod collect;
pub mod fence;
pub mod locks;
pub mod map;
pub mod rcu;
mod report;
