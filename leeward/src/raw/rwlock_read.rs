//! The readers' side of [`RwLock`]: how a reader enters, waits, expires marks and leaves.

use super::RwLock;
use super::forked::forked_child;
use super::rwlock_state::{
    ONE_BYPASSED, PHASES, READER, READERS, READERS_WAIT, WRITERS_WAIT, Waiting, admits, has_room, is_full,
    is_kept_for_writers, kept_for_writers_until, room_may_be_at, without_bypassed,
};
use super::spin_budget::SpinBudget;
use crate::atomic::Ordering;
use crate::futex::{Deadline, Futex, Timeout, Wait};
use crate::mutant::check;

impl<F: Futex> RwLock<F> {
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
}
