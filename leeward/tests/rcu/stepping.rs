//! A signal at every instruction, one after the other: the reader is single-stepped by the
//! processor's trap flag, and at one of the instructions the handler of the trap does what a
//! program's signal handler may do. Nothing here is left to luck.

#![cfg(all(target_os = "linux", target_arch = "x86_64", not(leeward_symmetric)))]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/litmus.rs"]
mod harness;
#[path = "../common/trap.rs"]
mod trap;

use common::*;
use trap::*;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use leeward::hazard;
use leeward::rcu::{Domain, Reader, Stall, qsbr};

/// Held by each test: the handler is the process's, so one program is stepped at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// A handler enters and leaves, at any instruction of a section's beginning, middle and end: both
/// words are left as they were found, and both sections protect.
#[test]
fn a_handler_may_read_anywhere() {
    leeward::rcu_domain! { struct D; }
    static HANDLED: AtomicU64 = AtomicU64::new(0);
    fn handler() {
        let outer = D::read();
        let inner = D::read();
        drop(outer);
        drop(inner);
        drop(D::read());
        HANDLED.fetch_add(1, Ordering::Relaxed);
    }
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("a_handler_may_read_anywhere");
    D::register().unwrap();
    let steps = at_every_instruction(
        handler,
        || {
            let outer = D::read();
            let inner = D::read();
            drop(outer);
            drop(inner);
        },
        // Panics if the thread is still taken for one that is inside; hangs if a slot is.
        |_| D::synchronize(),
    );
    println!("{steps} instructions");
    assert!(HANDLED.load(Ordering::Relaxed) >= steps);
    assert_eq!(D::stats().sleeps, 0);
}

/// The handler reads by a handle of its own: it cannot reach the slot of the interrupted handle.
#[test]
fn a_handler_may_read_beside_handles() {
    leeward::rcu_domain! { struct D; }
    fn handler() {
        drop(D::read());
    }
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("a_handler_may_read_beside_handles");
    D::register().unwrap();
    let reader = Reader::<D>::register_in();
    at_every_instruction(handler, || drop(reader.read()), |_| D::synchronize());
    let mut online = qsbr::Reader::<D>::register_in();
    at_every_instruction(handler, || online.quiescent(), |_| ());
    drop(online);
    D::synchronize();
}

/// The interrupted section protects from the moment at which its guard exists, whatever the handler
/// did before.
#[test]
fn the_interrupted_section_protects() {
    leeward::rcu_domain! { struct D; }
    fn handler() {
        drop(D::read());
    }
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("the_interrupted_section_protects");
    D::register().unwrap();
    let mut guards = Vec::with_capacity(1);
    let guards_cell = std::cell::RefCell::new(&mut guards);
    at_every_instruction(
        handler,
        || guards_cell.borrow_mut().push(D::read()),
        |_| {
            let cookie = D::start_poll();
            let start = Instant::now();
            while start.elapsed() < Duration::from_micros(300) {
                assert!(!D::poll_state(&cookie), "a grace period ended under a guard whose making was interrupted");
            }
            guards_cell.borrow_mut().clear();
            D::synchronize();
        },
    );
}

/// A writer replaces and frees the value at any instruction of `protect`: what the reader is given
/// is alive, whichever it is, and stays so.
#[test]
fn a_hazard_pointer_protects_whatever_a_writer_does() {
    static CELL: hazard::Cell<Canary> = hazard::Cell::empty();
    struct Canary(AtomicBool);
    impl Drop for Canary {
        fn drop(&mut self) {
            // What ends here is what no reader is given from now on: it is told from a live one.
            self.0.store(false, Ordering::Relaxed);
        }
    }
    fn writer() {
        CELL.store(Canary(AtomicBool::new(true)));
        hazard::reclaim();
        // An allocation at the address that was freed, with other contents.
        std::hint::black_box([Box::new([0_u64; 3]), Box::new([0; 3])]);
    }
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("a_hazard_pointer_protects_whatever_a_writer_does");
    writer();
    let mut hazard = hazard::HazardPointer::new();
    let is_alive = AtomicBool::new(false);
    at_every_instruction(
        writer,
        || {
            let value = hazard.protect(&CELL);
            is_alive.store(value.is_some_and(|value| value.0.load(Ordering::Relaxed)), Ordering::Relaxed);
        },
        |at| assert!(is_alive.load(Ordering::Relaxed), "a value that was freed before instruction {at} is in use"),
    );
    drop(hazard);
    drop(CELL.take());
    hazard::reclaim();
    assert_eq!(hazard::waiting(), 0);
}

/// A handler protects by a hazard pointer of its own, at any instruction of what threads do: make a
/// hazard pointer, protect, replace, retire, drop it.
#[test]
fn a_handler_may_protect_anywhere() {
    static CELL: hazard::Cell<u64> = hazard::Cell::empty();
    static HANDLED: AtomicU64 = AtomicU64::new(0);
    fn handler() {
        let mut hazard = hazard::HazardPointer::new();
        let value = *hazard.protect(&CELL).unwrap();
        assert!(value == 7 || value == 8);
        HANDLED.fetch_add(1, Ordering::Relaxed);
    }
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("a_handler_may_protect_anywhere");
    CELL.store(7);
    hazard::reclaim();
    let steps = at_every_instruction(
        handler,
        || {
            let mut hazard = hazard::HazardPointer::new();
            let old = hazard.protect(&CELL);
            drop(CELL.compare_exchange(old, Some(8)));
            drop(hazard);
        },
        |_| {
            // Nothing is lost, and nothing stays protected.
            hazard::reclaim();
            assert_eq!(hazard::waiting(), 0);
        },
    );
    assert!(HANDLED.load(Ordering::Relaxed) >= steps);
    assert_eq!(CELL.take().unwrap().try_into_inner().unwrap(), 8);
}

/// A writer has asked a handler's section to wake it, and sleeps on another thread's section; the
/// handler leaves, which takes the request back, and the section that it interrupted announces the
/// epoch that it had loaded before. When the writer comes to it, it has to ask again.
mod asked_in_a_handler {
    use super::*;

    leeward::rcu_domain! { struct D; }

    /// Counts the grace periods that were asked for.
    static ASKED: AtomicU64 = AtomicU64::new(0);
    /// Counts those for which the other reader has left.
    static LEFT: AtomicU64 = AtomicU64::new(0);
    /// Counts those that ended.
    static ENDED: AtomicU64 = AtomicU64::new(0);
    /// The grace period for which the other reader is inside.
    static INSIDE: AtomicU64 = AtomicU64::new(0);
    static ARENA: harness::Arena = harness::Arena::new();

    /// Returns how long a grace period sleeps before it rechecks by itself.
    fn patience_of_a_stall() -> Duration {
        patience() / 4
    }

    fn stalled(stall: &Stall) {
        eprintln!("{stall}");
    }

    fn wait_until(is_so: impl Fn() -> bool) {
        while !is_so() {
            thread::yield_now();
        }
    }

    /// Stays inside until a writer that comes now is asleep.
    fn handler() {
        let guard = D::read();
        let sleeps = D::stats().sleeps;
        ASKED.fetch_add(1, Ordering::Release);
        wait_until(|| D::stats().sleeps > sleeps);
        drop(guard);
    }

    fn writer(stop: &AtomicBool) {
        for turn in 1.. {
            wait_until(|| ASKED.load(Ordering::Acquire) >= turn || stop.load(Ordering::Relaxed));
            if stop.load(Ordering::Relaxed) {
                return;
            }
            ARENA.jam(turn);
            D::synchronize();
            ENDED.store(turn, Ordering::Release);
        }
    }

    /// Runs the other reader, on the slot that the writer comes to first.
    fn other_reader(stop: &AtomicBool) {
        for turn in 1.. {
            let guard = D::read();
            INSIDE.store(turn, Ordering::Release);
            wait_until(|| LEFT.load(Ordering::Acquire) >= turn || stop.load(Ordering::Relaxed));
            drop(guard);
            wait_until(|| ENDED.load(Ordering::Acquire) >= turn || stop.load(Ordering::Relaxed));
            if stop.load(Ordering::Relaxed) {
                return;
            }
        }
    }

    /// The counts and the time of one grace period.
    #[derive(Debug)]
    struct Outcome {
        sleeps: u64,
        fences: u64,
        /// The time after the last section's end.
        took: Duration,
    }

    impl Outcome {
        /// Returns true if the writer asked again: one fence for the grace period, one for the
        /// first requests, one for the second.
        fn asked_again(&self) -> bool {
            self.fences == 3
        }

        fn check(self) -> Result<Outcome, String> {
            if self.took > patience_of_a_stall() * 9 / 10 {
                return Err(format!("the writer slept on although its readers had left: {self:?}"));
            }
            // Two sleeps, each of them interrupted at most once for another reason.
            if self.fences > 3 || self.sleeps > 4 {
                return Err(format!("more than was needed: {self:?}"));
            }
            Ok(self)
        }
    }

    /// Runs one section, interrupted before instruction `at` of its entry, that lasts `turns` turns
    /// longer than the other reader's. `None` if there are fewer instructions.
    fn section(at: u64, turns: u64) -> Option<Outcome> {
        let round = ASKED.load(Ordering::Relaxed) + 1;
        wait_until(|| INSIDE.load(Ordering::Acquire) >= round);
        let before = D::stats();
        let mut guard = None;
        let slot = &mut guard;
        let steps = stepped(at, handler, move || *slot = Some(D::read()));
        if steps < at {
            return None;
        }
        LEFT.store(round, Ordering::Release);
        compute(turns);
        ARENA.jam(round);
        drop(guard);
        let left = Instant::now();
        wait_until(|| ENDED.load(Ordering::Acquire) >= round);
        let after = D::stats();
        let (sleeps, fences) = (after.sleeps - before.sleeps, after.heavy_fences - before.heavy_fences);
        Some(Outcome { sleeps, fences, took: left.elapsed() })
    }

    /// Searches every instruction, then those that matter, again and again.
    fn search() -> Result<(), String> {
        // Half a millisecond: the writer is asleep again.
        const LONG: u64 = 400_000;
        let (mut matter, mut turns) = (Vec::new(), LONG);
        let start = Instant::now();
        // Again, and for longer, if the writer had no processor in time.
        while matter.is_empty() && start.elapsed() < patience() * 3 / 4 {
            for at in 1.. {
                let Some(outcome) = section(at, turns) else { break };
                if outcome.check().map_err(|wrong| format!("before instruction {at}: {wrong}"))?.asked_again() {
                    matter.push(at);
                }
            }
            turns *= 2;
        }
        let Some(&at) = matter.first() else {
            return Err("no instruction made the writer ask again".to_owned());
        };
        // The reader is to leave just when the writer is about to ask again: the time of that is
        // learnt.
        let mut rng = Rng::new(1);
        let (start, mut about, mut tries, mut again) = (Instant::now(), 10_000, 0, 0);
        while start.elapsed() < duration(2.0) {
            let outcome = section(at, about / 2 + rng.below(about)).unwrap();
            tries += 1;
            let outcome = outcome.check().map_err(|wrong| format!("after {tries} tries: {wrong}"))?;
            again += u64::from(outcome.asked_again());
            about = if outcome.asked_again() { about * 15 / 16 } else { about * 17 / 16 + 16 }.clamp(64, LONG);
        }
        println!("instructions {matter:?} matter; {tries} tries, {again} asked again");
        Ok(())
    }

    #[test]
    fn it_asks_again_and_is_woken() {
        let _alone = alone(&ALONE);
        let _dog = Watchdog::new("it_asks_again_and_is_woken");
        install();
        D::set_stall_limit(Some(patience_of_a_stall()), Some(stalled));
        let stop = AtomicBool::new(false);
        let outcome = thread::scope(|scope| {
            let _stop = Raise(&stop);
            scope.spawn(|| other_reader(&stop));
            wait_until(|| INSIDE.load(Ordering::Acquire) > 0);
            D::register().unwrap();
            scope.spawn(|| writer(&stop));
            search()
        });
        assert_eq!(outcome, Ok(()));
    }
}
