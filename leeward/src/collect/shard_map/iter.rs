//! Iterators over a map, shard after shard. Made by `read`, `write`, `shard` and `traits`.

use alloc::rc::Rc;
use core::marker::PhantomData;
use core::ptr::NonNull;
use core::slice;
use std::hash::RandomState;

use hashbrown::hash_table;

use super::multiple::{RefMulti, RefMutMulti};
use super::shard::{ReadGuard, Shard, WriteGuard};

/// An iterator over shared references to the entries, by
/// [`ShardMap::iter`](super::ShardMap::iter). `S` is the map's hasher, of which it has nothing.
///
/// ```
/// let map = leeward::collect::ShardMap::from([("a", 1), ("b", 2)]);
/// assert_eq!(map.iter().map(|entry| *entry.value()).sum::<i32>(), 3);
/// ```
pub struct Iter<'a, K, V, S = RandomState> {
    shards: slice::Iter<'a, Shard<(K, V)>>,
    // The entries come first: they are dropped before the guard.
    now: Option<(hash_table::Iter<'a, (K, V)>, Rc<ReadGuard<'a, (K, V)>>)>,
    hasher: PhantomData<fn() -> S>,
}

impl<'a, K, V, S> Iter<'a, K, V, S> {
    pub(super) fn new(shards: &'a [Shard<(K, V)>]) -> Self {
        Iter { shards: shards.iter(), now: None, hasher: PhantomData }
    }
}

impl<'a, K, V, S> Iterator for Iter<'a, K, V, S> {
    type Item = RefMulti<'a, K, V>;

    #[track_caller]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((entries, guard)) = &mut self.now {
                if let Some(entry) = entries.next() {
                    return Some(RefMulti::new(guard.clone(), NonNull::from(entry)));
                }
            }
            // The shard that is done is unlocked before the next one is locked.
            self.now = None;
            let guard = self.shards.next()?.read();
            // SAFETY: the iterator is dropped before the guard, or with it; what it gives has a
            // guard of its own.
            let entries = unsafe { guard.table_unbound() }.iter();
            self.now = Some((entries, Rc::new(guard)));
        }
    }
}

/// An iterator over exclusive references to the entries, by
/// [`ShardMap::iter_mut`](super::ShardMap::iter_mut). `S` is the map's hasher, of which it has nothing.
///
/// ```
/// let map = leeward::collect::ShardMap::from([("a", 1), ("b", 2)]);
/// for mut entry in map.iter_mut() {
///     *entry.value_mut() *= 10;
/// }
/// assert_eq!(*map.get("b").unwrap(), 20);
/// ```
pub struct IterMut<'a, K, V, S = RandomState> {
    shards: slice::Iter<'a, Shard<(K, V)>>,
    // The entries come first: they are dropped before the guard.
    now: Option<(hash_table::IterMut<'a, (K, V)>, Rc<WriteGuard<'a, (K, V)>>)>,
    hasher: PhantomData<fn() -> S>,
}

impl<'a, K, V, S> IterMut<'a, K, V, S> {
    pub(super) fn new(shards: &'a [Shard<(K, V)>]) -> Self {
        IterMut { shards: shards.iter(), now: None, hasher: PhantomData }
    }
}

impl<'a, K, V, S> Iterator for IterMut<'a, K, V, S> {
    type Item = RefMutMulti<'a, K, V>;

    #[track_caller]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((entries, guard)) = &mut self.now {
                if let Some(entry) = entries.next() {
                    return Some(RefMutMulti::new(guard.clone(), NonNull::from(entry)));
                }
            }
            self.now = None;
            let mut guard = self.shards.next()?.write();
            // SAFETY: as in `Iter`; the table is reached by this iterator only while it is there.
            let entries = unsafe { guard.table_unbound() }.iter_mut();
            self.now = Some((entries, Rc::new(guard)));
        }
    }
}

/// An iterator over the entries of a map that is given up, by `into_iter`. `S` is the map's hasher, of which
/// it has nothing.
///
/// ```
/// let map = leeward::collect::ShardMap::from([("a", 1), ("b", 2)]);
/// let mut entries: Vec<_> = map.into_iter().collect();
/// entries.sort();
/// assert_eq!(entries, [("a", 1), ("b", 2)]);
/// ```
pub struct IntoIter<K, V, S = RandomState> {
    shards: alloc::vec::IntoIter<Shard<(K, V)>>,
    now: Option<hash_table::IntoIter<(K, V)>>,
    hasher: PhantomData<fn() -> S>,
}

impl<K, V, S> IntoIter<K, V, S> {
    pub(super) fn new(shards: alloc::boxed::Box<[Shard<(K, V)>]>) -> Self {
        IntoIter { shards: shards.into_vec().into_iter(), now: None, hasher: PhantomData }
    }
}

impl<K, V, S> Iterator for IntoIter<K, V, S> {
    type Item = (K, V);

    #[track_caller]
    fn next(&mut self) -> Option<(K, V)> {
        loop {
            if let Some(entry) = self.now.as_mut().and_then(Iterator::next) {
                return Some(entry);
            }
            self.now = Some(self.shards.next()?.into_table().into_iter());
        }
    }
}
