//! Iterators over a set: those over its map.

use crate::iter;
use crate::setref::multiple::RefMulti;

/// An iterator over the keys of a set that is given up.
pub struct OwningIter<K, S>(iter::OwningIter<K, (), S>);

impl<K, S> OwningIter<K, S> {
    pub(crate) fn new(entries: iter::OwningIter<K, (), S>) -> Self {
        OwningIter(entries)
    }
}

impl<K, S> Iterator for OwningIter<K, S> {
    type Item = K;

    fn next(&mut self) -> Option<K> {
        self.0.next().map(|(key, ())| key)
    }
}

/// An iterator over the keys of a set.
pub struct Iter<'a, K, S, M>(iter::Iter<'a, K, (), S, M>);

impl<'a, K, S, M> Iter<'a, K, S, M> {
    pub(crate) fn new(entries: iter::Iter<'a, K, (), S, M>) -> Self {
        Iter(entries)
    }
}

impl<'a, K, S, M> Iterator for Iter<'a, K, S, M> {
    type Item = RefMulti<'a, K>;

    #[track_caller]
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(RefMulti::new)
    }
}
