//! The store-buffer litmus on asymmetric locks, as `common/litmus.rs` describes it: where a heavy
//! fence is missing, a thread whose announcement is still in the store buffer when the other side
//! scans the slots is inside together with it (pairs G and I).
//!
//! A witness, not a proof: a processor whose interrupts are slow hides its store buffers, and the
//! test then finds nothing even where a fence is missing. `tests/models/model.rs` and loom find what must
//! be found. `LEEWARD_TEST_SECONDS` makes each run longer.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/litmus.rs"]
mod harness;

use common::*;
use harness::Arena;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use leeward::asym;
use leeward::fence::{self, Strategy};

/// Held by each test: it needs the processors for itself, and forces the strategy.
static ALONE: Mutex<()> = Mutex::new(());

/// What both sides see.
struct Stage {
    arena: Arena,
    /// True while the side that pays is inside.
    is_taken: AtomicBool,
    violations: AtomicU64,
}

impl Stage {
    fn new() -> Stage {
        Stage { arena: Arena::new(), is_taken: AtomicBool::new(false), violations: AtomicU64::new(0) }
    }

    /// Runs the free side, with its announcement after stores that are slow: no other thread may be
    /// inside with it.
    #[inline(always)]
    fn stay(&self, turns: u64) {
        compute(turns);
        if self.is_taken.load(Ordering::Relaxed) {
            self.violations.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Runs the side that pays, long enough to be met.
    fn take(&self) {
        self.is_taken.store(true, Ordering::Relaxed);
        compute(2_000);
        self.is_taken.store(false, Ordering::Relaxed);
    }
}

/// Runs `test` with each strategy, on two processors.
fn under_each(name: &'static str, test: impl Fn(&Stage, (usize, usize), Instant) -> u64) {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new(name);
    let Some(on) = two_processors() else { return };
    for &strategy in Strategy::ALL {
        if let Err(error) = fence::force(strategy) {
            println!("skipped: {error}");
            continue;
        }
        let time = duration(0.4) / if strategy == Strategy::ALL[0] { 1 } else { 2 };
        let stage = Stage::new();
        let rounds = test(&stage, on, Instant::now() + time);
        let violations = stage.violations.into_inner();
        println!("{name}, {strategy}: {rounds} rounds, {violations} violations");
        assert_eq!(violations, 0, "{name}, {strategy}: two were inside");
        assert!(rounds > 0, "{name}, {strategy}: nothing was tested");
    }
    let _ = fence::force(Strategy::ALL[0]);
}

/// Tries pair G.
#[test]
fn readers_and_a_writer() {
    under_each("readers_and_a_writer", |stage, (reader_on, writer_on), end| {
        let (lock, stop) = (asym::RwLock::new(()), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let _stop = Raise(&stop);
            scope.spawn(|| {
                pin(reader_on);
                let (mut rng, mut reads) = (Rng::new(1), 0);
                while !stop.load(Ordering::Relaxed) {
                    let turns = rng.below(2_000);
                    stage.arena.jam(reads);
                    let guard = lock.read();
                    stage.stay(turns);
                    drop(guard);
                    reads += 1;
                }
            });
            let writer = scope.spawn(|| {
                pin(writer_on);
                let (mut rng, mut writes) = (Rng::new(2), 0);
                while Instant::now() < end || writes == 0 {
                    // Until the lock is open again, most of the time.
                    compute(10_000 + rng.below(20_000));
                    (0..4_096).for_each(|_| drop(lock.read()));
                    stage.arena.jam(writes);
                    let _guard = lock.write();
                    stage.take();
                    writes += 1;
                }
                writes
            });
            writer.join().unwrap()
        })
    });
}

/// Tries pair I. Each round has a lock of its own, whose owner is the thread that comes first.
#[test]
fn an_owner_and_a_revoker() {
    const LOCKS: usize = 512;
    under_each("an_owner_and_a_revoker", |stage, (owner_on, revoker_on), end| {
        let mut rounds = 0;
        while Instant::now() < end {
            let locks: [asym::Mutex<()>; LOCKS] = [const { asym::Mutex::new(()) }; LOCKS];
            let (owned, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    pin(owner_on);
                    let mut rng = Rng::new(3);
                    for (round, lock) in locks.iter().enumerate() {
                        drop(lock.lock());
                        owned.store(round + 1, Ordering::Relaxed);
                        while done.load(Ordering::Relaxed) <= round {
                            let turns = rng.below(2_000);
                            stage.arena.jam(turns);
                            let guard = lock.lock();
                            stage.stay(turns);
                            drop(guard);
                        }
                    }
                });
                scope.spawn(|| {
                    pin(revoker_on);
                    let mut rng = Rng::new(4);
                    for (round, lock) in locks.iter().enumerate() {
                        while owned.load(Ordering::Relaxed) <= round {
                            std::hint::spin_loop();
                        }
                        compute(rng.below(5_000));
                        if Instant::now() < end {
                            stage.arena.jam(round as u64);
                            let _guard = lock.lock();
                            stage.take();
                        }
                        done.store(round + 1, Ordering::Relaxed);
                    }
                });
            });
            rounds += LOCKS as u64;
        }
        rounds
    });
}

/// Tries pairs H and J: a writer that sleeps on a slot is woken, though the reader leaves at that
/// moment.
#[test]
fn no_wake_up_is_lost() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("no_wake_up_is_lost");
    let Some((reader_on, writer_on)) = two_processors() else { return };
    let (lock, arena) = (asym::RwLock::new(()), Arena::new());
    let (round, done, stop) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let end = Instant::now() + duration(0.7);
    std::thread::scope(|scope| {
        let _stop = Raise(&stop);
        scope.spawn(|| {
            pin(reader_on);
            let (mut rng, mut mine) = (Rng::new(5), 0);
            while !stop.load(Ordering::Relaxed) {
                // Until the lock is open again, most of the time.
                (0..4_096).for_each(|_| drop(lock.read()));
                let guard = lock.read();
                mine += 1;
                round.store(mine, Ordering::Relaxed);
                // About as long as the writer rechecks before it sleeps.
                compute(rng.below(20_000));
                arena.jam(mine);
                drop(guard);
                // The slot is not touched until the writer was served.
                while done.load(Ordering::Relaxed) < mine && !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            }
        });
        let writer = scope.spawn(|| {
            pin(writer_on);
            let mut mine = 0;
            while Instant::now() < end {
                mine += 1;
                while round.load(Ordering::Relaxed) < mine && Instant::now() < end {
                    std::hint::spin_loop();
                }
                arena.jam(mine);
                assert!(lock.try_write_for(patience()).is_some(), "a writer slept on although its reader had left");
                done.store(mine, Ordering::Relaxed);
            }
            mine
        });
        println!("{} rounds", writer.join().unwrap());
    });
}
