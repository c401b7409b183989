//! The calls of `OrderedMap` that say where there is no memory, refused at each of their allocations in
//! turn: on trees in which they change a leaf, split and merge nodes on one level and on several, and
//! replace separators further up.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use leeward::collect::OrderedMap;
use leeward::collect::ordered_map::{NoMemory, NotInserted};
use leeward::rcu::{Domain, Global};

use super::super::allocator::refuses;
use super::{Tried, Value, in_turn};

/// Keys that lie in the nodes, and keys in entries.
pub trait Key: Ord + Debug + Sized {
    fn new(number: u32) -> Self;
    fn number(&self) -> u32;
}

impl Key for u32 {
    fn new(number: u32) -> u32 {
        number
    }

    fn number(&self) -> u32 {
        *self
    }
}

/// A key that is no type which the map knows to be `Copy`.
#[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Boxed(Arc<u32>);

impl Key for Boxed {
    fn new(number: u32) -> Boxed {
        Boxed(Arc::new(number))
    }

    fn number(&self) -> u32 {
        *self.0
    }
}

type Map<K> = OrderedMap<K, Value>;
type Numbers = BTreeSet<u32>;

/// A map on which a call is tried.
struct Changed<K: Key> {
    map: Option<Map<K>>,
    keys: Numbers,
    /// The key that the call is given, which is made before memory is refused.
    key: Option<K>,
    number: u32,
    all: Value,
    call: Call<K>,
}

/// A call, and what it does to the keys.
struct Call<K: Key> {
    /// Makes the call. Returns false if there is no memory.
    run: fn(&Map<K>, &mut Option<K>, &Value) -> bool,
    model: fn(&mut Numbers, u32),
    /// True if the call may be done in part.
    is_partial: bool,
}

impl<K: Key> Clone for Call<K> {
    fn clone(&self) -> Self {
        Call { ..*self }
    }
}

impl<K: Key> Changed<K> {
    fn new(shape: &Shape, number: u32, call: &Call<K>) -> Self {
        let (map, all) = (Map::new(), Value::new(7));
        (0..shape.entries).for_each(|number| drop(map.insert(K::new(2 * number), all.clone())));
        let mut keys: Numbers = (0..shape.entries).map(|number| 2 * number).collect();
        for number in (0..shape.entries).map(|number| 2 * number).filter(|number| !(shape.keeps)(*number)) {
            assert!(map.remove(&K::new(number)).is_some() && keys.remove(&number));
        }
        Changed { map: Some(map), keys, key: None, number, all, call: call.clone() }
    }

    fn map(&self) -> &Map<K> {
        self.map.as_ref().unwrap()
    }
}

impl<K: Key> Tried for Changed<K> {
    fn prepare(&mut self) {
        self.key = Some(K::new(self.number));
    }

    fn tries(&mut self) -> bool {
        if self.key.is_none() {
            self.prepare();
        }
        let map = self.map.as_ref().unwrap();
        // A reader has what the call may take out.
        let guard = Global::read();
        let seen = map.get(self.key.as_ref().unwrap(), &guard).or_else(|| map.first(&guard).map(|(_, value)| value));
        let is_done = (self.call.run)(map, &mut self.key, &self.all);
        assert!(seen.is_none_or(|value| **value == 7), "freed under a reader");
        is_done
    }

    fn check(&mut self, is_done: bool) {
        let mut after = self.keys.clone();
        (self.call.model)(&mut after, self.number);
        let guard = Global::read();
        let found: Vec<u32> = self.map().iter(&guard).map(|(key, value)| key.number() * (**value / 7)).collect();
        drop(guard);
        assert!(found.is_sorted_by(|one, other| one < other));
        assert_eq!(self.map().len(), found.len());
        let found = Numbers::from_iter(found);
        match (is_done, self.call.is_partial) {
            (true, _) => assert_eq!(found, after),
            (false, false) => assert_eq!(found, self.keys),
            // Those that went are the first.
            (false, true) => {
                let gone: Vec<_> = self.keys.difference(&found).copied().collect();
                assert!(self.keys.difference(&after).copied().take(gone.len()).eq(gone));
            }
        }
        let count = Arc::strong_count(&self.all);
        assert!(count > found.len(), "a value is freed that is in the map");
        if is_done {
            // The map is right: it takes what is given to it, and gives it back.
            let (map, all) = (self.map(), &self.all);
            (0..200).for_each(|number| drop(map.insert(K::new(2 * number + 1), all.clone())));
            assert!((0..200).all(|number| map.remove(&K::new(2 * number + 1)).is_some()));
            self.map = None;
            assert_eq!(Arc::strong_count(&self.all), 1, "a value is lost");
        }
    }
}

/// What is in a map: so many even keys, less those that were removed.
struct Shape {
    entries: u32,
    keeps: fn(u32) -> bool,
}

const fn full(entries: u32) -> Shape {
    Shape { entries, keeps: |_| true }
}

/// An empty tree, a leaf, a full one, two; a root that is full, and one above two inner nodes; leaves that
/// are merged when one entry goes, and inner nodes, too.
const SHAPES: &[Shape] = &[
    full(0),
    full(1),
    full(32),
    full(33),
    full(66),
    full(1024),
    full(1025),
    Shape { entries: 66, keeps: |number| number < 18 || (64..84).contains(&number) },
    Shape { entries: 1200, keeps: |number| number % 64 < 18 },
    Shape { entries: 1200, keeps: |number| number % 64 < 4 },
];

fn on_all_shapes<K: Key>(name: &str, numbers: fn(&Numbers) -> Vec<u32>, call: &Call<K>) {
    for (index, shape) in SHAPES.iter().enumerate() {
        let keys = (0..shape.entries).map(|number| 2 * number).filter(|number| (shape.keeps)(*number)).collect();
        for number in numbers(&keys) {
            in_turn(&format!("{name}, shape {index}, key {number}"), || Changed::new(shape, number, call));
        }
    }
}

/// Returns the first key, one in the middle and the last.
fn some_of(keys: &Numbers) -> Vec<u32> {
    let middle = keys.iter().nth(keys.len() / 2);
    Numbers::from_iter(keys.first().into_iter().chain(middle).chain(keys.last()).copied()).into_iter().collect()
}

/// Returns keys that are not there: before a key in the middle, and behind all.
fn others(keys: &Numbers) -> Vec<u32> {
    let middle = keys.iter().nth(keys.len() / 2).map(|key| key + 1);
    middle.into_iter().chain([keys.last().map_or(1, |key| key + 1)]).collect()
}

/// Returns 0, also of an empty map.
fn one(_: &Numbers) -> Vec<u32> {
    vec![0]
}

fn insert<K: Key>(map: &Map<K>, key: &mut Option<K>, value: &Value) -> bool {
    match map.checked_insert(key.take().unwrap(), value.clone()) {
        Ok(_) => true,
        Err(NoMemory((back, same))) => {
            *key = Some(back);
            assert!(Arc::ptr_eq(&same, value), "another value comes back");
            false
        }
    }
}

pub fn checked_insert(name: &str) {
    fn run<K: Key>(name: &str) {
        let model = |keys: &mut Numbers, number| _ = keys.insert(number);
        let call = Call::<K> { run: insert, model, is_partial: false };
        on_all_shapes(name, others, &call);
        on_all_shapes(name, some_of, &call);
    }
    run::<u32>(name);
    run::<Boxed>(name);
}

pub fn checked_try_insert(name: &str) {
    fn run<K: Key>(name: &str) {
        let run = |map: &Map<K>, key: &mut Option<K>, value: &Value| match map
            .checked_try_insert(key.take().unwrap(), value.clone())
        {
            Ok(()) => true,
            Err(NotInserted::NoMemory(NoMemory((back, same)))) => {
                *key = Some(back);
                assert!(Arc::ptr_eq(&same, value), "another value comes back");
                false
            }
            Err(NotInserted::Occupied(found)) => panic!("{:?} is there", found.key),
        };
        let model = |keys: &mut Numbers, number| _ = keys.insert(number);
        on_all_shapes(name, others, &Call::<K> { run, model, is_partial: false });
    }
    run::<u32>(name);
    run::<Boxed>(name);
}

pub fn checked_update(name: &str) {
    fn run<K: Key>(name: &str) {
        let run =
            |map: &Map<K>, key: &mut Option<K>, value: &Value| match map.checked_update(key.take().unwrap(), |old| {
                assert!(Arc::ptr_eq(old, value));
                old.clone()
            }) {
                Ok(old) => old.is_some(),
                Err(NoMemory(back)) => {
                    *key = Some(back);
                    false
                }
            };
        on_all_shapes(name, some_of, &Call::<K> { run, model: |_, _| (), is_partial: false });
    }
    run::<u32>(name);
    run::<Boxed>(name);
}

pub fn checked_remove(name: &str) {
    fn run<K: Key>(name: &str) {
        let run = |map: &Map<K>, key: &mut Option<K>, _: &Value| {
            map.checked_remove(key.as_ref().unwrap()).is_ok_and(|removed| removed.is_some())
        };
        let model = |keys: &mut Numbers, number| _ = keys.remove(&number);
        on_all_shapes(name, some_of, &Call::<K> { run, model, is_partial: false });
    }
    run::<u32>(name);
    run::<Boxed>(name);
}

pub fn checked_pop_first(name: &str) {
    fn run<K: Key>(name: &str) {
        let run = |map: &Map<K>, _: &mut Option<K>, _: &Value| map.checked_pop_first().is_ok();
        let model = |keys: &mut Numbers, _| _ = keys.pop_first();
        on_all_shapes(name, |keys| one(keys)[..keys.len().min(1)].into(), &Call::<K> { run, model, is_partial: false });
    }
    run::<u32>(name);
    run::<Boxed>(name);
}

pub fn checked_pop_last(name: &str) {
    fn run<K: Key>(name: &str) {
        let run = |map: &Map<K>, _: &mut Option<K>, _: &Value| map.checked_pop_last().is_ok();
        let model = |keys: &mut Numbers, _| _ = keys.pop_last();
        on_all_shapes(name, |keys| one(keys)[..keys.len().min(1)].into(), &Call::<K> { run, model, is_partial: false });
    }
    run::<u32>(name);
    run::<Boxed>(name);
}

pub fn checked_retain(name: &str) {
    fn run<K: Key>(name: &str) {
        const fn keeps(number: u32) -> bool {
            number % 6 == 2
        }
        let run = |map: &Map<K>, _: &mut Option<K>, _: &Value| map.checked_retain(|key, _| keeps(key.number())).is_ok();
        let model = |keys: &mut Numbers, _| keys.retain(|number| keeps(*number));
        // (Of the larger maps two are enough: each has hundreds of allocations.)
        let call = Call::<K> { run, model, is_partial: true };
        for shape in [&SHAPES[1], &SHAPES[3], &SHAPES[4], &SHAPES[7]] {
            in_turn(name, || Changed::new(shape, 0, &call));
        }
    }
    run::<u32>(name);
    run::<Boxed>(name);
}

/// What was taken out can be dropped where there is no memory at all, and is freed there.
#[test]
fn what_was_taken_out_is_freed_without_memory() {
    // No other test's writer is inside one of its sections.
    leeward::rcu_domain! { struct Alone; }
    // A grace period begins when 16,384 items wait, however long a fence takes here; three times as many wait
    // at most.
    const ENTRIES: u32 = 100_000;
    let (map, value) = (OrderedMap::<u32, Value, Alone>::new_in(), Value::new(7));
    (0..ENTRIES).for_each(|key| drop(map.insert(key, value.clone())));
    let removed: Vec<_> = (0..ENTRIES).map(|key| map.checked_remove(&key).unwrap().unwrap()).collect();
    assert_eq!(Arc::strong_count(&value) as u32, ENTRIES + 1);
    refuses(true);
    removed.into_iter().for_each(drop);
    let left = Arc::strong_count(&value) as u32 - 1;
    refuses(false);
    assert!(left <= 3 << 14, "{left} values wait for memory");
    drop(map);
    assert_eq!(Arc::strong_count(&value), 1);
}

/// A map is emptied where there is no memory at all.
#[test]
fn a_map_is_emptied_without_memory() {
    leeward::rcu_domain! { struct Alone; }
    let (map, value) = (OrderedMap::<Boxed, Value, Alone>::new_in(), Value::new(7));
    (0..2000).for_each(|key| drop(map.insert(Boxed::new(key), value.clone())));
    // On a thread that has written nothing.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            refuses(true);
            map.clear();
            refuses(false);
        });
    });
    assert!(map.is_empty());
    assert!(map.insert(Boxed::new(1), value.clone()).is_none());
    drop(map);
    assert_eq!(Arc::strong_count(&value), 1);
}
