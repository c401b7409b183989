//! The guard of a part of a priority-inheriting mutex's value.

use core::marker::PhantomData;
use core::mem;
use core::ptr::NonNull;

use super::{MutexGuard, RawMutex};
use crate::guard::guard;

/// An exclusive reference to a part of the value of a [`Mutex`](super::Mutex); dropping it unlocks.
///
/// [`MutexGuard::map`] makes it. As a [`MutexGuard`] it is not `Send`, and if it is leaked and its
/// thread exits, no thread gets the lock again.
///
/// ```
/// use leeward::pi::{MappedMutexGuard, Mutex, MutexGuard};
/// let pair = Mutex::new((1, "one"));
/// let mut number: MappedMutexGuard<'_, i32> = MutexGuard::map(pair.lock().unwrap(), |pair| &mut pair.0);
/// *number = 2;
/// drop(number);
/// assert_eq!(pair.into_inner().0, 2);
/// ```
#[must_use = "it is unlocked at once"]
pub struct MappedMutexGuard<'a, T: ?Sized> {
    lock: &'a RawMutex,
    /// The part, in a value that the lock gives to this guard alone. (A pointer keeps the guard on
    /// its thread.)
    part: NonNull<T>,
    borrowed: PhantomData<&'a mut T>,
}

// SAFETY: a shared guard gives shared references to the part only.
unsafe impl<T: ?Sized + Sync> Sync for MappedMutexGuard<'_, T> {}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// Makes the guard one of a part of the value, which `part` chooses. If `part` panics, the lock
    /// is unlocked.
    ///
    /// It is an associated function, so that it hides no method of the value: `MutexGuard::map(guard,
    /// |value| &mut value.part)`.
    pub fn map<U: ?Sized>(mut guard: Self, part: impl FnOnce(&mut T) -> &mut U) -> MappedMutexGuard<'a, U> {
        let part = NonNull::from(part(&mut guard));
        let mapped = MappedMutexGuard { lock: guard.lock(), part, borrowed: PhantomData };
        mem::forget(guard);
        mapped
    }

    /// Makes the guard one of a part of the value, if `part` returns one.
    ///
    /// # Errors
    /// `part` returned `None`: the guard comes back.
    ///
    /// ```
    /// use leeward::pi::{Mutex, MutexGuard};
    /// let queue = Mutex::new(vec![1]);
    /// let first = MutexGuard::try_map(queue.lock().unwrap(), |queue| queue.first_mut());
    /// *first.unwrap() = 2;
    /// let third = MutexGuard::try_map(queue.lock().unwrap(), |queue| queue.get_mut(2));
    /// assert_eq!(*third.unwrap_err(), [2]);
    /// ```
    pub fn try_map<U: ?Sized>(
        mut guard: Self,
        part: impl FnOnce(&mut T) -> Option<&mut U>,
    ) -> Result<MappedMutexGuard<'a, U>, Self> {
        match part(&mut guard).map(NonNull::from) {
            Some(part) => {
                let mapped = MappedMutexGuard { lock: guard.lock(), part, borrowed: PhantomData };
                mem::forget(guard);
                Ok(mapped)
            }
            None => Err(guard),
        }
    }
}

impl<'a, T: ?Sized> MappedMutexGuard<'a, T> {
    /// Makes the guard one of a smaller part, which `part` chooses. If `part` panics, the lock is
    /// unlocked.
    pub fn map<U: ?Sized>(mut guard: Self, part: impl FnOnce(&mut T) -> &mut U) -> MappedMutexGuard<'a, U> {
        let part = NonNull::from(part(&mut guard));
        let mapped = MappedMutexGuard { lock: guard.lock, part, borrowed: PhantomData };
        mem::forget(guard);
        mapped
    }
}

// The thread from which the guard does not move has the lock.
guard! { MappedMutexGuard<'_, T> [T: ?Sized], mut self => self.part.as_ptr() }

impl<T: ?Sized> Drop for MappedMutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this thread, from which the guard does not move, took the lock.
        unsafe { self.lock.unlock() };
    }
}
