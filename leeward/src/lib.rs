//! Synchronization for Linux that moves its cost off the common path: asymmetric fences and userspace
//! RCU, locks on futexes, and locks that survive their owner. A reader, the owner of a biased lock and
//! the unlock of a light one execute no fence and no locked instruction; the rare writer, waiter or
//! dying thread pays.
//!
//! [`guide`] is the book: how each part works, why it is right, and what it costs.
//!
//! | module | common path, free | rare path, pays |
//! |---|---|---|
//! | [`fence`] | a reader's barrier | one `membarrier` by the writer |
//! | [`rcu`] | a read section | a grace period |
//! | `asym` | reading under a lock; a mutex that one thread takes nearly always | a heavy fence by the writer; by another thread |
//! | `robust` | taking a lock that survives its owner | the walk when a thread dies |
//! | [`sync`] | an uncontended lock | a futex sleep |
//! | `shared` | the same, in memory of several processes | the same, found by what is mapped |
//!
//! # Features
//! `std` (default): thread-local registration ([`rcu::read`]), the worker behind [`rcu::defer`],
//! stall reports on standard error. Without it the crate is `no_std` with `alloc`: handles ([`rcu::Reader`],
//! [`rcu::qsbr::Reader`]), cells, grace periods and polling, with callbacks run by `barrier` and at the limit.
//! `engine`: `futex::Hosted`, the locks on `leeward-engine` instead of the kernel's futexes, and (with `std`) `futex::Parking`, which is that
//! engine on this process's own threads.
//!
//! # Safety
//! Everything that is safe to call is sound: in any order, from any thread, with guards leaked, in signal handlers
//! where a function's documentation allows it, during thread exit, and in the child of a fork.

#![no_std]
// What serves threads only (the worker, thread exit) has no caller there.
#![cfg_attr(not(feature = "std"), allow(dead_code, clippy::extra_unused_type_parameters))]

extern crate alloc;
#[cfg(any(feature = "std", test, leeward_loom))]
extern crate std;

#[cfg(any(feature = "std", leeward_loom))]
pub mod asym;
mod atomic;
#[cfg(all(target_os = "linux", not(leeward_loom)))]
mod bytes;
pub mod fence;
pub mod futex;
#[cfg(any(doc, doctest))]
pub mod guide;
#[cfg(all(test, leeward_loom))]
mod models;
mod mutant;
mod no_unwind;
#[cfg(all(target_os = "linux", not(leeward_loom)))]
pub mod pi;
#[cfg_attr(any(leeward_symmetric, leeward_loom, not(target_os = "linux")), allow(dead_code))]
mod process;
pub mod raw;
pub mod rcu;
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
mod registry;
#[cfg(all(target_os = "linux", target_pointer_width = "64", not(any(leeward_loom, leeward_symmetric))))]
pub mod robust;
#[cfg(all(target_os = "linux", not(leeward_loom)))]
pub mod shared;
#[cfg(not(leeward_loom))]
pub mod sync;
