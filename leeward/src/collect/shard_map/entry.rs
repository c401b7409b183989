//! The place of a key, there or not: [`Entry`]. Made by `write`; holds the shard's guard, and the
//! number of the key's bucket or its hash.

use core::mem;
use core::ptr::NonNull;

use super::one::RefMut;
use super::room;
use super::shard::WriteGuard;

/// The place of a key in a [`ShardMap`](super::ShardMap), whose shard is locked for writing until the
/// drop.
///
/// ```
/// use leeward::collect::{ShardMap, shard_map::Entry};
/// let map = ShardMap::from([("a", 1)]);
/// let count = |name| match map.entry(name) {
///     Entry::Occupied(mut entry) => entry.insert(2),
///     Entry::Vacant(entry) => *entry.insert(0),
/// };
/// assert_eq!((count("a"), count("b")), (1, 0));
/// *map.entry("c").or_insert(5) += 1;
/// assert_eq!(*map.get("c").unwrap(), 6);
/// ```
pub enum Entry<'a, K, V> {
    /// The key is there.
    Occupied(OccupiedEntry<'a, K, V>),
    /// The key is not there.
    Vacant(VacantEntry<'a, K, V>),
}

impl<'a, K, V> Entry<'a, K, V> {
    /// Finds a key in the shard that `guard` has locked, and sees to room for one entry.
    pub(super) fn find(
        mut guard: WriteGuard<'a, (K, V)>,
        hash: u64,
        key: K,
        hasher: impl Fn(&(K, V)) -> u64,
    ) -> Entry<'a, K, V>
    where
        K: Eq,
    {
        match guard.table().find_bucket_index(hash, |entry| entry.0 == key) {
            Some(bucket) => Entry::Occupied(OccupiedEntry { guard, bucket, key }),
            None => {
                room::for_one(guard.table(), hasher);
                Entry::Vacant(VacantEntry { guard, hash, key })
            }
        }
    }

    /// Changes the value if the key is there.
    pub fn and_modify(self, change: impl FnOnce(&mut V)) -> Self {
        match self {
            Entry::Occupied(mut entry) => {
                change(entry.get_mut());
                Entry::Occupied(entry)
            }
            vacant => vacant,
        }
    }

    /// Returns the key: the one that is there, or else the one that was asked for.
    pub fn key(&self) -> &K {
        match self {
            Entry::Occupied(entry) => entry.key(),
            Entry::Vacant(entry) => entry.key(),
        }
    }

    /// Gives the place up, and returns the key that was asked for.
    pub fn into_key(self) -> K {
        match self {
            Entry::Occupied(entry) => entry.into_key(),
            Entry::Vacant(entry) => entry.into_key(),
        }
    }

    /// Returns the value, which is the type's default if the key was not there.
    pub fn or_default(self) -> RefMut<'a, K, V>
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }

    /// Returns the value, which is this one if the key was not there.
    pub fn or_insert(self, value: V) -> RefMut<'a, K, V> {
        self.or_insert_with(|| value)
    }

    /// Returns the value, which is what `make` returns if the key was not there.
    pub fn or_insert_with(self, make: impl FnOnce() -> V) -> RefMut<'a, K, V> {
        match self {
            Entry::Occupied(entry) => entry.into_ref(),
            Entry::Vacant(entry) => entry.insert(make()),
        }
    }

    /// Returns the value, which is what `make` returns if the key was not there.
    ///
    /// # Errors
    /// What `make` fails with.
    pub fn or_try_insert_with<E>(self, make: impl FnOnce() -> Result<V, E>) -> Result<RefMut<'a, K, V>, E> {
        match self {
            Entry::Occupied(entry) => Ok(entry.into_ref()),
            Entry::Vacant(entry) => Ok(entry.insert(make()?)),
        }
    }

    /// Gives the key this value.
    pub fn insert(self, value: V) -> RefMut<'a, K, V> {
        match self {
            Entry::Occupied(mut entry) => {
                entry.insert(value);
                entry.into_ref()
            }
            Entry::Vacant(entry) => entry.insert(value),
        }
    }

    /// Gives the key this value, and returns its place.
    pub fn insert_entry(self, value: V) -> OccupiedEntry<'a, K, V>
    where
        K: Clone,
    {
        match self {
            Entry::Occupied(mut entry) => {
                entry.insert(value);
                entry
            }
            Entry::Vacant(entry) => entry.insert_entry(value),
        }
    }
}

/// The place of a key that is not there. Returned in [`Entry::Vacant`].
///
/// ```
/// use leeward::collect::{ShardMap, shard_map::Entry};
/// let map = ShardMap::new();
/// if let Entry::Vacant(entry) = map.entry(String::from("a")) {
///     let length = entry.key().len();
///     entry.insert(length);
/// }
/// assert_eq!(*map.get("a").unwrap(), 1);
/// ```
pub struct VacantEntry<'a, K, V> {
    // First, so that the shard is unlocked before the key is dropped.
    guard: WriteGuard<'a, (K, V)>,
    hash: u64,
    key: K,
}

impl<'a, K, V> VacantEntry<'a, K, V> {
    /// Gives the key this value.
    pub fn insert(self, value: V) -> RefMut<'a, K, V> {
        let VacantEntry { mut guard, hash, key } = self;
        let mut entry = guard.table().insert_unique(hash, (key, value), has_room);
        let entry = NonNull::from(entry.get_mut());
        RefMut::new(guard, entry)
    }

    /// Gives the key this value, and returns its place.
    pub fn insert_entry(self, value: V) -> OccupiedEntry<'a, K, V>
    where
        K: Clone,
    {
        let asked = self.key.clone();
        let VacantEntry { mut guard, hash, key } = self;
        let bucket = guard.table().insert_unique(hash, (key, value), has_room).bucket_index();
        OccupiedEntry { guard, bucket, key: asked }
    }

    /// Gives the place up, and returns the key.
    pub fn into_key(self) -> K {
        self.key
    }

    /// Returns the key.
    pub fn key(&self) -> &K {
        &self.key
    }
}

/// Stands for the hasher where `Entry::find` has seen to room, so that nothing is hashed again.
fn has_room<T>(_: &T) -> u64 {
    unreachable!("the table has room for an entry")
}

/// The place of a key that is there. Returned in [`Entry::Occupied`].
///
/// ```
/// use leeward::collect::{ShardMap, shard_map::Entry};
/// let map = ShardMap::from([("a", 1)]);
/// if let Entry::Occupied(mut entry) = map.entry("a") {
///     *entry.get_mut() += 1;
///     assert_eq!(entry.remove_entry(), ("a", 2));
/// }
/// assert!(map.is_empty());
/// ```
pub struct OccupiedEntry<'a, K, V> {
    // First, so that the shard is unlocked before the key is dropped.
    guard: WriteGuard<'a, (K, V)>,
    bucket: usize,
    key: K,
}

impl<'a, K, V> OccupiedEntry<'a, K, V> {
    fn pair(&self) -> &(K, V) {
        match self.guard.table_shared().get_bucket(self.bucket) {
            Some(entry) => entry,
            None => unreachable!("the entry was found in this bucket"),
        }
    }

    fn pair_mut(&mut self) -> &mut (K, V) {
        match self.guard.table().get_bucket_mut(self.bucket) {
            Some(entry) => entry,
            None => unreachable!("the entry was found in this bucket"),
        }
    }

    /// Returns the value.
    pub fn get(&self) -> &V {
        &self.pair().1
    }

    /// Returns the value, to be changed.
    pub fn get_mut(&mut self) -> &mut V {
        &mut self.pair_mut().1
    }

    /// Replaces the value, and returns the old one.
    pub fn insert(&mut self, value: V) -> V {
        mem::replace(self.get_mut(), value)
    }

    /// Returns the guard of the entry.
    pub fn into_ref(mut self) -> RefMut<'a, K, V> {
        let entry = NonNull::from(self.pair_mut());
        RefMut::new(self.guard, entry)
    }

    /// Gives the place up, and returns the key that was asked for.
    pub fn into_key(self) -> K {
        self.key
    }

    /// Returns the key that is there.
    pub fn key(&self) -> &K {
        &self.pair().0
    }

    /// Takes the entry out, and returns its value.
    pub fn remove(self) -> V {
        self.remove_entry().1
    }

    /// Takes the entry out, and returns it.
    pub fn remove_entry(mut self) -> (K, V) {
        match self.guard.table().get_bucket_entry(self.bucket) {
            Ok(entry) => entry.remove().0,
            Err(_) => unreachable!("the entry was found in this bucket"),
        }
    }

    /// Replaces key and value by the key that was asked for and this value; returns the old ones.
    pub fn replace_entry(self, value: V) -> (K, V) {
        let OccupiedEntry { mut guard, bucket, key } = self;
        match guard.table().get_bucket_mut(bucket) {
            Some(entry) => mem::replace(entry, (key, value)),
            None => unreachable!("the entry was found in this bucket"),
        }
    }
}
