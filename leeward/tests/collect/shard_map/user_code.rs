//! What a program's own code may do within a call of the map: panic, or use the map; and keys and
//! values of any size.

use super::*;

use std::cell::Cell;
use std::hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Weak};

/// A key whose `Hash` and `Eq` panic when they are told to, and which counts the keys that live.
#[derive(Clone)]
struct Key(u32, #[allow(dead_code)] Arc<()>);

thread_local! {
    static HASHES: Cell<u32> = const { Cell::new(u32::MAX) };
    static COMPARES: Cell<u32> = const { Cell::new(u32::MAX) };
}

/// Counts down, and panics at 0.
fn tick(counter: &'static thread::LocalKey<Cell<u32>>) {
    let left = counter.get();
    if left == 0 {
        panic!("as it was told");
    }
    if left != u32::MAX {
        counter.set(left - 1);
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        tick(&HASHES);
        self.0.hash(state);
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        tick(&COMPARES);
        self.0 == other.0
    }
}

impl Eq for Key {}

#[test]
fn panics_in_hash_and_eq_lose_nothing() {
    let live = Arc::new(());
    let key = |number| Key(number, live.clone());
    // Two loads: a table that grows, and one whose removed entries take the room.
    for churn in [0, 1_000] {
        let map: ShardMap<Key, u32, BuildHasherDefault<DefaultHasher>> =
            ShardMap::with_hasher_and_shard_amount(BuildHasherDefault::default(), 1);
        (0..20).for_each(|number| {
            map.insert(key(number), number);
        });
        for number in 0..churn {
            map.insert(key(1_000 + number), 0);
            map.remove(&key(1_000 + number));
        }
        for counter in [&HASHES, &COMPARES] {
            for (inserted, number) in (20..400).enumerate() {
                // Any of the calls, also those of keys that are hashed again, panics.
                for after in 0..40 {
                    counter.set(after);
                    let outcome = catch_unwind(AssertUnwindSafe(|| map.insert(key(number), number)));
                    counter.set(u32::MAX);
                    let is_there = map.contains_key(&key(number));
                    assert!(outcome.is_ok() == is_there, "{number} after {after}");
                    if is_there {
                        break;
                    }
                    assert_eq!(map.len(), 20 + inserted, "an entry was lost: {number} after {after}");
                }
                if !map.contains_key(&key(number)) {
                    map.insert(key(number), number);
                }
            }
            assert_eq!(map.len(), 400);
            assert!((0..400).all(|number| map.get(&key(number)).is_some_and(|value| *value == number)));
            (20..400).for_each(|number| drop(map.remove(&key(number))));
        }
        drop(map);
        assert_eq!(Arc::strong_count(&live), 1, "a key was leaked");
    }
}

#[test]
fn panics_in_closures_leave_the_map_whole() {
    let map = one_shard(10);
    let boom = || -> u32 { panic!("as it was told") };
    panics(|| map.entry(11).or_insert_with(boom));
    panics(|| map.entry(1).and_modify(|value| *value = boom()));
    panics(|| map.view(&1, |_, _| boom()));
    panics(|| map.remove_if(&1, |_, _| boom() == 0));
    panics(|| map.get(&1).unwrap().map(|_| -> &u32 { panic!("as it was told") }));
    panics(|| map.retain(|key, _| if *key == 5 { boom() == 0 } else { true }));
    panics(|| {
        map.iter().for_each(|_| {
            boom();
        })
    });
    assert_eq!(map.len(), 10);
    // The entry whose value was lost is gone, and no other.
    panics(|| map.alter(&1, |_, _| boom()));
    panics(|| map.alter_all(|key, value| if *key == 7 { boom() } else { value }));
    assert_eq!((map.len(), map.contains_key(&1), map.contains_key(&7)), (8, false, false));
    assert!(map.insert(1, 1).is_none());
}

/// A value that uses the map when it is dropped.
struct UsesTheMap(Weak<ShardMap<u32, UsesTheMap>>);

impl Drop for UsesTheMap {
    fn drop(&mut self) {
        if let Some(map) = self.0.upgrade() {
            map.len();
            drop(map.insert(1_000, UsesTheMap(Weak::new())));
        }
    }
}

#[test]
fn destructors_may_use_the_map() {
    ends(|| {
        let map = Arc::new_cyclic(|map| {
            let shard = ShardMap::with_shard_amount(1);
            (0..10).for_each(|key| drop(shard.insert(key, UsesTheMap(map.clone()))));
            shard
        });
        drop(map.insert(1, UsesTheMap(Weak::new())));
        drop(map.remove(&2));
        map.retain(|key, _| key % 2 == 0);
        assert_eq!(map.len(), 5);
        map.clear();
    });
}

#[test]
fn zero_sized_large_and_aligned() {
    #[repr(align(256))]
    #[derive(Clone, PartialEq, Debug)]
    struct Wide([u8; 4096]);
    let map = ShardMap::<u32, Wide>::new();
    assert!((0..200).all(|key| map.insert(key, Wide([key as u8; 4096])).is_none()));
    for entry in &map {
        assert_eq!((entry.value() as *const Wide).addr() % 256, 0);
        assert_eq!(entry.0[4095], *entry.key() as u8);
    }
    let nothing = ShardMap::<(), ()>::new();
    assert_eq!((nothing.insert((), ()), nothing.insert((), ()), nothing.len()), (None, Some(()), 1));
}

#[test]
fn all_keys_in_one_bucket() {
    #[derive(Default)]
    struct Seven;
    impl Hasher for Seven {
        fn finish(&self) -> u64 {
            7
        }
        fn write(&mut self, _: &[u8]) {}
    }
    let map = ShardMap::<u32, u32, BuildHasherDefault<Seven>>::default();
    (0..500).for_each(|key| {
        map.insert(key, key);
    });
    assert!((0..500).all(|key| map.remove(&key) == Some((key, key))));
}
