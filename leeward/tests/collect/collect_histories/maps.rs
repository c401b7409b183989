//! The calls of both maps by the same names.

use super::computed;
use super::key::{Hasher, Key, pause};

use leeward::collect::hash_map::{Compute, Operation};
use leeward::collect::{HashMap, OrderedMap};
use leeward::rcu;

/// A hash map.
pub type Hashed = HashMap<Key, u32, Hasher>;

/// A map. Its calls return what the key had before, or if it was there.
pub trait Map: Sync {
    const HAS_COMPUTE: bool = false;
    /// True if a walk returns keys in order, each once at most.
    const IS_ORDERED: bool = false;

    fn get(&self, key: Key) -> Option<u32>;
    fn contains(&self, key: Key) -> bool;
    fn insert(&self, key: Key, value: u32) -> Option<u32>;
    /// Returns true if the value was inserted.
    fn try_insert(&self, key: Key, value: u32) -> bool;
    fn update(&self, key: Key, more: u32) -> Option<u32>;
    fn compute(&self, _: Key, _: u32) -> Option<u32> {
        unreachable!("the map has no such call")
    }
    fn remove(&self, key: Key) -> Option<u32>;
    fn walk(&self, act: impl FnMut(Key, u32));
}

impl Map for Hashed {
    const HAS_COMPUTE: bool = true;

    fn get(&self, key: Key) -> Option<u32> {
        self.get(&key, &rcu::read()).copied()
    }

    fn contains(&self, key: Key) -> bool {
        self.contains_key(&key)
    }

    fn insert(&self, key: Key, value: u32) -> Option<u32> {
        self.insert(key, value).map(|old| *old)
    }

    fn try_insert(&self, key: Key, value: u32) -> bool {
        self.try_insert(key, value, &rcu::read()).is_ok()
    }

    fn update(&self, key: Key, more: u32) -> Option<u32> {
        let add = |value: &u32| {
            pause();
            value + more
        };
        self.update(key, add).map(|old| *old)
    }

    fn compute(&self, key: Key, more: u32) -> Option<u32> {
        let decide = |found: Option<(&Key, &u32)>| {
            pause();
            match computed(found.map(|(_, value)| *value), more) {
                Some(value) => Operation::<_, ()>::Insert(value),
                None => Operation::Remove,
            }
        };
        match self.compute(key, decide, &rcu::read()) {
            Compute::Inserted(..) | Compute::Absent => None,
            Compute::Updated { old: (_, value), .. } | Compute::Removed(_, value) => Some(*value),
            Compute::Aborted(()) => unreachable!("nothing is aborted"),
        }
    }

    fn remove(&self, key: Key) -> Option<u32> {
        self.remove(&key).map(|old| *old)
    }

    fn walk(&self, mut act: impl FnMut(Key, u32)) {
        for (key, value) in self.iter(&rcu::read()) {
            pause();
            act(*key, *value);
        }
    }
}

impl Map for OrderedMap<Key, u32> {
    const IS_ORDERED: bool = true;

    fn get(&self, key: Key) -> Option<u32> {
        self.get(&key, &rcu::read()).copied()
    }

    fn contains(&self, key: Key) -> bool {
        self.contains_key(&key, &rcu::read())
    }

    fn insert(&self, key: Key, value: u32) -> Option<u32> {
        self.insert(key, value).map(|old| *old)
    }

    fn try_insert(&self, key: Key, value: u32) -> bool {
        self.try_insert(key, value).is_ok()
    }

    fn update(&self, key: Key, more: u32) -> Option<u32> {
        let add = |value: &u32| {
            pause();
            value + more
        };
        self.update(key, add).map(|old| *old)
    }

    fn remove(&self, key: Key) -> Option<u32> {
        self.remove(&key).map(|old| *old)
    }

    fn walk(&self, mut act: impl FnMut(Key, u32)) {
        for (key, value) in self.iter(&rcu::read()) {
            pause();
            act(*key, *value);
        }
    }
}
