//! Guards of the entries that iterators give: [`RefMulti`] and [`RefMutMulti`]. Made by `iter`. All
//! guards of one shard share its lock, and the last one unlocks.

use alloc::rc::Rc;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

use super::shard::{ReadGuard, WriteGuard};

/// A shared reference to an entry that [`ShardMap::iter`](super::ShardMap::iter) gives.
pub struct RefMulti<'a, K, V> {
    _guard: Rc<ReadGuard<'a, (K, V)>>,
    entry: NonNull<(K, V)>,
}

impl<'a, K, V> RefMulti<'a, K, V> {
    pub(super) fn new(guard: Rc<ReadGuard<'a, (K, V)>>, entry: NonNull<(K, V)>) -> Self {
        RefMulti { _guard: guard, entry }
    }

    /// Returns the key.
    pub fn key(&self) -> &K {
        self.pair().0
    }

    /// Returns the value.
    pub fn value(&self) -> &V {
        self.pair().1
    }

    /// Returns the key and the value.
    pub fn pair(&self) -> (&K, &V) {
        // SAFETY: the entry lies in the table, which the guard keeps as it is.
        let (key, value) = unsafe { self.entry.as_ref() };
        (key, value)
    }
}

impl<K, V> Deref for RefMulti<'_, K, V> {
    type Target = V;

    fn deref(&self) -> &V {
        self.value()
    }
}

/// An exclusive reference to an entry that [`ShardMap::iter_mut`](super::ShardMap::iter_mut) gives.
pub struct RefMutMulti<'a, K, V> {
    _guard: Rc<WriteGuard<'a, (K, V)>>,
    entry: NonNull<(K, V)>,
}

impl<'a, K, V> RefMutMulti<'a, K, V> {
    pub(super) fn new(guard: Rc<WriteGuard<'a, (K, V)>>, entry: NonNull<(K, V)>) -> Self {
        RefMutMulti { _guard: guard, entry }
    }

    /// Returns the key.
    pub fn key(&self) -> &K {
        self.pair().0
    }

    /// Returns the value.
    pub fn value(&self) -> &V {
        self.pair().1
    }

    /// Returns the value, to be changed.
    pub fn value_mut(&mut self) -> &mut V {
        self.pair_mut().1
    }

    /// Returns the key and the value.
    pub fn pair(&self) -> (&K, &V) {
        // SAFETY: the entry lies in the table, which the guard has for this thread, and the iterator
        // gives each entry once.
        let (key, value) = unsafe { self.entry.as_ref() };
        (key, value)
    }

    /// Returns the key, and the value to be changed.
    pub fn pair_mut(&mut self) -> (&K, &mut V) {
        // SAFETY: as in `pair`; `self` is borrowed exclusively.
        let (key, value) = unsafe { self.entry.as_mut() };
        (key, value)
    }
}

impl<K, V> Deref for RefMutMulti<'_, K, V> {
    type Target = V;

    fn deref(&self) -> &V {
        self.value()
    }
}

impl<K, V> DerefMut for RefMutMulti<'_, K, V> {
    fn deref_mut(&mut self) -> &mut V {
        self.value_mut()
    }
}
