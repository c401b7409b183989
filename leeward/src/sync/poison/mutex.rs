//! std's `Mutex`: [`sync::Mutex`] and a flag.

use core::fmt;
use core::ops::{Deref, DerefMut};
use core::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{LockResult, TryLockError, TryLockResult};

use super::flag::{Flag, Watch};
use super::lock::{guards, locks};
use crate::sync;

/// A mutual exclusion lock around a value, which is poisoned by a holder that panics.
///
/// ```
/// use leeward::sync::poison::{Arc, Mutex};
/// use std::thread;
/// let account = Arc::new(Mutex::new((100, 0)));
/// let payer = Arc::clone(&account);
/// let payer = thread::spawn(move || {
///     let mut account = payer.lock().unwrap();
///     account.0 -= 10;
///     panic!("on the way");
/// });
/// assert!(payer.join().is_err() && account.is_poisoned());
/// let mut guard = account.lock().unwrap_or_else(|error| {
///     account.clear_poison();
///     error.into_inner()
/// });
/// *guard = (100, 0);
/// drop(guard);
/// assert_eq!(*account.lock().unwrap(), (100, 0));
/// assert_eq!(format!("{account:?}"), "Mutex { data: (100, 0), poisoned: false, .. }");
/// ```
///
/// Cost, fairness, fork and signals: [`raw::Mutex`](crate::raw::Mutex); what poisoning adds:
/// [the module](super#cost).
pub struct Mutex<T: ?Sized> {
    flag: Flag,
    lock: sync::Mutex<T>,
}

locks! { Mutex, try_lock }

impl<T: ?Sized> Mutex<T> {
    /// Locks the mutex, waiting as long as that takes.
    ///
    /// # Errors
    /// The mutex is poisoned; it is locked all the same, and the error has the guard.
    #[inline]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let guard = self.lock.lock();
        self.flag.result(MutexGuard { watch: self.flag.watch(), guard })
    }

    /// Locks the mutex if it is free.
    ///
    /// # Errors
    /// - `WouldBlock`: it is not free.
    /// - `Poisoned`: it is locked now, and the error has the guard.
    #[inline]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let Some(guard) = self.lock.try_lock() else { return Err(TryLockError::WouldBlock) };
        Ok(self.flag.result(MutexGuard { watch: self.flag.watch(), guard })?)
    }
}

/// A locked [`Mutex`]; unlocks it when dropped, and poisons it if the thread has begun to panic.
///
/// ```
/// use leeward::sync::poison::{Mutex, MutexGuard, TryLockError};
/// let count = Mutex::new(1);
/// let mut guard: MutexGuard<'_, i32> = count.lock().unwrap();
/// *guard += 1;
/// assert!(matches!(count.try_lock(), Err(TryLockError::WouldBlock)));
/// drop(guard);
/// assert_eq!(count.into_inner().unwrap(), 2);
/// ```
#[must_use = "if unused, the Mutex is unlocked at once"]
#[clippy::has_significant_drop]
pub struct MutexGuard<'a, T: ?Sized> {
    // Dropped first: the next holder finds the flag set.
    pub(super) watch: Watch<'a>,
    pub(super) guard: sync::MutexGuard<'a, T>,
}

guards! { mut MutexGuard }
