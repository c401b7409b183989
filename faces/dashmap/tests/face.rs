//! dashmap's names and module paths, as programs use them; the features that need no other crate.

use std::collections::HashMap;
use std::hash::RandomState;
use std::thread;

use dashmap::iter::{Iter, IterMut, OwningIter};
use dashmap::mapref::entry::{Entry, OccupiedEntry, VacantEntry};
use dashmap::mapref::multiple::{RefMulti, RefMutMulti};
use dashmap::mapref::one::{MappedRef, MappedRefMut, Ref, RefMut};
use dashmap::try_result::TryResult;
use dashmap::{DashMap, DashSet, Map, ReadOnlyView, iter_set, setref};

/// A bound of dashmap's.
fn is_a_map<'a, M: Map<'a, u32, u32, RandomState>>(_: &'a M) {}

#[test]
fn all_names_are_there() {
    let map: DashMap<u32, u32> = DashMap::with_capacity_and_shard_amount(10, 4);
    is_a_map(&map);
    (0..10).for_each(|key| assert_eq!(map.insert(key, key), None));
    let one: Ref<'_, u32, u32> = map.get(&1).unwrap();
    let part: MappedRef<'_, u32, u32, u32> = one.map(|value| value);
    assert_eq!(*part, 1);
    drop(part);
    let two: RefMut<'_, u32, u32> = map.get_mut(&2).unwrap();
    let part: MappedRefMut<'_, u32, u32, u32> = two.map(|value| value);
    drop(part);
    let found: TryResult<Ref<'_, u32, u32>> = map.try_get(&3);
    assert!(found.is_present() && map.try_get_mut(&30).is_absent());
    drop(found);
    match map.entry(3) {
        Entry::Occupied(entry) => _ = OccupiedEntry::remove(entry),
        Entry::Vacant(entry) => drop(VacantEntry::insert(entry, 0)),
    }
    *map.try_entry(3).unwrap().or_insert(3) += 1;
    let iter: Iter<'_, u32, u32, RandomState, DashMap<u32, u32>> = map.iter();
    assert_eq!(iter.clone().count(), 10);
    assert_eq!(iter.map(|entry: RefMulti<'_, u32, u32>| *entry.key()).sum::<u32>(), 45);
    let iter: IterMut<'_, u32, u32> = map.iter_mut();
    iter.for_each(|mut entry: RefMutMulti<'_, u32, u32>| *entry += 1);
    map.alter(&1, |_, value| value + 1);
    map.alter_all(|_, value| value + 1);
    assert_eq!((map.view(&1, |_, value| *value), map.view(&4, |_, value| *value)), (Some(4), Some(6)));
    map.retain(|key, _| *key < 5);
    map.shrink_to_fit();
    let sizes = [DashMap::len, DashMap::capacity].map(|size| size(&map));
    assert!(sizes[0] == 5 && sizes[1] >= 5 && !map.is_empty());
    assert_eq!(map.remove_if(&1, |_, value| *value == 4), Some((1, 4)));
    assert_eq!(map.remove_if_mut(&2, |_, _| false), None);
    assert_eq!((map.remove(&9), map.contains_key(&2)), (None, true));
    assert_eq!(map.hash_usize(&1), map.clone().hash_usize(&1));
    let all: OwningIter<u32, u32> = map.into_iter();
    assert_eq!(all.count(), 4);
}

#[test]
fn sets_views_and_operators() {
    let set: DashSet<String> = ["a", "b"].into_iter().map(String::from).collect();
    let key: setref::one::Ref<'_, String> = set.get("a").unwrap();
    assert_eq!((key.key().as_str(), set.len(), set.contains("c")), ("a", 2, false));
    drop(key);
    let iter: iter_set::Iter<'_, String, RandomState, DashMap<String, (), RandomState>> = set.iter();
    assert_eq!(iter.map(|key: setref::multiple::RefMulti<'_, String>| key.len()).sum::<usize>(), 2);
    assert!(set.remove_if("a", |_| false).is_none() && set.remove("a").is_some() && set.insert("c".into()));
    let all: iter_set::OwningIter<String, RandomState> = set.clone().into_iter();
    assert_eq!(all.count(), 2);
    let map: DashMap<u32, u32> = [(1, 2), (3, 4)].into_iter().collect();
    let map = &map;
    assert_eq!((map << (5, 6), *(map >> &1), map & &5, map - &5), (None, 2, true, Some((5, 6))));
    *(map | &1) += 1;
    let view: ReadOnlyView<u32, u32> = map.clone().into_read_only();
    let std: HashMap<u32, u32> = view.iter().map(|(key, value)| (*key, *value)).collect();
    assert_eq!(std, HashMap::from([(1, 3), (3, 4)]));
    assert_eq!((view.get(&1), view.keys().count(), view.values().sum::<u32>()), (Some(&3), 2, 7));
    assert_eq!(view.into_inner().len(), 2);
}

/// leeward's own calls are there by its own name.
#[test]
fn threads_share_a_map_and_leewards_calls_are_there() {
    let map = DashMap::<u32, u32>::default();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..1000).for_each(|key| *map.entry(key).or_insert(0) += 1));
        }
    });
    assert_eq!((map.len(), map.iter().all(|entry| *entry == 2)), (1000, true));
    assert_eq!(map.as_shard_map().shards().iter().map(|shard| shard.len()).sum::<usize>(), 1000);
}

#[cfg(feature = "serde")]
#[test]
fn maps_sets_and_guards_are_written_and_read() {
    let map: DashMap<String, u32> = DashMap::from_iter([("a".to_owned(), 1)]);
    assert_eq!(serde_json::to_string(&map).unwrap(), "{\"a\":1}");
    assert_eq!(serde_json::to_string(&map.get("a").unwrap()).unwrap(), "1");
    let read: DashMap<String, u32> = serde_json::from_str("{\"a\":1}").unwrap();
    assert_eq!(*read.get("a").unwrap(), 1);
    let set: DashSet<u32> = serde_json::from_str("[1]").unwrap();
    assert_eq!(serde_json::to_string(&set).unwrap(), "[1]");
    assert_eq!(serde_json::to_string(&set.get(&1).unwrap()).unwrap(), "1");
}

#[cfg(feature = "rayon")]
#[test]
fn what_is_given_up_is_gone_over_in_parallel() {
    use rayon::iter::{IntoParallelIterator, ParallelExtend, ParallelIterator};
    let mut map: DashMap<u32, u32> = (0..1000).into_par_iter().map(|key| (key, 1)).collect();
    map.par_extend((1000..2000).into_par_iter().map(|key| (key, 1)));
    assert_eq!(map.clone().into_read_only().into_par_iter().count(), 2000);
    assert_eq!(map.into_par_iter().map(|(_, value)| value).sum::<u32>(), 2000);
    let set: DashSet<u32> = (0..1000).into_par_iter().collect();
    assert_eq!(set.into_par_iter().count(), 1000);
}

#[cfg(feature = "raw-api")]
#[test]
fn shards_have_numbers() {
    let map: DashMap<u32, u32> = DashMap::with_shard_amount(4);
    map.insert(1, 1);
    assert_eq!(map.as_shard_map().shards()[map.determine_map(&1)].len(), 1);
    assert_eq!(map.determine_shard(map.hash_usize(&1)), map.determine_map(&1));
    assert_eq!(dashmap::SharedValue::new(1).into_inner(), 1);
}
