//! The readers-writer lock and the small locks, on every futex.

#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[macro_use]
#[path = "../common/futexes.rs"]
mod futexes;

use common::*;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use leeward::futex::Futex;
use leeward::raw::{self, Barrier, Event, Latch, Once, Semaphore};
use leeward::sync::Mutex;
use lock_api::RwLockWriteGuard;

const SHORT: Duration = Duration::from_millis(2);

mod rwlock {
    use super::*;

    type RwLock<F, T> = lock_api::RwLock<raw::RwLock<F>, T>;

    on_every_futex! {
        readers_share_and_a_writer_is_alone;
        #[cfg_attr(leeward_symmetric, ignore = "where waiting is looking again nobody knows who waits")]
        phases_alternate;
        a_writer_that_gives_up_lets_readers_in;
        nobody_starves;
        counts_right_under_load;
        conditions;
        too_many_readers;
    }

    fn shows<F: Futex>(lock: &RwLock<F, impl Sized>, what: &str) -> bool {
        // SAFETY: only shown.
        format!("{:?}", unsafe { lock.raw() }).contains(what)
    }

    fn readers_share_and_a_writer_is_alone<F: Futex>() {
        let _dog = Watchdog::new("readers_share_and_a_writer_is_alone");
        let lock = RwLock::<F, _>::new(1);
        let (one, two) = (lock.read(), lock.read());
        assert_eq!(*one + *two, 2);
        assert!(lock.try_write().is_none());
        assert!(lock.try_write_for(SHORT).is_none());
        drop((one, two));
        let mut writer = lock.try_write().unwrap();
        *writer = 2;
        assert!(lock.try_read().is_none());
        assert!(lock.try_read_for(SHORT).is_none());
        assert!(lock.try_read_until(Instant::now()).is_none());
        let reader = RwLockWriteGuard::downgrade(writer);
        assert_eq!(*lock.read(), 2);
        assert!(lock.try_write().is_none());
        drop(reader);
        assert!(!lock.is_locked());
        *lock.write() = 3;
        assert_eq!(lock.into_inner(), 3);
    }

    /// A waiting reader goes in when the writer leaves, before a writer that waits as well; a
    /// reader that comes later does not. (Readers may pass a writer that finds no processor for
    /// 1 ms, so on a busy machine a round may see another order.)
    fn phases_alternate<F: Futex>() {
        let _dog = Watchdog::new("phases_alternate");
        let mut rounds = 0;
        while !phases_alternated::<F>() {
            rounds += 1;
            assert!(rounds < 1000, "readers always enter past a waiting writer");
        }
    }

    /// One round of `phases_alternate`. Returns true if the order was as it says.
    fn phases_alternated<F: Futex>() -> bool {
        let lock = RwLock::<F, _>::new(());
        let order = Mutex::new(Vec::new());
        let (leave, told) = channel::<()>();
        thread::scope(|scope| {
            let writer = lock.write();
            let (lock, order) = (&lock, &order);
            scope.spawn(move || {
                let _guard = lock.read();
                order.lock().push("waiting reader");
                told.recv().unwrap();
            });
            eventually("a reader sleeps", || shows(lock, "readers_wait: true"));
            scope.spawn(move || {
                let _guard = lock.write();
                order.lock().push("waiting writer");
            });
            eventually("a writer sleeps", || shows(lock, "writers_wait: true"));
            drop(writer);
            eventually("the reader is inside", || shows(lock, "readers: 1"));
            let keeps_out = lock.try_read().is_none();
            assert!(lock.try_read_recursive().is_some(), "a nested reader did not enter past a waiting writer");
            scope.spawn(move || {
                let _guard = lock.read();
                order.lock().push("late reader");
            });
            let sleeps = || shows(lock, "readers_wait: true") || order.lock().contains(&"late reader");
            eventually("another reader sleeps, or passed the writer", sleeps);
            leave.send(()).unwrap();
            keeps_out
        }) && *order.lock() == ["waiting reader", "waiting writer", "late reader"]
    }

    /// A writer that gives up no longer keeps readers out, which may wait for a reader that stays.
    fn a_writer_that_gives_up_lets_readers_in<F: Futex>() {
        let _dog = Watchdog::new("a_writer_that_gives_up_lets_readers_in");
        let lock = RwLock::<F, _>::new(());
        let _stays = lock.read();
        thread::scope(|scope| {
            let writer = scope.spawn(|| lock.try_write_for(Duration::from_millis(50)).is_none());
            // On a busy machine it may have given up before this thread checks.
            eventually("the writer sleeps", || shows(&lock, "writers_wait: true") || writer.is_finished());
            // This sleeps until the writer has given up.
            drop(lock.read());
            assert!(writer.join().unwrap());
        });
    }

    /// Readers that overlap do not starve a writer, nor writers a reader.
    fn nobody_starves<F: Futex>() {
        let _dog = Watchdog::new("nobody_starves");
        let lock = RwLock::<F, _>::new(0_u64);
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let _stop = Raise(&stop);
            for _ in 0..3 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        let _outer = lock.read();
                        compute(2_000);
                    }
                });
            }
            (0..100).for_each(|_| *lock.write() += 1);
        });
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let _stop = Raise(&stop);
            for _ in 0..3 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        *lock.write() += 1;
                    }
                });
            }
            (0..100).for_each(|_| assert!(*lock.read() >= 100));
        });
    }

    fn counts_right_under_load<F: Futex>() {
        let _dog = Watchdog::new("counts_right_under_load");
        let lock = RwLock::<F, _>::new((0_u64, 0_u64));
        let until = Instant::now() + duration(0.5);
        let written = AtomicU64::new(0);
        thread::scope(|scope| {
            for seed in 0..6 {
                let (lock, written) = (&lock, &written);
                scope.spawn(move || {
                    let mut random = Rng::new(seed);
                    let write = |both: &mut (u64, u64)| {
                        both.0 += 1;
                        both.1 += 1;
                        written.fetch_add(1, Ordering::Relaxed);
                    };
                    while Instant::now() < until {
                        let limit = Duration::from_micros(random.below(100));
                        match random.below(8) {
                            0 => write(&mut lock.write()),
                            1 => drop(lock.try_write_for(limit).map(|mut both| write(&mut both))),
                            2 => {
                                let mut both = lock.write();
                                write(&mut both);
                                let both = RwLockWriteGuard::downgrade(both);
                                assert_eq!(both.0, both.1);
                            }
                            3 => drop(lock.try_read_for(limit).map(|both| assert_eq!(both.0, both.1))),
                            _ => {
                                let both = lock.read();
                                assert_eq!(both.0, both.1);
                            }
                        }
                    }
                });
            }
        });
        let written = written.into_inner();
        assert_eq!(*lock.read(), (written, written));
        assert!(lock.try_write().is_some());
    }

    /// Writers wait for a condition with the lock.
    fn conditions<F: Futex>() {
        let _dog = Watchdog::new("conditions");
        let (lock, condition) = (RwLock::<F, _>::new(0), raw::Condvar::<raw::Requeue, F>::new_in());
        thread::scope(|scope| {
            for turn in 1..=3 {
                let (lock, condition) = (&lock, &condition);
                scope.spawn(move || {
                    // SAFETY: not unlocked except for the wait, in which the guard is not used.
                    let raw = unsafe { lock.raw() };
                    let mut value = lock.write();
                    loop {
                        if *value == turn {
                            *value += 1;
                            break condition.notify_all();
                        }
                        // SAFETY: the guard holds the lock.
                        unsafe { condition.wait(raw, leeward::futex::Timeout::Never) };
                    }
                });
            }
            *lock.write() = 1;
            condition.notify_all();
        });
        assert_eq!(lock.into_inner(), 4);
    }

    fn too_many_readers<F: Futex>() {
        let lock = RwLock::<F, _>::new(());
        for _ in 0..(1 << 20) - 2 {
            std::mem::forget(lock.read());
        }
        // Waiting for room ends the process: `locks_abort.rs`.
        assert!(lock.try_read().is_none());
    }
}

on_every_futex! {
    semaphores_bound;
    every_permit_finds_its_waiter;
    barriers_separate_rounds;
    events_let_go;
    latches_open_once;
    once_is_once_and_may_be_tried_again;
}

fn semaphores_bound<F: Futex>() {
    let _dog = Watchdog::new("semaphores_bound");
    let (semaphore, inside, most) = (Semaphore::<F>::new_in(2), AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                for _ in 0..2_000 {
                    let _permit = semaphore.permit();
                    most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    compute(50);
                    inside.fetch_sub(1, Ordering::SeqCst);
                }
            });
        }
    });
    assert!(most.into_inner() <= 2);
    assert_eq!(semaphore.permits(), 2);
    assert!(semaphore.acquire_for(SHORT) && semaphore.try_acquire());
    assert!(semaphore.try_permit().is_none() && !semaphore.acquire_for(SHORT));
    semaphore.release(Semaphore::<F>::MOST);
    assert!(panic_of(|| semaphore.release(1)).contains("cannot count so many permits"));
    assert!(!semaphore.try_release(1) && semaphore.try_release(0));
    assert_eq!(semaphore.permits(), Semaphore::<F>::MOST);
    assert!(semaphore.try_acquire() && semaphore.try_release(1));
    assert_eq!(semaphore.permits(), Semaphore::<F>::MOST);
}

/// One release of several permits, and several of one, wake as many.
fn every_permit_finds_its_waiter<F: Futex>() {
    let _dog = Watchdog::new("every_permit_finds_its_waiter");
    let semaphore = Semaphore::<F>::new_in(0);
    for round in 0..300 {
        thread::scope(|scope| {
            let takers: Vec<_> = (0..4).map(|_| scope.spawn(|| semaphore.acquire())).collect();
            match round % 2 {
                0 => semaphore.release(4),
                _ => (0..4).for_each(|_| semaphore.release(1)),
            }
            takers.into_iter().for_each(|taker| taker.join().unwrap());
        });
        assert_eq!(semaphore.permits(), 0);
    }
}

fn barriers_separate_rounds<F: Futex>() {
    let _dog = Watchdog::new("barriers_separate_rounds");
    const THREADS: usize = 4;
    let (barrier, count, leaders) = (Barrier::<F>::new_in(THREADS), AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for round in 1..=500 {
                    count.fetch_add(1, Ordering::Relaxed);
                    leaders.fetch_add(barrier.wait().is_leader().into(), Ordering::Relaxed);
                    assert_eq!(count.load(Ordering::Relaxed), round * THREADS as u32);
                    barrier.wait();
                }
            });
        }
    });
    assert_eq!(leaders.into_inner(), 500);
    assert!(barrier.wait_for(SHORT).is_none());
    assert!(format!("{barrier:?}").contains("arrived: 0"), "who gave up has still arrived");
    assert!(Barrier::<F>::new_in(0).wait().is_leader() && Barrier::<F>::new_in(1).wait().is_leader());
    assert!(panic_of(|| _ = Barrier::<F>::new_in(1 << 16)).contains("cannot count so many threads"));
}

fn events_let_go<F: Futex>() {
    let _dog = Watchdog::new("events_let_go");
    let event = Event::<F>::new_in();
    assert!(!event.wait_for(SHORT) && !event.is_set());
    thread::scope(|scope| {
        let waiters: Vec<_> = (0..4).map(|_| scope.spawn(|| event.wait())).collect();
        thread::sleep(GLANCE);
        assert!(waiters.iter().all(|waiter| !waiter.is_finished()));
        event.set();
    });
    event.wait();
    assert!(event.wait_for(Duration::ZERO) && event.clear() && !event.clear() && !event.is_set());
}

fn latches_open_once<F: Futex>() {
    let _dog = Watchdog::new("latches_open_once");
    let latch = Latch::<F>::new_in(3);
    assert!(!latch.is_open() && !latch.wait_for(SHORT));
    thread::scope(|scope| {
        scope.spawn(|| latch.wait());
        scope.spawn(|| latch.arrive_and_wait());
        thread::sleep(GLANCE);
        assert!(panic_of(|| latch.count_down(4)).contains("below 0"));
        latch.count_down(2);
    });
    assert!(latch.is_open());
    assert!(panic_of(|| latch.count_down(1)).contains("below 0"));
}

fn once_is_once_and_may_be_tried_again<F: Futex>() {
    let _dog = Watchdog::new("once_is_once_and_may_be_tried_again");
    let (once, runs) = (Once::<F>::new_in(), AtomicU32::new(0));
    assert_eq!(panic_of(|| once.call_once(|| panic!("at first"))), "at first");
    assert!(!once.is_completed());
    thread::scope(|scope| {
        scope.spawn(|| once.wait());
        for _ in 0..4 {
            scope.spawn(|| {
                once.call_once(|| {
                    thread::sleep(SHORT);
                    runs.fetch_add(1, Ordering::Relaxed);
                });
                assert_eq!(runs.load(Ordering::Relaxed), 1);
            });
        }
    });
    assert!(once.is_completed());
}
