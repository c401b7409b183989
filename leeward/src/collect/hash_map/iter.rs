//! Walks through a map.

use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;

use super::HashMap;
use super::entry::HashEntry;
use crate::collect::table::Walk;
use crate::rcu::{Domain, Protects};

/// The entries of a map, as [`HashMap::iter`] returns them.
///
/// ```
/// use leeward::{collect::HashMap, rcu};
/// let map = HashMap::from([("a", 1), ("b", 2)]);
/// let guard = rcu::read();
/// for (name, value) in map.iter(&guard) {
///     map.insert(name, value + 1); // beside the walk
/// }
/// assert_eq!(map.get("b", &guard), Some(&3));
/// ```
pub struct Iter<'g, K, V> {
    walk: Walk<'g, HashEntry<K, V>>,
    /// A walk is of addresses, which any thread may have; what it returns is not.
    borrows: PhantomData<&'g (K, V)>,
}

/// The keys of a map, as [`HashMap::keys`] returns them.
///
/// ```
/// let map = leeward::collect::HashMap::from([("a", 1), ("b", 2)]);
/// let pinned = map.pin();
/// let mut names: Vec<_> = pinned.keys().collect();
/// names.sort();
/// assert_eq!(names, [&"a", &"b"]);
/// ```
pub struct Keys<'g, K, V>(Iter<'g, K, V>);

/// The values of a map, as [`HashMap::values`] returns them.
///
/// ```
/// let map = leeward::collect::HashMap::from([("a", 1), ("b", 2)]);
/// assert_eq!(map.pin().values().max(), Some(&2));
/// ```
pub struct Values<'g, K, V>(Iter<'g, K, V>);

impl<K, V, S, D: Domain> HashMap<K, V, S, D> {
    /// Returns all entries, in no particular order.
    ///
    /// An entry that is there throughout is returned exactly once, also while the table grows or
    /// shrinks. One that is inserted, replaced or removed meanwhile may be returned or not, in
    /// one of its versions; a key that is removed and inserted again meanwhile may be returned
    /// twice.
    ///
    /// The walk is one section: what writers take out meanwhile is not freed before it ends.
    ///
    /// ```
    /// use leeward::{collect::HashMap, rcu};
    /// let map = HashMap::from([("a", 1), ("b", 2)]);
    /// let guard = rcu::read();
    /// assert_eq!(map.iter(&guard).map(|(_, value)| value).sum::<i32>(), 3);
    /// ```
    pub fn iter<'g>(&'g self, guard: &'g impl Protects<D>) -> Iter<'g, K, V> {
        let _ = guard;
        // SAFETY: the guard's section lasts as long as the walk.
        Iter { walk: unsafe { self.table.walk() }, borrows: PhantomData }
    }

    /// Returns all keys, as [`iter`](Self::iter) returns entries.
    pub fn keys<'g>(&'g self, guard: &'g impl Protects<D>) -> Keys<'g, K, V> {
        Keys(self.iter(guard))
    }

    /// Returns all values, as [`iter`](Self::iter) returns entries.
    pub fn values<'g>(&'g self, guard: &'g impl Protects<D>) -> Values<'g, K, V> {
        Values(self.iter(guard))
    }

    /// Removes all entries for which `keep` returns false, leaves them to the map, and returns how many they
    /// were.
    ///
    /// `keep` is called with no lock held. An entry that another thread replaces meanwhile stays.
    ///
    /// ```
    /// let map = leeward::collect::HashMap::from([("a", 1), ("b", 2)]);
    /// assert_eq!(map.retain(|_, value| *value > 1), 1);
    /// assert_eq!(map.len(), 1);
    /// ```
    pub fn retain(&self, mut keep: impl FnMut(&K, &V) -> bool) -> usize {
        let _guard = D::read();
        let mut removed = 0;
        // SAFETY: a section is open.
        let mut walk = unsafe { self.table.walk() };
        while let Some(node) = walk.next() {
            // SAFETY: a section is open.
            let entry = unsafe { node.as_ref() };
            // SAFETY: as above.
            if !keep(&entry.key, &entry.value) && unsafe { self.try_remove(node) } {
                // SAFETY: taken out by this thread.
                unsafe { self.retire_entry(node) };
                removed += 1;
            }
        }
        removed
    }

    /// Removes all entries that are there throughout the call, and leaves them to the map.
    pub fn clear(&self) {
        _ = self.retain(|_, _| false);
    }
}

impl<'g, K, V> Iterator for Iter<'g, K, V> {
    type Item = (&'g K, &'g V);

    fn next(&mut self) -> Option<Self::Item> {
        // SAFETY: the guard's section keeps it alive.
        let entry = unsafe { &*self.walk.next()?.as_ptr() };
        Some((&entry.key, &entry.value))
    }
}

impl<'g, K, V> Iterator for Keys<'g, K, V> {
    type Item = &'g K;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, _)| key)
    }
}

impl<'g, K, V> Iterator for Values<'g, K, V> {
    type Item = &'g V;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(_, value)| value)
    }
}

impl<K, V> FusedIterator for Iter<'_, K, V> {}
impl<K, V> FusedIterator for Keys<'_, K, V> {}
impl<K, V> FusedIterator for Values<'_, K, V> {}

impl<K, V> fmt::Debug for Iter<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter").finish_non_exhaustive()
    }
}

impl<K, V> fmt::Debug for Keys<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").finish_non_exhaustive()
    }
}

impl<K, V> fmt::Debug for Values<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Values").finish_non_exhaustive()
    }
}
