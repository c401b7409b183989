//! The writers' lock of a map: a mutex of one word that names the process it was locked in, so that
//! the child of a fork takes a lock which a thread of its parent held.
//!
//! After Ulrich Drepper ("Futexes Are Tricky", 2004).

use crate::atomic::{AtomicU32, Ordering, const_fn, outside_model, spin_hint};
use crate::futex::{self, Timeout};
use crate::mutant::{order, step};
use crate::process::fork;

/// How often a waiter rechecks before it sleeps: the lock is held for some hundred nanoseconds.
const RECHECKS: u32 = outside_model(64);

/// The word of an unlocked lock.
const UNLOCKED: u32 = 0;
/// The bit of a lock that is held.
const LOCKED: u32 = 1;
/// The bit of a held lock on which a thread may sleep.
const CONTENDED: u32 = 2;
/// The bits below the fork generation in which the lock was taken.
const GENERATION: u32 = 2;

/// A lock for the writers of one map. Nothing that users write runs under it.
pub(super) struct WriteLock {
    /// | bit | meaning |
    /// |---|---|
    /// | 0 | locked |
    /// | 1 | contended: a thread may sleep on the word, so the unlock wakes one |
    /// | 2-31 | the number of forks before the process in which it was locked |
    word: AtomicU32,
}

/// A lock that the calling thread holds until it drops this.
pub(super) struct Held<'l> {
    lock: &'l WriteLock,
    /// The word as this thread stored it, not contended.
    word: u32,
    /// True if a thread held the lock that does not exist in this process: what the lock protects is
    /// as that thread had it at some instruction.
    pub(super) was_abandoned: bool,
}

/// Returns the word of a lock that is locked now, in this process.
fn locked_here() -> u32 {
    (fork::generation() as u32) << GENERATION | LOCKED
}

impl WriteLock {
    const_fn! {
        pub(super) fn new() -> WriteLock {
            WriteLock { word: AtomicU32::new(UNLOCKED) }
        }
    }

    /// Locks, waiting as long as that takes.
    #[inline]
    pub(super) fn lock(&self) -> Held<'_> {
        self.try_lock().unwrap_or_else(|| self.lock_contended())
    }

    /// Locks if no thread of this process holds the lock.
    #[inline]
    pub(super) fn try_lock(&self) -> Option<Held<'_>> {
        let word = locked_here();
        self.take(UNLOCKED, word).ok().or_else(|| self.take_abandoned(word))
    }

    /// Takes the lock if its word is `expected`.
    #[inline]
    fn take(&self, expected: u32, new: u32) -> Result<Held<'_>, u32> {
        // Acquire: partner of the release in `unlock`. Relaxed on failure: nothing was learnt.
        self.word.compare_exchange(expected, new, order!(Acquire, ordered_lock_acquire), Ordering::Relaxed)?;
        Ok(Held { lock: self, word: new & !CONTENDED, was_abandoned: expected != UNLOCKED })
    }

    /// Takes the lock from a thread of the parent, which is not there.
    #[cold]
    #[inline(never)]
    fn take_abandoned(&self, word: u32) -> Option<Held<'_>> {
        // Relaxed: the exchange decides.
        let now = self.word.load(Ordering::Relaxed);
        let is_abandoned = now != UNLOCKED && now & !CONTENDED != word;
        // Contended: threads of this process may have gone to sleep, each of which would take it so.
        if is_abandoned { self.take(now, word | CONTENDED).ok() } else { None }
    }

    #[cold]
    #[inline(never)]
    fn lock_contended(&self) -> Held<'_> {
        let word = locked_here();
        for _ in 0..RECHECKS {
            if let Some(held) = self.try_lock() {
                return held;
            }
            spin_hint();
        }
        loop {
            // Contended: others may sleep on the word beside this thread.
            if let Some(held) = self.take(UNLOCKED, word | CONTENDED).ok().or_else(|| self.take_abandoned(word)) {
                return held;
            }
            // Relaxed: the kernel compares the word again.
            if self.word.compare_exchange(word, word | CONTENDED, Ordering::Relaxed, Ordering::Relaxed) != Err(UNLOCKED)
            {
                futex::wait(&self.word, word | CONTENDED, Timeout::Never);
            }
        }
    }

    /// Unlocks; wakes a thread if one may sleep. In a child that was forked meanwhile, leaves a lock
    /// alone that another thread has taken since.
    fn unlock(&self, word: u32) {
        // Release, both: partner of the acquire in `take`.
        let release = order!(Release, ordered_unlock_release);
        if self.word.compare_exchange(word, UNLOCKED, release, Ordering::Relaxed).is_ok() {
            return;
        }
        let contended = self.word.compare_exchange(word | CONTENDED, UNLOCKED, release, Ordering::Relaxed);
        if contended.is_ok() {
            step!(ordered_unlock_wake, futex::wake(&self.word, 1));
        }
    }
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        self.lock.unlock(self.word);
    }
}
