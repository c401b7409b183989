//! Guards of the entries that iterators give: [`RefMulti`] and [`RefMutMulti`]. Made by `iter`. All
//! guards of one shard share its lock, and the last one unlocks.

use alloc::rc::Rc;
use core::ptr::NonNull;

use super::guard::entry;
use super::shard::{ReadGuard, WriteGuard};

/// A shared reference to an entry that [`ShardMap::iter`](super::ShardMap::iter) gives.
///
/// ```
/// let map = leeward::collect::ShardMap::from([("a", 1)]);
/// let entry = map.iter().next().unwrap();
/// assert_eq!(entry.pair(), (&"a", &1));
/// ```
pub struct RefMulti<'a, K, V> {
    _guard: Rc<ReadGuard<'a, (K, V)>>,
    entry: NonNull<(K, V)>,
}

impl<'a, K, V> RefMulti<'a, K, V> {
    pub(super) fn new(guard: Rc<ReadGuard<'a, (K, V)>>, entry: NonNull<(K, V)>) -> Self {
        RefMulti { _guard: guard, entry }
    }
}

// Readers' guards of a shard, such as this one shares, give shared references only.
entry! { RefMulti }

/// An exclusive reference to an entry that [`ShardMap::iter_mut`](super::ShardMap::iter_mut) gives.
///
/// ```
/// let map = leeward::collect::ShardMap::from([("a", 1)]);
/// let mut entry = map.iter_mut().next().unwrap();
/// *entry += 1;
/// assert_eq!(entry.pair(), (&"a", &2));
/// ```
pub struct RefMutMulti<'a, K, V> {
    _guard: Rc<WriteGuard<'a, (K, V)>>,
    entry: NonNull<(K, V)>,
}

impl<'a, K, V> RefMutMulti<'a, K, V> {
    pub(super) fn new(guard: Rc<WriteGuard<'a, (K, V)>>, entry: NonNull<(K, V)>) -> Self {
        RefMutMulti { _guard: guard, entry }
    }
}

// The iterator gives each entry once, and the guard that they share is a writer's.
entry! { mut RefMutMulti }
