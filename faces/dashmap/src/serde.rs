//! Maps and sets are written and read as leeward's are, and guards of keys as the keys.

use std::hash::{BuildHasher, Hash};

use ::serde::ser::SerializeSeq;
use ::serde::{Deserialize, Deserializer, Serialize, Serializer};
use leeward::collect::{ShardMap, ShardSet};

use crate::{DashMap, DashSet, setref};

impl<K: Serialize + Eq + Hash, V: Serialize, S: BuildHasher + Clone> Serialize for DashMap<K, V, S> {
    fn serialize<T: Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        self.as_shard_map().serialize(serializer)
    }
}

impl<'de, K, V, S> Deserialize<'de> for DashMap<K, V, S>
where
    K: Deserialize<'de> + Eq + Hash,
    V: Deserialize<'de>,
    S: BuildHasher + Clone + Default,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ShardMap::deserialize(deserializer).map(DashMap::from)
    }
}

impl<K: Serialize + Eq + Hash, S: BuildHasher + Clone> Serialize for DashSet<K, S> {
    fn serialize<T: Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        let mut keys = serializer.serialize_seq(Some(self.len()))?;
        self.iter().try_for_each(|key| keys.serialize_element(key.key()))?;
        keys.end()
    }
}

impl<'de, K: Deserialize<'de> + Eq + Hash, S: BuildHasher + Clone + Default> Deserialize<'de> for DashSet<K, S> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ShardSet::<K, S>::deserialize(deserializer).map(|set| set.into_iter().collect())
    }
}

impl<K: Serialize> Serialize for setref::one::Ref<'_, K> {
    fn serialize<T: Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        self.key().serialize(serializer)
    }
}

impl<K: Serialize> Serialize for setref::multiple::RefMulti<'_, K> {
    fn serialize<T: Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        self.key().serialize(serializer)
    }
}
