//! Guards that are leaked.

use std::cell::Cell;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use seize::{Collector, Guard, reclaim};

struct Counted<'a>(&'a Cell<u32>);
impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

/// A section of a guard that is leaked holds up no drop of the collector, which reclaims what is left.
#[test]
fn a_leaked_guard_holds_up_no_drop() {
    let dropped = Cell::new(0);
    let collector = Collector::new();
    let cell = AtomicPtr::new(Box::into_raw(Box::new(Counted(&dropped))));
    let guard = collector.enter();
    let old = guard.swap(&cell, std::ptr::null_mut(), Ordering::AcqRel);
    // SAFETY: unlinked above, and retired once; this thread reclaims it.
    unsafe { guard.defer_retire(old, reclaim::boxed) };
    std::mem::forget(guard);
    drop(collector);
    assert_eq!(dropped.get(), 1);
}

/// Neither does one that is leaked on a thread that lives on.
#[test]
fn a_guard_that_another_thread_leaked_holds_up_no_drop() {
    let collector = Arc::new(Collector::new());
    let (leaked, end) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let thread = thread::spawn({
        let (collector, leaked, end) = (collector.clone(), leaked.clone(), end.clone());
        move || {
            std::mem::forget(collector.enter());
            drop(collector);
            leaked.wait();
            end.wait();
        }
    });
    leaked.wait();
    drop(Arc::into_inner(collector).expect("the thread has dropped its own"));
    end.wait();
    thread.join().unwrap();
}
