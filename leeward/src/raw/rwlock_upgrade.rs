//! The upgradable reader of [`RwLock`]: a reader that may become a writer, and of which one is inside
//! at a time.
//!
//! One bit of the state, `UPGRADABLE`, is its place. Readers do not look at it. What the bit says
//! depends on the count of readers beside it:
//!
//! | readers inside | bit set | |
//! |---|---|---|
//! | 1 or more | yes | the upgradable reader is one of them, or waits for them |
//! | 0 | yes | it becomes the writer next: no other writer takes the lock |
//! | a writer | no | the upgradable reader has become it, or another writer is inside |
//!
//! An upgrade that must wait takes its reader out of the count (`depart`), so that the last of the
//! other readers finds that it is the last, as it does for any writer, by the subtraction that every
//! reader makes. How the two meet, where both change the one word:
//!
//! - If the last reader leaves first, the upgrade finds that it is alone and takes the lock.
//! - If the upgrade departs first, with the mark that writers wait, the last reader sees the mark and
//!   wakes all that sleep as writers: one of them is the upgradable reader, and to the others the
//!   lock is not free.
//! - If that wake comes before the sleep, the count of wakes has changed, and there is no sleep.
//!
//! An upgrade whose time is up counts its reader in again. No writer was inside meanwhile, so what
//! the reader has read still holds.

use super::RwLock;
use super::rwlock_state::{
    READER, READERS, READERS_WAIT, RESERVED, Reader, UPGRADABLE, WRITER, WRITERS_WAIT, admits, after_writer, is_full,
    is_upgrading, room_may_be_at, upgraded, vacated,
};
use super::spin_budget::SpinBudget;
use crate::atomic::Ordering;
use crate::futex::{Deadline, Futex, Timeout, Wait};
use crate::mutant::{check, step};
use crate::no_unwind::abort;

/// The state of a lock in which the upgradable reader is alone and no thread waits.
pub(super) const ALONE: u32 = READER | UPGRADABLE;

impl<F: Futex> RwLock<F> {
    /// Locks for reading as the upgradable reader, waiting as long as that takes: until no writer is
    /// inside or waits, and no other upgradable reader is inside. What earlier writers did happens
    /// before the return.
    ///
    /// A thread that reads already must not call it: a writer that waits for that thread would be
    /// waited for.
    ///
    /// # Aborts
    /// As [`lock_shared`](Self::lock_shared).
    ///
    /// ```
    /// use leeward::raw::RwLock;
    /// static LOCK: RwLock = RwLock::new();
    /// LOCK.lock_upgradable();
    /// assert!(LOCK.try_lock_shared() && !LOCK.try_lock_upgradable());
    /// // SAFETY: locked for reading above.
    /// unsafe { LOCK.unlock_shared() };
    /// // SAFETY: locked by `lock_upgradable`.
    /// unsafe { LOCK.upgrade() };
    /// assert!(LOCK.is_locked_exclusive());
    /// // SAFETY: upgraded.
    /// unsafe { LOCK.unlock_exclusive() };
    /// ```
    #[inline]
    pub fn lock_upgradable(&self) {
        if !self.enter_upgradable_at_once() {
            self.enter_or_abort(Reader::Upgradable, Timeout::Never);
        }
    }

    /// Locks for reading as the upgradable reader if that is possible until `deadline`; returns true
    /// if it did. Attempts at least once.
    ///
    /// # Aborts
    /// As [`lock_shared`](Self::lock_shared).
    #[inline]
    pub fn lock_upgradable_until(&self, deadline: Deadline) -> bool {
        self.enter_upgradable_at_once() || self.enter_or_abort(Reader::Upgradable, Timeout::At(deadline))
    }

    /// Locks for reading as the upgradable reader if no writer holds the lock or waits for it and no
    /// other upgradable reader is inside; returns true if it did.
    #[inline]
    pub fn try_lock_upgradable(&self) -> bool {
        self.try_enter(Reader::Upgradable)
    }

    /// Makes one attempt to enter a lock without writers and upgradable reader; returns true if it
    /// succeeded.
    #[inline]
    fn enter_upgradable_at_once(&self) -> bool {
        // Relaxed: the exchange decides.
        let state = self.state.load(Ordering::Relaxed);
        // Acquire: partner of the releases in `unlock_exclusive` and `vacate`. Relaxed on failure:
        // the slow path rechecks.
        admits(state)
            && state & (UPGRADABLE | RESERVED) == 0
            && self.state.compare_exchange_weak(state, state + ALONE, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Unlocks a lock that is held by the upgradable reader.
    ///
    /// # Safety
    /// The caller is the upgradable reader, and gives that up.
    #[inline]
    pub unsafe fn unlock_upgradable(&self) {
        // Release: as in `vacate`. Relaxed on failure: `vacate` reads the state anew.
        if self.state.compare_exchange(ALONE, 0, Ordering::Release, Ordering::Relaxed).is_err() {
            self.vacate(READER);
        }
    }

    /// Makes the upgradable reader an ordinary one, so that another may be upgradable.
    ///
    /// # Safety
    /// The caller is the upgradable reader, and goes on as an ordinary reader.
    #[inline]
    pub unsafe fn downgrade_upgradable(&self) {
        self.vacate(0);
    }

    /// Makes the writer the upgradable reader: no other writer comes between, and waiting readers are
    /// let in.
    ///
    /// # Safety
    /// The lock is held for writing, and its holder goes on as the upgradable reader.
    #[inline]
    pub unsafe fn downgrade_to_upgradable(&self) {
        // A writer is inside, so no upgradable reader is: the place is free.
        let state = self.leave_as_writer(|state| after_writer(state) + ALONE);
        if state & READERS_WAIT != 0 {
            self.wake_readers();
        }
    }

    /// Leaves the place of the upgradable reader, takes `readers` readers out of the count, and wakes
    /// those that wait for either.
    #[cold]
    #[inline(never)]
    fn vacate(&self, readers: u32) {
        // Relaxed: the exchange decides.
        let mut state = self.state.load(Ordering::Relaxed);
        let left = loop {
            let left = vacated(state, readers);
            // Release: what was read under the lock was read before a writer writes, and the next
            // upgradable reader comes after. Partners: the acquires of those who enter.
            match self.state.compare_exchange_weak(state, left, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => break left,
                Err(now) => state = now,
            }
        };
        // Threads that wait for the place sleep with the readers.
        if check!(rwlock_vacate_wakes, state & READERS_WAIT != 0) {
            self.wake_readers();
        }
        if left & (READERS | WRITERS_WAIT) == WRITERS_WAIT {
            self.wake_writer();
        }
    }

    /// Makes the upgradable reader the writer, waiting until the other readers have left. No other
    /// writer comes between. What the readers did happens before the return.
    ///
    /// A thread that is another reader too waits for itself forever.
    ///
    /// # Safety
    /// The caller is the upgradable reader, and goes on as the writer.
    #[inline]
    pub unsafe fn upgrade(&self) {
        if !self.upgrade_alone() {
            self.upgrade_slow(Timeout::Never);
        }
    }

    /// Makes the upgradable reader the writer if the other readers leave until `deadline`; returns
    /// true if it did, and leaves it the upgradable reader if not. Attempts at least once.
    ///
    /// ```
    /// use leeward::futex::{Deadline, Private};
    /// use leeward::raw::RwLock;
    /// use std::time::Duration;
    /// let lock = <RwLock>::new();
    /// lock.lock_upgradable();
    /// lock.lock_shared();
    /// // SAFETY: this thread is the upgradable reader.
    /// assert!(!unsafe { lock.try_upgrade() });        // another reader is inside
    /// let soon = Deadline::after::<Private>(Duration::from_millis(1));
    /// // SAFETY: as above.
    /// assert!(!unsafe { lock.upgrade_until(soon) });
    /// // SAFETY: locked for reading above.
    /// unsafe { lock.unlock_shared() };
    /// // SAFETY: as above.
    /// unsafe { lock.upgrade() };
    /// assert!(lock.is_locked_exclusive());
    /// // SAFETY: upgraded; and then the upgradable reader again, and an ordinary one.
    /// unsafe { lock.downgrade_to_upgradable() };
    /// assert!(!lock.lock_upgradable_until(soon));     // there is one
    /// // SAFETY: as above.
    /// unsafe { lock.downgrade_upgradable() };
    /// assert!(lock.try_lock_upgradable());            // there was none any more
    /// // SAFETY: locked by `try_lock_upgradable`, and an ordinary reader since it was downgraded.
    /// unsafe {
    ///     lock.unlock_upgradable();
    ///     lock.unlock_shared();
    /// }
    /// ```
    ///
    /// # Aborts
    /// If its time is up and, since it began to wait, as many readers have come as can be counted;
    /// where processes share the futex, it waits until one has left.
    ///
    /// # Safety
    /// The caller is the upgradable reader, and goes on as what the call returns.
    #[inline]
    pub unsafe fn upgrade_until(&self, deadline: Deadline) -> bool {
        self.upgrade_alone() || self.upgrade_slow(Timeout::At(deadline))
    }

    /// Makes the upgradable reader the writer if no other reader is inside; returns true if it did,
    /// and leaves it the upgradable reader if not.
    ///
    /// # Safety
    /// The caller is the upgradable reader, and goes on as what the call returns.
    #[inline]
    pub unsafe fn try_upgrade(&self) -> bool {
        // Relaxed: the exchange decides.
        let mut state = self.state.load(Ordering::Relaxed);
        while state & READERS == READER {
            match self.upgrade_from(state) {
                Ok(()) => return true,
                Err(now) => state = now,
            }
        }
        false
    }

    /// Makes one attempt to upgrade where no other thread is inside or waits; returns true if it
    /// succeeded.
    #[inline]
    fn upgrade_alone(&self) -> bool {
        // Acquire: as in `upgrade_from`. Relaxed on failure: the slow path rechecks.
        self.state.compare_exchange(ALONE, WRITER, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Makes the upgradable reader the writer if the state is still `state`, in which no other thread
    /// is inside; returns the present state if it is not.
    #[inline]
    fn upgrade_from(&self, state: u32) -> Result<(), u32> {
        // Acquire: partner of the release in `unlock_shared`: readers have read before this writer
        // writes.
        self.state.compare_exchange(state, upgraded(state), Ordering::Acquire, Ordering::Relaxed).map(|_| ())
    }

    /// Waits until the upgradable reader is alone and has become the writer. Returns true if it has,
    /// false on timeout, when it is the upgradable reader again.
    #[cold]
    #[inline(never)]
    fn upgrade_slow(&self, timeout: Timeout) -> bool {
        let mut budget = SpinBudget::for_lock(timeout);
        // True once the reader is out of the count.
        let mut has_departed = false;
        loop {
            // Acquire: partner of the release in `wake_a_writer`: a thread that knows of the wake
            // sees the unlock before it.
            let wakes = self.writers.load(Ordering::Acquire);
            // Relaxed: the exchanges decide.
            let state = self.state.load(Ordering::Relaxed);
            if state & READERS == if has_departed { 0 } else { READER } {
                // Other writers may sleep whose mark was taken back meanwhile: a thread that may have
                // slept sets it again, as a writer does.
                let mark = if has_departed { WRITERS_WAIT } else { 0 };
                // Acquire: as in `upgrade_from`.
                let taken = upgraded(state) | mark;
                if self.state.compare_exchange(state, taken, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                    return true;
                }
                continue;
            }
            // Readers are inside: recheck, while the spin budget lasts.
            if budget.pause::<F>() {
                continue;
            }
            // Leave the count, tell the last reader to wake, and newcomers to stay out.
            let readers = if has_departed { 0 } else { READER };
            let marked = (state | WRITERS_WAIT).wrapping_sub(readers);
            // Relaxed: the mark and the count are all that is published. What this thread has read is
            // released when it gives the place up.
            if marked != state
                && self.state.compare_exchange(state, marked, Ordering::Relaxed, Ordering::Relaxed).is_err()
            {
                continue;
            }
            has_departed = true;
            if F::wait(&self.writers, wakes, timeout) == Wait::TimedOut {
                return self.come_back();
            }
        }
    }

    /// Ends an upgrade whose time is up: counts the upgradable reader in again and lets in the readers
    /// that stayed out for it. Returns true if it found that it was alone: it is the writer then.
    fn come_back(&self) -> bool {
        // Relaxed: the exchanges decide.
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            let next = if is_upgrading(state) { upgraded(state) | WRITERS_WAIT } else { state.wrapping_add(READER) };
            if is_full(state) {
                if !F::SHARED {
                    abort!("a RwLock has more readers than it can count");
                }
                // No reader that leaves wakes for that, so the wait is short.
                F::wait(&self.state, state, room_may_be_at::<F>(Timeout::Never));
                state = self.state.load(Ordering::Relaxed);
                continue;
            }
            // Acquire: as in `upgrade_from`.
            match self.state.compare_exchange_weak(state, next, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => state = now,
            }
        }
        if is_upgrading(state) {
            return true;
        }
        // Writers may sleep that rely on this thread's mark, or whose wake it has had, and readers that
        // `retract` left asleep for it.
        step!(rwlock_upgrade_retracts, self.retract(0));
        false
    }
}
