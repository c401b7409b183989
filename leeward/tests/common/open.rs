//! The asymmetric readers-writer lock as its tests see it: open to slots or closed.

#![allow(dead_code, missing_docs)]

use leeward::asym::RwLock;

/// Makes a lock whose readers use their slots.
pub fn open<T>(value: T) -> RwLock<T> {
    let lock = RwLock::new(value);
    drop(lock.read());
    assert!(is_open(&lock), "the first read must open it");
    lock
}

pub fn is_open<T>(lock: &RwLock<T>) -> bool {
    shows(lock, "is_open: true")
}

pub fn shows<T>(lock: &RwLock<T>, what: &str) -> bool {
    // SAFETY: only shown.
    format!("{:?}", unsafe { lock.raw() }).contains(what)
}
