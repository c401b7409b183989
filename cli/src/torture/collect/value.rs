//! A value of a container: it knows its key, and its destructor poisons it. Its memory is the
//! container's, which uses it again soon, so a reader that comes too late finds a wrong word.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::super::violation::{Kind, report};

/// The word of a live value is its key with these bits changed.
const ALIVE: u64 = 0x0A11_7E5E_1F00_D5E5;
const POISON: u64 = 0xDEAD_DEAD_DEAD_DEAD;

/// How many values were made, dropped, and forgotten on purpose.
pub static MADE: AtomicU64 = AtomicU64::new(0);
pub static DROPPED: AtomicU64 = AtomicU64::new(0);
pub static FORGOTTEN: AtomicU64 = AtomicU64::new(0);

/// True in the child of a fork. Its memory was copied page by page while others wrote it: what they
/// were publishing may not be whole.
pub static IS_CHILD: AtomicBool = AtomicBool::new(false);

pub struct Value {
    key: u64,
    word: AtomicU64,
}

impl Value {
    pub fn new(key: u64) -> Value {
        // Relaxed: a count.
        MADE.fetch_add(1, Ordering::Relaxed);
        Value { key, word: AtomicU64::new(key ^ ALIVE) }
    }

    pub fn key(&self) -> u64 {
        self.key
    }

    /// Reports a value that was dropped, or is another key's.
    pub fn check(&self, key: u64) {
        // Relaxed: the container orders it.
        let word = self.word.load(Ordering::Relaxed);
        if word != key ^ ALIVE {
            complain(Kind::ReadAfterFree, [key, word]);
        }
    }

    /// Does what `check` does, with whatever key it was made for.
    pub fn check_own(&self) {
        self.check(self.key);
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        // Relaxed, both: the container orders them.
        if self.word.swap(POISON, Ordering::Relaxed) != self.key ^ ALIVE {
            complain(Kind::FreedTwice, [self.key, 0]);
        }
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
}

fn complain(kind: Kind, details: [u64; 2]) {
    // Relaxed: set before the child does anything.
    if !IS_CHILD.load(Ordering::Relaxed) {
        report(kind, details);
    }
}

/// Forgets something that has a value, and counts it.
pub fn forget<T>(removed: T) {
    // Relaxed: a count.
    FORGOTTEN.fetch_add(1, Ordering::Relaxed);
    std::mem::forget(removed);
}
