//! What the map's only owner does: changing values in place, and taking the map apart.

use alloc::vec::{self, Vec};
use core::fmt;
use core::hash::{BuildHasher, Hash};
use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::mem;
use core::ptr::NonNull;

use super::super::Equivalent;
use super::super::table::{RawTable, Walk};
use super::HashMap;
use super::entry::{self, HashEntry};
use crate::rcu::Domain;

/// The entries of a map whose owner has it alone, as [`HashMap::iter_mut`] returns them.
///
/// ```
/// let mut map = leeward::collect::HashMap::from([("a", vec![1]), ("b", vec![])]);
/// for (name, list) in map.iter_mut() {
///     list.push(name.len());
/// }
/// assert_eq!(map.pin().get("b"), Some(&vec![1]));
/// ```
pub struct IterMut<'m, K, V> {
    walk: Walk<'m, HashEntry<K, V>>,
    /// As for [`Iter`](super::Iter).
    borrows: PhantomData<(&'m K, &'m mut V)>,
}

/// The entries of a map that was taken apart, as its `into_iter` returns them.
///
/// ```
/// let map = leeward::collect::HashMap::from([("a", 1), ("b", 2)]);
/// let mut entries: Vec<_> = map.into_iter().collect();
/// entries.sort();
/// assert_eq!(entries, [("a", 1), ("b", 2)]);
/// ```
pub struct IntoIter<K, V, S, D: Domain> {
    /// What is left; the memory is the map's, which is empty.
    entries: vec::IntoIter<NonNull<HashEntry<K, V>>>,
    map: HashMap<K, V, S, D>,
}

// SAFETY: it owns its entries, and the map.
unsafe impl<K: Send, V: Send, S: Send, D: Domain> Send for IntoIter<K, V, S, D> {}
// SAFETY: a shared one gives nothing.
unsafe impl<K: Sync, V: Sync, S: Sync, D: Domain> Sync for IntoIter<K, V, S, D> {}

impl<K: Eq + Hash, V, S: BuildHasher, D: Domain> HashMap<K, V, S, D> {
    /// Returns the value of a key, to be changed in place by the map's only owner.
    ///
    /// ```
    /// let mut map = leeward::collect::HashMap::from([("a", 1)]);
    /// *map.get_mut("a").unwrap() += 1;
    /// assert_eq!(map.pin().get("a"), Some(&2));
    /// ```
    pub fn get_mut<Q>(&mut self, key: &Q) -> Option<&mut V>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        // SAFETY: no other thread has the map, so nothing is freed.
        let found = unsafe { self.table.find(self.hash(key), |entry| key.equivalent(&entry.key)) }?;
        // SAFETY: in the map, which is borrowed for as long as the reference.
        Some(unsafe { &mut (*found.as_ptr()).value })
    }
}

impl<K, V, S, D: Domain> HashMap<K, V, S, D> {
    /// Returns all entries, in no particular order, with values to be changed in place by the map's
    /// only owner.
    ///
    /// ```
    /// let mut map = leeward::collect::HashMap::from([("a", 1), ("b", 2)]);
    /// map.iter_mut().for_each(|(_, value)| *value *= 10);
    /// assert_eq!(map.pin().values().sum::<i32>(), 30);
    /// ```
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V> {
        // SAFETY: no other thread has the map for as long as the walk.
        IterMut { walk: unsafe { self.table.walk() }, borrows: PhantomData }
    }

    /// Takes all entries out of the map, whose memory stays its own.
    fn take_entries(&mut self) -> Vec<NonNull<HashEntry<K, V>>> {
        let mut entries = Vec::with_capacity(self.len());
        let table = mem::replace(&mut self.table, RawTable::new());
        // SAFETY: no other thread has the table.
        let mut walk = unsafe { table.walk() };
        while let Some(entry) = walk.next() {
            entries.push(entry);
        }
        entries
    }
}

impl<K, V, S, D: Domain> IntoIterator for HashMap<K, V, S, D> {
    type Item = (K, V);
    type IntoIter = IntoIter<K, V, S, D>;

    fn into_iter(mut self) -> Self::IntoIter {
        IntoIter { entries: self.take_entries().into_iter(), map: self }
    }
}

impl<'m, K, V> Iterator for IterMut<'m, K, V> {
    type Item = (&'m K, &'m mut V);

    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.walk.next()?.as_ptr();
        // SAFETY: in the map, which is borrowed for as long as `'m`.
        let key = unsafe { &(*entry).key };
        // SAFETY: as above, and each entry comes once: no other thread changes the map.
        Some((key, unsafe { &mut (*entry).value }))
    }
}

impl<K, V> FusedIterator for IterMut<'_, K, V> {}

impl<K, V, S, D: Domain> Iterator for IntoIter<K, V, S, D> {
    type Item = (K, V);

    fn next(&mut self) -> Option<(K, V)> {
        let entry = self.entries.next()?;
        // SAFETY: taken out of the map, and of no iterator any more.
        Some(unsafe { entry::take(&self.map.entries, entry) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.entries.size_hint()
    }
}

impl<K, V, S, D: Domain> ExactSizeIterator for IntoIter<K, V, S, D> {}
impl<K, V, S, D: Domain> FusedIterator for IntoIter<K, V, S, D> {}

impl<K, V, S, D: Domain> Drop for IntoIter<K, V, S, D> {
    fn drop(&mut self) {
        self.for_each(drop);
    }
}

impl<K, V> fmt::Debug for IterMut<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IterMut").finish_non_exhaustive()
    }
}

impl<K, V, S, D: Domain> fmt::Debug for IntoIter<K, V, S, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntoIter").field("len", &self.entries.len()).finish_non_exhaustive()
    }
}
