//! A lock whose word names the process of its holder ([`HolderLock`]), so that the child of a fork
//! takes over a lock whose holder is not there.
//!
//! It serves where what the lock guards is whole at every instruction of a holder: the consumers'
//! side of a queue, the pops of a stack, the free nodes of a pool.

use core::marker::PhantomData;

use crate::atomic::{AtomicU32, Ordering, const_fn, fence};
use crate::futex::{ALL, Futex, Timeout, Wait};
use crate::mutant::{check, order, step};
use crate::process::fork_mark;
use crate::raw::spin_budget::SpinBudget;
use crate::threads::holder_lock::{CONTENDED, HolderLock, Word};

/// The word of a lock that the owner of this value has taken.
pub(super) struct HeldForkLock(u64);

/// A lock of the threads of one process, 12 bytes; the child of a fork takes it from a thread of its
/// parent.
///
/// The first thread that takes a free lock has it; sleepers may be overtaken. A holder that forks has
/// the lock in the child as well, but for another thread that took it over there first: it asks
/// before each use ([`keep`](ForkLock::keep)).
pub(super) struct ForkLock<F: Futex> {
    /// | bits | meaning |
    /// |---|---|
    /// | 0 | contended: a thread may sleep |
    /// | 1-31 | the fork number of the holder's process; 0: free |
    word: AtomicU32,
    /// The fork number that the last holder had, so that asking whether it still holds is inlined.
    process: AtomicU32,
    /// How often sleepers were woken. They sleep on this word: on the lock's own, one that has looked whether
    /// it gives up, and is slow to sleep, would miss a wake after which another one marks the lock again.
    turns: AtomicU32,
    futex: PhantomData<fn() -> F>,
}

impl<F: Futex> HolderLock for ForkLock<F> {
    type Word = AtomicU32;

    #[inline(always)]
    fn word(&self) -> &AtomicU32 {
        &self.word
    }

    fn pauses(timeout: Timeout) -> impl FnMut() -> bool {
        let mut budget = SpinBudget::for_lock(timeout);
        move || budget.pause::<F>()
    }

    fn turn(&self) -> u32 {
        // Acquire: before the mark and the look whether to give up. Partner: the release in `wake_some`.
        self.turns.load(Ordering::Acquire)
    }

    fn sleep(&self, _marked: u64, turn: u32, timeout: Timeout) -> bool {
        F::wait(&self.turns, turn, timeout) != Wait::TimedOut
    }

    fn wake(&self) {
        self.wake_some(1);
    }
}

impl<F: Futex> ForkLock<F> {
    const_fn! {
        /// Returns a free lock.
        pub(super) fn new() -> Self {
            ForkLock {
                word: AtomicU32::new(0),
                process: AtomicU32::new(0),
                turns: AtomicU32::new(0),
                futex: PhantomData,
            }
        }
    }

    /// Takes the lock if it is free, or held by a thread that a fork did not copy.
    #[inline]
    pub(super) fn try_lock(&self) -> Option<HeldForkLock> {
        let own = self.own();
        self.try_take(own).map(|_| HeldForkLock(own))
    }

    /// Takes the lock, waiting until `timeout` at most; `None`: the time is up.
    #[inline]
    pub(super) fn lock(&self, timeout: Timeout) -> Option<HeldForkLock> {
        self.lock_unless(timeout, || false)
    }

    /// Takes the lock, waiting until `timeout` at most, or until the caller gives up; `None`: one of the
    /// two. `gives_up` is asked before each sleep, after the lock was marked: who changes its answer
    /// calls [`wake_all`](ForkLock::wake_all) afterwards.
    #[inline]
    pub(super) fn lock_unless(&self, timeout: Timeout, gives_up: impl Fn() -> bool) -> Option<HeldForkLock> {
        let own = self.own();
        let is_taken = self.take_free(own).is_ok() || self.lock_slow(own, timeout, gives_up);
        is_taken.then_some(HeldForkLock(own))
    }

    #[cold]
    #[inline(never)]
    fn lock_slow(&self, own: u64, timeout: Timeout, gives_up: impl Fn() -> bool) -> bool {
        self.take_slow(own, timeout, gives_up).is_some()
    }

    /// Returns the word of the lock if a thread of this process holds it.
    #[inline]
    fn own(&self) -> u64 {
        // Relaxed, both: a number that is not this process's is looked up again.
        let process = self.process.load(Ordering::Relaxed);
        let process = if process != 0 && fork_mark::is_still(process) { process } else { self.new_process() };
        u64::from(process << 1)
    }

    #[cold]
    #[inline(never)]
    fn new_process(&self) -> u32 {
        let process = fork_mark::now();
        // Relaxed: a cache.
        self.process.store(process, Ordering::Relaxed);
        process
    }

    /// Makes sure that the caller has the lock still, also in the child of a fork.
    ///
    /// A fork between this and the use would leave the lock to another thread of the child. But no code
    /// of users runs in between, so it would be a signal handler's, in whose child POSIX allows nothing
    /// that starts a thread before the handler returns.
    #[inline]
    pub(super) fn keep(&self, held: &mut HeldForkLock) {
        if check!(collect_lock_keep, !fork_mark::is_still((held.0 >> 1) as u32)) {
            self.keep_in_child(held);
        }
    }

    /// Takes the lock for the child, from itself or from the thread that took it over.
    #[cold]
    #[inline(never)]
    fn keep_in_child(&self, held: &mut HeldForkLock) {
        *held = HeldForkLock(self.own());
        self.lock_slow(held.0, Timeout::Never, || false);
    }

    /// Marks the lock as contended, for a thread that waits elsewhere: the holder's
    /// [`unlock`](ForkLock::unlock) says so. Returns false if no thread of this process holds it.
    pub(super) fn mark(&self) -> bool {
        let own = self.own();
        // Relaxed: the exchange decides.
        let mut word = u64::from(self.word.load(Ordering::Relaxed));
        while word & !CONTENDED == own {
            // Release, also where the mark is there: what the caller did before. Partner: the acquire in
            // `unlock`.
            match self.word().exchange(word, word | CONTENDED, order!(Release, collect_lock_mark_release)) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// Gives the lock up, and wakes one thread that sleeps. Returns true if a thread waits, here or
    /// elsewhere. In a child, where another thread may have taken the lock over, it stays that
    /// one's.
    #[inline]
    pub(super) fn unlock(&self, held: &HeldForkLock) -> bool {
        let is_contended = self.release_if_held(held.0);
        if is_contended {
            // Acquire: partner of the release in `mark`.
            step!(collect_lock_mark_acquire, fence(Ordering::Acquire));
        }
        is_contended
    }

    /// Has all threads that sleep look again whether they give up. The caller has acquired the mark of
    /// those whose answer it has changed.
    pub(super) fn wake_all(&self) {
        // Relaxed: as said above. Where an unlock has taken the mark away, it has woken one of them, which
        // passes the wake on.
        if u64::from(self.word.load(Ordering::Relaxed)) & CONTENDED != 0 {
            self.wake_some(ALL);
        }
    }

    /// Has `count` sleepers look again, and those that are about to sleep.
    fn wake_some(&self, count: u32) {
        // Release: what they look at. Partner: the acquire in `turn`.
        step!(collect_lock_count, self.turns.fetch_add(1, Ordering::Release));
        F::wake(&self.turns, count);
    }

    /// Returns true if a thread of this process holds the lock. If not, what the last holder did is
    /// behind the caller.
    pub(super) fn is_held(&self) -> bool {
        // Acquire: partner of the release in `unlock`.
        let word = self.word.load(order!(Acquire, collect_lock_seen_acquire));
        u64::from(word) & !CONTENDED == self.own()
    }
}
