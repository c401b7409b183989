//! The walk of a robust list where a callback panics: the waiters of locks that were marked are
//! woken.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/arena.rs"]
mod arena;

use std::cell::Cell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Wake, Waker};

use arena::{Arena, BASE};
use leeward_engine::abi::{FUTEX_OWNER_DIED as DIED, FUTEX_WAITERS as WAITERS};
use leeward_engine::{Config, Engine, Heap, ROBUST_LIST_LIMIT, Word};

/// More locks than are woken at a time.
const LOCKS: u64 = 20;
const OFFSET: u64 = 16;

fn entry(i: u64) -> u64 {
    BASE + 256 + 32 * i
}

/// A waker that counts; one of them panics.
struct Told {
    count: AtomicU32,
    panics: bool,
}

impl Wake for Told {
    fn wake(self: Arc<Self>) {
        self.count.fetch_add(1, Ordering::Relaxed);
        if self.panics {
            resume_unwind(Box::new("waker"));
        }
    }
}

/// Ends thread 77 with locks for each of which a future waits. The exchange with the number
/// `exchange` panics, or the waker with the number `waker`.
fn dies_with(exchange: Option<u32>, waker: Option<u64>) {
    let engine = Engine::new(Config::for_processors(1, 3), Heap).unwrap();
    let host = Arena::new(1024);
    host.put(BASE, entry(0));
    host.put(BASE + 8, OFFSET);
    host.put(BASE + 16, 0);
    for i in 0..LOCKS {
        host.put(entry(i), if i + 1 == LOCKS { BASE } else { entry(i + 1) });
        host.set(entry(i) + OFFSET, 77 | WAITERS);
    }
    let told: Vec<_> =
        (0..LOCKS).map(|i| Arc::new(Told { count: AtomicU32::new(0), panics: waker == Some(i) })).collect();
    let wait = |i: u64| engine.wait_async(&host, Word::shared(entry(i) + OFFSET), (77 | WAITERS).into(), u32::MAX);
    let mut futures: Vec<_> = (0..LOCKS).map(|i| Box::pin(wait(i))).collect();
    for (future, told) in futures.iter_mut().zip(&told) {
        let waker = Waker::from(told.clone());
        assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    let exchanges = Rc::new(Cell::new(0));
    let panics = move |_: &Arena, _| {
        exchanges.set(exchanges.get() + 1);
        if Some(exchanges.get()) == exchange {
            resume_unwind(Box::new("exchange"));
        }
    };
    *host.before.borrow_mut() = Some(Box::new(panics));
    host.head.set(BASE);
    let end = catch_unwind(AssertUnwindSafe(|| engine.exit_robust(&host, ROBUST_LIST_LIMIT)));
    assert!(end.is_err(), "there was no panic");
    let marked: Vec<_> = (0..LOCKS).map(|i| u32::from(host.get(entry(i) + OFFSET) & DIED != 0)).collect();
    let woken: Vec<_> = told.iter().map(|told| told.count.load(Ordering::Relaxed)).collect();
    assert_eq!(woken, marked, "exchange {exchange:?}, waker {waker:?}");
}

#[test]
fn who_waits_for_a_lock_that_was_marked_is_woken() {
    for exchange in [1, 2, 10, 16, 17, 18, 20] {
        dies_with(Some(exchange), None);
    }
    for waker in [0, 1, 14, 15, 16, 19] {
        dies_with(None, Some(waker));
    }
}
