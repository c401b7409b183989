//! A map's shards, each by itself, and a map that is given up for a view that is read without locks.

use super::*;

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use leeward::collect::shard_map::{Iter, IterMut, ReadOnlyView, Shard};

fn thousand() -> Map {
    (0..1000).map(|key| (key, key)).collect()
}

#[test]
fn each_entry_is_in_the_shard_of_its_hash() {
    for amount in [1, 2, 64] {
        let map = Map::with_shard_amount(amount);
        (0..1000).for_each(|key| _ = map.insert(key, key));
        let shards: &[Shard<(u32, u32)>] = map.shards();
        assert_eq!(shards.len(), amount);
        assert_eq!(shards.iter().map(|shard| shard.len()).sum::<usize>(), 1000);
        assert!(
            shards
                .iter()
                .all(|shard| shard.capacity() >= shard.len() && shard.is_empty() == (shard.iter().count() == 0))
        );
        for (number, shard) in shards.iter().enumerate() {
            assert!(shard.iter().all(|entry| map.determine_shard(map.hasher().hash_one(entry.key())) == number));
        }
        let all: HashSet<u32> = shards.iter().flat_map(|shard| shard.iter()).map(|entry| *entry.key()).collect();
        assert_eq!(all.len(), 1000);
    }
}

#[test]
fn threads_walk_and_change_a_shard_each() {
    let map = thousand();
    thread::scope(|scope| {
        for shard in map.shards() {
            scope.spawn(|| shard.iter_mut().for_each(|mut value| *value += 1));
        }
    });
    assert!(map.iter().all(|entry| *entry.value() == entry.key() + 1));
}

/// A shard's iterator locks its shard alone, from its first step on.
#[test]
fn a_shard_is_locked_alone() {
    let map = Map::with_shard_amount(2);
    (0..100).for_each(|key| _ = map.insert(key, key));
    let of = |number: usize| (0..100).find(|key| map.determine_shard(map.hasher().hash_one(key)) == number).unwrap();
    let mut iter = map.shards()[0].iter_mut();
    assert!(map.try_get(&of(0)).is_present(), "it has not begun");
    let entry = iter.next().unwrap();
    assert!(map.try_get(&of(0)).is_locked() && map.try_get_mut(&of(1)).is_present());
    drop(iter);
    assert!(map.try_get(&of(0)).is_locked(), "the entry keeps it locked");
    drop(entry);
    assert!(map.try_get_mut(&of(0)).is_present());
}

#[test]
fn a_view_has_what_the_map_had() {
    let map = ShardMap::<String, u32>::from_iter([("a".to_owned(), 1), ("b".to_owned(), 2)]);
    let view: ReadOnlyView<String, u32> = map.into_read_only();
    assert_eq!((view.len(), view.is_empty(), view.capacity() >= 2), (2, false, true));
    assert_eq!((view.get("a"), view.get("c")), (Some(&1), None));
    assert_eq!(view.get_key_value("b"), Some((&"b".to_owned(), &2)));
    assert!(view.contains_key("a") && !view.contains_key("c"));
    let hash = view.hasher().hash_one("b");
    assert_eq!(view.get_by_hash(hash, |key| key == "b"), Some((&"b".to_owned(), &2)));
    assert_eq!(view.get_by_hash(hash, |_| false), None);
    assert_eq!((view.keys().count(), view.values().sum::<u32>(), view.iter().count()), (2, 3, 2));
    let other = view.clone();
    assert_eq!(view, other);
    assert!(["{\"a\": 1, \"b\": 2}", "{\"b\": 2, \"a\": 1}"].contains(&&*format!("{view:?}")));
    let map = view.into_inner();
    map.insert("c".to_owned(), 3);
    assert_eq!((map.len(), map.get("a").map(|value| *value)), (3, Some(1)));
    let more = map.into_read_only();
    assert!(more != other && more.get("c") == Some(&3));
}

/// The map comes back with as many shards, each entry in the shard of its hash, and with locks of its own: a
/// guard that was leaked locks nothing any more.
#[test]
fn a_view_becomes_a_map_again() {
    for amount in [1, 8] {
        let map = Map::with_shard_amount(amount);
        (0..1000).for_each(|key| _ = map.insert(key, key));
        std::mem::forget(map.get_mut(&1));
        let map = map.into_read_only().into_inner();
        assert_eq!(map.shards().len(), amount);
        assert!((0..1000).all(|key| map.get_mut(&key).is_some_and(|value| *value == key)));
        (1000..5000).for_each(|key| _ = map.insert(key, key));
        assert_eq!(map.iter().count(), 5000);
    }
}

#[test]
fn threads_share_a_view_and_entries_are_dropped_once() {
    let live = Arc::new(());
    let map: ShardMap<u32, Arc<()>> = (0..100).map(|key| (key, live.clone())).collect();
    let view = map.into_read_only();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                assert!((0..100).all(|key| view.get(&key).is_some_and(|value| Arc::strong_count(value) > 100)))
            });
        }
    });
    let copy = view.clone();
    assert_eq!(Arc::strong_count(&live), 201);
    drop(view.into_inner());
    assert_eq!(Arc::strong_count(&live), 101);
    drop(copy);
    assert_eq!(Arc::strong_count(&live), 1);
}

/// Programs of dashmap 6 name these types so.
#[test]
fn iterators_name_the_maps_hasher() {
    fn walk<'a, S: BuildHasher>(map: &'a ShardMap<u32, u32, S>) -> Iter<'a, u32, u32, S> {
        map.iter()
    }
    fn change<'a, S: BuildHasher>(map: &'a ShardMap<u32, u32, S>) -> IterMut<'a, u32, u32, S> {
        map.iter_mut()
    }
    let map: ShardMap<u32, u32, RandomState> = thousand();
    let all: Iter<'_, u32, u32> = walk(&map);
    assert_eq!(all.count(), 1000);
    assert_eq!(change(&map).count(), 1000);
}
