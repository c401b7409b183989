//! Cycles of threads that wait for one another, among the locks of crates that use parking_lot_core
//! directly. The locks of this crate are not seen, so a cycle through one of them is not found.

pub use parking_lot_core::deadlock::check_deadlock;
