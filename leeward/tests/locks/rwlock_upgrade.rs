//! The upgradable reader of the readers-writer lock: it excludes its like and writers, becomes the
//! writer with no other between, and gives up without leaving a mark; step by step, and with many
//! threads on every futex.

#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[macro_use]
#[path = "../common/futexes.rs"]
mod futexes;
#[path = "../common/steered.rs"]
mod steered;

use common::*;
use steered::*;

use std::thread;
use std::time::{Duration, Instant};

use leeward::futex::{Deadline, Futex, Wait};
use leeward::raw;
use leeward::sync::lock_api::{self, RwLockUpgradableReadGuard, RwLockWriteGuard};

type RwLock<F, T> = lock_api::RwLock<raw::RwLock<F>, T>;

const SHORT: Duration = Duration::from_millis(2);
const LONG: Duration = Duration::from_secs(60);

on_every_futex! {
    who_shares_with_it;
    upgrades_of_many_threads;
    all_kinds_of_upgrades_at_once;
    time_is_up;
    a_writer_becomes_an_upgradable_reader;
}

fn who_shares_with_it<F: Futex>() {
    let lock = RwLock::<F, _>::new(1);
    let upgradable = lock.upgradable_read();
    assert!(lock.is_locked() && !lock.is_locked_exclusive());
    let reader = lock.try_read().expect("readers share with it");
    assert!(lock.try_upgradable_read().is_none() && lock.try_write().is_none());
    let Err(upgradable) = RwLockUpgradableReadGuard::try_upgrade(upgradable) else {
        panic!("a reader and a writer are inside");
    };
    drop(reader);
    let mut writer = RwLockUpgradableReadGuard::try_upgrade(upgradable).expect("it is alone");
    *writer += 1;
    assert!(lock.try_read().is_none() && lock.try_upgradable_read().is_none());
    drop(writer);
    assert!(!lock.is_locked());
    let reader = RwLockUpgradableReadGuard::downgrade(lock.upgradable_read());
    let other = lock.try_upgradable_read().expect("the place is free");
    assert_eq!((*reader, *other), (2, 2));
    drop((reader, other));
    assert!(lock.try_write().is_some());
}

/// Each thread reads, and writes one more than it has read: none is lost.
fn upgrades_of_many_threads<F: Futex>() {
    let _dog = Watchdog::new("upgrades_of_many_threads");
    let lock = RwLock::<F, _>::new(0_u64);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..500 {
                    let upgradable = lock.upgradable_read();
                    let value = *upgradable;
                    thread::yield_now();
                    *RwLockUpgradableReadGuard::upgrade(upgradable) = value + 1;
                    assert!(*lock.read() > value);
                }
            });
        }
    });
    assert_eq!(lock.into_inner(), 2_000);
}

/// Adds one by an upgrade that `try_` calls begin with; returns false if it was not upgraded.
fn adds<F: Futex>(lock: &RwLock<F, [u64; 2]>, limit: Duration) -> bool {
    let upgradable = lock.upgradable_read();
    let before = *upgradable;
    match RwLockUpgradableReadGuard::try_upgrade(upgradable)
        .or_else(|upgradable| RwLockUpgradableReadGuard::try_upgrade_for(upgradable, limit))
    {
        Ok(mut writer) => {
            assert_eq!(*writer, before, "a writer came between");
            writer[0] += 1;
            thread::yield_now();
            writer[1] += 1;
            true
        }
        Err(upgradable) => {
            assert_eq!(*upgradable, before, "a writer came between");
            false
        }
    }
}

/// Upgrades that give up, writers, readers and downgrades: the halves of the value are always equal,
/// each addition is there in the end, and every thread ends.
fn all_kinds_of_upgrades_at_once<F: Futex>() {
    let _dog = Watchdog::new("all_kinds_of_upgrades_at_once");
    const ROUNDS: u64 = 400;
    let lock = RwLock::<F, _>::new([0_u64; 2]);
    let upgraded: u64 = thread::scope(|scope| {
        let threads: Vec<_> = [Duration::ZERO, Duration::from_micros(50), LONG]
            .map(|limit| {
                let lock = &lock;
                scope.spawn(move || (0..ROUNDS).filter(|_| adds(lock, limit)).count() as u64)
            })
            .into_iter()
            .collect();
        scope.spawn(|| {
            for _ in 0..ROUNDS {
                let mut writer = lock.write();
                writer[0] += 1;
                thread::yield_now();
                writer[1] += 1;
                let upgradable = RwLockWriteGuard::downgrade_to_upgradable(writer);
                let reader = RwLockUpgradableReadGuard::downgrade(upgradable);
                assert_eq!(reader[0], reader[1]);
            }
        });
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    let reader = lock.read();
                    thread::yield_now();
                    assert_eq!(reader[0], reader[1]);
                }
            });
        }
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(lock.into_inner(), [upgraded + ROUNDS; 2]);
}

fn time_is_up<F: Futex>() {
    let _dog = Watchdog::new("time_is_up");
    let lock = RwLock::<F, _>::new(());
    let (upgradable, reader) = (lock.upgradable_read(), lock.read());
    assert!(lock.try_upgradable_read_for(SHORT).is_none());
    assert!(lock.try_upgradable_read_until(Instant::now()).is_none());
    let Err(upgradable) = RwLockUpgradableReadGuard::try_upgrade_for(upgradable, SHORT) else {
        panic!("a reader and a writer are inside");
    };
    let Err(upgradable) = RwLockUpgradableReadGuard::try_upgrade_until(upgradable, Instant::now() + SHORT) else {
        panic!("a reader and a writer are inside");
    };
    // No mark keeps readers out, and the place is still taken.
    assert!(lock.try_read().is_some() && lock.try_upgradable_read().is_none());
    drop(reader);
    drop(RwLockUpgradableReadGuard::try_upgrade_for(upgradable, LONG).expect("it is alone"));
    assert!(lock.try_upgradable_read_for(LONG).is_some() && !lock.is_locked());
}

/// Those that wait for a writer are let in when it becomes a reader, except upgradable ones, which
/// are let in when the place is free.
fn a_writer_becomes_an_upgradable_reader<F: Futex>() {
    let _dog = Watchdog::new("a_writer_becomes_an_upgradable_reader");
    let lock = RwLock::<F, _>::new(0);
    thread::scope(|scope| {
        let mut writer = lock.write();
        let reader = scope.spawn(|| *lock.read());
        let upgradable = scope.spawn(|| *lock.upgradable_read());
        thread::sleep(GLANCE);
        *writer = 1;
        let mine = RwLockWriteGuard::downgrade_to_upgradable(writer);
        assert_eq!(reader.join().unwrap(), 1);
        assert!(!upgradable.is_finished());
        let mut writer = RwLockUpgradableReadGuard::upgrade(mine);
        *writer = 2;
        drop(writer);
        assert_eq!(upgradable.join().unwrap(), 2);
    });
}

fn lock() -> &'static raw::RwLock<Steered> {
    Box::leak(Box::new(raw::RwLock::new_in()))
}

/// Makes a lock with an upgradable reader and another one.
fn read_twice() -> &'static raw::RwLock<Steered> {
    let lock = lock();
    lock.lock_upgradable();
    lock.lock_shared();
    lock
}

fn unlock_shared(lock: &raw::RwLock<Steered>) {
    // SAFETY: the caller has locked it for reading.
    unsafe { lock.unlock_shared() };
}

#[test]
fn no_writer_comes_between() {
    let lock = read_twice();
    sleeps([Box::new(move || {
        assert!(!lock.try_lock_shared(), "a newcomer passes the upgrade");
        unlock_shared(lock);
        assert!(lock.is_locked() && !lock.try_lock_exclusive(), "a writer comes between");
        assert!(!lock.try_lock_upgradable());
        Wait::Woken
    })]);
    // SAFETY: the upgradable reader.
    unsafe { lock.upgrade() };
    assert!(all_slept() && lock.is_locked_exclusive());
    // SAFETY: upgraded.
    unsafe { lock.unlock_exclusive() };
    assert!(lock.try_lock_exclusive(), "no mark is left");
}

/// A wake that is not for the upgrade, and a reader that passes it since it reads already.
#[test]
fn an_upgrade_goes_to_sleep_again() {
    let lock = read_twice();
    sleeps([
        Box::new(move || {
            assert!(lock.try_lock_shared_recursive());
            unlock_shared(lock);
            Wait::Woken
        }),
        Box::new(move || {
            unlock_shared(lock);
            Wait::Woken
        }),
    ]);
    // SAFETY: the upgradable reader.
    unsafe { lock.upgrade() };
    assert!(all_slept() && lock.is_locked_exclusive());
}

/// The last reader leaves and time is up at once: the upgrade finds that it is alone.
#[test]
fn an_upgrade_that_comes_just_in_time() {
    let lock = read_twice();
    sleeps([Box::new(move || {
        unlock_shared(lock);
        Wait::TimedOut
    })]);
    // SAFETY: the upgradable reader.
    assert!(unsafe { lock.upgrade_until(Deadline::at(Duration::ZERO)) });
    assert!(all_slept() && lock.is_locked_exclusive());
}

/// An upgrade whose time is up is the upgradable reader again.
#[test]
fn an_upgrade_that_gives_up() {
    let lock = read_twice();
    sleeps([Box::new(|| Wait::TimedOut)]);
    // SAFETY: the upgradable reader.
    assert!(!unsafe { lock.upgrade_until(Deadline::at(Duration::ZERO)) });
    assert!(all_slept() && lock.try_lock_shared(), "it keeps readers out still");
    unlock_shared(lock);
    unlock_shared(lock);
    assert!(!lock.try_lock_exclusive() && !lock.try_lock_upgradable());
    // SAFETY: the upgradable reader.
    unsafe { lock.unlock_upgradable() };
    assert!(lock.try_lock_exclusive());
}
