//! A set: a map without values. Concurrent, under RCU: [`HashSet`].

use core::fmt;
use core::hash::{BuildHasher, Hash};
use core::iter::FusedIterator;
use std::hash::RandomState;

use super::hash_map::{self, HashMap, Keys, Retired};
use super::{Equivalent, TryReserveError};
use crate::rcu::{Domain, Global, Protects};

/// A concurrent hash set under RCU: a [`HashMap`] without values, which says how it works, what it
/// costs, and what signals, forks and panics do.
///
/// ```
/// use leeward::{collect::HashSet, rcu};
/// let banned = HashSet::new();
/// assert!(banned.insert("192.0.2.1") && !banned.insert("192.0.2.1"));
/// assert!(banned.contains("192.0.2.1"));              // a reader, on any thread
/// let guard = rcu::read();
/// assert_eq!(banned.iter(&guard).count(), 1);
/// assert!(banned.remove("192.0.2.1"));
/// ```
pub struct HashSet<T, S = RandomState, D: Domain = Global> {
    map: HashMap<T, (), S, D>,
}

impl<T> HashSet<T> {
    /// Makes an empty set, in the domain [`Global`]. Allocates nothing.
    pub fn new() -> Self {
        Self::with_hasher(RandomState::new())
    }

    /// Makes an empty set with room for so many values.
    ///
    /// # Panics
    /// As [`HashMap::reserve`].
    pub fn with_capacity(capacity: usize) -> Self {
        HashSet { map: HashMap::with_capacity(capacity) }
    }
}

impl<T, S> HashSet<T, S> {
    /// Makes an empty set with this hasher, in the domain [`Global`]. Allocates nothing, so a set
    /// may be a `static`.
    pub const fn with_hasher(hasher: S) -> Self {
        Self::with_hasher_in(hasher)
    }
}

impl<T, S, D: Domain> HashSet<T, S, D> {
    /// Makes an empty set with this hasher, in the domain `D`.
    pub const fn with_hasher_in(hasher: S) -> Self {
        HashSet { map: HashMap::with_hasher_in(hasher) }
    }

    /// Returns the hasher.
    pub fn hasher(&self) -> &S {
        self.map.hasher()
    }

    /// Returns the number of values; as [`HashMap::len`].
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Returns true if the set has no value.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// Returns how many values find room before the table grows.
    pub fn capacity(&self) -> usize {
        self.map.capacity()
    }

    /// Lets the table grow for so many values more; as [`HashMap::reserve`].
    #[track_caller]
    pub fn reserve(&self, additional: usize) {
        self.map.reserve(additional);
    }

    /// Does what [`reserve`](Self::reserve) does, and returns an error where that panics.
    ///
    /// # Errors
    /// [`TryReserveError`], and nothing has changed.
    pub fn try_reserve(&self, additional: usize) -> Result<(), TryReserveError> {
        self.map.try_reserve(additional)
    }

    /// Frees what was taken out, as far as no reader can hold it; as [`HashMap::reclaim`].
    pub fn reclaim(&self) {
        self.map.reclaim();
    }

    /// Returns all values, in no particular order; as [`HashMap::iter`].
    pub fn iter<'g>(&'g self, guard: &'g impl Protects<D>) -> Keys<'g, T, ()> {
        self.map.keys(guard)
    }

    /// Removes all values for which `keep` returns false, and returns how many; as [`HashMap::retain`].
    pub fn retain(&self, mut keep: impl FnMut(&T) -> bool) -> usize {
        self.map.retain(|value, ()| keep(value))
    }

    /// Removes all values that are there throughout the call.
    pub fn clear(&self) {
        self.map.clear();
    }

    /// Opens a section, and returns it together with the set. What is looked up lives as long as it.
    ///
    /// ```
    /// let set = leeward::collect::HashSet::from(["a"]);
    /// let pinned = set.pin();
    /// assert_eq!((pinned.get("a"), pinned.get("b")), (Some(&"a"), None));
    /// ```
    #[inline]
    pub fn pin(&self) -> Pinned<'_, T, S, D> {
        Pinned(self.map.pin())
    }
}

impl<T: Eq + Hash, S: BuildHasher, D: Domain> HashSet<T, S, D> {
    /// Returns true if the set has the value, at some instant during the call. Opens a section of
    /// its own.
    #[inline]
    pub fn contains<Q>(&self, value: &Q) -> bool
    where
        Q: Hash + Equivalent<T> + ?Sized,
    {
        self.map.contains_key(value)
    }

    /// Returns a value as the set has it. The reference lives as long as the guard.
    #[inline]
    pub fn get<'g, Q>(&'g self, value: &Q, guard: &'g impl Protects<D>) -> Option<&'g T>
    where
        Q: Hash + Equivalent<T> + ?Sized,
    {
        self.map.get_key_value(value, guard).map(|(value, ())| value)
    }

    /// Adds a value. Returns true if the set did not have it; else the set keeps its own, and
    /// `value` is dropped.
    ///
    /// # Aborts, panics
    /// As [`HashMap::insert`].
    pub fn insert(&self, value: T) -> bool {
        self.map.try_insert(value, (), &D::read()).is_ok()
    }

    /// Returns the value as the set has it, which is added if the set does not have it: for values that are
    /// to be stored once and shared.
    ///
    /// ```
    /// use leeward::{collect::HashSet, rcu};
    /// let (names, guard) = (HashSet::new(), rcu::read());
    /// let first = names.get_or_insert(String::from("a"), &guard);
    /// assert!(std::ptr::eq(first, names.get_or_insert(String::from("a"), &guard)));
    /// ```
    pub fn get_or_insert<'g>(&'g self, value: T, guard: &'g impl Protects<D>) -> &'g T {
        self.map.get_or_insert_entry(value, || (), guard).0
    }

    /// Returns the value that is equal to `value`, or else the one that `make` makes of it, which is added.
    /// `make` is called at most once; it must make an equal value, with the same hash.
    ///
    /// ```
    /// use leeward::{collect::HashSet, rcu};
    /// let (names, guard) = (HashSet::<String>::new(), rcu::read());
    /// let first = names.get_or_insert_with("a", |name| name.into(), &guard);
    /// assert!(std::ptr::eq(first, names.get_or_insert_with("a", |_| unreachable!(), &guard)));
    /// ```
    pub fn get_or_insert_with<'g, Q>(
        &'g self,
        value: &Q,
        make: impl FnOnce(&Q) -> T,
        guard: &'g impl Protects<D>,
    ) -> &'g T
    where
        Q: Hash + Equivalent<T> + ?Sized,
    {
        let hash = self.map.hasher().hash_one(value);
        let is_equal = |there: &T| value.equivalent(there);
        self.map.get_or_insert_by_hash(hash, is_equal, || (make(value), ()), guard).0
    }

    /// Adds a value, in the place of an equal one, which is returned.
    pub fn replace(&self, value: T) -> Option<Retired<'_, T, (), S, D>> {
        self.map.insert(value, ())
    }

    /// Removes a value, which is left to the set. Returns true if the set had it.
    pub fn remove<Q>(&self, value: &Q) -> bool
    where
        Q: Hash + Equivalent<T> + ?Sized,
    {
        self.take(value).is_some()
    }

    /// Removes a value, and returns it.
    ///
    /// ```
    /// let set = leeward::collect::HashSet::from([String::from("a")]);
    /// let (text, ()) = set.take("a").unwrap().synchronize();
    /// assert_eq!(text, "a");
    /// ```
    pub fn take<Q>(&self, value: &Q) -> Option<Retired<'_, T, (), S, D>>
    where
        Q: Hash + Equivalent<T> + ?Sized,
    {
        self.map.remove(value)
    }
}

/// A set and an open section, as [`HashSet::pin`] returns them. It belongs to its thread. Values that
/// writers take out are not freed before it is dropped.
///
/// ```
/// let names = leeward::collect::HashSet::from([String::from("a")]);
/// let pinned = names.pin();
/// let name = pinned.get("a").unwrap();
/// names.remove("a");
/// assert_eq!((name.as_str(), pinned.contains("a")), ("a", false));
/// ```
pub struct Pinned<'s, T, S, D: Domain>(hash_map::Pinned<'s, T, (), S, D>);

impl<T, S, D: Domain> Pinned<'_, T, S, D> {
    /// Does what [`HashSet::len`] does, in this section.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Does what [`HashSet::is_empty`] does, in this section.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Does what [`HashSet::iter`] does, in this section.
    pub fn iter(&self) -> Keys<'_, T, ()> {
        self.0.keys()
    }
}

impl<T: Eq + Hash, S: BuildHasher, D: Domain> Pinned<'_, T, S, D> {
    /// Does what [`HashSet::contains`] does, in this section.
    #[inline]
    pub fn contains<Q>(&self, value: &Q) -> bool
    where
        Q: Hash + Equivalent<T> + ?Sized,
    {
        self.get(value).is_some()
    }

    /// Does what [`HashSet::get`] does, in this section.
    #[inline]
    pub fn get<Q>(&self, value: &Q) -> Option<&T>
    where
        Q: Hash + Equivalent<T> + ?Sized,
    {
        self.0.get_key_value(value).map(|(value, ())| value)
    }

    /// Does what [`HashSet::insert`] does, in this section.
    pub fn insert(&self, value: T) -> bool {
        self.0.try_insert(value, ()).is_ok()
    }

    /// Does what [`HashSet::get_or_insert`] does, in this section.
    pub fn get_or_insert(&self, value: T) -> &T {
        self.0.map().get_or_insert_entry(value, || (), self.0.guard()).0
    }

    /// Does what [`HashSet::remove`] does, in this section.
    pub fn remove<Q>(&self, value: &Q) -> bool
    where
        Q: Hash + Equivalent<T> + ?Sized,
    {
        self.0.remove(value).is_some()
    }
}

impl<'p, T, S, D: Domain> IntoIterator for &'p Pinned<'_, T, S, D> {
    type Item = &'p T;
    type IntoIter = Keys<'p, T, ()>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: fmt::Debug, S, D: Domain> fmt::Debug for Pinned<'_, T, S, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self).finish()
    }
}

impl<T, S: Default, D: Domain> Default for HashSet<T, S, D> {
    fn default() -> Self {
        Self::with_hasher_in(S::default())
    }
}

impl<T: fmt::Debug, S, D: Domain> fmt::Debug for HashSet<T, S, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter(&D::read())).finish()
    }
}

impl<T: Clone + Eq + Hash, S: Clone + BuildHasher, D: Domain> Clone for HashSet<T, S, D> {
    fn clone(&self) -> Self {
        HashSet { map: self.map.clone() }
    }
}

impl<T: Eq + Hash, S: BuildHasher, D: Domain> PartialEq for HashSet<T, S, D> {
    /// Compares two sets that do not change meanwhile.
    fn eq(&self, other: &Self) -> bool {
        self.map == other.map
    }
}

impl<T: Eq + Hash, S: BuildHasher, D: Domain> Eq for HashSet<T, S, D> {}

impl<T: Eq + Hash, S: BuildHasher, D: Domain> Extend<T> for HashSet<T, S, D> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        (&*self).extend(values);
    }
}

impl<T: Eq + Hash, S: BuildHasher, D: Domain> Extend<T> for &HashSet<T, S, D> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        for value in values {
            self.insert(value);
        }
    }
}

impl<'a, T: Copy + Eq + Hash, S: BuildHasher, D: Domain> Extend<&'a T> for HashSet<T, S, D> {
    fn extend<I: IntoIterator<Item = &'a T>>(&mut self, values: I) {
        self.extend(values.into_iter().copied());
    }
}

impl<T: Eq + Hash, S: BuildHasher + Default, D: Domain> FromIterator<T> for HashSet<T, S, D> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut set = Self::default();
        set.extend(values);
        set
    }
}

impl<T: Eq + Hash, const N: usize> From<[T; N]> for HashSet<T> {
    fn from(values: [T; N]) -> Self {
        values.into_iter().collect()
    }
}

impl<T, S, D: Domain> IntoIterator for HashSet<T, S, D> {
    type Item = T;
    type IntoIter = IntoIter<T, S, D>;

    fn into_iter(self) -> Self::IntoIter {
        IntoIter(self.map.into_iter())
    }
}

/// The values of a set that was taken apart, as its `into_iter` returns them.
///
/// ```
/// let set = leeward::collect::HashSet::from([7]);
/// assert!(set.into_iter().eq([7]));
/// ```
pub struct IntoIter<T, S, D: Domain>(hash_map::IntoIter<T, (), S, D>);

impl<T, S, D: Domain> Iterator for IntoIter<T, S, D> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.next().map(|(value, ())| value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<T, S, D: Domain> ExactSizeIterator for IntoIter<T, S, D> {}
impl<T, S, D: Domain> FusedIterator for IntoIter<T, S, D> {}

impl<T, S, D: Domain> fmt::Debug for IntoIter<T, S, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
