//! Upgradable reads of the readers-writer lock of several processes: between processes, in the copies
//! that a fork makes of guards, and where a process that has one is killed.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/processes.rs"]
mod processes;

use common::*;
use processes::*;

use std::time::Duration;

use leeward::shared::{RwLock, RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard};

const ROUNDS: u64 = 1_000;
const LONG: Duration = Duration::from_secs(60);

/// Each process reads, and writes one more than it has read: none is lost.
#[test]
fn upgrades_of_two_processes() {
    let _dog = Watchdog::new("upgrades_of_two_processes");
    let count = region::<RwLock<[u64; 2]>>(|_| {});
    in_two(|| {
        (0..ROUNDS).all(|round| {
            let before = count.upgradable_read();
            let value = *before;
            let mut both = match round % 3 {
                0 => RwLockUpgradableReadGuard::upgrade(before),
                1 => RwLockUpgradableReadGuard::try_upgrade_for(before, LONG).unwrap(),
                _ => match RwLockUpgradableReadGuard::try_upgrade(before) {
                    Ok(writer) => writer,
                    Err(before) => RwLockUpgradableReadGuard::upgrade(before),
                },
            };
            both[0] = value[0] + 1;
            both[1] = value[1] + 1;
            let upgradable = RwLockWriteGuard::downgrade_to_upgradable(both);
            let reader = RwLockUpgradableReadGuard::downgrade(upgradable);
            reader[0] > value[0] && reader[0] == reader[1]
        })
    });
    assert_eq!(*count.read(), [2 * ROUNDS; 2]);
}

#[test]
fn who_shares_with_it() {
    let lock = region::<RwLock<u32>>(|_| {});
    let upgradable = lock.upgradable_read();
    let reader = lock.try_read().expect("readers share with it");
    assert!(lock.try_upgradable_read().is_none() && lock.try_upgradable_read_for(GLANCE).is_none());
    assert!(lock.try_write().is_none());
    let Err(upgradable) = RwLockUpgradableReadGuard::try_upgrade_for(upgradable, GLANCE) else {
        panic!("a reader and a writer are inside");
    };
    assert!(RwLockUpgradableReadGuard::try_upgrade(upgradable).is_err_and(|upgradable| *upgradable == 0));
    assert!(lock.try_upgradable_read().is_some());
    drop(reader);
    let reader = RwLockWriteGuard::downgrade(lock.try_write().expect("none is inside"));
    assert!(lock.try_read().is_some() && lock.try_write().is_none());
    drop::<RwLockReadGuard<'_, u32>>(reader);
}

/// The copy of a guard unlocks nothing, and becomes no writer's.
#[test]
fn a_guard_that_a_fork_copies() {
    let _dog = Watchdog::new("a_guard_that_a_fork_copies");
    let lock = region::<RwLock<u32>>(|_| {});
    let held = lock.upgradable_read();
    let copied = child(|| {
        let copy = || {
            // SAFETY: copied as the fork copies it; the parent's half of this test goes on in another
            // process, and this one does not use the original.
            unsafe { core::ptr::read(&held) }
        };
        for end in [
            |copy| drop(RwLockUpgradableReadGuard::upgrade(copy)),
            |copy| drop(RwLockUpgradableReadGuard::try_upgrade(copy)),
            |copy| drop(RwLockUpgradableReadGuard::try_upgrade_for(copy, LONG)),
            |copy| drop(RwLockUpgradableReadGuard::downgrade(copy)),
        ] {
            assert!(panic_of(|| end(copy())).contains("is a fork's copy"));
        }
        drop(copy());
        lock.try_upgradable_read().is_none() && lock.try_write().is_none()
    });
    assert_eq!(status_of(copied), 0, "the child's copy of a guard unlocked the lock");
    drop(held);
    assert!(lock.try_write().is_some());
}

/// Runs `work` in a child until `is_there` returns true, and kills the child.
fn killed_when(work: impl FnOnce() -> bool, is_there: impl Fn() -> bool) {
    let child = child(work);
    eventually("the child is there", is_there);
    // SAFETY: a child of ours that was not waited for.
    unsafe { libc::kill(child, libc::SIGKILL) };
    assert_eq!(status_of(child), libc::SIGKILL);
}

/// A process that is killed with the guard leaves it there: others read and do not write.
#[test]
fn a_process_that_is_killed_with_it() {
    let _dog = Watchdog::new("a_process_that_is_killed_with_it");
    let lock = region::<RwLock<u32>>(|_| {});
    let work = || {
        let _held = lock.upgradable_read();
        std::thread::sleep(LONG);
        false
    };
    killed_when(work, || lock.try_upgradable_read().is_none());
    assert!(lock.try_read().is_some() && lock.try_write().is_none());
    assert!(lock.try_upgradable_read_for(GLANCE).is_none() && lock.try_write_for(GLANCE).is_none());
    assert!(lock.try_read().is_some(), "the calls that gave up keep readers out");
}

/// A process that is killed while it waits in an upgrade leaves the lock as one that it holds.
#[test]
fn a_process_that_is_killed_in_an_upgrade() {
    let _dog = Watchdog::new("a_process_that_is_killed_in_an_upgrade");
    let lock = region::<RwLock<u32>>(|_| {});
    let reader = lock.read();
    let work = || {
        *RwLockUpgradableReadGuard::upgrade(lock.upgradable_read()) = 7;
        true
    };
    killed_when(work, || lock.try_read().is_none());
    assert!(lock.try_write().is_none());
    drop(reader);
    assert!(lock.try_write_for(GLANCE).is_none() && lock.try_upgradable_read_for(GLANCE).is_none());
}
