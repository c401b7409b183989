//! Serialization of maps as maps, and of sets and lists as sequences. By the feature `serde`.
//!
//! What is written is what one walk finds, in a read section: it is collected first, so that its
//! number is known. Calls the containers' own methods.

use alloc::vec::Vec;
use core::fmt;
use core::hash::{BuildHasher, Hash};
use core::marker::PhantomData;

use ::serde::de::{MapAccess, SeqAccess, Visitor};
use ::serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{HashMap, HashSet, List, OrderedMap};
use crate::rcu::Domain;

/// Written as a map, in a section of the domain: as one walk finds it, in no order.
impl<K: Serialize, V: Serialize, S, D: Domain> Serialize for HashMap<K, V, S, D> {
    fn serialize<T: Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        let guard = D::read();
        serializer.collect_map(self.iter(&guard).collect::<Vec<_>>())
    }
}

/// Written as a map, in a section of the domain: as one walk finds it, in the order of keys.
impl<K: Serialize + Ord, V: Serialize, D: Domain> Serialize for OrderedMap<K, V, D> {
    fn serialize<T: Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        let guard = D::read();
        serializer.collect_map(self.iter(&guard).collect::<Vec<_>>())
    }
}

/// Written as a sequence, in a section of the domain: as one walk finds it, in no order.
impl<T: Serialize, S, D: Domain> Serialize for HashSet<T, S, D> {
    fn serialize<W: Serializer>(&self, serializer: W) -> Result<W::Ok, W::Error> {
        let guard = D::read();
        serializer.collect_seq(self.iter(&guard).collect::<Vec<_>>())
    }
}

/// Written as a sequence, in a section of the domain: as one walk finds it, in order.
impl<T: Serialize, D: Domain> Serialize for List<T, D> {
    fn serialize<W: Serializer>(&self, serializer: W) -> Result<W::Ok, W::Error> {
        let guard = D::read();
        serializer.collect_seq(self.iter(&guard).collect::<Vec<_>>())
    }
}

impl<'de, K, V, S, D> Deserialize<'de> for HashMap<K, V, S, D>
where
    K: Deserialize<'de> + Eq + Hash,
    V: Deserialize<'de>,
    S: BuildHasher + Default,
    D: Domain,
{
    fn deserialize<R: Deserializer<'de>>(deserializer: R) -> Result<Self, R::Error> {
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>, D: Domain> Deserialize<'de> for OrderedMap<K, V, D> {
    fn deserialize<R: Deserializer<'de>>(deserializer: R) -> Result<Self, R::Error> {
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

impl<'de, T, S, D> Deserialize<'de> for HashSet<T, S, D>
where
    T: Deserialize<'de> + Eq + Hash,
    S: BuildHasher + Default,
    D: Domain,
{
    fn deserialize<R: Deserializer<'de>>(deserializer: R) -> Result<Self, R::Error> {
        deserializer.deserialize_seq(Values(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>, D: Domain> Deserialize<'de> for List<T, D> {
    fn deserialize<R: Deserializer<'de>>(deserializer: R) -> Result<Self, R::Error> {
        deserializer.deserialize_seq(Values(PhantomData))
    }
}

/// Reads a map `C` entry by entry.
struct Entries<C, K, V>(PhantomData<(C, K, V)>);

impl<'de, C, K, V> Visitor<'de> for Entries<C, K, V>
where
    C: Default + Extend<(K, V)>,
    K: Deserialize<'de>,
    V: Deserialize<'de>,
{
    type Value = C;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<C, A::Error> {
        let mut map = C::default();
        while let Some(entry) = entries.next_entry()? {
            map.extend([entry]);
        }
        Ok(map)
    }
}

/// Reads a set or a list `C` value by value.
struct Values<C, T>(PhantomData<(C, T)>);

impl<'de, C: Default + Extend<T>, T: Deserialize<'de>> Visitor<'de> for Values<C, T> {
    type Value = C;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<C, A::Error> {
        let mut container = C::default();
        while let Some(value) = values.next_element()? {
            container.extend([value]);
        }
        Ok(container)
    }
}
