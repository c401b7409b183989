//! The first use of a lock, and what it sets up, inside the global allocator. Each case is a process of its own.

#![cfg(all(target_os = "linux", feature = "std", not(leeward_loom), not(leeward_symmetric)))]
#![allow(missing_docs)]

#[path = "common/allocator.rs"]
mod allocator;
#[path = "common/cases.rs"]
mod cases;
mod common;

use allocator::{Calling, calls, calls_back, nested};
use common::*;

use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;

use leeward::fence::{self, Strategy};
use leeward::sync::LightMutex;

#[global_allocator]
static ALLOCATOR: Calling = Calling;

/// A contended `LightMutex` issues the process's first heavy fence, which picks the strategy, and `LEEWARD_FENCE` names one.
#[test]
fn the_first_heavy_fence_allocates_nothing() {
    for strategy in Strategy::ALL.iter().map(|strategy| strategy.name()).chain(["bogus"]) {
        let output = cases::command("first_fence").env("LEEWARD_FENCE", strategy).output().unwrap();
        cases::passed(strategy, output);
    }
}

fn first_fence() {
    static LIGHT: LightMutex<u64> = LightMutex::new(0);
    static TAKER: AtomicI32 = AtomicI32::new(0);
    assert_eq!(fence::strategy(), None, "nothing has fenced yet");
    thread::scope(|scope| {
        // This thread may allocate while it holds the lock: it does not call back.
        let held = LIGHT.lock();
        let taker = scope.spawn(|| {
            calls_back(|| *LIGHT.lock() += 1);
            // SAFETY: has no precondition.
            TAKER.store(unsafe { libc::gettid() }, Ordering::SeqCst);
            drop(std::hint::black_box(Box::new(1)));
        });
        eventually("the allocating thread sleeps, its fence done", || {
            let taker = TAKER.load(Ordering::SeqCst);
            taker != 0 && fence::counters().total() != 0 && is_asleep(taker)
        });
        drop(held);
        taker.join().unwrap();
    });
    assert!(fence::strategy().is_some());
    assert!(calls() >= 2 && *LIGHT.lock() == calls());
    assert_eq!(nested(), 0, "something was allocated within the allocator");
}

/// The other side: what the process does that was started for a case.
#[test]
#[ignore = "started by the other tests"]
fn case() {
    let _dog = Watchdog::new("case");
    match cases::current().as_str() {
        "first_fence" => first_fence(),
        other => println!("no such case: `{other}`"),
    }
}
