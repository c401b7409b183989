//! The store-buffer litmus on the real code, as `common/litmus.rs` describes it, for every flavour
//! and strategy.
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
use harness::{Automatic, Findings, Flavour, Handle, Quiescent, Shared, one_writer, read, write};

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use leeward::fence::{self, Strategy};
use leeward::rcu::{Domain, RcuCell, Stall, qsbr};

leeward::rcu_domain! {
    struct Free;
    struct Fenced: Full;
    struct Cells;
    struct Updaters;
    struct Signals;
    struct Leaving;
    struct LeavingQsbr;
    struct LeavingFenced: Full;
}

/// Held by each test: it needs the processors for itself, and may force the strategy.
static ALONE: Mutex<()> = Mutex::new(());

fn under<D: Domain, F: Flavour>(strategy: Strategy, name: &str) {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("litmus");
    let Some(on) = two_processors() else { return };
    if let Err(error) = fence::force(strategy) {
        println!("skipped: {error}");
        return;
    }
    one_writer::<F, D>(on, duration(0.5)).must_be_sound(&format!("{name}, {strategy}"));
    let _ = fence::force(Strategy::ALL[0]);
}

macro_rules! flavours {
    ($($name:ident: $domain:ty, $flavour:ty;)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn first_choice() {
                under::<$domain, $flavour>(Strategy::ALL[0], stringify!($name));
            }

            #[test]
            fn other_strategies() {
                for &strategy in &Strategy::ALL[1..] {
                    under::<$domain, $flavour>(strategy, stringify!($name));
                }
            }
        }
    )*};
}

flavours! {
    automatic: Free, Automatic<Free>;
    handle: Free, Handle<Free>;
    quiescent: Free, Quiescent<Free>;
}

/// With full fences on both sides the strategy does not matter.
#[test]
fn full() {
    under::<Fenced, Automatic<Fenced>>(Strategy::ALL[0], "full, automatic");
    under::<Fenced, Handle<Fenced>>(Strategy::ALL[0], "full, handle");
    under::<Fenced, Quiescent<Fenced>>(Strategy::ALL[0], "full, quiescent");
}

/// The writer is a cell's `replace`. The boxes are kept until the readers are gone, so that a
/// violation is a defined read here too.
#[test]
fn cell() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("cell");
    let Some((reader_on, writer_on)) = two_processors() else { return };
    let arena = harness::Arena::new();
    arena.revive(0);
    let cell = RcuCell::<usize, Cells>::new_in(0);
    let stop = AtomicBool::new(false);
    let mut kept = Vec::new();
    let end = Instant::now() + duration(0.5);
    let found = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            pin(reader_on);
            read::<Automatic<Cells>>(&arena, &stop, 3, || cell.read(|object| *object))
        });
        pin_for(writer_on, || {
            let updates = write(&arena, &stop, 4, end, |next| {
                let old = cell.replace(next).synchronize();
                let object = *old;
                kept.push(old);
                object
            });
            stop.store(true, Ordering::Relaxed);
            Findings { updates, ..reader.join().unwrap() }
        })
    });
    found.must_be_sound("cell");
}

/// Runs `work` on one processor, then lets the thread run wherever it ran before.
fn pin_for<R: Send>(cpu: usize, work: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            pin(cpu);
            work()
        });
        run.join().unwrap()
    })
}

/// Three updaters, of a pointer each, publish with release stores: they share grace periods by
/// tickets, and the unlink of one must be covered by the heavy fence of another. (Without the full
/// fence before the load of the tickets it takes three processors to show that:
/// `tests/models/model/sharing.rs`.)
#[test]
fn updaters_that_share() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("updaters_that_share");
    let Some((reader_on, writer_on)) = two_processors() else { return };
    const UPDATERS: usize = 3;
    let all = processors();
    let shared: [Shared; UPDATERS] = std::array::from_fn(|_| Shared::new());
    let stop = AtomicBool::new(false);
    let end = Instant::now() + duration(1.0);
    let found = std::thread::scope(|scope| {
        let readers: Vec<_> = (0..UPDATERS)
            .map(|which| {
                let (shared, stop) = (&shared[which], &stop);
                scope.spawn(move || {
                    pin(reader_on);
                    read::<Automatic<Updaters>>(&shared.arena, stop, which as u64, || {
                        shared.pointer.load(Ordering::Acquire)
                    })
                })
            })
            .collect();
        let writers: Vec<_> = (0..UPDATERS)
            .map(|which| {
                let (shared, stop) = (&shared[which], &stop);
                let on = if all.len() > 2 { all[1 + which % (all.len() - 1)] } else { writer_on };
                scope.spawn(move || {
                    pin(on);
                    write(&shared.arena, stop, 10 + which as u64, end, |next| shared.update::<Updaters>(next))
                })
            })
            .collect();
        let updates = writers.into_iter().map(|writer| writer.join().unwrap()).sum();
        stop.store(true, Ordering::Relaxed);
        readers.into_iter().map(|reader| reader.join().unwrap()).fold(
            Findings { updates, ..Findings::default() },
            |all, one| Findings {
                sections: all.sections + one.sections,
                violations: all.violations + one.violations,
                ..all
            },
        )
    });
    found.must_be_sound("updaters that share");
}

mod signals {
    use super::*;

    static POINTER: AtomicUsize = AtomicUsize::new(0);
    static ARENA: harness::Arena = harness::Arena::new();
    static VIOLATIONS: AtomicU64 = AtomicU64::new(0);
    static HANDLED: AtomicU64 = AtomicU64::new(0);

    /// Enters, reads and leaves, wherever the thread was; nested, too.
    extern "C" fn handler(_: libc::c_int) {
        let outer = Signals::read();
        let object = POINTER.load(Ordering::Acquire);
        let inner = Signals::read();
        compute(HANDLED.load(Ordering::Relaxed) % 500);
        drop(outer);
        if !ARENA.is_alive(object) {
            VIOLATIONS.fetch_add(1, Ordering::Relaxed);
        }
        drop(inner);
        HANDLED.fetch_add(1, Ordering::Relaxed);
    }

    fn install() {
        // SAFETY: zeroed is a valid sigaction.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        let handler: extern "C" fn(libc::c_int) = handler;
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_RESTART;
        // SAFETY: a handler that is async-signal-safe.
        let outcome = unsafe { libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()) };
        assert_eq!(outcome, 0);
    }

    /// Signals land anywhere in the reader, sent by a writer on another processor.
    #[test]
    fn anywhere() {
        let _alone = alone(&ALONE);
        let _dog = Watchdog::new("signals");
        let Some((reader_on, writer_on)) = two_processors() else { return };
        install();
        ARENA.revive(0);
        let (stop, all_sent) = (AtomicBool::new(false), AtomicBool::new(false));
        let (tell, told) = std::sync::mpsc::channel();
        let end = Instant::now() + duration(1.0);
        let found = std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                pin(reader_on);
                Signals::register().unwrap();
                // SAFETY: has no precondition.
                tell.send(unsafe { libc::pthread_self() } as usize).unwrap();
                let found = read::<Automatic<Signals>>(&ARENA, &stop, 5, || POINTER.load(Ordering::Acquire));
                // This thread lives until the last signal was sent.
                while !all_sent.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
                found
            });
            let reader_thread = told.recv().unwrap() as libc::pthread_t;
            pin_for(writer_on, || {
                let mut rng = Rng::new(6);
                let updates = write(&ARENA, &stop, 7, end, |next| {
                    let old = POINTER.load(Ordering::Relaxed);
                    if rng.below(2) == 0 {
                        // SAFETY: the reader waits for `all_sent` before it ends.
                        unsafe { libc::pthread_kill(reader_thread, libc::SIGUSR1) };
                        compute(rng.below(500));
                    }
                    POINTER.store(next, Ordering::Release);
                    Signals::synchronize();
                    old
                });
                stop.store(true, Ordering::Relaxed);
                all_sent.store(true, Ordering::Release);
                Findings { updates, ..reader.join().unwrap() }
            })
        });
        let violations = found.violations + VIOLATIONS.load(Ordering::Relaxed);
        println!("signals: {} handled", HANDLED.load(Ordering::Relaxed));
        Findings { violations, ..found }.must_be_sound("signals");
        assert!(HANDLED.load(Ordering::Relaxed) > 0);
    }
}

/// The other pair of fences: a reader that leaves with a full store buffer, and a writer that goes
/// to sleep on its slot. A lost wake-up shows as a stall of a reader that has left.
mod lost_wake_up {
    use super::*;

    /// Returns how long a grace period sleeps before it rechecks by itself. (A machine that gives a
    /// thread no processor for so long would show here as well.)
    fn patience_of_a_stall() -> Duration {
        patience() / 4
    }

    fn stalled(stall: &Stall) {
        println!("{stall}");
    }

    /// Runs the test; `make` makes, on the reader's thread, what is inside for the first call and
    /// outside for the second.
    fn run<D: Domain, S: FnMut(&dyn Fn(), &dyn Fn())>(name: &str, make: impl FnOnce() -> S + Send) {
        let _alone = alone(&ALONE);
        let _dog = Watchdog::new("lost_wake_up");
        let Some((reader_on, writer_on)) = two_processors() else { return };
        D::set_stall_limit(Some(patience_of_a_stall()), Some(stalled));
        let arena = harness::Arena::new();
        let (round, done, stop) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
        let end = Instant::now() + duration(1.0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                pin(reader_on);
                let mut stay = make();
                let mut rng = Rng::new(8);
                let mut mine = 0;
                // The time to stay is learnt: the reader is to leave just when the writer goes to
                // sleep.
                let (mut about, mut sleeps) = (4_000, D::stats().sleeps);
                while !stop.load(Ordering::Relaxed) {
                    mine += 1;
                    let turns = (about / 2) + rng.below(about);
                    let inside = || {
                        // The writer may begin.
                        round.store(mine, Ordering::Relaxed);
                        compute(turns);
                        arena.jam(mine);
                    };
                    // The slot is not touched until the writer was served.
                    let outside = || {
                        while done.load(Ordering::Relaxed) < mine && !stop.load(Ordering::Relaxed) {
                            std::hint::spin_loop();
                        }
                    };
                    stay(&inside, &outside);
                    let slept = D::stats().sleeps > sleeps;
                    sleeps = D::stats().sleeps;
                    about = if slept { about * 15 / 16 } else { about * 17 / 16 + 16 }.clamp(64, 100_000);
                }
            });
            scope.spawn(|| {
                pin(writer_on);
                let (mut mine, mut longest) = (0, Duration::ZERO);
                let too_long = patience_of_a_stall() * 9 / 10;
                while Instant::now() < end && longest < too_long {
                    mine += 1;
                    while round.load(Ordering::Relaxed) < mine && Instant::now() < end {
                        std::hint::spin_loop();
                    }
                    arena.jam(mine);
                    let start = Instant::now();
                    D::synchronize();
                    longest = longest.max(start.elapsed());
                    done.store(mine, Ordering::Relaxed);
                }
                stop.store(true, Ordering::Relaxed);
                println!("{name}: {mine} grace periods, {} slept, the longest took {longest:?}", D::stats().sleeps);
                assert!(longest < too_long, "{name}: a writer slept on although its reader had left");
            });
        });
    }

    fn leaving<D: Domain>(name: &str) {
        run::<D, _>(name, || {
            |inside: &dyn Fn(), outside: &dyn Fn()| {
                let guard = D::read();
                inside();
                drop(guard);
                outside();
            }
        });
    }

    #[test]
    fn sections() {
        leaving::<Leaving>("leaving");
    }

    /// The reader's own full fence stands between its leaving store and its load of `waited`.
    #[test]
    fn full_sections() {
        leaving::<LeavingFenced>("leaving, full");
    }

    #[test]
    fn going_offline() {
        run::<LeavingQsbr, _>("going offline", || {
            let mut reader = qsbr::Reader::<LeavingQsbr>::register_in();
            move |inside: &dyn Fn(), outside: &dyn Fn()| {
                inside();
                reader.offline(outside);
            }
        });
    }
}
