//! The memory of maps and sets, about: of the shards, of the entries, and of a byte beside each that there is room for.

use std::hash::{BuildHasher, Hash};
use std::mem::size_of;

use ::typesize::{TypeSize, if_typesize_details};

use crate::{DashMap, DashSet};

impl<K, V, S> TypeSize for DashMap<K, V, S>
where
    K: TypeSize + Eq + Hash,
    V: TypeSize,
    S: TypeSize + Clone + BuildHasher,
{
    fn extra_size(&self) -> usize {
        let shards = self.as_shard_map().shards();
        let tables = self.capacity() * (size_of::<(K, V)>() + 1);
        let entries = self.iter().map(|entry| entry.key().extra_size() + entry.value().extra_size());
        self.hasher().extra_size() + size_of_val(shards) + tables + entries.sum::<usize>()
    }

    if_typesize_details! {
        fn get_collection_item_count(&self) -> Option<usize> {
            Some(self.len())
        }
    }
}

impl<K: TypeSize + Eq + Hash, S: TypeSize + Clone + BuildHasher> TypeSize for DashSet<K, S> {
    fn extra_size(&self) -> usize {
        self.inner.extra_size()
    }

    if_typesize_details! {
        fn get_collection_item_count(&self) -> Option<usize> {
            Some(self.len())
        }
    }
}
