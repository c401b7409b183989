//! Locks and queues made of the engine's operations, under load, while the table grows and waiters
//! time out.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use leeward_engine::parking::{ParkingLot, now};
use leeward_engine::{Clock, Deadline, Host, Requeue, Wait};

fn in_microseconds(length: u64) -> Option<Deadline> {
    Some(Deadline { clock: Clock::Monotonic, at: now(Clock::Monotonic) + 1000 * length })
}

/// The textbook lock: 0 free, 1 taken, 2 taken and a thread may wait.
struct Lock<'a>(&'a ParkingLot, AtomicU32);

impl Lock<'_> {
    fn lock(&self, patience: u64) {
        if self.1.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.lock_moved(patience);
        }
    }
    fn lock_moved(&self, patience: u64) {
        while self.1.swap(2, Ordering::Acquire) != 0 {
            let until = if patience == 0 { None } else { in_microseconds(patience) };
            self.0.wait(&self.1, 2, until);
        }
    }
    fn unlock(&self) {
        if self.1.swap(0, Ordering::Release) == 2 {
            self.0.wake(&self.1, 1);
        }
    }
}

#[test]
fn a_lock_excludes_while_waiters_time_out_and_the_table_grows() {
    const ROUNDS: usize = 4000;
    let lot = ParkingLot::new(2).unwrap();
    let locks: Vec<_> = (0..3).map(|_| (Lock(&lot, AtomicU32::new(0)), AtomicUsize::new(0))).collect();
    std::thread::scope(|threads| {
        for i in 0..8 {
            let locks = &locks;
            threads.spawn(move || {
                for round in 0..ROUNDS {
                    let (lock, count) = &locks[round % locks.len()];
                    // Some threads wait without a limit.
                    lock.lock([0, 1, 50][i % 3]);
                    let seen = count.load(Ordering::Relaxed);
                    if round % 64 == 0 {
                        std::thread::yield_now();
                    }
                    count.store(seen + 1, Ordering::Relaxed);
                    lock.unlock();
                }
            });
        }
        threads.spawn(|| {
            // SAFETY: no word is named.
            let (engine, process) = unsafe { lot.parts() };
            for threads in [16, 64, 256, 1024, 4096] {
                std::thread::yield_now();
                engine.reserve(process, threads);
            }
            // Deferred to the thread that is resizing already.
            while lot.stats().buckets < 16384 {
                engine.reserve(process, 4096);
                std::thread::yield_now();
            }
        });
    });
    assert_eq!(locks.iter().map(|(_, count)| count.load(Ordering::Relaxed)).sum::<usize>(), 8 * ROUNDS);
    let stats = lot.stats();
    assert_eq!((stats.waiters, lot.global_stats().waiters, stats.buckets), (0, 0, 16384));
}

#[test]
fn a_condition_whose_waiters_are_moved_to_the_lock_loses_none() {
    const ROUNDS: u32 = 300;
    const THREADS: u32 = 6;
    let lot = ParkingLot::new(THREADS).unwrap();
    let lock = Lock(&lot, AtomicU32::new(0));
    let condition = AtomicU32::new(0);
    let (phase, passed) = (AtomicU32::new(0), AtomicU32::new(0));
    std::thread::scope(|threads| {
        for _ in 0..THREADS {
            threads.spawn(|| {
                for round in 1..=ROUNDS {
                    lock.lock(0);
                    while phase.load(Ordering::Relaxed) < round {
                        let seen = condition.load(Ordering::Relaxed);
                        lock.unlock();
                        // Some waiters give up, perhaps after they were moved.
                        let until = if round % 3 == 0 { in_microseconds(20) } else { None };
                        lot.wait(&condition, seen, until);
                        lock.lock_moved(0);
                    }
                    passed.fetch_add(1, Ordering::Relaxed);
                    lock.unlock();
                }
            });
        }
        for round in 1..=ROUNDS {
            lock.lock(0);
            phase.store(round, Ordering::Relaxed);
            let value = condition.fetch_add(1, Ordering::Relaxed) + 1;
            // The unlock wakes the moved waiters.
            lock.1.store(2, Ordering::Relaxed);
            assert!(matches!(lot.requeue(&condition, value, 1, &lock.1, u32::MAX >> 1), Requeue::Done(_)));
            lock.unlock();
            while passed.load(Ordering::Relaxed) < round * THREADS {
                std::thread::yield_now();
            }
        }
    });
    assert_eq!(lot.stats().waiters, 0);
}

#[test]
fn wakes_and_waits_count_the_same() {
    let lot = ParkingLot::new(8).unwrap();
    let (word, running) = (AtomicU32::new(0), AtomicU32::new(6));
    let told = AtomicU32::new(0);
    let mut woken = 0;
    std::thread::scope(|threads| {
        for i in 0..6_u64 {
            let (lot, word, running, told) = (&lot, &word, &running, &told);
            threads.spawn(move || {
                for round in 0..2000 {
                    if lot.wait(word, 0, in_microseconds((i + round) % 7)) == Wait::Woken {
                        told.fetch_add(1, Ordering::Relaxed);
                    }
                }
                running.fetch_sub(1, Ordering::Release);
            });
        }
        while running.load(Ordering::Acquire) != 0 {
            woken += lot.wake(&word, 1 + woken % 3);
        }
    });
    assert_eq!(told.load(Ordering::Relaxed), woken);
    // SAFETY: no word is named.
    let (_, process) = unsafe { lot.parts() };
    assert_eq!(process.space().stats(process).waiters, 0);
}

#[test]
fn crowds_woken_by_two_at_once_while_some_time_out_are_all_there_again() {
    const WAITERS: usize = 48;
    const ROUNDS: u32 = 60;
    let lot = ParkingLot::new(4).unwrap();
    let phase = AtomicU32::new(0);
    let there = AtomicUsize::new(0);
    std::thread::scope(|threads| {
        for i in 0..WAITERS {
            let (lot, phase, there) = (&lot, &phase, &there);
            threads.spawn(move || {
                for mine in 0..ROUNDS {
                    while phase.load(Ordering::Acquire) == mine {
                        let until = if i % 3 == 0 { in_microseconds(100) } else { None };
                        lot.wait(phase, mine, until);
                    }
                    there.fetch_add(1, Ordering::Release);
                }
            });
        }
        for round in 1..=ROUNDS {
            phase.store(round, Ordering::Release);
            threads.spawn(|| lot.wake(&phase, u32::MAX));
            lot.wake(&phase, u32::MAX);
            while there.load(Ordering::Acquire) < WAITERS * round as usize {
                std::thread::yield_now();
            }
        }
    });
    assert_eq!(lot.stats().waiters, 0);
}
