//! `sync::poison`: what std's locks do, on std's and on ours; a program of std's that changes its
//! `use` line; and what std has only since Rust 1.86, or leaves open.

#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "poison/ours.rs"]
mod ours;
#[path = "poison/program.rs"]
mod program;
#[allow(clippy::duplicate_mod)]
#[path = "poison/stds.rs"]
mod stds;

use common::{GLANCE, Watchdog, eventually, panic_of};

use std::thread;
use std::time::Duration;

use leeward::sync::poison::mpsc::channel;
use leeward::sync::poison::{Condvar, LazyLock, Mutex, Once, OnceLock, PoisonError, RwLock, RwLockWriteGuard};

/// A thread that waits for a run that panics, and one that comes later; past those that are patient.
#[test]
fn what_waits_for_a_once_that_panics() {
    let _dog = Watchdog::new("what_waits_for_a_once_that_panics");
    let once = Once::new();
    let (begun, has_begun) = channel();
    thread::scope(|scope| {
        let waiter = scope.spawn(|| panic_of(|| once.wait()));
        let patient = scope.spawn(|| once.wait_force());
        thread::sleep(GLANCE);
        assert!(!waiter.is_finished() && !patient.is_finished());
        let runs = scope.spawn(|| {
            panic_of(|| {
                once.call_once(|| {
                    begun.send(()).unwrap();
                    thread::sleep(GLANCE);
                    panic!("early");
                });
            })
        });
        has_begun.recv().unwrap();
        let caller = panic_of(|| once.call_once(|| unreachable!("it is poisoned")));
        assert_eq!(runs.join().unwrap(), "early");
        let poisoned = "leeward: a Once instance has previously been poisoned: what it ran has panicked";
        assert_eq!((caller.as_str(), waiter.join().unwrap().as_str()), (poisoned, poisoned));
        assert_eq!(panic_of(|| once.wait()), poisoned);
        assert!(!patient.is_finished());
        once.call_once_force(|before| assert!(before.is_poisoned()));
        patient.join().unwrap();
    });
    once.wait();
    once.call_once(|| unreachable!("it has run"));
}

#[test]
fn writers_that_become_readers() {
    let lock = RwLock::new(1);
    let mut guard = lock.write().unwrap();
    *guard += 1;
    let guard = RwLockWriteGuard::downgrade(guard);
    assert_eq!((*guard, *lock.read().unwrap(), lock.try_write().is_err()), (2, 2, true));
    // A panic that comes now is a reader's.
    let panic = panic_of(move || {
        let _guard = guard;
        panic!("the reader's");
    });
    assert_eq!((panic.as_str(), lock.is_poisoned()), ("the reader's", false));
    drop(lock.write().unwrap());
}

#[test]
fn two_mutexes_at_a_time() {
    let _dog = Watchdog::new("two_mutexes_at_a_time");
    let (condvar, one, other) = (Condvar::new(), Mutex::new(0), Mutex::new(()));
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut stage = one.lock().unwrap();
            *stage = 1;
            drop(condvar.wait_while(stage, |stage| *stage != 2).unwrap());
        });
        eventually("the other waits", || *one.lock().unwrap() == 1);
        let panic = panic_of(|| drop(condvar.wait(other.lock().unwrap())));
        assert!(panic.contains("two mutexes at a time"), "{panic}");
        assert!(other.is_poisoned() && other.lock().is_err(), "it is unlocked");
        *one.lock().unwrap() = 2;
        condvar.notify_all();
    });
}

/// A limit that is longer than the clock goes is no limit.
#[test]
fn waits_without_end() {
    let _dog = Watchdog::new("waits_without_end");
    let (mutex, condvar) = (Mutex::new(false), Condvar::new());
    thread::scope(|scope| {
        let guard = mutex.lock().unwrap();
        scope.spawn(|| {
            *mutex.lock().unwrap() = true;
            condvar.notify_one();
        });
        let (guard, result) = condvar.wait_timeout_while(guard, Duration::MAX, |is_done| !*is_done).unwrap();
        assert!(*guard && !result.timed_out());
    });
}

#[test]
fn values_that_are_made_once() {
    let cell = OnceLock::new();
    thread::scope(|scope| {
        let waiter = scope.spawn(|| *cell.wait());
        cell.set(1).unwrap();
        assert_eq!(waiter.join().unwrap(), 1);
    });
    let mut lazy = LazyLock::<u32>::from(1);
    *LazyLock::force_mut(&mut lazy) += 1;
    assert_eq!((LazyLock::get(&lazy), *lazy), (Some(&2), 2));
    #[allow(deprecated)]
    static OLD: Once = leeward::sync::poison::ONCE_INIT;
    OLD.call_once(|| ());
    assert!(OLD.is_completed());
}

/// A function of the program's that names std's errors takes ours.
#[test]
fn errors_are_stds() {
    fn ignored<T>(result: Result<T, std::sync::PoisonError<T>>) -> T {
        result.unwrap_or_else(std::sync::PoisonError::into_inner)
    }
    let (ours, stds) = (Mutex::new(1), std::sync::Mutex::new(1));
    assert_eq!(*ignored(ours.lock()) + *ignored(stds.lock()), 2);
    let new: PoisonError<u32> = std::sync::PoisonError::new(1);
    assert_eq!(new.into_inner(), 1);
}

#[test]
fn a_program_that_changes_its_use_line() {
    let _dog = Watchdog::new("a_program_that_changes_its_use_line");
    let words = program::with_std::run();
    assert_eq!(words, "7 jobs, 21 in sum; a panic was noticed: true, 1; made once: 5");
    assert_eq!(program::with_ours::run(), words);
}
