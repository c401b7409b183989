//! Collectors and futures in the children of forks.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/deferred.rs"]
mod deferred;
#[path = "../common/processes.rs"]
mod processes;

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use common::Watchdog;
use deferred::{BAG, defer_counting};
use leeward::rcu::Domain;
use leeward::rcu::epoch::{self, Collector};

/// Runs `work` in a child.
#[track_caller]
fn in_child(work: impl FnOnce()) {
    processes::in_child(|| {
        work();
        true
    });
}

/// Wakes a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        thread::park();
    }
}

#[test]
fn a_child_goes_on_with_what_its_thread_has() {
    let (collector, count) = (Collector::new(), Arc::default());
    let handle = collector.register();
    let (go, inside) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(|| {
            let other = collector.register();
            let _section = other.pin();
            inside.wait();
            go.wait();
        });
        inside.wait();
        let guard = handle.pin();
        defer_counting(&guard, 2 * BAG + 3, &count);
        in_child(|| {
            // The other thread's section is over here; this thread's own goes on.
            guard.flush();
            guard.flush();
            assert_eq!(count.load(SeqCst), 0);
            drop(guard);
            handle.pin().flush();
            handle.pin().flush();
            assert_eq!(count.load(SeqCst), 2 * BAG + 3);
            collector.synchronize();
            // New collectors, handles and threads serve.
            let new = Collector::new();
            thread::scope(|scope| {
                scope.spawn(|| defer_counting(&new.register().pin(), BAG, &count));
            });
            drop(new);
            assert_eq!(count.load(SeqCst), 3 * BAG + 3);
            drop(handle);
        });
        go.wait();
    });
}

/// Forks come while other threads make and end collectors and handles, and defer.
#[test]
fn children_of_busy_parents_use_everything() {
    let stop = AtomicUsize::new(0);
    let shared = Collector::new();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while stop.load(Relaxed) == 0 {
                    let count = Arc::default();
                    let own = Collector::new();
                    for collector in [&own, &shared, epoch::default_collector()] {
                        let handle = collector.register();
                        defer_counting(&handle.pin(), BAG + 1, &count);
                    }
                }
            });
        }
        let handle = shared.register();
        for _ in 0..50 {
            in_child(|| {
                let count = Arc::default();
                defer_counting(&handle.pin(), BAG, &count);
                for _ in 0..3 {
                    handle.pin().flush();
                }
                assert_eq!(count.load(SeqCst), BAG);
                let own = Collector::new();
                defer_counting(&own.register().pin(), BAG, &count);
                drop(own);
                assert_eq!(count.load(SeqCst), 2 * BAG);
                drop(epoch::pin());
                shared.synchronize();
            });
        }
        stop.store(1, Relaxed);
    });
}

/// The child ends collectors whose records other threads were using.
#[test]
fn children_enter_and_end_collectors() {
    let stop = AtomicUsize::new(0);
    let shared = Collector::new();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let count = Arc::default();
                while stop.load(Relaxed) == 0 {
                    defer_counting(&shared.enter(), 7, &count);
                    let own = Collector::new();
                    defer_counting(&own.enter(), 7, &count);
                }
            });
        }
        for _ in 0..50 {
            let guard = shared.enter();
            in_child(|| {
                let count = Arc::default();
                defer_counting(&guard, BAG, &count);
                drop(guard);
                for _ in 0..3 {
                    shared.enter().flush();
                }
                assert_eq!(count.load(SeqCst), BAG);
                let own = Collector::new();
                defer_counting(&own.enter(), BAG, &count);
                drop(own);
                assert_eq!(count.load(SeqCst), 2 * BAG);
            });
        }
        stop.store(1, Relaxed);
    });
}

/// A future that was begun before a fork, and one that the child begins.
#[test]
fn children_await_grace_periods() {
    leeward::rcu_domain! { struct D; }
    D::set_child_adopts(true);
    let _watch = Watchdog::new("futures and forks");
    for _ in 0..20 {
        let mut before = D::synchronize_async();
        let _ = pin!(&mut before).poll(&mut Context::from_waker(Waker::noop()));
        in_child(|| {
            block_on(D::synchronize_async());
            block_on(&mut before);
        });
        block_on(before);
    }
}

/// A thread of the child ends a collector whose record the forking thread has.
#[test]
fn another_thread_of_the_child_ends_the_collector() {
    let (collector, count) = (Collector::new(), Arc::default());
    defer_counting(&collector.enter(), BAG + 1, &count);
    let other = collector.clone();
    in_child(|| {
        drop(collector);
        thread::scope(|scope| {
            scope.spawn(|| drop(other));
        });
        assert_eq!(count.load(SeqCst), BAG + 1);
    });
}
