//! A map with a guard: look-ups without a second argument.

use core::fmt;
use core::hash::{BuildHasher, Hash};

use super::super::Equivalent;
use super::HashMap;
use super::iter::{Iter, Keys, Values};
use super::retired::Retired;
use super::update::{Compute, Operation};
use super::write::Occupied;
use crate::rcu::{Domain, Guard};

/// A map and an open section, as [`HashMap::pin`] returns them. It belongs to its thread. Values
/// that writers take out are not freed before it is dropped.
///
/// ```
/// let ports = leeward::collect::HashMap::from([("http", 80)]);
/// let pinned = ports.pin();
/// let http = pinned.get("http").unwrap();
/// pinned.insert("http", 8080);
/// assert_eq!((http, pinned.get("http")), (&80, Some(&8080)));
/// ```
pub struct Pinned<'m, K, V, S, D: Domain> {
    map: &'m HashMap<K, V, S, D>,
    guard: Guard<'static, D>,
}

impl<K, V, S, D: Domain> HashMap<K, V, S, D> {
    /// Opens a section, and returns it together with the map. What is looked up lives as long as
    /// it.
    ///
    /// ```
    /// let map = leeward::collect::HashMap::from([("a", 1)]);
    /// let pinned = map.pin();
    /// assert_eq!((pinned.get("a"), pinned.get("b")), (Some(&1), None));
    /// ```
    #[inline]
    pub fn pin(&self) -> Pinned<'_, K, V, S, D> {
        Pinned { map: self, guard: D::read() }
    }
}

impl<'m, K, V, S, D: Domain> Pinned<'m, K, V, S, D> {
    /// Returns the map.
    pub fn map(&self) -> &'m HashMap<K, V, S, D> {
        self.map
    }

    /// Returns the section.
    pub(in crate::collect) fn guard(&self) -> &Guard<'static, D> {
        &self.guard
    }

    /// Does what [`HashMap::len`] does, in this section.
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Does what [`HashMap::is_empty`] does, in this section.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// Does what [`HashMap::iter`] does, in this section.
    pub fn iter(&self) -> Iter<'_, K, V> {
        self.map.iter(&self.guard)
    }

    /// Does what [`HashMap::keys`] does, in this section.
    pub fn keys(&self) -> Keys<'_, K, V> {
        self.map.keys(&self.guard)
    }

    /// Does what [`HashMap::values`] does, in this section.
    pub fn values(&self) -> Values<'_, K, V> {
        self.map.values(&self.guard)
    }

    /// Does what [`HashMap::retain`] does, in this section.
    pub fn retain(&self, keep: impl FnMut(&K, &V) -> bool) -> usize {
        self.map.retain(keep)
    }

    /// Does what [`HashMap::clear`] does, in this section.
    pub fn clear(&self) {
        self.map.clear();
    }
}

impl<'m, K: Eq + Hash, V, S: BuildHasher, D: Domain> Pinned<'m, K, V, S, D> {
    /// Does what [`HashMap::get`] does, in this section.
    #[inline]
    pub fn get<Q>(&self, key: &Q) -> Option<&V>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        self.map.get(key, &self.guard)
    }

    /// Does what [`HashMap::get_key_value`] does, in this section.
    #[inline]
    pub fn get_key_value<Q>(&self, key: &Q) -> Option<(&K, &V)>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        self.map.get_key_value(key, &self.guard)
    }

    /// Does what [`HashMap::contains_key`] does, in this section.
    #[inline]
    pub fn contains_key<Q>(&self, key: &Q) -> bool
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        self.get(key).is_some()
    }

    /// Does what [`HashMap::insert`] does, in this section.
    pub fn insert(&self, key: K, value: V) -> Option<Retired<'m, K, V, S, D>> {
        self.map.insert(key, value)
    }

    /// Does what [`HashMap::try_insert`] does, in this section.
    pub fn try_insert(&self, key: K, value: V) -> Result<&V, Occupied<'_, K, V>> {
        self.map.try_insert(key, value, &self.guard)
    }

    /// Does what [`HashMap::get_or_insert_with`] does, in this section.
    pub fn get_or_insert_with(&self, key: K, make: impl FnOnce() -> V) -> &V {
        self.map.get_or_insert_with(key, make, &self.guard)
    }

    /// Does what [`HashMap::try_insert_with`] does, in this section.
    pub fn try_insert_with(&self, key: K, make: impl FnOnce() -> V) -> Result<&V, &V> {
        self.map.try_insert_with(key, make, &self.guard)
    }

    /// Does what [`HashMap::get_by_hash`] does, in this section.
    #[inline]
    pub fn get_by_hash(&self, hash: u64, is_equal: impl FnMut(&K) -> bool) -> Option<(&K, &V)> {
        self.map.get_by_hash(hash, is_equal, &self.guard)
    }

    /// Does what [`HashMap::get_or_insert_by_hash`] does, in this section.
    pub fn get_or_insert_by_hash(
        &self,
        hash: u64,
        is_equal: impl FnMut(&K) -> bool,
        make: impl FnOnce() -> (K, V),
    ) -> (&K, &V) {
        self.map.get_or_insert_by_hash(hash, is_equal, make, &self.guard)
    }

    /// Does what [`HashMap::remove_by_hash`] does, in this section.
    pub fn remove_by_hash(&self, hash: u64, is_equal: impl FnMut(&K) -> bool) -> Option<Retired<'m, K, V, S, D>> {
        self.map.remove_by_hash(hash, is_equal)
    }

    /// Does what [`HashMap::get_or_insert`] does, in this section.
    pub fn get_or_insert(&self, key: K, value: V) -> &V {
        self.map.get_or_insert(key, value, &self.guard)
    }

    /// Does what [`HashMap::update`] does, in this section.
    #[track_caller]
    pub fn update(&self, key: K, update: impl FnMut(&V) -> V) -> Option<Retired<'m, K, V, S, D>> {
        self.map.update(key, update)
    }

    /// Does what [`HashMap::update_or_insert_with`] does, in this section.
    #[track_caller]
    pub fn update_or_insert_with(&self, key: K, update: impl FnMut(&V) -> V, make: impl FnOnce() -> V) -> &V {
        self.map.update_or_insert_with(key, update, make, &self.guard)
    }

    /// Does what [`HashMap::update_or_insert`] does, in this section.
    #[track_caller]
    pub fn update_or_insert(&self, key: K, update: impl FnMut(&V) -> V, value: V) -> &V {
        self.map.update_or_insert(key, update, value, &self.guard)
    }

    /// Does what [`HashMap::compute`] does, in this section.
    #[track_caller]
    pub fn compute<'g, T>(
        &'g self,
        key: K,
        decide: impl FnMut(Option<(&'g K, &'g V)>) -> Operation<V, T>,
    ) -> Compute<'g, K, V, T> {
        self.map.compute(key, decide, &self.guard)
    }

    /// Does what [`HashMap::remove`] does, in this section.
    pub fn remove<Q>(&self, key: &Q) -> Option<Retired<'m, K, V, S, D>>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        self.map.remove(key)
    }

    /// Does what [`HashMap::remove_if`] does, in this section.
    #[track_caller]
    pub fn remove_if<Q>(&self, key: &Q, decide: impl FnMut(&K, &V) -> bool) -> Option<Retired<'m, K, V, S, D>>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        self.map.remove_if(key, decide)
    }
}

/// Walks through the entries, as [`iter`](Pinned::iter) does.
///
/// ```
/// let map = leeward::collect::HashMap::from([("a", 1), ("b", 2)]);
/// let mut sum = 0;
/// for (_, value) in &map.pin() {
///     sum += value;
/// }
/// assert_eq!(sum, 3);
/// ```
impl<'p, K, V, S, D: Domain> IntoIterator for &'p Pinned<'_, K, V, S, D> {
    type Item = (&'p K, &'p V);
    type IntoIter = Iter<'p, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<K: fmt::Debug, V: fmt::Debug, S, D: Domain> fmt::Debug for Pinned<'_, K, V, S, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.map.fmt(f)
    }
}
