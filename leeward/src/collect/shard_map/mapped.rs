//! Guards of a part of a value: [`MappedRef`] and [`MappedRefMut`]. Made by `one`.

use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::guard::part;
use super::shard::{ReadGuard, WriteGuard};

/// A shared reference to a part of a value of a [`ShardMap`](super::ShardMap), whose shard is locked
/// for reading until the drop. Made by [`Ref::map`](super::Ref::map).
///
/// ```
/// let map = leeward::collect::ShardMap::from([("a", [1, 2])]);
/// let second = map.get("a").unwrap().map(|pair| &pair[1]);
/// assert_eq!(*second, 2);
/// ```
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

    /// Makes a guard of a part of the part.
    pub fn map<U: ?Sized>(self, part: impl FnOnce(&T) -> &U) -> MappedRef<'a, K, V, U> {
        let part = NonNull::from(part(self.value()));
        MappedRef::new(self.guard, self.entry, part)
    }

    /// Makes a guard of a part of the part, if it has that; else returns the guard.
    ///
    /// # Errors
    /// The guard itself, if `part` returns none.
    pub fn try_map<U: ?Sized>(self, part: impl FnOnce(&T) -> Option<&U>) -> Result<MappedRef<'a, K, V, U>, Self> {
        match part(self.value()).map(NonNull::from) {
            Some(part) => Ok(MappedRef::new(self.guard, self.entry, part)),
            None => Err(self),
        }
    }
}

// `map` chose the part of the entry's value, and readers' guards give shared references only.
part! { MappedRef }

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
///
/// ```
/// let map = leeward::collect::ShardMap::from([("a", [1, 2])]);
/// *map.get_mut("a").unwrap().map(|pair| &mut pair[1]) = 3;
/// assert_eq!(*map.get("a").unwrap(), [1, 3]);
/// ```
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

// `map` chose the part of the entry's value, and the shard's guard is this one's alone.
part! { mut MappedRefMut }
