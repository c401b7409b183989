//! A map made piece by piece: capacity, hasher, domain.

use core::fmt;
use core::marker::PhantomData;
use std::hash::RandomState;

use super::HashMap;
use crate::rcu::{Domain, Global};

/// What a map is to be, as [`HashMap::builder`] returns it.
///
/// ```
/// use leeward::{collect::HashMap, rcu::Domain};
/// use std::hash::{BuildHasherDefault, DefaultHasher};
/// leeward::rcu_domain! { struct Zones; }
/// let zones = HashMap::builder()
///     .capacity(1000)
///     .hasher(BuildHasherDefault::<DefaultHasher>::default())
///     .domain::<Zones>()
///     .build();
/// zones.insert("example.org", 1);
/// assert_eq!(zones.get("example.org", &Zones::read()), Some(&1));
/// ```
#[must_use = "a map is made by `build`"]
pub struct Builder<K, V, S = RandomState, D: Domain = Global> {
    capacity: usize,
    hasher: S,
    makes: PhantomData<fn(D) -> (K, V)>,
}

impl<K, V> HashMap<K, V> {
    /// Returns a builder, for maps that differ from [`new`](Self::new)'s in several ways.
    pub fn builder() -> Builder<K, V> {
        Builder { capacity: 0, hasher: RandomState::new(), makes: PhantomData }
    }
}

impl<K, V, S, D: Domain> Builder<K, V, S, D> {
    /// Sets the number of entries that the map has room for at once; 0, the default, allocates nothing.
    pub fn capacity(self, capacity: usize) -> Self {
        Builder { capacity, ..self }
    }

    /// Sets the hasher.
    pub fn hasher<T>(self, hasher: T) -> Builder<K, V, T, D> {
        Builder { capacity: self.capacity, hasher, makes: PhantomData }
    }

    /// Sets the domain whose readers look keys up.
    pub fn domain<E: Domain>(self) -> Builder<K, V, S, E> {
        Builder { capacity: self.capacity, hasher: self.hasher, makes: PhantomData }
    }

    /// Makes the map.
    ///
    /// # Panics
    /// As [`HashMap::reserve`].
    #[track_caller]
    pub fn build(self) -> HashMap<K, V, S, D> {
        let map = HashMap::with_hasher_in(self.hasher);
        if self.capacity != 0 {
            map.reserve(self.capacity);
        }
        map
    }
}

impl<K, V, S, D: Domain> fmt::Debug for Builder<K, V, S, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("capacity", &self.capacity).finish_non_exhaustive()
    }
}
