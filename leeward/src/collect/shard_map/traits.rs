//! The traits of the map. Calls `read`, `write` and `iter`.

use core::fmt;
use core::hash::{BuildHasher, Hash};

use super::iter::{IntoIter, Iter};
use super::map::ShardMap;
use super::multiple::RefMulti;
use super::shard::Shard;

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

impl<K, V, S> IntoIterator for ShardMap<K, V, S> {
    type Item = (K, V);
    type IntoIter = IntoIter<K, V>;

    fn into_iter(self) -> IntoIter<K, V> {
        IntoIter::new(self.shards)
    }
}

impl<'a, K, V, S> IntoIterator for &'a ShardMap<K, V, S> {
    type Item = RefMulti<'a, K, V>;
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Iter<'a, K, V> {
        self.iter()
    }
}
