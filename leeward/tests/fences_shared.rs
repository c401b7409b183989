//! Callers that need heavy fences at the same time share them: how many fences they cost together
//! is counted, and how long one takes does not matter but for being longer than a caller's way
//! back.
//!
//! The fences are made slow by what slows them in earnest: they are made of signals, and one thread
//! blocks all signals, so that each fence first waits 10 ms for that thread's answer.

#![cfg(all(target_os = "linux", not(leeward_loom), not(leeward_symmetric)))]
#![allow(missing_docs)]

mod common;
#[path = "common/signals.rs"]
mod signals;

use common::*;
use signals::block_signals;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, Mutex, mpsc};
use std::thread;

use leeward::asym::RwLock;
use leeward::fence::{self, Strategy};
use leeward::rcu::{Domain, Reader};

/// Held by each test: fences are counted for the whole process, and all have one strategy.
static ALONE: Mutex<()> = Mutex::new(());

const CALLERS: usize = 8;

/// Runs `work` while each heavy fence takes at least 10 ms. Returns the number of fences that it
/// cost, or `None` if there are no fences of signals here.
fn with_slow_fences(work: impl FnOnce()) -> Option<u64> {
    if let Err(error) = fence::force(Strategy::Signal) {
        println!("skipped: {error}");
        return None;
    }
    let stop = AtomicBool::new(false);
    let issued = thread::scope(|scope| {
        let _stop = Raise(&stop);
        let (blocked, has_blocked) = mpsc::channel();
        let stop = &stop;
        scope.spawn(move || {
            block_signals(libc::SIG_BLOCK);
            blocked.send(()).unwrap();
            while !stop.load(Ordering::Relaxed) {
                thread::sleep(std::time::Duration::from_millis(5));
            }
        });
        has_blocked.recv().unwrap();
        let before = fence::counters();
        work();
        let issued = fence::counters().total() - before.total();
        assert!(fence::counters().visits - before.visits >= issued, "a fence was not slow");
        issued
    });
    fence::force(Strategy::ALL[0]).unwrap();
    Some(issued)
}

/// Has `CALLERS` threads call their function `times` times each, and demands that three calls at
/// least shared a fence, on average. `calls` counts those calls that need one.
fn must_share(what: &str, times: u64, calls: impl Fn() -> u64, call: impl Fn(usize) + Sync) {
    let barrier = Barrier::new(CALLERS);
    let before = calls();
    let issued = with_slow_fences(|| {
        thread::scope(|scope| {
            for caller in 0..CALLERS {
                let (barrier, call) = (&barrier, &call);
                scope.spawn(move || {
                    barrier.wait();
                    (0..times).for_each(|_| call(caller));
                });
            }
        });
    });
    let Some(issued) = issued else { return };
    let calls = calls() - before;
    println!("{what}: {calls} calls, {issued} fences");
    assert!(calls >= CALLERS as u64 * times, "{calls} calls needed a fence");
    assert!(calls >= 3 * issued, "{what}: {issued} fences for {calls} calls");
}

/// Declares eight domains, and the functions of each in a table.
macro_rules! domains {
    ($($name:ident)*) => {
        leeward::rcu_domain! { $(struct $name;)* }
        const SYNCHRONIZE: [fn(); CALLERS] = [$($name::synchronize),*];
        /// Returns how many heavy fences the domains have asked for.
        fn asked() -> u64 {
            [$($name::stats().heavy_fences),*].iter().sum()
        }
        /// Registers a reader with each: a domain without readers needs no fence.
        fn readers() -> impl Sized {
            ($(Reader::<$name>::register(),)*)
        }
    };
}

domains!(A B C D E F G H);

#[test]
fn grace_periods_of_eight_domains() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("grace_periods_of_eight_domains");
    let _readers = readers();
    must_share("eight domains", 20, asked, |caller| SYNCHRONIZE[caller]());
}

#[test]
fn writers_of_eight_locks() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("writers_of_eight_locks");
    let closed = AtomicU64::new(0);
    // Relaxed, both: a count, read when all threads have ended.
    let count = || closed.load(Ordering::Relaxed);
    must_share("eight locks", 20, count, |_| {
        // The first read opens a lock, and so the first write needs a fence.
        let lock = RwLock::new(0);
        drop(lock.read());
        *lock.write() = 1;
        closed.fetch_add(1, Ordering::Relaxed);
    });
}

/// A caller alone is served by a fence of its own each time.
#[test]
fn a_caller_alone() {
    let _alone = alone(&ALONE);
    fence::heavy();
    let before = fence::counters().total();
    (0..100).for_each(|_| fence::heavy());
    assert_eq!(fence::counters().total() - before, 100);
}
