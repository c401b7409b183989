//! The mutex whose unlock is a store: exclusion, lost wake-ups, and the number of its heavy fences.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/contention.rs"]
mod contention;

use common::*;
use contention::{exclusion, hand_to_hand};

use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::time::Duration;

use leeward::fence;
use leeward::futex::{Futex, Private, Timeout};
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

/// Returns the words of a lock: its state, and the count of sleepers, on which they sleep.
fn words(lock: &raw::LightMutex) -> &[AtomicU32; 2] {
    assert_eq!(size_of::<raw::LightMutex>(), size_of::<[AtomicU32; 2]>());
    // SAFETY: the lock is two such words, in this order.
    unsafe { &*std::ptr::from_ref(lock).cast() }
}

/// The word of a lock for which one thread sleeps: raised, and a sleeper.
const ONE_SLEEPS: u32 = 511 << 23 | 1;

/// A thread sleeps for the lock, is woken, and is slow to take it: no newcomer that does not wait
/// takes it meanwhile, and one that waits does when it has been reserved for a while.
#[test]
fn a_newcomer_waits_for_a_sleeper() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("a_newcomer_waits_for_a_sleeper");
    let (lock, id) = (raw::LightMutex::new(), AtomicI32::new(0));
    lock.lock();
    let sleepers = &words(&lock)[1];
    sleepers.store(ONE_SLEEPS, Ordering::SeqCst);
    std::thread::scope(|scope| {
        // What a thread does that waits, without the taking.
        let sleeper = scope.spawn(|| {
            // SAFETY: the call takes nothing.
            id.store(unsafe { libc::gettid() }, Ordering::SeqCst);
            while sleepers.load(Ordering::SeqCst) == ONE_SLEEPS {
                if Private::wait(sleepers, ONE_SLEEPS, Timeout::Never) == leeward::futex::Wait::Woken {
                    break;
                }
            }
        });
        eventually("the thread sleeps", || id.load(Ordering::SeqCst) != 0 && is_asleep(id.load(Ordering::SeqCst)));
        // SAFETY: locked above.
        unsafe { lock.unlock_fair() };
        assert!(!lock.is_locked() && !lock.try_lock(), "a newcomer took the lock from a thread that sleeps");
        sleeper.join().unwrap();
        // The thread is gone that the lock was reserved for.
        lock.lock();
        // SAFETY: just locked.
        unsafe { lock.unlock() };
        assert!(lock.try_lock(), "it is still reserved");
    });
}

/// The thread that is counted does not sleep: the lock is reserved for no thread.
#[test]
fn a_thread_that_sleeps_no_longer() {
    let _alone = alone(&ALONE);
    let lock = raw::LightMutex::new();
    lock.lock();
    words(&lock)[1].store(ONE_SLEEPS, Ordering::SeqCst);
    // SAFETY: locked above.
    unsafe { lock.unlock_fair() };
    assert!(lock.try_lock(), "it is reserved for no thread");
    // SAFETY: just locked.
    unsafe { lock.unlock() };
}
