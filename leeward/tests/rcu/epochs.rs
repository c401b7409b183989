//! Collectors of `rcu::epoch`: what is deferred is called once, not before its readers have left, and
//! all of it in the end; beside panics, leaked guards and the exit of threads.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::{Arc, Barrier};
use std::thread;

use leeward::rcu::epoch::{self, Atomic, Collector, Guard, LocalHandle, Owned, Shared};

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/deferred.rs"]
mod deferred;
#[path = "epochs/edges.rs"]
mod edges;
#[path = "epochs/entered.rs"]
mod entered;
#[path = "epochs/pointers.rs"]
mod pointers;

use deferred::{BAG, Counted, defer_counting};

#[test]
fn an_open_section_holds_back_what_is_deferred_meanwhile() {
    let (collector, count) = (Collector::new(), Arc::default());
    let (reader, writer) = (collector.register(), collector.register());
    let section = reader.pin();
    defer_counting(&writer.pin(), 10 * BAG, &count);
    for _ in 0..10 {
        writer.pin().flush();
    }
    assert_eq!(count.load(SeqCst), 0);
    assert_eq!(collector.stats().callbacks_queued, 10 * BAG as u64);
    drop(section);
    for _ in 0..3 {
        writer.pin().flush();
    }
    assert_eq!(count.load(SeqCst), 10 * BAG);
    assert_eq!(collector.stats().callbacks_run, 10 * BAG as u64);
    assert_eq!(collector.stats().callbacks_queued, 0);
}

#[test]
fn a_section_that_began_later_holds_nothing_back() {
    let (collector, count) = (Collector::new(), Arc::default());
    let (reader, writer) = (collector.register(), collector.register());
    defer_counting(&writer.pin(), BAG, &count);
    writer.pin().flush();
    // The grace period was begun within a section; it ends at the next step, although a reader entered since.
    let _section = reader.pin();
    writer.pin().flush();
    assert_eq!(count.load(SeqCst), BAG);
}

#[test]
fn a_writer_that_goes_on_frees_by_itself() {
    let (collector, count) = (Collector::new(), Arc::default());
    let writer = collector.register();
    let most = 1 << 16;
    for _ in 0..4 * most / BAG {
        defer_counting(&writer.pin(), BAG, &count);
    }
    assert!(count.load(SeqCst) > most, "{} were called", count.load(SeqCst));
}

#[test]
fn the_last_handle_and_collector_call_all_that_is_left() {
    let count = Arc::default();
    let collector = Collector::new();
    let handle = collector.register();
    let other = collector.register();
    let section = other.pin();
    defer_counting(&handle.pin(), 3 * BAG + 1, &count);
    drop(handle);
    assert_eq!(count.load(SeqCst), 0, "a section is open");
    drop(collector);
    drop(other);
    assert_eq!(count.load(SeqCst), 0, "a section is open");
    drop(section);
    assert_eq!(count.load(SeqCst), 3 * BAG + 1);
}

#[test]
fn what_threads_leave_is_called_by_others() {
    let (collector, count) = (Collector::new(), Arc::default());
    let reader = collector.register();
    let section = reader.pin();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| defer_counting(&collector.register().pin(), BAG + 7, &count));
        }
    });
    assert_eq!(count.load(SeqCst), 0);
    drop(section);
    for _ in 0..4 {
        reader.pin().flush();
    }
    assert_eq!(count.load(SeqCst), 4 * (BAG + 7));
}

#[test]
fn a_thread_that_only_reads_helps() {
    let (collector, count) = (Collector::new(), Arc::default());
    let reader = collector.register();
    let section = reader.pin();
    thread::scope(|scope| drop(scope.spawn(|| defer_counting(&collector.register().pin(), 2000, &count))));
    assert_eq!(count.load(SeqCst), 0);
    drop(section);
    common::eventually("a reader makes the calls", || {
        (0..10_000).for_each(|_| drop(reader.pin()));
        count.load(SeqCst) == 2000
    });
}

#[test]
fn sections_nest_and_guards_outlive_their_handle() {
    let (collector, count) = (Collector::new(), Arc::default());
    let handle = collector.register();
    let outer = handle.pin();
    let inner = handle.pin();
    drop(outer);
    assert!(handle.is_pinned());
    drop(handle);
    defer_counting(&inner, 1, &count);
    assert_eq!(inner.collector(), Some(&collector));
    assert_eq!(collector.stats().readers, 1);
    drop(inner);
    assert_eq!(collector.stats().readers, 0);
    assert_eq!(count.load(SeqCst), 1, "the record's end makes its calls");
}

#[test]
fn repin_lets_go_and_repin_after_leaves() {
    let (collector, count) = (Collector::new(), Arc::default());
    let (reader, writer) = (collector.register(), collector.register());
    let mut section = reader.pin();
    defer_counting(&writer.pin(), 1, &count);
    writer.pin().flush();
    section.repin();
    writer.pin().flush();
    assert_eq!(count.load(SeqCst), 1);

    let nested = reader.pin();
    section.repin_after(|| assert!(reader.is_pinned(), "another guard is open"));
    drop(nested);
    section.repin_after(|| {
        assert!(!reader.is_pinned());
        collector.synchronize();
    });
    assert!(reader.is_pinned());
}

#[test]
fn collectors_wait_for_their_own_readers_only() {
    let (ours, others, count) = (Collector::new(), Collector::new(), Arc::default());
    assert_ne!(ours, others);
    let (handle, other) = (ours.register(), others.register());
    let _section = other.pin();
    defer_counting(&handle.pin(), 1, &count);
    handle.pin().flush();
    handle.pin().flush();
    assert_eq!(count.load(SeqCst), 1);
    ours.synchronize();
}

#[test]
#[should_panic(expected = "in a section of the same collector")]
fn synchronize_in_an_own_section_panics() {
    let collector = Collector::new();
    let handle = collector.register();
    let _section = handle.pin();
    collector.synchronize();
}

#[test]
fn the_limit_is_counted_and_hastens() {
    let (collector, count) = (Collector::new(), Arc::default());
    collector.set_limit(BAG / 2);
    let handle = collector.register();
    for _ in 0..8 {
        defer_counting(&handle.pin(), BAG, &count);
    }
    assert!(collector.stats().over_limit >= 7);
    assert!(count.load(SeqCst) >= 4 * BAG, "each bag begins a grace period, and ends that of the one before");
}

/// Readers of a stack of one element look at what writers replace and destroy, on threads that come
/// and go.
#[test]
fn readers_never_see_what_was_freed() {
    const ALIVE: u64 = 0x600d;
    struct Value(u64);
    impl Drop for Value {
        fn drop(&mut self) {
            self.0 = 0xdead;
        }
    }
    let (collector, cell) = (Collector::new(), Atomic::new(Value(ALIVE)));
    let rounds = 20;
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..rounds {
                    let handle = collector.register();
                    for _ in 0..5_000 {
                        let guard = handle.pin();
                        // SAFETY: the cell is never empty, and what it had is retired in this collector.
                        let value = unsafe { cell.load(Acquire, &guard).deref() };
                        assert_eq!(value.0, ALIVE);
                    }
                }
            });
            scope.spawn(|| {
                for _ in 0..rounds {
                    let handle = collector.register();
                    for _ in 0..1_000 {
                        let guard = handle.pin();
                        let old = cell.swap(Owned::new(Value(ALIVE)), AcqRel, &guard);
                        // SAFETY: unlinked by the exchange, and retired once.
                        unsafe { guard.defer_destroy(old) };
                    }
                }
            });
        }
    });
    // SAFETY: no thread is left.
    drop(unsafe { cell.into_owned() });
}
