//! The fair unlocks and the bumps of every lock's guards: a thread that sleeps for the lock has it
//! before any newcomer.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;

use common::*;

use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use leeward::sync::lock_api::{self, RawMutexFair, RawRwLockDowngrade, RawRwLockFair, RawRwLockUpgradeFair};
use leeward::{asym, raw, shared, sync};

/// Returns true if a thread sleeps in a call such as the locks make: what an allocator or a sanitizer
/// makes is another.
fn waits(id: libc::pid_t) -> bool {
    let call = std::fs::read_to_string(format!("/proc/self/task/{id}/syscall")).unwrap_or_default();
    let operation = call
        .strip_prefix(&format!("{} ", libc::SYS_futex))
        .and_then(|arguments| i32::from_str_radix(arguments.split(' ').nth(1)?.strip_prefix("0x")?, 16).ok());
    id != 0 && operation.is_some_and(|operation| operation & 0x7f == libc::FUTEX_WAIT_BITSET) && is_asleep(id)
}

/// Waits by `locks` on another thread, calls `hands_over` once that thread sleeps, and then `tries` as
/// a newcomer, which must not get the lock before the thread, that keeps it until `tries` has been
/// made.
fn in_turn<G>(locks: impl FnOnce() -> G + Send, hands_over: impl FnOnce(), tries: impl FnOnce() -> bool) {
    let (id, is_tried) = (AtomicI32::new(0), raw::Latch::<leeward::futex::Private>::new(1));
    thread::scope(|scope| {
        scope.spawn(|| {
            // SAFETY: the call takes nothing.
            id.store(unsafe { libc::gettid() }, Ordering::SeqCst);
            let guard = locks();
            is_tried.wait();
            drop(guard);
        });
        eventually("the thread sleeps", || waits(id.load(Ordering::SeqCst)));
        hands_over();
        let is_taken = tries();
        is_tried.count_down(1);
        assert!(!is_taken, "a newcomer took the lock from a thread that slept");
    });
}

/// The time for which a lock is kept for the thread that was woken. One that does not run in that time,
/// on a busy machine, may find it taken.
const KEPT: Duration = Duration::from_millis(1);

/// A bump lets the thread that sleeps have the lock, which adds one to the value.
fn bumped<G: std::ops::DerefMut<Target = u32>>(locks: impl FnOnce() -> G + Send, mut bumps: impl FnMut() -> u32) {
    let id = AtomicI32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            // SAFETY: the call takes nothing.
            id.store(unsafe { libc::gettid() }, Ordering::SeqCst);
            *locks() += 1;
        });
        loop {
            eventually("the thread sleeps", || waits(id.load(Ordering::SeqCst)));
            let start = Instant::now();
            if bumps() == 1 {
                break;
            }
            assert!(start.elapsed() >= KEPT, "the thread that slept has not had the lock");
        }
    });
}

fn mutex<R: RawMutexFair + Sync>() {
    let _dog = Watchdog::new(std::any::type_name::<R>());
    let lock = &lock_api::Mutex::<R, u32>::new(0);
    let guard = lock.lock();
    in_turn(|| lock.lock(), || lock_api::MutexGuard::unlock_fair(guard), || lock.try_lock().is_some());
    let mut guard = lock.lock();
    bumped(
        || lock.lock(),
        || {
            lock_api::MutexGuard::bump(&mut guard);
            *guard
        },
    );
    lock_api::MutexGuard::bump(&mut guard);
    drop(guard);
    assert!(lock.try_lock().is_some(), "it is reserved for no thread");
}

fn rwlock<R: RawRwLockFair + RawRwLockDowngrade + RawRwLockUpgradeFair + Sync>() {
    let _dog = Watchdog::new(std::any::type_name::<R>());
    let lock = &lock_api::RwLock::<R, u32>::new(0);
    let tries = || lock.try_write().is_some();
    let guard = lock.write();
    in_turn(|| lock.write(), || lock_api::RwLockWriteGuard::unlock_fair(guard), tries);
    let guard = lock.write();
    in_turn(|| lock.read(), || lock_api::RwLockWriteGuard::unlock_fair(guard), tries);
    let guard = lock.write();
    in_turn(|| lock.upgradable_read(), || lock_api::RwLockWriteGuard::unlock_fair(guard), tries);
    let guard = lock.read();
    in_turn(|| lock.write(), || lock_api::RwLockReadGuard::unlock_fair(guard), tries);
    let guard = lock.upgradable_read();
    in_turn(|| lock.write(), || lock_api::RwLockUpgradableReadGuard::unlock_fair(guard), tries);
    let guard = lock.upgradable_read();
    in_turn(
        || lock.upgradable_read(),
        || lock_api::RwLockUpgradableReadGuard::unlock_fair(guard),
        || lock.try_upgradable_read().is_some(),
    );

    let mut guard = lock.write();
    bumped(
        || lock.write(),
        || {
            lock_api::RwLockWriteGuard::bump(&mut guard);
            *guard
        },
    );
    *guard = 0;
    let mut guard = lock_api::RwLockWriteGuard::downgrade(guard);
    bumped(
        || lock.write(),
        || {
            lock_api::RwLockReadGuard::bump(&mut guard);
            *guard
        },
    );
    drop(guard);
    *lock.write() = 0;
    let mut guard = lock.upgradable_read();
    bumped(
        || lock.write(),
        || {
            lock_api::RwLockUpgradableReadGuard::bump(&mut guard);
            *guard
        },
    );
    drop(guard);
    assert!(lock.try_write().is_some(), "it is reserved for no thread");
}

#[test]
fn mutexes() {
    mutex::<raw::Mutex>();
    mutex::<raw::FairMutex>();
    mutex::<raw::LightMutex>();
}

#[test]
fn rwlocks() {
    rwlock::<sync::RawRwLock>();
}

/// With a bias, the thread that waits takes it away; without one, it sleeps for the ordinary lock.
#[test]
fn asymmetric_mutexes() {
    mutex::<asym::RawMutex>();
    let lock = &asym::Mutex::new(0);
    thread::scope(|scope| _ = scope.spawn(|| drop(lock.lock())));
    let guard = lock.lock();
    in_turn(|| lock.lock(), || lock_api::MutexGuard::unlock_fair(guard), || lock.try_lock().is_some());
}

#[test]
fn asymmetric_rwlocks() {
    rwlock::<asym::RawRwLock>();
}

#[test]
fn shared_locks() {
    let _dog = Watchdog::new("shared_locks");
    let lock = &shared::Mutex::new(0);
    let guard = lock.lock();
    in_turn(|| lock.lock(), || shared::MutexGuard::unlock_fair(guard), || lock.try_lock().is_some());
    let lock = &shared::RwLock::new(0);
    let tries = || lock.try_write().is_some();
    let guard = lock.write();
    in_turn(|| lock.write(), || shared::RwLockWriteGuard::unlock_fair(guard), tries);
    let guard = lock.read();
    in_turn(|| lock.write(), || shared::RwLockReadGuard::unlock_fair(guard), tries);
    let guard = lock.upgradable_read();
    in_turn(|| lock.write(), || shared::RwLockUpgradableReadGuard::unlock_fair(guard), tries);
    let guard = shared::RwLockWriteGuard::map(lock.write(), |value| value);
    in_turn(|| lock.write(), || shared::MappedRwLockWriteGuard::unlock_fair(guard), tries);
    let guard = shared::RwLockReadGuard::map(lock.read(), |value| value);
    in_turn(|| lock.write(), || shared::MappedRwLockReadGuard::unlock_fair(guard), tries);
    let mut guard = lock.write();
    bumped(
        || lock.write(),
        || {
            shared::RwLockWriteGuard::bump(&mut guard);
            *guard
        },
    );
}
