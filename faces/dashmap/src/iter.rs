//! Iterators over a map: leeward's, and the type of the map.

use std::hash::{BuildHasher, Hash, RandomState};
use std::marker::PhantomData;

use leeward::collect::{ShardMap, shard_map};

use crate::DashMap;
use crate::mapref::multiple::{RefMulti, RefMutMulti};

pub use leeward::collect::shard_map::IntoIter as OwningIter;

/// An iterator over shared references to the entries.
pub struct Iter<'a, K, V, S = RandomState, M = DashMap<K, V, S>> {
    map: &'a ShardMap<K, V, S>,
    entries: shard_map::Iter<'a, K, V, S>,
    of: PhantomData<&'a M>,
}

impl<'a, K, V, S, M> Iter<'a, K, V, S, M> {
    pub(crate) fn new(map: &'a ShardMap<K, V, S>) -> Self {
        Iter { map, entries: map.iter(), of: PhantomData }
    }
}

/// Begins anew, as dashmap's.
impl<K: Clone + Hash + Eq, V: Clone, S: Clone + BuildHasher> Clone for Iter<'_, K, V, S> {
    fn clone(&self) -> Self {
        Iter::new(self.map)
    }
}

impl<'a, K, V, S, M> Iterator for Iter<'a, K, V, S, M> {
    type Item = RefMulti<'a, K, V>;

    #[track_caller]
    fn next(&mut self) -> Option<Self::Item> {
        self.entries.next()
    }
}

/// An iterator over exclusive references to the entries.
pub struct IterMut<'a, K, V, S = RandomState, M = DashMap<K, V, S>> {
    entries: shard_map::IterMut<'a, K, V, S>,
    of: PhantomData<&'a M>,
}

impl<'a, K, V, S, M> IterMut<'a, K, V, S, M> {
    pub(crate) fn new(map: &'a ShardMap<K, V, S>) -> Self {
        IterMut { entries: map.iter_mut(), of: PhantomData }
    }
}

impl<'a, K, V, S, M> Iterator for IterMut<'a, K, V, S, M> {
    type Item = RefMutMulti<'a, K, V>;

    #[track_caller]
    fn next(&mut self) -> Option<Self::Item> {
        self.entries.next()
    }
}
