//! The mutex that its holder may lock again: it counts, excludes other threads, and stays the
//! holder's in the child of a fork.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/processes.rs"]
mod processes;

use common::*;
use processes::*;

use std::cell::{Cell, RefCell};
use std::thread;
use std::time::Duration;

use leeward::sync::{RawThreadId, ReentrantMutex, ReentrantMutexGuard, lock_api::GetThreadId};

const SHORT: Duration = Duration::from_millis(2);

#[test]
fn its_holder_locks_again_and_others_wait() {
    let _dog = Watchdog::new("its_holder_locks_again_and_others_wait");
    let mutex = ReentrantMutex::new(Cell::new(0_u64));
    let add = || {
        let outer = mutex.lock();
        let value = outer.get();
        let inner = mutex.try_lock().expect("this thread holds it");
        thread::yield_now();
        inner.set(value + 1);
    };
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..1_000).for_each(|_| add()));
        }
    });
    assert!(!mutex.is_locked());
    assert_eq!(mutex.into_inner().get(), 4_000);
}

#[test]
fn the_last_guard_unlocks() {
    let _dog = Watchdog::new("the_last_guard_unlocks");
    let mutex = ReentrantMutex::new(RefCell::new(vec![1]));
    let is_free = || thread::scope(|scope| scope.spawn(|| mutex.try_lock().is_some()).join().unwrap());
    let (outer, inner) = (mutex.lock(), mutex.lock());
    assert!(mutex.is_owned_by_current_thread());
    drop(outer);
    assert!(!is_free());
    thread::scope(|scope| {
        let other = scope.spawn(|| mutex.is_owned_by_current_thread() || mutex.try_lock_for(SHORT).is_some());
        assert!(!other.join().unwrap());
    });
    let mapped = ReentrantMutexGuard::map(inner, |value| value);
    mapped.borrow_mut().push(2);
    assert!(!is_free());
    drop(mapped);
    assert!(is_free() && !mutex.is_owned_by_current_thread());
    let mut fair = mutex.lock();
    assert!(ReentrantMutexGuard::unlocked(&mut fair, is_free));
    ReentrantMutexGuard::unlock_fair(fair);
    assert!(is_free());
}

#[test]
fn no_two_threads_have_one_id() {
    let id = || RawThreadId::INIT.nonzero_thread_id();
    let mine = id();
    let others: Vec<_> = (0..3).map(|_| thread::spawn(id).join().unwrap()).collect();
    assert_eq!(id(), mine);
    assert!(!others.contains(&mine) && others[0] != others[1] && others[1] != others[2] && others[0] != others[2]);
}

#[test]
fn the_child_of_a_fork_holds_what_its_thread_held() {
    let _dog = Watchdog::new("the_child_of_a_fork_holds_what_its_thread_held");
    let mutex = ReentrantMutex::new(Cell::new(1));
    let held = mutex.lock();
    let copied = child(|| mutex.is_owned_by_current_thread() && mutex.try_lock().is_some_and(|again| again.get() == 1));
    assert_eq!(status_of(copied), 0);
    drop(held);
}
