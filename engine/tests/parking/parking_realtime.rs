//! Real-time threads in a parking lot: woken by their priority, and never kept from a bucket's lock
//! by a holder that they keep from running.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/realtime.rs"]
mod realtime;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use leeward_engine::parking::{ParkingLot, now};
use leeward_engine::{Clock, Deadline, LockPi, Wait, WaitAny, WaitEntry, Word};
use realtime::{may_run_in_real_time, run_at, share_a_processor, until};

fn lot() -> ParkingLot {
    ParkingLot::new(4).unwrap()
}

fn waiting(lot: &ParkingLot) -> u64 {
    lot.stats().waiters + lot.global_stats().waiters
}

/// Returns the order in which threads of these levels are woken that come one after the other, each
/// having run `first` before.
fn order(
    levels: &[i32],
    first: impl Fn(&ParkingLot, i32) + Sync,
    wait: impl Fn(&ParkingLot, &AtomicU32) + Sync,
) -> Vec<i32> {
    let (lot, word, order) = (lot(), AtomicU32::new(0), Mutex::new(Vec::new()));
    // What a thread runs before may be a wait too, which does not count.
    let ready = AtomicU32::new(0);
    std::thread::scope(|threads| {
        for (count, level) in (1..).zip(levels) {
            let (lot, word, order, ready, first, wait) = (&lot, &word, &order, &ready, &first, &wait);
            threads.spawn(move || {
                first(lot, *level);
                ready.fetch_add(1, Ordering::SeqCst);
                wait(lot, word);
                order.lock().unwrap().push(*level);
            });
            until(|| ready.load(Ordering::SeqCst) == count && waiting(lot) == u64::from(count));
        }
        for woken in 1..=levels.len() {
            assert_eq!(lot.wake(&word, 1), 1);
            until(|| order.lock().unwrap().len() == woken);
        }
    });
    order.into_inner().unwrap()
}

/// A deadline that is later than the whole test, so that a test that failed ends.
fn at_last() -> Option<Deadline> {
    Some(Deadline { clock: Clock::Monotonic, at: now(Clock::Monotonic) + 60_000_000_000 })
}

fn wait(lot: &ParkingLot, word: &AtomicU32) {
    assert_eq!(lot.wait(word, 0, at_last()), Wait::Woken);
}

#[test]
fn real_time_threads_are_woken_by_their_priority_and_before_all_others() {
    if !may_run_in_real_time() {
        return;
    }
    let run = |_: &ParkingLot, level| assert!(run_at(level));
    assert_eq!(order(&[0, 5, 9, 0, 5], run, wait), [9, 5, 5, 0, 0]);
    let wait_any = |lot: &ParkingLot, word: &AtomicU32| {
        // SAFETY: the word outlives the wait.
        let (engine, process) = unsafe { lot.parts() };
        let mut entries = [WaitEntry::new(Word::private(word.as_ptr().expose_provenance() as u64), 0)];
        assert_eq!(engine.waitv(process, &mut entries, at_last()), Ok(WaitAny::Woken(0)));
    };
    assert_eq!(order(&[0, 5, 9], run, wait_any), [9, 5, 0]);
}

#[test]
fn a_thread_that_has_waited_before_it_became_real_time_is_one() {
    if !may_run_in_real_time() {
        return;
    }
    let wait_and_run = |lot: &ParkingLot, level| {
        let other = AtomicU32::new(1);
        assert_eq!(lot.wait(&other, 1, Some(Deadline { clock: Clock::Monotonic, at: 1 })), Wait::TimedOut);
        assert!(run_at(level));
        // Longer than an earlier answer is used.
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(order(&[0, 5, 9], wait_and_run, wait), [9, 5, 0]);
}

#[test]
fn a_thread_that_is_lent_a_priority_waits_with_its_own() {
    if !may_run_in_real_time() {
        return;
    }
    let (lot, lock, word) = (lot(), AtomicU32::new(0), AtomicU32::new(0));
    let order = Mutex::new(Vec::new());
    std::thread::scope(|threads| {
        threads.spawn(|| {
            wait(&lot, &word);
            order.lock().unwrap().push("plain");
        });
        until(|| waiting(&lot) == 1);
        threads.spawn(|| {
            assert_eq!(lot.lock_pi(&lock, None), Ok(LockPi::Acquired));
            until(|| realtime::level(realtime::me()) == 5);
            wait(&lot, &word);
            order.lock().unwrap().push("lent");
            assert_eq!(lot.unlock_pi(&lock), Ok(()));
        });
        until(|| lock.load(Ordering::SeqCst) != 0);
        threads.spawn(|| {
            assert!(run_at(5));
            assert_eq!(lot.lock_pi(&lock, None), Ok(LockPi::Acquired));
            assert_eq!(lot.unlock_pi(&lock), Ok(()));
        });
        until(|| waiting(&lot) == 3);
        for woken in 1..=2 {
            assert_eq!(lot.wake(&word, 1), 1);
            until(|| order.lock().unwrap().len() == woken);
        }
    });
    assert_eq!(order.into_inner().unwrap(), ["plain", "lent"]);
}

/// How often a real-time thread has to get the lock.
const TIMES: u32 = 1_000;

/// Shares one processor: an ordinary thread runs `what` in a loop, and a real-time thread runs it
/// now and then, which preempts the other one anywhere.
fn beside_an_ordinary_one(what: impl Fn() + Sync) {
    let (count, over) = (AtomicU32::new(0), AtomicBool::new(false));
    let alone = || {
        share_a_processor();
        std::thread::scope(|threads| {
            threads.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    what();
                }
            });
            threads.spawn(|| {
                assert!(run_at(5));
                while !over.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_micros(200));
                    what();
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
            let start = std::time::Instant::now();
            while count.load(Ordering::Relaxed) < TIMES && start.elapsed() < Duration::from_secs(20) {
                std::thread::sleep(Duration::from_millis(5));
            }
            over.store(true, Ordering::Relaxed);
        });
    };
    std::thread::scope(|threads| threads.spawn(alone).join().unwrap());
    let count = count.load(Ordering::Relaxed);
    assert!(count >= TIMES, "{count} of {TIMES} in 20 s");
}

#[test]
fn a_real_time_thread_gets_a_lock_that_inherits_from_an_ordinary_one() {
    if may_run_in_real_time() {
        let (lot, lock) = (lot(), AtomicU32::new(0));
        beside_an_ordinary_one(|| {
            assert_eq!(lot.lock_pi(&lock, None), Ok(LockPi::Acquired));
            assert_eq!(lot.unlock_pi(&lock), Ok(()));
        });
    }
}

#[test]
fn a_real_time_thread_gets_the_lock_of_a_bucket_whose_holder_it_preempted() {
    if may_run_in_real_time() {
        let (lot, words) = (lot(), [const { AtomicU32::new(0) }; 2]);
        beside_an_ordinary_one(|| _ = lot.requeue(&words[0], 0, 1, &words[1], 1));
    }
}

/// A lock of a host that does not know its holders: the thread naps, and checks seldom enough to
/// let the other run.
#[test]
fn a_real_time_thread_that_spins_lets_an_ordinary_one_run() {
    if !may_run_in_real_time() {
        return;
    }
    let (taken, spins) = (AtomicBool::new(false), AtomicU32::new(0));
    let alone = || {
        share_a_processor();
        std::thread::scope(|threads| {
            threads.spawn(|| {
                taken.store(true, Ordering::SeqCst);
                let start = std::time::Instant::now();
                while start.elapsed() < Duration::from_millis(10) || spins.load(Ordering::SeqCst) < 100 {
                    std::hint::spin_loop();
                }
                taken.store(false, Ordering::SeqCst);
            });
            threads.spawn(|| {
                assert!(run_at(5));
                until(|| taken.load(Ordering::SeqCst));
                while taken.load(Ordering::SeqCst) {
                    leeward_engine::parking::spin(spins.fetch_add(1, Ordering::SeqCst));
                }
            });
        });
    };
    std::thread::scope(|threads| threads.spawn(alone).join().unwrap());
    // Some hundred naps; without them as many checks as there is time for in most of a second.
    assert!(spins.load(Ordering::SeqCst) < 100_000, "{spins:?} looks");
}
