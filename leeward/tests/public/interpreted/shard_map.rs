//! The sharded map: its guards, its calls by hash, its shards, and the view without locks. (The entries are
//! reached by pointers beside the lock's guard.)

use std::hash::BuildHasher;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use leeward::collect::ShardMap;
use leeward::collect::shard_map::Entry;

use super::{TURNS, twice};

#[test]
fn entries_are_read_changed_and_taken_out() {
    let map: ShardMap<u64, Box<u64>> = ShardMap::with_shard_amount(2);
    let sum = AtomicU64::new(0);
    twice(|turn| {
        let hash = map.hasher().hash_one(turn);
        **map.entry(turn).or_insert_with(|| Box::new(0)) += 1;
        **map.get_or_insert_by_hash(hash, |key| *key == turn, || (turn, Box::new(0))) += 1;
        match map.entry_by_hash(hash, turn) {
            Entry::Occupied(mut entry) => **entry.get_mut() += 1,
            Entry::Vacant(_) => unreachable!("nothing is taken out yet"),
        }
        assert_eq!(*map.get_mut_by_hash(hash, |key| *key == turn).unwrap().downgrade().key(), turn);
        let (one, two) = (map.get_by_hash(hash, |key| *key == turn).unwrap(), map.get(&turn).unwrap());
        sum.fetch_add((**one >= 3) as u64 & (one.key() == two.key()) as u64, Ordering::Relaxed);
        drop(one.map(|value| &**value));
    });
    assert_eq!((sum.load(Ordering::Relaxed), map.len() as u64), (2 * TURNS, TURNS));
    let taken = (0..TURNS).filter_map(|key| map.remove_by_hash(map.hasher().hash_one(key), |there| *there == key));
    assert_eq!(taken.map(|(_, value)| *value).sum::<u64>(), 6 * TURNS);
}

#[test]
fn shards_are_walked_and_views_are_read() {
    let map: ShardMap<u64, Box<u64>> = (0..4 * TURNS).map(|key| (key, Box::new(key))).collect();
    thread::scope(|scope| {
        for part in map.shards().chunks(map.shards().len() / 2) {
            scope.spawn(|| part.iter().flat_map(|shard| shard.iter_mut()).for_each(|mut value| **value += 1));
        }
    });
    // A guard that is leaked leaves its lock, and no more.
    mem::forget(map.get(&1));
    let view = map.into_read_only();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert!((0..4 * TURNS).all(|key| view.get(&key).is_some_and(|value| **value == key + 1))));
        }
    });
    let copy = view.clone();
    let map = view.into_inner();
    map.retain(|key, _| *key < TURNS);
    assert!(map.insert(0, Box::new(0)).is_some_and(|old| *old == 1));
    assert_eq!((map.len() as u64, copy.values().count() as u64), (TURNS, 4 * TURNS));
}
