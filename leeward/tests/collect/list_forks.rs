//! A list that is locked when the process forks: by the thread that forks, or by another.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/processes.rs"]
mod processes;

use std::sync::mpsc;
use std::thread;

use leeward::collect::List;
use leeward::rcu;
use processes::{in_child, is_fine_in_child};

use common::Watchdog;

fn values(list: &List<u32>) -> Vec<u32> {
    list.iter(&rcu::read()).copied().collect()
}

/// Its cursor stands on a node that no other thread of the child may free.
#[test]
fn the_thread_that_forks_has_the_list_locked_in_the_child() {
    let _dog = Watchdog::new("the_thread_that_forks_has_the_list_locked_in_the_child");
    let list = List::from([1, 2, 3]);
    let mut locked = list.lock();
    let mut cursor = locked.cursor_front();
    cursor.move_next();
    in_child(|| {
        thread::scope(|scope| {
            let is_locked = || scope.spawn(|| list.try_lock().is_none()).join().unwrap();
            assert!(is_locked() && list.try_lock().is_none());
            cursor.remove_current().unwrap().defer();
            cursor.insert_before(7);
            is_locked() && values(&list) == [1, 7, 3]
        })
    });
    drop(cursor.remove_current());
    drop(locked);
    assert_eq!(values(&list), [1, 3]);
}

#[test]
fn the_thread_that_forks_unlocks_in_the_child() {
    let _dog = Watchdog::new("the_thread_that_forks_unlocks_in_the_child");
    let list = List::from([1, 2, 3]);
    let mut locked = list.lock();
    drop(locked.pop_front());
    // The child has a copy of the lock's guard; the parent's own is dropped by the parent.
    let mut guard = Some(locked);
    in_child(|| {
        thread::scope(|scope| {
            let other = scope.spawn(|| list.lock().push_back(4));
            guard.as_mut().unwrap().push_front(0);
            drop(guard.take());
            other.join().unwrap();
        });
        list.try_lock().is_some() && values(&list) == [0, 2, 3, 4]
    });
    drop(guard);
    assert!(list.try_lock().is_some());
}

#[test]
fn a_lock_of_another_thread_is_taken_over() {
    let _dog = Watchdog::new("a_lock_of_another_thread_is_taken_over");
    let list = List::from([1, 2, 3]);
    let (is_locked, locked) = mpsc::channel();
    let (may_unlock, end) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let list = &list;
        scope.spawn(move || {
            let mut locked = list.lock();
            drop(locked.pop_back());
            is_locked.send(()).unwrap();
            end.recv().unwrap();
        });
        locked.recv().unwrap();
        assert!(list.try_lock().is_none());
        in_child(|| {
            list.push_back(4);
            list.try_lock().is_some_and(|locked| locked.back() == Some(&4)) && values(list) == [1, 2, 4]
        });
        // A child of a thread that the first child started, whose first thread is not there any more.
        in_child(|| {
            let locked = list.lock();
            let fine = thread::scope(|scope| {
                let forks = || is_fine_in_child(|| list.try_lock().is_some() && list.len() == 2);
                scope.spawn(forks).join().unwrap()
            });
            drop(locked);
            fine
        });
        may_unlock.send(()).unwrap();
    });
    assert_eq!(list.lock().len(), 2);
}
