//! Threads that have reported their exit, and locks whose words still name them.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/exits.rs"]
mod exits;
#[path = "../common/realtime.rs"]
mod realtime;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use exits::{stayer, with_number};
use leeward_engine::abi::FUTEX_TID_MASK as OWNER;
use leeward_engine::parking::{ParkingLot, now};
use leeward_engine::{Clock, Deadline, Errno, LockPi};
use realtime::{me, until};

/// Keeps other tests from running: one of them has numbers given again.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn lot() -> ParkingLot {
    ParkingLot::new(4).unwrap()
}

fn within(millis: u64) -> Option<Deadline> {
    Some(Deadline { clock: Clock::Monotonic, at: now(Clock::Monotonic) + millis * 1_000_000 })
}

fn owner(word: &AtomicU32) -> u32 {
    word.load(Ordering::SeqCst) & OWNER
}

/// Takes a free lock without a call.
fn take(word: &AtomicU32) {
    assert_eq!(word.compare_exchange(0, me(), Ordering::SeqCst, Ordering::SeqCst), Ok(0));
}

#[test]
fn a_thread_that_told_its_exit_owns_nothing_as_long_as_it_runs_on() {
    let _alone = alone();
    let (lot, word) = (lot(), AtomicU32::new(0));
    std::thread::scope(|threads| {
        let told = stayer(threads, || {
            // No thread waits for it, and it is in no list: the exit does not know of it.
            take(&word);
            assert_eq!(lot.exit_thread(), 0);
        });
        assert_eq!(owner(&word), told.number);
        assert_eq!(lot.lock_pi(&word, within(1_000)), Err(Errno::ESRCH));
        assert_eq!(lot.try_lock_pi(&word), Err(Errno::ESRCH));
        told.let_go();
        assert_eq!(lot.lock_pi(&word, within(1_000)), Err(Errno::ESRCH));
    });
}

#[test]
fn an_exit_that_is_told_twice_is_one() {
    let _alone = alone();
    let (lot, word) = (lot(), AtomicU32::new(0));
    std::thread::scope(|threads| {
        let told = stayer(threads, || {
            assert_eq!(lot.exit_thread(), 0);
            take(&word);
            assert_eq!(lot.exit_thread(), 0);
        });
        assert_eq!(lot.lock_pi(&word, within(1_000)), Err(Errno::ESRCH));
        told.let_go();
    });
}

/// At moments that luck chooses; `parking_stepped.rs` does it at each instruction in turn.
#[test]
fn who_comes_while_a_thread_exits_is_told_or_gets_the_lock() {
    let _alone = alone();
    let lot = lot();
    for _ in 0..200 {
        let word = AtomicU32::new(0);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                take(&word);
                lot.exit_thread();
            });
            until_spinning(|| owner(&word) != 0);
            match lot.lock_pi(&word, within(20_000)) {
                Ok(LockPi::Acquired) => assert_eq!(lot.unlock_pi(&word), Ok(())),
                Err(Errno::ESRCH) => {}
                other => panic!("{other:?}"),
            }
        });
    }
}

fn until_spinning(what: impl Fn() -> bool) {
    while !what() {
        std::hint::spin_loop();
    }
}

/// In the child of a fork only the thread that forked exists.
#[test]
fn an_exit_that_was_told_before_a_fork_is_none_in_the_child() {
    let _alone = alone();
    let (lot, word) = (lot(), AtomicU32::new(0));
    std::thread::scope(|threads| {
        let told = stayer(threads, || assert_eq!(lot.exit_thread(), 0));
        let number = told.number;
        // SAFETY: the other thread waits; the child makes one call on a thread of its own, and
        // ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            until(|| !std::fs::exists(format!("/proc/{number}")).unwrap());
            let waited = with_number(number, || {
                take(&word);
                std::thread::scope(|threads| threads.spawn(|| lot.lock_pi(&word, within(100))).join().unwrap())
            });
            let is_owner = matches!(waited, None | Some(Ok(LockPi::TimedOut)));
            // SAFETY: ends the child.
            unsafe { libc::_exit(i32::from(!is_owner)) };
        }
        // The number is free, which nothing marks in the child.
        told.let_go();
        let mut status = 1;
        // SAFETY: our child.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0);
    });
}

/// The number is free at last, and given to another thread, which then owns the locks whose words
/// have it.
#[test]
fn another_thread_with_the_number_owns_its_locks() {
    let _alone = alone();
    for asked_between in [false, true] {
        let (lot, word) = (lot(), AtomicU32::new(0));
        let number = std::thread::scope(|threads| {
            let told = stayer(threads, || {
                take(&word);
                assert_eq!(lot.exit_thread(), 0);
            });
            let number = told.number;
            told.let_go();
            number
        });
        // Gone for the kernel, and not only for the standard library.
        until(|| !std::fs::exists(format!("/proc/self/task/{number}")).unwrap());
        if asked_between {
            assert_eq!(lot.lock_pi(&word, within(1_000)), Err(Errno::ESRCH));
        }
        word.store(0, Ordering::SeqCst);
        let waited = with_number(number, || {
            take(&word);
            std::thread::scope(|threads| {
                let waiting = threads.spawn(|| lot.lock_pi(&word, within(20_000)));
                until(|| waiting.is_finished() || lot.stats().waiters + lot.global_stats().waiters == 1);
                _ = lot.unlock_pi(&word);
                waiting.join().unwrap()
            })
        });
        assert!(matches!(waited, None | Some(Ok(LockPi::Acquired))), "{waited:?}");
    }
}
