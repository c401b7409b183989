//! Calls by a hash that the caller has, and a comparison of its own: no key is made, and none is hashed.
//! The calls by a key are made of them (`read`, `write`).

use core::hash::{BuildHasher, Hash};
use core::ptr::NonNull;

use hashbrown::hash_table::Entry as Found;

use super::entry::Entry;
use super::map::ShardMap;
use super::one::{Ref, RefMut};
use super::room;

impl<K, V, S> ShardMap<K, V, S> {
    /// Returns the entry whose key has this hash and for which `is_equal` returns true, or none. Its shard
    /// stays locked for reading until the drop.
    ///
    /// The hash is `map.hasher().hash_one(key)` of the key that is meant: for callers that have it already,
    /// or have no key. `is_equal` runs while the shard is locked for reading; it may be called with other
    /// keys as well, as `Eq` may.
    ///
    /// # Panics
    /// If the thread has locked the shard for writing.
    ///
    /// ```
    /// use leeward::collect::ShardMap;
    /// use std::hash::BuildHasher;
    /// let map = ShardMap::from([(String::from("a"), 1)]);
    /// let hash = map.hasher().hash_one("a");
    /// assert_eq!(map.get_by_hash(hash, |key| key == "a").map(|value| *value), Some(1));
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn get_by_hash(&self, hash: u64, mut is_equal: impl FnMut(&K) -> bool) -> Option<Ref<'_, K, V>> {
        let guard = self.shard(hash).read();
        let entry = NonNull::from(guard.table().find(hash, |entry| is_equal(&entry.0))?);
        Some(Ref::new(guard, entry))
    }

    /// Returns the entry whose key has this hash and for which `is_equal` returns true, to be changed, or none.
    /// Its shard stays locked for writing until the drop, and `is_equal` runs under that lock.
    ///
    /// The hash is as for [`get_by_hash`](Self::get_by_hash).
    ///
    /// # Panics
    /// If the thread has locked the shard.
    ///
    /// ```
    /// use leeward::collect::ShardMap;
    /// use std::hash::BuildHasher;
    /// let map = ShardMap::from([(String::from("a"), 1)]);
    /// let hash = map.hasher().hash_one("a");
    /// *map.get_mut_by_hash(hash, |key| key == "a").unwrap() += 1;
    /// assert_eq!(*map.get("a").unwrap(), 2);
    /// ```
    #[inline]
    #[track_caller]
    pub fn get_mut_by_hash(&self, hash: u64, mut is_equal: impl FnMut(&K) -> bool) -> Option<RefMut<'_, K, V>> {
        let mut guard = self.shard(hash).write();
        let entry = NonNull::from(guard.table().find_mut(hash, |entry| is_equal(&entry.0))?);
        Some(RefMut::new(guard, entry))
    }

    /// Takes the entry out whose key has this hash and for which `is_equal` returns true, and returns it.
    /// `is_equal` runs while the shard is locked for writing.
    ///
    /// The hash is as for [`get_by_hash`](Self::get_by_hash).
    ///
    /// # Panics
    /// If the thread has locked the shard.
    ///
    /// ```
    /// use leeward::collect::ShardMap;
    /// use std::hash::BuildHasher;
    /// let map = ShardMap::from([(String::from("a"), 1)]);
    /// let hash = map.hasher().hash_one("a");
    /// assert_eq!(map.remove_by_hash(hash, |key| key == "a"), Some((String::from("a"), 1)));
    /// ```
    #[track_caller]
    pub fn remove_by_hash(&self, hash: u64, mut is_equal: impl FnMut(&K) -> bool) -> Option<(K, V)> {
        let mut guard = self.shard(hash).write();
        let entry = guard.table().find_entry(hash, |entry| is_equal(&entry.0)).ok()?;
        Some(entry.remove().0)
    }
}

impl<K: Eq + Hash, V, S: BuildHasher> ShardMap<K, V, S> {
    /// Returns the entry whose key has this hash and for which `is_equal` returns true, or else the one that
    /// `make` makes, and which is inserted: a table of interned keys, whose values may be `()`. Its shard stays
    /// locked for writing until the drop.
    ///
    /// `make` is called at most once. Both closures run while the shard is locked for writing, so that no two
    /// threads make an entry of one key; if either panics, nothing is inserted. Where most keys are there,
    /// [`get_by_hash`](Self::get_by_hash) before this call takes no such lock.
    ///
    /// A hash that is not that of the key which `make` made loses the entry: later calls may find it by the one
    /// hash, by the other, or by none. `len`, iterators and all other entries are as they should be.
    ///
    /// # Panics
    /// If the thread has locked the shard.
    ///
    /// ```
    /// use leeward::collect::ShardMap;
    /// use std::hash::BuildHasher;
    /// let names = ShardMap::<String, u32>::new();
    /// let count = |name: &str| {
    ///     let hash = names.hasher().hash_one(name);
    ///     *names.get_or_insert_by_hash(hash, |key| key == name, || (name.into(), 0)) += 1;
    /// };
    /// ["a", "b", "a"].into_iter().for_each(count);
    /// assert_eq!((*names.get("a").unwrap(), *names.get("b").unwrap()), (2, 1));
    /// ```
    #[track_caller]
    pub fn get_or_insert_by_hash(
        &self,
        hash: u64,
        mut is_equal: impl FnMut(&K) -> bool,
        make: impl FnOnce() -> (K, V),
    ) -> RefMut<'_, K, V> {
        let mut guard = self.shard(hash).write();
        let hasher = |entry: &(K, V)| self.hash(&entry.0);
        room::for_one(guard.table(), hasher);
        let entry = match guard.table().entry(hash, |entry| is_equal(&entry.0), hasher) {
            Found::Occupied(entry) => entry.into_mut(),
            Found::Vacant(entry) => entry.insert(make()).into_mut(),
        };
        let entry = NonNull::from(entry);
        RefMut::new(guard, entry)
    }

    /// Returns the place of a key whose hash the caller has, there or not: as [`entry`](Self::entry), and does
    /// not hash the key. Its shard stays locked for writing until the drop.
    ///
    /// The hash is `map.hasher().hash_one(&key)`; another one loses the entry, as
    /// [`get_or_insert_by_hash`](Self::get_or_insert_by_hash) says.
    ///
    /// # Panics
    /// If the thread has locked the shard.
    ///
    /// ```
    /// use leeward::collect::ShardMap;
    /// use std::hash::BuildHasher;
    /// let map = ShardMap::<u32, u32>::new();
    /// let hash = map.hasher().hash_one(7_u32);
    /// *map.entry_by_hash(hash, 7).or_insert(1) += 1;
    /// assert_eq!(*map.get(&7).unwrap(), 2);
    /// ```
    #[track_caller]
    pub fn entry_by_hash(&self, hash: u64, key: K) -> Entry<'_, K, V> {
        let guard = self.shard(hash).write();
        Entry::find(guard, hash, key, |entry| self.hash(&entry.0))
    }
}
