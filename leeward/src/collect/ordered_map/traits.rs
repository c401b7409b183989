//! The map's implementations of std's traits. Calls `map.rs`.

use core::fmt;

use super::iter::IntoIter;
use super::map::OrderedMap;
use crate::rcu::Domain;

impl<K, V, D: Domain> Default for OrderedMap<K, V, D> {
    fn default() -> Self {
        OrderedMap::new_in()
    }
}

/// Makes a map of the domain [`Global`](crate::rcu::Global); one of another domain is made empty and extended.
impl<K: Ord, V> FromIterator<(K, V)> for OrderedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = OrderedMap::new();
        map.extend(entries);
        map
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for OrderedMap<K, V> {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<K: Ord, V, D: Domain> Extend<(K, V)> for OrderedMap<K, V, D> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        entries.into_iter().for_each(|(key, value)| drop(self.insert(key, value)));
    }
}

impl<'a, K: Copy + Ord, V: Copy, D: Domain> Extend<(&'a K, &'a V)> for OrderedMap<K, V, D> {
    fn extend<I: IntoIterator<Item = (&'a K, &'a V)>>(&mut self, entries: I) {
        self.extend(entries.into_iter().map(|(key, value)| (*key, *value)));
    }
}

/// Adds entries to a map that is shared.
impl<K: Ord, V, D: Domain> Extend<(K, V)> for &OrderedMap<K, V, D> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        entries.into_iter().for_each(|(key, value)| drop(self.insert(key, value)));
    }
}

impl<K, V, D: Domain> IntoIterator for OrderedMap<K, V, D> {
    type Item = (K, V);
    type IntoIter = IntoIter<K, V>;

    fn into_iter(self) -> IntoIter<K, V> {
        self.into_entries()
    }
}

/// Shows the entries, which it reads in a section; without `std` it has none to read them in.
impl<K: Ord + fmt::Debug, V: fmt::Debug, D: Domain> fmt::Debug for OrderedMap<K, V, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[cfg(feature = "std")]
        return f.debug_map().entries(self.iter(&D::read())).finish();
        #[cfg(not(feature = "std"))]
        f.debug_struct("OrderedMap").finish_non_exhaustive()
    }
}
