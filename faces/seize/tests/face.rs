//! seize's names, and what is added to leeward's epochs: reclaimers that are given their collector, the end of a
//! collector, and owned guards.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use seize::{Collector, Guard, LocalGuard, OwnedGuard, reclaim};

/// Counts its drops.
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn boxed<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// Counts in objects of its own.
struct Objects(Arc<AtomicUsize>);

impl Objects {
    fn new() -> Objects {
        Objects(Arc::default())
    }

    fn object(&self) -> *mut Dropped {
        boxed(Dropped(self.0.clone()))
    }

    fn dropped(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// Flushes until so many are dropped.
    fn are_dropped(&self, wanted: usize, collector: &Collector) {
        for _ in 0..100_000 {
            collector.enter().flush();
            if self.dropped() == wanted {
                return;
            }
            thread::yield_now();
        }
        panic!("{} are dropped, of {wanted}", self.dropped());
    }
}

fn retire(guard: &impl Guard, object: *mut Dropped) {
    // SAFETY: made by `boxed`, known to no other thread, and retired once.
    unsafe { guard.defer_retire(object, reclaim::boxed) };
}

#[test]
fn a_guard_holds_back_and_a_drop_leaves_nothing() {
    fn sends<T: Send + Sync>(_: &T) {}
    let (collector, objects) = (Collector::new().batch_size(4), Objects::new());
    sends(&collector);
    let guard: LocalGuard<'_> = collector.enter();
    let cell = AtomicPtr::new(objects.object());
    for _ in 0..100 {
        let seen = guard.protect(&cell, Ordering::Acquire);
        let old = guard.compare_exchange(&cell, seen, objects.object(), Ordering::AcqRel, Ordering::Acquire);
        retire(&guard, old.unwrap());
        guard.flush();
    }
    assert_eq!((guard.collector(), objects.dropped()), (&collector, 0));
    retire(&guard, guard.swap(&cell, ptr::null_mut(), Ordering::AcqRel));
    let none = ptr::null_mut();
    while guard.compare_exchange_weak(&cell, none, none, Ordering::AcqRel, Ordering::Acquire).is_err() {}
    drop(guard);
    objects.are_dropped(101, &collector);
    retire(&collector.enter(), objects.object());
    drop(collector);
    assert_eq!(objects.dropped(), 102);
}

/// A reclaimer uses the collector that it is given: at any time, after a move, and while the collector ends.
#[test]
fn reclaimers_have_their_collector() {
    /// A list, whose next object is retired by the last one's reclaimer.
    struct Link(*mut Link, #[allow(dead_code)] Dropped);
    unsafe fn unlink(link: *mut Link, collector: &Collector) {
        // SAFETY: made by `boxed`, and retired once.
        let link = unsafe { Box::from_raw(link) };
        if !link.0.is_null() {
            // SAFETY: as above: only this reclaimer has the next one.
            unsafe { collector.retire(link.0, unlink) };
        }
        let guard = collector.enter();
        assert_eq!(guard.collector(), collector);
    }
    let (collector, objects) = (Collector::new(), Objects::new());
    let list = |length| (0..length).fold(ptr::null_mut(), |next, _| boxed(Link(next, Dropped(objects.0.clone()))));
    // SAFETY: known to this thread alone, and retired once.
    unsafe { collector.retire(list(100), unlink) };
    // SAFETY: no section is open.
    unsafe { collector.reclaim_all() };
    assert_eq!(objects.dropped(), 100);
    // SAFETY: as above.
    unsafe { collector.retire(list(100), unlink) };
    let moved = Box::new(collector);
    drop(moved);
    assert_eq!(objects.dropped(), 200);
}

#[test]
fn threads_leave_what_they_retired() {
    for _ in 0..50 {
        let (collector, objects) = (Collector::new(), Objects::new());
        let numbers: Vec<usize> = thread::scope(|scope| {
            let work = || {
                let guard = collector.enter();
                (0..50).for_each(|_| retire(&guard, objects.object()));
                guard.thread_id()
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!((1..4).all(|one| numbers[one] != numbers[one - 1]));
        drop(collector);
        assert_eq!(objects.dropped(), 200);
    }
}

/// What an owned guard may have seen waits for it, whatever threads do; what was reclaimed since does not wait for a
/// guard that came later.
#[test]
fn owned_guards_hold_back_what_they_may_have() {
    fn sends<T: Send + Sync>(_: &T) {}
    let (collector, objects) = (Collector::new(), Objects::new());
    let flush = || (0..10).for_each(|_| collector.enter().flush());
    let mut first: OwnedGuard<'_> = collector.enter_owned();
    sends(&first);
    retire(&first, objects.object());
    thread::scope(|scope| _ = scope.spawn(|| retire(&collector.enter(), objects.object())).join());
    first.flush();
    flush();
    assert_eq!(objects.dropped(), 0);
    let second = collector.enter_owned();
    // The first one goes, from another thread: what waited for it does not wait for the second.
    thread::scope(|scope| {
        let (first, objects) = (&mut first, &objects);
        scope.spawn(move || {
            first.refresh();
            objects.are_dropped(2, first.collector());
        });
    });
    retire(&second, objects.object());
    flush();
    drop(second);
    assert_eq!(objects.dropped(), 2, "the first one may have it");
    drop(first);
    objects.are_dropped(3, &collector);
    // A guard that is leaked holds back until the collector ends.
    std::mem::forget(collector.enter_owned());
    retire(&collector.enter(), objects.object());
    flush();
    assert_eq!(objects.dropped(), 3);
    drop(collector);
    assert_eq!(objects.dropped(), 4);
}

/// Readers with owned guards beside threads that replace and retire.
#[test]
fn owned_guards_see_what_is_alive() {
    const TURNS: usize = if cfg!(miri) { 20 } else { 5_000 };
    let (collector, cell) = (Collector::new().batch_size(2), AtomicPtr::new(boxed(7_usize)));
    let start = Barrier::new(3);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                start.wait();
                for _ in 0..TURNS / 10 {
                    let guard = collector.enter_owned();
                    let seen = guard.protect(&cell, Ordering::Acquire);
                    // SAFETY: protected by the guard.
                    assert_eq!(unsafe { *seen } % 7, 0);
                }
            });
        }
        start.wait();
        for turn in 0..TURNS {
            let old = cell.swap(boxed(7 * turn), Ordering::AcqRel);
            // SAFETY: unlinked above, and retired once.
            unsafe { collector.retire(old, reclaim::boxed) };
        }
    });
    // SAFETY: no other thread has it.
    drop(unsafe { Box::from_raw(cell.into_inner()) });
}

#[test]
fn values_are_dropped_in_place_and_collectors_are_told_apart() {
    let (collector, other, objects) = (Collector::default(), Collector::new(), Objects::new());
    assert!(collector == collector && collector != other);
    assert_eq!(format!("{collector:?}"), "Collector { batch_size: 32 }");
    assert_eq!(format!("{:?} {:?}", collector.enter(), collector.enter_owned()), "LocalGuard OwnedGuard");
    let mut place = std::mem::ManuallyDrop::new(Dropped(objects.0.clone()));
    // SAFETY: lives until the collector has ended, and is dropped by the reclaimer alone.
    unsafe { collector.retire(&raw mut *place, reclaim::in_place) };
    drop(collector);
    assert_eq!(objects.dropped(), 1);
}
