//! A name that bounds are made of.

use std::hash::{BuildHasher, Hash};

use crate::DashMap;

/// A map that an iterator goes over: a [`DashMap`]. Its functions are an implementation detail in dashmap, and are not
/// here.
pub trait Map<'a, K: 'a + Eq + Hash, V: 'a, S: 'a + Clone + BuildHasher>: sealed::Sealed {}

impl<'a, K: 'a + Eq + Hash, V: 'a, S: 'a + Clone + BuildHasher> Map<'a, K, V, S> for DashMap<K, V, S> {}

mod sealed {
    pub trait Sealed {}
    impl<K, V, S> Sealed for crate::DashMap<K, V, S> {}
}
