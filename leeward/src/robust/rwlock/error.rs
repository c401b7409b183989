//! What a locker of a robust readers-writer lock is told. Made by `rwlock`.

use core::fmt;

use super::super::ListError;
use super::super::lock::Refusal;
use super::{AnyBytes, WriteGuard};

/// The reason why a [`RwLock`](super::RwLock) was not simply locked. `OwnerDied` holds the lock,
/// for writing; the others do not.
///
/// ```
/// use leeward::robust::{RwLock, RwLockError};
/// static LOCK: RwLock<u32> = RwLock::new(0);
/// let guard = LOCK.write().unwrap();
/// assert!(matches!(LOCK.try_read(), Err(RwLockError::WouldDeadlock)));
/// std::thread::scope(|scope| {
///     scope.spawn(|| assert!(matches!(LOCK.try_read(), Err(RwLockError::WouldBlock))));
/// });
/// # drop(guard);
/// ```
#[non_exhaustive]
pub enum RwLockError<T: AnyBytes, const READERS: usize = 32> {
    /// The lock was taken for writing, whatever was asked for, because the last writer died in it:
    /// the data may be half-written. Repair it and [mark it
    /// consistent](WriteGuard::mark_consistent). A guard that is dropped without that leaves the
    /// repair to the next locker if the call was to read, and makes the lock unusable if it was to
    /// write.
    OwnerDied(WriteGuard<T, READERS>),
    /// A writer died, and the next one did not repair the data.
    NotRecoverable,
    /// The calling thread writes already; or reads already, and would have to wait. (Or a word was
    /// overwritten and holds its number.)
    WouldDeadlock,
    /// Another thread has the lock, and the call was not to wait.
    WouldBlock,
    /// Another thread had the lock until the time limit passed.
    TimedOut,
    /// A part of the lock is held by a thread of this number, and there is no such thread; see
    /// [`LockError::OwnerLost`](crate::robust::LockError::OwnerLost).
    /// [`RwLock::declare_owner_dead`](super::RwLock::declare_owner_dead) frees it.
    OwnerLost(u32),
    /// The calling thread has no robust list that can be used.
    NoList(ListError),
}

impl<T: AnyBytes, const READERS: usize> RwLockError<T, READERS> {
    #[cold]
    pub(super) fn of(refusal: Refusal) -> RwLockError<T, READERS> {
        match refusal {
            Refusal::NotRecoverable => RwLockError::NotRecoverable,
            Refusal::WouldDeadlock => RwLockError::WouldDeadlock,
            Refusal::WouldBlock => RwLockError::WouldBlock,
            Refusal::TimedOut => RwLockError::TimedOut,
            Refusal::OwnerLost(owner) => RwLockError::OwnerLost(owner),
            Refusal::NoList(error) => RwLockError::NoList(error),
        }
    }

    /// Repairs the data by `repair` and marks it consistent, if a writer died, and returns the
    /// guard, which *writes*. Any other error stays. If `repair` panics, the guard is dropped as it
    /// was.
    ///
    /// ```
    /// use leeward::robust::{RwLock, RwLockError};
    /// static COUNT: RwLock<u64> = RwLock::new(0);
    /// fn count() -> Result<u64, RwLockError<u64>> {
    ///     let count = COUNT.read().or_else(|error| {
    ///         drop(error.repair(|count| *count = 0)?);
    ///         COUNT.read()
    ///     })?;
    ///     Ok(count.get())
    /// }
    /// assert_eq!(count().unwrap(), 0);
    /// ```
    ///
    /// # Errors
    /// The error itself, unless it is `OwnerDied`.
    pub fn repair(self, repair: impl FnOnce(&mut T)) -> Result<WriteGuard<T, READERS>, RwLockError<T, READERS>> {
        match self {
            RwLockError::OwnerDied(mut guard) => {
                guard.with(repair);
                guard.mark_consistent();
                Ok(guard)
            }
            other => Err(other),
        }
    }
}

impl<T: AnyBytes, const READERS: usize> fmt::Debug for RwLockError<T, READERS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<T: AnyBytes, const READERS: usize> fmt::Display for RwLockError<T, READERS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RwLockError::OwnerDied(_) => f.write_str("the lock's last writer died: its data may be half-written"),
            RwLockError::NotRecoverable => {
                f.write_str("the lock is unusable: a writer died and its data was not repaired")
            }
            RwLockError::WouldDeadlock => f.write_str("the calling thread has the lock already"),
            RwLockError::WouldBlock => f.write_str("the lock is held"),
            RwLockError::TimedOut => f.write_str("the lock was held until the time was up"),
            RwLockError::OwnerLost(owner) => {
                write!(
                    f,
                    "the lock is held by thread {owner}, which does not exist: its death was not \
                     reported, or the lock was overwritten"
                )
            }
            RwLockError::NoList(error) => error.fmt(f),
        }
    }
}

impl<T: AnyBytes, const READERS: usize> core::error::Error for RwLockError<T, READERS> {}
