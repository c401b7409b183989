//! Killed at every instruction: a child is single-stepped by ptrace through lock, work and unlock,
//! a step further each time, and killed there. The lock is never lost, the waiter gets it, and
//! half-written data is announced.

#![cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64", not(leeward_symmetric)))]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/robust.rs"]
mod robust;
#[path = "../common/step.rs"]
mod step;

use common::{Watchdog, eventually, patience};
use robust::*;
use step::Trail;

use std::io;
use std::sync::atomic::{AtomicU32, Ordering, compiler_fence};
use std::thread;
use std::time::Duration;

use leeward::robust::{ByExchange, ByStore, Guard, LockError, Mutex, Unlock};

fn traced_child(work: impl FnOnce()) -> i32 {
    let child = child(|| {
        assert!(step::let_the_parent_trace());
        work();
        0
    });
    assert_eq!(step::wait(child).unwrap(), Some(libc::SIGSTOP));
    child
}

/// Steps the child `count` instructions, then kills it, if it has not ended before.
fn step_and_kill(trail: &mut Trail, child: i32, count: usize) {
    if trail.steps(child, count).unwrap() {
        kill(child);
        reap(child);
    }
}

/// Stores a mark that processor and compiler leave where it stands among the lock's own accesses,
/// as a debugger sees it.
fn mark(word: &AtomicU32, value: u32) {
    compiler_fence(Ordering::SeqCst);
    word.store(value, Ordering::SeqCst);
    compiler_fence(Ordering::SeqCst);
}

fn get<U: Unlock>(mutex: &'static Mutex<[u32; 2], U>, at: usize) -> (Guard<[u32; 2], U>, bool) {
    match mutex.try_lock_for(Duration::from_millis(100)) {
        Ok(guard) => (guard, false),
        Err(LockError::OwnerDied(guard)) => (guard, true),
        Err(error) => panic!("killed at instruction {at}: {error}"),
    }
}

fn lock_work_unlock<U: Unlock>() {
    let _dog = Watchdog::within("lock_work_unlock", 30 * patience());
    let mutex = shared_mutex_of::<[u32; 2], U>();
    let inside = shared::<AtomicU32>();
    let (mut told, mut trail) = (0, Trail::default());
    while let Some(at) = trail.next(1) {
        mark(inside, 0);
        let child = traced_child(|| {
            // What a thread asks once is asked before.
            drop(mutex.lock().unwrap());
            step::stop();
            let mut guard = mutex.lock().unwrap();
            mark(inside, 1);
            guard.with(|record| {
                // SAFETY: a place of ours; the compiler must not make one store of the two.
                unsafe { (&raw mut record[0]).write_volatile(at as u32) };
                // SAFETY: as above.
                unsafe { (&raw mut record[1]).write_volatile(at as u32) };
            });
            mark(inside, 0);
            drop(guard);
        });
        step_and_kill(&mut trail, child, at);
        let (mut guard, died) = get(mutex, at);
        let [one, other] = guard.get();
        assert!(died || one == other, "killed at instruction {at}: half a record and no word of it");
        assert!(died || value(inside) == 0, "killed at instruction {at}, inside: nobody was told");
        guard.set([0, 0]);
        guard.mark_consistent();
        drop(guard);
        assert!(!get(mutex, at).1);
        told += u32::from(died);
    }
    let at = trail.place();
    println!("{at} instructions, {told} of them with the lock held");
    assert!(told > 10 && at > 100, "{told} of {at}");
}

/// The child is killed at every instruction of its unlock, while another thread sleeps.
fn unlock_with_a_waiter<U: Unlock>() {
    let _dog = Watchdog::within("unlock_with_a_waiter", 30 * patience());
    let mutex = shared_mutex_of::<[u32; 2], U>();
    let mut trail = Trail::default();
    while let Some(at) = trail.next(1) {
        let child = traced_child(|| {
            let guard = mutex.lock().unwrap();
            step::stop();
            drop(guard);
        });
        let (name, through) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                name.store(gettid() as u32, Ordering::SeqCst);
                drop(mutex.lock().or_else(|error| error.repair(|_| ())).unwrap());
                through.store(1, Ordering::SeqCst);
            });
            eventually("it sleeps", || value(&name) != 0 && is_in_futex(value(&name) as i32));
            step_and_kill(&mut trail, child, at);
            let start = std::time::Instant::now();
            while value(&through) == 0 {
                if start.elapsed() > patience() {
                    eprintln!("killed at instruction {at}: the waiter sleeps on");
                    std::process::exit(101);
                }
                thread::sleep(Duration::from_micros(50));
            }
        });
        assert!(!get(mutex, at).1);
        if trail.is_over() {
            println!("{at} instructions");
            assert!(at > 50);
            return;
        }
    }
}

/// Waits until the child stops, or sleeps: then there is no signal.
fn wait_or_sleep(child: i32) -> io::Result<Option<i32>> {
    let mut status = 0;
    for tries in 1.. {
        // SAFETY: `status` is ours to write.
        if unsafe { libc::waitpid(child, &mut status, libc::WNOHANG | libc::__WALL) } != 0 {
            break;
        }
        // The child has this processor, and mostly has stopped then. To ask where it sleeps takes longer.
        thread::yield_now();
        if tries % 8 == 0 && is_in_futex(child) {
            return Ok(None);
        }
    }
    Ok(libc::WIFSTOPPED(status).then(|| libc::WSTOPSIG(status)))
}

/// A waiter is killed at every instruction of its way to sleep; another one sleeps already.
fn waiter<U: Unlock>(stride: usize) {
    let _dog = Watchdog::within("waiter", 30 * patience());
    let mutex = shared_mutex_of::<[u32; 2], U>();
    let mut trail = Trail::default();
    // Not at every one: the way is long, and spins.
    while let Some(at) = trail.next(stride) {
        let guard = mutex.lock().unwrap();
        let second = child(|| {
            drop(mutex.lock().or_else(|error| error.repair(|_| ())).unwrap());
            0
        });
        eventually("it sleeps", || is_in_futex(second));
        let first = traced_child(|| {
            step::stop();
            drop(mutex.lock().or_else(|error| error.repair(|_| ())).unwrap());
        });
        trail.steps_with(first, at, wait_or_sleep).unwrap();
        // Alternately before the release and after it.
        if at % 2 == 0 {
            kill(first);
            drop(guard);
        } else {
            drop(guard);
            kill(first);
        }
        reap(first);
        must_end_well(second);
        let (mut guard, _) = get(mutex, at);
        guard.mark_consistent();
        drop(guard);
        if trail.is_over() {
            println!("asleep after {at} instructions");
            return;
        }
    }
}

/// No process is killed: the owner is stopped before each instruction of its unlock, another thread
/// comes and goes to sleep, and the owner goes on.
fn unlock_while_somebody_comes<U: Unlock>() {
    let _dog = Watchdog::within("unlock_while_somebody_comes", 30 * patience());
    let mut trail = Trail::default();
    while let Some(at) = trail.next(1) {
        // A fresh mutex, on which no thread has slept.
        let mutex = shared_mutex_of::<[u32; 2], U>();
        let child = traced_child(|| {
            drop(mutex.lock().unwrap());
            let guard = mutex.lock().unwrap();
            step::stop();
            drop(guard);
            step::stop();
        });
        let is_inside = trail.steps(child, at).unwrap();
        let (name, through) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                name.store(gettid() as u32, Ordering::SeqCst);
                drop(mutex.lock().unwrap());
                through.store(1, Ordering::SeqCst);
            });
            eventually("it sleeps, or is through", || {
                value(&through) != 0 || value(&name) != 0 && is_in_futex(value(&name) as i32)
            });
            if is_inside {
                assert_eq!(step::go_on(child).unwrap(), Some(libc::SIGSTOP));
            }
            let start = std::time::Instant::now();
            while value(&through) == 0 {
                if start.elapsed() > patience() {
                    eprintln!("stopped at instruction {at}: the waiter sleeps on");
                    std::process::exit(101);
                }
                thread::sleep(Duration::from_micros(50));
            }
        });
        kill(child);
        reap(child);
        if trail.is_over() {
            println!("{at} instructions");
            assert!(at > 20);
            return;
        }
    }
}

mod by_exchange {
    use super::*;

    #[test]
    fn lock_work_unlock() {
        super::lock_work_unlock::<ByExchange>();
    }

    #[test]
    fn unlock_with_a_waiter() {
        super::unlock_with_a_waiter::<ByExchange>();
    }

    #[test]
    fn waiter() {
        super::waiter::<ByExchange>(3);
    }
}

mod by_store {
    use super::*;

    #[test]
    fn lock_work_unlock() {
        super::lock_work_unlock::<ByStore>();
    }

    #[test]
    fn unlock_with_a_waiter() {
        super::unlock_with_a_waiter::<ByStore>();
    }

    #[test]
    fn unlock_while_somebody_comes() {
        super::unlock_while_somebody_comes::<ByStore>();
    }

    #[test]
    fn waiter() {
        super::waiter::<ByStore>(13);
    }
}
