//! The map: each call is one of leeward's.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};

use leeward::collect::ShardMap;

use crate::ReadOnlyView;
use crate::iter::{Iter, IterMut, OwningIter};
use crate::mapref::entry::Entry;
use crate::mapref::multiple::RefMulti;
use crate::mapref::one::{Ref, RefMut};
use crate::try_result::TryResult;

/// There is no memory for what was to be reserved.
#[non_exhaustive]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TryReserveError {}

/// A concurrent hash map: leeward's [`ShardMap`], by dashmap's name.
pub struct DashMap<K, V, S = RandomState>(ShardMap<K, V, S>);

impl<K: Eq + Hash, V> DashMap<K, V, RandomState> {
    /// Returns an empty map.
    pub fn new() -> Self {
        DashMap(ShardMap::new())
    }

    /// Returns an empty map with room for about this many entries.
    pub fn with_capacity(capacity: usize) -> Self {
        DashMap(ShardMap::with_capacity(capacity))
    }

    /// Returns an empty map with this many shards, a power of two.
    #[track_caller]
    pub fn with_shard_amount(shard_amount: usize) -> Self {
        DashMap(ShardMap::with_shard_amount(shard_amount))
    }

    /// Returns an empty map with room for about this many entries, and this many shards, a power of two.
    #[track_caller]
    pub fn with_capacity_and_shard_amount(capacity: usize, shard_amount: usize) -> Self {
        DashMap(ShardMap::with_capacity_and_shard_amount(capacity, shard_amount))
    }
}

impl<K: Eq + Hash, V, S: BuildHasher + Clone> DashMap<K, V, S> {
    /// Returns an empty map that hashes by `hasher`.
    pub fn with_hasher(hasher: S) -> Self {
        DashMap(ShardMap::with_hasher(hasher))
    }

    /// Returns an empty map that hashes by `hasher`, with room for about this many entries.
    pub fn with_capacity_and_hasher(capacity: usize, hasher: S) -> Self {
        DashMap(ShardMap::with_capacity_and_hasher(capacity, hasher))
    }

    /// Returns an empty map that hashes by `hasher`, with this many shards, a power of two.
    #[track_caller]
    pub fn with_hasher_and_shard_amount(hasher: S, shard_amount: usize) -> Self {
        DashMap(ShardMap::with_hasher_and_shard_amount(hasher, shard_amount))
    }

    /// Returns an empty map that hashes by `hasher`, with room for about this many entries, and this many shards, a
    /// power of two.
    #[track_caller]
    pub fn with_capacity_and_hasher_and_shard_amount(capacity: usize, hasher: S, shard_amount: usize) -> Self {
        DashMap(ShardMap::with_capacity_and_hasher_and_shard_amount(capacity, hasher, shard_amount))
    }

    /// Gives the map up for a view that is read without locks.
    pub fn into_read_only(self) -> ReadOnlyView<K, V, S> {
        ReadOnlyView::new(self)
    }

    /// Returns the hash of a key.
    pub fn hash_usize<T: Hash>(&self, item: &T) -> usize {
        self.0.hasher().hash_one(item) as usize
    }

    /// Gives the key a value; returns the one that it had.
    #[track_caller]
    pub fn insert(&self, key: K, value: V) -> Option<V> {
        self.0.insert(key, value)
    }

    /// Takes the key's entry out, and returns it.
    #[track_caller]
    pub fn remove<Q>(&self, key: &Q) -> Option<(K, V)>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.0.remove(key)
    }

    /// Takes the key's entry out if `f` returns true for it, and returns it.
    #[track_caller]
    pub fn remove_if<Q>(&self, key: &Q, f: impl FnOnce(&K, &V) -> bool) -> Option<(K, V)>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.0.remove_if(key, f)
    }

    /// Takes the key's entry out if `f`, which may change the value, returns true for it, and returns it.
    #[track_caller]
    pub fn remove_if_mut<Q>(&self, key: &Q, f: impl FnOnce(&K, &mut V) -> bool) -> Option<(K, V)>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.0.remove_if_mut(key, f)
    }

    /// Returns an iterator over the entries, in no order.
    pub fn iter(&self) -> Iter<'_, K, V, S, DashMap<K, V, S>> {
        Iter::new(&self.0)
    }

    /// Returns an iterator over the entries, to be changed, in no order.
    pub fn iter_mut(&self) -> IterMut<'_, K, V, S, DashMap<K, V, S>> {
        IterMut::new(&self.0)
    }

    /// Returns the key's entry, or none.
    #[track_caller]
    pub fn get<Q>(&self, key: &Q) -> Option<Ref<'_, K, V>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.0.get(key)
    }

    /// Returns the key's entry, to be changed, or none.
    #[track_caller]
    pub fn get_mut<Q>(&self, key: &Q) -> Option<RefMut<'_, K, V>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.0.get_mut(key)
    }

    /// Returns the key's entry, unless that would take waiting.
    pub fn try_get<Q>(&self, key: &Q) -> TryResult<Ref<'_, K, V>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.0.try_get(key)
    }

    /// Returns the key's entry, to be changed, unless that would take waiting.
    pub fn try_get_mut<Q>(&self, key: &Q) -> TryResult<RefMut<'_, K, V>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.0.try_get_mut(key)
    }

    /// Shrinks each table to what its entries need.
    #[track_caller]
    pub fn shrink_to_fit(&self) {
        self.0.shrink_to_fit();
    }

    /// Keeps the entries for which `f` returns true.
    #[track_caller]
    pub fn retain(&self, f: impl FnMut(&K, &mut V) -> bool) {
        self.0.retain(f);
    }

    /// Returns the number of entries.
    #[track_caller]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there is no entry.
    #[track_caller]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes all entries out.
    #[track_caller]
    pub fn clear(&self) {
        self.0.clear();
    }

    /// Returns how many entries the tables have room for at present.
    #[track_caller]
    pub fn capacity(&self) -> usize {
        self.0.capacity()
    }

    /// Replaces the key's value by what `f` makes of it.
    #[track_caller]
    pub fn alter<Q>(&self, key: &Q, f: impl FnOnce(&K, V) -> V)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.0.alter(key, f);
    }

    /// Replaces each value by what `f` makes of it.
    #[track_caller]
    pub fn alter_all(&self, f: impl FnMut(&K, V) -> V) {
        self.0.alter_all(f);
    }

    /// Returns what `f` makes of the key's entry, or none.
    #[track_caller]
    pub fn view<Q, R>(&self, key: &Q, f: impl FnOnce(&K, &V) -> R) -> Option<R>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.0.view(key, f)
    }

    /// Returns true if the key is there.
    #[track_caller]
    pub fn contains_key<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.0.contains_key(key)
    }

    /// Returns the place of a key, there or not.
    #[track_caller]
    pub fn entry(&self, key: K) -> Entry<'_, K, V> {
        self.0.entry(key)
    }

    /// Returns the place of a key, unless that would take waiting.
    pub fn try_entry(&self, key: K) -> Option<Entry<'_, K, V>> {
        self.0.try_entry(key)
    }

    /// Makes room for about this many more entries.
    ///
    /// # Errors
    /// If there is no memory for that.
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), TryReserveError> {
        self.0.try_reserve(additional).map_err(|_| TryReserveError {})
    }

    /// Returns the number of the shard that has a key.
    #[cfg(feature = "raw-api")]
    pub fn determine_map<Q>(&self, key: &Q) -> usize
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.0.determine_shard(self.0.hasher().hash_one(key))
    }

    /// Returns the number of the shard that has the keys with this hash.
    #[cfg(all(feature = "raw-api", target_pointer_width = "64"))]
    pub fn determine_shard(&self, hash: usize) -> usize {
        self.0.determine_shard(hash as u64)
    }
}

impl<K, V, S> DashMap<K, V, S> {
    /// Returns the hasher.
    pub fn hasher(&self) -> &S {
        self.0.hasher()
    }

    /// Returns leeward's map, which has calls that dashmap has not.
    pub fn as_shard_map(&self) -> &ShardMap<K, V, S> {
        &self.0
    }

    /// Returns leeward's map.
    pub fn into_shard_map(self) -> ShardMap<K, V, S> {
        self.0
    }
}

impl<K, V, S> From<ShardMap<K, V, S>> for DashMap<K, V, S> {
    fn from(map: ShardMap<K, V, S>) -> Self {
        DashMap(map)
    }
}

impl<K: Eq + Hash + Clone, V: Clone, S: Clone> Clone for DashMap<K, V, S> {
    #[track_caller]
    fn clone(&self) -> Self {
        DashMap(self.0.clone())
    }
}

impl<K: Eq + Hash, V, S: Default + BuildHasher + Clone> Default for DashMap<K, V, S> {
    fn default() -> Self {
        DashMap(ShardMap::default())
    }
}

impl<K: Eq + Hash + fmt::Debug, V: fmt::Debug, S: BuildHasher + Clone> fmt::Debug for DashMap<K, V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<K: Eq + Hash, V, S: BuildHasher + Clone> IntoIterator for DashMap<K, V, S> {
    type Item = (K, V);
    type IntoIter = OwningIter<K, V, S>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, K: Eq + Hash, V, S: BuildHasher + Clone> IntoIterator for &'a DashMap<K, V, S> {
    type Item = RefMulti<'a, K, V>;
    type IntoIter = Iter<'a, K, V, S, DashMap<K, V, S>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<K: Eq + Hash, V, S: BuildHasher + Clone> Extend<(K, V)> for DashMap<K, V, S> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        self.0.extend(entries);
    }
}

impl<K: Eq + Hash, V, S: BuildHasher + Clone + Default> FromIterator<(K, V)> for DashMap<K, V, S> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        DashMap(entries.into_iter().collect())
    }
}
