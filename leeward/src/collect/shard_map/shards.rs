//! What programs see of a map's shards: their number, and each by itself.

use core::slice;

use super::iter::{Iter, IterMut};
use super::map::ShardMap;
use super::multiple::{RefMulti, RefMutMulti};
use super::shard::Shard;

impl<K, V, S> ShardMap<K, V, S> {
    /// Returns the shards, to be walked or counted each by itself: by a thread each, or a few at a time.
    /// Their number is a power of two, and does not change.
    ///
    /// ```
    /// use leeward::collect::ShardMap;
    /// let map: ShardMap<u32, u32> = (0..1000).map(|key| (key, 1)).collect();
    /// let shards = map.shards();
    /// let sum: u32 = std::thread::scope(|scope| {
    ///     let threads: Vec<_> = shards
    ///         .chunks(shards.len() / 2)
    ///         .map(|part| scope.spawn(|| part.iter().flat_map(|shard| shard.iter()).map(|value| *value).sum::<u32>()))
    ///         .collect();
    ///     threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    /// });
    /// assert_eq!(sum, 1000);
    /// ```
    pub fn shards(&self) -> &[Shard<(K, V)>] {
        &self.shards
    }

    /// Returns the number of the shard, among [`shards`](Self::shards), that has the keys with this hash:
    /// `map.hasher().hash_one(key)`.
    ///
    /// ```
    /// use leeward::collect::ShardMap;
    /// use std::hash::BuildHasher;
    /// let map = ShardMap::from([("a", 1)]);
    /// let number = map.determine_shard(map.hasher().hash_one("a"));
    /// assert_eq!(map.shards()[number].len(), 1);
    /// ```
    pub fn determine_shard(&self, hash: u64) -> usize {
        self.index(hash)
    }
}

impl<K, V> Shard<(K, V)> {
    /// Returns an iterator over the shard's entries, in no order. The shard is locked for reading from the first
    /// call of `next` to the end; each entry that is kept keeps it locked.
    ///
    /// # Panics
    /// The iterator panics if the thread has locked the shard for writing.
    pub fn iter(&self) -> impl Iterator<Item = RefMulti<'_, K, V>> + use<'_, K, V> {
        Iter::<K, V>::new(slice::from_ref(self))
    }

    /// Returns an iterator over the shard's entries, to be changed, in no order. The shard is locked for writing
    /// from the first call of `next` to the end; each entry that is kept keeps it locked.
    ///
    /// # Panics
    /// The iterator panics if the thread has locked the shard.
    ///
    /// ```
    /// use leeward::collect::ShardMap;
    /// let map: ShardMap<u32, u32> = (0..100).map(|key| (key, key)).collect();
    /// std::thread::scope(|scope| {
    ///     for shard in map.shards() {
    ///         scope.spawn(|| shard.iter_mut().for_each(|mut value| *value += 1));
    ///     }
    /// });
    /// assert!(map.iter().all(|entry| *entry.value() == entry.key() + 1));
    /// ```
    pub fn iter_mut(&self) -> impl Iterator<Item = RefMutMulti<'_, K, V>> + use<'_, K, V> {
        IterMut::<K, V>::new(slice::from_ref(self))
    }

    /// Returns the number of the shard's entries.
    ///
    /// # Panics
    /// If the thread has locked the shard for writing.
    #[track_caller]
    pub fn len(&self) -> usize {
        self.read().table().len()
    }

    /// Returns true if the shard has no entry.
    ///
    /// # Panics
    /// If the thread has locked the shard for writing.
    #[track_caller]
    pub fn is_empty(&self) -> bool {
        self.read().table().is_empty()
    }

    /// Returns how many entries the shard's table has room for at present.
    ///
    /// # Panics
    /// If the thread has locked the shard for writing.
    #[track_caller]
    pub fn capacity(&self) -> usize {
        self.read().table().capacity()
    }
}
