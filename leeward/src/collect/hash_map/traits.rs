//! The traits that maps implement.

use core::fmt;
use core::hash::{BuildHasher, Hash};

use super::HashMap;
use crate::rcu::Domain;

impl<K, V, S: Default, D: Domain> Default for HashMap<K, V, S, D> {
    fn default() -> Self {
        Self::with_hasher_in(S::default())
    }
}

impl<K: fmt::Debug, V: fmt::Debug, S, D: Domain> fmt::Debug for HashMap<K, V, S, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter(&D::read())).finish()
    }
}

impl<K: Clone + Eq + Hash, V: Clone, S: Clone + BuildHasher, D: Domain> Clone for HashMap<K, V, S, D> {
    fn clone(&self) -> Self {
        let new = Self::with_hasher_in(self.hasher.clone());
        let guard = D::read();
        new.reserve(self.len());
        (&new).extend(self.iter(&guard).map(|(key, value)| (key.clone(), value.clone())));
        new
    }
}

impl<K: Eq + Hash, V: PartialEq, S: BuildHasher, D: Domain> PartialEq for HashMap<K, V, S, D> {
    /// Compares the entries of two maps that do not change meanwhile.
    fn eq(&self, other: &Self) -> bool {
        let guard = D::read();
        self.len() == other.len() && self.iter(&guard).all(|(key, value)| other.get(key, &guard) == Some(value))
    }
}

impl<K: Eq + Hash, V: Eq, S: BuildHasher, D: Domain> Eq for HashMap<K, V, S, D> {}

impl<K: Eq + Hash, V, S: BuildHasher, D: Domain> Extend<(K, V)> for HashMap<K, V, S, D> {
    fn extend<T: IntoIterator<Item = (K, V)>>(&mut self, pairs: T) {
        (&*self).extend(pairs);
    }
}

impl<K: Eq + Hash, V, S: BuildHasher, D: Domain> Extend<(K, V)> for &HashMap<K, V, S, D> {
    fn extend<T: IntoIterator<Item = (K, V)>>(&mut self, pairs: T) {
        for (key, value) in pairs {
            drop(self.insert(key, value));
        }
    }
}

impl<'a, K: Copy + Eq + Hash, V: Copy, S: BuildHasher, D: Domain> Extend<(&'a K, &'a V)> for HashMap<K, V, S, D> {
    fn extend<T: IntoIterator<Item = (&'a K, &'a V)>>(&mut self, pairs: T) {
        self.extend(pairs.into_iter().map(|(key, value)| (*key, *value)));
    }
}

impl<K: Eq + Hash, V, S: BuildHasher + Default, D: Domain> FromIterator<(K, V)> for HashMap<K, V, S, D> {
    fn from_iter<T: IntoIterator<Item = (K, V)>>(pairs: T) -> Self {
        let pairs = pairs.into_iter();
        let mut map = Self::default();
        map.reserve(pairs.size_hint().0);
        map.extend(pairs);
        map
    }
}

impl<K: Eq + Hash, V, const N: usize> From<[(K, V); N]> for HashMap<K, V> {
    fn from(pairs: [(K, V); N]) -> Self {
        pairs.into_iter().collect()
    }
}
