//! The condition variable: each scheme with each lock, no lost wake-up, time-outs, two processes.
//! (Stolen wake-ups, and system calls: condvar_order.rs.)

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[macro_use]
#[path = "../common/futexes.rs"]
mod futexes;
#[path = "../common/processes.rs"]
mod processes;

use common::*;
use processes::{child, status_of, zeroed};

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use leeward::futex::{Futex, Hosted, Parking, Private, Shared, Timeout};
use leeward::raw::{self, Lock, Plain, Requeue, Scheme, WakeOp};
use leeward::sync::Condvar;
use lock_api::RawMutex;

type Mutex<F, T> = lock_api::Mutex<raw::Mutex<F>, T>;

/// Threads give and take tokens, each with one notification: each token must be taken, or a thread
/// sleeps forever.
fn tokens<S: Scheme, F: Futex, R: RawMutex + Lock<F> + Sync>(held: bool)
where
    R::GuardMarker: Sync,
{
    const TAKERS: u64 = 4;
    const EACH: u64 = 2_000;
    let _dog = Watchdog::new("tokens");
    let tokens = lock_api::Mutex::<R, u64>::new(0);
    let condition = Condvar::<S, F>::with_scheme();
    std::thread::scope(|scope| {
        for taker in 0..TAKERS {
            let (tokens, condition) = (&tokens, &condition);
            scope.spawn(move || {
                let mut rng = Rng::new(taker);
                for _ in 0..EACH {
                    let mut guard = tokens.lock();
                    while *guard == 0 {
                        if rng.below(4) == 0 {
                            condition.wait_for(&mut guard, Duration::from_micros(rng.below(100)));
                        } else {
                            condition.wait(&mut guard);
                        }
                    }
                    *guard -= 1;
                }
            });
        }
        for giver in 0..2 {
            let (tokens, condition) = (&tokens, &condition);
            scope.spawn(move || {
                let mut rng = Rng::new(10 + giver);
                let mut left = TAKERS * EACH / 2;
                while left != 0 {
                    let count = (rng.below(3) + 1).min(left);
                    left -= count;
                    let mut guard = tokens.lock();
                    *guard += count;
                    let notify = || match count {
                        1 => usize::from(condition.notify_one()),
                        _ => condition.notify_all(),
                    };
                    if held {
                        notify();
                        drop(guard);
                    } else {
                        drop(guard);
                        notify();
                    }
                    compute(rng.below(500));
                }
            });
        }
    });
    assert_eq!(tokens.into_inner(), 0);
    assert!(!condition.notify_one(), "nobody waits");
    assert_eq!(condition.notify_all(), 0);
    assert_eq!(format!("{condition:?}"), "Condvar { waiters: 0, .. }");
}

macro_rules! schemes {
    ($($name:ident: $scheme:ty;)*) => {$(
        mod $name {
            use super::*;

            on_every_futex! {
                held;
                free;
                everybody;
                moved_and_out_of_time;
            }

            fn held<F: Futex>() {
                tokens::<$scheme, F, raw::Mutex<F>>(true);
            }

            fn free<F: Futex>() {
                tokens::<$scheme, F, raw::Mutex<F>>(false);
            }

            fn everybody<F: Futex>() {
                super::everybody::<$scheme, F>();
            }

            fn moved_and_out_of_time<F: Futex>() {
                super::moved_and_out_of_time::<$scheme, F>();
            }

            #[test]
            fn light_mutex() {
                tokens::<$scheme, Private, raw::LightMutex>(true);
            }

            #[test]
            fn two_processes() {
                super::two_processes::<$scheme>();
            }
        }
    )*};
}

schemes! {
    plain: Plain;
    requeue: Requeue;
    wake_op: WakeOp;
}

on_every_futex! {
    time_is_up;
}

/// Two mutexes are refused where the words are one process's.
#[test]
fn two_mutexes_are_refused() {
    refuses_two_mutexes::<Private>();
    refuses_two_mutexes::<Hosted<Parking>>();
    says_that_there_are_two_mutexes::<Private>();
    says_that_there_are_two_mutexes::<Hosted<Parking>>();
}

/// `notify_all` with the lock held by the notifier and with waiters that are all there; and what it
/// returns.
fn everybody<S: Scheme, F: Futex>() {
    const WAITERS: usize = 8;
    let _dog = Watchdog::new("everybody");
    let mutex = Mutex::<F, _>::new((0, 0));
    let condition = Condvar::<S, F>::with_scheme();
    for round in 1..=50 {
        std::thread::scope(|scope| {
            for _ in 0..WAITERS {
                scope.spawn(|| {
                    let mut guard = mutex.lock();
                    guard.0 += 1;
                    condition.wait_while(&mut guard, |state| state.1 != round);
                    guard.0 -= 1;
                });
            }
            eventually("all of them wait", || mutex.lock().0 == WAITERS);
            let mut guard = mutex.lock();
            guard.1 = round;
            assert_eq!(condition.notify_all(), WAITERS);
            assert_eq!(condition.notify_all(), 0, "they were notified already");
            assert!(!condition.notify_one());
        });
    }
}

fn time_is_up<F: Futex>() {
    let _dog = Watchdog::new("time_is_up");
    let (mutex, condition) = (Mutex::<F, _>::new(0), Condvar::<Requeue, F>::with_scheme());
    let mut guard = mutex.lock();
    assert!(condition.wait_for(&mut guard, Duration::ZERO).timed_out());
    assert!(condition.wait_until(&mut guard, Instant::now() - Duration::from_millis(1)).timed_out());
    assert!(condition.wait_until(&mut guard, Instant::now() + Duration::from_millis(2)).timed_out());
    assert!(condition.wait_while_for(&mut guard, |_| true, Duration::from_millis(2)).timed_out());
    assert!(!condition.wait_while_for(&mut guard, |_| false, Duration::ZERO).timed_out());
    assert!(condition.wait_while_until(&mut guard, |_| true, Instant::now() + Duration::from_millis(2)).timed_out());
    assert!(!condition.wait_while_until(&mut guard, |_| false, Instant::now()).timed_out());
    // It has the lock, and is not counted any more.
    assert!(mutex.try_lock().is_none());
    assert!(!condition.notify_one());
    // It is notified long before its time is up.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            *mutex.lock() = 1;
            condition.notify_one();
        });
        assert!(!condition.wait_while_for(&mut guard, |value| *value == 0, Duration::MAX).timed_out());
    });
}

/// A waiter whose time runs out while it is moved to the lock has been notified, and takes no
/// wake-up with it.
fn moved_and_out_of_time<S: Scheme, F: Futex>() {
    let _dog = Watchdog::new("moved_and_out_of_time");
    for _ in 0..20 {
        let (mutex, condition) = (Mutex::<F, _>::new(0), Condvar::<S, F>::with_scheme());
        std::thread::scope(|scope| {
            for waiter in 0..4 {
                let (mutex, condition) = (&mutex, &condition);
                scope.spawn(move || {
                    let mut guard = mutex.lock();
                    *guard += 1;
                    match waiter {
                        0 | 1 => {
                            condition.wait_for(&mut guard, Duration::from_millis(1));
                        }
                        _ => condition.wait(&mut guard),
                    }
                });
            }
            eventually("all of them wait", || *mutex.lock() == 4);
            let guard = mutex.lock();
            condition.notify_all();
            std::thread::sleep(Duration::from_millis(2));
            drop(guard);
        });
        assert!(mutex.try_lock().is_some());
    }
}

fn refuses_two_mutexes<F: Futex>() {
    let _dog = Watchdog::new("two_mutexes_are_refused");
    let (first, second) = (Mutex::<F, _>::new(false), Mutex::<F, _>::new(()));
    let condition = Condvar::<Requeue, F>::with_scheme();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut guard = first.lock();
            *guard = true;
            condition.wait(&mut guard);
        });
        eventually("somebody waits", || *first.lock());
        let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| condition.wait(&mut second.lock())));
        assert!(refused.is_err());
        assert!(second.try_lock().is_some(), "the panic unlocked it");
        assert_eq!(condition.notify_all(), 1);
    });
    // Two mutexes one after the other are allowed.
    assert!(condition.wait_for(&mut second.lock(), Duration::ZERO).timed_out());
}

/// `checked_wait` answers where `wait` panics, and leaves the lock held.
fn says_that_there_are_two_mutexes<F: Futex>() {
    let (first, second) = (raw::Mutex::<F>::new_in(), raw::Mutex::<F>::new_in());
    let condition = raw::Condvar::<Requeue, F>::new_in();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            first.lock();
            // SAFETY: locked above.
            assert_eq!(unsafe { condition.checked_wait(&first, Timeout::Never) }, Some(true));
            // SAFETY: the wait returned with the lock.
            unsafe { first.unlock() };
        });
        eventually("the other thread waits", || format!("{condition:?}").contains("waiters: 1"));
        second.lock();
        // SAFETY: locked above.
        assert_eq!(unsafe { condition.checked_wait(&second, Timeout::Never) }, None);
        assert!(second.is_locked());
        assert!(condition.notify_one());
    });
    // SAFETY: still locked.
    assert_eq!(unsafe { condition.checked_wait(&second, Timeout::Now) }, Some(false));
}

/// Two processes use a shared condition variable and lock in zeroed memory: each waits for the
/// other's turn.
fn two_processes<S: Scheme>() {
    const TURNS: u32 = 500;
    let _dog = Watchdog::new("two_processes");
    struct Page<S: Scheme> {
        mutex: raw::Mutex<Shared>,
        condition: raw::Condvar<S, Shared>,
        turn: AtomicU32,
    }
    // SAFETY: a lock that is not held, a condition variable without waiters, and a number.
    let page = unsafe { zeroed::<Page<S>>() };
    let work = |mine: u32| {
        for turn in 0..TURNS {
            page.mutex.lock();
            while page.turn.load(Ordering::Relaxed) % 2 != mine {
                // SAFETY: held.
                unsafe { page.condition.wait(&page.mutex, Timeout::Never) };
            }
            page.turn.fetch_add(1, Ordering::Relaxed);
            if turn % 2 == 0 {
                // SAFETY: all wait with this lock.
                unsafe { page.condition.notify_all_of(&page.mutex) };
            } else {
                // SAFETY: as above.
                unsafe { page.condition.notify_one_of(&page.mutex) };
            }
            // SAFETY: held.
            unsafe { page.mutex.unlock() };
        }
    };
    let other = child(|| {
        work(1);
        true
    });
    work(0);
    assert_eq!((status_of(other), page.turn.load(Ordering::Relaxed)), (0, 2 * TURNS));
}

/// Shows the layout that processes share.
#[test]
fn layout() {
    assert_eq!(size_of::<raw::Condvar<Requeue, Shared>>(), 32);
    assert_eq!(align_of::<raw::Condvar<Requeue, Shared>>(), 8);
}
