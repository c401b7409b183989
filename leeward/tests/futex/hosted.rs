//! `Hosted` itself: what each call answers, an embedding of one's own, hosts that refuse, forks;
//! and that the engine, not the kernel, serves.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
use common::*;

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use leeward::futex::{
    ALL, Argument, Changed, Comparison, Embedding, Futex, Hosted, Operation, Parking, Timeout, Wait, WakeOp,
};
use leeward::raw::{Mutex, Semaphore};
use leeward_engine::{
    Access, Address, Clock, Config, Engine, Errno, Fault, Flag, Heap, Host, ParkEnd, SharedKey, Space,
};

type Lot = Hosted<Parking>;

#[test]
fn a_wait_ends_as_the_kernels_does() {
    let word = AtomicU32::new(1);
    let soon = || Timeout::after::<Lot>(Duration::from_millis(2));
    assert_eq!(Lot::wait(&word, 0, Timeout::Never), Wait::Changed);
    assert_eq!(Lot::wait(&word, 1, soon()), Wait::TimedOut);
    assert_eq!(Lot::wait(&word, 1, Timeout::Now), Wait::TimedOut);
    assert_eq!(Lot::wake(&word, ALL), 0);
    // SAFETY: borrowed.
    assert_eq!(unsafe { Lot::requeue(&word, 0, 1, &word, 1) }, Err(Changed));
}

/// Runs `work` beside threads that wait until a word is not 0, in the order of their coming.
fn with_waiters(count: usize, word: &AtomicU32, work: impl FnOnce()) {
    std::thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(|| {
                // Until woken: the deadline only ends a failed test.
                let end = Timeout::after::<Lot>(patience());
                assert_eq!(Lot::wait(word, 0, end), Wait::Woken);
            });
        }
        work();
    });
}

/// Wakes until `count` were woken.
fn wake_in_all(word: &AtomicU32, count: u32) {
    let mut woken = 0;
    eventually("they wait", || {
        woken += Lot::wake(word, count - woken);
        woken == count
    });
}

#[test]
fn moved_waiters_wait_at_the_other_word() {
    let _dog = Watchdog::new("moved_waiters_wait_at_the_other_word");
    let (from, to) = (AtomicU32::new(0), AtomicU32::new(0));
    with_waiters(3, &from, || {
        let mut moved = 0;
        eventually("all were moved", || {
            // SAFETY: borrowed.
            moved += unsafe { Lot::requeue(&from, 0, 0, &to, ALL) }.unwrap();
            moved == 3
        });
        assert_eq!(Lot::wake(&from, ALL), 0);
        wake_in_all(&to, 3);
    });
}

#[test]
fn wake_op_wakes_at_both_words() {
    let _dog = Watchdog::new("wake_op_wakes_at_both_words");
    let (word, on) = (AtomicU32::new(0), AtomicU32::new(0));
    let op = WakeOp::new(Operation::Add, Argument::Value(5), Comparison::Equal, 0).unwrap();
    // SAFETY: borrowed, and may be added to.
    assert_eq!((unsafe { Lot::wake_op(&word, 0, &on, op, 0) }, on.load(Ordering::Relaxed)), (0, 5));
    with_waiters(1, &word, || {
        let mut woken = 0;
        eventually("the waiter is woken", || {
            // SAFETY: as above.
            woken += unsafe { Lot::wake_op(&word, 1, &on, op, 1) };
            woken == 1
        });
    });
}

/// The engine has queued them; a second lock waits at the same place, in the same table.
#[test]
fn the_engine_serves() {
    let _dog = Watchdog::new("the_engine_serves");
    let before = Parking::lot().stats().queued + Parking::lot().global_stats().queued;
    let lock = Mutex::<Lot>::new_in();
    lock.lock();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            lock.lock();
            // SAFETY: held.
            unsafe { lock.unlock() };
        });
        eventually("the engine has a waiter", || {
            Parking::lot().stats().queued + Parking::lot().global_stats().queued > before
        });
        // SAFETY: held.
        unsafe { lock.unlock() };
    });
}

/// In the child the lot is empty, although a thread of the parent was in it, and it works.
#[test]
fn a_child_has_a_lot_of_its_own() {
    let _dog = Watchdog::new("a_child_has_a_lot_of_its_own");
    let word = AtomicU32::new(0);
    with_waiters(1, &word, || {
        let waiters = || Parking::lot().stats().waiters + Parking::lot().global_stats().waiters;
        eventually("it waits", || waiters() != 0);
        // SAFETY: the child reads the lot, waits and exits.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let empty = Lot::wake(&word, ALL) == 0;
            let works = Lot::wait(&word, 0, Timeout::after::<Lot>(Duration::from_millis(1))) == Wait::TimedOut;
            // SAFETY: ends the child.
            unsafe { libc::_exit(if empty && works { 7 } else { 1 }) };
        }
        let mut status = 0;
        // SAFETY: our child.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(libc::WEXITSTATUS(status), 7);
        wake_in_all(&word, 1);
    });
}

/// A host whose memory is never there: it refuses every wait.
struct Blind(Space<Blind>);

impl Host for Blind {
    type Task = ();
    type Memory = Heap;
    type Preemption<'a> = ();
    fn space(&self) -> &Space<Blind> {
        &self.0
    }
    fn threads(&self) -> u32 {
        2
    }
    fn in_range(&self, _: Address) -> bool {
        false
    }
    fn load(&self, _: Address) -> Result<u32, Fault> {
        Err(Fault)
    }
    fn compare_exchange(&self, _: Address, _: u32, _: u32) -> Result<u32, Fault> {
        Err(Fault)
    }
    fn read(&self, _: Address, _: &mut [u8]) -> Result<(), Fault> {
        Err(Fault)
    }
    fn fault_in(&self, _: Address, _: Access) -> Result<(), Errno> {
        Err(Errno::EFAULT)
    }
    fn resolve_shared(&self, _: Address, _: Access) -> Result<SharedKey, Errno> {
        Err(Errno::EFAULT)
    }
    fn task(&self, _: &Flag) {}
    fn park(&self, _: &Flag, _: Option<leeward_engine::Deadline>) -> ParkEnd {
        ParkEnd::Unparked
    }
    fn unpark(&self, (): ()) {}
    fn now(&self, clock: Clock) -> u64 {
        leeward_engine::parking::now(clock)
    }
    fn preempt_off(&self) {}
    fn spin(&self, _: u32) {
        std::thread::yield_now();
    }
}

enum Refusing {}

// SAFETY: no word is ever touched.
unsafe impl Embedding for Refusing {
    type Host = Blind;
    const SHARED: bool = true;
    unsafe fn with<R>(work: impl FnOnce(&Engine<Blind>, &Blind) -> R) -> R {
        static PARTS: LazyLock<(Engine<Blind>, Blind)> =
            LazyLock::new(|| (Engine::new(Config::small(1), Heap).unwrap(), Blind(Space::new(1, 2, Heap))));
        work(&PARTS.0, &PARTS.1)
    }
}

/// As in a sandbox that refuses futexes: waiting is rechecking, and what is to happen to words
/// happens.
#[test]
fn refused_locks_still_exclude() {
    type Refused = Hosted<Refusing>;
    let _dog = Watchdog::new("refused_locks_still_exclude");
    let count = lock_api::Mutex::<Mutex<Refused>, u32>::new(0);
    let rounds = Semaphore::<Refused>::new_in(0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..2_000 {
                    *count.lock() += 1;
                }
                rounds.release(1);
            });
        }
        (0..3).for_each(|_| rounds.acquire());
    });
    assert_eq!(count.into_inner(), 6_000);
    assert!(!rounds.acquire_for(Duration::from_millis(1)));
    let (word, on) = (AtomicU32::new(0), AtomicU32::new(0));
    let op = WakeOp::new(Operation::Set, Argument::Bit(3), Comparison::Equal, 0).unwrap();
    // SAFETY: borrowed, and may be written.
    assert_eq!((unsafe { Refused::wake_op(&word, 1, &on, op, 1) }, on.load(Ordering::Relaxed)), (0, 8));
    // SAFETY: borrowed.
    assert_eq!(unsafe { Refused::requeue(&word, 0, 1, &on, 1) }, Ok(0));
    assert_eq!(format!("{:?}", Mutex::<Refused>::new_in()), "Mutex { locked: false, .. }");
}
