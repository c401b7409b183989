//! Guards of one entry: [`Ref`] and [`RefMut`]. Made by `read`, `write` and `entry`; they hold the
//! shard's guard.
//!
//! An entry is held by a pointer and not by a reference: a function that takes a guard by value and
//! drops it would else claim that the entry stays as it is until the function returns.

use core::fmt;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

use super::mapped::{MappedRef, MappedRefMut};
use super::shard::{ReadGuard, WriteGuard};

/// A shared reference to an entry of a [`ShardMap`](super::ShardMap), whose shard is locked for
/// reading until the drop. Belongs to its thread (`!Send`).
///
/// ```
/// use leeward::collect::ShardMap;
/// let map = ShardMap::<_, _>::from_iter([("a", 1)]);
/// let (one, again) = (map.get("a").unwrap(), map.get("a").unwrap());
/// assert_eq!((one.key(), *one + *again), (&"a", 2));
/// ```
pub struct Ref<'a, K, V> {
    guard: ReadGuard<'a, (K, V)>,
    entry: NonNull<(K, V)>,
}

// SAFETY: a shared `Ref` gives shared references to the key and the value, and nothing else.
unsafe impl<K: Sync, V: Sync> Sync for Ref<'_, K, V> {}

impl<'a, K, V> Ref<'a, K, V> {
    /// Returns the guard of an entry that lies in the table which `guard` keeps locked.
    #[inline(always)]
    pub(super) fn new(guard: ReadGuard<'a, (K, V)>, entry: NonNull<(K, V)>) -> Ref<'a, K, V> {
        Ref { guard, entry }
    }

    /// Returns the key.
    #[inline(always)]
    pub fn key(&self) -> &K {
        self.pair().0
    }

    /// Returns the value.
    #[inline(always)]
    pub fn value(&self) -> &V {
        self.pair().1
    }

    /// Returns the key and the value.
    #[inline(always)]
    pub fn pair(&self) -> (&K, &V) {
        // SAFETY: the entry lies in the table, which `guard` keeps as it is.
        let (key, value) = unsafe { self.entry.as_ref() };
        (key, value)
    }

    /// Makes a guard of a part of the value.
    ///
    /// ```
    /// use leeward::collect::ShardMap;
    /// let map = ShardMap::<_, _>::from_iter([("a", (1, "one"))]);
    /// let number = map.get("a").unwrap().map(|value| &value.0);
    /// assert_eq!(*number, 1);
    /// ```
    pub fn map<T: ?Sized>(self, part: impl FnOnce(&V) -> &T) -> MappedRef<'a, K, V, T> {
        let value = NonNull::from(part(self.value()));
        MappedRef::new(self.guard, self.entry, value)
    }

    /// Makes a guard of a part of the value, if it has that part; else returns the guard.
    ///
    /// # Errors
    /// The guard itself, if `part` returns none.
    pub fn try_map<T: ?Sized>(self, part: impl FnOnce(&V) -> Option<&T>) -> Result<MappedRef<'a, K, V, T>, Self> {
        match part(self.value()).map(NonNull::from) {
            Some(value) => Ok(MappedRef::new(self.guard, self.entry, value)),
            None => Err(self),
        }
    }
}

impl<K, V> Deref for Ref<'_, K, V> {
    type Target = V;

    #[inline(always)]
    fn deref(&self) -> &V {
        self.value()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Ref<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ref").field("key", self.key()).field("value", self.value()).finish()
    }
}

/// An exclusive reference to an entry of a [`ShardMap`](super::ShardMap), whose shard is locked for
/// writing until the drop. Belongs to its thread (`!Send`).
///
/// ```
/// use leeward::collect::ShardMap;
/// let map = ShardMap::<_, _>::from_iter([("a", 1)]);
/// *map.get_mut("a").unwrap() += 1;
/// assert_eq!(*map.get("a").unwrap(), 2);
/// ```
pub struct RefMut<'a, K, V> {
    guard: WriteGuard<'a, (K, V)>,
    entry: NonNull<(K, V)>,
}

// SAFETY: as for `Ref`; the value is changed by an exclusive reference only.
unsafe impl<K: Sync, V: Sync> Sync for RefMut<'_, K, V> {}

impl<'a, K, V> RefMut<'a, K, V> {
    /// Returns the guard of an entry that lies in the table which `guard` has locked.
    #[inline(always)]
    pub(super) fn new(guard: WriteGuard<'a, (K, V)>, entry: NonNull<(K, V)>) -> RefMut<'a, K, V> {
        RefMut { guard, entry }
    }

    /// Returns the key.
    pub fn key(&self) -> &K {
        self.pair().0
    }

    /// Returns the value.
    pub fn value(&self) -> &V {
        self.pair().1
    }

    /// Returns the value, to be changed.
    pub fn value_mut(&mut self) -> &mut V {
        self.pair_mut().1
    }

    /// Returns the key and the value.
    pub fn pair(&self) -> (&K, &V) {
        // SAFETY: the entry lies in the table, which `guard` has for this thread alone.
        let (key, value) = unsafe { self.entry.as_ref() };
        (key, value)
    }

    /// Returns the key, and the value to be changed.
    pub fn pair_mut(&mut self) -> (&K, &mut V) {
        // SAFETY: as in `pair`; `self` is borrowed exclusively.
        let (key, value) = unsafe { self.entry.as_mut() };
        (key, value)
    }

    /// Goes on as a reader of the entry. No other writer comes between.
    ///
    /// ```
    /// use leeward::collect::ShardMap;
    /// let map = ShardMap::<_, _>::from_iter([("a", 1)]);
    /// let reader = map.get_mut("a").unwrap().downgrade();
    /// assert_eq!(*reader + *map.get("a").unwrap(), 2);
    /// ```
    pub fn downgrade(self) -> Ref<'a, K, V> {
        Ref { guard: self.guard.downgrade(), entry: self.entry }
    }

    /// Makes a guard of a part of the value.
    pub fn map<T: ?Sized>(mut self, part: impl FnOnce(&mut V) -> &mut T) -> MappedRefMut<'a, K, V, T> {
        let value = NonNull::from(part(self.value_mut()));
        MappedRefMut::new(self.guard, self.entry, value)
    }

    /// Makes a guard of a part of the value, if it has that part; else returns the guard.
    ///
    /// # Errors
    /// The guard itself, if `part` returns none.
    pub fn try_map<T: ?Sized>(
        mut self,
        part: impl FnOnce(&mut V) -> Option<&mut T>,
    ) -> Result<MappedRefMut<'a, K, V, T>, Self> {
        match part(self.value_mut()).map(NonNull::from) {
            Some(value) => Ok(MappedRefMut::new(self.guard, self.entry, value)),
            None => Err(self),
        }
    }
}

impl<K, V> Deref for RefMut<'_, K, V> {
    type Target = V;

    fn deref(&self) -> &V {
        self.value()
    }
}

impl<K, V> DerefMut for RefMut<'_, K, V> {
    fn deref_mut(&mut self) -> &mut V {
        self.value_mut()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for RefMut<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RefMut").field("key", self.key()).field("value", self.value()).finish()
    }
}
