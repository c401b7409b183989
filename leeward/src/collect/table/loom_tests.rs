//! Models of the table under loom: what a reader finds is whole, each key is inserted and removed
//! once, a move loses nothing, and no writer that waits for a line is forgotten.

use alloc::boxed::Box;
use core::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;

use loom::cell::UnsafeCell;

use super::put::{fill_in, put};
use super::{Insertion, Owner, RawTable, Seen, Table, TableNode, raw};
use crate::atomic::{AtomicU32, AtomicUsize};
use crate::models::{self, together};

/// A node, whose key is its number.
struct Numbered {
    hash: u64,
    number: u32,
    value: UnsafeCell<u32>,
}

// SAFETY: the hash does not change.
unsafe impl TableNode for Numbered {
    fn hash(&self) -> u64 {
        self.hash
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

/// Readers are the first threads of each model, and writers the last, which loom runs first: it
/// keeps one access of each word, and would take a writer's own look at a word for the reader's.
fn explore(preemptions: usize, set_up: fn(), model: impl Fn() + Send + Sync + 'static) {
    let before = move || {
        crate::futex::wake(&AtomicU32::new(0), 1);
    };
    models::explore(
        preemptions,
        || (),
        move || {
            before();
            COUNT.load(Relaxed);
            TABLE.table();
            set_up();
            model();
        },
    );
}

/// Returns the hash of a number: all are in line 0 of a table of one line, and in lines of their
/// own in a table of four.
fn hash_of(number: u32) -> u64 {
    u64::from(number % 4) | u64::from(number) << 57
}

fn node(number: u32) -> NonNull<Numbered> {
    let node = Numbered { hash: hash_of(number), number, value: UnsafeCell::new(0) };
    // SAFETY: no other thread has it yet.
    node.value.with_mut(|value| unsafe { *value = number + 100 });
    NonNull::from(Box::leak(Box::new(node)))
}

fn find(number: u32) -> Option<NonNull<Numbered>> {
    // SAFETY: nodes are never freed.
    let found = unsafe { TABLE.find(hash_of(number), |node| node.number == number) }?;
    // SAFETY: as above.
    let node = unsafe { found.as_ref() };
    // SAFETY: loom reports a thread that writes meanwhile.
    node.value.with(|value| assert_eq!(unsafe { *value }, number + 100));
    Some(found)
}

/// Inserts a number, unless it is there. Returns true if it was not.
fn insert(number: u32) -> bool {
    let (new, mut seen) = (node(number), Seen::new());
    loop {
        // SAFETY: nodes are never freed.
        if unsafe { TABLE.search(hash_of(number), &mut seen, |node| node.number == number) }.is_some() {
            return false;
        }
        // SAFETY: as above, and it is new.
        match unsafe { TABLE.insert(new, &mut seen, &Keeps) } {
            Insertion::Done => return true,
            Insertion::Unknown => {}
            Insertion::NoMemory => panic!("no memory"),
        }
    }
}

fn replace(number: u32) -> bool {
    let new = node(number);
    // SAFETY: nodes are never freed; the new one is in no table.
    find(number).is_some_and(|old| unsafe { TABLE.replace(old, new, &Keeps) })
}

fn remove(number: u32) -> bool {
    // SAFETY: nodes are never freed.
    find(number).is_some_and(|old| unsafe { TABLE.remove(old, &Keeps) })
}

/// What the reader finds does not matter.
fn seen(_: Option<NonNull<Numbered>>) {}

fn count(happened: bool) {
    COUNT.fetch_add(usize::from(happened), Relaxed);
}

/// Moves all nodes to a table of four lines.
fn grow() {
    assert!(TABLE.reserve(10, &Keeps).is_ok());
}

/// Moves all nodes to a table of two lines, from one of four.
fn shrink() {
    let table = TABLE.table();
    assert_eq!(table.count(), 4);
    assert!(TABLE.begin(table, 2).is_ok());
    TABLE.move_all(&Keeps);
}

/// Returns the numbers that a walk visits.
fn walked() -> std::vec::Vec<u32> {
    // SAFETY: nodes are never freed.
    let mut walk = unsafe { TABLE.walk() };
    let mut numbers: std::vec::Vec<_> =
        // SAFETY: as above.
        std::iter::from_fn(|| walk.next().map(|node| unsafe { node.as_ref() }.number)).collect();
    numbers.sort_unstable();
    numbers
}

fn one() {
    assert!(insert(1));
}

fn two() {
    assert!(insert(1) && insert(2));
}

/// Fills a line.
fn eight() {
    (0..7).for_each(|number| assert!(insert(4 * number)));
}

#[test]
fn an_insertion_and_a_reader() {
    explore(
        3,
        || (),
        || {
            together([|| seen(find(1)), || assert!(insert(1))]);
            assert!(find(1).is_some());
        },
    );
}

#[test]
fn a_replacement_and_a_reader() {
    explore(3, one, || together([|| assert!(find(1).is_some()), || assert!(replace(1))]));
}

#[test]
fn a_replacement_of_another_hash_is_refused() {
    explore(0, two, || {
        let (old, new) = (find(1).unwrap(), node(2));
        // SAFETY: nodes are never freed; the new one is in no table.
        let replace = || unsafe { TABLE.replace(old, new, &Keeps) };
        let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(replace));
        assert!(refused.is_err(), "a node is in a line that is not its own");
        // No line stays locked.
        assert!(find(1).is_some() && remove(1) && insert(1));
    });
}

/// A fork beside a writer that has linked an overflow line, and not published that in the line's
/// word. The child finds the writer's node, and what it inserts itself.
#[test]
fn a_fork_beside_a_new_overflow_line() {
    explore(0, eight, || {
        let table = TABLE.table();
        let Ok(tags) = TABLE.lock(table, 0) else { panic!("the line has moved") };
        assert!(put(table, 0, tags, hash_of(28), raw(node(28))).is_ok());
        TABLE.repair();
        let is_there = find(28).is_some();
        assert_eq!(TABLE.len(), walked().len(), "the count is wrong");
        assert_eq!(insert(28), !is_there, "a key is there twice");
        assert!(insert(32) && (0..=8).all(|number| find(4 * number).is_some()), "a key is lost");
        assert_eq!(walked().len(), 9, "a key is there twice");
    });
}

#[test]
fn a_removal_and_a_reader() {
    explore(3, two, || {
        together([|| assert!(find(2).is_some()), || seen(find(1)), || assert!(remove(1))]);
        assert!(find(1).is_none());
    });
}

#[test]
fn one_of_two_insertions_of_a_key() {
    explore(3, two, || {
        together([|| count(insert(5)), || count(insert(5))]);
        assert_eq!((COUNT.load(Relaxed), TABLE.len()), (1, 3), "a key is there twice");
    });
}

#[test]
fn one_of_two_removals_of_a_key() {
    explore(3, two, || {
        together([|| count(remove(1)), || count(remove(1))]);
        assert_eq!((COUNT.load(Relaxed), TABLE.len()), (1, 1), "a key was removed twice");
    });
}

#[test]
fn an_insertion_into_a_full_line_and_a_reader() {
    explore(3, eight, || {
        together([|| seen(find(28)), || assert!(find(24).is_some()), || assert!(insert(28))]);
        assert!(find(28).is_some());
    });
}

#[test]
fn an_insertion_into_two_full_lines_and_a_reader() {
    fn fourteen() {
        (0..14).for_each(|number| assert!(insert(4 * number)));
    }
    explore(3, fourteen, || {
        together([|| seen(find(56)), || assert!(insert(56))]);
        assert!(find(56).is_some());
    });
}

#[test]
fn a_move_and_a_reader() {
    explore(3, two, || {
        together([|| assert!(find(1).is_some()), || assert!(find(2).is_some()), grow]);
        assert!(find(1).is_some() && find(2).is_some());
    });
}

/// A move of the nodes of one line takes a number of steps that grows with theirs, and not with its
/// square: loom counts the accesses to atomics, and refuses a model that has more than 5,000.
#[test]
fn a_move_of_many_nodes_of_one_line() {
    const MANY: u32 = 140;
    fn many() {
        assert!(TABLE.make_room().is_ok());
        let table = TABLE.table();
        for number in (0..MANY).map(|number| 4 * number) {
            let line = table.line(0);
            let filled = fill_in(table, 0, line.tags(), hash_of(number), raw(node(number)));
            line.prepare(filled.expect("no memory"));
        }
    }
    explore(0, many, || {
        grow();
        assert!(walked().into_iter().eq((0..MANY).map(|number| 4 * number)), "a key is lost");
    });
}

#[test]
fn a_move_and_a_writer() {
    explore(2, two, || {
        together([grow, || assert!(insert(3)), || assert!(remove(1))]);
        assert!(find(1).is_none() && find(2).is_some() && find(3).is_some());
    });
}

#[test]
fn a_move_an_insertion_and_a_reader_of_it() {
    explore(2, one, || {
        together([
            || {
                if COUNT.load(std::sync::atomic::Ordering::Acquire) == 1 {
                    assert!(find(3).is_some(), "a key is lost");
                }
            },
            grow,
            || {
                assert!(insert(3));
                COUNT.store(1, std::sync::atomic::Ordering::Release);
            },
        ]);
    });
}

#[test]
fn a_move_to_half_the_size_and_a_writer() {
    explore(
        2,
        || {
            two();
            grow();
        },
        || {
            together([|| assert!(find(2).is_some()), || assert!(insert(3)), shrink]);
            assert!(find(1).is_some() && find(2).is_some() && find(3).is_some(), "a key is lost");
        },
    );
}

#[test]
fn two_moves() {
    explore(2, two, || {
        together([|| assert!(find(1).is_some()), grow, grow]);
        assert_eq!(walked(), [1, 2]);
    });
}

#[test]
fn a_walk_and_a_move() {
    explore(2, two, || {
        together([|| assert_eq!(walked(), [1, 2]), grow]);
    });
}

#[test]
fn a_walk_and_a_move_to_half_the_size() {
    explore(
        2,
        || {
            two();
            grow();
        },
        || together([|| assert_eq!(walked(), [1, 2], "a key is there twice"), shrink]),
    );
}

#[test]
fn three_writers_of_one_line() {
    explore(
        2,
        || (),
        || {
            together([|| assert!(insert(1)), || assert!(insert(2)), || assert!(insert(3))]);
            assert_eq!(walked(), [1, 2, 3]);
        },
    );
}
