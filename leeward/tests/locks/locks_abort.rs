//! Where locking cannot go on, the process ends with a sentence, since a thread that holds a guard
//! could catch a panic. And sandboxes in which no heavy fence is possible. Each case is a process
//! of its own: this program, started again.

#![cfg(all(target_os = "linux", not(leeward_symmetric)))]
#![allow(missing_docs)]

#[path = "../common/cases.rs"]
mod cases;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/processes.rs"]
mod processes;
#[path = "../common/seccomp.rs"]
mod seccomp;

use cases::passes;
use common::*;
use processes::{child, status_of};
use seccomp::{Action, Rule, When, refuse};

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use leeward::asym;
use leeward::fence::{self, Error};
use leeward::sync::{LightMutex, RwLock, RwLockReadGuard};

/// Asserts that the case ends by SIGABRT, with this sentence and no other.
#[track_caller]
fn aborts(case: &str, sentence: &str) -> String {
    let said = cases::aborts(case, sentence);
    let panics = said.matches("panicked").count() + said.matches("panic in").count() + said.matches("aborting").count();
    assert_eq!((panics, said.matches("leeward:").count()), (1, 1), "more than one sentence:\n{said}");
    said
}

/// As `aborts`, where the sentence comes with the line of this file that locks.
#[track_caller]
fn aborts_here(case: &str, sentence: &str) {
    let said = aborts(case, sentence);
    assert!(said.contains(&format!("panicked at {}:", file!())), "another file is named:\n{said}");
}

#[test]
fn an_owner_that_locks_twice() {
    aborts_here("owner_locks_twice", "a thread locks an asym::Mutex that it holds");
}

#[test]
fn a_reader_that_writes() {
    aborts_here("reader_writes", "a thread writes an asym::RwLock that it reads");
    aborts_here("reader_upgrades", "a thread upgrades an asym::RwLock that it reads twice");
}

/// A panic would be unsound: the guard outlives the lock that is not taken again.
#[test]
fn guards_that_are_unlocked_for_a_while() {
    aborts("unlocked_mutex", "a thread locks an asym::Mutex that it holds");
    aborts("unlocked_writer", "a thread writes an asym::RwLock that it reads");
    aborts("unlocked_reader", "a RwLock has more readers than it can count");
}

#[test]
fn a_light_mutex_where_no_heavy_fence_is_possible() {
    aborts("light_mutex", &Error::NoStrategy.to_string());
}

#[test]
fn asymmetric_locks_are_ordinary_ones_where_no_heavy_fence_is_possible() {
    passes("unbiased");
}

/// In a process of one thread there is no thread to signal, and yet the error is reported.
#[test]
fn a_process_of_one_thread_is_told_that_no_heavy_fence_is_possible() {
    passes("told_alone");
}

fn refuse_every_fence() {
    refuse(&[
        Rule::new(libc::SYS_membarrier, When::Always, Action::Errno(libc::ENOSYS)),
        Rule::new(libc::SYS_rt_tgsigqueueinfo, When::Always, Action::Errno(libc::EPERM)),
        Rule::new(libc::SYS_sched_setaffinity, When::Always, Action::Errno(libc::EPERM)),
    ]);
}

fn unlocked_mutex() {
    let mutex = asym::Mutex::new(1);
    drop(mutex.lock());
    let (mut stash, mut guard) = (None, mutex.lock());
    let caught = catch_unwind(AssertUnwindSafe(|| {
        asym::MutexGuard::unlocked(&mut guard, || stash = Some(mutex.lock()));
    }));
    println!("two guards: {} {}", *guard, caught.is_err());
}

fn unlocked_writer() {
    let lock = asym::RwLock::new(1);
    let (mut stash, mut guard) = (None, lock.write());
    let caught = catch_unwind(AssertUnwindSafe(|| {
        asym::RwLockWriteGuard::unlocked(&mut guard, || stash = Some(lock.read()));
    }));
    println!("a reader and a writer: {} {}", *guard, caught.is_err());
}

fn unlocked_reader() {
    let lock = RwLock::new(1);
    let (mut others, mut guard) = (Vec::new(), lock.read());
    let caught = catch_unwind(AssertUnwindSafe(|| {
        RwLockReadGuard::unlocked(&mut guard, || {
            while let Some(reader) = lock.try_read() {
                others.push(reader);
            }
        });
    }));
    println!("a reader that is not counted: {} {}", *guard, caught.is_err());
}

fn light_mutex() {
    refuse_every_fence();
    let mutex = LightMutex::new(0);
    let guard = mutex.lock();
    thread::scope(|scope| {
        scope.spawn(|| *mutex.lock() += 1);
        eventually("it ends", || false);
    });
    drop(guard);
}

fn unbiased() {
    refuse_every_fence();
    let (lock, mutex) = (asym::RwLock::new(0_u64), asym::Mutex::new(0_u64));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for turn in 0..2000 {
                    *mutex.lock() += 1;
                    if turn % 8 == 0 {
                        *lock.write() += 1;
                    }
                    let _nested = (lock.read(), lock.read());
                }
            });
        }
    });
    // SAFETY: only shown.
    assert!(format!("{:?}", unsafe { lock.raw() }).contains("is_open: false"));
    assert_eq!((*lock.read(), *mutex.lock(), fence::counters().total()), (500, 4000, 0));
}

fn told_alone() {
    let child = child(|| {
        refuse_every_fence();
        fence::init() == Err(Error::NoStrategy) && fence::try_heavy() == Err(Error::NoStrategy)
    });
    assert_eq!(status_of(child), 0);
}

/// Runs, in a process that was started for a case, that case.
#[test]
#[ignore = "started by the other tests"]
fn case() {
    let _dog = Watchdog::new("case");
    match cases::current().as_str() {
        "owner_locks_twice" => {
            let mutex = asym::Mutex::new(());
            drop(mutex.lock());
            let _guard = mutex.lock();
            drop(mutex.lock());
        }
        "reader_writes" => {
            let lock = asym::RwLock::new(());
            let _reader = lock.read();
            drop(lock.write());
        }
        "reader_upgrades" => {
            let lock = asym::RwLock::new(());
            let (upgradable, _reader) = (lock.upgradable_read(), lock.read());
            drop(asym::RwLockUpgradableReadGuard::upgrade(upgradable));
        }
        "unlocked_mutex" => unlocked_mutex(),
        "unlocked_writer" => unlocked_writer(),
        "unlocked_reader" => unlocked_reader(),
        "light_mutex" => light_mutex(),
        "unbiased" => unbiased(),
        "told_alone" => told_alone(),
        other => println!("no such case: `{other}`"),
    }
}
