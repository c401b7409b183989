//! A signal handler that protects in the middle of a reclamation. (`tests/rcu/stepping.rs` has one at
//! every instruction.)

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use leeward::hazard::{self, Cell, HazardPointer};

use super::alone;

static SEEN: Cell<u32> = Cell::empty();
static CALLS: AtomicU32 = AtomicU32::new(0);

/// Protects and resets by a hazard pointer of its own. The first 16 hazard pointers of a process
/// need no memory; beside those of the tests, which run one at a time, there is one left.
extern "C" fn handler(_: libc::c_int) {
    let mut hazard = HazardPointer::new();
    assert_eq!(hazard.protect(&SEEN), Some(&7));
    // In the middle of a reclamation there is nothing else to be done.
    assert_eq!(hazard::reclaim(), 0);
    CALLS.fetch_add(1, Relaxed);
}

/// Runs the handler here and now.
fn raise() {
    // SAFETY: the handler is installed.
    assert_eq!(unsafe { libc::raise(libc::SIGUSR1) }, 0);
}

/// Raises the signal when it is dropped, which is in the middle of a reclamation.
struct Raises;

impl Drop for Raises {
    fn drop(&mut self) {
        raise();
    }
}

#[test]
fn in_the_middle_of_a_reclamation() {
    let _alone = alone();
    // SAFETY: zeroed is a valid sigaction.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    let function: extern "C" fn(libc::c_int) = handler;
    action.sa_sigaction = function as usize;
    // SAFETY: the handler is async-signal-safe but for what it retires, which is nothing.
    assert_eq!(unsafe { libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()) }, 0);
    SEEN.store(7);
    let cell = Cell::new(Raises);
    let mut kept = HazardPointer::new();
    kept.protect(&cell);
    for _ in 0..3 {
        drop(cell.replace(Raises));
    }
    // Two are freed, and each raises the signal between the scan and the end of the batch.
    assert_eq!((hazard::reclaim(), CALLS.load(Relaxed)), (2, 2));
    kept.reset_protection();
    assert_eq!((hazard::reclaim(), CALLS.load(Relaxed)), (1, 3));
    drop(cell);
    assert_eq!(CALLS.load(Relaxed), 4);
    assert_eq!(SEEN.take().unwrap().try_into_inner().unwrap(), 7);
}
