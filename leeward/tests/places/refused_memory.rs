//! Operations that are refused memory: at each of their allocations in turn, and again and again.
//! Nothing is lost, no count is left moved, and the container goes on where there is memory again.

#![allow(missing_docs)]

#[path = "../common/allocator.rs"]
mod allocator;
#[path = "refused_memory/in_turn.rs"]
mod in_turn;

use allocator::{Calling, refuses, refuses_zeroed};
use leeward::collect::{HashMap, Queue, TryPop};
use leeward::rcu;

#[global_allocator]
static ALLOCATOR: Calling = Calling;

/// More refusals than the index of a slot has room for.
const REFUSALS: u32 = (1 << 22) + 1000;

fn is_refused_for_long(queue: &Queue<Box<u32>>) {
    let mut value = Box::new(7);
    refuses(true);
    for _ in 0..REFUSALS {
        value = queue.try_push(value).expect_err("there is no memory");
    }
    refuses(false);
    assert_eq!(*value, 7);
}

#[test]
fn a_queue_is_refused_memory_for_long() {
    let queue = <Queue<Box<u32>>>::new();
    is_refused_for_long(&queue);
    assert!(queue.is_empty());
    // Until its block is full.
    let mut values: Vec<Box<u32>> = (0..1000).map(Box::new).collect();
    values.reverse();
    assert!(queue.try_push(values.pop().unwrap()).is_ok());
    refuses(true);
    let back = std::iter::from_fn(|| Some(queue.try_push(values.pop()?))).find_map(Result::err);
    refuses(false);
    let count = **back.as_ref().unwrap();
    is_refused_for_long(&queue);
    assert!(queue.try_push(back.unwrap()).is_ok());
    assert!((0..=count).all(|number| matches!(queue.try_pop(), TryPop::Value(value) if *value == number)));
    assert!(queue.is_empty());
}

/// Lines grow longer where there is no memory for a larger table, and a table stays as large as it is
/// where there is none for a smaller one.
#[test]
fn a_map_whose_table_is_refused_goes_on() {
    const KEYS: u32 = 2000;
    let map = HashMap::<u32, Box<u32>>::new();
    let has = |keys: std::ops::Range<u32>| {
        let guard = rcu::read();
        assert!(keys.clone().all(|key| map.get(&key, &guard).is_some_and(|value| **value == key)));
        assert_eq!((map.len(), map.iter(&guard).count()), (keys.len(), keys.len()));
    };
    map.insert(0, Box::new(0));
    let least = map.capacity();
    refuses_zeroed(true);
    (1..KEYS).for_each(|key| drop(map.insert(key, Box::new(key))));
    has(0..KEYS);
    assert_eq!(map.capacity(), least);
    refuses_zeroed(false);
    // The next writers let it grow, at last to what it needs.
    (KEYS..2 * KEYS).for_each(|key| drop(map.insert(key, Box::new(key))));
    has(0..2 * KEYS);
    let most = map.capacity();
    assert!(most > least);
    refuses_zeroed(true);
    (10..2 * KEYS).for_each(|key| drop(map.remove(&key)));
    has(0..10);
    assert_eq!(map.capacity(), most);
    refuses_zeroed(false);
    (10..KEYS).for_each(|key| drop(map.insert(key, Box::new(key))));
    (0..KEYS).rev().for_each(|key| drop(map.remove(&key)));
    has(0..0);
    assert!(map.capacity() < most, "it never shrinks again");
}
