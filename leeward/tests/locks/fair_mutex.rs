//! The fair mutex: no newcomer takes it from a thread that sleeps; on every futex it excludes, and
//! wakes whom it must.

#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/contention.rs"]
mod contention;
#[macro_use]
#[path = "../common/futexes.rs"]
mod futexes;
#[path = "../common/steered.rs"]
mod steered;

use common::*;
use contention::{exclusion, hand_to_hand};
use steered::*;

use leeward::futex::{Futex, Wait};
use leeward::raw::FairMutex;
use leeward::sync;

on_every_futex! {
    exclusion_of_few_and_many;
    sleeping_mutex;
}

fn exclusion_of_few_and_many<F: Futex>() {
    exclusion::<FairMutex<F>>(2);
    exclusion::<FairMutex<F>>(8);
}

fn sleeping_mutex<F: Futex>() {
    hand_to_hand::<FairMutex<F>>(1_000);
}

#[test]
fn a_newcomer_waits_for_a_sleeper() {
    let lock: &'static FairMutex<Steered> = Box::leak(Box::new(FairMutex::new_in()));
    lock.lock();
    sleeps([Box::new(move || {
        WOKEN.set(1);
        // SAFETY: locked above.
        unsafe { lock.unlock() };
        assert!(!lock.try_lock(), "a newcomer took the lock from a thread that sleeps");
        WOKEN.set(0);
        Wait::Woken
    })]);
    lock.lock();
    assert!(all_slept() && lock.is_locked());
    // SAFETY: just locked.
    unsafe { lock.unlock() };
    assert!(lock.try_lock(), "no thread sleeps");
}

/// Threads that wait on a condition variable with its guard are moved to it, and each returns.
#[test]
fn conditions() {
    let _dog = Watchdog::new("conditions");
    let (mutex, changed) = (sync::FairMutex::new(0), sync::Condvar::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut value = mutex.lock();
                *value += 1;
                changed.notify_all();
                changed.wait_while(&mut value, |value| *value < 4);
            });
        }
    });
    assert_eq!(mutex.into_inner(), 4);
}
