//! Models: readers beside writers of a list, and the writers' lock, as they ship, under loom.
//!
//! A value is a cell that loom watches: it is written before it is inserted, and when it is freed. So a
//! reader that finds a node too early, or uses one too late, is a race.
//!
//! Loom remembers the last access to an atomic only. A writer that loads a link before it stores to it
//! hides the readers' loads before that; so the writers here find their places by the links back.

use loom::cell::UnsafeCell;
use loom::thread;
use std::boxed::Box;
use std::vec::Vec;

use super::List;
use super::lock::OwnerLock;
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

loom::lazy_static! {
    static ref LIST: List<Box<Watched>, Model> = List::new_in();
    static ref LOCK: (OwnerLock, UnsafeCell<u32>) = (OwnerLock::new(), UnsafeCell::new(0));
}

fn set_up() {
    let _ = (Model::state(), &*LIST, &*LOCK);
    crate::fence::light();
    crate::futex::wake(&AtomicU32::new(0), 1);
}

fn push(number: u32) {
    LIST.push_back(Watched::new(number));
}

/// Walks the list, in which numbers ascend and those of `stay` are there throughout.
fn walk(stay: &[u32]) {
    let reader = Reader::<Model>::register_in();
    let guard = reader.read();
    let found: Vec<_> = LIST.iter(&guard).map(|value| value.read()).collect();
    assert!(found.is_sorted_by(|one, next| one < next), "a key is there twice: {found:?}");
    assert!(stay.iter().all(|number| found.contains(number)), "a key is lost: {found:?}");
}

#[test]
fn a_reader_beside_an_insertion() {
    models::explore(2, set_up, || {
        push(1);
        let writer = thread::spawn(|| push(2));
        walk(&[1]);
        writer.join().unwrap();
        walk(&[1, 2]);
    });
}

/// The reader finds the node 3 by the link that a removal has stored, and which the insertion has not.
#[test]
fn a_reader_beside_an_insertion_and_a_removal() {
    models::explore(2, set_up, || {
        [1, 2].into_iter().for_each(push);
        let writer = thread::spawn(|| {
            push(3);
            let mut locked = LIST.lock();
            let mut cursor = locked.cursor_back();
            cursor.move_prev();
            // It is not freed: a grace period has fences, which would order the rest as well.
            core::mem::forget(cursor.remove_current());
        });
        walk(&[1]);
        writer.join().unwrap();
        walk(&[1, 3]);
    });
}

#[test]
fn a_reader_beside_a_replacement() {
    models::explore(2, set_up, || {
        [1, 2, 9].into_iter().for_each(push);
        let writer = thread::spawn(|| {
            let mut locked = LIST.lock();
            let mut cursor = locked.cursor_front();
            cursor.move_next();
            drop(cursor.replace(Watched::new(5)));
        });
        walk(&[1, 9]);
        writer.join().unwrap();
        walk(&[1, 5, 9]);
    });
}

/// A reader may stand on a node that is removed, and whose successor is removed next.
#[test]
fn a_reader_beside_two_writers() {
    models::explore(2, set_up, || {
        [1, 2, 3, 4].into_iter().for_each(push);
        let remove = |number| {
            let mut locked = LIST.lock();
            let mut cursor = locked.cursor_front();
            cursor.seek(|value| value.read() == number);
            drop(cursor.remove_current());
        };
        let writers = [thread::spawn(move || remove(2)), thread::spawn(move || remove(3))];
        walk(&[1, 4]);
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        assert_eq!(LIST.len(), 2);
        assert!(LIST.lock().cursor_back().peek_prev().is_some_and(|one| one.read() == 1), "a key is lost");
    });
}

#[test]
fn the_lock() {
    fn work() {
        LOCK.0.lock().unwrap();
        // SAFETY: loom reports a thread that uses it meanwhile.
        LOCK.1.with_mut(|count| unsafe { *count += 1 });
        LOCK.0.unlock();
    }
    models::explore(3, set_up, || {
        models::together([work, work, work]);
        LOCK.0.lock().unwrap();
        // SAFETY: the others have ended.
        LOCK.1.with(|count| assert_eq!(unsafe { *count }, 3));
    });
}
