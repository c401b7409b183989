//! `collect::HashMap`: what each call does, beside the standard library's map; growing and
//! shrinking beside readers; values of every kind; what is freed, and when (`hash_map/frees.rs`).

#[path = "hash_map/by_hash.rs"]
mod by_hash;
#[path = "hash_map/frees.rs"]
mod frees;
#[path = "../common/sequences.rs"]
mod sequences;
#[path = "../common/values.rs"]
mod values;

use std::cell::Cell;
use std::collections::HashMap as Std;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use leeward::collect::hash_map::{Compute, Operation};
use leeward::collect::{HashMap, HashSet};
use leeward::rcu::{self, Domain};
use sequences::{Choices, check};

/// A hasher that returns what it was given: tests choose the hashes.
#[derive(Default, Clone)]
struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

type Chosen<K, V> = HashMap<K, V, BuildHasherDefault<Identity>>;

/// A value that counts how many of its kind are alive.
struct Counted(Arc<AtomicUsize>, u64);

impl Counted {
    fn new(alive: &Arc<AtomicUsize>, value: u64) -> Counted {
        alive.fetch_add(1, Relaxed);
        Counted(alive.clone(), value)
    }
}

impl Clone for Counted {
    fn clone(&self) -> Counted {
        Counted::new(&self.0, self.1)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[test]
fn each_call_does_what_it_says() {
    let map = HashMap::new();
    let guard = rcu::read();
    assert!(map.insert("a", 1).is_none() && map.is_empty() != (map.len() == 1));
    assert_eq!(map.get("a", &guard), Some(&1));
    assert_eq!(map.get("b", &guard), None);
    let old = map.insert("a", 2).unwrap();
    assert_eq!((*old.key(), *old), ("a", 1));
    old.defer();
    assert_eq!(map.get_key_value("a", &guard), Some((&"a", &2)));
    assert_eq!(map.try_insert("b", 3, &guard).unwrap(), &3);
    let error = map.try_insert("b", 4, &guard).unwrap_err();
    assert_eq!((error.current, error.key, error.value), (&3, "b", 4));
    assert_eq!(map.get_or_insert_with("b", || unreachable!(), &guard), &3);
    assert_eq!(map.get_or_insert_with("c", || 5, &guard), &5);
    assert_eq!(*map.update("c", |old| old + 1).unwrap(), 5);
    assert!(map.update("d", |_: &i32| unreachable!()).is_none());
    assert_eq!(map.update_or_insert_with("d", |_| unreachable!(), || 8, &guard), &8);
    assert_eq!(map.update_or_insert_with("d", |old| old + 1, || unreachable!(), &guard), &9);
    assert_eq!(map.update_or_insert("d", |old| old + 1, 0, &guard), &10);
    map.remove("d").unwrap().defer();
    assert!(map.contains_key("c") && !map.contains_key("d"));
    assert!(map.remove_if("c", |_, value| *value == 5).is_none());
    assert_eq!(*map.remove_if("c", |_, value| *value == 6).unwrap(), 6);
    assert!(map.remove("c").is_none());
    let mut entries: Vec<_> = map.iter(&guard).collect();
    entries.sort();
    assert_eq!(entries, [(&"a", &2), (&"b", &3)]);
    map.retain(|key, _| *key == "a");
    assert_eq!((map.len(), map.keys(&guard).next(), map.values(&guard).next()), (1, Some(&"a"), Some(&2)));
    map.clear();
    assert!(map.is_empty() && map.iter(&guard).next().is_none());
}

#[test]
fn an_owner_changes_values_and_takes_maps_apart() {
    let alive = Arc::new(AtomicUsize::new(0));
    let mut map: HashMap<u64, Counted> = (0..1000).map(|key| (key, Counted::new(&alive, key))).collect();
    map.get_mut(&7).unwrap().1 = 70;
    assert!(map.get_mut(&1000).is_none());
    map.iter_mut().for_each(|(key, value)| value.1 += key);
    drop(map.remove(&8));
    assert_eq!(map.pin().get(&7).map(|value| value.1), Some(77));
    let mut entries = map.into_iter();
    assert_eq!(entries.len(), 999);
    let taken: Std<u64, Counted> = entries.by_ref().take(500).collect();
    assert!(taken.iter().all(|(key, value)| value.1 == if *key == 7 { 77 } else { 2 * key }));
    assert_eq!(entries.len(), 499);
    drop(entries);
    assert_eq!(alive.load(Relaxed), 500);
    drop(taken);
    assert_eq!(alive.load(Relaxed), 0);
    assert!(HashMap::<u64, u64>::new().into_iter().next().is_none());
    let mut values: Vec<_> = HashSet::from([3, 1, 2]).into_iter().collect();
    values.sort_unstable();
    assert_eq!(values, [1, 2, 3]);
}

#[test]
fn compute_inserts_updates_removes_and_aborts() {
    let map = HashMap::new();
    let guard = rcu::read();
    let add = |found: Option<(&u8, &u8)>| match found {
        None => Operation::Insert(1),
        Some((_, 3)) => Operation::Remove,
        Some((_, value)) => Operation::Insert(value + 1),
    };
    type Result<'g> = Compute<'g, u8, u8, ()>;
    assert_eq!(map.compute(7, add, &guard) as Result<'_>, Compute::Inserted(&7, &1));
    assert_eq!(map.compute(7, add, &guard) as Result<'_>, Compute::Updated { old: (&7, &1), new: (&7, &2) });
    assert_eq!(map.compute(7, add, &guard) as Result<'_>, Compute::Updated { old: (&7, &2), new: (&7, &3) });
    assert_eq!(map.compute(7, add, &guard) as Result<'_>, Compute::Removed(&7, &3));
    assert_eq!(map.compute(7, |_| Operation::<u8, ()>::Remove, &guard), Compute::Absent);
    assert_eq!(map.compute(7, |found| Operation::Abort(found.is_none()), &guard), Compute::Aborted(true));
}

#[test]
fn a_map_grows_and_shrinks() {
    let map = HashMap::new();
    for key in 0..100_000u64 {
        assert!(map.insert(key, key).is_none());
    }
    assert_eq!(map.len(), 100_000);
    let large = map.capacity();
    assert!(large >= 100_000);
    for key in 0..100_000u64 {
        assert_eq!(map.pin().get(&key), Some(&key));
        assert_eq!(map.remove(&key).map(|old| *old), Some(key));
        assert_eq!(map.pin().get(&key), None);
    }
    assert!(map.is_empty() && map.capacity() < large / 16, "{} of {large}", map.capacity());
}

#[test]
fn room_is_reserved_or_refused() {
    let map = HashMap::<u64, u64>::with_capacity(1000);
    let capacity = map.capacity();
    assert!(capacity >= 1000);
    (0..1000).for_each(|key| drop(map.insert(key, key)));
    assert_eq!(map.capacity(), capacity);
    assert!(map.try_reserve(usize::MAX).is_err() && map.try_reserve(usize::MAX / 64).is_err());
    assert!(map.try_reserve(10_000).is_ok() && map.capacity() >= 11_000);
    assert_eq!((0..1000).filter(|key| map.pin().get(key) == Some(key)).count(), 1000);
}

#[test]
fn equal_hashes_are_a_list() {
    let map = Chosen::default();
    // All in one line, with one tag, and some in other lines.
    for key in 0..500u64 {
        map.insert(Key(key, 7), key);
        map.insert(Key(key, key), key);
    }
    let pinned = map.pin();
    for key in 0..500 {
        assert_eq!((pinned.get(&Key(key, 7)), pinned.get(&Key(key, key))), (Some(&key), Some(&key)));
        assert_eq!(pinned.get(&Key(key + 500, 7)), None);
    }
    assert_eq!(pinned.iter().count(), 999, "one key has both hashes");
    for key in (0..500).rev() {
        assert_eq!(map.remove(&Key(key, 7)).map(|old| *old), Some(key));
    }
    assert_eq!(map.len(), 499);
}

/// A key with a hash of the test's choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
struct Key(u64, u64);

impl Hash for Key {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(self.1);
    }
}

/// A step of a random program.
#[derive(Clone, Copy, Debug)]
enum Step {
    Insert(u64, u32),
    TryInsert(u64, u32),
    Remove(u64),
    Update(u64, u32),
    Get(u64),
    Reserve(u16),
    Retain(u32),
    Iterate,
}

fn step(choices: &mut Choices) -> Step {
    let key = |choices: &mut Choices| choices.below(200);
    choices.one_of(&[
        (8, &|choices| Step::Insert(key(choices), choices.any())),
        (2, &|choices| Step::TryInsert(key(choices), choices.any())),
        (6, &|choices| Step::Remove(key(choices))),
        (2, &|choices| Step::Update(key(choices), choices.any())),
        (4, &|choices| Step::Get(key(choices))),
        (1, &|choices| Step::Reserve(choices.below(2000) as u16)),
        (1, &|choices| Step::Retain(2 + choices.below(7) as u32)),
        (1, &|_| Step::Iterate),
    ])
}

/// Runs a program on both maps. `spread`: how many hashes there are.
fn compare(steps: &[Step], spread: u64) {
    let (map, mut std) = (Chosen::default(), Std::new());
    let key = |key: u64| Key(key, (key % spread).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    for step in steps {
        let guard = rcu::read();
        match *step {
            Step::Insert(k, v) => assert_eq!(map.insert(key(k), v).map(|old| *old), std.insert(k, v)),
            Step::TryInsert(k, v) => {
                let was_there = std.contains_key(&k);
                assert_eq!(map.try_insert(key(k), v, &guard).is_err(), was_there);
                std.entry(k).or_insert(v);
            }
            Step::Remove(k) => assert_eq!(map.remove(&key(k)).map(|old| *old), std.remove(&k)),
            Step::Update(k, v) => {
                let old = map.update(key(k), |old| old ^ v).map(|old| *old);
                assert_eq!(old, std.get_mut(&k).map(|value| std::mem::replace(value, *value ^ v)));
            }
            Step::Get(k) => assert_eq!(map.get(&key(k), &guard), std.get(&k)),
            Step::Reserve(more) => map.reserve(more.into()),
            Step::Retain(modulus) => {
                map.retain(|_, value| value % modulus != 0);
                std.retain(|_, value| *value % modulus != 0);
            }
            Step::Iterate => {
                let mut ours: Vec<_> = map.iter(&guard).map(|(key, value)| (key.0, *value)).collect();
                let mut theirs: Vec<_> = std.iter().map(|(key, value)| (*key, *value)).collect();
                ours.sort();
                theirs.sort();
                assert_eq!(ours, theirs);
            }
        }
        assert_eq!(map.len(), std.len());
    }
}

#[test]
fn a_map_does_what_the_standard_one_does() {
    check(1000, 1..400, step, |steps| compare(steps, u64::MAX));
}

#[test]
fn a_map_of_three_hashes_does_what_the_standard_one_does() {
    check(1000, 1..400, step, |steps| compare(steps, 3));
}

#[test]
fn readers_find_every_key_that_stays_while_the_table_grows_and_shrinks() {
    let map: HashMap<u64, u64> = HashMap::new();
    (0..1000).for_each(|key| drop(map.insert(key, key)));
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let looks = || {
            let mut rounds = 0;
            while !ends.load(Relaxed) || rounds == 0 {
                for key in 0..1000 {
                    assert_eq!(map.pin().get(&key), Some(&key));
                }
                let pinned = map.pin();
                let mut kept: Vec<_> = pinned.keys().copied().filter(|key| *key < 1000).collect();
                kept.sort();
                assert_eq!(kept, (0..1000).collect::<Vec<_>>(), "each once");
                rounds += 1;
            }
        };
        let readers = [scope.spawn(looks), scope.spawn(looks)];
        let writers = [1u64, 2].map(|writer| {
            let map = &map;
            scope.spawn(move || {
                for _ in 0..10 {
                    let keys = writer * 100_000..writer * 100_000 + 20_000;
                    keys.clone().for_each(|key| drop(map.insert(key, key)));
                    keys.for_each(|key| assert_eq!(map.remove(&key).map(|old| *old), Some(key)));
                }
            })
        });
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        ends.store(true, Relaxed);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
    assert_eq!(map.len(), 1000);
}

#[test]
fn writers_of_one_key_lose_nothing() {
    let map: HashMap<u64, u64> = HashMap::new();
    let made = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5_000 {
                    let guard = rcu::read();
                    map.compute(1, |now| Operation::<_, ()>::Insert(now.map_or(0, |(_, value)| *value) + 1), &guard);
                    // Removed at times, so that threads insert the key at once: each adds to what the other's has.
                    let before = map.remove_if(&2, |_, value| value % 16 == 15).map_or(0, |old| *old);
                    made.fetch_add(before as usize, Relaxed);
                    map.update_or_insert(2, |value| value + 1, 1, &guard);
                }
            });
        }
    });
    assert_eq!(map.pin().get(&1), Some(&20_000));
    assert_eq!(made.load(Relaxed) as u64 + map.pin().get(&2).unwrap(), 20_000);
}

#[test]
fn values_of_every_size_and_alignment() {
    #[repr(align(256))]
    #[derive(Clone, PartialEq, Debug)]
    struct Aligned(u8);
    fn holds<V: Clone + PartialEq + std::fmt::Debug>(value: V) {
        let map = HashMap::new();
        (0..300u32).for_each(|key| drop(map.insert(key, value.clone())));
        (0..300u32).for_each(|key| drop(map.insert(key, value.clone())));
        let guard = rcu::read();
        for key in 0..300 {
            let found = map.get(&key, &guard).unwrap();
            assert_eq!((found, std::ptr::from_ref(found).addr() % align_of::<V>()), (&value, 0));
        }
        (0..300).for_each(|key| assert!(map.remove(&key).is_some()));
    }
    holds(());
    holds([7u8; 4096]);
    holds(Aligned(3));
    holds(String::from("text"));
    let map = HashMap::new();
    assert!(map.insert((), 1).is_none() && map.insert((), 2).is_some() && map.remove(&()).is_some());
}

#[test]
fn a_key_that_is_equal_to_nothing_breaks_nothing() {
    struct Unequal(u64);
    impl Hash for Unequal {
        fn hash<H: Hasher>(&self, hasher: &mut H) {
            self.0.hash(hasher);
        }
    }
    impl PartialEq for Unequal {
        fn eq(&self, _: &Unequal) -> bool {
            false
        }
    }
    impl Eq for Unequal {}
    let map = HashMap::new();
    (0..1000).for_each(|key| assert!(map.insert(Unequal(key % 3), key).is_none()));
    assert!(map.len() == 1000 && map.remove(&Unequal(1)).is_none());
    map.clear();
    assert_eq!(map.len(), 0);
}

#[test]
fn a_map_of_borrowed_values_and_of_values_that_stay_on_their_thread() {
    let text = String::from("a b c");
    let map: HashMap<&str, std::rc::Rc<Cell<u32>>> = text.split(' ').map(|word| (word, Default::default())).collect();
    map.pin().get("b").unwrap().set(3);
    assert_eq!(map.remove("b").unwrap().get(), 3);
    assert_eq!(map.len(), 2);
}

#[test]
fn maps_are_made_compared_and_printed() {
    let map: HashMap<u32, u32> = HashMap::from([(1, 2)]);
    let mut other = map.clone();
    assert_eq!((&map, format!("{other:?}")), (&other, "{1: 2}".to_owned()));
    other.extend([(3, 4)]);
    assert_ne!(map, other);
    assert_eq!(map.hasher().hash_one(1), other.hasher().hash_one(1));
    static EMPTY: HashMap<u32, u32, BuildHasherDefault<Identity>> = HashMap::with_hasher(BuildHasherDefault::new());
    assert!(EMPTY.pin().get(&1).is_none() && EMPTY.remove(&1).is_none() && EMPTY.capacity() == 0);
}

#[test]
fn a_set_has_each_value_once() {
    let set = HashSet::from(["a", "b"]);
    let guard = rcu::read();
    assert!(set.contains("a") && !set.contains("c") && !set.insert("a") && set.insert("c"));
    assert_eq!((set.len(), set.get("b", &guard), set.replace("b").map(|old| *old.key())), (3, Some(&"b"), Some("b")));
    assert!(set.remove("a") && !set.remove("a") && set.take("c").is_some());
    assert_eq!((format!("{set:?}"), set.clone() == set, set.is_empty()), ("{\"b\"}".into(), true, false));
    set.retain(|value| *value != "b");
    assert!(set.iter(&guard).next().is_none() && set.capacity() >= 3);
}
