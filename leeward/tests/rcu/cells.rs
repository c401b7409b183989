//! What writers do with cells beyond replacing the value: compare-exchange, updates that may fail,
//! boxes, and the value in `Debug`.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use leeward::rcu::{Conflict, Domain, RcuCell, RcuOption};

leeward::rcu_domain! { struct D; }

#[test]
fn compare_exchange_of_a_cell() {
    let cell = RcuCell::<_, D>::new_in(1);
    let guard = D::read();
    let seen = cell.load(&guard);
    let old = cell.compare_exchange(seen, Box::new(2), &guard).unwrap();
    assert_eq!((*old, *seen, *cell.load(&guard)), (1, 1, 2));
    // Values are told apart by their address.
    let Conflict { current, new } = cell.compare_exchange(&2, Box::new(3), &guard).unwrap_err();
    assert_eq!((*current, *new), (2, 3));
    let two = cell.compare_exchange(current, new, &guard).unwrap();
    assert_eq!((*two, *cell.load(&guard)), (2, 3));
    drop(guard);
    assert_eq!(*two.synchronize(), 2);
}

#[test]
fn compare_exchange_of_an_option() {
    let cell = RcuOption::<_, D>::none_in();
    let guard = D::read();
    assert!(cell.compare_exchange(None, Some(Box::new(1)), &guard).unwrap().is_none());
    let conflict = cell.compare_exchange(None, Some(Box::new(2)), &guard).unwrap_err();
    assert_eq!(conflict, Conflict { current: Some(&1), new: Some(Box::new(2)) });
    assert!(conflict.to_string().contains("another value"));
    assert_eq!(*cell.compare_exchange(conflict.current, None, &guard).unwrap().unwrap(), 1);
    let conflict = cell.compare_exchange(conflict.current, None, &guard).unwrap_err();
    assert_eq!(conflict, Conflict { current: None, new: None });
}

/// What a failed exchange gives back is the caller's: nothing is freed twice or leaked.
#[test]
fn a_conflict_gives_the_new_value_back() {
    let value = Arc::new(());
    let cell = RcuCell::<_, D>::new_in(Arc::clone(&value));
    let guard = D::read();
    let other = Arc::new(());
    for _ in 0..3 {
        let conflict = cell.compare_exchange(&Arc::clone(&value), Box::new(Arc::clone(&other)), &guard).unwrap_err();
        assert!(Arc::ptr_eq(conflict.current, &value));
        assert_eq!(Arc::strong_count(&other), 2);
        drop(conflict);
        assert_eq!((Arc::strong_count(&other), Arc::strong_count(&value)), (1, 2));
    }
}

#[test]
fn no_update_is_lost() {
    const THREADS: u64 = 4;
    const TIMES: u64 = 500;
    let (cell, option) = (RcuCell::<_, D>::new_in(0), RcuOption::<_, D>::none_in());
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..TIMES {
                    let guard = D::read();
                    let mut seen = cell.load(&guard);
                    let mut next = Box::new(seen + 1);
                    while let Err(conflict) = cell.compare_exchange(seen, next, &guard) {
                        (seen, next) = (conflict.current, conflict.new);
                        *next = seen + 1;
                    }
                    drop(guard);
                    option.update(|now| now.copied().unwrap_or(0) + 1);
                }
            });
        }
    });
    assert_eq!((*cell.get(), *option.get().unwrap()), (THREADS * TIMES, THREADS * TIMES));
}

#[test]
fn an_update_may_fail_or_empty_the_cell() {
    let cell = RcuCell::<_, D>::new_in(1);
    assert_eq!(cell.try_update(|_| Err::<u32, _>("no")).unwrap_err(), "no");
    assert_eq!(*cell.get(), 1);
    assert_eq!(*cell.try_update(|now| Ok::<_, ()>(now + 1)).unwrap(), 1);
    let option = RcuOption::<_, D>::some_in(1);
    assert_eq!(*option.try_update(|_| Ok::<_, ()>(None)).unwrap().unwrap(), 1);
    assert!(option.get().is_none());
    assert!(option.try_update(|now| if now.is_some() { Ok(None) } else { Err("empty") }).is_err());
    let panicked = catch_unwind(AssertUnwindSafe(|| cell.try_update(|_| -> Result<u32, ()> { panic!("on purpose") })));
    assert!(panicked.is_err());
    assert_eq!(*cell.get(), 2);
    // No section is open any more.
    D::synchronize();
}

/// An update that another writer overtakes sees that writer's value.
#[test]
fn an_update_that_is_overtaken_tries_again() {
    let cell = RcuCell::<_, D>::new_in(1);
    let mut seen = Vec::new();
    let old = cell.update(|now| {
        seen.push(*now);
        if seen.len() < 3 {
            cell.store(now * 10);
        }
        now + 1
    });
    assert_eq!((seen, *old, *cell.get()), (vec![1, 10, 100], 100, 101));
}

#[test]
fn boxes_are_published_as_they_are() {
    let (first, second) = (Box::new([1; 4]), Box::new([2; 4]));
    let place = &raw const *second;
    let cell = RcuCell::<_, D>::from_in(first);
    assert_eq!(*cell.replace_box(second), [1; 4]);
    assert!(std::ptr::eq(&*cell.get(), place));
    let option = RcuOption::<_, D>::none_in();
    assert!(option.replace_box(Some(Box::new(7))).is_none());
    assert_eq!(*option.replace_box(None).unwrap(), 7);
}

#[test]
fn values_without_a_size() {
    let option = RcuOption::<(), D>::none_in();
    let guard = D::read();
    assert!(option.compare_exchange(None, Some(Box::new(())), &guard).unwrap().is_none());
    assert!(option.compare_exchange(Some(&()), None, &guard).unwrap().is_some());
}

#[test]
fn debug_shows_the_value() {
    let cell = RcuCell::<_, D>::new_in("text");
    assert_eq!(format!("{cell:?}"), "RcuCell(\"text\")");
    cell.store("other");
    assert_eq!(format!("{:?}", RcuOption::<_, D>::some_in(1)), "RcuOption(Some(1))");
    assert_eq!(format!("{:?} {cell:?}", RcuOption::<u8, D>::none_in()), "RcuOption(None) RcuCell(\"other\")");
}
