//! Serialization of the map and of the set, as a map and as a sequence, and of guards as what they give. By the feature
//! `serde`.

use core::fmt;
use core::hash::{BuildHasher, Hash};
use core::marker::PhantomData;
use core::ops::Deref;

use ::serde::de::{MapAccess, SeqAccess, Visitor};
use ::serde::ser::{SerializeMap, SerializeSeq};
use ::serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::map::ShardMap;
use super::mapped::{MappedRef, MappedRefMut};
use super::multiple::{RefMulti, RefMutMulti};
use super::one::{Ref, RefMut};
use super::set::{SetRef, ShardSet};

/// Says its number of entries first: formats that rely on that need a map that is not written
/// meanwhile.
impl<K: Serialize, V: Serialize, S> Serialize for ShardMap<K, V, S> {
    fn serialize<T: Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        let mut map = serializer.serialize_map(Some(self.len()))?;
        for entry in self {
            map.serialize_entry(entry.key(), entry.value())?;
        }
        map.end()
    }
}

impl<'de, K, V, S> Deserialize<'de> for ShardMap<K, V, S>
where
    K: Deserialize<'de> + Eq + Hash,
    V: Deserialize<'de>,
    S: BuildHasher + Default,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

/// Reads a map entry by entry.
struct Entries<K, V, S>(PhantomData<(K, V, S)>);

impl<'de, K, V, S> Visitor<'de> for Entries<K, V, S>
where
    K: Deserialize<'de> + Eq + Hash,
    V: Deserialize<'de>,
    S: BuildHasher + Default,
{
    type Value = ShardMap<K, V, S>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let map = ShardMap::default();
        while let Some((key, value)) = entries.next_entry()? {
            map.insert(key, value);
        }
        Ok(map)
    }
}

/// As for [`ShardMap`].
impl<K: Serialize, S> Serialize for ShardSet<K, S> {
    fn serialize<T: Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        let mut set = serializer.serialize_seq(Some(self.len()))?;
        for key in self.iter() {
            set.serialize_element(&*key)?;
        }
        set.end()
    }
}

impl<'de, K: Deserialize<'de> + Eq + Hash, S: BuildHasher + Default> Deserialize<'de> for ShardSet<K, S> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Keys(PhantomData))
    }
}

/// Reads a set key by key.
struct Keys<K, S>(PhantomData<(K, S)>);

impl<'de, K: Deserialize<'de> + Eq + Hash, S: BuildHasher + Default> Visitor<'de> for Keys<K, S> {
    type Value = ShardSet<K, S>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut keys: A) -> Result<Self::Value, A::Error> {
        let set = ShardSet::default();
        while let Some(key) = keys.next_element()? {
            set.insert(key);
        }
        Ok(set)
    }
}

/// Has guards of an entry written as its value.
macro_rules! written_as_value {
    ($($guard:ident)*) => { $(
        impl<K, V: Serialize> Serialize for $guard<'_, K, V> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.value().serialize(serializer)
            }
        }
    )* };
}

written_as_value! { Ref RefMut RefMulti RefMutMulti }

/// Has guards of a part of a value written as that.
macro_rules! written_as_part {
    ($($guard:ident)*) => { $(
        impl<K, V, T: ?Sized + Serialize> Serialize for $guard<'_, K, V, T> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.value().serialize(serializer)
            }
        }
    )* };
}

written_as_part! { MappedRef MappedRefMut }

impl<G> Serialize for SetRef<G>
where
    Self: Deref<Target: Serialize>,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.key().serialize(serializer)
    }
}
