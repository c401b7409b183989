//! The readers-writer lock, step by step and on one thread: over a futex in which a sleep is where the test goes on.

#![cfg(all(feature = "std", not(leeward_loom)))]
#![allow(missing_docs)]

#[path = "common/steered.rs"]
mod steered;
use steered::*;

use std::time::Duration;

use leeward::futex::{Deadline, Wait};
use leeward::raw::RwLock;

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

/// A free lock for which a writer was woken that has not run yet; then `meanwhile`, and the writer comes.
fn kept_for_a_writer(lock: &'static RwLock<Steered>, meanwhile: impl FnOnce() + 'static) {
    lock.lock_shared();
    sleeps([Box::new(move || {
        WOKEN.set(1);
        // SAFETY: locked above.
        unsafe { lock.unlock_shared() };
        assert!(!lock.try_lock_shared(), "it is not kept for the writer");
        meanwhile();
        WOKEN.set(0);
        Wait::Woken
    })]);
    lock.lock_exclusive();
    assert!(all_slept());
    // SAFETY: just locked.
    unsafe { lock.unlock_exclusive() };
    assert!(lock.try_lock_shared(), "readers are kept out for a writer that has come and gone");
}

/// The next sleep is a reader's, who waits for a writer that does not come.
fn nobody_comes_for_a_millisecond() {
    sleeps([Box::new(|| {
        assert_eq!(UNTIL.get(), Some(Deadline::at(Duration::from_millis(1))), "the reader would wait for ever");
        Wait::TimedOut
    })]);
}

/// The writer is not there (a thread of a fork's parent; a process that was killed), and no other sleeps.
#[test]
fn a_writer_that_was_woken_and_is_not_there() {
    let lock = lock();
    kept_for_a_writer(lock, move || {
        WOKEN.set(0);
        nobody_comes_for_a_millisecond();
        lock.lock_shared();
        assert!(lock.try_lock_shared(), "the reader left the mark for a writer that is not there");
        // SAFETY: locked twice.
        unsafe { lock.unlock_shared() };
        // SAFETY: as above.
        unsafe { lock.unlock_shared() };
    });
}

/// Another writer sleeps: it is woken, and marks the lock anew.
#[test]
fn another_writer_sleeps() {
    let lock = lock();
    kept_for_a_writer(lock, move || {
        nobody_comes_for_a_millisecond();
        lock.lock_shared();
        WOKEN.set(0);
        sleeps([Box::new(move || {
            assert!(!lock.try_lock_shared(), "the writer left no mark");
            // SAFETY: locked above.
            unsafe { lock.unlock_shared() };
            Wait::Woken
        })]);
        // What a writer does that was woken.
        lock.lock_exclusive();
        // SAFETY: just locked.
        unsafe { lock.unlock_exclusive() };
    });
}

/// The writer comes before the millisecond is over.
#[test]
fn a_writer_that_was_woken_and_comes() {
    let lock = lock();
    kept_for_a_writer(lock, move || {
        sleeps([
            Box::new(move || {
                assert!(lock.try_lock_exclusive());
                Wait::TimedOut
            }),
            // The reader may not enter: it sleeps until the writer has left, however long that takes.
            Box::new(move || {
                assert_eq!(UNTIL.get(), None, "the lock is not free");
                // SAFETY: locked above.
                unsafe { lock.unlock_exclusive() };
                Wait::Woken
            }),
        ]);
        WOKEN.set(0);
        lock.lock_shared();
        // SAFETY: just locked.
        unsafe { lock.unlock_shared() };
    });
}

/// A reader whose own time is up first gives up.
#[test]
fn a_reader_that_gives_up_before_the_writers_time_is_over() {
    let lock = lock();
    kept_for_a_writer(lock, move || {
        let soon = Deadline::at(Duration::from_micros(10));
        sleeps([Box::new(move || {
            assert_eq!(UNTIL.get(), Some(soon));
            Wait::TimedOut
        })]);
        assert!(!lock.lock_shared_until(soon));
    });
}
