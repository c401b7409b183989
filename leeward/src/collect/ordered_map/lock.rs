//! The writers' lock of a map: a mutex of one word that names the process it was locked in
//! ([`HolderLock`]), so that the child of a fork takes a lock which a thread of its parent held.

use crate::atomic::{AtomicU32, const_fn, outside_model, spin_hint};
use crate::futex::{self, Timeout, Wait};
use crate::process::fork;
use crate::threads::holder_lock::{HolderLock, LockWas};

/// How often a waiter rechecks before it sleeps: the lock is held for some hundred nanoseconds.
const RECHECKS: u32 = outside_model(64);

/// The bit of a lock that is held.
const LOCKED: u32 = 2;
/// The bits below the fork generation in which the lock was taken.
const GENERATION: u32 = 2;

/// A lock for the writers of one map. Nothing that users write runs under it.
pub(super) struct WriteLock {
    /// | bits | meaning |
    /// |---|---|
    /// | 0 | contended: a thread may sleep on the word, so the unlock wakes one |
    /// | 1 | locked |
    /// | 2-31 | the number of forks before the process in which it was locked |
    word: AtomicU32,
}

/// A lock that the calling thread holds until it drops this.
pub(super) struct HeldWriteLock<'l> {
    lock: &'l WriteLock,
    /// The word as this thread stored it, not contended.
    word: u64,
    /// True if a thread held the lock that does not exist in this process: what the lock protects is
    /// as that thread had it at some instruction.
    pub(super) was_abandoned: bool,
}

/// Returns the word of a lock that is locked now, in this process.
#[inline]
fn locked_here() -> u64 {
    u64::from((fork::generation() as u32) << GENERATION | LOCKED)
}

impl HolderLock for WriteLock {
    type Word = AtomicU32;

    #[inline(always)]
    fn word(&self) -> &AtomicU32 {
        &self.word
    }

    /// Returns a fixed number of rechecks: one that yielded would come back later than the lock is
    /// free.
    fn pauses(_: Timeout) -> impl FnMut() -> bool {
        let mut left = RECHECKS;
        move || {
            let is_left = left != 0;
            if is_left {
                left -= 1;
                spin_hint();
            }
            is_left
        }
    }

    fn sleep(&self, marked: u64, _turn: u32, timeout: Timeout) -> bool {
        futex::wait(&self.word, marked as u32, timeout) != Wait::TimedOut
    }

    fn wake(&self) {
        futex::wake(&self.word, 1);
    }
}

impl WriteLock {
    const_fn! {
        pub(super) fn new() -> WriteLock {
            WriteLock { word: AtomicU32::new(0) }
        }
    }

    /// Locks, waiting as long as that takes.
    #[inline]
    pub(super) fn lock(&self) -> HeldWriteLock<'_> {
        let word = locked_here();
        let taken = self.take_free(word).unwrap_or_else(|_| self.lock_slow(word));
        HeldWriteLock { lock: self, word, was_abandoned: taken == LockWas::Abandoned }
    }

    #[cold]
    #[inline(never)]
    fn lock_slow(&self, word: u64) -> LockWas {
        match self.take_slow(word, Timeout::Never, || false) {
            Some(taken) => taken,
            None => unreachable!("a wait without a time limit ends with the lock"),
        }
    }
}

impl Drop for HeldWriteLock<'_> {
    /// Unlocks; wakes a thread if one may sleep. In a child that was forked meanwhile, leaves a lock
    /// alone that another thread has taken since.
    #[inline]
    fn drop(&mut self) {
        self.lock.release_if_held(self.word);
    }
}
