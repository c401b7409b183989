//! Locks: what the inline functions of `<leeward/mutex.h>` and its neighbours call where the
//! uncontended path does not suffice. The headers document the calls.
//!
//! A lock of C is the Rust type, so the functions take references: C passes the address of a lock
//! that lives as long as the call. Each lock's file compares its layout, and the bits that the
//! headers know, with those of the Rust type.

pub mod asym;
pub mod barrier;
pub mod cond;
pub mod deadline;
pub mod event;
pub mod mutex;
pub mod once;
pub mod region;
#[cfg(target_pointer_width = "64")]
pub mod robust;
pub mod rwlock;
pub mod semaphore;
