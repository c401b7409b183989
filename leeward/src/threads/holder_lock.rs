//! A lock whose word names its holder, so that the child of a fork takes it from a thread that the
//! fork did not copy: the one state machine of the locks inside of containers.
//!
//! ```text
//!          take                       mark, by a thread that waits
//!   FREE ---------> the holder's name ---------> its name | CONTENDED
//!    ^                |  ^                                  |
//!    |  release       |  | take over: the name is of a      |
//!    +----------------+  | thread that is not here (the     |
//!    +-------------------+ mark stays, and costs a wake)    |
//!    |  release, and one wake                               |
//!    +------------------------------------------------------+
//! ```
//!
//! What the locks differ in is what they say here of themselves:
//!
//! | of a | names | is not here | sleeps on | guards what is |
//! |---|---|---|---|---|
//! | queue, stack, pool | the process, by its fork mark | another process | a count | always whole |
//! | list | the thread, by its id | a thread of a parent | a count | repaired by the next |
//! | ordered map | the process, by its generation | another process | the word | repaired by the next |
//!
//! - A name of a process does not tell the thread that forked, which lives on in the child, from those
//!   that do not. That is enough where the holder runs the library's code alone, which forks in a
//!   signal handler at most, and where a holder asks before each use whether it has the lock still
//!   (`ForkLock::keep`). Users hold a list's lock, and references into it, across their own code, so
//!   that one names the thread. An id has 64 bits, which no futex has, so threads sleep on a count
//!   beside it.
//! - Who holds by the name of the process gives the lock up only if it has it still
//!   ([`release_if_held`](HolderLock::release_if_held)). No thread takes a lock from a thread that is
//!   here, so who holds by the name of the thread needs no such check
//!   ([`release`](HolderLock::release)).
//! - The fork mark changes with every fork, and costs two loads; the generation costs one, and changes
//!   with the forks that run handlers. (`process/mod.rs` says which serves what.)
//!
//! After Ulrich Drepper ("Futexes Are Tricky", 2004), with the holder where he has 1.

use crate::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::futex::Timeout;
use crate::mutant::{check, mutated, order, step};

/// The word of a lock that no thread has.
const FREE: u64 = 0;
/// The bit of a word on whose lock a thread may sleep, or is about to.
pub(crate) const CONTENDED: u64 = 1;

/// What the lock was when a thread took it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockWas {
    /// No thread had the lock.
    Free,
    /// A thread had it that a fork did not copy: what the lock guards is as that thread had it at some
    /// instruction.
    Abandoned,
}

/// A lock whose word names its holder. Words are `u64`s here, whatever size the lock has for its own.
/// A caller says who it is by `own`, the word of the lock if it holds it uncontended.
pub(crate) trait HolderLock {
    /// The atomic that has the word.
    ///
    /// | bits | meaning |
    /// |---|---|
    /// | 0 | contended: a thread may sleep, or is about to |
    /// | the others | the holder's name, which is not 0; 0: free |
    type Word: Word;

    /// True if a word names the thread that has the lock, and not only its process.
    const NAMES_THREAD: bool = false;

    /// Returns the word.
    fn word(&self) -> &Self::Word;

    /// Returns true if the holder whose word is `holder` is not in this process; `own` is the caller's.
    /// Of processes, all others are not.
    #[inline]
    fn is_elsewhere(holder: u64, own: u64) -> bool {
        holder != own
    }

    /// Returns what waits for a moment, and returns false when it is time to sleep.
    fn pauses(timeout: Timeout) -> impl FnMut() -> bool;

    /// Returns a number that changes with each wake, of a lock whose threads look, before they sleep,
    /// whether they give up.
    fn turn(&self) -> u32 {
        0
    }

    /// Sleeps until the word is not `marked` or the number is not `turn`, or for no time at all. Returns
    /// false if the time is up.
    fn sleep(&self, marked: u64, turn: u32, timeout: Timeout) -> bool;

    /// Wakes a thread that sleeps, if one does.
    fn wake(&self);

    /// Takes the lock if its word is `from`; else returns the word.
    #[inline]
    fn take(&self, from: u64, to: u64) -> Result<LockWas, u64> {
        // Acquire: partner of the release in `release` and `release_if_held`. Relaxed on failure:
        // nothing was learnt.
        self.word().exchange(from, to, order!(Acquire, holder_lock_acquire))?;
        Ok(if from == FREE { LockWas::Free } else { LockWas::Abandoned })
    }

    /// Takes the lock if it is free; else returns the word.
    #[inline]
    fn take_free(&self, own: u64) -> Result<LockWas, u64> {
        self.take(FREE, own)
    }

    /// Takes the lock if it is free, or held by a thread that a fork did not copy.
    #[inline]
    fn try_take(&self, own: u64) -> Option<LockWas> {
        self.take_free(own).or_else(|word| self.take_abandoned(word, own)).ok()
    }

    /// Takes the lock from a thread that a fork did not copy; else returns the word.
    #[cold]
    fn take_abandoned(&self, word: u64, own: u64) -> Result<LockWas, u64> {
        // Threads of this process may sleep on the lock if its word was marked, by whichever process.
        if Self::is_orphaned(word, own) { self.take(word, own | word & CONTENDED) } else { Err(word) }
    }

    /// Returns true if the word names a thread that a fork did not copy.
    fn is_orphaned(word: u64, own: u64) -> bool {
        let holder = word & !CONTENDED;
        check!(holder_lock_abandoned, holder != FREE && Self::is_elsewhere(holder, own))
    }

    /// Takes the lock, waiting until `timeout` at most, or until the caller gives up, which it is asked
    /// before each sleep, after the lock was marked; `None`: one of the two, or the calling thread has
    /// the lock already, which only a word that names the thread can say. Each lock has a function out
    /// of line that calls it.
    #[inline]
    fn take_slow(&self, own: u64, timeout: Timeout, gives_up: impl Fn() -> bool) -> Option<LockWas> {
        let mut pause = Self::pauses(timeout);
        let mut mark = 0;
        loop {
            let turn = self.turn();
            // Acquire: what earlier holders did, for the look whether to give up. Partner: the release in
            // `release` and `release_if_held`, whose sequence the exchanges of later holders go on with.
            let word = self.word().load(order!(Acquire, collect_lock_look_acquire));
            if Self::NAMES_THREAD && check!(holder_lock_own, word & !CONTENDED == own) {
                return None;
            }
            if word == FREE || Self::is_orphaned(word, own) {
                if let Ok(taken) = self.take(word, own | mark | word & CONTENDED) {
                    return Some(taken);
                }
                continue;
            }
            if pause() {
                continue;
            }
            let marked = word | CONTENDED;
            // Acquire: as above, since the lock may have been given up and taken again meanwhile. Nothing but
            // the mark is published.
            let order = order!(Acquire, collect_lock_look_acquire);
            let is_marked = word == marked || self.word().exchange(word, marked, order).is_ok();
            if is_marked && gives_up() {
                if mark == CONTENDED {
                    // The wake that ended this thread's sleep may have been the only one, of an unlock.
                    step!(collect_lock_pass_on, self.wake());
                }
                return None;
            }
            if is_marked && !self.sleep(marked, turn, timeout) {
                return None;
            }
            // Others may sleep still: a thread that slept unlocks with a wake.
            mark = CONTENDED;
        }
    }

    /// Gives the lock up, which the calling thread has.
    #[inline]
    fn release(&self) {
        // Release: partner of the acquire in `take`.
        let word = self.word().swap(FREE, order!(Release, holder_lock_release));
        if word & CONTENDED != 0 {
            self.wake_one();
        }
    }

    /// Gives the lock up, unless another thread has taken it over, in a child that was forked
    /// meanwhile. Returns true if a thread waits, or has said so.
    #[inline]
    fn release_if_held(&self, own: u64) -> bool {
        let own = if mutated!(holder_lock_release_own) { self.word().load(Ordering::Relaxed) } else { own };
        // Release: partner of the acquire in `take`.
        self.word().exchange(own, FREE, order!(Release, holder_lock_release)).is_err() && self.release_marked(own)
    }

    /// Gives a lock up that is contended, unless another thread has it.
    #[cold]
    #[inline(never)]
    fn release_marked(&self, own: u64) -> bool {
        // Release: partner of the acquire in `take`.
        let release = order!(Release, holder_lock_release);
        let is_held = self.word().exchange(own | CONTENDED, FREE, release).is_ok();
        if is_held {
            self.wake_one();
        }
        is_held
    }

    /// Wakes a thread that waits for the lock, which is free.
    #[cold]
    #[inline(never)]
    fn wake_one(&self) {
        step!(holder_lock_wake, self.wake());
    }
}

/// The atomic of a lock's word.
pub(crate) trait Word {
    /// Loads the word.
    fn load(&self, order: Ordering) -> u64;

    /// Replaces the word if it is `from`; else returns it, with a relaxed load.
    fn exchange(&self, from: u64, to: u64, order: Ordering) -> Result<u64, u64>;

    /// Replaces the word, and returns what it was.
    fn swap(&self, to: u64, order: Ordering) -> u64;
}

macro_rules! word {
    ($($atomic:ident of $number:ty),+) => {$(
        impl Word for $atomic {
            #[inline(always)]
            fn load(&self, order: Ordering) -> u64 {
                u64::from(self.load(order))
            }

            #[inline(always)]
            fn exchange(&self, from: u64, to: u64, order: Ordering) -> Result<u64, u64> {
                // Relaxed on failure: by this trait's promise.
                let outcome = self.compare_exchange(from as $number, to as $number, order, Ordering::Relaxed);
                outcome.map(u64::from).map_err(u64::from)
            }

            #[inline(always)]
            fn swap(&self, to: u64, order: Ordering) -> u64 {
                u64::from(self.swap(to as $number, order))
            }
        }
    )+};
}
word!(AtomicU32 of u32, AtomicU64 of u64);
