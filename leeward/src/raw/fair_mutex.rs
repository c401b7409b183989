//! The mutex whose every unlock is fair. Called through `sync`, by way of `lock_api/`; calls
//! `mutex.rs`.

use super::Mutex;
use crate::atomic::const_fn;
use crate::futex::{Deadline, Futex, Private};

/// A [`Mutex`] that is always unlocked by [`unlock_fair`](Mutex::unlock_fair): for the thread that
/// has slept longest, past which no newcomer gets the lock. 4 bytes, valid when zeroed (unlocked).
///
/// ```
/// use leeward::raw::FairMutex;
/// static LOCK: FairMutex = FairMutex::new();
/// LOCK.lock();
/// assert!(!LOCK.try_lock());
/// // SAFETY: locked above.
/// unsafe { LOCK.unlock() };
/// ```
///
/// # Cost
/// - Free: as [`Mutex`]'s.
/// - Contended: a contended lock is idle until the thread runs for which it was unlocked, which may
///   be a hundred times as long as the lock is held. Where a bound is enough, take [`Mutex`], which
///   has one.
///
/// # Fairness
/// No thread that has not slept for the lock takes it from one that sleeps. Sleeping threads are
/// woken in the order in which they went to sleep; of those that have slept, one that is awake may
/// be quicker than the one that was woken. If none of them runs within a millisecond, a newcomer
/// takes the lock.
///
/// # Lifetime
/// The lock must live until each call on it has returned.
///
/// # Fork, signals
/// As [`Mutex`].
#[repr(transparent)]
pub struct FairMutex<F: Futex = Private>(pub(super) Mutex<F>);

impl FairMutex {
    const_fn! {
        /// Returns an unlocked mutex.
        #[allow(clippy::new_without_default)]
        pub fn new() -> Self {
            Self::new_in()
        }
    }
}

impl<F: Futex> FairMutex<F> {
    const_fn! {
        /// Returns an unlocked mutex.
        ///
        /// It is on the futexes that its type names; [`new`](FairMutex::new) returns one for a single process.
        pub fn new_in() -> Self {
            FairMutex(Mutex::new_in())
        }
    }

    /// Locks the mutex, waiting as long as that takes. What was done under the lock before happens
    /// before the return.
    #[inline]
    pub fn lock(&self) {
        self.0.lock();
    }

    /// Locks the mutex if it is neither held nor reserved for a waiter; returns true if it did.
    #[inline]
    pub fn try_lock(&self) -> bool {
        self.0.try_lock()
    }

    /// Locks the mutex if that is possible until `deadline`; returns true if it did. Attempts at
    /// least once.
    ///
    /// ```
    /// use leeward::futex::{Deadline, Private};
    /// use leeward::raw::FairMutex;
    /// use std::time::Duration;
    /// let lock = <FairMutex>::new();
    /// lock.lock();
    /// let soon = Deadline::after::<Private>(Duration::from_millis(1));
    /// assert!(lock.is_locked() && !lock.try_lock_until(soon));
    /// // SAFETY: locked above.
    /// unsafe { lock.unlock() };
    /// ```
    #[inline]
    pub fn try_lock_until(&self, deadline: Deadline) -> bool {
        self.0.try_lock_until(deadline)
    }

    /// Unlocks the mutex for the thread that has slept longest, if any sleeps.
    ///
    /// # Safety
    /// The caller holds the lock.
    #[inline]
    pub unsafe fn unlock(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.0.unlock_fair() };
    }

    /// Lets a thread that waits for the mutex have it, if there is one, and locks it again. If none
    /// waits, it costs a load.
    ///
    /// # Safety
    /// The caller holds the lock, and what it guards may have changed at the return.
    #[inline]
    pub unsafe fn bump(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.0.bump() };
    }

    /// Returns true if a thread held the mutex; out of date when it returns.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

impl<F: Futex> core::fmt::Debug for FairMutex<F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("FairMutex").field("locked", &self.is_locked()).finish_non_exhaustive()
    }
}
