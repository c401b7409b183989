//! fork while another thread begins or ends: the standard library and the C library hold locks of
//! their own then, which no thread gives up in the child.
//!
//! Nothing is left to luck: the threads stop at each allocation that they make outside of their
//! closures, and there the process forks.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;

use common::*;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::thread;

use leeward::rcu::Domain;

leeward::rcu_domain! { struct D; }

/// True while threads stop at allocations, unless they say that they are at work.
static STOPPING: AtomicBool = AtomicBool::new(false);
/// Counts the stops.
static STOPPED: AtomicU32 = AtomicU32::new(0);
/// Counts the stops that are over.
static RESUMED: AtomicU32 = AtomicU32::new(0);

thread_local! { static AT_WORK: Cell<bool> = const { Cell::new(false) }; }

struct Stopping;

impl Stopping {
    fn stop(&self) {
        if !STOPPING.load(Ordering::SeqCst) || AT_WORK.get() {
            return;
        }
        let mine = STOPPED.fetch_add(1, Ordering::SeqCst) + 1;
        while RESUMED.load(Ordering::SeqCst) < mine {
            // SAFETY: has no precondition.
            unsafe { libc::usleep(50) };
        }
    }
}

// SAFETY: the system's allocator, at times later.
unsafe impl GlobalAlloc for Stopping {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.stop();
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        self.stop();
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Stopping = Stopping;

/// Ends all stops when it is dropped: a stopped thread holds up all threads that end, and so a test
/// that failed.
struct Go;

impl Drop for Go {
    fn drop(&mut self) {
        STOPPING.store(false, Ordering::SeqCst);
        RESUMED.store(u32::MAX, Ordering::SeqCst);
    }
}

/// Returns true if the worker, which the child has to start, does its work.
fn worker_works_in_child() {
    // SAFETY: the child uses this library, atomics, and what the C library repairs in children.
    let child = unsafe { libc::fork() };
    assert_ne!(child, -1, "fork failed");
    if child == 0 {
        static RAN: AtomicU64 = AtomicU64::new(0);
        STOPPING.store(false, Ordering::SeqCst);
        // SAFETY: ends a child that hangs.
        unsafe { libc::alarm(10) };
        D::defer(|| {
            RAN.fetch_add(1, Ordering::SeqCst);
        });
        D::barrier();
        let code = i32::from(RAN.load(Ordering::SeqCst) != 1);
        // SAFETY: ends the child without running what belongs to the parent.
        unsafe { libc::_exit(code) }
    }
    let mut status = 0;
    // SAFETY: `status` is ours to write.
    while unsafe { libc::waitpid(child, &mut status, 0) } != child {}
    assert_eq!(status, 0, "the child's worker did not run what was deferred (14: it hung)");
}

/// Forks at every stop until `is_over`; returns how often.
fn fork_at_stops(is_over: impl Fn() -> bool) -> u64 {
    let mut forks = 0;
    eventually("the thread is over it", || {
        // Loaded in this order: a stop that is not seen afterwards is not there.
        let over = is_over();
        let resumed = RESUMED.load(Ordering::SeqCst);
        if STOPPED.load(Ordering::SeqCst) == resumed {
            return over;
        }
        worker_works_in_child();
        forks += 1;
        RESUMED.store(resumed + 1, Ordering::SeqCst);
        false
    });
    forks
}

/// A thread that waits in its closure until it is let go.
struct Stayer {
    number: AtomicI32,
    leaves: AtomicBool,
}

impl Stayer {
    fn stay(&self) {
        AT_WORK.set(true);
        // SAFETY: has no precondition.
        self.number.store(unsafe { libc::gettid() }, Ordering::SeqCst);
        while !self.leaves.load(Ordering::SeqCst) {
            // SAFETY: has no precondition.
            unsafe { libc::usleep(200) };
        }
        AT_WORK.set(false);
    }

    fn is_at_work(&self) -> bool {
        self.number.load(Ordering::SeqCst) != 0
    }

    fn is_gone(&self) -> bool {
        !std::fs::exists(format!("/proc/self/task/{}", self.number.load(Ordering::SeqCst))).unwrap()
    }
}

#[test]
fn the_worker_starts_in_the_child() {
    /// As many threads as make anything that the standard library keeps by thread grow.
    const THREADS: usize = 16;
    AT_WORK.set(true);
    let go = Go;
    worker_works_in_child();
    let stayers: Vec<&'static Stayer> = (0..THREADS)
        .map(|_| &*Box::leak(Box::new(Stayer { number: AtomicI32::new(0), leaves: AtomicBool::new(false) })))
        .collect();
    let mut begun = Vec::new();
    let (mut at_beginnings, mut at_ends) = (0, 0);
    for stayer in &stayers {
        STOPPING.store(true, Ordering::SeqCst);
        begun.push(thread::spawn(|| stayer.stay()));
        at_beginnings += fork_at_stops(|| stayer.is_at_work());
    }
    for stayer in &stayers {
        stayer.leaves.store(true, Ordering::SeqCst);
        at_ends += fork_at_stops(|| stayer.is_gone());
    }
    drop(go);
    begun.into_iter().for_each(|thread| thread.join().unwrap());
    println!("{at_beginnings} forks beside a thread that begins, {at_ends} beside one that ends");
    assert!(at_beginnings != 0 && at_ends != 0, "no thread was stopped");
}
