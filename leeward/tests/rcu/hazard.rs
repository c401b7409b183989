//! Hazard pointers: what is protected is kept, what is not is freed, and memory is bounded.
//!
//! All tests share the process's one list, so they run one after the other.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[macro_use]
#[path = "../common/auto_traits.rs"]
mod auto_traits;
#[path = "hazard/forks.rs"]
mod forks;
#[path = "../common/processes.rs"]
mod processes;
#[path = "hazard/signals.rs"]
mod signals;
#[path = "hazard/threads.rs"]
mod threads;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use leeward::hazard::{self, Cell, Changed, HazardPointer, Retired};

assert_is!(Send: HazardPointer, Cell<u8>, Retired<u8>);
assert_is!(Sync: Cell<u8>, Retired<u8>);
assert_not!(Send: Cell<Rc<u8>>, Cell<std::cell::Cell<u8>>, Retired<std::cell::Cell<u8>>);
assert_not!(Sync: Cell<Rc<u8>>, Cell<std::cell::Cell<u8>>, Retired<std::cell::Cell<u8>>);

/// One test at a time, with nothing retired.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    let guard = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    hazard::reclaim();
    assert_eq!(hazard::waiting(), 0);
    guard
}

#[test]
fn what_is_protected_is_kept() {
    let _alone = alone();
    let value = Arc::new(());
    let cell = Cell::new(Arc::clone(&value));
    let (mut one, mut other) = (HazardPointer::new(), HazardPointer::new());
    let seen = one.protect(&cell).unwrap();
    other.protect(&cell);
    cell.store(Arc::new(()));
    assert_eq!(hazard::reclaim(), 0);
    assert!(Arc::ptr_eq(seen, &value));
    one.reset_protection();
    assert_eq!(hazard::reclaim(), 0);
    assert_eq!(Arc::strong_count(&value), 2);
    // A hazard pointer that is dropped protects nothing.
    drop(other);
    assert_eq!(hazard::reclaim(), 1);
    assert_eq!(Arc::strong_count(&value), 1);
}

/// A task that holds a hazard pointer across an `.await` goes on on another thread: what it protects is
/// kept meanwhile, and the thread where it began may have ended.
#[test]
fn what_a_task_protects_across_an_await_is_kept() {
    use std::future::Future;
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    type Task = Pin<Box<dyn Future<Output = usize> + Send>>;
    fn poll(task: &mut Task) -> Poll<usize> {
        task.as_mut().poll(&mut Context::from_waker(Waker::noop()))
    }
    /// Is ready when it is polled again.
    fn pause() -> impl Future<Output = ()> + Send {
        let mut is_polled = false;
        std::future::poll_fn(
            move |_| if std::mem::replace(&mut is_polled, true) { Poll::Ready(()) } else { Poll::Pending },
        )
    }
    let _alone = alone();
    static CELL: Cell<Arc<()>> = Cell::empty();
    let value = Arc::new(());
    CELL.store(Arc::clone(&value));
    let mut task: Task = Box::pin(async {
        let mut hazard = HazardPointer::new();
        let seen = hazard.protect(&CELL).unwrap();
        pause().await;
        let count = Arc::strong_count(seen);
        pause().await;
        // The reference is used after the last move.
        count + Arc::strong_count(seen)
    });
    task = std::thread::spawn(move || {
        assert!(poll(&mut task).is_pending());
        task
    })
    .join()
    .unwrap();
    CELL.store(Arc::new(()));
    assert_eq!((hazard::reclaim(), Arc::strong_count(&value)), (0, 2));
    task = std::thread::spawn(move || {
        assert!(poll(&mut task).is_pending());
        task
    })
    .join()
    .unwrap();
    assert_eq!((hazard::reclaim(), Arc::strong_count(&value)), (0, 2));
    assert_eq!(poll(&mut task), Poll::Ready(4));
    drop(task);
    assert_eq!((hazard::reclaim(), Arc::strong_count(&value)), (1, 1));
    drop(CELL.take());
    hazard::reclaim();
}

#[test]
fn the_next_protection_takes_the_place_of_the_one_before() {
    let _alone = alone();
    let (one, two) = (Cell::new(1), Cell::new(2));
    let mut hazard = HazardPointer::new();
    assert_eq!(hazard.protect(&one), Some(&1));
    assert_eq!(hazard.protect(&two), Some(&2));
    one.store(3);
    two.store(4);
    assert_eq!(hazard::reclaim(), 1);
    assert_eq!(hazard.protect(&Cell::<u8>::empty()), None);
    assert_eq!(hazard::reclaim(), 1);
}

#[test]
fn exchanges() {
    let _alone = alone();
    let cell = Cell::new(1);
    let mut hazard = HazardPointer::new();
    let seen = hazard.protect(&cell);
    let old = cell.compare_exchange(seen, Some(2)).unwrap().unwrap();
    assert_eq!(cell.compare_exchange(Some(&*old), Some(3)).unwrap_err(), Some(3));
    assert_eq!(cell.compare_exchange(None, None).unwrap_err(), None);
    // Protected by `seen`.
    let old = old.try_into_inner().unwrap_err();
    hazard.reset_protection();
    assert_eq!(old.try_into_inner().unwrap(), 1);
    assert_eq!(*cell.take().unwrap(), 2);
    assert!(cell.is_empty() && cell.take().is_none());
    assert!(cell.compare_exchange(None, Some(5)).unwrap().is_none());
    assert_eq!(*cell.update(&mut hazard, |now| now.map(|now| now + 1)).unwrap(), 5);
    assert_eq!(hazard.try_protect(&cell), Ok(Some(&6)));
    assert_eq!(Changed.to_string(), "the cell was changed meanwhile");
    assert_eq!(cell.into_inner(), Some(6));
}

/// A stuck reader keeps one object; whatever else is retired is freed from time to time.
#[test]
fn memory_beside_a_stuck_reader() {
    let _alone = alone();
    static ALIVE: AtomicUsize = AtomicUsize::new(0);
    struct Counted;
    impl Drop for Counted {
        fn drop(&mut self) {
            ALIVE.fetch_sub(1, Relaxed);
        }
    }
    let counted = || {
        ALIVE.fetch_add(1, Relaxed);
        Counted
    };
    let cell = Cell::new(counted());
    let mut hazard = HazardPointer::new();
    hazard.protect(&cell).unwrap();
    for _ in 0..10_000 {
        cell.store(counted());
        // Four times the hazard pointers that another test has at once are more than the threshold.
        assert!(ALIVE.load(Relaxed) <= 4_100, "memory is not bounded");
    }
    drop(hazard);
    hazard::reclaim();
    assert_eq!(ALIVE.load(Relaxed), 1);
}

/// Nodes that retire one another do so in a loop, not in a recursion.
#[test]
fn destructors_that_retire() {
    let _alone = alone();
    struct Node(Cell<Node>);
    impl Drop for Node {
        fn drop(&mut self) {
            drop(self.0.take());
            // Inside a destructor, to reclaim is to leave it to the outermost call.
            assert_eq!(hazard::reclaim(), 0);
        }
    }
    let mut list = Cell::empty();
    for _ in 0..2_000 {
        list = Cell::new(Node(list));
    }
    drop(list.take());
    let mut freed = 0;
    while hazard::waiting() != 0 {
        freed += hazard::reclaim();
    }
    assert_eq!(freed, 2_000);
}

/// A panic of a destructor leaves `reclaim`; what is left is freed later, what is protected stays.
#[test]
fn destructors_that_panic() {
    let _alone = alone();
    /// Has the next destructor panic: of the first object of a batch, so that the others are left.
    static IS_ARMED: AtomicBool = AtomicBool::new(false);
    struct Bomb(#[expect(dead_code, reason = "it is counted")] Arc<()>);
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(!IS_ARMED.swap(false, Relaxed), "the bomb");
        }
    }
    let count = Arc::new(());
    let cell = Cell::empty();
    let mut hazard = HazardPointer::new();
    cell.store(Bomb(Arc::clone(&count)));
    hazard.protect(&cell).unwrap();
    for _ in 0..100 {
        cell.store(Bomb(Arc::clone(&count)));
    }
    drop(cell.take());
    IS_ARMED.store(true, Relaxed);
    let panic = catch_unwind(AssertUnwindSafe(hazard::reclaim)).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"the bomb"));
    let waited = hazard::waiting();
    assert!(waited > 50, "those that the batch had not come to");
    assert_eq!(hazard::reclaim(), waited - 1);
    assert_eq!((hazard::waiting(), Arc::strong_count(&count)), (1, 2));
    hazard.reset_protection();
    assert_eq!(hazard::reclaim(), 1);
    assert_eq!(Arc::strong_count(&count), 1);
}

/// More hazard pointers than there are slots in the registry itself, and than a batch has lists.
#[test]
fn many_hazard_pointers() {
    let _alone = alone();
    let cells: Vec<Cell<usize>> = (0..1000).map(Cell::new).collect();
    let mut hazards: Vec<HazardPointer> = cells.iter().map(|_| HazardPointer::new()).collect();
    for (cell, hazard) in cells.iter().zip(&mut hazards) {
        hazard.protect(cell);
    }
    cells.iter().for_each(|cell| cell.store(0));
    assert_eq!(hazard::reclaim(), 0);
    for (freed, hazard) in hazards.iter_mut().enumerate().skip(500) {
        hazard.reset_protection();
        if freed % 100 == 0 {
            assert!(hazard::reclaim() >= 1);
        }
    }
    hazard::reclaim();
    assert_eq!(hazard::waiting(), 500);
    drop(hazards);
    assert_eq!(hazard::reclaim(), 500);
}
