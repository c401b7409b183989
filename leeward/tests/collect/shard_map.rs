//! The sharded map: what dashmap's users expect of it, and what differs on purpose.

#![allow(missing_docs)]

#[path = "shard_map/by_hash.rs"]
mod by_hash;
#[path = "../common/mod.rs"]
mod common;
#[cfg(target_os = "linux")]
#[path = "shard_map/compared.rs"]
mod compared;
#[path = "shard_map/user_code.rs"]
mod user_code;
#[path = "shard_map/views.rs"]
mod views;

use common::*;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use leeward::collect::shard_map::{Entry, MappedRef, MappedRefMut, Ref, RefMulti, RefMut, RefMutMulti};
use leeward::collect::{ShardMap, ShardSet};

type Map<V = u32> = ShardMap<u32, V>;

/// A map with one shard, so that any two keys share it.
fn one_shard(entries: u32) -> Map {
    let map = Map::with_shard_amount(1);
    (0..entries).for_each(|key| {
        map.insert(key, key);
    });
    map
}

/// Returns the sentence with which `work` panics.
fn panics<R>(work: impl FnOnce() -> R) -> String {
    let panic = catch_unwind(AssertUnwindSafe(|| drop(work()))).expect_err("it must panic");
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string())).unwrap_or_default()
}

/// Runs `work` in a thread of its own, and fails if it does not end: it would wait for itself.
fn ends(work: impl FnOnce() + Send + 'static) {
    let (done, is_done) = channel();
    let thread = thread::spawn(move || {
        work();
        let _ = done.send(());
    });
    match is_done.recv_timeout(patience()) {
        Ok(()) => thread.join().unwrap(),
        Err(_) if thread.is_finished() => thread.join().unwrap(),
        Err(_) => panic!("a thread waits for itself"),
    }
}

#[test]
fn it_does_what_a_map_does() {
    let map = Map::new();
    assert!(map.is_empty() && map.insert(1, 10).is_none());
    assert_eq!(map.insert(1, 11), Some(10));
    assert_eq!((map.get(&1).map(|value| *value), map.len()), (Some(11), 1));
    *map.get_mut(&1).unwrap() += 1;
    assert_eq!(map.view(&1, |key, value| key + value), Some(13));
    map.alter(&1, |_, value| value + 1);
    map.alter(&2, |_, _| unreachable!("the key is not there"));
    assert!(map.contains_key(&1) && !map.contains_key(&2));
    assert_eq!(map.remove_if(&1, |_, value| *value == 0), None);
    assert_eq!(map.remove_if_mut(&1, |_, value| std::mem::replace(value, 5) == 13), Some((1, 5)));
    assert_eq!((map.remove(&1), map.len()), (None, 0));
}

#[test]
fn it_holds_what_std_holds() {
    let (map, mut std) = (Map::with_shard_amount(4), HashMap::new());
    let mut state = 1_u32;
    for _ in 0..20_000 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (key, value) = (state >> 8 & 255, state);
        match state >> 16 & 3 {
            0 => assert_eq!(map.insert(key, value), std.insert(key, value)),
            1 => assert_eq!(map.remove(&key), std.remove_entry(&key)),
            2 => assert_eq!(map.get(&key).map(|value| *value), std.get(&key).copied()),
            _ => assert_eq!(*map.entry(key).or_insert(value), *std.entry(key).or_insert(value)),
        }
    }
    assert_eq!(map.len(), std.len());
    assert_eq!(map.into_iter().collect::<HashMap<_, _>>(), std);
}

#[test]
fn iterators_give_each_entry_once() {
    let map = Map::from_iter((0..1_000).map(|key| (key, key)));
    let mut keys: Vec<u32> = map.iter().map(|entry| *entry.key()).collect();
    keys.sort_unstable();
    assert!(keys.into_iter().eq(0..1_000));
    map.iter_mut().for_each(|mut entry| *entry *= 2);
    map.alter_all(|key, value| key + value);
    assert!(map.iter().all(|entry| *entry == 3 * entry.key()));
    // Entries keep their shards locked, all at once.
    let held: Vec<_> = map.iter().collect();
    assert!(map.try_entry(1).is_none());
    drop(held);
    map.retain(|key, _| key % 2 == 0);
    assert_eq!((map.len(), map.clone().len()), (500, 500));
    map.shrink_to_fit();
    map.clear();
    assert!(map.is_empty());
}

#[test]
fn entries() {
    let map = ShardMap::<String, u32>::new();
    assert_eq!(*map.entry("a".into()).or_default(), 0);
    assert_eq!(map.entry("a".into()).or_try_insert_with(|| Err::<u32, _>("not called")).map(|value| *value), Ok(0));
    assert_eq!(map.entry("b".into()).or_try_insert_with(|| Err::<u32, _>("no")).map(|value| *value), Err("no"));
    assert_eq!(*map.entry("b".into()).or_insert(2), 2);
    assert_eq!(*map.entry("b".into()).and_modify(|value| *value += 1).insert_entry(7).get(), 7);
    assert_eq!(*map.entry("c".into()).insert_entry(3).get(), 3);
    assert_eq!(map.entry("c".into()).into_key(), "c");
    match map.entry("c".into()) {
        Entry::Occupied(mut entry) => {
            assert_eq!((entry.insert(4), entry.key().as_str()), (3, "c"));
            assert_eq!(entry.replace_entry(5), ("c".into(), 4));
        }
        Entry::Vacant(_) => unreachable!("it was inserted"),
    }
    match map.entry("c".into()) {
        Entry::Occupied(entry) => assert_eq!(entry.remove_entry(), ("c".into(), 5)),
        Entry::Vacant(_) => unreachable!("it was inserted"),
    }
    assert!(!map.contains_key("c"));
}

#[test]
fn guards_of_parts() {
    let map = ShardMap::<u32, (u32, Vec<u32>)>::from_iter([(1, (2, vec![3]))]);
    let part = map.get(&1).unwrap().map(|value| &value.1).try_map(|list| list.first()).unwrap();
    assert_eq!(part.pair(), (&1, &3));
    drop(part);
    assert!(map.get(&1).unwrap().try_map(|value| value.1.get(9)).is_err());
    let mut part = map.get_mut(&1).unwrap().map(|value| &mut value.1);
    part.push(4);
    assert_eq!(part.pair_mut().0, &1);
    let mut last = part.try_map(|list| list.last_mut()).unwrap();
    *last = 5;
    drop(last);
    assert_eq!(map.get(&1).unwrap().1, [3, 5]);
    assert!(map.get_mut(&1).unwrap().try_map(|value| value.1.get_mut(9)).is_err());
}

/// More locks than a thread has slots are read, so that some reads are shown by no slot.
fn maps() -> Vec<Map> {
    (0..9).map(|_| one_shard(3)).collect()
}

#[test]
fn reading_twice_never_waits() {
    let maps = maps();
    let readers: Vec<Ref<'_, u32, u32>> = maps.iter().map(|map| map.get(&1).unwrap()).collect();
    let begun = AtomicUsize::new(0);
    thread::scope(|scope| {
        for map in &maps {
            let begun = &begun;
            scope.spawn(move || {
                begun.fetch_add(1, Ordering::Relaxed);
                map.insert(1, 2)
            });
        }
        while begun.load(Ordering::Relaxed) < maps.len() {
            thread::yield_now();
        }
        thread::sleep(Duration::from_millis(5));
        // Writers wait for each map, and this thread reads on.
        for map in &maps {
            assert_eq!((*map.get(&1).unwrap(), map.len(), map.iter().count()), (1, 3, 3));
        }
        drop(readers);
    });
    assert!(maps.iter().all(|map| *map.get(&1).unwrap() == 2));
}

#[test]
fn a_write_while_the_thread_reads_panics() {
    ends(|| {
        let maps = maps();
        let readers: Vec<_> = maps.iter().map(|map| map.get(&1).unwrap()).collect();
        for map in &maps {
            for sentence in [
                panics(|| map.insert(9, 9)),
                panics(|| map.remove(&0)),
                panics(|| map.get_mut(&2).is_some()),
                panics(|| drop(map.entry(2))),
                panics(|| map.alter(&0, |_, value| value)),
                panics(|| map.retain(|_, _| false)),
                panics(|| map.iter_mut().count()),
                panics(|| map.clear()),
            ] {
                assert!(sentence.contains("writes a shard of a ShardMap that it reads"), "{sentence}");
            }
            assert!(map.try_get_mut(&1).is_locked() && map.try_entry(1).is_none());
            assert!(map.try_get(&1).is_present() && map.try_get(&9).is_absent());
        }
        drop(readers);
        assert!(maps.iter().all(|map| map.len() == 3 && map.insert(9, 9).is_none()));
    });
}

#[test]
fn a_write_within_an_iteration_panics() {
    ends(|| {
        let map = one_shard(3);
        let mut entries = map.iter();
        let first = entries.next().unwrap();
        drop(entries);
        let sentence = panics(|| map.insert(9, 9));
        assert!(sentence.contains("that it reads"), "{sentence}");
        drop(first);
        map.insert(9, 9);
    });
}

#[test]
fn a_read_while_the_thread_writes_panics() {
    ends(|| {
        let map = one_shard(3);
        let mut writer = map.get_mut(&1).unwrap();
        *writer = 7;
        let sentence = panics(|| map.get(&2).is_some());
        assert!(sentence.contains("reads a shard of a ShardMap that it has locked"), "{sentence}");
        panics(|| map.len());
        panics(|| map.iter().count());
        assert!(map.try_get(&2).is_locked());
        let reader = writer.downgrade();
        assert_eq!(*reader + *map.get(&2).unwrap(), 9);
        assert!(panics(|| map.insert(9, 9)).contains("that it reads"));
    });
}

#[test]
fn a_write_while_the_thread_writes_panics() {
    ends(|| {
        let map = one_shard(3);
        let writer = map.entry(1).or_insert(0);
        let sentence = panics(|| map.insert(9, 9));
        assert!(sentence.contains("writes a shard of a ShardMap that it has locked"), "{sentence}");
        assert!(map.try_get_mut(&2).is_locked() && map.try_entry(2).is_none());
        drop(writer);
        map.insert(9, 9);
    });
}

#[test]
fn another_thread_waits_instead() {
    let map = one_shard(3);
    let writer = map.get_mut(&1).unwrap();
    let has_tried = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            assert!(map.try_get(&1).is_locked() && map.try_get_mut(&1).is_locked());
            has_tried.store(true, Ordering::Relaxed);
            *map.get(&1).unwrap()
        });
        eventually("it is locked", || has_tried.load(Ordering::Relaxed) || reader.is_finished());
        never("a reader came in beside a writer", || reader.is_finished());
        drop(writer);
        assert_eq!(reader.join().unwrap(), 1);
    });
}

#[test]
fn capacity_overflow_is_an_error() {
    let mut map = Map::new();
    map.insert(1, 1);
    assert!(map.try_reserve(usize::MAX / 2).is_err());
    map.try_reserve(10_000).unwrap();
    assert!(map.capacity() >= 10_000 && map.contains_key(&1));
    panics(|| <Map>::with_shard_amount(3));
    panics(|| <Map>::with_shard_amount(0));
}

#[test]
fn sets() {
    let set = ShardSet::<_>::from_iter(["a", "b"]);
    assert!(!set.insert("a") && set.contains("b") && set.get("b").is_some_and(|key| *key == "b"));
    assert_eq!((set.remove("b"), set.remove_if("a", |_| false), set.len()), (Some("b"), None, 1));
    assert_eq!(set.into_iter().collect::<Vec<_>>(), ["a"]);
}

/// Threads that write, read and remove the same keys; each value says which key it belongs to.
#[test]
fn threads_beside_each_other() {
    let (map, stop) = (ShardMap::<u32, (u32, u32)>::with_shard_amount(2), AtomicBool::new(false));
    let work = |seed: u32| {
        let mut state = seed;
        while !stop.load(Ordering::Relaxed) {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let key = state >> 8 & 63;
            match state >> 16 & 7 {
                0 => drop(map.insert(key, (key, !key))),
                1 => drop(map.remove(&key)),
                2 => {
                    if let Some(mut value) = map.get_mut(&key) {
                        *value = (0, 0);
                        *value = (key, !key);
                    }
                }
                3 => assert!(map.iter().all(|entry| entry.0 == *entry.key())),
                _ => assert!(map.get(&key).is_none_or(|value| *value == (key, !key))),
            }
        }
    };
    thread::scope(|scope| {
        (1..=3).for_each(|seed| drop(scope.spawn(move || work(seed))));
        thread::sleep(Duration::from_millis(200));
        stop.store(true, Ordering::Relaxed);
    });
}

/// Guards in thread-local variables are dropped after the thread's slots were given back.
#[test]
fn guards_that_outlive_their_threads_slots() {
    static MAP: std::sync::LazyLock<Map> = std::sync::LazyLock::new(|| one_shard(3));
    thread_local! {
        static GUARD: std::cell::RefCell<Option<Ref<'static, u32, u32>>> = const { std::cell::RefCell::new(None) };
    }
    thread::spawn(|| GUARD.with_borrow_mut(|guard| *guard = MAP.get(&1))).join().unwrap();
    MAP.insert(1, 2);
    // A leaked guard keeps its shard locked for reading.
    thread::spawn(|| std::mem::forget(MAP.get(&1))).join().unwrap();
    assert!(MAP.try_get_mut(&1).is_locked() && MAP.try_get(&1).is_present());
}

macro_rules! assert_not_send {
    ($($type:ty),* $(,)?) => {
        $(const _: fn() = || {
            trait Ambiguous<A> { fn check() {} }
            impl<T: ?Sized> Ambiguous<()> for T {}
            impl<T: ?Sized + Send> Ambiguous<u8> for T {}
            <$type as Ambiguous<_>>::check();
        };)*
    };
}

assert_not_send!(
    Ref<'static, u32, u32>, RefMut<'static, u32, u32>, RefMulti<'static, u32, u32>,
    RefMutMulti<'static, u32, u32>, MappedRef<'static, u32, u32, u32>, MappedRefMut<'static, u32, u32, u32>,
    ShardMap<u32, std::rc::Rc<u32>>, Entry<'static, u32, u32>,
);

#[test]
fn auto_traits() {
    fn is_sync<T: Sync>() {}
    fn is_send<T: Send>() {}
    is_sync::<Ref<'static, u32, u32>>();
    is_sync::<RefMut<'static, u32, u32>>();
    is_sync::<Map>();
    is_send::<Map>();
}
