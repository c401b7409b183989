//! The robust lock that is unlocked by a store: what its sleepers do for that, which processes
//! heavy fences reach, and what is left where fences are refused.

#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64", not(leeward_symmetric)))]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/robust.rs"]
mod robust;
#[path = "../common/seccomp.rs"]
mod seccomp;

use common::{Watchdog, alone, eventually};
use robust::*;
use seccomp::{Action, Rule, When, refuse};

use std::sync::Mutex as Lock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use leeward::fence;
use leeward::robust::{ByStore, LightMutex, LockError};

/// Held by each test that forks: children copy what other tests' threads hold.
static ALONE: Lock<()> = Lock::new(());

fn light() -> &'static LightMutex<u64> {
    shared_mutex_of::<u64, ByStore>()
}

/// Returns how many sleep, by the documented layout.
fn sleepers(mutex: &'static LightMutex<u64>) -> u32 {
    // SAFETY: within the mutex.
    let word = unsafe { &*core::ptr::from_ref(mutex).cast::<AtomicU32>().wrapping_add(2) };
    value(word) & 0x3f_ffff
}

fn is_raised(mutex: &'static LightMutex<u64>) -> bool {
    // SAFETY: within the mutex.
    value(unsafe { &*core::ptr::from_ref(mutex).cast::<AtomicU32>().wrapping_add(2) }) != 0
}

/// Returns true if the kernel lists this process: `MEMBARRIER_CMD_GET_REGISTRATIONS`, Linux 6.3;
/// before that, `None`.
fn is_registered() -> Option<bool> {
    // SAFETY: takes no pointer.
    let answer = unsafe { libc::syscall(libc::SYS_membarrier, 1 << 9, 0, 0) };
    (answer >= 0).then_some(answer & 1 << 2 != 0)
}

/// Holds the lock until a thread sleeps there, and unlocks; that thread must get the lock.
fn hand_over(mutex: &'static LightMutex<u64>) {
    let guard = mutex.lock().unwrap();
    let name = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            name.store(gettid() as u32, Ordering::SeqCst);
            mutex.lock().unwrap().with(|count| *count += 1);
        });
        eventually("it sleeps", || value(&name) != 0 && is_in_futex(value(&name) as i32));
        drop(guard);
    });
}

#[test]
fn whom_fences_reach() {
    let _alone = alone(&ALONE);
    let mutex = light();
    drop(mutex.lock().unwrap());
    let Some(is_registered_now) = is_registered() else { return println!("skipped: the kernel does not say") };
    assert!(is_registered_now);
    // A registration is the address space's, and a fork copies it.
    must_end_well(child(|| {
        drop(mutex.lock().unwrap());
        i32::from(is_registered() != Some(true))
    }));
}

#[test]
fn heavy_fences_do_not_multiply() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("heavy_fences_do_not_multiply");
    let mutex = light();
    let before = fence::counters().processes;
    for _ in 0..50 {
        hand_over(mutex);
    }
    let after = fence::counters().processes;
    // One fence, or one more where the owner was just leaving.
    assert!((1..=2).contains(&(after - before)), "{} fences", after - before);
    assert!(is_raised(mutex));
    assert_eq!(sleepers(mutex), 0);
    for _ in 0..600 {
        drop(mutex.lock().unwrap());
    }
    assert!(!is_raised(mutex), "unlocking is a store again");
    assert_eq!(value(word(mutex)), 0);
    assert_eq!(mutex.lock().unwrap().get(), 50);
}

#[test]
fn processes_count() {
    const EACH: u64 = 20_000;
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("processes_count");
    let mutex = light();
    let children: Vec<i32> = (0..3)
        .map(|_| {
            child(|| {
                for turn in 0..EACH {
                    let mut guard = mutex.lock().unwrap();
                    let seen = guard.get();
                    if turn % 1000 == 0 {
                        thread::sleep(Duration::from_micros(200));
                    }
                    guard.set(seen + 1);
                }
                0
            })
        })
        .collect();
    children.into_iter().for_each(must_end_well);
    assert_eq!(mutex.lock().unwrap().get(), 3 * EACH);
    assert_eq!(sleepers(mutex), 0);
}

#[test]
fn owners_and_waiters_killed() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("owners_and_waiters_killed");
    let mutex = light();
    for turn in 1..=20 {
        let inside = shared::<AtomicU32>();
        let owner = child(|| {
            let _guard = mutex.lock().unwrap();
            inside.store(1, Ordering::SeqCst);
            for_ever()
        });
        eventually("it is inside", || value(inside) == 1);
        let waiter = child(|| i32::from(mutex.lock().is_ok()));
        eventually("it sleeps", || is_in_futex(waiter));
        kill(waiter);
        reap(waiter);
        // It is still counted: from now on unlocking is an exchange, and nothing else is different.
        assert_eq!(sleepers(mutex), turn);
        kill(owner);
        let Err(LockError::OwnerDied(mut guard)) = mutex.lock() else { panic!("its death was not told") };
        guard.mark_consistent();
        drop(guard);
        reap(owner);
        hand_over(mutex);
        assert!(is_raised(mutex));
    }
}

const CASE: &str = "LEEWARD_TEST_CASE";

/// Starts this program again for one case: a process that has registered cannot take that back.
fn run(case: &str) {
    let _alone = alone(&ALONE);
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "case", "--ignored", "--nocapture", "--test-threads=1"]).env(CASE, case);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{case}: {}\n{said}\n{complained}", output.status);
}

#[test]
#[ignore = "started by the other tests"]
fn case() {
    match std::env::var(CASE).unwrap_or_default().as_str() {
        "eperm" => refused(Action::Errno(libc::EPERM)),
        "enosys" => refused(Action::Errno(libc::ENOSYS)),
        "enomem" => refused(Action::Errno(libc::ENOMEM)),
        "death" => refused(Action::Kill),
        other => println!("no such case: `{other}`"),
    }
}

/// Tries a child where membarrier is refused, as an owner for whose unlock a thread waits, and as a
/// waiter.
fn refused(action: Action) {
    let _dog = Watchdog::new("refused");
    let mutex = light();
    let turn = shared::<AtomicU32>();
    let outsider = child(|| {
        refuse(&[Rule::new(libc::SYS_membarrier, When::Always, action)]);
        let guard = mutex.lock().unwrap();
        turn.store(1, Ordering::SeqCst);
        eventually("the other sleeps", || value(turn) == 2);
        drop(guard);
        eventually("the other holds it", || value(turn) == 3);
        drop(mutex.lock().unwrap());
        // The unlock is an exchange; no thread sleeps.
        drop(mutex.lock().unwrap());
        i32::from(fence::counters().processes != 0)
    });
    eventually("the child is inside", || value(turn) == 1);
    let name = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            name.store(gettid() as u32, Ordering::SeqCst);
            let guard = mutex.lock().unwrap();
            turn.store(3, Ordering::SeqCst);
            // The child naps: it leaves the futex call again.
            eventually("the child sleeps", || is_in_futex(outsider));
            drop(guard);
        });
        eventually("it sleeps", || value(&name) != 0 && is_in_futex(value(&name) as i32));
        turn.store(2, Ordering::SeqCst);
    });
    must_end_well(outsider);
    assert_eq!(sleepers(mutex), 0);
}

#[test]
fn refused_with_eperm() {
    run("eperm");
}

#[test]
fn refused_with_enosys() {
    run("enosys");
}

#[test]
fn refused_with_death() {
    run("death");
}

#[test]
fn no_memory() {
    run("enomem");
}
