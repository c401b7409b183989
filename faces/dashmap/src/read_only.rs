//! A map that is read without locks: leeward's view.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};

use leeward::collect::shard_map;

use crate::DashMap;

/// The entries of a [`DashMap`] that was given up by [`DashMap::into_read_only`].
pub struct ReadOnlyView<K, V, S = RandomState>(shard_map::ReadOnlyView<K, V, S>);

impl<K, V, S> ReadOnlyView<K, V, S> {
    pub(crate) fn new(map: DashMap<K, V, S>) -> Self {
        ReadOnlyView(map.into_shard_map().into_read_only())
    }

    /// Returns the map of these entries.
    pub fn into_inner(self) -> DashMap<K, V, S> {
        DashMap::from(self.0.into_inner())
    }
}

impl<'a, K: 'a + Eq + Hash, V: 'a, S: BuildHasher + Clone> ReadOnlyView<K, V, S> {
    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there is no entry.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns how many entries the tables have room for.
    pub fn capacity(&self) -> usize {
        self.0.capacity()
    }

    /// Returns true if the key is there.
    pub fn contains_key<Q>(&'a self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.0.contains_key(key)
    }

    /// Returns the value of a key, or none.
    pub fn get<Q>(&'a self, key: &Q) -> Option<&'a V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.0.get(key)
    }

    /// Returns the entry of a key, or none.
    pub fn get_key_value<Q>(&'a self, key: &Q) -> Option<(&'a K, &'a V)>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.0.get_key_value(key)
    }

    /// Returns an iterator over the entries, in no order.
    pub fn iter(&'a self) -> impl Iterator<Item = (&'a K, &'a V)> + 'a {
        self.0.iter()
    }

    /// Returns an iterator over the keys, in no order.
    pub fn keys(&'a self) -> impl Iterator<Item = &'a K> + 'a {
        self.0.keys()
    }

    /// Returns an iterator over the values, in no order.
    pub fn values(&'a self) -> impl Iterator<Item = &'a V> + 'a {
        self.0.values()
    }
}

impl<K: Eq + Hash + Clone, V: Clone, S: Clone> Clone for ReadOnlyView<K, V, S> {
    fn clone(&self) -> Self {
        ReadOnlyView(self.0.clone())
    }
}

impl<K: Eq + Hash + fmt::Debug, V: fmt::Debug, S: BuildHasher + Clone> fmt::Debug for ReadOnlyView<K, V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
