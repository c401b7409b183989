//! A readers-writer lock for general use: two words, no reader and no writer is starved.
//!
//! Phases alternate as in a phase-fair lock (Brandenburg and Anderson, "Spin-Based Reader-Writer Synchronization for
//! Multiprocessor Real-Time Systems", 2010): readers stay out while a writer waits, and a writer's unlock lets in
//! the readers that waited for it, past other waiting writers. The lock is not handed over but free to take, so
//! that whoever is awake goes on; what that costs the others is bounded by counting those who were passed over.

use core::marker::PhantomData;

use super::forked::forked_child;
use super::rwlock_state::{
    READER, READERS, READERS_WAIT, WRITER, WRITERS_WAIT, after_expiry, after_writer, is_free, is_written, kept_for,
    kept_until, show,
};
use super::spin_budget::SpinBudget;
use crate::atomic::{AtomicU32, Ordering, const_fn};
use crate::futex::{ALL, Deadline, Futex, Private, Timeout, Wait};
use crate::mutant::{mutated, order};

/// Readers share, a writer is alone.
///
/// Zeroed memory is an unlocked one. Not reentrant: [`lock_shared`](Self::lock_shared) by a thread that holds it waits
/// for a waiting writer that waits for that thread;
/// [`lock_shared_recursive`](Self::lock_shared_recursive) does not.
///
/// # Fairness
/// - A writer that sleeps is passed by the readers that are inside, and by those that a writer before it kept out; by no
///   reader that comes later, unless the lock has been free for a millisecond and none of the writers that were woken came for it.
/// - A reader that sleeps is let in by the next writer's unlock. If other writers take the lock before it has run, it is
///   counted when it has, and then no writer takes the lock before it (63 readers at a time are counted). So once it has
///   looked, it is passed by one writer at most: the one that holds the lock then. If none of those counted comes for the lock
///   within a millisecond, a writer that waits takes it, and they are counted anew: in the child of a fork they are not there.
/// - Among writers there is no bound: a newcomer may overtake one that was woken; those who sleep are woken in the order in
///   which they lay down.
///
/// On platforms without futexes, where waiting is looking again, nobody knows who waits, and none of this is promised.
///
/// A [`Condvar`](super::Condvar) may be waited upon with it locked for writing.
///
/// # Lifetime
/// It must live until each call on it has returned: unlocking looks at it after somebody else may have locked it.
///
/// # Forks
/// What the forking thread holds, the child's one thread holds; what another thread held stays locked. Marks that the
/// parent's waiting threads left in a free lock expire: who waits goes on after a millisecond; a `try_` call does at once,
/// where this process or its parent had used what is told of forks before (any RCU domain, asymmetric or robust lock, a
/// [`Condvar`](super::Condvar) that was waited upon, a guard of a [shared](crate::shared) lock).
///
/// # Cost
/// Free: one compare-exchange to lock, one subtraction or compare-exchange to unlock. Otherwise a while of looking,
/// some yields, and a futex sleep. Async-signal-safe as far as a lock can be: a handler that interrupts a holder
/// deadlocks.
#[repr(C)]
pub struct RwLock<F: Futex = Private> {
    /// | bits | meaning |
    /// |---|---|
    /// | 0-19 | readers inside; all ones: a writer |
    /// | 20-25 | bypassed readers: no writer takes the lock while it is not 0 |
    /// | 26-29 | phase: counts the unlocks by writers that let waiting readers in past waiting writers |
    /// | 30 | readers may sleep, on this word |
    /// | 31 | writers may sleep, on the other word: readers that come stay out |
    pub(super) state: AtomicU32,
    /// Counts wakes of writers.
    writers: AtomicU32,
    futex: PhantomData<fn() -> F>,
}

impl<F: Futex> RwLock<F> {
    const_fn! {
        /// An unlocked one.
        #[allow(clippy::new_without_default)]
        pub fn new() -> Self {
            RwLock { state: AtomicU32::new(0), writers: AtomicU32::new(0), futex: PhantomData }
        }
    }

    /// Locks it for writing.
    #[inline]
    pub fn lock_exclusive(&self) {
        if !self.take_at_once() {
            self.lock_exclusive_slow(Timeout::Never);
        }
    }

    /// Locks it for writing by `deadline`; whether it did. Looks at least once.
    #[inline]
    pub fn lock_exclusive_until(&self, deadline: Deadline) -> bool {
        self.take_at_once() || self.lock_exclusive_slow(Timeout::At(deadline))
    }

    /// Locks it for writing if nobody is inside and no reader was bypassed.
    #[inline]
    pub fn try_lock_exclusive(&self) -> bool {
        // Relaxed: the exchange decides.
        let mut state = self.state.load(Ordering::Relaxed);
        while is_free(state) || kept_for(state).is_some() && forked_child::<F>() {
            let taken = after_expiry(state) | WRITER;
            // Acquire: as in `take_at_once`.
            match self.state.compare_exchange_weak(state, taken, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => state = now,
            }
        }
        false
    }

    #[inline]
    fn take_at_once(&self) -> bool {
        // Acquire: partner of the releases in `unlock_shared` and `unlock_exclusive`. Relaxed on failure: the slow path
        // looks again.
        self.state.compare_exchange(0, WRITER, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[cold]
    #[inline(never)]
    fn lock_exclusive_slow(&self, timeout: Timeout) -> bool {
        let mut budget = SpinBudget::for_lock(timeout);
        // `mark`: who has slept does not know whether others still do. `expired`: the bypassed readers for whom the lock was
        // kept in vain; 0: none.
        let (mut mark, mut expired) = (0, 0);
        loop {
            // Acquire: partner of the release in `wake_writer`: whoever knows of a wake sees the unlock before it.
            let wakes = self.writers.load(Ordering::Acquire);
            // Relaxed: the exchanges decide.
            let state = self.state.load(Ordering::Relaxed);
            // Free; or free and kept for readers of whom none came while this writer slept: take it.
            if kept_for(state) == Some(expired) || is_free(state) {
                let taken = after_expiry(state) | WRITER | mark;
                // Acquire: as in `take_at_once`.
                if self.state.compare_exchange(state, taken, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                    return true;
                }
                continue;
            }
            // Held, or kept for readers: recheck, while the spin budget lasts.
            if budget.pause::<F>() {
                continue;
            }
            // Tell the unlock that a writer sleeps, and newcomers to stay out.
            // Relaxed: everything that is said is in this word.
            if state & WRITERS_WAIT == 0
                && self
                    .state
                    .compare_exchange(state, state | WRITERS_WAIT, Ordering::Relaxed, Ordering::Relaxed)
                    .is_err()
            {
                continue;
            }
            mark = WRITERS_WAIT;
            // Sleep until a wake is counted, but no longer than a free lock is kept for bypassed readers.
            let until = timeout.min(kept_until::<F>(state));
            match F::wait(&self.writers, wakes, until) {
                // The caller's time is up: readers need not stay out for this writer any more.
                Wait::TimedOut if until == timeout => {
                    self.retract();
                    return false;
                }
                // The readers that it was kept for did not come. If none comes before the recheck, take it from them.
                Wait::TimedOut => expired = kept_for(state).unwrap_or(0),
                // A wake: bypassed readers are waited for anew.
                Wait::Woken | Wait::Changed => expired = 0,
            }
        }
    }

    /// Unlocks it for writing.
    ///
    /// # Safety
    /// It is locked for writing, and the one who did so gives that up.
    #[inline]
    pub unsafe fn unlock_exclusive(&self) {
        // Release: what was done under the lock happens before the next holder's. Relaxed on failure: looks again.
        if self.state.compare_exchange(WRITER, 0, Ordering::Release, Ordering::Relaxed).is_err() {
            self.unlock_exclusive_slow();
        }
    }

    #[cold]
    #[inline(never)]
    fn unlock_exclusive_slow(&self) {
        let state = self.leave_as_writer(0);
        // Waiting readers go first, and the last of them wakes a writer. If none slept, none of them may be left.
        let has_woken = state & READERS_WAIT != 0 && self.wake_readers();
        if !has_woken && state & WRITERS_WAIT != 0 {
            self.wake_writer();
        }
    }

    /// Makes the writer a reader: no other writer comes between, and readers may enter.
    ///
    /// # Safety
    /// It is locked for writing, and the one who did so goes on as a reader.
    #[inline]
    pub unsafe fn downgrade(&self) {
        let state = self.leave_as_writer(READER);
        if state & READERS_WAIT != 0 {
            self.wake_readers();
        }
    }

    /// The writer's part of the state is replaced; what it was.
    fn leave_as_writer(&self, readers: u32) -> u32 {
        // Relaxed: the exchange decides.
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            let left = after_writer(state) + readers;
            // Release: as in `unlock_exclusive`.
            match self.state.compare_exchange_weak(state, left, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return state,
                Err(now) => state = now,
            }
        }
    }

    /// Wakes the readers that sleep; whether there were any.
    fn wake_readers(&self) -> bool {
        !mutated!(rwlock_wake_readers) && F::wake(&self.state, ALL) != 0
    }

    /// Wakes a writer, for whom newcomers stay out meanwhile.
    #[cold]
    #[inline(never)]
    pub(super) fn wake_writer(&self) {
        if !self.wake_a_writer() {
            self.retract();
        }
    }

    fn wake_a_writer(&self) -> bool {
        if mutated!(rwlock_wake_writer) {
            return true;
        }
        // Release: partner of the acquire in `lock_exclusive_slow`.
        self.writers.fetch_add(1, order!(Release, rwlock_wakes_release));
        F::wake(&self.writers, 1) != 0
    }

    /// Readers need not stay out for a writer that there is not, or no longer. If one sleeps after all (it lay down
    /// without marking the word, because it was marked), it is woken and marks it again.
    #[cold]
    #[inline(never)]
    pub(super) fn retract(&self) {
        // Relaxed: everything that is said is in this word.
        let state = self.state.fetch_and(!WRITERS_WAIT, Ordering::Relaxed);
        if !mutated!(rwlock_retract_wakes) && self.wake_a_writer() || is_written(state) {
            return;
        }
        // Relaxed: as above.
        if self.state.fetch_and(!READERS_WAIT, Ordering::Relaxed) & READERS_WAIT != 0 {
            self.wake_readers();
        }
    }

    /// Whether anybody holds it; out of date when it is returned.
    pub fn is_locked(&self) -> bool {
        // Relaxed: out of date anyway.
        self.state.load(Ordering::Relaxed) & READERS != 0
    }

    /// Whether a writer holds it; out of date when it is returned.
    pub fn is_locked_exclusive(&self) -> bool {
        // Relaxed: out of date anyway.
        is_written(self.state.load(Ordering::Relaxed))
    }
}

impl<F: Futex> core::fmt::Debug for RwLock<F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // Relaxed: out of date anyway.
        show(self.state.load(Ordering::Relaxed), f)
    }
}
