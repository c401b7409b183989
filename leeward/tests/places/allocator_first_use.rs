//! The first use of a lock, and what it sets up, inside the global allocator. Each case is a
//! process of its own.

#![cfg(all(target_os = "linux", target_env = "gnu", not(leeward_symmetric)))]
#![allow(missing_docs)]

#[path = "../common/allocator.rs"]
mod allocator;
#[path = "../common/cases.rs"]
mod cases;
#[path = "../common/mod.rs"]
mod common;

use allocator::{Calling, calls, calls_back, nested};
use cases::passes;
use common::*;

use std::sync::Barrier;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::thread;

use leeward::fence::{self, Strategy};
use leeward::sync::LightMutex;
use leeward::{asym, sync};

#[global_allocator]
static ALLOCATOR: Calling = Calling;

unsafe extern "C" {
    fn __libc_calloc(count: usize, size: usize) -> *mut libc::c_void;
}

/// The allocator of the C library's own callers, who call back as well.
///
/// # Safety
/// As for `calloc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut libc::c_void {
    allocator::called();
    // SAFETY: the caller's promise.
    unsafe { __libc_calloc(count, size) }
}

/// A contended `LightMutex` issues the process's first heavy fence, which chooses the strategy;
/// `LEEWARD_FENCE` names one.
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

/// Tries locks that need nothing of the heap.
#[test]
fn ordinary_locks() {
    passes("ordinary_mutex");
    passes("ordinary_rwlock");
}

/// A thread's first use of an asymmetric lock makes slots for it, in memory of the kernel's, and has
/// the thread's exit noticed, for which glibc calls `calloc`: the allocator calls the lock again
/// from within.
#[test]
fn asymmetric_locks() {
    passes("asym_mutex");
    passes("asym_rwlock");
}

/// More threads than have slots without a call of the kernel.
const THREADS: usize = 40;

/// Runs threads whose allocator calls `lock`, which counts in `counted`; each calls it to its very
/// end.
fn in_many_threads(lock: fn(), counted: fn() -> u64) {
    // Reading a mutant's name allocates, too.
    drop(asym::RwLock::new(()).read());
    let together = Barrier::new(THREADS);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let together = &together;
                scope.spawn(move || {
                    calls_back(lock);
                    let first = std::hint::black_box(Box::new(thread));
                    // All threads have slots at the same time.
                    together.wait();
                    for size in 1..500 {
                        drop(std::hint::black_box(vec![*first; size % 50]));
                    }
                })
            })
            .collect();
        // A scope ends before its threads' destructors do, which free; a join waits for those.
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert!(calls() > THREADS as u64 * 500);
    assert_eq!(counted(), calls());
}

static ORDINARY: (sync::Mutex<u64>, sync::RwLock<u64>) = (sync::Mutex::new(0), sync::RwLock::new(0));
static BIASED: (asym::Mutex<u64>, asym::RwLock<u64>) = (asym::Mutex::new(0), asym::RwLock::new(0));
/// Counts the reads, which cannot count under their lock.
static READS: AtomicU64 = AtomicU64::new(0);

fn reads_once(value: u64) {
    // No value is ever so large: this only uses the value.
    READS.fetch_add(1 + value / u64::MAX, Ordering::SeqCst);
}

/// Runs, in a process that was started for a case, that case.
#[test]
#[ignore = "started by the other tests"]
fn case() {
    let _dog = Watchdog::new("case");
    match cases::current().as_str() {
        "first_fence" => first_fence(),
        "ordinary_mutex" => in_many_threads(|| *ORDINARY.0.lock() += 1, || *ORDINARY.0.lock()),
        "ordinary_rwlock" => in_many_threads(
            || match calls() % 8 {
                0 => *ORDINARY.1.write() += 1,
                _ => reads_once(*ORDINARY.1.read()),
            },
            || *ORDINARY.1.read() + READS.load(Ordering::SeqCst),
        ),
        "asym_mutex" => {
            in_many_threads(|| *BIASED.0.lock() += 1, || *BIASED.0.lock());
            assert!(nested() != 0, "noticing a thread's exit allocates nothing by now");
        }
        "asym_rwlock" => {
            in_many_threads(
                || match calls() % 8 {
                    0 => *BIASED.1.write() += 1,
                    _ => reads_once(*BIASED.1.read()),
                },
                || *BIASED.1.read() + READS.load(Ordering::SeqCst),
            );
            assert!(nested() != 0, "noticing a thread's exit allocates nothing by now");
        }
        other => println!("no such case: `{other}`"),
    }
}
