//! Locks that inherit priorities among a process's own threads: owners by number, order and lending
//! by real-time priorities where the system allows them.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, mpsc};

use leeward_engine::abi::{FUTEX_OWNER_DIED as DIED, FUTEX_WAITERS as WAITERS, Numbers};
use leeward_engine::parking::{ParkingLot, now};
use leeward_engine::{Clock, Deadline, Errno, Inheritance, LockPi};

/// Waits until `what` holds, asleep in between: a real-time thread that checks all the time lets no
/// other thread run.
#[track_caller]
fn until(what: impl Fn() -> bool) {
    let start = std::time::Instant::now();
    while !what() {
        assert!(start.elapsed() < std::time::Duration::from_secs(20), "it did not come about within 20 s");
        std::thread::sleep(std::time::Duration::from_micros(200));
    }
}

fn lot() -> ParkingLot {
    ParkingLot::new(4).unwrap()
}

fn waiting(lot: &ParkingLot) -> u64 {
    lot.stats().waiters + lot.global_stats().waiters
}

fn soon() -> Option<Deadline> {
    Some(Deadline { clock: Clock::Monotonic, at: now(Clock::Monotonic) + 2_000_000 })
}

fn me() -> u32 {
    // SAFETY: no arguments.
    unsafe { libc::gettid() as u32 }
}

fn get(word: &AtomicU32) -> u32 {
    word.load(Ordering::SeqCst)
}

#[test]
fn one_thread_at_a_time_owns_a_lock() {
    struct Guarded(AtomicU32, UnsafeCell<u64>);
    // SAFETY: the lock's.
    unsafe impl Sync for Guarded {}
    let (lot, guarded) = (lot(), Guarded(AtomicU32::new(0), UnsafeCell::new(0)));
    std::thread::scope(|threads| {
        for i in 0..4 {
            let (lot, guarded) = (&lot, &guarded);
            threads.spawn(move || {
                for round in 0..2_000 {
                    // Acquire: what the former owner did.
                    let free = (0, me(), Ordering::Acquire, Ordering::Relaxed);
                    if guarded.0.compare_exchange(free.0, free.1, free.2, free.3).is_err() {
                        while lot.lock_pi(&guarded.0, if round % 3 == i % 3 { soon() } else { None })
                            == Ok(LockPi::TimedOut)
                        {}
                    }
                    let count = guarded.1.get();
                    // SAFETY: locked.
                    unsafe { *count += 1 };
                    // Release: partner: the next owner's exchange.
                    if guarded.0.compare_exchange(me(), 0, Ordering::Release, Ordering::Relaxed).is_err() {
                        assert_eq!(lot.unlock_pi(&guarded.0), Ok(()));
                    }
                }
            });
        }
    });
    assert_eq!((guarded.1.into_inner(), get(&guarded.0), waiting(&lot)), (8_000, 0, 0));
}

#[test]
fn owners_are_threads_of_this_process_and_circles_are_found() {
    let (lot, words) = (lot(), [const { AtomicU32::new(0) }; 2]);
    assert_eq!(lot.lock_pi(&words[0], None), Ok(LockPi::Acquired));
    assert_eq!(get(&words[0]), me());
    assert_eq!(lot.lock_pi(&words[0], None), Err(Errno::EDEADLK));
    std::thread::scope(|threads| {
        let other = threads.spawn(|| {
            assert_eq!(lot.unlock_pi(&words[0]), Err(Errno::EPERM));
            assert_eq!(lot.try_lock_pi(&words[0]), Ok(false));
            assert_eq!(lot.lock_pi(&words[0], soon()), Ok(LockPi::TimedOut));
            assert_eq!(lot.try_lock_pi(&words[1]), Ok(true));
            assert_eq!(lot.lock_pi(&words[0], None), Ok(LockPi::Acquired));
            assert_eq!((lot.unlock_pi(&words[0]), lot.unlock_pi(&words[1])), (Ok(()), Ok(())));
        });
        until(|| waiting(&lot) == 1 && get(&words[1]) != 0);
        assert_eq!(lot.lock_pi(&words[1], None), Err(Errno::EDEADLK));
        assert_eq!(lot.unlock_pi(&words[0]), Ok(()));
        other.join().unwrap();
    });
    // No thread has such a number; the other is another process's, or 0 where that is in another
    // namespace.
    // SAFETY: no arguments.
    let parent = unsafe { libc::getppid() } as u32;
    for number in [0x3fff_ffff, parent].into_iter().filter(|number| *number != 0) {
        words[0].store(number, Ordering::SeqCst);
        assert_eq!(lot.lock_pi(&words[0], None), Err(Errno::ESRCH));
    }
}

#[test]
fn the_locks_of_a_thread_that_ends_are_handed_on() {
    for _ in 0..50 {
        let (lot, word) = (lot(), AtomicU32::new(0));
        std::thread::scope(|threads| {
            let dying = threads.spawn(|| {
                assert_eq!(lot.lock_pi(&word, None), Ok(LockPi::Acquired));
                until(|| waiting(&lot) == 1);
                assert_eq!(lot.exit_thread(), 1);
            });
            until(|| get(&word) != 0);
            assert_eq!(lot.lock_pi(&word, None), Ok(LockPi::Acquired));
            assert_eq!(get(&word), me() | WAITERS | DIED);
            assert_eq!(lot.unlock_pi(&word), Ok(()));
            dying.join().unwrap();
        });
    }
}

#[test]
fn a_condition_variable_of_system_calls() {
    let (lot, words) = (lot(), [const { AtomicU32::new(0) }; 2]);
    // SAFETY: the words outlive the threads.
    let (engine, process) = unsafe { lot.parts() };
    let at = |i: usize| words[i].as_ptr().expose_provenance() as u64;
    let call = |arguments| engine.syscall(process, &Numbers::X86_64, 202, arguments);
    let (lock, unlock, wait, requeue) = (6 | 128, 7 | 128, 11 | 128, 12 | 128);
    assert_eq!(call([at(1), lock, 0, 0, 0, 0]), Some(0));
    std::thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| {
                assert_eq!(call([at(0), wait, 0, 0, at(1), 0]), Some(0));
                assert_eq!(get(&words[1]) & !WAITERS, me());
                assert_eq!(call([at(1), unlock, 0, 0, 0, 0]), Some(0));
            });
        }
        until(|| waiting(&lot) == 3);
        // No waiter is woken: the lock has an owner.
        assert_eq!(call([at(0), requeue, 1, 9, at(1), 0]), Some(3));
        assert_eq!((get(&words[1]), waiting(&lot)), (me() | WAITERS, 3));
        assert_eq!(call([at(1), unlock, 0, 0, 0, 0]), Some(0));
    });
    assert_eq!((get(&words[1]), waiting(&lot)), (0, 0));
}

/// Returns a thread's real-time level, or 0.
fn level(thread: u32) -> i32 {
    let mut parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: fills ours.
    assert_eq!(unsafe { libc::sched_getparam(thread as i32, &mut parameters) }, 0);
    parameters.sched_priority
}

/// Makes the calling thread run in real time from now on; returns false if it may not.
fn run_at(level: i32) -> bool {
    let parameters = libc::sched_param { sched_priority: level };
    let policy = if level == 0 { libc::SCHED_OTHER } else { libc::SCHED_FIFO };
    // SAFETY: parameters of ours.
    unsafe { libc::sched_setscheduler(0, policy, &parameters) == 0 }
}

fn may_run_in_real_time() -> bool {
    let may = std::thread::spawn(|| run_at(1)).join().unwrap();
    if !may {
        println!("skipped: this process may not have real-time threads");
    }
    may
}

#[test]
fn an_owner_runs_at_the_level_of_who_waits_and_of_several_the_most_urgent_comes_first() {
    if !may_run_in_real_time() {
        return;
    }
    let (lot, words) = (lot(), [const { AtomicU32::new(0) }; 2]);
    let order = Mutex::new(Vec::new());
    let owner = me();
    assert_eq!(lot.lock_pi(&words[0], None), Ok(LockPi::Acquired));
    std::thread::scope(|threads| {
        for (count, own, lent) in [(1, 0, 0), (2, 5, 5), (3, 3, 5), (4, 9, 9)] {
            let (lot, words, order) = (&lot, &words, &order);
            threads.spawn(move || {
                assert!(run_at(own));
                assert_eq!(lot.lock_pi(&words[0], None), Ok(LockPi::Acquired));
                order.lock().unwrap().push((own, level(me())));
                assert_eq!(lot.unlock_pi(&words[0]), Ok(()));
                assert_eq!(level(me()), own);
            });
            until(|| waiting(lot) == count && level(owner) == lent);
        }
        // SAFETY: the words outlive the threads.
        let (_, process) = unsafe { lot.parts() };
        assert_eq!(Inheritance::priority(process, u64::from(owner)).0, u32::MAX, "its own");
        // A thread that gives up takes its level with it.
        let timed = threads.spawn(|| (run_at(20), lot.lock_pi(&words[0], soon())));
        assert_eq!(timed.join().unwrap(), (true, Ok(LockPi::TimedOut)));
        until(|| level(owner) == 9);
        assert_eq!(lot.unlock_pi(&words[0]), Ok(()));
        assert_eq!(level(owner), 0);
        assert_eq!(process.refusals(), 0);
    });
    assert_eq!(order.into_inner().unwrap(), [(9, 9), (5, 5), (3, 3), (0, 0)]);
}

#[test]
fn through_a_chain_it_is_lent_to_all() {
    if !may_run_in_real_time() {
        return;
    }
    let (lot, words) = (lot(), [const { AtomicU32::new(0) }; 2]);
    assert_eq!(lot.lock_pi(&words[0], None), Ok(LockPi::Acquired));
    let owner = me();
    std::thread::scope(|threads| {
        let (tell, told) = mpsc::channel();
        let (lot, words) = (&lot, &words);
        let middle = threads.spawn(move || {
            assert_eq!(lot.lock_pi(&words[1], None), Ok(LockPi::Acquired));
            tell.send(me()).unwrap();
            assert_eq!(lot.lock_pi(&words[0], None), Ok(LockPi::Acquired));
            assert_eq!(level(me()), 7);
            assert_eq!((lot.unlock_pi(&words[0]), lot.unlock_pi(&words[1])), (Ok(()), Ok(())));
            assert_eq!(level(me()), 0);
        });
        let middle_number = told.recv().unwrap();
        until(|| waiting(lot) == 1);
        let urgent = threads.spawn(move || {
            assert!(run_at(7));
            assert_eq!(lot.lock_pi(&words[1], None), Ok(LockPi::Acquired));
            assert_eq!(lot.unlock_pi(&words[1]), Ok(()));
        });
        until(|| level(middle_number) == 7 && level(owner) == 7);
        assert_eq!(lot.unlock_pi(&words[0]), Ok(()));
        assert_eq!(level(owner), 0);
        middle.join().unwrap();
        urgent.join().unwrap();
    });
    assert_eq!((get(&words[0]), get(&words[1])), (0, 0));
}

/// Takes from the calling thread the right to change priorities.
fn give_up_the_right() {
    let header = [0x2008_0522_u32, 0];
    let nothing = [0_u32; 6];
    // SAFETY: arrays of ours, as large as that version says.
    assert_eq!(unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), nothing.as_ptr()) }, 0);
}

/// Returns true if only that right decides what a thread may do.
fn is_the_right_needed() -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: fills ours.
    assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_RTPRIO, &mut limit) }, 0);
    limit.rlim_cur == 0
}

#[test]
fn what_the_system_refuses_is_counted_and_the_lock_handed_off_all_the_same() {
    if !may_run_in_real_time() || !is_the_right_needed() {
        return;
    }
    let (lot, word, handed) = (lot(), AtomicU32::new(0), AtomicU32::new(0));
    // SAFETY: the word outlives the threads.
    let (_, process) = unsafe { lot.parts() };
    assert_eq!(lot.lock_pi(&word, None), Ok(LockPi::Acquired));
    std::thread::scope(|threads| {
        let plain = threads.spawn(|| {
            assert_eq!(lot.lock_pi(&word, None), Ok(LockPi::Acquired));
            assert_eq!(get(&handed), 1);
            lot.unlock_pi(&word)
        });
        until(|| waiting(&lot) == 1);
        let urgent = threads.spawn(|| {
            assert!(run_at(5));
            give_up_the_right();
            assert_eq!(lot.lock_pi(&word, None), Ok(LockPi::Acquired));
            handed.store(1, Ordering::SeqCst);
            lot.unlock_pi(&word)
        });
        until(|| waiting(&lot) == 2);
        assert_eq!((process.refusals(), level(me())), (1, 0));
        assert_eq!(Inheritance::current(process).number, me());
        assert_eq!(lot.unlock_pi(&word), Ok(()));
        assert_eq!(urgent.join().unwrap(), Ok(()));
        assert_eq!(plain.join().unwrap(), Ok(()));
    });
}
