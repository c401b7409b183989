//! Operations that are refused memory, again and again: nothing is lost, and no count is left moved.

#![allow(missing_docs)]

#[path = "common/allocator.rs"]
mod allocator;

use allocator::{Calling, refuses};
use leeward::collect::{Queue, TryPop};

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
