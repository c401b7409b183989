//! A map that nobody changes any more: [`ReadOnlyView`]. Made of a map's tables, without their locks.

use alloc::boxed::Box;
use core::fmt;
use core::hash::{BuildHasher, Hash};
use std::hash::RandomState;

use hashbrown::HashTable;

use super::super::Equivalent;
use super::map::{ShardMap, index, shift};
use super::shard::Shard;

impl<K, V, S> ShardMap<K, V, S> {
    /// Gives the map up for a view of its entries that is read without locks, and is not changed:
    /// for tables that are filled once, by many threads, and then looked up.
    ///
    /// The entries stay where they are; the call moves a table's four words for each shard. Guards of the
    /// map are gone by then, as they borrow it.
    ///
    /// ```
    /// use leeward::collect::ShardMap;
    /// let ports = ShardMap::new();
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| ports.insert("http", 80));
    ///     scope.spawn(|| ports.insert("https", 443));
    /// });
    /// let ports = ports.into_read_only();
    /// let http: &u16 = ports.get("http").unwrap();      // a reference, and no guard
    /// assert_eq!((*http, ports.len()), (80, 2));
    /// ```
    pub fn into_read_only(self) -> ReadOnlyView<K, V, S> {
        let shift = shift(self.shards.len());
        let tables = self.shards.into_iter().map(Shard::into_table).collect();
        ReadOnlyView { tables, hasher: self.hasher, shift }
    }
}

/// The entries of a [`ShardMap`] that was given up by [`into_read_only`](ShardMap::into_read_only): look-ups
/// take no lock, store nothing, and return references that live as long as the view is borrowed.
/// [`into_inner`](Self::into_inner) makes it a map again.
///
/// It belongs to no thread, and is as any data that is not changed: threads may share it, `Eq` and `Hash` may
/// do anything with it, and in the child of a fork it is whole.
///
/// ```
/// use leeward::collect::ShardMap;
/// let view = ShardMap::from([("a", 1), ("b", 2)]).into_read_only();
/// assert_eq!(view.values().sum::<u32>(), 3);
/// let map = view.into_inner();
/// map.insert("c", 3);
/// ```
#[derive(Clone)]
pub struct ReadOnlyView<K, V, S = RandomState> {
    /// The tables of the map's shards, in their order; their number is a power of two.
    tables: Box<[HashTable<(K, V)>]>,
    hasher: S,
    /// Chooses the table of a hash (`index`).
    shift: u32,
}

impl<K, V, S> ReadOnlyView<K, V, S> {
    /// Returns the map of these entries, with as many shards as it had, and new locks.
    pub fn into_inner(self) -> ShardMap<K, V, S> {
        ShardMap::of_shards(self.tables.into_iter().map(Shard::new).collect(), self.hasher)
    }

    /// Returns the hasher.
    pub fn hasher(&self) -> &S {
        &self.hasher
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.tables.iter().map(HashTable::len).sum()
    }

    /// Returns true if there is no entry.
    pub fn is_empty(&self) -> bool {
        self.tables.iter().all(HashTable::is_empty)
    }

    /// Returns how many entries the tables have room for.
    pub fn capacity(&self) -> usize {
        self.tables.iter().map(HashTable::capacity).sum()
    }

    /// Returns the entry whose key has this hash and for which `is_equal` returns true, or none. The hash is
    /// `view.hasher().hash_one(key)` of the key that is meant.
    #[inline]
    pub fn get_by_hash(&self, hash: u64, mut is_equal: impl FnMut(&K) -> bool) -> Option<(&K, &V)> {
        let table = &self.tables[index(hash, self.shift, self.tables.len())];
        let (key, value) = table.find(hash, |entry| is_equal(&entry.0))?;
        Some((key, value))
    }

    /// Returns an iterator over the entries, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.tables.iter().flatten().map(|(key, value)| (key, value))
    }

    /// Returns an iterator over the keys, in no order.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }

    /// Returns an iterator over the values, in no order.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }
}

impl<K: Eq + Hash, V, S: BuildHasher> ReadOnlyView<K, V, S> {
    /// Returns the value of a key, or none.
    #[inline]
    pub fn get<Q>(&self, key: &Q) -> Option<&V>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        self.get_key_value(key).map(|(_, value)| value)
    }

    /// Returns the entry of a key, with the key that is there, or none.
    #[inline]
    pub fn get_key_value<Q>(&self, key: &Q) -> Option<(&K, &V)>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        self.get_by_hash(self.hasher.hash_one(key), |there| key.equivalent(there))
    }

    /// Returns true if the key is there.
    #[inline]
    pub fn contains_key<Q>(&self, key: &Q) -> bool
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        self.get_key_value(key).is_some()
    }
}

/// Two are equal that have equal entries.
impl<K: Eq + Hash, V: PartialEq, S: BuildHasher> PartialEq for ReadOnlyView<K, V, S> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().all(|(key, value)| other.get(key).is_some_and(|there| there == value))
    }
}

impl<K: Eq + Hash, V: Eq, S: BuildHasher> Eq for ReadOnlyView<K, V, S> {}

impl<K: fmt::Debug, V: fmt::Debug, S> fmt::Debug for ReadOnlyView<K, V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
