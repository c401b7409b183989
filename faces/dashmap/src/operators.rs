//! dashmap's operators on a map.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use std::ops::{BitAnd, BitOr, Shl, Shr, Sub};

use crate::DashMap;
use crate::mapref::one::{Ref, RefMut};

/// `&map << (key, value)`: inserts.
impl<K: Eq + Hash, V, S: BuildHasher + Clone> Shl<(K, V)> for &DashMap<K, V, S> {
    type Output = Option<V>;

    fn shl(self, (key, value): (K, V)) -> Self::Output {
        self.insert(key, value)
    }
}

/// `&map >> &key`: gets; panics if the key is not there.
impl<'a, K: Eq + Hash + Borrow<Q>, V, S: BuildHasher + Clone, Q: Hash + Eq + ?Sized> Shr<&Q> for &'a DashMap<K, V, S> {
    type Output = Ref<'a, K, V>;

    fn shr(self, key: &Q) -> Self::Output {
        self.get(key).unwrap()
    }
}

/// `&map | &key`: gets, to be changed; panics if the key is not there.
impl<'a, K: Eq + Hash + Borrow<Q>, V, S: BuildHasher + Clone, Q: Hash + Eq + ?Sized> BitOr<&Q>
    for &'a DashMap<K, V, S>
{
    type Output = RefMut<'a, K, V>;

    fn bitor(self, key: &Q) -> Self::Output {
        self.get_mut(key).unwrap()
    }
}

/// `&map - &key`: removes.
impl<K: Eq + Hash + Borrow<Q>, V, S: BuildHasher + Clone, Q: Hash + Eq + ?Sized> Sub<&Q> for &DashMap<K, V, S> {
    type Output = Option<(K, V)>;

    fn sub(self, key: &Q) -> Self::Output {
        self.remove(key)
    }
}

/// `&map & &key`: true if the key is there.
impl<K: Eq + Hash + Borrow<Q>, V, S: BuildHasher + Clone, Q: Hash + Eq + ?Sized> BitAnd<&Q> for &DashMap<K, V, S> {
    type Output = bool;

    fn bitand(self, key: &Q) -> Self::Output {
        self.contains_key(key)
    }
}
