//! The mutex whose unlock is a store: exclusion, lost wake-ups, and the number of its heavy fences.

#![cfg(all(target_os = "linux", feature = "std", not(leeward_loom)))]
#![allow(missing_docs)]

mod common;
#[path = "common/contention.rs"]
mod contention;

use common::*;
use contention::{exclusion, hand_to_hand};

use std::sync::Mutex;
use std::time::Duration;

use leeward::fence;
use leeward::raw;
use leeward::sync::LightMutex;

/// Held by each test: heavy fences are counted for the whole process.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn exclusion_light() {
    let _alone = alone(&ALONE);
    exclusion::<raw::LightMutex>(2);
    exclusion::<raw::LightMutex>(8);
}

#[test]
fn sleeping_light_mutex() {
    let _alone = alone(&ALONE);
    hand_to_hand::<raw::LightMutex>(1_000);
}

/// There is at most one heavy fence in 511 unlocks, and none while no thread sleeps.
#[test]
fn heavy_fences_do_not_multiply() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("heavy_fences_do_not_multiply");
    let fences = || fence::counters().total();
    let alone = LightMutex::new(());
    fence::heavy();
    let before = fences();
    for _ in 0..10_000 {
        drop(alone.lock());
    }
    assert_eq!(fences(), before, "nobody slept");

    let mutex = LightMutex::new(0u64);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..500 {
                    let mut guard = mutex.lock();
                    *guard += 1;
                    // The waiting threads go to sleep.
                    std::thread::sleep(Duration::from_micros(100));
                }
            });
        }
    });
    let unlocks = *mutex.lock();
    let issued = fences() - before;
    println!("{issued} heavy fences in {unlocks} unlocks");
    assert!(issued >= 1, "somebody slept");
    assert!(issued <= 1 + unlocks / 511, "{issued} heavy fences in {unlocks} unlocks");

    // The word is lowered after that many quiet unlocks; the next sleeper raises it again.
    for _ in 0..511 {
        drop(mutex.lock());
    }
    let before = fences();
    let guard = mutex.lock();
    std::thread::scope(|scope| {
        scope.spawn(|| drop(mutex.lock()));
        eventually("the sleeper raises the word", || fences() > before);
        drop(guard);
    });
    assert_eq!(fences(), before + 1);
}
