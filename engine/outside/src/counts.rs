//! How often each operation was served, and with which answers: counters in a file that the trap
//! maps and the program `leeward-outside` reads afterwards. Both have this file.

use core::sync::atomic::{AtomicU64, Ordering};

/// The operations that are counted, by their place: the commands of `futex` come first.
pub const NAMES: [&str; 22] = [
    "wait",
    "wake",
    "fd",
    "requeue",
    "cmp_requeue",
    "wake_op",
    "lock_pi",
    "unlock_pi",
    "trylock_pi",
    "wait_bitset",
    "wake_bitset",
    "wait_requeue_pi",
    "cmp_requeue_pi",
    "lock_pi2",
    "unknown",
    "futex_waitv",
    "futex_wake",
    "futex_wait",
    "futex_requeue",
    "set_robust_list",
    "get_robust_list",
    "exit",
];
/// What is counted of each operation.
pub const KINDS: [&str; 7] = ["passed on", "done", "EAGAIN", "ETIMEDOUT", "EINTR", "restarted", "other errors"];
/// What is counted beside the operations.
pub const EVENTS: [&str; 3] = ["waits that signals came to", "locks marked at exits", "locks handed on at exits"];

/// The counters of one process.
#[repr(C)]
#[derive(Default)]
pub struct Counts {
    /// Calls, by operation and [kind](KINDS). All but the first kind are answers of the engine.
    pub calls: [[AtomicU64; KINDS.len()]; NAMES.len()],
    /// Other things that happened, as [`EVENTS`] says.
    pub events: [AtomicU64; EVENTS.len()],
}

/// Adds to a counter.
pub fn add(counter: &AtomicU64, count: u64) {
    // Relaxed: a count.
    counter.fetch_add(count, Ordering::Relaxed);
}
