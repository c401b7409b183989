//! The set: a map whose values are nothing. Calls the map.

use core::fmt;
use core::hash::{BuildHasher, Hash};
use core::ops::Deref;
use std::hash::RandomState;

use super::super::Equivalent;
use super::map::ShardMap;
use super::multiple::RefMulti;
use super::one::Ref;

/// A concurrent hash set with the interface of dashmap's `DashSet`. Everything that
/// [`ShardMap`]'s documentation says holds for it.
///
/// ```
/// use leeward::collect::ShardSet;
/// let seen = ShardSet::new();
/// assert!(seen.insert("a") && !seen.insert("a"));
/// assert!(seen.contains("a"));
/// assert_eq!(seen.remove("a"), Some("a"));
/// ```
pub struct ShardSet<K, S = RandomState> {
    map: ShardMap<K, (), S>,
}

/// A shared reference to a key of a set, whose shard is locked for reading until the drop.
///
/// ```
/// let names = leeward::collect::ShardSet::new();
/// names.insert(String::from("a"));
/// let name = names.get("a").unwrap();
/// assert_eq!((name.key().len(), name.as_str()), (1, "a"));
/// ```
pub struct SetRef<G>(G);

impl<K> Deref for SetRef<Ref<'_, K, ()>> {
    type Target = K;

    fn deref(&self) -> &K {
        self.0.key()
    }
}

impl<K> Deref for SetRef<RefMulti<'_, K, ()>> {
    type Target = K;

    fn deref(&self) -> &K {
        self.0.key()
    }
}

impl<G> SetRef<G> {
    /// Returns the key.
    pub fn key(&self) -> &<Self as Deref>::Target
    where
        Self: Deref,
    {
        self
    }
}

impl<K: Eq + Hash> ShardSet<K, RandomState> {
    /// Returns an empty set.
    pub fn new() -> Self {
        Self::with_hasher(RandomState::new())
    }

    /// Returns an empty set with room for about this many keys.
    pub fn with_capacity(capacity: usize) -> Self {
        Self::with_capacity_and_hasher(capacity, RandomState::new())
    }
}

impl<K: Eq + Hash, S: BuildHasher> ShardSet<K, S> {
    /// Returns an empty set that hashes by `hasher`.
    pub fn with_hasher(hasher: S) -> Self {
        ShardSet { map: ShardMap::with_hasher(hasher) }
    }

    /// Returns an empty set that hashes by `hasher`, with room for about this many keys.
    pub fn with_capacity_and_hasher(capacity: usize, hasher: S) -> Self {
        ShardSet { map: ShardMap::with_capacity_and_hasher(capacity, hasher) }
    }

    /// Adds a key; returns true if it was not there.
    #[track_caller]
    pub fn insert(&self, key: K) -> bool {
        self.map.insert(key, ()).is_none()
    }

    /// Takes a key out, and returns it.
    #[track_caller]
    pub fn remove<Q>(&self, key: &Q) -> Option<K>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        self.map.remove(key).map(|(key, ())| key)
    }

    /// Takes a key out if `is_meant` returns true for it, and returns it.
    #[track_caller]
    pub fn remove_if<Q>(&self, key: &Q, is_meant: impl FnOnce(&K) -> bool) -> Option<K>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        self.map.remove_if(key, |key, ()| is_meant(key)).map(|(key, ())| key)
    }

    /// Returns the key that is there, or none.
    #[track_caller]
    pub fn get<Q>(&self, key: &Q) -> Option<SetRef<Ref<'_, K, ()>>>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        self.map.get(key).map(SetRef)
    }

    /// Returns true if the key is there.
    #[track_caller]
    pub fn contains<Q>(&self, key: &Q) -> bool
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        self.map.contains_key(key)
    }

    /// Shrinks each table to what its keys need.
    #[track_caller]
    pub fn shrink_to_fit(&self) {
        self.map.shrink_to_fit();
    }
}

impl<K, S> ShardSet<K, S> {
    /// Returns the hasher.
    pub fn hasher(&self) -> &S {
        self.map.hasher()
    }

    /// Returns an iterator over the keys, as [`ShardMap::iter`].
    pub fn iter(&self) -> impl Iterator<Item = SetRef<RefMulti<'_, K, ()>>> {
        self.map.iter().map(SetRef)
    }

    /// Keeps the keys for which `keep` returns true.
    #[track_caller]
    pub fn retain(&self, mut keep: impl FnMut(&K) -> bool) {
        self.map.retain(|key, ()| keep(key));
    }

    /// Returns the number of keys, as [`ShardMap::len`].
    #[track_caller]
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Returns true if no shard has a key.
    #[track_caller]
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// Takes all keys out.
    #[track_caller]
    pub fn clear(&self) {
        self.map.clear();
    }

    /// Returns how many keys the tables have room for at present.
    #[track_caller]
    pub fn capacity(&self) -> usize {
        self.map.capacity()
    }
}

impl<K: Eq + Hash, S: BuildHasher + Default> Default for ShardSet<K, S> {
    fn default() -> Self {
        Self::with_hasher(S::default())
    }
}

impl<K: Clone, S: Clone> Clone for ShardSet<K, S> {
    #[track_caller]
    fn clone(&self) -> Self {
        ShardSet { map: self.map.clone() }
    }
}

/// Compares the keys of two sets, as [`ShardMap`] compares entries.
impl<K: Eq + Hash, S: BuildHasher> PartialEq for ShardSet<K, S> {
    #[track_caller]
    fn eq(&self, other: &Self) -> bool {
        self.map == other.map
    }
}

impl<K: Eq + Hash, S: BuildHasher> Eq for ShardSet<K, S> {}

impl<K: fmt::Debug, S> fmt::Debug for ShardSet<K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut set = f.debug_set();
        self.iter().for_each(|key| {
            set.entry(&*key);
        });
        set.finish()
    }
}

impl<K: Eq + Hash, S: BuildHasher> Extend<K> for ShardSet<K, S> {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        self.map.extend(keys.into_iter().map(|key| (key, ())));
    }
}

impl<K: Eq + Hash, S: BuildHasher + Default> FromIterator<K> for ShardSet<K, S> {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let mut set = Self::default();
        set.extend(keys);
        set
    }
}

impl<K: Eq + Hash, const N: usize> From<[K; N]> for ShardSet<K> {
    fn from(keys: [K; N]) -> Self {
        keys.into_iter().collect()
    }
}

impl<K, S> IntoIterator for ShardSet<K, S> {
    type Item = K;
    type IntoIter = core::iter::Map<super::iter::IntoIter<K, (), S>, fn((K, ())) -> K>;

    fn into_iter(self) -> Self::IntoIter {
        self.map.into_iter().map(|(key, ())| key)
    }
}
