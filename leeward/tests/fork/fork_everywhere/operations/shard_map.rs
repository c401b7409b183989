//! The operations of sharded maps.

use std::hash::BuildHasher;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use leeward::collect::ShardMap;

use super::super::case::Beside;
use super::Operation;

operations! {
    "shard_map";
    shard_get: || drop(map().get(&1)) => left(map_is_usable);
    shard_get_twice: || drop((map().get(&1), map().get(&1))) => left(map_is_usable);
    shard_insert: insert => left(map_is_usable);
    shard_insert_behind_a_reader: insert => beside(reads).left(map_is_usable);
    shard_get_behind_a_writer: || drop(map().get(&1)) => beside(writes).left(map_is_usable);
    shard_entry: || drop(map().entry(2).or_default()) => left(map_is_usable);
    shard_by_hash: by_hash => left(map_is_usable);
    shard_shards: || assert!(map().shards().iter().flat_map(|shard| shard.iter()).count() <= 3) => left(map_is_usable);
    shard_read_only: read_only => left(map_is_usable);
    shard_remove: remove => left(map_is_usable);
    shard_iter: count => left(map_is_usable);
    shard_compared: || assert!(map().eq(map())) => left(map_is_usable);
    shard_retain: || map().retain(|key, _| *key < 2) => left(map_is_usable);
    shard_grows: grow => left(map_is_usable);
    shard_more_than_slots: more_than_slots => left(map_is_usable);
}

/// Returns the map of the operations. It is made without a lock: the child of a fork in the midst of
/// a lock's work would wait for that.
fn map() -> &'static ShardMap<u32, u32> {
    static MAP: AtomicPtr<ShardMap<u32, u32>> = AtomicPtr::new(ptr::null_mut());
    // Acquire, here and below: partner of the release below.
    let mut map = MAP.load(Ordering::Acquire);
    if map.is_null() {
        let made = Box::into_raw(Box::new(one_shard()));
        // Release: the map was made before others see it.
        let outcome = MAP.compare_exchange(ptr::null_mut(), made, Ordering::AcqRel, Ordering::Acquire);
        map = outcome.map_or_else(|earlier| earlier, |_| made);
    }
    // SAFETY: made above, and never freed.
    unsafe { &*map }
}

fn one_shard() -> ShardMap<u32, u32> {
    let map = ShardMap::with_shard_amount(1);
    map.insert(1, 1);
    map
}

/// The child of a fork within a write finds the shard locked, as with any lock; else it finds a map
/// that is whole.
fn map_is_usable() -> bool {
    map().try_entry(1).is_none() || {
        map().insert(1, 2);
        map().insert(3, 4);
        let is_there = map().get(&1).is_some_and(|value| *value == 2);
        is_there && map().iter().count() == map().len() && map().remove(&3) == Some((3, 4))
    }
}

fn insert() {
    map().insert(1, 1);
}

fn by_hash() {
    let hash = map().hasher().hash_one(2_u32);
    drop(map().get_or_insert_by_hash(hash, |key| *key == 2, || (2, 2)));
    *map().entry_by_hash(hash, 2).or_default() += 1;
    drop(map().get_mut_by_hash(hash, |key| *key == 2));
    drop(map().get_by_hash(hash, |key| *key == 2));
    map().remove_by_hash(hash, |key| *key == 2);
}

fn read_only() {
    let view = one_shard().into_read_only();
    assert_eq!(view.get(&1), Some(&1));
    assert!(view.into_inner().insert(1, 2).is_some());
}

fn remove() {
    map().remove(&2);
}

fn count() {
    assert!(map().iter().count() <= 3);
}

fn grow() {
    let map = one_shard();
    assert!((2..40).all(|key| map.insert(key, key).is_none()));
}

/// Reads more maps than the thread has slots, so that some reads are in the thread's list.
fn more_than_slots() {
    let maps: [_; 6] = std::array::from_fn(|_| one_shard());
    let _readers = maps.each_ref().map(|map| map.get(&1));
    drop(map().get(&1));
}

fn reads(beside: &Beside<'_>) {
    let entry = map().get(&1);
    beside.until_it_sleeps();
    drop(entry);
}

fn writes(beside: &Beside<'_>) {
    let entry = map().entry(1).or_default();
    beside.until_it_sleeps();
    drop(entry);
}

/// Tries the operations that issue heavy fences.
#[test]
fn with_signals() {
    crate::with_signals("shard_map", &["shard_insert", "shard_insert_behind_a_reader"]);
}
