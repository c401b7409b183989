//! A host that panics in `spin`, where a leaving waiter finds the lock taken: by a thread whose
//! load of its word lasts until the other one has spun.

#![allow(missing_docs)]

#[path = "../common/zeros.rs"]
#[macro_use]
mod zeros;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};

use leeward_engine::{
    Access, Address, Clock, Config, Deadline, Engine, Errno, Fault, Flag, Heap, Host, ParkEnd, SharedKey, Space, Word,
};

struct Slow {
    space: Arc<Space<Slow>>,
    look: Box<dyn Fn() + Send>,
    sleep: Box<dyn Fn() + Send>,
    spun: Box<dyn Fn(u32) + Send>,
    off: Cell<i32>,
}

/// A time without preemption.
struct Off<'a>(&'a Slow);

impl Drop for Off<'_> {
    fn drop(&mut self) {
        self.0.off.set(self.0.off.get() - 1);
    }
}

impl Host for Slow {
    type Task = ();
    type Memory = Heap;
    type Preemption<'a> = Off<'a>;

    zeros!();

    fn space(&self) -> &Space<Slow> {
        &self.space
    }
    fn threads(&self) -> u32 {
        1
    }
    fn load(&self, _: Address) -> Result<u32, Fault> {
        (self.look)();
        Ok(0)
    }
    fn park(&self, _: &Flag, _: Option<Deadline>) -> ParkEnd {
        (self.sleep)();
        ParkEnd::TimedOut
    }
    fn preempt_off(&self) -> Off<'_> {
        self.off.set(self.off.get() + 1);
        Off(self)
    }
    fn spin(&self, tries: u32) {
        (self.spun)(tries);
        std::thread::yield_now();
    }
}

#[test]
fn a_lock_that_is_taken() {
    let engine = &Engine::new(Config { buckets: 1, ..Config::small(1) }, Heap).unwrap();
    let space = Arc::new(Space::new(1, 7, Heap));
    let (go, started) = mpsc::channel();
    let (locked, is_locked) = mpsc::channel();
    let (spun, has_spun) = mpsc::channel();
    let looks = Cell::new(0);
    let holder = Slow {
        space: space.clone(),
        // The second load is the one under the lock.
        look: Box::new(move || {
            looks.set(looks.get() + 1);
            if looks.get() == 2 {
                locked.send(()).unwrap();
                has_spun.recv().unwrap();
            }
        }),
        sleep: Box::new(|| {}),
        spun: Box::new(|_| {}),
        off: Cell::new(0),
    };
    let panicked = Cell::new(false);
    let leaver = &Slow {
        space,
        look: Box::new(|| {}),
        sleep: Box::new(move || {
            go.send(()).unwrap();
            is_locked.recv().unwrap();
        }),
        spun: Box::new(move |_| {
            if !panicked.replace(true) {
                spun.send(()).unwrap();
                panic!("host: Spin");
            }
        }),
        off: Cell::new(0),
    };
    std::thread::scope(|threads| {
        threads.spawn(move || {
            started.recv().unwrap();
            _ = engine.wait(&holder, Word::shared(4), 0, 1, None);
        });
        let end = catch_unwind(AssertUnwindSafe(|| engine.wait(leaver, Word::shared(8), 0, 1, None)));
        assert!(end.is_err());
    });
    assert_eq!(leaver.off.get(), 0);
    assert_eq!(engine.stats(leaver).waiters, 0);
}
