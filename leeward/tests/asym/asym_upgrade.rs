//! The upgradable reader of the asymmetric readers-writer lock: it shares with readers in their slots
//! and takes the lock away from them, gives up without closing it, and its thread may read besides.

#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/open.rs"]
mod open;

use common::*;
use open::{is_open, open, shows};

use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use leeward::asym::{RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard};

const SHORT: Duration = Duration::from_millis(2);
const LONG: Duration = Duration::from_secs(60);

/// Runs `inside` while another thread reads.
fn beside_a_reader<T: Send + Sync>(lock: &RwLock<T>, inside: impl FnOnce()) {
    let (reads, is_read) = channel();
    let (leave, left) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let reader = lock.read();
            reads.send(()).unwrap();
            let _ = left.recv();
            drop(reader);
        });
        is_read.recv().unwrap();
        inside();
        drop(leave);
    });
}

#[test]
fn who_shares_with_it() {
    let _dog = Watchdog::new("who_shares_with_it");
    let lock = open(1);
    beside_a_reader(&lock, || {
        let upgradable = lock.try_upgradable_read().expect("readers share with it");
        assert_eq!((*upgradable, *lock.read()), (1, 1));
        assert!(lock.try_upgradable_read().is_none() && lock.try_upgradable_read_for(SHORT).is_none());
        assert!(lock.try_upgradable_read_until(Instant::now()).is_none());
        let other = thread::scope(|scope| scope.spawn(|| lock.try_write().is_some()).join().unwrap());
        assert!(!other, "a writer is beside it");
        let Err(upgradable) = RwLockUpgradableReadGuard::try_upgrade(upgradable) else {
            panic!("a reader and a writer are inside");
        };
        let Err(upgradable) = RwLockUpgradableReadGuard::try_upgrade_for(upgradable, SHORT) else {
            panic!("a reader and a writer are inside");
        };
        let Err(upgradable) = RwLockUpgradableReadGuard::try_upgrade_until(upgradable, Instant::now()) else {
            panic!("a reader and a writer are inside");
        };
        assert!(is_open(&lock), "an upgrade that gives up closes it");
        assert!(lock.try_read().is_some() && lock.try_upgradable_read().is_none());
        drop(upgradable);
    });
    drop(lock.upgradable_read());
    assert!(is_open(&lock), "an upgradable reader does not close it");
    let mut writer = RwLockUpgradableReadGuard::try_upgrade(lock.upgradable_read()).expect("it is alone");
    assert!(lock.try_read().is_none() && !is_open(&lock));
    *writer = 2;
    let upgradable = RwLockWriteGuard::downgrade_to_upgradable(writer);
    thread::scope(|scope| {
        assert_eq!(scope.spawn(|| *lock.read()).join().unwrap(), 2);
        assert!(scope.spawn(|| lock.try_upgradable_read().is_none()).join().unwrap());
    });
    drop(RwLockUpgradableReadGuard::try_upgrade_for(upgradable, LONG).expect("it is alone"));
    assert!(!lock.is_locked());
}

/// The upgrade waits for readers in their slots, and no writer that waits comes between.
#[test]
fn an_upgrade_waits_for_slots() {
    let _dog = Watchdog::new("an_upgrade_waits_for_slots");
    let lock = open(1);
    thread::scope(|scope| {
        beside_a_reader(&lock, || {
            let upgradable = lock.upgradable_read();
            let writer = scope.spawn(|| *lock.write() = 3);
            thread::sleep(GLANCE);
            assert!(!writer.is_finished());
            drop(upgradable);
            let upgrade = scope.spawn(|| {
                let upgradable = lock.upgradable_read();
                let before = *upgradable;
                let mut writer = RwLockUpgradableReadGuard::upgrade(upgradable);
                assert_eq!(*writer, before, "a writer came between");
                *writer += 10;
            });
            thread::sleep(GLANCE);
            assert!(!upgrade.is_finished(), "it does not wait for a reader");
        });
    });
    // Which of the two came first is open.
    assert!(matches!(lock.into_inner(), 3 | 13));
}

/// The thread of the upgradable reader may read besides, past a writer that waits for it, whether the
/// lock is open or closed; and its guards may be dropped in any order.
#[test]
fn its_thread_reads_besides() {
    let _dog = Watchdog::new("its_thread_reads_besides");
    for opened in [true, false] {
        let lock = open(1);
        if !opened {
            drop(lock.write());
        }
        thread::scope(|scope| {
            let upgradable = lock.upgradable_read();
            scope.spawn(|| *lock.write() += 1);
            eventually("a writer sleeps", || shows(&lock, "writers_wait: true"));
            let besides = lock.read();
            let again = lock.read();
            assert_eq!(*upgradable + *besides + *again, 3);
            assert!(RwLockUpgradableReadGuard::try_upgrade(upgradable).map(drop).map_err(drop).is_err());
            drop(besides);
            drop(again);
        });
        assert!(lock.try_write().is_some());
    }
}

/// Downgraded, it is one more guard of what its thread reads, or the first.
#[test]
fn downgrading() {
    let _dog = Watchdog::new("downgrading");
    for opened in [true, false] {
        let lock = open(1);
        if !opened {
            drop(lock.write());
        }
        let others = || {
            let lock = &lock;
            thread::scope(|scope| {
                let try_them = || {
                    let is_upgradable = lock.try_upgradable_read().is_some();
                    (is_upgradable, lock.try_write().is_some())
                };
                scope.spawn(try_them).join().unwrap()
            })
        };
        let upgradable = lock.upgradable_read();
        let besides = lock.read();
        assert_eq!(others(), (false, false));
        let reader = RwLockUpgradableReadGuard::downgrade(upgradable);
        assert_eq!(others(), (true, false));
        drop(besides);
        assert_eq!(others(), (true, false), "the guard that is left keeps no writer out");
        drop(reader);
        assert_eq!(others(), (true, true));
        let first = RwLockUpgradableReadGuard::downgrade(lock.upgradable_read());
        let nested = lock.read();
        drop(first);
        assert_eq!(others(), (true, false));
        drop(nested);
        assert_eq!(others(), (true, true));
    }
}

/// Upgrades, upgrades that give up, writers and readers: none is lost, no half of a write is seen.
#[test]
fn many_threads() {
    let _dog = Watchdog::new("many_threads");
    const ROUNDS: u64 = 300;
    let lock = open([0_u64; 2]);
    let upgraded: u64 = thread::scope(|scope| {
        let threads = [Duration::ZERO, SHORT, LONG].map(|limit| {
            let lock = &lock;
            scope.spawn(move || (0..ROUNDS).filter(|_| adds(lock, limit)).count() as u64)
        });
        scope.spawn(|| (0..ROUNDS).for_each(|_| lock.write().iter_mut().for_each(|half| *half += 1)));
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..4 * ROUNDS {
                    let reader = lock.read();
                    assert_eq!(reader[0], reader[1]);
                }
            });
        }
        threads.map(|thread| thread.join().unwrap()).iter().sum()
    });
    assert_eq!(lock.into_inner(), [upgraded + ROUNDS; 2]);
}

/// Adds one by an upgrade; returns false if it was not upgraded.
fn adds(lock: &RwLock<[u64; 2]>, limit: Duration) -> bool {
    let upgradable = lock.upgradable_read();
    let before = *upgradable;
    match RwLockUpgradableReadGuard::try_upgrade_for(upgradable, limit) {
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
