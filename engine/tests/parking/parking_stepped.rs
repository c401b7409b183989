//! Threads of a parking lot that are held at each instruction of a call in turn, while other
//! threads run.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(missing_docs)]

#[path = "../common/differential.rs"]
mod differential;
#[path = "../common/realtime.rs"]
mod realtime;
#[path = "../common/step.rs"]
mod step;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use differential::sleep_in_a_wait;
use leeward_engine::parking::{ParkingLot, expect_real_time};
use leeward_engine::{Errno, LockPi, Word};
use realtime::{may_run_in_real_time, me, run_at, share_a_processor, until};
use step::{alone, stepped};

fn lot() -> &'static ParkingLot {
    static LOT: OnceLock<ParkingLot> = OnceLock::new();
    LOT.get_or_init(|| ParkingLot::new(4).unwrap())
}

/// How far the test has gone; changed by the handler too.
static STAGE: AtomicU32 = AtomicU32::new(0);

fn futex(operation: i32, value: u32) {
    // SAFETY: a word of ours.
    unsafe { libc::syscall(libc::SYS_futex, STAGE.as_ptr(), operation | libc::FUTEX_PRIVATE_FLAG, value, 0, 0, 0) };
}

/// Raises the stage; never lowers it.
fn go_to(stage: u32) {
    STAGE.fetch_max(stage, Ordering::SeqCst);
    futex(libc::FUTEX_WAKE, i32::MAX as u32);
}

fn await_stage(stage: u32) {
    loop {
        let now = STAGE.load(Ordering::SeqCst);
        if now >= stage {
            return;
        }
        futex(libc::FUTEX_WAIT, now);
    }
}

/// The word of the lock that other threads want.
static LOCK: AtomicU32 = AtomicU32::new(0);

/// The handler that holds its thread until the other threads are as far as they can get. Then it
/// wakes at the bucket where they wait.
fn hold() {
    go_to(1);
    await_stage(2);
    // SAFETY: the word is static.
    let (engine, process) = unsafe { lot().parts() };
    let word = Word::private(LOCK.as_ptr().expose_provenance() as u64);
    // An error: the other thread waits for a lock there.
    _ = engine.wake(process, word, 1, u32::MAX);
}

/// A thread that wants a lock of an exiting thread gets it, or learns that it has no owner; also as
/// long as the exiting thread runs on, and where a handler on that thread wakes at the same bucket.
#[test]
fn who_comes_at_any_moment_of_an_exit_does_not_wait_for_ever() {
    let _alone = alone();
    let mut told = [0, 0];
    for at in (1..).step_by(11) {
        let (word, number, come) = (&LOCK, AtomicU32::new(0), AtomicU32::new(0));
        word.store(0, Ordering::SeqCst);
        STAGE.store(0, Ordering::SeqCst);
        let acted = std::thread::scope(|threads| {
            let exiting = threads.spawn(|| {
                assert_eq!(word.compare_exchange(0, me(), Ordering::SeqCst, Ordering::SeqCst), Ok(0));
                let (acted, _) = stepped(at, hold, || lot().exit_thread());
                go_to(2);
                // The thread runs on.
                await_stage(3);
                acted
            });
            await_stage(1);
            let coming = threads.spawn(|| {
                number.store(me(), Ordering::SeqCst);
                let end = lot().lock_pi(word, None);
                come.store(1, Ordering::SeqCst);
                end
            });
            let is_asleep = || {
                let number = number.load(Ordering::SeqCst);
                number != 0 && sleep_in_a_wait(number as i32).is_some()
            };
            // It may be spinning for a lock of the engine's, if the other thread is held with that
            // lock.
            let start = std::time::Instant::now();
            until(|| coming.is_finished() || is_asleep() || start.elapsed() > Duration::from_millis(10));
            go_to(2);
            while come.load(Ordering::SeqCst) == 0 && start.elapsed() < Duration::from_secs(20) {
                std::thread::sleep(Duration::from_micros(100));
            }
            let has_come = come.load(Ordering::SeqCst) == 1;
            if !has_come {
                // The test has failed; the thread that sleeps there is left.
                eprintln!("before instruction {at}: it waits for a thread that told its exit");
                std::process::abort();
            }
            match coming.join().unwrap() {
                Ok(LockPi::Acquired) => told[0] += 1,
                Err(Errno::ESRCH) => told[1] += 1,
                other => panic!("before instruction {at}: {other:?}"),
            }
            go_to(3);
            exiting.join().unwrap()
        });
        if !acted {
            assert!(at > 100, "{at} instructions were stepped");
            break;
        }
    }
    assert!(told[0] > 0 && told[1] > 0, "{told:?}");
}

static WORDS: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];
static GAVE_UP: AtomicBool = AtomicBool::new(false);
static DONE: AtomicBool = AtomicBool::new(false);

fn take_a_lock() {
    lot().requeue(&WORDS[0], 0, 1, &WORDS[1], 1);
}

/// The handler that lets the real-time threads run: on this processor they run before this thread
/// goes on.
fn let_them_run() {
    go_to(1);
}

/// Returns the calling thread's processor time.
fn time_used() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills ours.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) }, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// On one processor an ordinary thread is preempted at an instruction of a call, by a thread of
/// middling urgency that wants the processor for good, and by an urgent thread that wants the same
/// lock. Where the ordinary thread holds the lock, it runs before the middling one until it has
/// given the lock up.
#[test]
fn the_holder_of_a_buckets_lock_runs_as_urgently_as_who_wants_it() {
    if !may_run_in_real_time() {
        return;
    }
    let _alone = alone();
    expect_real_time();
    let one_processor = || {
        share_a_processor();
        let mut at = 1;
        loop {
            STAGE.store(0, Ordering::SeqCst);
            DONE.store(false, Ordering::SeqCst);
            let ready = AtomicU32::new(0);
            let acted = std::thread::scope(|threads| {
                threads.spawn(|| {
                    assert!(run_at(5));
                    ready.fetch_add(1, Ordering::SeqCst);
                    await_stage(1);
                    while !DONE.load(Ordering::SeqCst) {
                        if time_used() > Duration::from_millis(300) {
                            GAVE_UP.store(true, Ordering::SeqCst);
                            return;
                        }
                    }
                });
                threads.spawn(|| {
                    assert!(run_at(10));
                    ready.fetch_add(1, Ordering::SeqCst);
                    await_stage(1);
                    take_a_lock();
                    DONE.store(true, Ordering::SeqCst);
                });
                until(|| ready.load(Ordering::SeqCst) == 2);
                let ordinary = threads.spawn(|| stepped(at, let_them_run, take_a_lock).0);
                let acted = ordinary.join().unwrap();
                go_to(1);
                acted
            });
            assert!(
                !GAVE_UP.load(Ordering::SeqCst),
                "before instruction {at} an urgent thread waits for an ordinary one"
            );
            if !acted {
                assert!(at > 100, "{at} instructions were stepped");
                return;
            }
            at += 7;
        }
    };
    std::thread::scope(|threads| threads.spawn(one_processor).join().unwrap());
}

fn other() -> &'static ParkingLot {
    static OTHER: OnceLock<ParkingLot> = OnceLock::new();
    OTHER.get_or_init(|| ParkingLot::new(4).unwrap())
}

/// The handler of a thread that holds a lock of the other lot: it runs until the test is over.
fn stay() {
    go_to(1);
    await_stage(4);
}

/// The handler of a thread that holds the wanted lock: it runs until the real-time thread had time
/// to come for the lock.
fn stay_a_while() {
    go_to(2);
    await_stage(3);
}

/// A real-time thread that wants a lock does not know which of the holders has it: a holder of
/// another lock, which is in a handler for long, keeps it for a moment only.
#[test]
fn a_holder_in_a_long_handler_keeps_nobody_from_other_locks() {
    if !may_run_in_real_time() {
        return;
    }
    let _alone = alone();
    expect_real_time();
    for at in (1..).step_by(11) {
        STAGE.store(0, Ordering::SeqCst);
        let (number, has_come) = (AtomicU32::new(0), AtomicBool::new(false));
        let acted = std::thread::scope(|threads| {
            // Started first, so that its number is lower: holders are asked in that order.
            threads.spawn(|| {
                stepped(at, stay, || other().requeue(&WORDS[0], 0, 1, &WORDS[1], 1));
                go_to(1);
            });
            await_stage(1);
            let holding = threads.spawn(|| {
                let (acted, ()) = stepped(at, stay_a_while, take_a_lock);
                go_to(2);
                acted
            });
            await_stage(2);
            threads.spawn(|| {
                assert!(run_at(5));
                number.store(me(), Ordering::SeqCst);
                take_a_lock();
                has_come.store(true, Ordering::SeqCst);
            });
            let has_come = || has_come.load(Ordering::SeqCst);
            let is_asleep = || sleep_in_a_wait(number.load(Ordering::SeqCst) as i32).is_some();
            until(|| number.load(Ordering::SeqCst) != 0);
            let start = std::time::Instant::now();
            until(|| has_come() || is_asleep() || start.elapsed() > Duration::from_millis(10));
            go_to(3);
            while !has_come() && start.elapsed() < Duration::from_secs(20) {
                std::thread::sleep(Duration::from_micros(100));
            }
            if !has_come() {
                // The test has failed; the thread that sleeps there is left.
                eprintln!("before instruction {at}: it waits for a thread that has another lock");
                std::process::abort();
            }
            go_to(4);
            holding.join().unwrap()
        });
        if !acted {
            assert!(at > 100, "{at} instructions were stepped");
            break;
        }
    }
}
