//! The readers-writer lock, step by step and on one thread: over a futex in which a sleep is where
//! the test goes on.

#![allow(missing_docs)]

#[path = "../common/steered.rs"]
mod steered;
use steered::*;

use std::time::Duration;

use leeward::futex::{Deadline, Wait};
use leeward::raw::RwLock;

fn lock() -> &'static RwLock<Steered> {
    Box::leak(Box::new(RwLock::new_in()))
}

/// Asserts that the reader gets the lock, and is not counted any more.
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

/// The bypassed reader gives up: it is not counted any more.
#[test]
fn a_reader_that_was_passed_over_and_gives_up() {
    let lock = passed_over(|_| Wait::TimedOut);
    assert!(!lock.lock_shared_until(Deadline::at(Duration::ZERO)));
    assert!(all_slept());
    // SAFETY: by the thief.
    unsafe { lock.unlock_exclusive() };
    assert!(lock.try_lock_exclusive(), "a reader that gave up keeps writers out");
}

/// Makes a lock that is kept for a thread that does not come (of a fork's parent, or of a process
/// that was killed): a writer takes it all the same.
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
        // The reader is bypassed once more, and counted anew.
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

/// Makes a free lock for which a writer was woken that has not run yet; runs `meanwhile`, and the
/// writer comes.
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

/// Makes the next sleep that of a reader, which waits for a writer that does not come.
fn nobody_comes_for_a_millisecond() {
    sleeps([Box::new(|| {
        assert_eq!(UNTIL.get(), Some(Deadline::at(Duration::from_millis(1))), "the reader would wait forever");
        Wait::TimedOut
    })]);
}

/// The writer does not exist (it was of a fork's parent, or of a process that was killed), and no
/// other thread sleeps.
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
        // This is what a woken writer does.
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
            // The reader may not enter: it sleeps until the writer has left, however long that
            // takes.
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

/// A reader gives up when its own time is over first.
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
