//! The calls with priority inheritance, and a thread that is gone.

// Each test program uses its part.
#![allow(dead_code)]

use crate::guest::gettid;

pub const LOCK: u64 = 6;
pub const UNLOCK: u64 = 7;
pub const TRYLOCK: u64 = 8;
pub const WAIT_REQUEUE: u64 = 11;
pub const CMP_REQUEUE: u64 = 12;
pub const LOCK2: u64 = 13;

/// Returns the number of a thread that is gone altogether.
pub fn dead() -> u32 {
    let number = std::thread::spawn(gettid).join().unwrap();
    while std::fs::exists(format!("/proc/self/task/{number}")).unwrap() {
        std::thread::yield_now();
    }
    number
}
