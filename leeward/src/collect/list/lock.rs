//! The writers' lock of a list ([`HolderLock`]). Users hold it across their own code, so its word
//! names the thread that has it: that thread's second call says so instead of waiting for itself, and
//! the child of a fork finds out whether the owner is the thread that forked, which has the lock
//! still, or one that is not there.
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

use crate::atomic::{AtomicU32, AtomicU64, Ordering, const_fn};
use crate::futex::{self, Private, Timeout};
use crate::mutant::{mutated, step};
use crate::process::thread;
use crate::raw::spin_budget::SpinBudget;
pub(super) use crate::threads::holder_lock::LockWas;
use crate::threads::holder_lock::{CONTENDED, HolderLock};

/// Returns the word of a lock that the thread with this id has.
const fn owned_by(id: u64) -> u64 {
    id << 1
}

/// The lock is the calling thread's own already.
#[derive(Debug)]
pub(super) struct AlreadyOwn;

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

impl HolderLock for OwnerLock {
    type Word = AtomicU64;

    const NAMES_THREAD: bool = true;

    #[inline(always)]
    fn word(&self) -> &AtomicU64 {
        &self.word
    }

    #[inline]
    fn is_elsewhere(holder: u64, _: u64) -> bool {
        !thread::is_here(holder >> 1)
    }

    fn pauses(timeout: Timeout) -> impl FnMut() -> bool {
        let mut budget = SpinBudget::for_lock(timeout);
        move || budget.pause::<Private>()
    }

    fn sleep(&self, marked: u64, _turn: u32, timeout: Timeout) -> bool {
        // Acquire: partner of the release in `wake`.
        let wakes = self.wakes.load(Ordering::Acquire);
        // Relaxed: the acquire above orders it.
        let is_locked = mutated!(list_lock_recheck) || self.word.load(Ordering::Relaxed) == marked;
        !is_locked || futex::wait(&self.wakes, wakes, timeout) != futex::Wait::TimedOut
    }

    fn wake(&self) {
        // Release: the word's change. Partner: the acquire in `sleep`.
        step!(list_lock_count, self.wakes.fetch_add(1, Ordering::Release));
        futex::wake(&self.wakes, 1);
    }
}

impl OwnerLock {
    const_fn! {
        /// Returns a free lock.
        pub(super) fn new() -> OwnerLock {
            OwnerLock { word: AtomicU64::new(0), wakes: AtomicU32::new(0) }
        }
    }

    /// Takes the lock, waiting as long as that takes.
    ///
    /// # Errors
    /// [`AlreadyOwn`]: the calling thread has it already.
    #[inline]
    pub(super) fn lock(&self) -> Result<LockWas, AlreadyOwn> {
        thread::watch_forks();
        let own = owned_by(thread::current());
        self.take_free(own).or_else(|_| self.lock_slow(own))
    }

    #[cold]
    #[inline(never)]
    fn lock_slow(&self, own: u64) -> Result<LockWas, AlreadyOwn> {
        // Without a time limit there is no other reason.
        self.take_slow(own, Timeout::Never, || false).ok_or(AlreadyOwn)
    }

    /// Takes the lock, unless a thread of this process has it.
    #[inline]
    pub(super) fn try_lock(&self) -> Option<LockWas> {
        thread::watch_forks();
        self.try_take(owned_by(thread::current()))
    }

    /// Gives the lock up, which the calling thread has.
    #[inline]
    pub(super) fn unlock(&self) {
        self.release();
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
        let word = self.word.load(Ordering::Relaxed);
        Self::is_orphaned(word, owned_by(thread::current()))
    }
}
