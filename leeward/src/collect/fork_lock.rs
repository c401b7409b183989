//! A lock whose word names the process of its holder, so that the child of a fork takes over a lock
//! whose holder is not there.
//!
//! It serves where what the lock guards is whole at every instruction of a holder: the consumers'
//! side of a queue, the pops of a stack.

use core::marker::PhantomData;

use crate::atomic::{AtomicU32, Ordering, const_fn, fence};
use crate::futex::{ALL, Futex, Timeout, Wait};
use crate::mutant::{check, order, step};
use crate::process::fork_mark;
use crate::raw::spin_budget::SpinBudget;

const FREE: u32 = 0;
/// A thread may sleep on the word.
const CONTENDED: u32 = 1;

/// Returns the word of a lock that the process with this fork number holds.
const fn held_by(process: u32) -> u32 {
    process << 1
}

/// The word of a lock that the owner of this value has taken.
pub(super) struct Held(u32);

/// A lock of the threads of one process, 8 bytes; the child of a fork takes it from a thread of its
/// parent.
///
/// The first thread that takes a free lock has it; sleepers may be overtaken. A holder that forks has
/// the lock in the child as well, but for another thread that took it over there first: it asks
/// before each use ([`keep`](ForkLock::keep)).
pub(super) struct ForkLock<F: Futex> {
    /// | bits | meaning |
    /// |---|---|
    /// | 0 | contended: a thread may sleep on the word |
    /// | 1-31 | the fork number of the holder's process; 0: free |
    word: AtomicU32,
    /// The fork number that the last holder had, so that asking whether it still holds is inlined.
    process: AtomicU32,
    futex: PhantomData<fn() -> F>,
}

impl<F: Futex> ForkLock<F> {
    const_fn! {
        /// Returns a free lock.
        pub(super) fn new() -> Self {
            ForkLock { word: AtomicU32::new(FREE), process: AtomicU32::new(0), futex: PhantomData }
        }
    }

    /// Takes the lock if it is free, or held by a thread that a fork did not copy.
    #[inline]
    pub(super) fn try_lock(&self) -> Option<Held> {
        let held = held_by(self.process());
        let taken = match self.take(FREE, held) {
            Ok(_) => true,
            Err(word) => is_orphaned(word, held) && self.take(word, held | CONTENDED).is_ok(),
        };
        taken.then_some(Held(held))
    }

    /// Takes the lock, waiting until `timeout` at most; `None`: the time is up.
    #[inline]
    pub(super) fn lock(&self, timeout: Timeout) -> Option<Held> {
        self.lock_unless(timeout, || false)
    }

    /// Takes the lock, waiting until `timeout` at most, or until the caller gives up; `None`: one of the
    /// two. `gives_up` is asked before each sleep, after the lock was marked: who changes its answer
    /// calls [`wake_all`](ForkLock::wake_all) afterwards.
    #[inline]
    pub(super) fn lock_unless(&self, timeout: Timeout, gives_up: impl Fn() -> bool) -> Option<Held> {
        let held = held_by(self.process());
        let taken = self.take(FREE, held).is_ok() || self.lock_slow(held, timeout, gives_up);
        taken.then_some(Held(held))
    }

    /// Returns this process's fork number.
    #[inline]
    fn process(&self) -> u32 {
        // Relaxed, both: a number that is not this process's is looked up again.
        let process = self.process.load(Ordering::Relaxed);
        if process != 0 && fork_mark::is_still(process) { process } else { self.new_process() }
    }

    #[cold]
    #[inline(never)]
    fn new_process(&self) -> u32 {
        let process = fork_mark::now();
        // Relaxed: a cache.
        self.process.store(process, Ordering::Relaxed);
        process
    }

    #[inline]
    fn take(&self, from: u32, to: u32) -> Result<u32, u32> {
        // Acquire: partner of the release in `unlock`. Relaxed on failure: nothing was learnt.
        self.word.compare_exchange(from, to, order!(Acquire, collect_lock_acquire), Ordering::Relaxed)
    }

    #[cold]
    #[inline(never)]
    fn lock_slow(&self, held: u32, timeout: Timeout, gives_up: impl Fn() -> bool) -> bool {
        let mut budget = SpinBudget::for_lock(timeout);
        let mut mark = 0;
        loop {
            // Relaxed: the exchange decides.
            let word = self.word.load(Ordering::Relaxed);
            if word & !CONTENDED == FREE || is_orphaned(word, held) {
                // A mark of the parent's sleepers costs one wake.
                if self.take(word, held | mark | word & CONTENDED).is_ok() {
                    return true;
                }
                continue;
            }
            if budget.pause::<F>() {
                continue;
            }
            let contended = word | CONTENDED;
            // Relaxed, both: the mark is all that is published.
            let is_marked = word == contended
                || self.word.compare_exchange(word, contended, Ordering::Relaxed, Ordering::Relaxed).is_ok();
            if is_marked && gives_up() {
                if mark == CONTENDED {
                    // The wake that ended this thread's sleep may have been the only one, of an unlock.
                    step!(collect_lock_pass_on, F::wake(&self.word, 1));
                }
                return false;
            }
            if is_marked && F::wait(&self.word, contended, timeout) == Wait::TimedOut {
                return false;
            }
            // Others may sleep still: a thread that slept unlocks with a wake.
            mark = CONTENDED;
        }
    }

    /// Makes sure that the caller has the lock still, also in the child of a fork.
    #[inline]
    pub(super) fn keep(&self, held: &mut Held) {
        if !fork_mark::is_still(held.0 >> 1) {
            self.keep_in_child(held);
        }
    }

    /// Takes the lock for the child, from itself or from the thread that took it over.
    #[cold]
    #[inline(never)]
    fn keep_in_child(&self, held: &mut Held) {
        let own = held_by(self.process());
        // The parent's mark is an orphan's.
        *held = Held(own);
        self.lock_slow(own, Timeout::Never, || false);
    }

    /// Marks the lock as contended, for a thread that waits and does not sleep on its word: the holder's
    /// [`unlock`](ForkLock::unlock) says so. Returns false if no thread of this process holds it.
    pub(super) fn mark(&self) -> bool {
        let held = held_by(self.process());
        // Relaxed: the exchange decides.
        let mut word = self.word.load(Ordering::Relaxed);
        while word & !CONTENDED == held {
            // Release, also where the mark is there: what the caller did before. Partner: the acquire in
            // `wake`.
            let order = order!(Release, collect_lock_mark_release);
            match self.word.compare_exchange_weak(word, word | CONTENDED, order, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// Gives the lock up, and wakes one thread that sleeps on its word. Returns true if a thread waits,
    /// there or elsewhere.
    #[inline]
    pub(super) fn unlock(&self, held: &Held) -> bool {
        if !fork_mark::is_still(held.0 >> 1) {
            // In a child the lock is taken over by the next thread, if that has not happened yet.
            return false;
        }
        // Release: partner of the acquire in `take`.
        let word = self.word.swap(FREE, order!(Release, collect_lock_release));
        let is_contended = word & CONTENDED != 0;
        if is_contended {
            self.wake();
        }
        is_contended
    }

    #[cold]
    #[inline(never)]
    fn wake(&self) {
        // Acquire: partner of the release in `mark`.
        step!(collect_lock_mark_acquire, fence(Ordering::Acquire));
        step!(collect_lock_wake, F::wake(&self.word, 1));
    }

    /// Has all threads that sleep on the lock's word look again whether they give up. The caller has
    /// acquired the mark of those whose answer it has changed.
    pub(super) fn wake_all(&self) {
        // Relaxed: as said above. Where an unlock has taken the mark away, it has woken one of them, which
        // passes the wake on.
        if self.word.load(Ordering::Relaxed) & CONTENDED != 0 {
            F::wake(&self.word, ALL);
        }
    }

    /// Returns true if a thread of this process holds the lock. If not, what the last holder did is
    /// behind the caller.
    pub(super) fn is_held(&self) -> bool {
        // Acquire: partner of the release in `unlock`.
        self.word.load(order!(Acquire, collect_lock_seen_acquire)) & !CONTENDED == held_by(self.process())
    }
}

/// Returns true if a thread of a process that this one was forked from holds the lock.
fn is_orphaned(word: u32, held: u32) -> bool {
    let holder = word & !CONTENDED;
    check!(collect_lock_orphaned, holder != FREE && holder != held)
}
