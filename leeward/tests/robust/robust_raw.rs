//! The robust lock without guards, which C has, and the one with guards, on the same words: what
//! each owner finds after each kind of owner before it.

#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64", not(leeward_symmetric)))]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/robust.rs"]
mod robust;

use common::*;
use robust::*;

use std::sync::Mutex as Lock;
use std::thread;
use std::time::Duration;

use leeward::futex::{Deadline, Shared, Timeout};
use leeward::robust::raw::{RawMutex, Refusal};
use leeward::robust::{LockError, Mutex};

/// Held by each test that forks: children copy what other tests' threads hold.
static ALONE: Lock<()> = Lock::new(());

/// Returns one lock by its two names.
fn both() -> (&'static RawMutex, &'static Mutex<u64>) {
    let guarded = shared_mutex::<u64>();
    // SAFETY: the first field of the mutex, which is never unmapped.
    (unsafe { &*core::ptr::from_ref(guarded).cast::<RawMutex>() }, guarded)
}

/// Returns what came of a lock without a guard, in a word.
fn said(result: Result<bool, Refusal>) -> &'static str {
    match result {
        Ok(false) => "ok",
        Ok(true) => "owner died",
        Err(Refusal::NotRecoverable) => "not recoverable",
        Err(Refusal::WouldDeadlock) => "would deadlock",
        Err(Refusal::WouldBlock) => "would block",
        Err(Refusal::TimedOut) => "timed out",
        Err(Refusal::OwnerLost(_)) => "owner lost",
        Err(Refusal::NoList(_)) => "no list",
    }
}

fn lock(raw: &'static RawMutex) -> &'static str {
    said(raw.lock(Timeout::Never))
}

fn unlock(raw: &'static RawMutex) -> bool {
    // SAFETY: of these tests' locks, those that hold the caller's number were taken by it.
    unsafe { raw.unlock() }
}

/// Runs `work` on a thread that ends with what it holds. (The kernel's walk may come a little after
/// the return.)
fn dies(work: impl FnOnce() + Send) {
    thread::scope(|scope| {
        scope.spawn(work);
    });
}

#[test]
fn an_owner_that_died_is_reported_until_the_data_is_consistent() {
    let (raw, guarded) = both();
    dies(|| assert_eq!(lock(raw), "ok"));
    // Each of these dies while it repairs.
    for _ in 0..2 {
        dies(|| assert_eq!(lock(raw), "owner died"));
        dies(|| std::mem::forget(guarded.lock().unwrap_err()));
    }
    assert_eq!(lock(raw), "owner died");
    assert!(raw.mark_consistent());
    assert!(!raw.mark_consistent(), "marked already");
    assert!(unlock(raw));
    assert_eq!((lock(raw), unlock(raw)), ("ok", true));
    assert_eq!(outcome(guarded.lock()), "ok");
    assert!(walk().is_empty());
}

#[test]
fn an_owner_that_unlocks_without_repair_leaves_the_lock_unusable() {
    for is_raw in [true, false] {
        let (raw, guarded) = both();
        dies(|| assert_eq!(lock(raw), "ok"));
        if is_raw {
            assert_eq!((lock(raw), unlock(raw)), ("owner died", true));
        } else {
            drop(guarded.lock().unwrap_err());
        }
        assert!(raw.is_unrecoverable() && guarded.is_unrecoverable());
        assert_eq!((lock(raw), outcome(guarded.lock())), ("not recoverable", "not recoverable"));
        assert!(!unlock(raw) && !raw.mark_consistent());
    }
}

/// An owner with a guard does not look at what an owner without one left in the state.
#[test]
fn a_repair_by_a_guard_is_a_repair_for_all() {
    let (raw, guarded) = both();
    dies(|| assert_eq!(lock(raw), "ok"));
    dies(|| assert_eq!(lock(raw), "owner died"));
    assert_eq!(outcome(guarded.lock()), "owner died", "and repaired");
    assert_eq!((lock(raw), raw.mark_consistent(), unlock(raw)), ("ok", false, true));
    assert_eq!(outcome(guarded.lock()), "ok", "not made unusable by that unlock");
}

#[test]
fn a_thread_that_does_not_hold_the_lock_does_not_unlock_it() {
    let (raw, guarded) = both();
    assert!(!unlock(raw), "no thread holds it");
    assert_eq!(lock(raw), "ok");
    let mine = raw.owner();
    thread::scope(|scope| {
        scope.spawn(|| {
            assert!(!unlock(raw) && !raw.mark_consistent());
            assert_eq!(said(raw.lock(Timeout::Now)), "would block");
            let soon = Timeout::At(Deadline::after::<Shared>(Duration::from_millis(5)));
            assert_eq!(said(raw.lock(soon)), "timed out");
            assert!(matches!(guarded.try_lock(), Err(LockError::WouldBlock)));
        });
    });
    assert_eq!((lock(raw), raw.owner()), ("would deadlock", mine));
    assert_eq!(walk(), [core::ptr::from_ref(raw) as usize]);
    assert!(unlock(raw) && !unlock(raw));
    assert_eq!(raw.owner(), 0);
}

#[test]
fn the_child_of_a_fork_does_not_unlock_what_its_parent_holds() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("the_child_of_a_fork_does_not_unlock_what_its_parent_holds");
    let (raw, guarded) = both();
    assert_eq!(lock(raw), "ok");
    let number = child(|| {
        let refused = !unlock(raw) && !raw.mark_consistent();
        let held = said(raw.lock(Timeout::Now)) == "would block" && outcome(guarded.try_lock()) == "would block";
        i32::from(!(refused && held && walk().is_empty()))
    });
    must_end_well(number);
    assert!(unlock(raw));
    let number = child(|| i32::from(lock(raw) != "ok"));
    must_end_well(number);
    assert_eq!((lock(raw), raw.mark_consistent(), unlock(raw)), ("owner died", true, true));
}

#[test]
fn a_lock_whose_owner_is_lost_is_freed_by_name() {
    let (raw, guarded) = both();
    // A number that no thread has.
    const NOBODY: u32 = (1 << 22) + 1;
    word(guarded).store(NOBODY, std::sync::atomic::Ordering::SeqCst);
    let soon = Timeout::At(Deadline::after::<Shared>(Duration::from_millis(5)));
    assert!(matches!(raw.lock(soon), Err(Refusal::OwnerLost(NOBODY))));
    assert_eq!(raw.owner(), NOBODY);
    // SAFETY: there is no such thread.
    assert_eq!(unsafe { raw.declare_owner_dead(7) }, Ok(false));
    // SAFETY: as above.
    assert_eq!(unsafe { raw.declare_owner_dead(NOBODY) }, Ok(true));
    assert_eq!((lock(raw), raw.mark_consistent(), unlock(raw)), ("owner died", true, true));
}
