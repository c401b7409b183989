//! A robust guard that was copied by forks, until a child has the dead owner's very number: the
//! guard opens nothing there.

#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64", not(leeward_symmetric)))]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/robust.rs"]
mod robust;

use common::*;
use robust::*;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};

use leeward::robust::{AnyBytes, LockError, Mutex};

/// The exit code of a process in which there is nothing to test.
const SKIPPED: i32 = 77;

/// The kernel's `clone_args`, its first 80 bytes.
#[repr(C)]
#[derive(Default)]
struct CloneArgs {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
}

/// Forks a child of that very number, which must be free (Linux 5.5; needs rights over the pid
/// namespace). `None`: refused.
fn child_of_number(number: i32, work: impl FnOnce() -> i32) -> Option<i32> {
    let set_tid = [number];
    let arguments = CloneArgs {
        exit_signal: libc::SIGCHLD as u64,
        set_tid: set_tid.as_ptr() as u64,
        set_tid_size: 1,
        ..CloneArgs::default()
    };
    // SAFETY: a fork: the child has memory of its own. It uses this library, atomics and system
    // calls.
    match unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<CloneArgs>()) } {
        0 => {
            let code = catch_unwind(AssertUnwindSafe(work)).unwrap_or(99);
            // SAFETY: ends the child without running what belongs to the parent.
            unsafe { libc::_exit(code) }
        }
        child if child > 0 => {
            assert_eq!(child as i32, number);
            Some(number)
        }
        _ => None,
    }
}

#[repr(C)]
struct Shared {
    copied: Mutex<u64>,
    later: Mutex<u64>,
    number: AtomicU32,
    stage: AtomicU32,
}
// SAFETY: its fields are; it is never unmapped.
unsafe impl AnyBytes for Shared {}

static OTHER: Mutex<u64> = Mutex::new(0);

/// Runs in the child that has the dead owner's number; returns what it finds wrong, by bits.
fn in_namesake(mut guard: leeward::robust::Guard<u64>, shared: &'static Shared) -> i32 {
    assert_eq!(gettid() as u32, value(&shared.number));
    // Now the thread knows its number.
    drop(OTHER.lock().unwrap());
    let took = catch_unwind(AssertUnwindSafe(|| guard.with(|value| *value = 666))).is_ok();
    let read = catch_unwind(AssertUnwindSafe(|| guard.get())).is_ok();
    // This drop would unlink by the links of the lock's present owner, which lie in shared memory,
    // and open the lock if that owner has this number.
    drop(guard);
    i32::from(took) | i32::from(read) << 1 | i32::from(!walk().is_empty()) << 2
}

/// Runs in a child without other threads, with three processes: the owner, a child of it, and that
/// child's child, which gets the dead owner's number.
fn with_a_namesake() -> i32 {
    let shared = shared::<Shared>();
    let owner = child(|| {
        let mut guard = shared.copied.lock().ok();
        shared.number.store(gettid() as u32, Ordering::SeqCst);
        child(|| {
            while value(&shared.stage) != 1 {
                std::thread::yield_now();
            }
            let namesake = child_of_number(value(&shared.number) as i32, || in_namesake(guard.take().unwrap(), shared));
            let outcome = namesake.map_or(SKIPPED, |namesake| libc::WEXITSTATUS(reap(namesake)));
            shared.stage.store(2 + outcome as u32, Ordering::SeqCst);
            0
        });
        // The owner dies with the lock held. (Its children took their copies of the guard.) SAFETY:
        // ends the process.
        unsafe { libc::_exit(0) }
    });
    must_end_well(owner);
    let Err(LockError::OwnerDied(mut mine)) = shared.copied.lock() else { return 1 };
    mine.mark_consistent();
    mine.set(1);
    let later = shared.later.lock().unwrap();
    let before = walk();
    assert_eq!(before.len(), 2);
    shared.stage.store(1, Ordering::SeqCst);
    let outcome = loop {
        match value(&shared.stage) {
            1 => std::thread::yield_now(),
            stage => break stage as i32 - 2,
        }
    };
    if outcome == SKIPPED {
        return SKIPPED;
    }
    assert_eq!(outcome, 0, "the copied guard opened something");
    assert_eq!((mine.get(), walk()), (1, before), "what the owner has was written to");
    drop((mine, later));
    assert_eq!(outcome_of_both(shared), ["ok", "ok"]);
    0
}

fn outcome_of_both(shared: &'static Shared) -> [&'static str; 2] {
    [outcome(shared.copied.try_lock()), outcome(shared.later.try_lock())]
}

#[test]
fn a_child_with_the_dead_owners_number() {
    let _dog = Watchdog::new("a_child_with_the_dead_owners_number");
    let apart = child(|| {
        // Numbers of its own, and the right to give them, also where the tests run without
        // privileges. Where that is refused, the tests may run as root. SAFETY: this process has
        // one thread.
        unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWPID) };
        let status = reap(child(with_a_namesake));
        if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 98 }
    });
    let status = reap(apart);
    if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == SKIPPED {
        println!("skipped: a child's number cannot be chosen here");
        return;
    }
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "the child's status is {status:#x}");
}
