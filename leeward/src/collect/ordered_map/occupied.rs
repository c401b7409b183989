//! The error of an insertion whose key is there. Made by `write.rs`.

use core::fmt;

/// The error of [`try_insert`](super::OrderedMap::try_insert): the key is there.
///
/// ```
/// use leeward::collect::{OrderedMap, ordered_map::Occupied};
/// let map = OrderedMap::from_iter([(1, "one")]);
/// let Err(Occupied { key, value }) = map.try_insert(1, "uno") else { panic!() };
/// assert_eq!((key, value), (1, "uno"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Occupied<K, V> {
    /// The key that was to be inserted.
    pub key: K,
    /// The value that was to be inserted.
    pub value: V,
}

impl<K, V> fmt::Display for Occupied<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the map has an entry with this key")
    }
}

impl<K: fmt::Debug, V: fmt::Debug> core::error::Error for Occupied<K, V> {}
