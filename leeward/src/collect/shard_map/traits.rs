//! The traits of the map. Calls `read`, `write` and `iter`.

use core::fmt;
use core::hash::{BuildHasher, Hash};

use super::iter::{IntoIter, Iter};
use super::map::ShardMap;
use super::multiple::RefMulti;
use super::shard::Shard;
use crate::mutant::mutated;

impl<K: Eq + Hash, V, S: BuildHasher + Default> Default for ShardMap<K, V, S> {
    fn default() -> Self {
        Self::with_hasher(S::default())
    }
}

/// Copies shard after shard, each as it is at one moment. `Clone` of keys and values runs while
/// their shard is locked for reading.
impl<K: Clone, V: Clone, S: Clone> Clone for ShardMap<K, V, S> {
    #[track_caller]
    fn clone(&self) -> Self {
        let shards = self.shards.iter().map(|shard| Shard::new(shard.read().table().clone())).collect();
        ShardMap::of_shards(shards, self.hasher.clone())
    }
}

/// Compares the entries of two maps, shard after shard, each at a moment of its own: the answer means
/// something if the maps do not change meanwhile. A map may be compared with itself.
///
/// `Hash`, `Eq` and `PartialEq` of keys and values run while one shard of each map is locked for reading.
/// The call waits for a lock only while it holds none: two threads may compare the same maps crosswise,
/// beside writers, and a thread that has locked a shard of one map may write the other. If a writer has
/// a shard, the comparison of the other map's shard begins again once the writer is done.
///
/// # Panics
/// If the thread has locked a shard of either map for writing.
impl<K: Eq + Hash, V: PartialEq, S: BuildHasher> PartialEq for ShardMap<K, V, S> {
    #[track_caller]
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self.shards.iter().all(|shard| {
                loop {
                    match other.has_all_of(shard) {
                        Ok(has_all) => return has_all,
                        Err(written) => drop(written.read()),
                    }
                }
            })
    }
}

impl<K: Eq + Hash, V: Eq, S: BuildHasher> Eq for ShardMap<K, V, S> {}

impl<K: Eq + Hash, V: PartialEq, S: BuildHasher> ShardMap<K, V, S> {
    /// Returns true if the map has all entries of another map's shard.
    ///
    /// # Errors
    /// The shard of this map that a writer has. No shard is locked then.
    #[track_caller]
    fn has_all_of(&self, shard: &Shard<(K, V)>) -> Result<bool, &Shard<(K, V)>> {
        let guard = shard.read();
        for (key, value) in guard.table() {
            let hash = self.hash(key);
            let own = self.shard(hash);
            let read = own.try_read_past_waiting();
            let read = if mutated!(shard_compare_waits) { read.or_else(|| Some(own.read())) } else { read };
            let Some(read) = read else { return Err(own) };
            if read.table().find(hash, |entry| entry.0 == *key).is_none_or(|entry| entry.1 != *value) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl<K: fmt::Debug, V: fmt::Debug, S> fmt::Debug for ShardMap<K, V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        self.iter().for_each(|entry| {
            map.entry(entry.key(), entry.value());
        });
        map.finish()
    }
}

impl<K, V: fmt::Debug> fmt::Debug for RefMulti<'_, K, V>
where
    K: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RefMulti").field("key", self.key()).field("value", self.value()).finish()
    }
}

impl<K: Eq + Hash, V, S: BuildHasher> Extend<(K, V)> for ShardMap<K, V, S> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        entries.into_iter().for_each(|(key, value)| drop(self.insert(key, value)));
    }
}

impl<K: Eq + Hash, V, S: BuildHasher + Default> FromIterator<(K, V)> for ShardMap<K, V, S> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::default();
        map.extend(entries);
        map
    }
}

impl<K: Eq + Hash, V, const N: usize> From<[(K, V); N]> for ShardMap<K, V> {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<K, V, S> IntoIterator for ShardMap<K, V, S> {
    type Item = (K, V);
    type IntoIter = IntoIter<K, V, S>;

    fn into_iter(self) -> IntoIter<K, V, S> {
        IntoIter::new(self.shards)
    }
}

impl<'a, K, V, S> IntoIterator for &'a ShardMap<K, V, S> {
    type Item = RefMulti<'a, K, V>;
    type IntoIter = Iter<'a, K, V, S>;

    fn into_iter(self) -> Iter<'a, K, V, S> {
        self.iter()
    }
}
