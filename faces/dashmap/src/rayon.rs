//! Maps, sets and views by rayon: what takes parallel iterators, and what is given up for one. Guards are not `Send`,
//! so that nothing borrowed is gone over in parallel.

use std::hash::{BuildHasher, Hash};

use ::rayon::iter::plumbing::UnindexedConsumer;
use ::rayon::iter::{FromParallelIterator, IntoParallelIterator, ParallelExtend, ParallelIterator};

use crate::{DashMap, DashSet, ReadOnlyView};

/// Parallel iterators over a map.
pub mod map {
    use super::*;

    /// A parallel iterator over the entries of a map that was given up.
    pub struct OwningIter<K, V>(pub(super) Vec<(K, V)>);

    impl<K: Send + Eq + Hash, V: Send> ParallelIterator for OwningIter<K, V> {
        type Item = (K, V);

        fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
            self.0.into_par_iter().drive_unindexed(consumer)
        }
    }
}

/// Parallel iterators over a set.
pub mod set {
    use super::*;

    /// A parallel iterator over the keys of a set that was given up.
    pub struct OwningIter<K>(pub(super) Vec<K>);

    impl<K: Send + Eq + Hash> ParallelIterator for OwningIter<K> {
        type Item = K;

        fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
            self.0.into_par_iter().drive_unindexed(consumer)
        }
    }
}

impl<K, V, S> ParallelExtend<(K, V)> for DashMap<K, V, S>
where
    K: Send + Sync + Eq + Hash,
    V: Send + Sync,
    S: Send + Sync + Clone + BuildHasher,
{
    fn par_extend<I: IntoParallelIterator<Item = (K, V)>>(&mut self, entries: I) {
        (&*self).par_extend(entries);
    }
}

impl<K, V, S> ParallelExtend<(K, V)> for &DashMap<K, V, S>
where
    K: Send + Sync + Eq + Hash,
    V: Send + Sync,
    S: Send + Sync + Clone + BuildHasher,
{
    fn par_extend<I: IntoParallelIterator<Item = (K, V)>>(&mut self, entries: I) {
        let map = *self;
        entries.into_par_iter().for_each(move |(key, value)| drop(map.insert(key, value)));
    }
}

impl<K, V, S> FromParallelIterator<(K, V)> for DashMap<K, V, S>
where
    K: Send + Sync + Eq + Hash,
    V: Send + Sync,
    S: Send + Sync + Clone + Default + BuildHasher,
{
    fn from_par_iter<I: IntoParallelIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = DashMap::default();
        map.par_extend(entries);
        map
    }
}

impl<K, V, S> IntoParallelIterator for DashMap<K, V, S>
where
    K: Send + Eq + Hash,
    V: Send,
    S: Send + Clone + BuildHasher,
{
    type Iter = map::OwningIter<K, V>;
    type Item = (K, V);

    fn into_par_iter(self) -> Self::Iter {
        map::OwningIter(self.into_iter().collect())
    }
}

impl<K, V, S> IntoParallelIterator for ReadOnlyView<K, V, S>
where
    K: Send + Eq + Hash,
    V: Send,
    S: Send + Clone + BuildHasher,
{
    type Iter = map::OwningIter<K, V>;
    type Item = (K, V);

    fn into_par_iter(self) -> Self::Iter {
        self.into_inner().into_par_iter()
    }
}

impl<K, S> ParallelExtend<K> for DashSet<K, S>
where
    K: Send + Sync + Eq + Hash,
    S: Send + Sync + Clone + BuildHasher,
{
    fn par_extend<I: IntoParallelIterator<Item = K>>(&mut self, keys: I) {
        (&*self).par_extend(keys);
    }
}

impl<K, S> ParallelExtend<K> for &DashSet<K, S>
where
    K: Send + Sync + Eq + Hash,
    S: Send + Sync + Clone + BuildHasher,
{
    fn par_extend<I: IntoParallelIterator<Item = K>>(&mut self, keys: I) {
        let set = *self;
        keys.into_par_iter().for_each(move |key| _ = set.insert(key));
    }
}

impl<K, S> FromParallelIterator<K> for DashSet<K, S>
where
    K: Send + Sync + Eq + Hash,
    S: Send + Sync + Clone + Default + BuildHasher,
{
    fn from_par_iter<I: IntoParallelIterator<Item = K>>(keys: I) -> Self {
        let mut set = DashSet::default();
        set.par_extend(keys);
        set
    }
}

impl<K, S> IntoParallelIterator for DashSet<K, S>
where
    K: Send + Eq + Hash,
    S: Send + Clone + BuildHasher,
{
    type Iter = set::OwningIter<K>;
    type Item = K;

    fn into_par_iter(self) -> Self::Iter {
        set::OwningIter(self.into_iter().collect())
    }
}
