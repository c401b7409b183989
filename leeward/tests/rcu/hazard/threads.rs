//! Several threads: readers beside writers, hazard pointers that travel, and exits.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::Relaxed};
use std::sync::{Arc, Barrier};
use std::thread;

use leeward::hazard::{self, Cell, HazardPointer};

use super::alone;

/// A value that shows whether it was dropped.
struct Canary(u64);

impl Canary {
    const ALIVE: u64 = 0x600d_600d_600d_600d;
}

impl Drop for Canary {
    fn drop(&mut self) {
        self.0 = 0;
    }
}

/// A pointer that has changed between the two loads is not taken for protected.
#[test]
fn a_protection_that_comes_too_late() {
    let _alone = alone();
    let (mut one, mut two) = (1, 2);
    let source = AtomicPtr::new(&raw mut one);
    let mut hazard = HazardPointer::new();
    let seen = source.load(Relaxed);
    source.store(&raw mut two, Relaxed);
    assert_eq!(hazard.try_protect_raw(seen, &source), Err(&raw mut two));
    assert_eq!(hazard.try_protect_raw(&raw mut two, &source), Ok(&raw mut two));
}

/// What one thread retired, another one frees: nothing but the list orders the two.
#[test]
fn what_another_thread_retired() {
    let _alone = alone();
    static RETIRED: AtomicBool = AtomicBool::new(false);
    static FREED: AtomicBool = AtomicBool::new(false);
    // Relaxed, all: thread sanitizer is to see that the list alone is enough.
    let other = thread::spawn(|| {
        drop(Cell::new(Canary(Canary::ALIVE)).take());
        RETIRED.store(true, Relaxed);
        while !FREED.load(Relaxed) {
            thread::yield_now();
        }
    });
    while !RETIRED.load(Relaxed) {
        thread::yield_now();
    }
    assert_eq!(hazard::reclaim(), 1);
    FREED.store(true, Relaxed);
    other.join().unwrap();
}

#[test]
fn readers_beside_writers() {
    let _alone = alone();
    let cell = Cell::new(Canary(Canary::ALIVE));
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut hazard = HazardPointer::new();
                while !done.load(Relaxed) {
                    let canary = hazard.protect(&cell).unwrap();
                    for _ in 0..10 {
                        assert_eq!(canary.0, Canary::ALIVE, "an object was used after it was freed");
                    }
                }
            });
        }
        let writers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut hazard = HazardPointer::new();
                    for _ in 0..5_000 {
                        cell.store(Canary(Canary::ALIVE));
                        drop(cell.update(&mut hazard, |now| now.map(|now| Canary(now.0))));
                        if hazard::waiting() > 50 {
                            hazard::reclaim();
                        }
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        done.store(true, Relaxed);
    });
    hazard::reclaim();
    assert_eq!(hazard::waiting(), 0);
}

/// What one thread protects stays protected while its hazard pointer travels to another thread.
#[test]
fn a_hazard_pointer_that_travels() {
    let _alone = alone();
    static CELL: Cell<u32> = Cell::empty();
    CELL.store(1);
    let mut hazard = HazardPointer::new();
    hazard.protect(&CELL);
    drop(CELL.take());
    let hazard = thread::spawn(move || {
        assert_eq!(hazard::reclaim(), 0);
        hazard
    });
    let mut hazard = hazard.join().unwrap();
    assert_eq!(hazard::reclaim(), 0);
    hazard.reset_protection();
    assert_eq!(hazard::reclaim(), 1);
}

/// Hazard pointers and retired values in thread-local variables, which are dropped at the exit.
#[test]
fn in_destructors_of_thread_local_variables() {
    let _alone = alone();
    static CELL: Cell<u32> = Cell::empty();
    struct AtExit(HazardPointer);
    impl Drop for AtExit {
        fn drop(&mut self) {
            assert_eq!(self.0.protect(&CELL), Some(&1));
            CELL.store(2);
            assert_eq!(hazard::reclaim(), 0);
            self.0.reset_protection();
            assert_eq!(HazardPointer::new().protect(&CELL), Some(&2));
            assert_eq!(hazard::reclaim(), 1);
        }
    }
    thread_local! { static LOCAL: RefCell<Option<AtExit>> = const { RefCell::new(None) } }
    CELL.store(1);
    let both = Arc::new(Barrier::new(2));
    let begun = Arc::clone(&both);
    let thread = thread::spawn(move || {
        LOCAL.set(Some(AtExit(HazardPointer::new())));
        begun.wait();
    });
    both.wait();
    thread.join().unwrap();
    assert_eq!(CELL.take().unwrap().try_into_inner().unwrap(), 2);
}
