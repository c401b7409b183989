//! The calls of a map that lock for writing.
//!
//! What a call takes out is declared before its guard, or returned, so that it is dropped after
//! unlocking, also if user code panics.

use alloc::vec::Vec;
use core::hash::{BuildHasher, Hash};
use core::mem;
use core::ptr::NonNull;

use hashbrown::hash_table::Entry as Found;
use hashbrown::{HashTable, TryReserveError};

use super::super::Equivalent;
use super::entry::Entry;
use super::iter::IterMut;
use super::map::ShardMap;
use super::one::RefMut;
use super::room;
use super::try_result::TryResult;

impl<K: Eq + Hash, V, S: BuildHasher> ShardMap<K, V, S> {
    /// Gives the key a value; returns the one that it had. The key that is there stays.
    ///
    /// # Panics
    /// If the thread has locked the shard.
    ///
    /// ```
    /// use leeward::collect::ShardMap;
    /// let map = ShardMap::new();
    /// assert_eq!((map.insert("a", 1), map.insert("a", 2)), (None, Some(1)));
    /// ```
    #[track_caller]
    pub fn insert(&self, key: K, value: V) -> Option<V> {
        let hash = self.hash(&key);
        let mut guard = self.shard(hash).write();
        let table = guard.table();
        let hasher = |entry: &(K, V)| self.hash(&entry.0);
        room::for_one(table, hasher);
        match table.entry(hash, |entry| entry.0 == key, hasher) {
            Found::Occupied(mut entry) => Some(mem::replace(&mut entry.get_mut().1, value)),
            Found::Vacant(entry) => {
                entry.insert((key, value));
                None
            }
        }
    }

    /// Takes the key's entry out, and returns it.
    ///
    /// # Panics
    /// If the thread has locked the shard.
    #[track_caller]
    pub fn remove<Q>(&self, key: &Q) -> Option<(K, V)>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        self.remove_if_mut(key, |_, _| true)
    }

    /// Takes the key's entry out if `is_meant` returns true for it, and returns it.
    ///
    /// # Panics
    /// If the thread has locked the shard.
    #[track_caller]
    pub fn remove_if<Q>(&self, key: &Q, is_meant: impl FnOnce(&K, &V) -> bool) -> Option<(K, V)>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        self.remove_if_mut(key, |key, value| is_meant(key, value))
    }

    /// Takes the key's entry out if `is_meant`, which may change the value, returns true for it, and
    /// returns the entry.
    ///
    /// # Panics
    /// If the thread has locked the shard.
    #[track_caller]
    pub fn remove_if_mut<Q>(&self, key: &Q, is_meant: impl FnOnce(&K, &mut V) -> bool) -> Option<(K, V)>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        let hash = self.hash(key);
        let mut guard = self.shard(hash).write();
        let mut entry = guard.table().find_entry(hash, |entry| key.equivalent(&entry.0)).ok()?;
        let (key, value) = entry.get_mut();
        is_meant(key, value).then(|| entry.remove().0)
    }

    /// Returns the key's entry, to be changed, or none. Its shard stays locked for writing until the
    /// drop.
    ///
    /// # Panics
    /// If the thread has locked the shard.
    #[track_caller]
    pub fn get_mut<Q>(&self, key: &Q) -> Option<RefMut<'_, K, V>>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        self.get_mut_by_hash(self.hash(key), |there| key.equivalent(there))
    }

    /// Returns the key's entry, to be changed, unless that would take waiting.
    pub fn try_get_mut<Q>(&self, key: &Q) -> TryResult<RefMut<'_, K, V>>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        let hash = self.hash(key);
        let Some(mut guard) = self.shard(hash).try_write() else { return TryResult::Locked };
        match guard.table().find_mut(hash, |entry| key.equivalent(&entry.0)).map(NonNull::from) {
            Some(entry) => TryResult::Present(RefMut::new(guard, entry)),
            None => TryResult::Absent,
        }
    }

    /// Returns the place of a key, there or not. Its shard stays locked for writing until the drop.
    ///
    /// # Panics
    /// If the thread has locked the shard.
    ///
    /// ```
    /// use leeward::collect::ShardMap;
    /// let words = ShardMap::new();
    /// for word in ["a", "b", "a"] {
    ///     *words.entry(word).or_insert(0) += 1;
    /// }
    /// assert_eq!((*words.get("a").unwrap(), *words.get("b").unwrap()), (2, 1));
    /// ```
    #[track_caller]
    pub fn entry(&self, key: K) -> Entry<'_, K, V> {
        self.entry_by_hash(self.hash(&key), key)
    }

    /// Returns the place of a key, unless that would take waiting.
    pub fn try_entry(&self, key: K) -> Option<Entry<'_, K, V>> {
        let hash = self.hash(&key);
        let guard = self.shard(hash).try_write()?;
        Some(Entry::find(guard, hash, key, |entry| self.hash(&entry.0)))
    }

    /// Replaces the key's value by what `alter` makes of it. If `alter` panics the entry is gone, as
    /// its value is.
    ///
    /// # Panics
    /// If the thread has locked the shard.
    #[track_caller]
    pub fn alter<Q>(&self, key: &Q, alter: impl FnOnce(&K, V) -> V)
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        let hash = self.hash(key);
        let mut guard = self.shard(hash).write();
        if let Ok(entry) = guard.table().find_entry(hash, |entry| key.equivalent(&entry.0)) {
            let ((key, value), place) = entry.remove();
            let value = alter(&key, value);
            place.insert((key, value));
        }
    }

    /// Shrinks each table to what its entries need.
    ///
    /// # Panics
    /// If the thread has locked a shard.
    #[track_caller]
    pub fn shrink_to_fit(&self) {
        for shard in &self.shards {
            shard.write().table().shrink_to_fit(|entry| self.hash(&entry.0));
        }
    }

    /// Makes room for about this many more entries, spread over the shards.
    ///
    /// # Errors
    /// If there is no memory for that. The map is as it was, but for the room of some shards.
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), TryReserveError> {
        let each = additional.div_ceil(self.shards.len());
        let hasher = &self.hasher;
        let reserve = |shard: &mut super::shard::Shard<(K, V)>| {
            room::make(shard.get_mut(), each, |entry| hasher.hash_one(&entry.0))
        };
        self.shards.iter_mut().try_for_each(reserve)
    }
}

impl<K, V, S> ShardMap<K, V, S> {
    /// Returns an iterator over the entries, to be changed, in no order. It keeps the shard that it
    /// is in locked for writing, and so does each entry that it gives.
    ///
    /// # Panics
    /// The iterator panics if the thread has locked a shard.
    pub fn iter_mut(&self) -> IterMut<'_, K, V, S> {
        IterMut::new(&self.shards)
    }

    /// Keeps the entries for which `keep` returns true. What it takes out is dropped when its shard
    /// is unlocked.
    ///
    /// # Panics
    /// If the thread has locked a shard.
    #[track_caller]
    pub fn retain(&self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        for shard in &self.shards {
            let mut taken: Vec<(K, V)> = Vec::new();
            let mut guard = shard.write();
            taken.extend(guard.table().extract_if(|(key, value)| !keep(key, value)));
        }
    }

    /// Replaces each value by what `alter` makes of it. If `alter` panics, the one entry is gone
    /// whose value it had.
    ///
    /// # Panics
    /// If the thread has locked a shard.
    #[track_caller]
    pub fn alter_all(&self, mut alter: impl FnMut(&K, V) -> V) {
        for shard in &self.shards {
            let mut guard = shard.write();
            let table = guard.table();
            for bucket in 0..table.num_buckets() {
                if let Ok(entry) = table.get_bucket_entry(bucket) {
                    let ((key, value), place) = entry.remove();
                    let value = alter(&key, value);
                    place.insert((key, value));
                }
            }
        }
    }

    /// Takes all entries out, shard after shard. They are dropped when their shard is unlocked.
    ///
    /// # Panics
    /// If the thread has locked a shard.
    #[track_caller]
    pub fn clear(&self) {
        for shard in &self.shards {
            let table = mem::replace(shard.write().table(), HashTable::new());
            drop(table);
        }
    }
}
