//! The writers' lock of a list. Users hold it across their own code, so its word names the thread
//! that has it: that thread's second call says so instead of waiting for itself, and the child of a
//! fork finds out whether the owner is the thread that forked, which has the lock still, or one that
//! is not there.
//!
//! ```text
//! a thread that waits                         the owner that unlocks
//! marks the word                              clears the word, and finds the mark
//! loads the count of wakes (Acquire)          adds 1 to the count (Release)
//! loads the word: still locked and marked?    wakes one sleeper
//! sleeps if the count is still the same
//! ```
//! - If the count is loaded before the addition, the sleep returns at once, or the wake finds the
//!   sleeper.
//! - If it is loaded after, the word's change is seen, and there is no sleep.
//!
//! After Ulrich Drepper ("Futexes Are Tricky", 2004), with the owner where he has 1. Called by
//! `list.rs` and `locked.rs`; calls the threads' ids, which no thread has again.

use crate::atomic::{AtomicU32, AtomicU64, Ordering, const_fn};
use crate::futex::{self, Private, Timeout};
use crate::mutant::{check, mutated, order, step};
use crate::process::thread;
use crate::raw::spin_budget::SpinBudget;

/// The word of a lock that no thread has.
const FREE: u64 = 0;
/// The bit of a word on whose lock a thread may wait asleep.
const CONTENDED: u64 = 1;

/// Returns the word of a lock that the thread with this id has.
const fn owned_by(id: u64) -> u64 {
    id << 1
}

/// Returns true if the word's owner is a thread that a fork did not copy.
fn is_abandoned(word: u64) -> bool {
    word != FREE && !thread::is_here(word >> 1)
}

/// How a thread came by the lock.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// It was free.
    Free,
    /// From a thread that a fork did not copy: what the lock guards is as that thread had it at some
    /// instruction.
    Abandoned,
}

/// The lock is the calling thread's own already.
#[derive(Debug)]
pub(super) struct Own;

/// A lock that knows its owner. 16 bytes.
pub(super) struct OwnerLock {
    /// | bits | meaning |
    /// |---|---|
    /// | 0 | contended: a thread may sleep, or is about to |
    /// | 1-63 | the id of the thread that has the lock; 0: free |
    word: AtomicU64,
    /// The count of wakes, on which threads sleep that wait for the lock.
    wakes: AtomicU32,
}

impl OwnerLock {
    const_fn! {
        /// Returns a free lock.
        pub(super) fn new() -> OwnerLock {
            OwnerLock { word: AtomicU64::new(FREE), wakes: AtomicU32::new(0) }
        }
    }

    /// Takes the lock, waiting as long as that takes.
    ///
    /// # Errors
    /// [`Own`]: the calling thread has it already.
    #[inline]
    pub(super) fn lock(&self) -> Result<Taken, Own> {
        thread::watch_forks();
        let own = owned_by(thread::current());
        self.take(FREE, own).map_or_else(|_| self.lock_slow(own), Ok)
    }

    /// Takes the lock, unless a thread of this process has it.
    #[inline]
    pub(super) fn try_lock(&self) -> Option<Taken> {
        thread::watch_forks();
        let own = owned_by(thread::current());
        self.take(FREE, own).or_else(|word| self.take_abandoned(word, own)).ok()
    }

    /// Takes the lock if its word is `from`; else returns the word.
    #[inline]
    fn take(&self, from: u64, to: u64) -> Result<Taken, u64> {
        // Acquire: partner of the release in `unlock`. Relaxed on failure: nothing was learnt.
        self.word.compare_exchange(from, to, order!(Acquire, list_lock_acquire), Ordering::Relaxed)?;
        Ok(if from == FREE { Taken::Free } else { Taken::Abandoned })
    }

    /// Takes the lock from a thread that a fork did not copy; else returns the word.
    #[cold]
    fn take_abandoned(&self, word: u64, own: u64) -> Result<Taken, u64> {
        // Contended: threads of this process may have gone to sleep since the fork.
        if check!(list_lock_abandoned, is_abandoned(word)) { self.take(word, own | CONTENDED) } else { Err(word) }
    }

    #[cold]
    #[inline(never)]
    fn lock_slow(&self, own: u64) -> Result<Taken, Own> {
        let mut budget = SpinBudget::for_lock(Timeout::Never);
        let mut mark = 0;
        loop {
            // Relaxed: the exchange decides.
            let word = self.word.load(Ordering::Relaxed);
            if check!(list_lock_own, word & !CONTENDED == own) {
                return Err(Own);
            }
            let taken = if word == FREE { self.take(FREE, own | mark) } else { self.take_abandoned(word, own) };
            match taken {
                Ok(taken) => return Ok(taken),
                Err(_) if word == FREE || budget.pause::<Private>() => {}
                Err(_) => {
                    self.sleep(word);
                    // Others may sleep still: a thread that slept unlocks with a wake.
                    mark = CONTENDED;
                }
            }
        }
    }

    /// Sleeps until the lock is free, or for no time at all; `word` is what it was.
    fn sleep(&self, word: u64) {
        let contended = word | CONTENDED;
        // Relaxed, both: the mark is all that is published.
        let is_marked = word == contended
            || self.word.compare_exchange(word, contended, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if !is_marked {
            return;
        }
        // Acquire: partner of the release in `wake`.
        let wakes = self.wakes.load(Ordering::Acquire);
        // Relaxed: the acquire above orders it.
        if mutated!(list_lock_recheck) || self.word.load(Ordering::Relaxed) == contended {
            futex::wait(&self.wakes, wakes, Timeout::Never);
        }
    }

    /// Gives the lock up, which the calling thread has.
    #[inline]
    pub(super) fn unlock(&self) {
        // Release: partner of the acquire in `take`.
        let word = self.word.swap(FREE, order!(Release, list_lock_release));
        if word & CONTENDED != 0 {
            self.wake();
        }
    }

    #[cold]
    #[inline(never)]
    fn wake(&self) {
        // Release: the word's change. Partner: the acquire in `sleep`.
        step!(list_lock_count, self.wakes.fetch_add(1, Ordering::Release));
        step!(list_lock_wake, futex::wake(&self.wakes, 1));
    }

    /// Returns true if the calling thread has the lock.
    #[inline]
    pub(super) fn is_own(&self) -> bool {
        // Relaxed: no other thread stores this thread's id, or takes the lock from it.
        self.word.load(Ordering::Relaxed) & !CONTENDED == owned_by(thread::current())
    }

    /// Returns true if a thread that a fork did not copy has the lock.
    pub(super) fn is_abandoned(&self) -> bool {
        // Relaxed: the caller has the list alone.
        is_abandoned(self.word.load(Ordering::Relaxed))
    }
}
