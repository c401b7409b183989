//! Each public function that takes a closure, with closures that panic and that come back: the panic
//! arrives at the caller, the object goes on, and no value is lost or dropped twice. The table is
//! compared with the sources, so that a new function without a row fails.

#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "closures/declared.rs"]
mod declared;
#[path = "closures/rows.rs"]
mod rows;

use common::{Watchdog, eventually, panic_of};

use std::cell::Cell;
use std::sync::atomic::{AtomicI64, Ordering};

use leeward::rcu::epoch;
use leeward::{hazard, rcu};

/// How many values live.
static LIVE: AtomicI64 = AtomicI64::new(0);

/// A value that is counted, and that tells if it is dropped twice.
pub struct Value(Box<u32>);

impl Default for Value {
    fn default() -> Value {
        LIVE.fetch_add(1, Ordering::Relaxed);
        Value(Box::new(7))
    }
}

impl Clone for Value {
    fn clone(&self) -> Value {
        assert_eq!(*self.0, 7, "it is alive");
        Value::default()
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        assert_eq!(std::mem::take(&mut *self.0), 7, "it is dropped once");
        LIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What a closure may do with the object whose function called it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// It may call the same function.
    Returns,
    /// The same function panics in it, with this among its words.
    Panics(&'static str),
    /// A lock is held, for which the same function waits.
    Waits,
}

pub struct Row {
    pub name: &'static str,
    pub check: fn(&'static str),
}

/// Calls a function of an object that `make` returns with closures that call a function of ours.
pub fn check<T>(name: &'static str, again: Again, make: fn() -> T, call: fn(&T, &dyn Fn())) {
    let _dog = Watchdog::new(name);
    let before = LIVE.load(Ordering::Relaxed);
    let object = make();
    let works = |when| {
        let calls = Cell::new(0);
        call(&object, &|| calls.set(calls.get() + 1));
        assert_ne!(calls.get(), 0, "{name}: calls its closure {when}");
    };
    works("at first");
    let panic = panic_of(|| call(&object, &|| panic!("the closure's own")));
    assert_eq!(panic, "the closure's own", "{name}");
    works("after a panic");
    let is_inside = Cell::new(false);
    match again {
        Again::Returns => call(&object, &|| {
            if !is_inside.replace(true) {
                call(&object, &|| ());
            }
        }),
        Again::Panics(words) => {
            let panic = panic_of(|| call(&object, &|| call(&object, &|| ())));
            assert!(panic.contains(words), "{name}: {panic}");
        }
        Again::Waits => {}
    }
    works("after all");
    drop(object);
    let mut calls = 0;
    eventually("every value is dropped, once", || {
        calls += 1;
        rcu::barrier();
        epoch::pin().flush();
        hazard::reclaim();
        LIVE.load(Ordering::Relaxed) == before
    });
}

#[test]
fn each_closure_may_panic_and_may_come_back() {
    rows::all().for_each(|row| (row.check)(row.name));
}
