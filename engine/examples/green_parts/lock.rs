//! A mutex of three states over a futex word, for green threads.

use std::sync::atomic::{AtomicU32, Ordering};

use leeward_engine::Wait;

use super::host::Runtime;

const FREE: u32 = 0;
const LOCKED: u32 = 1;
/// Locked, and its unlock wakes a waiter.
const CONTENDED: u32 = 2;

/// A lock without a value.
#[derive(Default)]
pub struct Lock(AtomicU32);

/// A lock that is held until this is dropped.
pub struct Guard<'a>(&'a Lock, &'a Runtime);

impl Lock {
    /// Takes the lock.
    ///
    /// # Panics
    /// Panics if it would have to wait in a destructor that runs because of a panic.
    pub fn lock<'a>(&'a self, runtime: &'a Runtime) -> Guard<'a> {
        // Acquire: what the last holder did; partner: the release of the guard's drop.
        if self.0.compare_exchange(FREE, LOCKED, Ordering::Acquire, Ordering::Relaxed).is_err() {
            // Acquire: as above.
            while self.0.swap(CONTENDED, Ordering::Acquire) != FREE {
                let end = runtime.wait(&self.0, CONTENDED, None);
                assert_ne!(end, Wait::Interrupted, "a green thread that unwinds cannot wait for a lock");
            }
        }
        Guard(self, runtime)
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        // Release: what was done under the lock; partner: the acquire of `lock`.
        if self.0.0.swap(FREE, Ordering::Release) == CONTENDED {
            self.1.wake(&self.0.0, 1);
        }
    }
}
