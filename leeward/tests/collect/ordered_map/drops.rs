//! Every key and value is dropped once, and what destructors do to the map.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};

use leeward::collect::OrderedMap;
use leeward::rcu::{self, Domain};

use super::common::Watchdog;
use super::values::{Living, Panics};

#[test]
fn everything_is_dropped_once() {
    let count = Arc::new(AtomicIsize::new(0));
    let map = OrderedMap::new();
    let add = |number| drop(map.insert(Living::new(number, &count), Living::new(number, &count)));
    (0..3000).for_each(add);
    (0..3000).step_by(3).for_each(add);
    assert!(map.try_insert(Living::new(7, &count), Living::new(7, &count)).is_err());
    (0..3000).step_by(2).for_each(|number| drop(map.remove(&number)));
    map.update(Living::new(1, &count), |_| Living::new(1, &count));
    map.update(Living::new(2, &count), |_| Living::new(2, &count));
    map.retain(|key, _| key.0 % 5 != 0);
    map.remove(&1).unwrap().synchronize();
    let left = map.len();
    let back: Vec<_> = map.into_iter().take(left / 2).collect();
    assert_eq!(count.load(Relaxed), 2 * back.len() as isize);
    drop(back);
    assert_eq!(count.load(Relaxed), 0);
}

#[test]
fn a_cleared_map_and_a_dropped_one_drop_everything() {
    let count = Arc::new(AtomicIsize::new(0));
    let map = OrderedMap::new();
    for _ in 0..3 {
        (0..1000).for_each(|number| drop(map.insert(number, Living::new(number, &count))));
        map.clear();
        assert!(map.is_empty());
    }
    (0..10).for_each(|number| drop(map.insert(number, Living::new(number, &count))));
    drop(map);
    assert_eq!(count.load(Relaxed), 0);
}

#[test]
fn memory_comes_back_while_writers_are_at_work() {
    // Readers of other tests are not waited for.
    leeward::rcu_domain! { struct Alone; }
    let count = Arc::new(AtomicIsize::new(0));
    let map = OrderedMap::<_, _, Alone>::new_in();
    (0..200_000).for_each(|number| drop(map.insert(number % 100, Living::new(number, &count))));
    assert!(count.load(Relaxed) < 100_000, "{} values are alive", count.load(Relaxed));
}

/// A value whose destructor takes the next key out of the map and puts another in.
struct Meddler<'a>(&'a OrderedMap<u32, Box<Meddler<'a>>>, u32);

impl Drop for Meddler<'_> {
    fn drop(&mut self) {
        drop(self.0.remove(&(self.1 + 1)));
        let guard = rcu::read();
        assert!(self.0.iter(&guard).count() <= self.0.len() + 1);
    }
}

#[test]
fn destructors_may_use_the_map() {
    let map: &'static OrderedMap<u32, Box<Meddler<'static>>> = Box::leak(Box::new(OrderedMap::new()));
    for round in 0..20 {
        (0..500).for_each(|number| drop(map.insert(number, Box::new(Meddler(map, number)))));
        (0..500).step_by(round + 1).for_each(|number| drop(map.remove(&(number as u32))));
    }
}

#[test]
fn a_destructor_that_panics_keeps_no_other_from_running() {
    let count = Cell::new(0);
    let map = OrderedMap::new();
    for number in 0..2000 {
        drop(map.insert(number % 50, Panics(&count, number % 10 == 0)));
    }
    drop(map);
    assert_eq!(count.get(), 2000);
}

/// What writers free: a panic is counted whichever call has taken the entry out, one by one (`remove`),
/// with its leaf (`retain`) or with the tree (`clear`).
#[test]
fn a_destructor_that_panics_in_a_writer_is_counted() {
    let _dog = Watchdog::new("a_destructor_that_panics_in_a_writer_is_counted");
    // Readers of other tests are not waited for, and their panics are not counted.
    leeward::rcu_domain! { struct Alone; }
    let (dropped, others) = (Cell::new(0), Cell::new(0));
    let map = OrderedMap::<u32, Panics, Alone>::new_in();
    let fill = || (0..100).for_each(|number| drop(map.insert(number, Panics(&dropped, number % 10 == 0))));
    fill();
    (0..100).for_each(|number| drop(map.remove(&number)));
    fill();
    map.retain(|_, _| false);
    fill();
    map.clear();
    // Later writers free all that.
    while dropped.get() < 300 {
        drop(map.insert(0, Panics(&others, false)));
    }
    assert_eq!((dropped.get(), Alone::stats().callback_panics), (300, 30));
}

/// Values and keys of unusual sizes.
#[test]
fn any_size_and_alignment_is_kept() {
    #[repr(align(256))]
    #[derive(PartialEq, Eq, PartialOrd, Ord, Clone, Copy, Debug)]
    struct Aligned(u32);
    #[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
    struct Unit;
    let aligned = OrderedMap::<Aligned, Aligned>::with_copied_entries();
    let entries = OrderedMap::<Aligned, Box<u8>>::new();
    let pages = OrderedMap::<u32, [u8; 4096]>::new();
    for number in 0..200 {
        aligned.insert(Aligned(number), Aligned(number));
        entries.insert(Aligned(number), Box::new(number as u8));
        pages.insert(number, [number as u8; 4096]);
    }
    let guard = rcu::read();
    for number in 0..200 {
        let (key, value) = aligned.get_key_value(&Aligned(number), &guard).unwrap();
        assert_eq!((key.0, value.0), (number, number));
        assert!((&raw const *key).is_aligned() && (&raw const *value).is_aligned());
        assert_eq!(**entries.get(&Aligned(number), &guard).unwrap(), number as u8);
        assert_eq!(pages.get(&number, &guard).unwrap()[4095], number as u8);
    }
    drop(guard);
    let units = OrderedMap::new();
    assert!(units.insert(Unit, Unit).is_none() && units.insert(Unit, Unit).is_some());
    assert_eq!(units.remove(&Unit).map(|unit| (unit.synchronize(), units.len())), Some(((Unit, Unit), 0)));
    let nothing = OrderedMap::new();
    assert!(nothing.insert((), ()).is_none() && nothing.insert((), ()).is_some());
    assert_eq!((nothing.len(), nothing.pop_last().map(|last| *last)), (1, Some(())));
}

/// Values with interior mutability are one value for all readers, wherever their leaf is copied to.
#[test]
fn values_do_not_move() {
    let map = OrderedMap::<u32, AtomicIsize>::new();
    map.insert(1, AtomicIsize::new(0));
    let guard = rcu::read();
    let before = map.get(&1, &guard).unwrap();
    (2..200).for_each(|number| drop(map.insert(number, AtomicIsize::new(0))));
    before.store(7, Relaxed);
    let after = map.get(&1, &guard).unwrap();
    assert!(std::ptr::eq(before, after) && after.load(Relaxed) == 7);
}
