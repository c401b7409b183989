//! Maps that are compared, also beside writers and with themselves.

use std::cell::RefCell;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use leeward::collect::{ShardMap, ShardSet};

use super::common::{Watchdog, eventually, is_asleep};

/// Returns true if two values are equal, by comparisons in both directions.
fn are_equal<T: PartialEq>(one: &T, other: &T) -> bool {
    let answers = [one == other, other == one];
    assert_eq!(answers[0], answers[1]);
    answers[0]
}

#[test]
fn maps_are_equal_if_their_entries_are() {
    let entries = || (0..1000).map(|key| (key, key.to_string()));
    let (map, other) = (ShardMap::<_, _>::from_iter(entries()), ShardMap::with_shard_amount(1));
    assert!(!are_equal(&map, &other));
    entries().for_each(|(key, value)| drop(other.insert(key, value)));
    assert!(are_equal(&map, &other));
    assert!(map.clone() == map);
    other.insert(7, String::new());
    assert!(!are_equal(&map, &other));
    other.remove(&7);
    assert!(!are_equal(&map, &other));
    // As many, and another key.
    other.insert(1000, "7".into());
    assert!(!are_equal(&map, &other));
}

#[test]
#[allow(clippy::eq_op)]
fn a_map_is_compared_with_itself() {
    let _watchdog = Watchdog::new("a map is compared with itself");
    let map = ShardMap::<_, _>::from_iter((0..100).map(|key| (key, 1.0)));
    assert!(map == map);
    // Beside references of the same thread.
    let (one, other) = (map.get(&1).unwrap(), map.get(&2).unwrap());
    assert!(map == map);
    drop((one, other));
    map.insert(7, f64::NAN);
    assert!(map != map, "a value that is not equal to itself");
}

#[test]
fn sets_are_equal_if_their_keys_are() {
    let (set, other) = (ShardSet::<_>::from_iter(0..100), ShardSet::<_>::from_iter((0..100).rev()));
    assert!(set == other);
    other.remove(&50);
    assert!(!are_equal(&set, &other));
}

#[test]
fn a_comparison_panics_where_the_thread_writes() {
    let map = ShardMap::<_, _>::from_iter([(1, 1)]);
    let other = map.clone();
    let written = other.get_mut(&1);
    let said = super::common::panic_of(|| assert!(map == other));
    assert!(said.contains("locked"), "{said}");
    drop(written);
    assert!(map == other);
}

thread_local! {
    /// What the thread does once, when it hashes a key.
    static ONCE: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

#[derive(PartialEq, Eq)]
struct Key(u32);

impl Hash for Key {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        if let Some(once) = ONCE.take() {
            once();
        }
        hasher.write_u32(self.0);
    }
}

/// A writer has a shard of one map and writes the other, whose shard the comparison has read.
#[test]
fn a_comparison_waits_with_nothing_locked() {
    let _watchdog = Watchdog::new("a comparison waits with nothing locked");
    let make = || {
        let map = ShardMap::<Key, u32>::with_shard_amount(1);
        map.insert(Key(1), 1);
        map
    };
    let (map, other) = (make(), make());
    let id = AtomicI32::new(0);
    let (compares, is_compared) = channel();
    let (writes, is_written) = channel();
    thread::scope(|scope| {
        let comparison = scope.spawn(|| {
            // SAFETY: takes no pointer.
            id.store(unsafe { libc::gettid() }, Ordering::SeqCst);
            // The first hash of a key comes with a shard of `map` locked for reading.
            ONCE.set(Some(Box::new(move || {
                compares.send(()).unwrap();
                is_written.recv().unwrap();
            })));
            map == other
        });
        is_compared.recv().unwrap();
        let written = other.get_mut(&Key(1)).unwrap();
        writes.send(()).unwrap();
        eventually("the comparison waits", || is_asleep(id.load(Ordering::SeqCst)));
        map.insert(Key(2), 2);
        drop(written);
        assert!(!comparison.join().unwrap());
    });
}

/// Two threads compare crosswise, beside writers of both maps.
#[test]
fn comparisons_crosswise_end() {
    let _watchdog = Watchdog::new("comparisons crosswise");
    const ROUNDS: u32 = 300;
    let make = || {
        let map = ShardMap::<u32, u32>::with_shard_amount(2);
        (0..8).for_each(|key| _ = map.insert(key, 0));
        map
    };
    let (one, other) = (&make(), &make());
    thread::scope(|scope| {
        scope.spawn(|| (0..ROUNDS).for_each(|_| _ = one == other));
        scope.spawn(|| (0..ROUNDS).for_each(|_| _ = other == one));
        scope.spawn(|| (0..ROUNDS).for_each(|round| _ = one.insert(round % 8, round)));
        scope.spawn(|| (0..ROUNDS).for_each(|round| _ = other.insert(round % 8, round)));
    });
    (0..8).for_each(|key| _ = (one.insert(key, 7), other.insert(key, 7)));
    assert!(one == other);
}
