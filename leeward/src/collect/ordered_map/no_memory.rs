//! The errors of changes for which there is no memory. Made by `checked.rs`.

use core::fmt;

use super::Occupied;

/// The error of a change of an [`OrderedMap`](super::OrderedMap) for which there is no memory, with what
/// the call was given by value. The map is as it was before the call.
///
/// ```
/// use leeward::collect::{OrderedMap, ordered_map::NoMemory};
/// let map = OrderedMap::new();
/// match map.checked_insert(1, "one") {
///     Ok(replaced) => assert!(replaced.is_none()),
///     Err(NoMemory((key, value))) => println!("{key}: {value} has to wait"),
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoMemory<T = ()>(pub T);

impl<T> fmt::Display for NoMemory<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no memory to change the map")
    }
}

impl<T: fmt::Debug> core::error::Error for NoMemory<T> {}

/// The error of [`checked_try_insert`](super::OrderedMap::checked_try_insert): nothing was inserted.
///
/// ```
/// use leeward::collect::{OrderedMap, ordered_map::NotInserted};
/// let map = OrderedMap::from_iter([(1, "one")]);
/// let refused = map.checked_try_insert(1, "uno");
/// assert!(matches!(refused, Err(NotInserted::Occupied(found)) if found.value == "uno"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotInserted<K, V> {
    /// The key is there.
    Occupied(Occupied<K, V>),
    /// There is no memory.
    NoMemory(NoMemory<(K, V)>),
}

impl<K, V> fmt::Display for NotInserted<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotInserted::Occupied(error) => error.fmt(f),
            NotInserted::NoMemory(error) => error.fmt(f),
        }
    }
}

impl<K: fmt::Debug, V: fmt::Debug> core::error::Error for NotInserted<K, V> {}
