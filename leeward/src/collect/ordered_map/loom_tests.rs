//! Models: readers beside writers of a map whose nodes have four entries, and the writers' lock, as
//! they ship, under loom.
//!
//! A value is a cell that loom watches: it is written before it is inserted, and when it is freed. So a
//! reader that finds a leaf too early, or uses a value too late, is a race.

use loom::cell::UnsafeCell;
use loom::thread;
use std::boxed::Box;
use std::vec::Vec;

use super::lock::WriteLock;
use super::map::OrderedMap;
use crate::atomic::{AtomicU32, Ordering::Relaxed};
use crate::models;
use crate::rcu::{Backing as _, Reader};

crate::rcu_domain! {
    /// The models' domain, which is new in each execution.
    struct Model;
}

/// A value whose use loom watches.
struct Watched(UnsafeCell<u32>);

// SAFETY: loom runs one thread at a time, and reports a race as a failure of the model.
unsafe impl Sync for Watched {}
// SAFETY: as above.
unsafe impl Send for Watched {}

impl Watched {
    fn new(number: u32) -> Box<Watched> {
        // What a thread does before its first access counts as done by the thread that spawned it.
        AtomicU32::new(0).fetch_add(1, Relaxed);
        let cell = UnsafeCell::new(0);
        // SAFETY: loom reports a thread that uses it meanwhile.
        cell.with_mut(|value| unsafe { *value = number });
        Box::new(Watched(cell))
    }

    fn read(&self) -> u32 {
        // SAFETY: loom reports a thread that writes meanwhile.
        self.0.with(|value| unsafe { *value })
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // SAFETY: loom reports a thread that reads meanwhile.
        self.0.with_mut(|value| unsafe { *value = u32::MAX });
    }
}

type Map = OrderedMap<u32, Box<Watched>, Model>;

loom::lazy_static! {
    static ref MAP: Map = OrderedMap::new_in();
    static ref LOCK: (WriteLock, UnsafeCell<u32>) = (WriteLock::new(), UnsafeCell::new(0));
}

fn set_up() {
    let _ = (Model::state(), &*MAP, &*LOCK);
    crate::fence::light();
    crate::futex::wake(&AtomicU32::new(0), 1);
}

fn add(number: u32) {
    if let Some(old) = MAP.insert(number, Watched::new(number)) {
        old.defer();
    }
}

/// Reads all entries, which are in order, and of which those of `stay` are there.
fn scan(stay: &[u32]) {
    let reader = Reader::<Model>::register_in();
    let guard = reader.read();
    let found: Vec<_> = MAP.iter(&guard).map(|(key, value)| (*key, value.read())).collect();
    assert!(found.is_sorted_by(|one, next| one.0 < next.0) && found.iter().all(|(key, value)| key == value));
    assert!(stay.iter().all(|key| found.iter().any(|found| found.0 == *key)), "{found:?}");
}

/// Replaces a value by one that is made in the writer's section: after the fence with which that
/// begins, which would order it as well.
fn update(number: u32) {
    drop(MAP.update(number, |_| Watched::new(number)));
}

#[test]
fn a_reader_beside_the_first_insertion() {
    models::explore(2, set_up, || {
        let writer = thread::spawn(|| add(1));
        scan(&[]);
        writer.join().unwrap();
    });
}

#[test]
fn a_reader_beside_an_update() {
    models::explore(2, set_up, || {
        add(10);
        let writer = thread::spawn(|| update(10));
        scan(&[10]);
        writer.join().unwrap();
    });
}

#[test]
fn a_reader_beside_an_update_below_the_root() {
    models::explore(2, set_up, || {
        [10, 20, 30, 40, 50].into_iter().for_each(add);
        let writer = thread::spawn(|| update(50));
        scan(&[10, 20, 30, 40, 50]);
        writer.join().unwrap();
    });
}

#[test]
fn a_reader_beside_two_writers() {
    models::explore(1, set_up, || {
        // Two leaves: a split comes with the next insertion, and a merge with a removal.
        [10, 20, 30, 40, 50].into_iter().for_each(add);
        let writers = [thread::spawn(|| add(25)), thread::spawn(|| drop(MAP.remove(&40)))];
        scan(&[10, 20, 30, 50]);
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        assert_eq!(MAP.len(), 5);
        scan(&[10, 20, 25, 30, 50]);
    });
}

#[test]
fn two_writers() {
    models::explore(2, set_up, || {
        add(10);
        let other = thread::spawn(|| add(20));
        add(30);
        other.join().unwrap();
        scan(&[10, 20, 30]);
        assert_eq!(MAP.len(), 3);
    });
}

#[test]
fn the_lock() {
    fn work() {
        let _held = LOCK.0.lock();
        // SAFETY: loom reports a thread that uses it meanwhile.
        LOCK.1.with_mut(|count| unsafe { *count += 1 });
    }
    models::explore(3, set_up, || {
        models::together([work, work, work]);
        let _held = LOCK.0.lock();
        // SAFETY: the others have ended.
        LOCK.1.with(|count| assert_eq!(unsafe { *count }, 3));
    });
}
