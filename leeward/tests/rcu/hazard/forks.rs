//! The child of a fork: what was protected stays so, and what was retired is the parent's.

use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::thread;

use leeward::hazard::{self, Cell, HazardPointer};

use super::alone;
use super::processes::{child, status_of};

#[test]
fn what_was_retired_is_the_parents() {
    let _alone = alone();
    let cell = Cell::new(1);
    cell.store(2);
    let in_child = child(|| {
        assert_eq!((hazard::waiting(), hazard::reclaim()), (0, 0));
        cell.store(3);
        hazard::reclaim() == 1
    });
    assert_eq!(status_of(in_child), 0);
    assert_eq!(hazard::reclaim(), 1);
}

/// What the forking thread and what another thread protected, in the child.
#[test]
fn what_was_protected_stays_protected() {
    let _alone = alone();
    static MINE: Cell<u32> = Cell::empty();
    static OTHERS: Cell<u32> = Cell::empty();
    MINE.store(1);
    OTHERS.store(2);
    let mut hazard = HazardPointer::new();
    let mine: *const u32 = hazard.protect(&MINE).unwrap();
    let (tell, told) = mpsc::channel();
    let (end, ended) = mpsc::channel::<()>();
    let other = thread::spawn(move || {
        let mut hazard = HazardPointer::new();
        tell.send(hazard.protect(&OTHERS).unwrap() as *const u32 as usize).unwrap();
        ended.recv().unwrap();
    });
    let others = told.recv().unwrap();
    let in_child = child(|| {
        drop((MINE.take(), OTHERS.take()));
        assert_eq!((hazard::reclaim(), hazard::waiting()), (0, 2));
        // SAFETY: `hazard` protects it.
        assert_eq!(unsafe { *mine }, 1);
        // SAFETY: the other thread's hazard pointer protects it here, too.
        assert_eq!(unsafe { *(others as *const u32) }, 2);
        hazard.reset_protection();
        hazard::reclaim() == 1
    });
    assert_eq!(status_of(in_child), 0);
    end.send(()).unwrap();
    other.join().unwrap();
}

/// A destructor that forks: the batch in its middle belongs to both, each its own copy.
#[test]
fn a_destructor_that_forks() {
    let _alone = alone();
    struct Forks(Arc<AtomicI32>);
    impl Drop for Forks {
        fn drop(&mut self) {
            let in_child = child(|| {
                let cell = Cell::new(1);
                cell.store(2);
                // The child's thread is inside the destructor, too.
                hazard::reclaim() == 0 && hazard::waiting() == 1
            });
            self.0.store(status_of(in_child), Relaxed);
        }
    }
    let status = Arc::new(AtomicI32::new(-1));
    let cell = Cell::new(Forks(Arc::clone(&status)));
    drop(cell.take());
    assert_eq!((hazard::reclaim(), status.load(Relaxed)), (1, 0));
}

/// A hazard pointer that was forgotten protects its object forever. In a child, for the other
/// tests' sake.
#[test]
fn a_leaked_hazard_pointer() {
    let _alone = alone();
    let in_child = child(|| {
        let cell: &'static Cell<String> = Box::leak(Box::new(Cell::new(String::from("kept"))));
        let hazard = Box::leak(Box::new(HazardPointer::new()));
        let kept: &'static str = hazard.protect(cell).unwrap();
        drop(cell.take());
        hazard::reclaim() == 0 && kept == "kept"
    });
    assert_eq!(status_of(in_child), 0);
}
