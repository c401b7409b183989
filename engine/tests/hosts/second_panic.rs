//! A host that panics again while a wait is being undone: there is no sound way on, so the process
//! ends. Tried in a child.

#![cfg(unix)]
#![allow(missing_docs)]

#[path = "../common/zeros.rs"]
#[macro_use]
mod zeros;

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use std::cell::Cell;
use std::future::Future;
use std::task::{Context, Waker};

use leeward_engine::{
    Access, Address, Clock, Config, Deadline, Engine, Errno, Fault, Flag, Heap, Host, ParkEnd, SharedKey, Space, Word,
};

/// A host whose locks can be taken a limited number of times.
struct Worn {
    space: Space<Worn>,
    locks: Cell<u32>,
}

impl Host for Worn {
    type Task = ();
    type Memory = Heap;
    type Preemption<'a> = ();

    zeros!();

    fn space(&self) -> &Space<Worn> {
        &self.space
    }
    fn threads(&self) -> u32 {
        1
    }
    fn load(&self, _: Address) -> Result<u32, Fault> {
        Ok(0)
    }
    fn park(&self, _: &Flag, _: Option<Deadline>) -> ParkEnd {
        ParkEnd::TimedOut
    }
    fn preempt_off(&self) {
        assert!(self.locks.get() != 0, "worn");
        self.locks.set(self.locks.get() - 1);
    }
}

/// Runs `what` in a child of this test; the child must abort.
fn aborts(test: &str, what: impl FnOnce(&Engine<Worn>, &Worn)) {
    const CHILD: &str = "LEEWARD_SECOND_PANIC";
    if std::env::var_os(CHILD).is_some() {
        let engine = Engine::new(Config::small(1), Heap).unwrap();
        let host = Worn { space: Space::new(1, 7, Heap), locks: Cell::new(1) };
        let end = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| what(&engine, &host)));
        // Not reached.
        std::process::exit(if end.is_err() { 3 } else { 4 });
    }
    let program = std::env::current_exe().unwrap();
    let child = Command::new(program).args(["--exact", test]).env(CHILD, "1").output().unwrap();
    assert_eq!(child.status.signal(), Some(6), "{}", String::from_utf8_lossy(&child.stderr));
}

#[test]
fn in_a_wait() {
    aborts("in_a_wait", |engine, host| _ = engine.wait(host, Word::shared(8), 0, 1, None));
}

#[test]
fn in_the_drop_of_a_future() {
    aborts("in_the_drop_of_a_future", |engine, host| {
        let mut future = Box::pin(engine.wait_async(host, Word::shared(8), 0, 1));
        _ = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    });
}
