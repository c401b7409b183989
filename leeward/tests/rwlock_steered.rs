//! The readers-writer lock over a futex of the test's own, in which a sleep is where the test goes on: what others do while
//! somebody sleeps, step by step and on one thread.

#![cfg(all(feature = "std", not(leeward_loom)))]
#![allow(missing_docs)]

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use leeward::futex::{Changed, Deadline, Futex, Wait, WakeOp};
use leeward::raw::RwLock;

/// What happens while somebody sleeps, and how the sleep ends.
type Sleep = Box<dyn FnOnce() -> Wait>;

thread_local! {
    static SLEEPS: RefCell<VecDeque<Sleep>> = const { RefCell::new(VecDeque::new()) };
    /// Until when the one who sleeps does.
    static UNTIL: Cell<Option<Deadline>> = const { Cell::new(None) };
}

#[derive(Debug)]
enum Steered {}

// SAFETY: the words are one thread's; nobody sleeps.
unsafe impl Futex for Steered {
    const SHARED: bool = false;

    fn wait(_: &AtomicU32, _: u32, until: Option<Deadline>) -> Wait {
        UNTIL.set(until);
        let sleep = SLEEPS.with_borrow_mut(VecDeque::pop_front);
        sleep.expect("somebody sleeps whom the test did not expect to")()
    }

    fn wake(_: *const AtomicU32, _: u32) -> u32 {
        0
    }

    unsafe fn requeue(_: *const AtomicU32, _: u32, _: u32, _: *const AtomicU32, _: u32) -> Result<u32, Changed> {
        Err(Changed)
    }

    unsafe fn wake_op(_: *const AtomicU32, _: u32, on: *const AtomicU32, op: WakeOp, _: u32) -> u32 {
        // SAFETY: the caller's promise.
        op.apply_to(unsafe { &*on });
        0
    }

    fn yield_now() {}

    fn now() -> Deadline {
        Deadline::at(Duration::ZERO)
    }
}

/// The sleeps to come, in the order in which they begin.
fn sleeps<const N: usize>(sleeps: [Sleep; N]) {
    SLEEPS.with_borrow_mut(|queue| queue.extend(sleeps));
}

fn all_slept() -> bool {
    SLEEPS.with_borrow(VecDeque::is_empty)
}

fn lock() -> &'static RwLock<Steered> {
    Box::leak(Box::new(RwLock::new()))
}

/// A lock of which a reader is passed over: its turn has come, and another writer was quicker. What is done when it sleeps again.
fn passed_over(then: impl FnOnce(&'static RwLock<Steered>) -> Wait + 'static) -> &'static RwLock<Steered> {
    let lock = lock();
    lock.lock_exclusive();
    sleeps([
        // The reader sleeps; a writer comes as well,
        Box::new(move || {
            assert!(!lock.lock_exclusive_until(Deadline::at(Duration::ZERO)));
            Wait::Woken
        }),
        // and while that sleeps, the first leaves, which is the reader's turn, and a thief comes.
        Box::new(move || {
            // SAFETY: locked at the beginning.
            unsafe { lock.unlock_exclusive() };
            assert!(lock.try_lock_exclusive());
            Wait::Woken
        }),
        Box::new(|| Wait::TimedOut),
        // The reader has looked, and sleeps again.
        Box::new(move || then(lock)),
    ]);
    lock
}

/// The reader gets the lock, and is counted no longer.
fn comes_in(lock: &RwLock<Steered>) {
    lock.lock_shared();
    assert!(all_slept());
    // SAFETY: just locked.
    unsafe { lock.unlock_shared() };
    assert!(lock.try_lock_exclusive(), "the reader is still counted as passed over");
}

/// No further writer is quicker.
#[test]
fn a_reader_that_was_passed_over() {
    let lock = passed_over(|lock| {
        // SAFETY: by the thief.
        unsafe { lock.unlock_exclusive() };
        assert!(!lock.try_lock_exclusive(), "a writer passes a reader that was passed over before");
        Wait::Woken
    });
    comes_in(lock);
}

/// The same reader gives up instead: it is counted no longer.
#[test]
fn a_reader_that_was_passed_over_and_gives_up() {
    let lock = passed_over(|_| Wait::TimedOut);
    assert!(!lock.lock_shared_until(Deadline::at(Duration::ZERO)));
    assert!(all_slept());
    // SAFETY: by the thief.
    unsafe { lock.unlock_exclusive() };
    assert!(lock.try_lock_exclusive(), "a reader that gave up keeps writers out");
}

/// Nobody comes for whom the lock is kept (a thread of a fork's parent; a process that was killed): a writer takes it all the same.
fn kept_for_nobody(lock: &'static RwLock<Steered>) {
    // SAFETY: by the thief.
    unsafe { lock.unlock_exclusive() };
    assert!(!lock.try_lock_exclusive(), "it is kept");
    sleeps([Box::new(|| {
        assert_eq!(UNTIL.get(), Some(Deadline::at(Duration::from_millis(1))), "it sleeps for as long as nobody comes");
        Wait::TimedOut
    })]);
    lock.lock_exclusive();
    // SAFETY: just locked.
    unsafe { lock.unlock_exclusive() };
    assert!(lock.try_lock_exclusive(), "it is kept still");
}

#[test]
fn a_reader_that_was_passed_over_and_is_slow() {
    let lock = passed_over(|lock| {
        kept_for_nobody(lock);
        // It is passed over once more, and counted anew.
        sleeps([Box::new(move || {
            // SAFETY: locked above.
            unsafe { lock.unlock_exclusive() };
            assert!(!lock.try_lock_exclusive(), "a writer passes a reader that was passed over before");
            Wait::Woken
        })]);
        Wait::Woken
    });
    comes_in(lock);
}

#[test]
fn a_reader_that_was_passed_over_and_gives_up_late() {
    let lock = passed_over(|lock| {
        kept_for_nobody(lock);
        Wait::TimedOut
    });
    assert!(!lock.lock_shared_until(Deadline::at(Duration::ZERO)));
    assert!(all_slept());
    // SAFETY: locked by `kept_for_nobody`.
    unsafe { lock.unlock_exclusive() };
    assert!(lock.try_lock_exclusive(), "a reader that gave up keeps writers out");
    assert!(lock.is_locked_exclusive());
}
