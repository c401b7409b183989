//! The fair unlocks of the readers-writer lock, step by step and on one thread: over a futex in which
//! a sleep is where the test goes on.

#![allow(missing_docs)]

#[path = "../common/steered.rs"]
mod steered;
use steered::*;

use std::time::Duration;

use leeward::futex::{Deadline, Wait};
use leeward::raw::RwLock;

type Lock = &'static RwLock<Steered>;

const PAST: Deadline = Deadline::at(Duration::ZERO);
/// When a thread wakes that found the lock reserved, which is kept for it no longer.
const EXPIRED: Deadline = Deadline::at(Duration::from_millis(1));

fn lock() -> Lock {
    Box::leak(Box::new(RwLock::new_in()))
}

fn unlock_exclusive_fair(lock: Lock) {
    // SAFETY: locked for writing by the test.
    unsafe { lock.unlock_exclusive_fair() };
}

fn unlock_shared_fair(lock: Lock) {
    // SAFETY: locked for reading by the test.
    unsafe { lock.unlock_shared_fair() };
}

fn unlock_upgradable_fair(lock: Lock) {
    // SAFETY: the test has the upgradable reader.
    unsafe { lock.unlock_upgradable_fair() };
}

/// Runs `unlock`, which wakes one thread that sleeps, and asserts that no newcomer gets the lock for
/// writing or is its upgradable reader, until that thread has run.
fn hands_over(lock: Lock, unlock: fn(Lock)) {
    WOKEN.set(1);
    unlock(lock);
    WOKEN.set(0);
    assert!(!lock.is_locked_exclusive(), "it is idle until the thread runs");
    assert!(!lock.try_lock_exclusive(), "a newcomer overtakes a thread that sleeps");
    assert!(!lock.try_lock_upgradable(), "a newcomer overtakes a thread that sleeps");
}

/// Makes the next sleep one in which the lock is handed over by `unlock`.
fn is_handed_over(lock: Lock, unlock: fn(Lock)) {
    sleeps([Box::new(move || {
        hands_over(lock, unlock);
        Wait::Woken
    })]);
}

fn is_free(lock: Lock) {
    assert!(all_slept());
    assert!(lock.try_lock_exclusive(), "it is still reserved, or held");
    unlock_exclusive_fair(lock);
    assert!(lock.try_lock_upgradable(), "it is still reserved");
    unlock_upgradable_fair(lock);
}

#[test]
fn from_a_writer_to_a_writer() {
    let lock = lock();
    lock.lock_exclusive();
    is_handed_over(lock, unlock_exclusive_fair);
    lock.lock_exclusive();
    unlock_exclusive_fair(lock);
    is_free(lock);
}

/// Newcomers that read may share what is reserved for a reader, and it stays reserved when they have
/// left.
#[test]
fn from_a_writer_to_a_reader() {
    let lock = lock();
    lock.lock_exclusive();
    sleeps([Box::new(move || {
        hands_over(lock, unlock_exclusive_fair);
        assert!(lock.try_lock_shared(), "no writer sleeps");
        unlock_shared_fair(lock);
        assert!(!lock.try_lock_exclusive(), "a newcomer that reads has ended the reservation");
        Wait::Woken
    })]);
    lock.lock_shared();
    assert!(lock.try_lock_upgradable(), "the reader has ended the reservation");
    unlock_upgradable_fair(lock);
    unlock_shared_fair(lock);
    is_free(lock);
}

#[test]
fn from_a_writer_to_an_upgradable_reader() {
    let lock = lock();
    lock.lock_exclusive();
    is_handed_over(lock, unlock_exclusive_fair);
    lock.lock_upgradable();
    unlock_upgradable_fair(lock);
    is_free(lock);
}

#[test]
fn from_the_last_reader_to_a_writer() {
    let lock = lock();
    lock.lock_shared();
    lock.lock_shared();
    sleeps([Box::new(move || {
        unlock_shared_fair(lock);
        assert!(lock.is_locked(), "a reader is inside");
        hands_over(lock, unlock_shared_fair);
        assert!(!lock.try_lock_shared(), "a newcomer overtakes the writer");
        Wait::Woken
    })]);
    lock.lock_exclusive();
    unlock_exclusive_fair(lock);
    is_free(lock);
}

#[test]
fn from_the_upgradable_reader_to_a_writer() {
    let lock = lock();
    lock.lock_upgradable();
    is_handed_over(lock, unlock_upgradable_fair);
    lock.lock_exclusive();
    unlock_exclusive_fair(lock);
    is_free(lock);
}

#[test]
fn from_one_upgradable_reader_to_the_next() {
    let lock = lock();
    lock.lock_shared();
    lock.lock_upgradable();
    is_handed_over(lock, unlock_upgradable_fair);
    lock.lock_upgradable();
    unlock_upgradable_fair(lock);
    unlock_shared_fair(lock);
    is_free(lock);
}

/// An upgrade that waits comes before all that sleep, and its lock is reserved for no other.
#[test]
fn from_the_last_reader_to_an_upgrade() {
    let lock = lock();
    lock.lock_upgradable();
    lock.lock_shared();
    sleeps([Box::new(move || {
        WOKEN.set(1);
        unlock_shared_fair(lock);
        WOKEN.set(0);
        assert!(!lock.try_lock_exclusive() && !lock.try_lock_shared());
        Wait::Woken
    })]);
    // SAFETY: the upgradable reader, which goes on as the writer.
    unsafe { lock.upgrade() };
    unlock_exclusive_fair(lock);
    is_free(lock);
}

/// A thread that gives up before it is woken: the wakes find no sleeper.
#[test]
fn a_thread_that_sleeps_no_longer() {
    let lock = lock();
    let nobody_sleeps = || sleeps([Box::new(|| Wait::TimedOut)]);
    lock.lock_exclusive();
    nobody_sleeps();
    assert!(!lock.lock_shared_until(PAST));
    unlock_exclusive_fair(lock);
    is_free(lock);
    lock.lock_upgradable();
    nobody_sleeps();
    assert!(!lock.lock_upgradable_until(PAST));
    unlock_upgradable_fair(lock);
    is_free(lock);
    // The unlock comes between the writer's mark and its sleep.
    lock.lock_shared();
    sleeps([Box::new(move || {
        unlock_shared_fair(lock);
        assert!(lock.try_lock_exclusive(), "it is reserved for a thread that does not sleep");
        unlock_exclusive_fair(lock);
        Wait::Changed
    })]);
    lock.lock_exclusive();
    unlock_exclusive_fair(lock);
    is_free(lock);
}

/// A writer is woken, finds readers inside that another writer has let in, and gives up.
#[test]
fn a_woken_writer_that_gives_up() {
    let lock = lock();
    lock.lock_shared();
    sleeps([
        Box::new(move || {
            hands_over(lock, unlock_shared_fair);
            // Another writer comes, and gives up: no writer sleeps that it could wake.
            assert!(!lock.lock_exclusive_until(PAST));
            assert!(lock.try_lock_shared() && !lock.try_lock_upgradable());
            Wait::Woken
        }),
        Box::new(|| Wait::TimedOut),
        Box::new(|| Wait::TimedOut),
    ]);
    assert!(!lock.lock_exclusive_until(PAST));
    unlock_shared_fair(lock);
    is_free(lock);
}

/// The thread that was woken does not come: it was of a fork's parent, or of a process that was
/// killed.
#[test]
fn a_woken_thread_that_is_not_there() {
    let comes_late: [fn(Lock); 2] = [
        |lock| {
            lock.lock_exclusive();
            unlock_exclusive_fair(lock);
        },
        |lock| {
            lock.lock_upgradable();
            unlock_upgradable_fair(lock);
        },
    ];
    for comes_late in comes_late {
        let lock = lock();
        lock.lock_exclusive();
        sleeps([
            Box::new(move || {
                hands_over(lock, unlock_exclusive_fair);
                comes_late(lock);
                is_free(lock);
                Wait::TimedOut
            }),
            Box::new(|| {
                assert_eq!(UNTIL.get(), Some(EXPIRED), "it sleeps for as long as nobody comes");
                Wait::TimedOut
            }),
        ]);
        assert!(!lock.lock_shared_until(PAST));
        is_free(lock);
    }
}

/// A signal ends the sleep of a thread for which the lock is reserved: it has slept, and takes it.
#[test]
fn a_thread_that_a_signal_wakes() {
    let lock = lock();
    lock.lock_exclusive();
    sleeps([
        // No wake: what a signal does.
        Box::new(|| Wait::Woken),
        Box::new(move || {
            hands_over(lock, unlock_exclusive_fair);
            Wait::Woken
        }),
    ]);
    lock.lock_exclusive();
    unlock_exclusive_fair(lock);
    is_free(lock);
}

/// A bump without waiting threads lets no thread in; with one, that thread has had the lock.
#[test]
fn bumps() {
    let lock = lock();
    lock.lock_exclusive();
    // SAFETY: locked for writing.
    unsafe { lock.bump_exclusive() };
    assert!(lock.is_locked_exclusive());
    sleeps([
        // A writer sleeps, and the holder bumps: it sleeps itself, since it is a newcomer.
        Box::new(move || {
            WOKEN.set(1);
            // SAFETY: locked for writing by the test.
            unsafe { lock.bump_exclusive() };
            unlock_exclusive_fair(lock);
            WOKEN.set(0);
            Wait::Woken
        }),
        Box::new(|| {
            assert_eq!(UNTIL.get(), Some(EXPIRED), "the lock is reserved for the other");
            Wait::Woken
        }),
    ]);
    lock.lock_exclusive();
    unlock_exclusive_fair(lock);
    is_free(lock);
}
