//! The set: a map whose values are nothing.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};

use crate::DashMap;
use crate::iter_set::{Iter, OwningIter};
use crate::setref::one::Ref;

/// A concurrent hash set.
pub struct DashSet<K, S = RandomState> {
    pub(crate) inner: DashMap<K, (), S>,
}

impl<K: Eq + Hash> DashSet<K, RandomState> {
    /// Returns an empty set.
    pub fn new() -> Self {
        DashSet { inner: DashMap::new() }
    }

    /// Returns an empty set with room for about this many keys.
    pub fn with_capacity(capacity: usize) -> Self {
        DashSet { inner: DashMap::with_capacity(capacity) }
    }
}

impl<K: Eq + Hash, S: BuildHasher + Clone> DashSet<K, S> {
    /// Returns an empty set that hashes by `hasher`.
    pub fn with_hasher(hasher: S) -> Self {
        DashSet { inner: DashMap::with_hasher(hasher) }
    }

    /// Returns an empty set that hashes by `hasher`, with room for about this many keys.
    pub fn with_capacity_and_hasher(capacity: usize, hasher: S) -> Self {
        DashSet { inner: DashMap::with_capacity_and_hasher(capacity, hasher) }
    }

    /// Returns the hash of a key.
    pub fn hash_usize<T: Hash>(&self, item: &T) -> usize {
        self.inner.hash_usize(item)
    }

    /// Returns the number of the shard that has a key.
    #[cfg(feature = "raw-api")]
    pub fn determine_map<Q>(&self, key: &Q) -> usize
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.inner.determine_map(key)
    }

    /// Returns the number of the shard that has the keys with this hash.
    #[cfg(all(feature = "raw-api", target_pointer_width = "64"))]
    pub fn determine_shard(&self, hash: usize) -> usize {
        self.inner.determine_shard(hash)
    }

    /// Adds a key; returns true if it was not there.
    #[track_caller]
    pub fn insert(&self, key: K) -> bool {
        self.inner.insert(key, ()).is_none()
    }

    /// Takes a key out, and returns it.
    #[track_caller]
    pub fn remove<Q>(&self, key: &Q) -> Option<K>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.inner.remove(key).map(|(key, ())| key)
    }

    /// Takes a key out if `f` returns true for it, and returns it.
    #[track_caller]
    pub fn remove_if<Q>(&self, key: &Q, f: impl FnOnce(&K) -> bool) -> Option<K>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.inner.remove_if(key, |key, ()| f(key)).map(|(key, ())| key)
    }

    /// Returns an iterator over the keys, in no order.
    pub fn iter(&self) -> Iter<'_, K, S, DashMap<K, (), S>> {
        Iter::new(self.inner.iter())
    }

    /// Returns the key that is there, or none.
    #[track_caller]
    pub fn get<Q>(&self, key: &Q) -> Option<Ref<'_, K>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.inner.get(key).map(Ref::new)
    }

    /// Shrinks each table to what its keys need.
    #[track_caller]
    pub fn shrink_to_fit(&self) {
        self.inner.shrink_to_fit();
    }

    /// Keeps the keys for which `f` returns true.
    #[track_caller]
    pub fn retain(&self, mut f: impl FnMut(&K) -> bool) {
        self.inner.retain(|key, ()| f(key));
    }

    /// Returns the number of keys.
    #[track_caller]
    pub fn len(&self) -> usize {
        self.inner.len()
    }

    /// Returns true if there is no key.
    #[track_caller]
    pub fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }

    /// Takes all keys out.
    #[track_caller]
    pub fn clear(&self) {
        self.inner.clear();
    }

    /// Returns how many keys the tables have room for at present.
    #[track_caller]
    pub fn capacity(&self) -> usize {
        self.inner.capacity()
    }

    /// Returns true if the key is there.
    #[track_caller]
    pub fn contains<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.inner.contains_key(key)
    }
}

impl<K: Eq + Hash + fmt::Debug, S: BuildHasher + Clone> fmt::Debug for DashSet<K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<K: Eq + Hash + Clone, S: Clone> Clone for DashSet<K, S> {
    #[track_caller]
    fn clone(&self) -> Self {
        DashSet { inner: self.inner.clone() }
    }
}

impl<K: Eq + Hash, S: Default + BuildHasher + Clone> Default for DashSet<K, S> {
    fn default() -> Self {
        DashSet { inner: DashMap::default() }
    }
}

impl<K: Eq + Hash, S: BuildHasher + Clone> IntoIterator for DashSet<K, S> {
    type Item = K;
    type IntoIter = OwningIter<K, S>;

    fn into_iter(self) -> Self::IntoIter {
        OwningIter::new(self.inner.into_iter())
    }
}

impl<K: Eq + Hash, S: BuildHasher + Clone> Extend<K> for DashSet<K, S> {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        self.inner.extend(keys.into_iter().map(|key| (key, ())));
    }
}

impl<K: Eq + Hash, S: BuildHasher + Clone + Default> FromIterator<K> for DashSet<K, S> {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let mut set = DashSet::default();
        set.extend(keys);
        set
    }
}
