//! The mutexes: exclusion, time-outs, layout, panics, two processes. (Fairness: mutex_fairness.rs;
//! heavy fences: light_mutex.rs.)

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/contention.rs"]
mod contention;
#[macro_use]
#[path = "../common/futexes.rs"]
mod futexes;
#[path = "../common/processes.rs"]
mod processes;

use common::*;
use contention::{exclusion, hand_to_hand};
use processes::{in_two, zeroed};

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use leeward::futex::{Futex, Shared};
use leeward::raw::{self, Lock};
use leeward::sync::{LightMutex, Mutex};
use lock_api::MutexGuard;

on_every_futex! {
    exclusion_of_few_and_many;
    sleeping_mutex;
    time_is_up;
    unlocking_fairly;
}

fn exclusion_of_few_and_many<F: Futex>() {
    exclusion::<raw::Mutex<F>>(2);
    exclusion::<raw::Mutex<F>>(8);
}

fn sleeping_mutex<F: Futex>() {
    hand_to_hand::<raw::Mutex<F>>(1_000);
}

fn time_is_up<F: Futex>() {
    let _dog = Watchdog::new("time_is_up");
    let (mutex, light) = (lock_api::Mutex::<raw::Mutex<F>, _>::new(0), LightMutex::new(0));
    let (guard, light_guard) = (mutex.lock(), light.lock());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for limit in [Duration::ZERO, Duration::from_millis(1)] {
                let begun = Instant::now();
                assert!(mutex.try_lock_for(limit).is_none());
                assert!(light.try_lock_for(limit).is_none());
                assert!(begun.elapsed() >= 2 * limit);
            }
            // A time that has passed, and one that is far away, for which the lock is given.
            assert!(mutex.try_lock_until(Instant::now() - Duration::from_millis(1)).is_none());
            assert!(light.try_lock_until(Instant::now() - Duration::from_millis(1)).is_none());
        });
    });
    std::thread::scope(|scope| {
        scope.spawn(|| {
            assert!(mutex.try_lock_for(Duration::MAX).is_some());
            assert!(light.try_lock_for(Duration::MAX).is_some());
        });
        std::thread::sleep(GLANCE);
        drop((guard, light_guard));
    });
    assert!(mutex.try_lock().is_some() && light.try_lock().is_some());
}

/// A fair unlock gives the lock to the sleeper, and to no other thread; without a sleeper it frees
/// the lock.
fn unlocking_fairly<F: Futex>() {
    let _dog = Watchdog::new("unlocking_fairly");
    let mutex = lock_api::Mutex::<raw::Mutex<F>, _>::new(0);
    MutexGuard::unlock_fair(mutex.lock());
    assert!(mutex.try_lock().is_some());
    for _ in 0..100 {
        let mut guard = mutex.lock();
        *guard = 0;
        let started = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                started.store(true, Ordering::Relaxed);
                *mutex.lock() += 1;
            });
            eventually("the thread runs", || started.load(Ordering::Relaxed));
            std::thread::sleep(Duration::from_micros(200));
            MutexGuard::unlock_fair(guard);
            drop(mutex.lock());
        });
        assert_eq!(*mutex.lock(), 1);
        assert!(mutex.try_lock().is_some());
    }
}

/// Shows the layouts, and that zeroed memory is an unlocked lock.
#[test]
fn zeroed_is_unlocked() {
    assert_eq!((size_of::<raw::Mutex<Shared>>(), align_of::<raw::Mutex<Shared>>()), (4, 4));
    assert_eq!((size_of::<raw::LightMutex>(), align_of::<raw::LightMutex>()), (8, 4));
    // SAFETY: documented to be valid when zeroed.
    let mutex: raw::Mutex<Shared> = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    let light: raw::LightMutex = unsafe { std::mem::zeroed() };
    assert!(mutex.try_lock() && !mutex.try_lock() && mutex.is_locked());
    assert!(light.try_lock() && !light.try_lock() && light.is_locked());
    // SAFETY: held.
    unsafe { mutex.unlock() };
    // SAFETY: held.
    unsafe { light.unlock() };
    assert!(!mutex.is_locked() && !light.is_locked());
    assert_eq!(format!("{mutex:?} {light:?}"), "Mutex { locked: false, .. } LightMutex { locked: false, .. }");
    assert!(Lock::queue(&mutex).is_some() && Lock::queue(&light).is_none());
}

/// A panic unlocks; code that wants to know of the panic asks `Poison`.
#[test]
fn panics() {
    use leeward::sync::{Poison, Poisoned};
    let mutex = Mutex::new(Poison::new(1));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        mutex.lock().access(|value| {
            *value = 2;
            assert_eq!(*value, 1);
        })
    }));
    assert!(panicked.is_err());
    let mut guard = mutex.try_lock().expect("it was unlocked");
    assert!(guard.is_poisoned());
    assert_eq!((guard.access(|_| ()), guard.get()), (Err(Poisoned), Err(Poisoned)));
    *guard.clear() = 3;
    assert_eq!((guard.access(|value| *value), guard.get()), (Ok(3), Ok(&3)));
    assert!(Poisoned.to_string().contains("panic"));
}

/// A shared mutex between two processes.
#[test]
fn two_processes() {
    const EACH: u32 = 20_000;
    let _dog = Watchdog::new("two_processes");
    struct Page {
        mutex: raw::Mutex<Shared>,
        count: std::cell::UnsafeCell<u32>,
    }
    // SAFETY: a lock that is not held, and a number.
    let page = unsafe { zeroed::<Page>() };
    in_two(|| {
        for _ in 0..EACH {
            page.mutex.lock();
            // SAFETY: under the lock.
            unsafe { *page.count.get() += 1 };
            // SAFETY: held.
            unsafe { page.mutex.unlock() };
        }
        true
    });
    // SAFETY: the other process has ended.
    assert_eq!(unsafe { *page.count.get() }, 2 * EACH);
}
