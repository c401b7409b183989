//! Guards of one entry: [`Ref`] and [`RefMut`]. Made by `read`, `write` and `entry`; they hold the
//! shard's guard.
//!
//! An entry is held by a pointer and not by a reference: a function that takes a guard by value and
//! drops it would else claim that the entry stays as it is until the function returns.

use core::fmt;
use core::ptr::NonNull;

use super::guard::entry;
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

// Readers' guards of a shard, such as this one has, give shared references only.
entry! { Ref }

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

// The shard's guard is this one's alone.
entry! { mut RefMut }

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for RefMut<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RefMut").field("key", self.key()).field("value", self.value()).finish()
    }
}
