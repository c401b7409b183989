//! What the tests of inlined readers share: the words of a flavour, and how a grace period ends.

// Each test program uses its part.
#![allow(dead_code)]

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;

use crate::common::eventually;

/// Held by each test, since the domains are the process's.
pub static ALONE: Mutex<()> = Mutex::new(());

/// The words that readers share: `urcu_memb_gp`.
#[repr(C, align(128))]
pub struct Gp {
    pub copied: AtomicU64,
    pub futex: AtomicU32,
}

impl Gp {
    pub const fn new() -> Gp {
        Gp { copied: AtomicU64::new(1 << 32 | 1), futex: AtomicU32::new(0) }
    }

    pub fn is_raised(&self) -> bool {
        self.futex.load(Ordering::SeqCst) == u32::MAX
    }
}

pub fn ends(waiting: thread::JoinHandle<()>) {
    eventually("a grace period ends", || waiting.is_finished());
    waiting.join().unwrap();
}

/// Ends a grace period by quiescent states: one that comes before the grace period has begun does not
/// end it, and on a busy machine the thread that waits may be late.
pub fn ends_by(waiting: thread::JoinHandle<()>, announce: impl Fn()) {
    eventually("a grace period ends by quiescent states", || {
        announce();
        waiting.is_finished()
    });
    waiting.join().unwrap();
}
