//! The condition variable in the child of a fork: its waiters' threads are not there, and the mutex
//! that they wait with need not be.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/bare.rs"]
mod bare;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/processes.rs"]
mod processes;

use bare::with_bare_threads;
use common::*;
use processes::*;

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use leeward::sync::{Condvar, Mutex};

static CHANGED: Condvar = Condvar::new();
static OVER: AtomicU32 = AtomicU32::new(0);

/// Returns a mutex in memory that children do not get, as a stack that libc gave back.
fn mutex_without_heirs() -> &'static Mutex<()> {
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping.
    let place = unsafe { libc::mmap(std::ptr::null_mut(), 4096, access, kind, -1, 0) };
    assert_ne!(place, libc::MAP_FAILED, "mmap");
    // SAFETY: that memory.
    assert_eq!(unsafe { libc::madvise(place, 4096, libc::MADV_DONTFORK) }, 0);
    let place = place.cast::<Mutex<()>>();
    // SAFETY: large enough, aligned to a page.
    unsafe { place.write(Mutex::new(())) };
    // SAFETY: just written; never unmapped here.
    unsafe { &*place }
}

/// Waits until `over` says that it is over; the condition variable says how many threads wait.
fn wait_for_the_end(mutex: &Mutex<()>, over: &AtomicU32) {
    CHANGED.wait_while(&mut mutex.lock(), |()| over.load(Ordering::SeqCst) == 0);
}

fn waiters() -> String {
    format!("{CHANGED:?}")
}

/// Runs in the child: notifications for the parent's threads, then threads of its own with another
/// mutex, until all have gone.
fn in_child() -> bool {
    static OWN: Mutex<u32> = Mutex::new(0);
    let notified = (CHANGED.notify_one(), CHANGED.notify_all(), CHANGED.notify_one());
    let finished = AtomicU32::new(0);
    let wait = || {
        for turn in 1..=10 {
            CHANGED.wait_while(&mut OWN.lock(), |now| *now < turn);
        }
        finished.fetch_add(1, Ordering::SeqCst);
    };
    let fine = with_bare_threads(3, wait, || {
        while finished.load(Ordering::SeqCst) != 3 {
            let mut now = OWN.lock();
            *now += 1;
            // With the lock held: waiters of this process would be moved.
            if *now % 2 == 0 {
                CHANGED.notify_all();
            } else {
                (0..8).for_each(|_| _ = CHANGED.notify_one());
            }
            drop(now);
            thread::yield_now();
        }
    });
    fine && notified == (true, 1, false)
}

#[test]
fn a_child_notifies() {
    let _dog = Watchdog::new("a_child_notifies");
    let mutex = mutex_without_heirs();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| wait_for_the_end(mutex, &OVER));
        }
        eventually("both wait", || waiters() == "Condvar { waiters: 2, .. }");
        // No thread holds the lock or the condition variable just now: all wait.
        drop(mutex.lock());
        thread::sleep(GLANCE);
        let status = status_of(child(in_child));
        // The parent's threads get the parent's notifications.
        OVER.store(1, Ordering::SeqCst);
        drop(mutex.lock());
        CHANGED.notify_all();
        assert_eq!(status, 0, "the child's status is {status:#x}");
    });
    assert_eq!(waiters(), "Condvar { waiters: 0, .. }");
}
