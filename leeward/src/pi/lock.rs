//! Data under a priority-inheriting lock.

use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::time::Duration;

use super::{Error, RawMutex};
use crate::futex::{Deadline, Private};

/// A mutex whose owner inherits the priority of whoever waits for it.
///
/// No poison: who panics under it unlocks it.
#[derive(Default)]
pub struct Mutex<T: ?Sized> {
    lock: RawMutex,
    value: UnsafeCell<T>,
}

// SAFETY: one thread at a time has the value.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

impl Default for RawMutex {
    fn default() -> RawMutex {
        RawMutex::new()
    }
}

impl<T> Mutex<T> {
    /// An unlocked one.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex { lock: RawMutex::new(), value: UnsafeCell::new(value) }
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Locks it, waiting as long as that takes.
    ///
    /// # Errors
    /// [`Error`], but not `TimedOut`.
    #[inline]
    pub fn lock(&self) -> Result<MutexGuard<'_, T>, Error> {
        self.lock.lock().map(|()| self.guard())
    }

    /// Locks it if nobody holds it.
    ///
    /// # Errors
    /// As [`RawMutex::try_lock`].
    #[inline]
    pub fn try_lock(&self) -> Result<MutexGuard<'_, T>, Error> {
        self.lock.try_lock().map(|()| self.guard())
    }

    /// Locks it within `limit`.
    ///
    /// # Errors
    /// [`Error`].
    pub fn try_lock_for(&self, limit: Duration) -> Result<MutexGuard<'_, T>, Error> {
        self.try_lock_until(Deadline::after::<Private>(limit))
    }

    /// Locks it by `deadline`.
    ///
    /// # Errors
    /// [`Error`].
    pub fn try_lock_until(&self, deadline: Deadline) -> Result<MutexGuard<'_, T>, Error> {
        self.lock.lock_until(deadline).map(|()| self.guard())
    }

    fn guard(&self) -> MutexGuard<'_, T> {
        MutexGuard { mutex: self, is_this_threads: PhantomData }
    }

    /// The value, which nobody else can have.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_lock() {
            Ok(guard) => f.debug_tuple("Mutex").field(&&*guard).finish(),
            Err(_) => f.write_str("Mutex(<locked>)"),
        }
    }
}

/// An open lock of a [`Mutex`]; unlocked by its own thread, as the kernel demands.
#[must_use = "it is unlocked at once"]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    is_this_threads: PhantomData<*const ()>,
}

// SAFETY: sharing a guard shares the value.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: locked.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: locked, and this guard is borrowed alone.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: locked by this thread, to which the guard is bound.
        unsafe { self.mutex.lock.unlock() };
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
