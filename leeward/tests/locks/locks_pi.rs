//! Priority-inheriting locks, and the thread's number that they hold.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/bare.rs"]
mod bare;
#[path = "../common/mod.rs"]
mod common;

use bare::with_bare_threads;
use common::*;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use leeward::pi::{Error, MappedMutexGuard, Mutex, MutexGuard};

const SHORT: Duration = Duration::from_millis(2);

#[test]
fn one_at_a_time() {
    let _dog = Watchdog::new("one_at_a_time");
    let count = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..2_000).for_each(|_| *count.lock().unwrap() += 1));
        }
    });
    assert_eq!(count.into_inner(), 8_000);
}

/// A guard of a part holds the lock; a closure that panics, or finds no part, leaves no lock behind.
#[test]
fn guards_of_parts() {
    let _dog = Watchdog::new("guards_of_parts");
    let lock = Mutex::new((1, vec![2]));
    let is_free = || thread::scope(|scope| scope.spawn(|| lock.try_lock().is_ok()).join().unwrap());
    let queue = MutexGuard::map(lock.lock().unwrap(), |value| &mut value.1);
    let mut first = MappedMutexGuard::map(queue, |queue| &mut queue[0]);
    *first = 3;
    assert!(!is_free());
    drop(first);
    assert!(is_free());
    let none = MutexGuard::try_map(lock.lock().unwrap(), |value| value.1.get_mut(1)).unwrap_err();
    assert_eq!((none.1[0], is_free()), (3, false));
    drop(none);
    panic_of(|| drop(MutexGuard::map(lock.lock().unwrap(), |value| &mut value.1[1])));
    assert!(is_free());
}

#[test]
fn deadlocks_are_errors() {
    let _dog = Watchdog::new("deadlocks_are_errors");
    let lock = Mutex::new(());
    let guard = lock.lock().unwrap();
    assert_eq!(lock.lock().unwrap_err(), Error::Deadlock);
    assert_eq!(lock.try_lock().unwrap_err(), Error::Deadlock);
    assert_eq!(lock.try_lock_for(SHORT).unwrap_err(), Error::Deadlock);
    drop(guard);
    // A circle of two: the thread that comes second gets the error.
    let locks = [Mutex::new(()), Mutex::new(())];
    let together = std::sync::Barrier::new(2);
    let told: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = [0, 1]
            .map(|mine| {
                let (locks, together) = (&locks, &together);
                scope.spawn(move || {
                    let _mine = locks[mine].lock().unwrap();
                    together.wait();
                    locks[1 - mine].lock().map(drop).is_err_and(|error| error == Error::Deadlock)
                })
            })
            .into();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(told.iter().filter(|&&told| told).count(), 1);
}

#[test]
fn times_out() {
    let _dog = Watchdog::new("times_out");
    let lock = Mutex::new(());
    let guard = lock.lock().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let start = Instant::now();
            assert_eq!(lock.try_lock_for(SHORT).unwrap_err(), Error::TimedOut);
            assert!(start.elapsed() >= SHORT);
            assert_eq!(lock.try_lock().unwrap_err(), Error::TimedOut);
        });
    });
    drop(guard);
    assert!(lock.try_lock_for(SHORT).is_ok());
}

#[test]
fn an_owner_that_has_gone() {
    let _dog = Watchdog::new("an_owner_that_has_gone");
    let lock = Arc::new(Mutex::new(()));
    let owner = Arc::clone(&lock);
    thread::spawn(move || std::mem::forget(owner.lock().unwrap())).join().unwrap();
    // The kernel may take a moment to forget the thread.
    eventually("its exit is known", || lock.try_lock_for(SHORT).is_err_and(|error| error == Error::OwnerGone));
    assert_eq!(lock.lock().unwrap_err(), Error::OwnerGone);
}

/// An owner exits while a thread waits: the kernel gives the waiter the lock, whose leaked guard
/// may still be in use.
#[test]
fn an_owner_that_goes_while_others_wait() {
    let _dog = Watchdog::new("an_owner_that_goes_while_others_wait");
    let lock = Arc::new(Mutex::new(()));
    let (locked, is_locked) = channel();
    let (go, told) = channel::<()>();
    let (number, numbers) = channel();
    let owner = Arc::clone(&lock);
    let owner = thread::spawn(move || {
        std::mem::forget(owner.lock().unwrap());
        locked.send(()).unwrap();
        told.recv().unwrap();
    });
    is_locked.recv().unwrap();
    let waiters: Vec<_> = [true, true, false]
        .map(|timed| {
            let (lock, number) = (Arc::clone(&lock), number.clone());
            thread::spawn(move || {
                // SAFETY: no arguments.
                number.send(unsafe { libc::gettid() }).unwrap();
                match timed {
                    true => lock.try_lock_for(Duration::from_secs(1_000)).map(drop),
                    false => lock.lock().map(drop),
                }
            })
        })
        .into();
    // The waiters are at the lock: one of them must be there when the owner exits, to be given it.
    let numbers: Vec<_> = numbers.iter().take(waiters.len()).collect();
    eventually("they sleep", || numbers.iter().all(|&number| is_asleep(number)));
    go.send(()).unwrap();
    owner.join().unwrap();
    for waiter in waiters {
        assert_eq!(waiter.join().unwrap(), Err(Error::OwnerGone));
    }
    assert_eq!(lock.try_lock().map(drop), Err(Error::OwnerGone));
    assert_eq!(lock.lock().map(drop), Err(Error::OwnerGone));
}

/// Keeps a thread of this process on the first processor that the calling one may use.
fn stay_on_one_processor(thread: libc::pid_t) {
    // SAFETY: zeroes are a set of no processor.
    let [mut allowed, mut one]: [libc::cpu_set_t; 2] = unsafe { std::mem::zeroed() };
    let size = size_of::<libc::cpu_set_t>();
    // SAFETY: fills ours.
    assert_eq!(unsafe { libc::sched_getaffinity(0, size, &mut allowed) }, 0);
    // SAFETY: reads ours.
    let first = (0..size * 8).find(|&at| unsafe { libc::CPU_ISSET(at, &allowed) }).unwrap();
    // SAFETY: changes ours.
    unsafe { libc::CPU_SET(first, &mut one) };
    // SAFETY: reads ours.
    assert_eq!(unsafe { libc::sched_setaffinity(thread, size, &one) }, 0);
}

/// Sets a thread's policy: `SCHED_IDLE` lets it run only where nothing else wants to. Returns false
/// where the system refuses.
fn set_policy(thread: libc::pid_t, policy: libc::c_int) -> bool {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: parameters of ours.
    unsafe { libc::sched_setscheduler(thread, policy, &parameters) == 0 }
}

/// An owner exits while a thread sleeps, which is kept from running then; and another thread comes.
/// Between the exit and the sleeper's first instruction, the kernel takes the lock's word for a
/// mistake of the program's.
#[test]
fn an_owner_that_goes_while_another_comes() {
    let _dog = Watchdog::new("an_owner_that_goes_while_another_comes");
    for _ in 0..10 {
        let lock = Mutex::new(());
        let (locked, is_locked) = channel();
        let (go, told) = channel::<()>();
        let (number, sleeper) = channel();
        let is_kept = AtomicBool::new(false);
        thread::scope(|scope| {
            let owner = scope.spawn(|| {
                std::mem::forget(lock.lock().unwrap());
                locked.send(()).unwrap();
                told.into_iter().next().unwrap();
            });
            is_locked.recv().unwrap();
            let sleeps = scope.spawn(|| {
                // SAFETY: no arguments.
                number.send(unsafe { libc::gettid() }).unwrap();
                lock.lock().map(drop)
            });
            let sleeper = sleeper.recv().unwrap();
            eventually("it sleeps", || is_asleep(sleeper));
            // Not before: on a busy machine it might never come to its sleep.
            stay_on_one_processor(sleeper);
            assert!(set_policy(sleeper, libc::SCHED_IDLE));
            let is_kept = &is_kept;
            let keeps = scope.spawn(move || {
                stay_on_one_processor(0);
                let start = Instant::now();
                while start.elapsed() < Duration::from_millis(30) {
                    is_kept.store(true, Ordering::SeqCst);
                }
                // Other programs may keep the processor for longer than a thread asks again. Where
                // the system refuses, the sleeper waits for them.
                set_policy(sleeper, libc::SCHED_OTHER);
            });
            eventually("its processor is taken", || is_kept.load(Ordering::SeqCst));
            go.send(()).unwrap();
            owner.join().unwrap();
            assert_eq!(lock.lock().map(drop), Err(Error::OwnerGone));
            assert_eq!(sleeps.join().unwrap(), Err(Error::OwnerGone));
            keeps.join().unwrap();
        });
    }
}

/// The child of a fork has a number of its own at once: it locks, learns of its own deadlock, and
/// unlocks what it held.
#[test]
fn right_after_fork() {
    let _dog = Watchdog::new("right_after_fork");
    let (held, free) = (Mutex::new(0), Mutex::new(0));
    let mut guard = held.lock().unwrap();
    // SAFETY: the child uses this library and atomics only.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: ends a child that hangs.
        unsafe { libc::alarm(10) };
        let work = || {
            let own = free.lock().unwrap();
            let is_known = free.lock().unwrap_err() == Error::Deadlock;
            drop(own);
            *guard = 1;
            // The word names a thread of the parent, for which a thread of the child cannot wait.
            let waits = || {
                let refused = [held.lock().map(drop), held.try_lock_for(Duration::from_secs(5)).map(drop)];
                assert_eq!(refused, [Err(Error::OwnerGone); 2]);
            };
            let is_known = is_known && with_bare_threads(1, waits, || ());
            drop(guard);
            is_known && held.lock().is_ok_and(|value| *value == 1) && held.try_lock().is_ok()
        };
        let fine = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or(false);
        // SAFETY: ends the child without running what belongs to the parent.
        unsafe { libc::_exit(i32::from(!fine)) }
    }
    assert!(child > 0, "fork failed");
    let mut status = 0;
    // SAFETY: `status` is ours to write.
    while unsafe { libc::waitpid(child, &mut status, 0) } != child {}
    assert_eq!(status, 0, "the child found something wrong");
    assert_eq!(*guard, 0);
}

/// Returns the kernel's own view of a thread's priority: field 18 of its `stat`, below 0 for
/// real-time threads.
fn priority_of(thread: i64) -> Option<i64> {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(15)?.parse().ok()
}

fn be_real_time(priority: i32) -> bool {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: parameters of ours, for the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) == 0 }
}

#[test]
fn the_owner_inherits() {
    let _dog = Watchdog::new("the_owner_inherits");
    static OWNER: AtomicI64 = AtomicI64::new(0);
    let lock = Mutex::new(());
    let is_refused = AtomicBool::new(false);
    let (locked, is_locked) = channel();
    let (unlock, told) = channel::<()>();
    thread::scope(|scope| {
        let (lock, is_refused) = (&lock, &is_refused);
        scope.spawn(move || {
            // SAFETY: has no precondition.
            OWNER.store(unsafe { libc::syscall(libc::SYS_gettid) } as i64, Ordering::Relaxed);
            let _guard = lock.lock().unwrap();
            locked.send(()).unwrap();
            told.recv().unwrap();
        });
        is_locked.recv().unwrap();
        let before = priority_of(OWNER.load(Ordering::Relaxed)).unwrap();
        assert!(before >= 0, "the owner is real-time already");
        scope.spawn(|| {
            // Priority 7 shows as -8.
            match be_real_time(7) {
                true => drop(lock.lock().unwrap()),
                false => is_refused.store(true, Ordering::Relaxed),
            }
        });
        let inherits = || priority_of(OWNER.load(Ordering::Relaxed)) == Some(-8);
        eventually("the owner runs with its waiter's priority", || inherits() || is_refused.load(Ordering::Relaxed));
        unlock.send(()).unwrap();
    });
    if is_refused.into_inner() {
        println!("skipped: this process may not have real-time threads");
    }
}
