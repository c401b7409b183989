//! Models of lists under loom: a reader finds each key that is there exactly once, and whole, beside
//! writers that add, replace and remove nodes of the same hash, and beside a move of the table.

use alloc::boxed::Box;
use core::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;
use std::vec::Vec;

use loom::cell::UnsafeCell;

use super::link::{Linked, TableLink, follow};
use super::{Insertion, Owner, RawTable, Table, TableNode};
use crate::atomic::{AtomicU32, AtomicUsize};
use crate::models::{self, together};

/// A node; all have one hash.
struct Numbered {
    link: TableLink,
    number: u32,
    value: UnsafeCell<u32>,
}

const HASH: u64 = 5 | 9 << 57;

// SAFETY: the hash does not change.
unsafe impl TableNode for Numbered {
    fn hash(&self) -> u64 {
        HASH
    }
}

// SAFETY: the table's alone.
unsafe impl Linked for Numbered {
    fn link(&self) -> &TableLink {
        &self.link
    }
}

/// Keeps what the table gives up: models end soon.
struct Keeps;

impl Owner for Keeps {
    fn retire(&self, _: NonNull<Table>) {}
}

loom::lazy_static! {
    static ref TABLE: RawTable<Numbered> = RawTable::new();
    static ref COUNT: AtomicUsize = AtomicUsize::new(0);
}

/// Readers are the first threads of each model, as in `loom_tests.rs`.
fn explore(preemptions: usize, set_up: fn(), model: impl Fn() + Send + Sync + 'static) {
    models::explore(
        preemptions,
        || (),
        move || {
            crate::futex::wake(&AtomicU32::new(0), 1);
            COUNT.load(Relaxed);
            TABLE.table();
            set_up();
            model();
        },
    );
}

fn node(number: u32) -> NonNull<Numbered> {
    let node = Numbered { link: TableLink::new(), number, value: UnsafeCell::new(0) };
    // SAFETY: no other thread has it yet.
    node.value.with_mut(|value| unsafe { *value = number + 100 });
    NonNull::from(Box::leak(Box::new(node)))
}

/// Returns a node's number, and looks at its value.
fn number_of(node: NonNull<Numbered>) -> u32 {
    // SAFETY: nodes are never freed.
    let node = unsafe { node.as_ref() };
    // SAFETY: loom reports a thread that writes meanwhile.
    node.value.with(|value| assert_eq!(unsafe { *value }, node.number + 100));
    node.number
}

fn find(number: u32) -> Option<NonNull<Numbered>> {
    // SAFETY: nodes are never freed.
    unsafe { TABLE.find_linked(HASH, |node| number_of(node) == number) }.map(|stand| stand.node)
}

fn add(number: u32) {
    // SAFETY: nodes are never freed, and it is new.
    assert!(unsafe { TABLE.add_last(node(number), &Keeps) }.is_ok());
}

/// Adds a number unless it is there. Returns true if it was not.
fn add_unique(number: u32) -> bool {
    let new = node(number);
    loop {
        // SAFETY: nodes are never freed.
        let Err(looked) = (unsafe { TABLE.look(HASH, |node| number_of(node) == number) }) else { return false };
        // SAFETY: as above, and it is new.
        match unsafe { TABLE.add_if(new, &looked, &Keeps) } {
            Insertion::Done => return true,
            Insertion::Unknown => {}
            Insertion::NoMemory => panic!("no memory"),
        }
    }
}

fn replace(number: u32) -> bool {
    // SAFETY: nodes are never freed; the new one is in no table.
    find(number).is_some_and(|old| unsafe { TABLE.replace_linked(old, node(number), &Keeps) })
}

fn remove(number: u32) -> bool {
    // SAFETY: nodes are never freed.
    find(number).is_some_and(|old| unsafe { TABLE.remove_linked(old, &Keeps) })
}

fn count(happened: bool) {
    COUNT.fetch_add(usize::from(happened), Relaxed);
}

/// Moves all nodes to a table of four lines.
fn grow() {
    assert!(TABLE.reserve(10, &Keeps).is_ok());
}

/// Returns the numbers that a reader meets, in their order.
fn walked() -> Vec<u32> {
    // SAFETY: nodes are never freed.
    let mut stand = unsafe { TABLE.first_linked() };
    let mut numbers = Vec::new();
    while let Some(found) = stand {
        numbers.push(number_of(found.node));
        // SAFETY: as above.
        stand = unsafe { TABLE.next_linked(found.node, found.next) };
    }
    numbers
}

fn one() {
    make_table();
    add(1);
}

fn two() {
    make_table();
    add(1);
    add(2);
}

fn three() {
    two();
    add(3);
}

/// The table of a model begins with one that has no room.
fn make_table() {
    assert!(TABLE.make_room().is_ok());
}

#[test]
fn an_addition_and_a_reader() {
    explore(3, one, || {
        together([|| assert!(find(1).is_some() && find(2).is_none_or(|two| number_of(two) == 2)), || add(2)]);
        assert_eq!(walked(), [1, 2]);
    });
}

#[test]
fn a_replacement_and_a_reader() {
    explore(3, three, || {
        together([
            || assert!(find(2).is_some(), "a key is lost"),
            || assert_eq!(walked(), [1, 2, 3]),
            || assert!(replace(2)),
        ]);
    });
}

#[test]
fn a_replacement_of_the_first_and_a_reader() {
    explore(3, two, || {
        together([|| assert_eq!(walked(), [1, 2], "a key is lost, or twice"), || assert!(replace(1))]);
    });
}

#[test]
fn a_removal_an_addition_and_a_reader() {
    explore(2, three, || {
        together([
            || assert!(find(3).is_some(), "a key is lost"),
            || assert!(remove(2)),
            || {
                assert!(replace(3));
                add(4);
            },
        ]);
        assert_eq!(walked(), [1, 3, 4]);
    });
}

#[test]
fn one_of_two_additions_of_a_key() {
    explore(3, one, || {
        together([|| count(add_unique(2)), || count(add_unique(2))]);
        assert_eq!((COUNT.load(Relaxed), walked().len()), (1, 2), "a key is there twice");
    });
}

#[test]
fn one_of_two_additions_beside_a_removal() {
    explore(1, one, || {
        together([|| count(add_unique(2)), || count(add_unique(2)), || assert!(remove(1))]);
        assert_eq!((COUNT.load(Relaxed), walked()), (1, [2].to_vec()), "a key is there twice");
    });
}

#[test]
fn one_of_two_removals() {
    explore(3, two, || {
        together([|| count(remove(1)), || count(remove(1))]);
        assert_eq!((COUNT.load(Relaxed), walked()), (1, [2].to_vec()), "a node was removed twice");
    });
}

#[test]
fn a_replacement_and_a_removal() {
    explore(3, two, || {
        together([|| count(replace(1)), || assert!(remove(1) || remove(1))]);
        // The removal may take the node out that replaced the other, or the replacement finds none.
        assert_eq!(walked(), [2], "a removed node is there");
    });
}

#[test]
fn an_addition_behind_a_node_that_is_removed() {
    explore(3, two, || {
        together([|| add(3), || assert!(remove(2))]);
        assert_eq!(walked(), [1, 3], "a node is lost");
    });
}

#[test]
fn a_move_a_replacement_and_a_reader() {
    explore(1, two, || {
        together([|| assert!(find(2).is_some(), "a key is lost"), grow, || assert!(replace(2))]);
        assert_eq!(walked(), [1, 2]);
    });
}

#[test]
fn a_move_and_a_removal() {
    explore(2, two, || {
        together([grow, || assert!(remove(1))]);
        assert_eq!(walked(), [2]);
    });
}

/// A reader that stands on a node before it goes on meets the node that replaced the next one.
#[test]
fn a_reader_that_stands_meets_what_is_there() {
    explore(1, three, || {
        // SAFETY: nodes are never freed.
        let first = unsafe { TABLE.first_linked() }.unwrap();
        assert!(replace(2) && remove(3));
        // SAFETY: as above.
        let second = unsafe { follow(first.next, |_| true) }.unwrap();
        assert!(find(2) == Some(second.node) && second.next.is_null(), "a replaced node is met");
        assert!(remove(2));
        // SAFETY: as above.
        assert!(unsafe { follow(first.next, |_| true) }.is_none(), "a removed node is met");
    });
}
