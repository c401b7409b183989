//! What a condition variable asks of a lock: to be unlocked and locked, and where its waiters may
//! be moved; and the answers of the locks of this folder.

use super::{FairMutex, LightMutex, Mutex, RwLock};
use crate::futex::{Futex, Private, Timeout};

/// A lock that a [`Condvar`](super::Condvar) over the same futex may be waited on with.
///
/// A lock of your own only forwards two calls. Its waiters are then woken and never moved:
/// ```
/// use leeward::futex::Private;
/// use leeward::raw::{Condvar, Lock, Mutex};
///
/// /// A mutex that counts how often it was locked.
/// struct Counted(Mutex, std::sync::atomic::AtomicU32);
///
/// // SAFETY: `lock` and `unlock` are those of a mutex.
/// unsafe impl Lock<Private> for Counted {
///     fn lock(&self) {
///         self.0.lock();
///         self.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
///     }
///     unsafe fn unlock(&self) {
///         // SAFETY: the caller's promise.
///         unsafe { self.0.unlock() };
///     }
/// }
///
/// let (lock, condition) = (Counted(Mutex::new(), 0.into()), <Condvar>::new());
/// lock.lock();
/// // SAFETY: locked above.
/// let notified = unsafe { condition.wait(&lock, leeward::futex::Timeout::Now) };
/// assert!(!notified);
/// assert_eq!(lock.1.into_inner(), 2);
/// ```
///
/// # Safety
/// `lock` returns to one caller at a time until `unlock`, with acquire and release ordering, and
/// neither unwinds. The mutex that `queue` returns lives as long as `self` and is the same each
/// time, and a thread that holds that mutex holds `self`.
pub unsafe trait Lock<F: Futex> {
    /// Locks the lock, waiting as long as that takes.
    fn lock(&self);

    /// Unlocks the lock.
    ///
    /// # Safety
    /// The caller holds the lock.
    unsafe fn unlock(&self);

    /// Returns the mutex to whose word waiters may be moved, to be woken by its unlock. None if
    /// this kind of lock cannot take moved waiters: then they are woken.
    ///
    /// ```
    /// use leeward::futex::Private;
    /// use leeward::raw::{LightMutex, Lock, Mutex};
    /// assert!(Lock::<Private>::queue(&<Mutex>::new()).is_some());
    /// assert!(Lock::<Private>::queue(&LightMutex::new()).is_none());
    /// ```
    fn queue(&self) -> Option<&Mutex<F>> {
        None
    }

    /// Locks the lock for a thread that was, or may have been, moved to [`queue`](Self::queue): as
    /// a contended lock, since other moved threads may sleep there and no other mark names them.
    ///
    /// ```
    /// use leeward::futex::Private;
    /// use leeward::raw::{Lock, Mutex};
    /// let lock = <Mutex>::new();
    /// Lock::<Private>::lock_moved(&lock);
    /// assert!(lock.is_locked());
    /// // SAFETY: locked above.
    /// unsafe { Lock::<Private>::unlock(&lock) };
    /// ```
    fn lock_moved(&self) {
        self.lock();
    }
}

// SAFETY: `lock` lets one caller in until `unlock`, and `queue` is this lock.
unsafe impl<F: Futex> Lock<F> for Mutex<F> {
    fn lock(&self) {
        Mutex::lock(self);
    }

    unsafe fn unlock(&self) {
        // SAFETY: the caller's promise.
        unsafe { Mutex::unlock(self) };
    }

    fn queue(&self) -> Option<&Mutex<F>> {
        Some(self)
    }

    fn lock_moved(&self) {
        self.lock_contended(Timeout::Never, true);
    }
}

// SAFETY: `lock` lets one caller in until `unlock`; `queue` is the lock itself without its fair
// unlock.
unsafe impl<F: Futex> Lock<F> for FairMutex<F> {
    fn lock(&self) {
        FairMutex::lock(self);
    }

    unsafe fn unlock(&self) {
        // SAFETY: the caller's promise.
        unsafe { FairMutex::unlock(self) };
    }

    fn queue(&self) -> Option<&Mutex<F>> {
        Some(&self.0)
    }

    fn lock_moved(&self) {
        self.0.lock_moved();
    }
}

// SAFETY: `lock` lets one caller in until `unlock`.
unsafe impl Lock<Private> for LightMutex {
    fn lock(&self) {
        LightMutex::lock(self);
    }

    unsafe fn unlock(&self) {
        // SAFETY: the caller's promise.
        unsafe { LightMutex::unlock(self) };
    }
}

// SAFETY: a writer is alone from `lock_exclusive` to `unlock_exclusive`.
unsafe impl<F: Futex> Lock<F> for RwLock<F> {
    fn lock(&self) {
        self.lock_exclusive();
    }

    unsafe fn unlock(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.unlock_exclusive() };
    }
}
