//! The raw locks under lock_api 0.5's data and guards.

#![cfg(all(feature = "lock_api_05", feature = "std", not(leeward_loom)))]
#![allow(missing_docs)]

use std::thread;
use std::time::{Duration, Instant};

use leeward::raw;
use lock_api_05::{Mutex, RawMutexTimed, RwLock, RwLockWriteGuard};

const SHORT: Duration = Duration::from_millis(2);

static FAIR: Mutex<raw::Mutex, u64> = Mutex::new(0);
static LIGHT: Mutex<raw::LightMutex, u64> = Mutex::new(0);
static SHARED: RwLock<raw::RwLock, u64> = RwLock::new(0);

/// One thread at a time has the lock; a held lock is not taken in time, and a free one is.
fn excludes<R: RawMutexTimed<Duration = Duration, Instant = Instant> + Sync>(mutex: &Mutex<R, u64>) {
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..1_000).for_each(|_| *mutex.lock() += 1));
        }
    });
    assert_eq!(*mutex.lock(), 4_000);
    let held = mutex.lock();
    assert!(mutex.is_locked() && mutex.try_lock().is_none());
    assert!(mutex.try_lock_for(SHORT).is_none() && mutex.try_lock_until(Instant::now() + SHORT).is_none());
    drop(held);
    assert!(mutex.try_lock_for(SHORT).is_some());
    assert!(!mutex.is_locked());
}

#[test]
fn mutexes() {
    excludes(&FAIR);
    excludes(&LIGHT);
    let mut guard = FAIR.lock();
    *guard = 7;
    lock_api_05::MutexGuard::unlock_fair(guard);
    assert_eq!(*FAIR.lock(), 7);
}

#[test]
fn readers_and_writers() {
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..1_000).for_each(|_| *SHARED.write() += 1));
            scope.spawn(|| (0..1_000).for_each(|_| assert!(*SHARED.read() <= 2_000)));
        }
    });
    let one = SHARED.read();
    assert!(SHARED.try_read().is_some() && SHARED.try_write().is_none());
    assert!(SHARED.try_write_for(SHORT).is_none() && *SHARED.read() == 2_000);
    drop(one);
    let reader = RwLockWriteGuard::downgrade(SHARED.write());
    assert!(SHARED.try_read().is_some() && !SHARED.is_locked_exclusive());
    drop(reader);
    assert!(SHARED.try_write_for(SHORT).is_some());
}
