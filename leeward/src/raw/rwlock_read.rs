//! The readers' side of [`RwLock`]: how a reader enters, waits, passes an expired mark, and leaves.

use super::RwLock;
use super::forked::forked_child;
use super::rwlock_state::{
    ONE_BYPASSED, PHASES, READER, READERS, READERS_WAIT, RESERVED, Reader, TooManyReaders, WRITERS_WAIT, Waiting,
    admits, has_room, is_full, room_may_be_at, without_bypassed,
};
use super::spin_budget::SpinBudget;
use crate::atomic::Ordering;
use crate::futex::{Deadline, Futex, Timeout, Wait};
use crate::mutant::check;
use crate::no_unwind::abort;

impl<F: Futex> RwLock<F> {
    /// Locks for reading, waiting as long as that takes. What earlier writers did happens before
    /// the return.
    ///
    /// # Aborts
    /// With 1,048,574 readers inside (leaked guards) the process ends. If processes share the
    /// futex, the call waits until a reader has left instead.
    #[inline]
    pub fn lock_shared(&self) {
        if !self.enter_at_once() {
            self.enter_or_abort(Reader::Ordinary, Timeout::Never);
        }
    }

    /// Locks for reading, on a thread that may hold the lock for reading already. The call
    /// overtakes waiting writers while any reader is inside, so such calls may starve them.
    ///
    /// ```
    /// use leeward::raw::RwLock;
    /// let lock = <RwLock>::new();
    /// lock.lock_shared();
    /// lock.lock_shared_recursive();                   // enters even if a writer waits by now
    /// assert!(lock.try_lock_shared_recursive());
    /// for _ in 0..3 {
    ///     // SAFETY: locked three times for reading above.
    ///     unsafe { lock.unlock_shared() };
    /// }
    /// ```
    ///
    /// # Aborts
    /// As [`lock_shared`](Self::lock_shared).
    #[inline]
    pub fn lock_shared_recursive(&self) {
        if !self.enter_at_once() {
            self.enter_or_abort(Reader::Nested, Timeout::Never);
        }
    }

    /// Locks for reading if that is possible until `deadline`; returns true if it did. Attempts at
    /// least once.
    ///
    /// ```
    /// use leeward::futex::{Deadline, Private};
    /// use leeward::raw::RwLock;
    /// use std::time::Duration;
    /// let lock = <RwLock>::new();
    /// lock.lock_exclusive();
    /// let soon = Deadline::after::<Private>(Duration::from_millis(1));
    /// assert!(!lock.lock_shared_until(soon));
    /// assert!(!lock.lock_shared_recursive_until(soon));
    /// // SAFETY: locked for writing above.
    /// unsafe { lock.unlock_exclusive() };
    /// ```
    ///
    /// # Aborts
    /// As [`lock_shared`](Self::lock_shared).
    #[inline]
    pub fn lock_shared_until(&self, deadline: Deadline) -> bool {
        self.enter_at_once() || self.enter_or_abort(Reader::Ordinary, Timeout::At(deadline))
    }

    /// Locks for reading as [`lock_shared_recursive`](Self::lock_shared_recursive) does if that is
    /// possible until `deadline`; returns true if it did. Attempts at least once.
    ///
    /// # Aborts
    /// As [`lock_shared`](Self::lock_shared).
    #[inline]
    pub fn lock_shared_recursive_until(&self, deadline: Deadline) -> bool {
        self.enter_at_once() || self.enter_or_abort(Reader::Nested, Timeout::At(deadline))
    }

    /// Locks for reading if no writer holds the lock or waits for it; returns true if it did.
    #[inline]
    pub fn try_lock_shared(&self) -> bool {
        self.enter_at_once() || self.try_enter(Reader::Ordinary)
    }

    /// Locks for reading if no writer holds the lock, and none waits or readers are inside; returns
    /// true if it did.
    #[inline]
    pub fn try_lock_shared_recursive(&self) -> bool {
        self.enter_at_once() || self.try_enter(Reader::Nested)
    }

    /// Enters if that is possible at once; returns true if it was. In the child of a fork, marks of
    /// a free lock do not count.
    #[inline(never)]
    pub(super) fn try_enter(&self, reader: Reader) -> bool {
        let mut waiting = Waiting::new(reader);
        // Relaxed: the exchange decides.
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            let passes = waiting.is_kept_out(state) && !waiting.may_enter(state) && forked_child::<F>();
            if !has_room(state) || !(passes || waiting.may_enter(state)) {
                return false;
            }
            match self.enter(&waiting, state) {
                Ok(()) if passes => return self.expire(),
                Ok(()) => return true,
                Err(now) => state = now,
            }
        }
    }

    /// Makes one attempt to enter a lock without writers; returns true if it succeeded.
    #[inline]
    pub(crate) fn enter_at_once(&self) -> bool {
        // Relaxed: the exchange decides.
        let state = self.state.load(Ordering::Relaxed);
        // Acquire: partner of the release in `unlock_exclusive`. Relaxed on failure: the slow path
        // rechecks.
        admits(state)
            && self.state.compare_exchange_weak(state, state + READER, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Counts the reader in if the state is still `state`; returns the present state if it is not.
    fn enter(&self, waiting: &Waiting, state: u32) -> Result<(), u32> {
        let entered = waiting.entered(state);
        // Acquire: as in `enter_at_once`.
        self.state.compare_exchange_weak(state, entered, Ordering::Acquire, Ordering::Relaxed).map(|_| ())
    }

    /// Waits until the reader may enter. Returns true if it entered, false on timeout. Ends the
    /// process if the reader cannot be counted.
    #[cold]
    #[inline(never)]
    pub(super) fn enter_or_abort(&self, reader: Reader, timeout: Timeout) -> bool {
        match self.enter_slow(reader, timeout) {
            Ok(has_entered) => has_entered,
            Err(TooManyReaders) => abort!("a RwLock has more readers than it can count"),
        }
    }

    /// Waits until the reader may enter. Returns true if it entered, false on timeout.
    #[cold]
    #[inline(never)]
    pub(super) fn lock_shared_slow(&self, is_nested: bool, timeout: Timeout) -> Result<bool, TooManyReaders> {
        self.enter_slow(if is_nested { Reader::Nested } else { Reader::Ordinary }, timeout)
    }

    /// Waits until the reader may enter. Returns true if it entered, false on timeout.
    fn enter_slow(&self, reader: Reader, timeout: Timeout) -> Result<bool, TooManyReaders> {
        let mut waiting = Waiting::new(reader);
        // True if the reader slept while the lock was free and kept for writers, and none came.
        let mut expired = false;
        let mut budget = SpinBudget::for_lock(timeout);
        loop {
            // Relaxed: the exchanges decide.
            let state = self.state.load(Ordering::Relaxed);
            // Another process may have written any number of readers: wait for room. No reader that
            // leaves wakes for that, so the wait is short.
            if check!(rwlock_full, F::SHARED && is_full(state)) {
                let until = room_may_be_at::<F>(timeout);
                if F::wait(&self.state, state, until) == Wait::TimedOut && until == timeout {
                    self.give_up(&waiting);
                    return Ok(false);
                }
                continue;
            }
            // Free for this reader, or kept for writers in vain: enter, or recheck.
            let passes = expired && waiting.is_kept_out(state);
            if waiting.may_enter(state) || passes {
                if is_full(state) {
                    self.give_up(&waiting);
                    return Err(TooManyReaders);
                }
                match self.enter(&waiting, state) {
                    Ok(()) if passes => return Ok(self.expire()),
                    Ok(()) => {
                        self.end_reservation(&waiting, state);
                        return Ok(true);
                    }
                    Err(_) => continue,
                }
            }
            if budget.pause::<F>() {
                continue;
            }
            // Tell the unlock that a reader sleeps, and writers that one was bypassed.
            let is_bypassed = waiting.is_bypassed(state);
            let marked = (state | READERS_WAIT) + if is_bypassed { ONE_BYPASSED } else { 0 };
            // Relaxed: the mark and the count are all that is published.
            if marked != state
                && self.state.compare_exchange(state, marked, Ordering::Relaxed, Ordering::Relaxed).is_err()
            {
                continue;
            }
            waiting.is_counted |= is_bypassed;
            waiting.since.get_or_insert(state & PHASES);
            // Sleep until woken, but no longer than a free lock is kept for writers.
            let until = timeout.min(waiting.kept_out_until::<F>(marked));
            let outcome = F::wait(&self.state, marked, until);
            expired = outcome == Wait::TimedOut;
            if expired && until == timeout {
                self.give_up(&waiting);
                return Ok(false);
            }
            waiting.has_slept |= outcome != Wait::Changed;
        }
    }

    /// Wakes the threads that sleep for the place of the upgradable reader because the lock was
    /// reserved, if the reader has ended that by entering when the state was `state`.
    #[inline]
    fn end_reservation(&self, waiting: &Waiting, state: u32) {
        let sleep = state & (RESERVED | READERS_WAIT | WRITERS_WAIT) == RESERVED | READERS_WAIT;
        if check!(rwlock_fair_ends, waiting.has_slept && sleep) {
            // Relaxed: the mark is all that changes. Where writers sleep as well by now, they are
            // woken by those that leave, and their unlock would wake the others.
            self.state.fetch_and(!READERS_WAIT, Ordering::Relaxed);
            self.wake_readers();
        }
    }

    /// Takes back the mark that writers wait, or the reservation, which the calling reader has just
    /// passed because no thread came for the free lock. Returns true.
    ///
    /// The reader is inside and the mark stands until [`retract`](Self::retract) clears it, wakes a
    /// writer, and if none sleeps lets the other readers in. What else may happen meanwhile:
    /// - The writer comes after all. It finds a reader inside, and either marks the word itself, or
    ///   saw the mark before it was cleared: then the wake, counted after that, lets it not sleep.
    /// - The thread that unlocked was slow, and its wake comes only now. It wakes another writer,
    ///   or retracts in its turn.
    /// - Another reader waited as long. It finds the lock no longer free, and sleeps until
    ///   `retract` wakes it or, where a writer is there, until that one leaves.
    /// - A new writer comes first. It takes the free lock with the mark, and the reader's exchange
    ///   fails.
    #[cold]
    fn expire(&self) -> bool {
        self.retract(RESERVED);
        true
    }

    /// Ends a wait whose time is up: takes the reader out of the count of bypassed readers. A
    /// writer may sleep because of that count, so a writer is woken if the lock is free.
    fn give_up(&self, waiting: &Waiting) {
        if waiting.is_counted {
            // Relaxed, both: nothing was done under the lock. The update is refused if no reader is
            // counted, since a writer let the count expire.
            let outcome = self.state.fetch_update(Ordering::Relaxed, Ordering::Relaxed, without_bypassed);
            let Ok(state) = outcome else { return };
            if state & READERS == 0 && state & WRITERS_WAIT != 0 {
                self.wake_writer();
            }
        }
    }

    /// Unlocks a lock that is held for reading.
    ///
    /// # Safety
    /// The lock is held for reading, and one of its holders gives that up.
    #[inline]
    pub unsafe fn unlock_shared(&self) {
        // Release: what was read under the lock was read before a writer writes.
        let state = self.state.fetch_sub(READER, Ordering::Release);
        if state & (READERS | WRITERS_WAIT) == READER | WRITERS_WAIT {
            self.wake_writer();
        }
    }
}
