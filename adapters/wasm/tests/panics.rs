//! Panics in what the runtime implements: they pass through the instruction, and leave no waiter.

mod common;

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

use leeward_engine::{Config, Flag, ParkEnd};
use leeward_wasm::{GuestMemory, LinearMemory, Outcome, Parker, Runtime};

/// A memory and threads whose calls are counted. The one with the number of `last` panics; 0 is
/// none.
#[derive(Default)]
struct Bomb {
    calls: AtomicU32,
    last: AtomicU32,
    names: Mutex<Vec<&'static str>>,
}

impl Bomb {
    fn call(&self, name: &'static str) {
        self.names.lock().unwrap().push(name);
        if self.calls.fetch_add(1, SeqCst) + 1 == self.last.load(SeqCst) {
            panic!("{name}");
        }
    }
}

struct Armed(Arc<Bomb>);

impl LinearMemory for Armed {
    fn length(&self) -> u64 {
        self.0.call("length");
        8
    }

    fn is_shared(&self) -> bool {
        self.0.call("is_shared");
        true
    }

    fn load32(&self, _: u64) -> Option<u32> {
        self.0.call("load32");
        Some(0)
    }

    fn load64(&self, _: u64) -> Option<u64> {
        self.0.call("load64");
        Some(0)
    }
}

impl Parker for Armed {
    type Task = ();

    fn task(&self, _: &Flag) {
        self.0.call("task");
    }

    fn park(&self, _: &Flag, _: Option<u64>) -> ParkEnd {
        self.0.call("park");
        ParkEnd::TimedOut
    }

    fn unpark(&self, (): ()) {}

    fn now(&self) -> u64 {
        self.0.call("now");
        0
    }
}

/// Tries an instruction with a panic in its first call, its second, and so on until none is left;
/// returns the names of the calls.
fn with_a_panic_in_each(instruction: impl Fn(&GuestMemory<Armed, Armed>)) -> Vec<&'static str> {
    let bomb = Arc::new(Bomb::default());
    let runtime = Runtime::new(Config::small(7), Armed(bomb.clone())).unwrap();
    let plain = runtime.memory(Armed(bomb.clone()));
    let interrupt = runtime.interrupt();
    for memory in [plain.clone(), plain.interruptible(&interrupt)] {
        for last in 1.. {
            bomb.calls.store(0, SeqCst);
            bomb.last.store(last, SeqCst);
            let panicked = catch_unwind(AssertUnwindSafe(|| instruction(&memory))).is_err();
            bomb.last.store(0, SeqCst);
            assert_eq!((plain.stats().waiters, plain.notify(0, 0, u32::MAX)), (0, Ok(0)), "after call {last}");
            if !panicked {
                break;
            }
        }
    }
    // None waits for the interrupt either.
    interrupt.raise();
    let mut names = core::mem::take(&mut *bomb.names.lock().unwrap());
    names.sort_unstable();
    names.dedup();
    names
}

#[test]
fn a_panic_in_any_call_of_a_wait_leaves_no_waiter() {
    let names = with_a_panic_in_each(|memory| {
        assert_eq!(memory.wait32(0, 0, 0, 5), Ok(Outcome::TimedOut));
    });
    assert_eq!(names, ["is_shared", "length", "load32", "now", "park", "task"]);
    let names = with_a_panic_in_each(|memory| {
        assert_eq!(memory.wait64(0, 0, 0, 5), Ok(Outcome::TimedOut));
    });
    assert_eq!(names, ["is_shared", "length", "load64", "now", "park", "task"]);
}

#[test]
fn a_panic_in_any_call_of_a_future_leaves_no_waiter() {
    let names = with_a_panic_in_each(|memory| {
        let mut future = Box::pin(memory.wait64_async(0, 0, 0));
        assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    });
    assert_eq!(names, ["is_shared", "length", "load64"]);
}
