//! The operations of maps. A child finds each key that was there, and may insert, replace and
//! remove all of them: locks of threads that are not there are broken, and a move is begun anew.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use leeward::collect::{HashMap, HashSet};
use leeward::rcu;

use super::Operation;

operations! {
    "maps";
    inserted: || drop(MAP.insert(1, 1)) => left(map_is_usable);
    replaced: || {
        drop(MAP.insert(2, 2));
        assert!(MAP.insert(2, 3).is_some());
    } => left(map_is_usable);
    removed: || {
        drop(MAP.insert(3, 3));
        assert!(MAP.remove(&3).is_some());
    } => left(map_is_usable);
    looked_up: || assert!(MAP.pin().get(&9999).is_none()) => left(map_is_usable);
    updated: || {
        drop(MAP.insert(4, 4));
        assert!(MAP.update(4, |value| value + 1).is_some());
    } => left(map_is_usable);
    by_hash: || {
        let hash = MAP.hasher().hash_one(7);
        assert_eq!(MAP.pin().get_or_insert_by_hash(hash, |key| *key == 7, || (7, 7)), (&7, &7));
        assert!(MAP.pin().get_by_hash(hash, |key| *key == 7).is_some());
        assert!(MAP.remove_by_hash(hash, |key| *key == 7).is_some());
    } => left(map_is_usable);
    made: || {
        assert!(MAP.pin().try_insert_with(8, || 8).is_ok());
        assert_eq!(MAP.retain(|key, _| *key != 8), 1);
    } => left(map_is_usable);
    interned: || {
        let guard = rcu::read();
        assert_eq!(SET.get_or_insert(1, &guard), SET.get_or_insert_with(&1, |value| *value, &guard));
        assert!(SET.pin().remove(&1));
    } => left(|| SET.insert(2) && SET.remove(&2));
    grown: || (0..60).for_each(|key| drop(GROWING.insert(key, key))) => left(growing_is_usable);
    reserved: || RESERVED.reserve(40) => left(|| is_usable(&RESERVED));
    shrunk: || {
        (0..200).for_each(|key| drop(SHRINKING.insert(key, key)));
        (0..200).for_each(|key| drop(SHRINKING.remove(&key)));
    } => left(|| is_usable(&SHRINKING));
    reclaimed: || {
        drop(MAP.insert(5, 5));
        drop(MAP.remove(&5));
        MAP.reclaim();
    } => left(map_is_usable);
    had_back: || {
        drop(MAP.insert(6, 6));
        assert!(MAP.remove(&6).map(|old| old.synchronize()).is_some());
    } => left(map_is_usable);
    walked: || assert!(MAP.iter(&rcu::read()).count() < 100) => left(map_is_usable);
    dropped: || drop(Map::from_iter([(1, 1), (2, 2)])) => left(map_is_usable);
}

type Map = HashMap<u32, u32, BuildHasherDefault<DefaultHasher>>;

static SET: HashSet<u32, BuildHasherDefault<DefaultHasher>> = HashSet::with_hasher(BuildHasherDefault::new());
static MAP: Map = Map::with_hasher(BuildHasherDefault::new());
static GROWING: Map = Map::with_hasher(BuildHasherDefault::new());
static RESERVED: Map = Map::with_hasher(BuildHasherDefault::new());
static SHRINKING: Map = Map::with_hasher(BuildHasherDefault::new());

/// Returns true if each key that is there can be replaced and removed, and others inserted.
fn is_usable(map: &Map) -> bool {
    // The first call: it locks lines, too.
    map.reserve(300);
    (1000..1100).for_each(|key| drop(map.insert(key, key)));
    let guard = rcu::read();
    let keys: Vec<u32> = map.keys(&guard).copied().collect();
    keys.len() >= 100
        && map.len() == keys.len()
        && keys.iter().all(|key| map.insert(*key, 7).is_some() && map.get(key, &guard) == Some(&7))
        && keys.iter().all(|key| map.remove(key).is_some())
        && map.is_empty()
}

fn map_is_usable() -> bool {
    is_usable(&MAP)
}

/// The keys were inserted in order, so those that are there are the first ones.
fn growing_is_usable() -> bool {
    let count = GROWING.iter(&rcu::read()).count() as u32;
    (0..count).all(|key| GROWING.pin().get(&key) == Some(&key)) && is_usable(&GROWING)
}
