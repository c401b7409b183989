//! Readers and writers at the same time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

use leeward::collect::OrderedMap;
use leeward::rcu;

/// A value that says if it was freed: readers look at it.
pub struct Alive(u64, u64);

impl Alive {
    pub fn new(number: u64) -> Alive {
        Alive(number, !number)
    }
    pub fn check(&self) -> u64 {
        assert_eq!(self.0, !self.1, "a value was read after it was freed");
        self.0
    }
}
impl Drop for Alive {
    fn drop(&mut self) {
        // Volatile: the compiler may not leave it out.
        // SAFETY: a field of our own.
        unsafe { std::ptr::write_volatile(&mut self.1, self.0) };
    }
}

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// The number of even keys.
const KEYS: u64 = 1500;

/// Inserts runs of odd keys and removes them, which splits and merges leaves; and updates even keys.
fn write_odd<K: Ord + Clone + Send + Sync>(map: &OrderedMap<K, Alive>, key_of: impl Fn(u64) -> K, seed: u64) {
    let mut state = seed;
    for _ in 0..30 {
        let start = random(&mut state) % KEYS;
        for number in start..(start + 300).min(KEYS) {
            map.insert(key_of(2 * number + 1), Alive::new(2 * number + 1));
        }
        for number in start..(start + 300).min(KEYS) {
            map.remove(&key_of(2 * number + 1));
        }
        let even = 2 * (random(&mut state) % KEYS);
        map.update(key_of(even), |old| Alive::new(old.check()));
    }
}

/// Walks through the map once: finds each even key once, in order.
fn scan<K: Ord>(map: &OrderedMap<K, Alive>, number_of: impl Fn(&K) -> u64, is_reversed: bool) {
    let guard = rcu::read();
    let mut evens = 0;
    let mut last = None;
    let mut see = |(key, value): (&K, &Alive)| {
        let number = number_of(key);
        assert_eq!(value.check(), number);
        let is_in_order = last.is_none_or(|last| if is_reversed { number < last } else { number > last });
        assert!(is_in_order, "{number} after {last:?}");
        last = Some(number);
        evens += u64::from(number % 2 == 0);
    };
    if is_reversed {
        map.iter(&guard).rev().for_each(&mut see);
    } else {
        map.iter(&guard).for_each(&mut see);
    }
    assert_eq!(evens, KEYS);
}

/// Even keys stay throughout; writers insert and remove the odd ones. Every scan finds each even key
/// once, in order, in either direction.
fn scan_beside_writers<K: Ord + Clone + Send + Sync>(
    key_of: impl Fn(u64) -> K + Sync,
    number_of: impl Fn(&K) -> u64 + Sync,
) {
    let map: OrderedMap<K, Alive> = (0..KEYS).map(|number| (key_of(2 * number), Alive::new(2 * number))).collect();
    let (map, key_of, number_of, is_over) = (&map, &key_of, &number_of, &AtomicBool::new(false));
    thread::scope(|scope| {
        let writers: Vec<_> = (1..3).map(|seed| scope.spawn(move || write_odd(map, key_of, seed))).collect();
        for is_reversed in [false, true] {
            scope.spawn(move || {
                loop {
                    let is_last = is_over.load(Relaxed);
                    scan(map, number_of, is_reversed);
                    if is_last {
                        return;
                    }
                }
            });
        }
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        is_over.store(true, Relaxed);
    });
    assert_eq!(map.len() as u64, KEYS);
}

#[test]
fn a_scan_sees_what_stays_once_and_in_order() {
    scan_beside_writers(|number| number, |key| *key);
}

#[test]
fn a_scan_of_entries_sees_what_stays_once_and_in_order() {
    scan_beside_writers(|number| format!("{number:08}"), |key| key.parse().unwrap());
}

/// Writers of the same few keys: each insertion and each removal succeeds for one of them.
#[test]
fn writers_of_one_leaf_lose_nothing() {
    let map = OrderedMap::<u64, Box<u64>>::new();
    let balance = AtomicU64::new(0);
    thread::scope(|scope| {
        for seed in 1..5_u64 {
            let (map, balance) = (&map, &balance);
            scope.spawn(move || {
                let mut state = seed;
                for _ in 0..5000 {
                    let key = random(&mut state) % 8;
                    if random(&mut state) % 2 == 0 {
                        balance.fetch_add(u64::from(map.try_insert(key, Box::new(key)).is_ok()), Relaxed);
                    } else {
                        balance.fetch_sub(u64::from(map.remove(&key).is_some()), Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!(map.len() as u64, balance.load(Relaxed));
    assert_eq!(map.iter(&rcu::read()).count(), map.len());
}

/// Several threads add to the same values: no addition is lost.
#[test]
fn updates_lose_nothing() {
    let map: OrderedMap<u64, u64> = (0..100).map(|key| (key, 0)).collect();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| (0..10_000).for_each(|turn| drop(map.update(turn % 100, |count| count + 1))));
        }
    });
    assert_eq!(map.values(&rcu::read()).sum::<u64>(), 30_000);
}
