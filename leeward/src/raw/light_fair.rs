//! The fair unlock of [`LightMutex`]: it leaves the lock reserved for a thread that sleeps. Called by
//! `lock_api/`; calls `light_mutex.rs` to wake.
//!
//! The bits are those of any lock that is taken by sleepers only: the unlock stores "reserved" and
//! wakes one. If the wake finds a sleeper, that thread takes the lock, unless another that has slept
//! is quicker. If it finds none, the reservation is taken back, which is an unlock as the plain one:
//! its store, its half of pair F, its look for sleepers. So a thread that is counted and does not
//! sleep yet loses no wake-up by that:
//!
//! - If the store of "unlocked" comes first, its recheck, or the next one, finds the lock free.
//! - If it sleeps first, the look for sleepers finds it.

use super::LightMutex;
use super::light_mutex::{RESERVED, UNLOCKED, sleepers};
use crate::atomic::Ordering;
use crate::futex::{Futex, Private};
use crate::mutant::{mutated, step};

impl LightMutex {
    /// Unlocks the mutex for the thread that has slept longest, if any sleeps: no newcomer gets the
    /// lock before. The lock is idle until that thread runs, or another that waits has waited
    /// for a millisecond. If no thread sleeps, this is [`unlock`](Self::unlock) and a load.
    ///
    /// ```
    /// use leeward::raw::LightMutex;
    /// let lock = LightMutex::new();
    /// lock.lock();
    /// // SAFETY: locked above.
    /// unsafe { lock.unlock_fair() };
    /// assert!(lock.try_lock());                       // no thread slept
    /// // SAFETY: locked above, twice.
    /// unsafe {
    ///     lock.bump();
    ///     lock.unlock();
    /// }
    /// ```
    ///
    /// # Safety
    /// The caller holds the lock.
    pub unsafe fn unlock_fair(&self) {
        // Relaxed: a thread whose announcement is not seen here has just come, and `unlock` wakes it.
        if sleepers(self.waiters.load(Ordering::Relaxed)) == 0 {
            // SAFETY: the caller's promise.
            return unsafe { self.unlock() };
        }
        let left = if mutated!(light_fair_reserves) { UNLOCKED } else { RESERVED };
        // Release: as in `unlock`.
        self.state.store(left, Ordering::Release);
        // A thread that sleeps is woken, and takes the lock, unless another that has slept is
        // quicker, whose unlock wakes the next.
        if Private::wake(&self.waiters, 1) == 0 {
            step!(light_fair_undone, self.unreserve());
        }
    }

    /// Takes back the reservation of a lock for which no thread slept, and unlocks it for all. A
    /// thread may have gone to sleep since, so one is woken.
    #[cold]
    fn unreserve(&self) {
        // Release: as in `unlock`. Relaxed on failure: a thread that has slept has taken the lock, and
        // its unlock wakes the next.
        if self.state.compare_exchange(RESERVED, UNLOCKED, Ordering::Release, Ordering::Relaxed).is_ok() {
            self.wake_sleepers();
        }
    }

    /// Lets a thread that sleeps for the mutex have it, if there is one, as
    /// [`unlock_fair`](Self::unlock_fair) does, and locks it again. If none sleeps, it costs a load.
    ///
    /// # Safety
    /// The caller holds the lock, and what it guards may have changed at the return.
    pub unsafe fn bump(&self) {
        // Relaxed: as in `unlock_fair`.
        if sleepers(self.waiters.load(Ordering::Relaxed)) != 0 {
            // SAFETY: the caller's promise.
            unsafe { self.unlock_fair() };
            self.lock();
        }
    }
}
