//! Containers and threads that end: used in thread-local destructors on either side of the library's
//! own, with guards and removed entries leaked; maps that are thread-local themselves; and writers
//! of unlike priority on one processor.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;

use common::*;

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use std::thread;

use leeward::collect::{HashMap, List, OrderedMap, Queue, Stack};
use leeward::rcu::{Domain, Guard};

#[path = "collect_exit/destructors.rs"]
mod destructors;
#[path = "collect_exit/leaks.rs"]
mod leaks;
#[path = "collect_exit/priorities.rs"]
mod priorities;

type Hasher = std::hash::RandomState;

const ALIVE: u64 = 0xA11E;

/// A value that is counted, and whose destructor overwrites it.
struct Value {
    word: u64,
    alive: &'static AtomicI64,
}

impl Value {
    fn new(alive: &'static AtomicI64) -> Value {
        alive.fetch_add(1, Relaxed);
        Value { word: ALIVE, alive }
    }

    #[track_caller]
    fn check(&self) {
        assert_eq!(self.word, ALIVE, "a value was dropped under a reader");
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        self.check();
        self.word = 0xDEAD;
        self.alive.fetch_sub(1, Relaxed);
    }
}

/// One container of each kind, in the domain `D`.
struct Containers<D: Domain> {
    map: HashMap<u64, Value, Hasher, D>,
    ordered: OrderedMap<u64, Value, D>,
    list: List<Value, D>,
    queue: Queue<Value>,
    stack: Stack<Value>,
}

impl<D: Domain> Containers<D> {
    fn new() -> Self {
        Containers {
            map: HashMap::with_hasher_in(Hasher::new()),
            ordered: OrderedMap::new_in(),
            list: List::new_in(),
            queue: Queue::new(),
            stack: Stack::new(),
        }
    }

    /// Uses everything, with keys that only the caller uses, and leaves it as it was.
    fn use_all(&self, first: u64, alive: &'static AtomicI64) {
        let new = || Value::new(alive);
        let keys = first..first + 40;
        for key in keys.clone() {
            assert!(self.map.insert(key, new()).is_none());
            assert!(self.ordered.insert(key, new()).is_none());
        }
        keys.clone().for_each(|_| self.list.push_front(new()));
        let guard = D::read();
        for key in keys.clone() {
            self.map.get(&key, &guard).unwrap().check();
            self.ordered.get(&key, &guard).unwrap().check();
        }
        assert!(
            self.map.iter(&guard).filter(|(key, _)| keys.contains(key)).inspect(|(_, value)| value.check()).count()
                == 40
        );
        assert_eq!(self.ordered.range(keys.clone(), &guard).inspect(|(_, value)| value.check()).count(), 40);
        self.list.iter(&guard).for_each(Value::check);
        drop(guard);
        self.map.update(first, |_| new()).unwrap().check();
        self.ordered.update(first, |_| new()).unwrap().check();
        let mut keys = keys;
        let last = keys.next_back().unwrap();
        for key in keys {
            self.map.remove(&key).unwrap().check();
            self.ordered.remove(&key).unwrap().check();
        }
        self.map.remove(&last).unwrap().synchronize().1.check();
        self.ordered.remove(&last).unwrap().synchronize().1.check();
        (0..39).for_each(|_| drop(self.list.pop_front()));
        self.list.pop_back().unwrap().synchronize().check();
        self.map.reclaim();
        self.queue.push(new());
        self.stack.push(new());
        self.queue.pop().unwrap().check();
        self.stack.pop().unwrap().check();
    }

    fn assert_empty(&self) {
        assert!(self.map.is_empty() && self.ordered.is_empty() && self.list.is_empty());
        assert!(self.queue.is_empty() && self.stack.is_empty());
    }
}
