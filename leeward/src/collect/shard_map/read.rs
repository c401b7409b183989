//! The calls of a map that lock for reading.

use core::hash::{BuildHasher, Hash};
use core::ptr::NonNull;

use super::super::Equivalent;
use super::iter::Iter;
use super::map::ShardMap;
use super::one::Ref;
use super::shard::Shard;
use super::try_result::TryResult;

impl<K: Eq + Hash, V, S: BuildHasher> ShardMap<K, V, S> {
    /// Returns the entry of a key, or none. Its shard stays locked for reading until the drop.
    ///
    /// # Panics
    /// If the thread has locked the shard for writing.
    ///
    /// ```
    /// use leeward::collect::ShardMap;
    /// let map = ShardMap::<_, _>::from_iter([("a".to_string(), 1)]);
    /// assert_eq!(map.get("a").map(|value| *value), Some(1));
    /// assert!(map.get("b").is_none());
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn get<Q>(&self, key: &Q) -> Option<Ref<'_, K, V>>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        self.get_by_hash(self.hash(key), |there| key.equivalent(there))
    }

    /// Returns the entry of a key, unless that would take waiting.
    #[inline]
    pub fn try_get<Q>(&self, key: &Q) -> TryResult<Ref<'_, K, V>>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        let hash = self.hash(key);
        let Some(guard) = self.shard(hash).try_read() else { return TryResult::Locked };
        match guard.table().find(hash, |entry| key.equivalent(&entry.0)).map(NonNull::from) {
            Some(entry) => TryResult::Present(Ref::new(guard, entry)),
            None => TryResult::Absent,
        }
    }

    /// Returns what `view` makes of the key's entry, or none if the key is not there.
    ///
    /// # Panics
    /// If the thread has locked the shard for writing.
    ///
    /// ```
    /// use leeward::collect::ShardMap;
    /// let map = ShardMap::<_, _>::from_iter([("a", "one")]);
    /// assert_eq!(map.view("a", |_, value| value.len()), Some(3));
    /// ```
    #[inline]
    #[track_caller]
    pub fn view<Q, R>(&self, key: &Q, view: impl FnOnce(&K, &V) -> R) -> Option<R>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        self.get(key).map(|entry| view(entry.key(), entry.value()))
    }

    /// Returns true if the key is there.
    ///
    /// # Panics
    /// If the thread has locked the shard for writing.
    #[inline]
    #[track_caller]
    pub fn contains_key<Q>(&self, key: &Q) -> bool
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        self.get(key).is_some()
    }
}

impl<K, V, S> ShardMap<K, V, S> {
    /// Returns an iterator over the entries, in no order. It keeps the shard that it is in locked
    /// for reading, and locks one shard at a time; each entry that it gives keeps its own shard
    /// locked. An entry that is there throughout is given once.
    ///
    /// # Panics
    /// The iterator panics if the thread has locked a shard for writing.
    pub fn iter(&self) -> Iter<'_, K, V, S> {
        Iter::new(&self.shards)
    }

    /// Returns the number of entries: the sum over the shards, each at a moment of its own.
    ///
    /// # Panics
    /// If the thread has locked a shard for writing.
    #[track_caller]
    pub fn len(&self) -> usize {
        self.shards.iter().map(Shard::len).sum()
    }

    /// Returns true if no shard has an entry.
    ///
    /// # Panics
    /// If the thread has locked a shard for writing.
    #[track_caller]
    pub fn is_empty(&self) -> bool {
        self.shards.iter().all(Shard::is_empty)
    }

    /// Returns how many entries the tables have room for at present.
    ///
    /// # Panics
    /// If the thread has locked a shard for writing.
    #[track_caller]
    pub fn capacity(&self) -> usize {
        self.shards.iter().map(Shard::capacity).sum()
    }
}
