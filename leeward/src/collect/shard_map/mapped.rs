//! Guards of a part of a value: [`MappedRef`] and [`MappedRefMut`]. Made by `one`.

use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

use super::shard::{ReadGuard, WriteGuard};

/// A shared reference to a part of a value of a [`ShardMap`](super::ShardMap), whose shard is locked
/// for reading until the drop. Made by [`Ref::map`](super::Ref::map).
pub struct MappedRef<'a, K, V, T: ?Sized> {
    guard: ReadGuard<'a, (K, V)>,
    entry: NonNull<(K, V)>,
    part: NonNull<T>,
}

// SAFETY: a shared guard gives shared references to the key and the part, and nothing else.
unsafe impl<K: Sync, V: Sync, T: ?Sized + Sync> Sync for MappedRef<'_, K, V, T> {}

impl<'a, K, V, T: ?Sized> MappedRef<'a, K, V, T> {
    pub(super) fn new(guard: ReadGuard<'a, (K, V)>, entry: NonNull<(K, V)>, part: NonNull<T>) -> Self {
        MappedRef { guard, entry, part }
    }

    /// Returns the key.
    pub fn key(&self) -> &K {
        // SAFETY: the entry lies in the table, which `guard` keeps as it is.
        unsafe { &self.entry.as_ref().0 }
    }

    /// Returns the part of the value.
    pub fn value(&self) -> &T {
        // SAFETY: the part is the value's, which `guard` keeps as it is.
        unsafe { self.part.as_ref() }
    }

    /// Returns the key and the part of the value.
    pub fn pair(&self) -> (&K, &T) {
        (self.key(), self.value())
    }

    /// Makes a guard of a part of the part.
    pub fn map<U: ?Sized>(self, part: impl FnOnce(&T) -> &U) -> MappedRef<'a, K, V, U> {
        let part = NonNull::from(part(self.value()));
        MappedRef { guard: self.guard, entry: self.entry, part }
    }

    /// Makes a guard of a part of the part, if it has that; else returns the guard.
    ///
    /// # Errors
    /// The guard itself, if `part` returns none.
    pub fn try_map<U: ?Sized>(self, part: impl FnOnce(&T) -> Option<&U>) -> Result<MappedRef<'a, K, V, U>, Self> {
        match part(self.value()).map(NonNull::from) {
            Some(part) => Ok(MappedRef { guard: self.guard, entry: self.entry, part }),
            None => Err(self),
        }
    }
}

impl<K, V, T: ?Sized> Deref for MappedRef<'_, K, V, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value()
    }
}

impl<K: fmt::Debug, V, T: ?Sized + fmt::Debug> fmt::Debug for MappedRef<'_, K, V, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MappedRef").field("key", self.key()).field("value", &self.value()).finish()
    }
}

impl<K, V, T: ?Sized + fmt::Display> fmt::Display for MappedRef<'_, K, V, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value().fmt(f)
    }
}

impl<K, V, T: ?Sized + AsRef<U>, U: ?Sized> AsRef<U> for MappedRef<'_, K, V, T> {
    fn as_ref(&self) -> &U {
        self.value().as_ref()
    }
}

/// An exclusive reference to a part of a value of a [`ShardMap`](super::ShardMap), whose shard is
/// locked for writing until the drop. Made by [`RefMut::map`](super::RefMut::map).
pub struct MappedRefMut<'a, K, V, T: ?Sized> {
    guard: WriteGuard<'a, (K, V)>,
    entry: NonNull<(K, V)>,
    part: NonNull<T>,
    /// The part is changed through this guard, so its type must not vary.
    exclusive: PhantomData<&'a mut T>,
}

// SAFETY: as for `MappedRef`; the part is changed by an exclusive reference only.
unsafe impl<K: Sync, V: Sync, T: ?Sized + Sync> Sync for MappedRefMut<'_, K, V, T> {}

impl<'a, K, V, T: ?Sized> MappedRefMut<'a, K, V, T> {
    pub(super) fn new(guard: WriteGuard<'a, (K, V)>, entry: NonNull<(K, V)>, part: NonNull<T>) -> Self {
        MappedRefMut { guard, entry, part, exclusive: PhantomData }
    }

    /// Returns the key.
    pub fn key(&self) -> &K {
        // SAFETY: the entry lies in the table, which `guard` has; the field alone is borrowed, as
        // the part is borrowed exclusively beside it.
        unsafe { &(*self.entry.as_ptr()).0 }
    }

    /// Returns the part of the value.
    pub fn value(&self) -> &T {
        // SAFETY: the part is the value's, which `guard` has for this thread alone.
        unsafe { self.part.as_ref() }
    }

    /// Returns the part of the value, to be changed.
    pub fn value_mut(&mut self) -> &mut T {
        // SAFETY: as in `value`; `self` is borrowed exclusively.
        unsafe { self.part.as_mut() }
    }

    /// Returns the key and the part of the value.
    pub fn pair(&self) -> (&K, &T) {
        (self.key(), self.value())
    }

    /// Returns the key, and the part of the value to be changed.
    pub fn pair_mut(&mut self) -> (&K, &mut T) {
        // SAFETY: the key lies in the entry beside the value, of which the part is; as in `key`.
        let key = unsafe { &(*self.entry.as_ptr()).0 };
        // SAFETY: as in `value_mut`.
        (key, unsafe { self.part.as_mut() })
    }

    /// Makes a guard of a part of the part.
    pub fn map<U: ?Sized>(mut self, part: impl FnOnce(&mut T) -> &mut U) -> MappedRefMut<'a, K, V, U> {
        let part = NonNull::from(part(self.value_mut()));
        MappedRefMut::new(self.guard, self.entry, part)
    }

    /// Makes a guard of a part of the part, if it has that; else returns the guard.
    ///
    /// # Errors
    /// The guard itself, if `part` returns none.
    pub fn try_map<U: ?Sized>(
        mut self,
        part: impl FnOnce(&mut T) -> Option<&mut U>,
    ) -> Result<MappedRefMut<'a, K, V, U>, Self> {
        match part(self.value_mut()).map(NonNull::from) {
            Some(part) => Ok(MappedRefMut::new(self.guard, self.entry, part)),
            None => Err(self),
        }
    }
}

impl<K, V, T: ?Sized> Deref for MappedRefMut<'_, K, V, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value()
    }
}

impl<K, V, T: ?Sized> DerefMut for MappedRefMut<'_, K, V, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value_mut()
    }
}

impl<K: fmt::Debug, V, T: ?Sized + fmt::Debug> fmt::Debug for MappedRefMut<'_, K, V, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MappedRefMut").field("key", self.key()).field("value", &self.value()).finish()
    }
}
