//! The fair unlocks of [`RwLock`]: what they leave is reserved for threads that sleep. Called by
//! `lock_api/`, `asym` and `shared`; calls `rwlock.rs` to wake.
//!
//! One bit of the state, `RESERVED`, is set by the exchange that unlocks, so that no newcomer comes
//! between, and taken away by the thread that it was set for, whichever comes first:
//!
//! | who | does |
//! |---|---|
//! | a writer or reader that has slept | takes the lock, and clears the bit by that |
//! | the thread that unlocked, if its wakes find no sleeper | clears the bit, wakes once more |
//! | a writer that has slept and whose time is up | clears the bit, wakes once more |
//! | a thread that found the lock kept for a millisecond | takes the lock, and clears the bit |
//!
//! "Once more" is [`retract`](RwLock::retract): a newcomer may have gone to sleep because the lock
//! was reserved. Its clearing comes before its wake, and a writer that goes to sleep has read the
//! count of wakes before the state:
//!
//! - If the writer's sleep comes first, the wake finds it.
//! - If the count comes first, the writer does not sleep, and finds the lock no longer reserved.
//!
//! Newcomers that read may share a reserved lock unless writers sleep: they keep out no reader for
//! which it is reserved, and a writer is kept out by its own mark only.

use super::RwLock;
use super::rwlock_state::{
    READERS, READERS_WAIT, RESERVED, WRITER, WRITERS_WAIT, after_fair_reader, after_fair_upgradable, after_fair_writer,
    is_kept_for_writers,
};
use super::rwlock_upgrade::ALONE;
use crate::atomic::Ordering;
use crate::futex::Futex;
use crate::mutant::step;

impl<F: Futex> RwLock<F> {
    /// Unlocks a lock that is held for writing for threads that sleep, if any do: no newcomer takes
    /// it for writing before one of them has had it. Readers that sleep come first, then the writer
    /// that has slept longest. The lock is idle until one of them runs.
    ///
    /// If none of them runs within a millisecond, another thread that waits takes it; `try_` calls fail
    /// until then, although no thread holds the lock.
    ///
    /// ```
    /// use leeward::raw::RwLock;
    /// let lock = <RwLock>::new();
    /// lock.lock_exclusive();
    /// // SAFETY: locked for writing above.
    /// unsafe { lock.unlock_exclusive_fair() };
    /// assert!(lock.try_lock_exclusive());             // no thread slept
    /// ```
    ///
    /// # Safety
    /// The lock is held for writing, and its holder gives that up.
    pub unsafe fn unlock_exclusive_fair(&self) {
        // Release: as in `unlock_exclusive`. Relaxed on failure: the slow path rechecks.
        if self.state.compare_exchange(WRITER, 0, Ordering::Release, Ordering::Relaxed).is_ok() {
            return;
        }
        let state = self.leave_as_writer(after_fair_writer);
        if state & (READERS_WAIT | WRITERS_WAIT) == 0 {
            return;
        }
        // As in `unlock_exclusive`, but the lock is reserved besides.
        let has_woken = state & READERS_WAIT != 0 && self.wake_readers();
        if !has_woken {
            self.hand_over(state & WRITERS_WAIT != 0);
        }
    }

    /// Unlocks a lock that is held for reading. If the caller is the last reader and writers sleep,
    /// the lock is for the writer that has slept longest: no newcomer takes it before that one.
    ///
    /// If the writer does not run within a millisecond, another thread that waits takes the lock.
    ///
    /// ```
    /// use leeward::raw::RwLock;
    /// let lock = <RwLock>::new();
    /// lock.lock_shared();
    /// // SAFETY: locked for reading above.
    /// unsafe { lock.unlock_shared_fair() };
    /// assert!(!lock.is_locked());
    /// ```
    ///
    /// # Safety
    /// The lock is held for reading, and one of its holders gives that up.
    pub unsafe fn unlock_shared_fair(&self) {
        let left = self.leave_fairly(after_fair_reader).1;
        if is_kept_for_writers(left) {
            self.hand_over(true);
        } else if left & (READERS | WRITERS_WAIT) == WRITERS_WAIT {
            // The upgradable reader becomes the writer next, and no newcomer can.
            self.wake_writer();
        }
    }

    /// Unlocks a lock that is held by the upgradable reader. Its place is for a thread that sleeps
    /// for it; and if the caller is the last reader and writers sleep, the lock is for one of these.
    /// No newcomer comes between, unless none of them runs within a millisecond.
    ///
    /// ```
    /// use leeward::raw::RwLock;
    /// let lock = <RwLock>::new();
    /// lock.lock_upgradable();
    /// // SAFETY: this thread is the upgradable reader.
    /// unsafe { lock.unlock_upgradable_fair() };
    /// assert!(lock.try_lock_upgradable());            // no thread slept
    /// ```
    ///
    /// # Safety
    /// The caller is the upgradable reader, and gives that up.
    pub unsafe fn unlock_upgradable_fair(&self) {
        // Release: as in `unlock_upgradable`. Relaxed on failure: the state is read anew.
        if self.state.compare_exchange(ALONE, 0, Ordering::Release, Ordering::Relaxed).is_ok() {
            return;
        }
        let (state, left) = self.leave_fairly(after_fair_upgradable);
        let has_woken = state & READERS_WAIT != 0 && self.wake_readers();
        if is_kept_for_writers(left) {
            self.hand_over(true);
        } else if left & RESERVED != 0 && !has_woken {
            self.hand_over(false);
        }
    }

    /// Changes the state to what `leave` says that a reader leaves; returns it before and after.
    fn leave_fairly(&self, leave: impl Fn(u32) -> u32) -> (u32, u32) {
        // Relaxed: the exchange decides.
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            let left = leave(state);
            // Release: as in `unlock_shared`.
            match self.state.compare_exchange_weak(state, left, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return (state, left),
                Err(now) => state = now,
            }
        }
    }

    /// Wakes a writer for which the lock is reserved, if `writers_wait`; takes the reservation back if
    /// none sleeps.
    fn hand_over(&self, writers_wait: bool) {
        if !(writers_wait && self.wake_a_writer()) {
            step!(rwlock_fair_undone, self.retract(RESERVED));
        }
    }

    /// Lets a waiting thread have the lock, if there is any, as
    /// [`unlock_exclusive_fair`](Self::unlock_exclusive_fair) does, and locks it for writing again.
    /// If no thread waits, it costs a load.
    ///
    /// # Safety
    /// The lock is held for writing, and what it guards may have changed at the return.
    pub unsafe fn bump_exclusive(&self) {
        // Relaxed: a thread that has just come to wait may wait for the next call.
        if self.state.load(Ordering::Relaxed) & (READERS_WAIT | WRITERS_WAIT) != 0 {
            // SAFETY: the caller's promise.
            unsafe { self.unlock_exclusive_fair() };
            self.lock_exclusive();
        }
    }

    /// Lets a waiting writer have the lock, if there is any, as
    /// [`unlock_shared_fair`](Self::unlock_shared_fair) does, and locks it for reading again. If no
    /// writer waits, it costs a load.
    ///
    /// ```
    /// use leeward::raw::RwLock;
    /// let lock = <RwLock>::new();
    /// lock.lock_upgradable();
    /// lock.lock_shared();
    /// // SAFETY: locked for reading, and by the upgradable reader; then that one is the writer.
    /// unsafe {
    ///     lock.bump_shared();
    ///     lock.bump_upgradable();
    ///     lock.unlock_shared();
    ///     lock.upgrade();
    ///     lock.bump_exclusive();
    ///     lock.unlock_exclusive();
    /// }
    /// assert!(!lock.is_locked());
    /// ```
    ///
    /// # Safety
    /// The lock is held for reading, and what it guards may have changed at the return.
    pub unsafe fn bump_shared(&self) {
        // Relaxed: as in `bump_exclusive`.
        if self.state.load(Ordering::Relaxed) & WRITERS_WAIT != 0 {
            // SAFETY: the caller's promise.
            unsafe { self.unlock_shared_fair() };
            self.lock_shared();
        }
    }

    /// Lets a waiting thread have the lock or the place of the upgradable reader, if there is any, as
    /// [`unlock_upgradable_fair`](Self::unlock_upgradable_fair) does, and becomes the upgradable
    /// reader again. If no thread waits, it costs a load.
    ///
    /// # Safety
    /// The caller is the upgradable reader, and what the lock guards may have changed at the return.
    pub unsafe fn bump_upgradable(&self) {
        // Relaxed: as in `bump_exclusive`.
        if self.state.load(Ordering::Relaxed) & (READERS_WAIT | WRITERS_WAIT) != 0 {
            // SAFETY: the caller's promise.
            unsafe { self.unlock_upgradable_fair() };
            self.lock_upgradable();
        }
    }
}
