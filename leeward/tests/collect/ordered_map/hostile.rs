//! Comparisons that panic, lie, or use the map themselves; closures that do.

use std::cell::Cell;
use std::cmp::Ordering;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use leeward::collect::OrderedMap;
use leeward::rcu;

thread_local! {
    /// After how many comparisons one panics.
    static FUSE: Cell<u32> = const { Cell::new(u32::MAX) };
    /// How many comparisons use the map.
    static USES: Cell<u32> = const { Cell::new(0) };
}

/// A key that lies in an entry, and whose comparisons panic or use the map.
#[derive(Debug)]
struct Key(Box<u32>);

static MAP: OrderedMap<Key, u32> = OrderedMap::new();

impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        FUSE.set(FUSE.get() - 1);
        assert_ne!(FUSE.get(), 0, "a comparison");
        let uses = USES.take();
        if uses > 0 {
            MAP.insert(Key(Box::new(*self.0 + 10_000)), 0);
            let _ = MAP.get(other, &rcu::read());
            drop(MAP.remove(&Key(Box::new(*self.0 + 10_000))));
            USES.set(uses - 1);
        }
        self.0.cmp(&other.0)
    }
}
impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Key {}

fn key(number: u32) -> Key {
    Key(Box::new(number))
}

#[test]
fn a_comparison_that_panics_leaves_the_map_whole() {
    let map = OrderedMap::new();
    (0..500).for_each(|number| drop(map.insert(key(2 * number), number)));
    for fuse in 1..40 {
        for operation in 0..7 {
            FUSE.set(fuse);
            let (before, guard) = (map.len(), rcu::read());
            let outcome = catch_unwind(AssertUnwindSafe(|| match operation {
                0 => drop(map.insert(key(501), 7)),
                1 => drop(map.remove(&key(500))),
                2 => drop(map.update(key(500), |value| *value)),
                3 => drop(map.try_insert(key(503), 7)),
                4 => drop(map.get(&key(500), &guard)),
                5 => drop(map.range(key(100)..key(900), &guard).count()),
                _ => drop(map.floor(&key(501), &guard)),
            }));
            FUSE.set(u32::MAX);
            if outcome.is_err() {
                assert_eq!(map.len(), before);
            }
            map.insert(key(500), 250);
            drop(map.remove(&key(501)));
            drop(map.remove(&key(503)));
            assert_eq!((map.len(), map.iter(&guard).count()), (500, 500));
        }
    }
}

#[test]
fn a_comparison_may_use_the_map() {
    (0..200).for_each(|number| drop(MAP.insert(key(number), number)));
    for use_it in
        [|| drop(MAP.insert(key(300), 300)), || drop(MAP.update(key(100), |_| 7)), || drop(MAP.remove(&key(50)))]
    {
        USES.set(20);
        use_it();
    }
    assert_eq!(MAP.get(&key(100), &rcu::read()), Some(&7));
    USES.set(0);
    assert_eq!(MAP.len(), 200);
}

#[test]
fn closures_may_use_the_map_and_panic() {
    let map: OrderedMap<u32, String> = (0..300).map(|number| (number, number.to_string())).collect();
    map.update(5, |value| {
        map.insert(1000, "new".into());
        drop(map.remove(&6));
        format!("{value}!")
    });
    assert_eq!(map.get(&5, &rcu::read()).unwrap(), "5!");
    assert!(catch_unwind(AssertUnwindSafe(|| map.update(5, |_| panic!("a closure")))).is_err());
    map.retain(|number, _| {
        if *number == 100 {
            drop(map.remove(&200));
        }
        number % 2 == 0
    });
    assert!(
        catch_unwind(AssertUnwindSafe(|| map.retain(|number, _| {
            assert!(*number < 100, "a closure");
            false
        })))
        .is_err()
    );
    let guard = rcu::read();
    assert!(map.get(&200, &guard).is_none() && map.get(&1000, &guard).is_some());
    assert_eq!(map.iter(&guard).count(), map.len());
}

#[test]
fn a_closure_that_changes_its_own_leaf_loses_nothing() {
    let map: OrderedMap<u32, u32> = (0..10).map(|number| (number, 0)).collect();
    let calls = Cell::new(0);
    map.update(5, |value| {
        calls.set(calls.get() + 1);
        if calls.get() == 1 {
            drop((map.insert(6, 7), map.insert(20, 7), map.remove(&4)));
        }
        value + 1
    });
    let guard = rcu::read();
    let found = [4, 5, 6, 20].map(|key| map.get(&key, &guard).copied());
    assert_eq!((found, calls.get(), map.len()), ([None, Some(1), Some(7), Some(7)], 2, 10));
}

/// A key whose order is drawn by lot.
#[derive(Debug)]
struct Liar(#[allow(dead_code)] Box<u32>);

static LOTS: AtomicU64 = AtomicU64::new(1);

impl Ord for Liar {
    fn cmp(&self, _: &Liar) -> Ordering {
        let lot = LOTS.load(Relaxed).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        LOTS.store(lot, Relaxed);
        [Ordering::Less, Ordering::Equal, Ordering::Greater, Ordering::Less, Ordering::Greater]
            [(lot >> 33) as usize % 5]
    }
}
impl PartialOrd for Liar {
    fn partial_cmp(&self, other: &Liar) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Liar {
    fn eq(&self, other: &Liar) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Liar {}

#[test]
fn an_order_that_lies_breaks_no_memory() {
    let map = OrderedMap::new();
    for number in 0..30_000_u32 {
        let guard = rcu::read();
        match number % 5 {
            0 | 1 => drop(map.insert(Liar(Box::new(number)), Box::new(number))),
            2 => drop(map.remove(&Liar(Box::new(number)))),
            3 => drop(map.update(Liar(Box::new(number)), |value| Box::new(**value))),
            _ => {
                let found = map.floor(&Liar(Box::new(number)), &guard);
                assert!(found.is_none_or(|(_, value)| **value < 30_000));
                assert!(map.iter(&guard).take(50).all(|(_, value)| **value < 30_000));
            }
        }
    }
    (0..100).for_each(|_| drop(map.pop_first()));
    let count = map.len();
    assert_eq!(map.into_iter().count(), count);
}
