//! The ordered map beside `BTreeMap`, its destructors, panics, and readers beside writers.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/sequences.rs"]
mod sequences;
#[path = "../common/values.rs"]
mod values;

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included, Unbounded};

use leeward::collect::OrderedMap;
use leeward::collect::ordered_map::Occupied;
use leeward::rcu::{self, Domain, Global};
use sequences::{Choices, check};

#[path = "ordered_map/concurrent.rs"]
mod concurrent;
#[path = "ordered_map/drops.rs"]
mod drops;
#[path = "ordered_map/hostile.rs"]
mod hostile;

/// What is done to both maps.
#[derive(Clone, Copy, Debug)]
enum Step {
    Insert(u16, u32),
    TryInsert(u16, u32),
    GetOrInsert(u16, u32),
    Update(u16, u32),
    Remove(u16),
    RemoveRun(u16, u16),
    PopFirst,
    PopLast,
    Retain(u16),
    Clear,
    Look(u16),
    Range(u16, u16),
}

/// Makes a step with keys below `keys`.
fn step(choices: &mut Choices, keys: u64) -> Step {
    let key = |choices: &mut Choices| choices.below(keys) as u16;
    choices.one_of(&[
        (40, &|choices| Step::Insert(key(choices), choices.any())),
        (5, &|choices| Step::TryInsert(key(choices), choices.any())),
        (5, &|choices| Step::GetOrInsert(key(choices), choices.any())),
        (5, &|choices| Step::Update(key(choices), choices.any())),
        (20, &|choices| Step::Remove(key(choices))),
        (5, &|choices| Step::RemoveRun(key(choices), choices.below(200) as u16)),
        (3, &|_| Step::PopFirst),
        (3, &|_| Step::PopLast),
        (1, &|choices| Step::Retain(2 + choices.below(5) as u16)),
        (1, &|_| Step::Clear),
        (10, &|choices| Step::Look(key(choices))),
        (5, &|choices| {
            let (one, other) = (key(choices), key(choices));
            Step::Range(one.min(other), one.max(other))
        }),
    ])
}

/// Keys of each kind: copied ones, and ones that lie in entries.
trait Key: Ord + Clone + std::fmt::Debug + Send + Sync + 'static {
    fn of(number: u16) -> Self;
}
impl Key for u16 {
    fn of(number: u16) -> u16 {
        number
    }
}
impl Key for String {
    fn of(number: u16) -> String {
        format!("{number:05}")
    }
}

/// Compares both maps on random sequences of steps with keys below `keys`.
fn agree_with_a_btreemap<K: Key, V: Clone + PartialEq + std::fmt::Debug>(keys: u64, value_of: fn(u32) -> V) {
    check(250, 1..600, |choices| step(choices, keys), |steps| run::<K, V>(steps, value_of));
}

fn run<K: Key, V: Clone + PartialEq + std::fmt::Debug>(steps: &[Step], value_of: fn(u32) -> V) {
    let (map, mut model) = (OrderedMap::<K, V>::new(), BTreeMap::new());
    for step in steps {
        let guard = rcu::read();
        take(step, &map, &mut model, value_of);
        assert_eq!(map.len(), model.len());
        drop(guard);
    }
    let guard = rcu::read();
    assert!(map.iter(&guard).eq(&model) && map.iter(&guard).rev().eq(model.iter().rev()));
    drop(guard);
    assert_eq!(format!("{map:?}"), format!("{model:?}"));
    assert!(map.into_iter().eq(model));
}

/// Takes one step with both maps, and compares their answers.
fn take<K: Key, V: Clone + PartialEq + std::fmt::Debug>(
    step: &Step,
    map: &OrderedMap<K, V>,
    model: &mut BTreeMap<K, V>,
    value_of: fn(u32) -> V,
) {
    match *step {
        Step::Insert(key, value) => {
            let old = map.insert(K::of(key), value_of(value));
            assert_eq!(old.as_deref(), model.insert(K::of(key), value_of(value)).as_ref());
        }
        Step::TryInsert(key, value) => match map.try_insert(K::of(key), value_of(value)) {
            Ok(()) => assert_eq!(model.insert(K::of(key), value_of(value)), None),
            Err(Occupied { key, value: back }) => {
                assert!(model.contains_key(&key) && back == value_of(value));
            }
        },
        Step::GetOrInsert(key, value) => {
            let guard = rcu::read();
            let there = map.get_or_insert(K::of(key), value_of(value), &guard);
            assert_eq!(there, model.entry(K::of(key)).or_insert(value_of(value)));
        }
        Step::Update(key, value) => {
            let old = map.update(K::of(key), |_| value_of(value));
            let there = model.get_mut(&K::of(key));
            assert_eq!(old.as_deref(), there.map(|there| std::mem::replace(there, value_of(value))).as_ref());
        }
        Step::Remove(key) => {
            assert_eq!(map.remove(&K::of(key)).as_deref(), model.remove(&K::of(key)).as_ref());
        }
        Step::RemoveRun(key, count) => {
            for key in key..key.saturating_add(count) {
                assert_eq!(map.remove(&K::of(key)).as_deref(), model.remove(&K::of(key)).as_ref());
            }
        }
        Step::PopFirst => {
            let first = map.pop_first();
            assert_eq!(first.as_ref().map(|old| (old.key().clone(), (**old).clone())), model.pop_first());
        }
        Step::PopLast => {
            let last = map.pop_last();
            assert_eq!(last.as_ref().map(|old| (old.key().clone(), (**old).clone())), model.pop_last());
        }
        Step::Retain(by) => {
            let (mut one, mut other) = (0, 0);
            let keeps = |count: &mut u16| {
                *count += 1;
                *count % by != 0
            };
            map.retain(|_, _| keeps(&mut one));
            model.retain(|_, _| keeps(&mut other));
        }
        Step::Clear => {
            map.clear();
            model.clear();
        }
        Step::Look(key) => look(map, model, &K::of(key)),
        Step::Range(start, end) => ranges(map, model, K::of(start), K::of(end)),
    }
}

fn look<K: Key, V: PartialEq + std::fmt::Debug>(map: &OrderedMap<K, V>, model: &BTreeMap<K, V>, key: &K) {
    let guard = rcu::read();
    assert_eq!(map.get_key_value(key, &guard), model.get_key_value(key));
    assert_eq!(map.first(&guard), model.first_key_value());
    assert_eq!(map.last(&guard), model.last_key_value());
    assert_eq!(map.floor(key, &guard), model.range(..=key.clone()).next_back());
    assert_eq!(map.ceiling(key, &guard), model.range(key.clone()..).next());
    assert_eq!(map.upper_bound(Excluded(key), &guard), model.range(..key.clone()).next_back());
    assert_eq!(map.lower_bound(Excluded(key), &guard), model.range((Excluded(key.clone()), Unbounded)).next());
    assert_eq!(map.lower_bound(Unbounded::<&K>, &guard), model.iter().next());
    assert_eq!(map.upper_bound(Unbounded::<&K>, &guard), model.iter().next_back());
}

fn ranges<K: Key, V: PartialEq + std::fmt::Debug>(map: &OrderedMap<K, V>, model: &BTreeMap<K, V>, start: K, end: K) {
    let guard = rcu::read();
    let mut bounds = vec![
        (Included(start.clone()), Included(end.clone())),
        (Included(start.clone()), Excluded(end.clone())),
        (Excluded(start.clone()), Included(end.clone())),
        (Unbounded, Excluded(end.clone())),
        (Excluded(start.clone()), Unbounded),
    ];
    if start != end {
        bounds.push((Excluded(start), Excluded(end)));
    }
    for bounds in bounds {
        assert!(map.range(bounds.clone(), &guard).eq(model.range(bounds.clone())), "{bounds:?}");
        assert!(map.range(bounds.clone(), &guard).rev().eq(model.range(bounds.clone()).rev()), "{bounds:?}");
        // From both ends, until they meet.
        let (mut ours, mut theirs) = (map.range(bounds.clone(), &guard), model.range(bounds.clone()));
        for turn in 0.. {
            let (our, their) =
                if turn % 3 == 0 { (ours.next_back(), theirs.next_back()) } else { (ours.next(), theirs.next()) };
            assert_eq!(our, their, "{bounds:?}");
            if our.is_none() {
                assert_eq!((ours.next(), ours.next_back()), (None, None));
                break;
            }
        }
    }
}

#[test]
fn copies_agree_with_a_btreemap() {
    agree_with_a_btreemap::<u16, u32>(2000, |value| value);
}

#[test]
fn copied_keys_agree_with_a_btreemap() {
    agree_with_a_btreemap::<u16, String>(2000, |value| value.to_string());
}

#[test]
fn entries_agree_with_a_btreemap() {
    agree_with_a_btreemap::<String, Box<u32>>(2000, Box::new);
}

#[test]
fn entries_of_a_small_tree_agree_with_a_btreemap() {
    agree_with_a_btreemap::<String, Box<u32>>(100, Box::new);
}

#[test]
fn many_entries_come_and_go_in_every_order() {
    const COUNT: u32 = 50_000;
    let key_of = |number: u32| number.wrapping_mul(0x9E37_79B1) % COUNT;
    for order in 0..3 {
        let place = |number: u32| match order {
            0 => number,
            1 => COUNT - 1 - number,
            _ => key_of(number),
        };
        let map: OrderedMap<String, u32> = OrderedMap::new();
        for number in 0..COUNT {
            map.insert(format!("{:06}", place(number)), number);
        }
        let guard = rcu::read();
        let keys: Vec<_> = map.keys(&guard).cloned().collect();
        assert!(keys.is_sorted() && keys.len() == map.len());
        drop(guard);
        for number in (0..COUNT).rev() {
            let key = format!("{:06}", place(number));
            if map.remove(&key).is_none() {
                assert_eq!(order, 2, "{key}");
            }
        }
        assert!(map.is_empty() && map.pop_first().is_none() && map.first(&rcu::read()).is_none());
        map.insert(String::new(), 1);
        assert_eq!(map.len(), 1);
    }
}

/// Each key is taken out and put back as soon as the scan has returned it, which moves some of them to
/// a leaf that the scan has yet to reach.
#[test]
fn a_reversed_scan_returns_no_key_twice() {
    let map: OrderedMap<String, usize> = (0..4500).map(|number| (format!("{number:05}"), number)).collect();
    // What is put back finds room in its leaf.
    map.retain(|_, number| number % 3 != 0);
    let count = map.len();
    let guard = rcu::read();
    let put_back = |key: &String| drop((map.remove(key), map.insert(key.clone(), 0)));
    let backward: Vec<_> = map.iter(&guard).rev().map(|(key, _)| key).inspect(|key| put_back(key)).collect();
    assert!(backward.is_sorted_by(|one, next| one > next) && backward.len() == count);
    let forward: Vec<_> = map.iter(&guard).map(|(key, _)| key).inspect(|key| put_back(key)).collect();
    assert!(forward.is_sorted_by(|one, next| one < next) && forward.len() == count);
}

#[test]
fn keys_are_looked_up_by_what_they_borrow() {
    let map: OrderedMap<String, u32> =
        [("a", 1), ("b", 2)].map(|(key, value)| (key.to_owned(), value)).into_iter().collect();
    let guard = rcu::read();
    assert_eq!(map.get("b", &guard), Some(&2));
    assert_eq!(map.floor("aa", &guard).unwrap().1, &1);
    assert_eq!(map.range::<str, _>((Excluded("a"), Unbounded), &guard).count(), 1);
    assert!(map.contains_key("a", &guard) && map.remove("a").is_some() && !map.contains_key("a", &guard));
    assert!(map.values(&guard).eq([&2]));
}

#[test]
fn what_is_taken_out_comes_back() {
    let map = OrderedMap::from_iter([(1, String::from("one")), (2, String::from("two"))]);
    assert_eq!(map.remove(&1).unwrap().synchronize(), (1, "one".into()));
    let guard = rcu::read();
    let removed = map.remove(&2).unwrap();
    let removed = removed.try_into_pair().unwrap_err();
    assert_eq!(format!("{removed:?}"), r#"Retired(2, "two")"#);
    drop(guard);
    Global::synchronize();
    assert_eq!(removed.try_into_pair().unwrap(), (2, "two".into()));
    let copies = OrderedMap::from_iter([(1, 2)]);
    let guard = rcu::read();
    assert_eq!(copies.remove(&1).unwrap().try_into_pair().unwrap(), (1, 2));
    drop(guard);
}

#[test]
#[should_panic(expected = "begins after its end")]
#[allow(clippy::reversed_empty_ranges)]
fn a_range_that_begins_after_its_end_panics() {
    OrderedMap::<u8, u8>::new().range(2..1, &rcu::read());
}

#[test]
#[should_panic(expected = "begins and ends before the same key")]
fn a_range_between_a_key_and_itself_panics() {
    OrderedMap::<u8, u8>::new().range((Excluded(1), Excluded(1)), &rcu::read());
}

#[test]
fn an_entry_is_removed_if_it_is_what_was_meant() {
    for map in [OrderedMap::new(), OrderedMap::with_copied_keys(), OrderedMap::with_copied_entries()] {
        let mut map: OrderedMap<u32, u32> = map;
        map.extend(&std::collections::BTreeMap::from_iter((0..500).map(|key| (key, key))));
        let mut asked = Vec::new();
        for key in 0..600 {
            let removed = map.remove_if(&key, |key, value| {
                asked.push(*key);
                assert_eq!(key, value);
                value % 3 == 0
            });
            assert_eq!(removed.map(|old| *old), (key < 500 && key % 3 == 0).then_some(key));
        }
        assert!(asked.into_iter().eq(0..500));
        assert_eq!(map.len(), 333);
    }
}

/// Each takes its turn: no count is lost between the look and the removal.
#[test]
fn removals_by_condition_race_with_updates() {
    let map = OrderedMap::new();
    let inserted = std::thread::scope(|scope| {
        let counts: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut removed = 0_u64;
                    for round in 0..3000_u64 {
                        if map.update(7, |count| count + 1).is_none() {
                            _ = map.try_insert(7, 1);
                        }
                        if round % 3 == 0 {
                            removed += map.remove_if(&7, |_, count| count % 2 == 0).map_or(0, |old| {
                                assert_eq!(*old % 2, 0, "what is removed is what was looked at");
                                1
                            });
                        }
                    }
                    removed
                })
            })
            .collect();
        counts.into_iter().map(|thread| thread.join().unwrap()).sum::<u64>()
    });
    assert!(inserted <= 2000 && map.len() <= 1);
}

/// Each thread gets the one value of a key, also where leaves are split meanwhile; what a thread made in vain
/// is dropped.
#[test]
fn threads_that_get_or_insert() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let (map, made) = (OrderedMap::<u32, Box<u32>>::new(), AtomicUsize::new(0));
    let sums: Vec<u64> = std::thread::scope(|scope| {
        let threads = (0..4_u32).map(|thread| {
            let (map, made) = (&map, &made);
            scope.spawn(move || {
                let mut sum = 0;
                for key in 0..2_000 {
                    let guard = rcu::read();
                    let make = || {
                        made.fetch_add(1, Ordering::Relaxed);
                        Box::new(thread)
                    };
                    let value = map.get_or_insert_with(key, make, &guard);
                    assert!(std::ptr::eq(&**value, &**map.get(&key, &guard).unwrap()), "another value");
                    sum += u64::from(key) * u64::from(**value);
                }
                sum
            })
        });
        threads.collect::<Vec<_>>().into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(sums.iter().all(|sum| *sum == sums[0]), "the threads saw other values");
    assert!(map.len() == 2_000 && made.into_inner() >= 2_000);
}

/// A `make` that panics changes nothing, and one that inserts the key itself loses.
#[test]
fn a_value_that_is_made_in_vain() {
    let (map, guard) = (OrderedMap::<u32, String>::new(), rcu::read());
    let panics = || map.get_or_insert_with(1, || panic!("expected"), &guard);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err() && map.is_empty());
    let inserts = || {
        drop(map.insert(1, "first".to_owned()));
        "second".to_owned()
    };
    assert_eq!((map.get_or_insert_with(1, inserts, &guard).as_str(), map.len()), ("first", 1));
}
