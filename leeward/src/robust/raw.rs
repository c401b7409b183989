//! A robust lock without data and without guards, for callers that lock in one function and unlock
//! in another: the C face. Hidden, and no part of the interface. Calls `lock`.
//!
//! A guard knows whether its owner was told of a death. Without a guard the lock's state says so:
//! `BEING_REPAIRED`, which every other owner takes for `USABLE`. An owner that dies while it
//! repairs leaves that value, and an owner with a guard does not look at it; so each owner without
//! a guard writes the state when it has taken the lock.

use super::ListError;
use super::current::current;
use super::lock::{BEING_REPAIRED, Lock, LockTaken, USABLE};
use super::unlock::ByExchange;
use crate::atomic::Ordering;
use crate::futex::Timeout;

pub use super::lock::Refusal;

/// A robust lock without data, unlocked by an exchange: the first 40 bytes of a
/// [`Mutex`](super::Mutex), with which it may be mixed. Zeroed memory is an unlocked one.
#[repr(transparent)]
pub struct RawMutex {
    lock: Lock,
}

impl RawMutex {
    /// Returns an unlocked lock.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> RawMutex {
        RawMutex { lock: Lock::new() }
    }

    /// Locks the lock until `timeout`. Returns true if its last owner died: the caller has the lock
    /// all the same, and calls [`mark_consistent`](Self::mark_consistent) once the data is whole.
    ///
    /// # Errors
    /// [`Refusal`]: the lock was not taken.
    #[inline]
    pub fn lock(&'static self, timeout: Timeout) -> Result<bool, Refusal> {
        let LockTaken { owner_died, .. } = self.lock.lock::<ByExchange>(timeout)?;
        let state = if owner_died { BEING_REPAIRED } else { USABLE };
        // Relaxed, both: until the caller unlocks, no other thread acts by this word. A death
        // before the store is reported anew, whatever the word says.
        if self.lock.state.load(Ordering::Relaxed) != state {
            self.lock.state.store(state, Ordering::Relaxed);
        }
        Ok(owner_died)
    }

    /// Unlocks the lock; makes it unusable forever if an owner died and the data was not marked
    /// consistent since. Returns false, and changes nothing, if the calling thread does not hold
    /// it.
    ///
    /// # Safety
    /// If the lock's word has the calling thread's number, the thread has taken the lock by
    /// [`lock`](Self::lock), in this process.
    #[inline]
    pub unsafe fn unlock(&'static self) -> bool {
        let Some(me) = current().ok().filter(|me| me.id() == self.owner()) else { return false };
        // Relaxed: written by this thread since it took the lock.
        let is_inconsistent = self.lock.state.load(Ordering::Relaxed) == BEING_REPAIRED;
        // SAFETY: the caller's promise.
        unsafe { self.lock.unlock::<ByExchange>(me, is_inconsistent) };
        true
    }

    /// Says that the data is whole again. Returns false, and changes nothing, unless the calling
    /// thread holds the lock and was told that an owner died.
    pub fn mark_consistent(&self) -> bool {
        let is_mine = current().is_ok_and(|me| me.id() == self.owner());
        // Relaxed, all: as in `lock`. The lock's release publishes the data.
        let was_told = is_mine && self.lock.state.load(Ordering::Relaxed) == BEING_REPAIRED;
        if was_told {
            self.lock.state.store(USABLE, Ordering::Relaxed);
        }
        was_told
    }

    /// Returns the number of the thread that held the lock; 0: none. Out of date when it returns,
    /// unless it is the calling thread's.
    #[inline]
    pub fn owner(&self) -> u32 {
        self.lock.owner()
    }

    /// Returns true if the lock is unusable forever.
    pub fn is_unrecoverable(&self) -> bool {
        self.lock.is_unrecoverable()
    }

    /// Frees a lock whose owner's death the kernel did not report, as
    /// [`Mutex::declare_owner_dead`](super::Mutex::declare_owner_dead) does.
    ///
    /// # Errors
    /// [`ListError`]: this thread has no robust list.
    ///
    /// # Safety
    /// No thread holds the lock: `owner` is dead in every pid namespace.
    pub unsafe fn declare_owner_dead(&'static self, owner: u32) -> Result<bool, ListError> {
        // SAFETY: the caller's promise.
        unsafe { self.lock.declare_dead(owner) }
    }
}
