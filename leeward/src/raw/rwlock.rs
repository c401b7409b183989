//! A readers-writer lock for general use: two words, no reader and no writer is starved.
//!
//! Phases alternate as in a phase-fair lock (Brandenburg and Anderson, "Spin-Based Reader-Writer Synchronization for
//! Multiprocessor Real-Time Systems", 2010): readers stay out while a writer waits, and a writer's unlock lets in
//! the readers that waited for it, past other waiting writers. The lock is not handed over but free to take, so
//! that whoever is awake goes on; what that costs the others is bounded by counting those who were passed over.

use core::marker::PhantomData;

use super::forked::forked_child;
use super::rwlock_state::{
    ONE_BYPASSED, PHASES, READER, READERS, READERS_WAIT, WRITER, WRITERS_WAIT, Waiting, admits, after_expiry,
    after_writer, has_room, is_free, is_full, is_kept_for_writers, is_written, kept_for, kept_for_writers_until,
    kept_until, room_may_be_at, show, without_bypassed,
};
use super::spin_budget::SpinBudget;
use crate::atomic::{AtomicU32, Ordering, const_fn};
use crate::futex::{ALL, Deadline, Futex, Private, Timeout, Wait};
use crate::mutant::{check, mutated, order};

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
    state: AtomicU32,
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

    /// Locks it for reading.
    ///
    /// # Aborts
    /// With 1,048,574 readers inside (leaked guards). If processes share the futex, it waits until
    /// one has left instead.
    #[inline]
    pub fn lock_shared(&self) {
        if !self.enter_at_once() {
            self.lock_shared_slow(false, Timeout::Never);
        }
    }

    /// Locks it for reading, by a thread that may hold it for reading already: waiting writers are passed as long
    /// as any reader is inside, who may starve them.
    ///
    /// # Aborts
    /// As [`lock_shared`](Self::lock_shared).
    #[inline]
    pub fn lock_shared_recursive(&self) {
        if !self.enter_at_once() {
            self.lock_shared_slow(true, Timeout::Never);
        }
    }

    /// Locks it for reading by `deadline`; whether it did. Looks at least once.
    ///
    /// # Aborts
    /// As [`lock_shared`](Self::lock_shared).
    #[inline]
    pub fn lock_shared_until(&self, deadline: Deadline) -> bool {
        self.enter_at_once() || self.lock_shared_slow(false, Timeout::At(deadline))
    }

    /// Locks it for reading if no writer holds it or waits.
    #[inline]
    pub fn try_lock_shared(&self) -> bool {
        self.try_enter(&mut Waiting::new(false))
    }

    /// Locks it for reading if no writer holds it, and none waits or readers are inside.
    #[inline]
    pub fn try_lock_shared_recursive(&self) -> bool {
        self.try_enter(&mut Waiting::new(true))
    }

    fn try_enter(&self, waiting: &mut Waiting) -> bool {
        // Relaxed: the exchange decides.
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            let passes = is_kept_for_writers(state) && !waiting.may_enter(state) && forked_child::<F>();
            if !has_room(state) || !(passes || waiting.may_enter(state)) {
                return false;
            }
            match self.enter(waiting, state) {
                Ok(()) if passes => return self.expire(),
                Ok(()) => return true,
                Err(now) => state = now,
            }
        }
    }

    #[inline]
    fn enter_at_once(&self) -> bool {
        // Relaxed: the exchange decides.
        let state = self.state.load(Ordering::Relaxed);
        // Acquire: partner of the release in `unlock_exclusive`. Relaxed on failure: the slow path looks again.
        admits(state)
            && self.state.compare_exchange_weak(state, state + READER, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn enter(&self, waiting: &Waiting, state: u32) -> Result<(), u32> {
        let entered = waiting.entered(state);
        // Acquire: as in `enter_at_once`.
        self.state.compare_exchange_weak(state, entered, Ordering::Acquire, Ordering::Relaxed).map(|_| ())
    }

    #[cold]
    #[inline(never)]
    fn lock_shared_slow(&self, is_nested: bool, timeout: Timeout) -> bool {
        let mut waiting = Waiting::new(is_nested);
        // The reader has seen the lock free and kept for writers, of whom none came.
        let mut expired = false;
        let mut budget = SpinBudget::for_lock(timeout);
        loop {
            // Relaxed: the exchanges decide.
            let state = self.state.load(Ordering::Relaxed);
            // Processes may have written any number there: it is waited for room, and no reader
            // that leaves wakes for that.
            if check!(rwlock_full, F::SHARED && is_full(state)) {
                let until = room_may_be_at::<F>(timeout);
                if F::wait(&self.state, state, until) == Wait::TimedOut && until == timeout {
                    self.give_up(&waiting);
                    return false;
                }
                continue;
            }
            let passes = expired && is_kept_for_writers(state);
            if waiting.may_enter(state) || passes {
                match self.enter(&waiting, state) {
                    Ok(()) if passes => return self.expire(),
                    Ok(()) => return true,
                    Err(_) => continue,
                }
            }
            if budget.pause::<F>() {
                continue;
            }
            let is_bypassed = waiting.is_bypassed(state);
            let marked = (state | READERS_WAIT) + if is_bypassed { ONE_BYPASSED } else { 0 };
            // Relaxed: everything that is said is in this word.
            if marked != state
                && self.state.compare_exchange(state, marked, Ordering::Relaxed, Ordering::Relaxed).is_err()
            {
                continue;
            }
            waiting.is_counted |= is_bypassed;
            waiting.since.get_or_insert(state & PHASES);
            let until = timeout.min(kept_for_writers_until::<F>(marked));
            let timed_out = F::wait(&self.state, marked, until) == Wait::TimedOut;
            if timed_out && until == timeout {
                self.give_up(&waiting);
                return false;
            }
            expired = timed_out;
        }
    }

    /// Takes back the mark that writers wait, which the calling reader has just passed: no writer came for the free lock.
    /// Returns true.
    ///
    /// The reader is inside and the mark stands until [`retract`](Self::retract) clears it, wakes a writer, and if none
    /// sleeps lets the other readers in. What else may happen meanwhile:
    /// - The writer comes after all. It finds a reader inside, and either marks the word itself, or saw the mark before it
    ///   was cleared: then the wake, counted after that, lets it not sleep.
    /// - The thread that unlocked was slow, and its wake comes only now. It wakes another writer, or retracts in its turn.
    /// - Another reader waited as long. It finds the lock no longer free, and sleeps until `retract` wakes it or, where a
    ///   writer is there, until that one leaves.
    /// - A new writer comes first. It takes the free lock with the mark, and the reader's exchange fails.
    #[cold]
    fn expire(&self) -> bool {
        self.retract();
        true
    }

    /// A writer may sleep for the sake of a reader that was counted.
    fn give_up(&self, waiting: &Waiting) {
        if waiting.is_counted {
            // Relaxed, both: nothing was done under the lock. Refused: nobody is counted, a writer waited too long.
            let outcome = self.state.fetch_update(Ordering::Relaxed, Ordering::Relaxed, without_bypassed);
            let Ok(state) = outcome else { return };
            if state & READERS == 0 && state & WRITERS_WAIT != 0 {
                self.wake_writer();
            }
        }
    }

    /// Unlocks it for reading.
    ///
    /// # Safety
    /// It is locked for reading, and one who did so gives that up.
    #[inline]
    pub unsafe fn unlock_shared(&self) {
        // Release: what was read under the lock was read before a writer writes.
        let state = self.state.fetch_sub(READER, Ordering::Release);
        if state & (READERS | WRITERS_WAIT) == READER | WRITERS_WAIT {
            self.wake_writer();
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
    fn wake_writer(&self) {
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
    fn retract(&self) {
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
