//! A signal handler that looks keys up, at the instructions of a thread which writes the same map.
//! Nothing here is left to luck: the writer is single-stepped.

#![cfg(all(target_os = "linux", target_arch = "x86_64", not(leeward_symmetric)))]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/trap.rs"]
mod trap;

use common::*;
use trap::*;

use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use leeward::collect::{HashMap, List, OrderedMap};
use leeward::rcu::{Domain, Guard};

leeward::rcu_domain! { struct D; }

/// Held by each test: one program is stepped at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// What the handler found wrong, a bit each: a handler should not panic.
static WRONG: AtomicU64 = AtomicU64::new(0);
const LOST: u64 = 1;
const DROPPED: u64 = 2;
const UNKNOWN: u64 = 4;
const WALK: u64 = 8;

/// How often the handler has run.
static HANDLED: AtomicU64 = AtomicU64::new(0);

/// Multiplies a number.
#[derive(Default)]
struct Multiply(u64);

impl Hasher for Multiply {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are numbers");
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = (key + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

/// A key's value, which its destructor overwrites.
struct Value {
    key: u64,
    check: u64,
}

impl Value {
    fn new(key: u64) -> Value {
        Value { key, check: !key }
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        self.check = 0;
    }
}

static MAP: HashMap<u64, Value, BuildHasherDefault<Multiply>, D> = HashMap::with_hasher_in(BuildHasherDefault::new());
static ORDERED: OrderedMap<u64, Value, D> = OrderedMap::new_in();
static LIST: List<Value, D> = List::new_in();

/// The keys that are there throughout: those below.
const KEPT: u64 = 5;
/// A key that is there and replaced; and one that comes and goes.
const REPLACED: u64 = 5;
const COMES: u64 = 6;
/// The keys that let the table grow begin here.
const MORE: u64 = 100;

fn check(condition: bool, wrong: u64) {
    if !condition {
        WRONG.fetch_or(wrong, Relaxed);
    }
}

fn check_value(key: u64, value: &Value) {
    check(value.check == !value.key, DROPPED);
    check(value.key == key, UNKNOWN);
}

/// Looks at all keys, by look-ups and by a walk.
fn look<'g>(get: impl Fn(u64) -> Option<&'g Value>, walk: impl Iterator<Item = (&'g u64, &'g Value)>) {
    for key in 0..MORE + 4 {
        match get(key) {
            Some(value) => check_value(key, value),
            None => check(key > REPLACED, LOST),
        }
    }
    let mut seen = [0_u8; KEPT as usize + 1];
    for (key, value) in walk {
        check_value(*key, value);
        if let Some(seen) = seen.get_mut(*key as usize) {
            *seen += 1;
        }
    }
    check(seen == [1; KEPT as usize + 1], WALK);
}

fn look_at_map() {
    let guard: Guard<'_, D> = D::read();
    look(|key| MAP.get(&key, &guard), MAP.iter(&guard));
    HANDLED.fetch_add(1, Relaxed);
}

fn look_at_ordered() {
    let guard: Guard<'_, D> = D::read();
    look(|key| ORDERED.get(&key, &guard), ORDERED.iter(&guard));
    HANDLED.fetch_add(1, Relaxed);
}

/// Steps `body`, with `act` before each of its instructions.
fn look_during(act: fn(), body: fn()) {
    // What blocks signals, which stepping does not survive, comes at the first time: a thread is started.
    body();
    HANDLED.store(0, Relaxed);
    let steps = before_each_instruction(act, body);
    println!("{steps} instructions");
    assert_eq!((WRONG.load(Relaxed), HANDLED.load(Relaxed)), (0, steps));
}

fn fill() {
    D::register().unwrap();
    for key in 0..=REPLACED {
        MAP.insert(key, Value::new(key));
        ORDERED.insert(key, Value::new(key));
    }
}

#[test]
fn a_handler_looks_at_a_hash_map_anywhere() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("a_handler_looks_at_a_hash_map_anywhere");
    fill();
    look_during(look_at_map, || {
        drop(MAP.insert(COMES, Value::new(COMES)));
        drop(MAP.update(REPLACED, |value| Value::new(value.key)));
        drop(MAP.remove(&COMES));
    });
    look_during(look_at_map, || MAP.reclaim());
}

/// The table grows and shrinks, and what was removed is freed.
#[test]
fn a_handler_looks_at_a_hash_map_that_grows_and_shrinks() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("a_handler_looks_at_a_hash_map_that_grows_and_shrinks");
    fill();
    look_during(look_at_map, || {
        (MORE..MORE + 40).for_each(|key| drop(MAP.insert(key, Value::new(key))));
        (MORE..MORE + 40).for_each(|key| drop(MAP.remove(&key)));
        MAP.reclaim();
    });
}

#[test]
fn a_handler_looks_at_an_ordered_map_anywhere() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("a_handler_looks_at_an_ordered_map_anywhere");
    fill();
    look_during(look_at_ordered, || {
        drop(ORDERED.insert(COMES, Value::new(COMES)));
        drop(ORDERED.update(REPLACED, |value| Value::new(value.key)));
        drop(ORDERED.remove(&COMES));
    });
}

/// Leaves split and merge, and what was removed is freed.
#[test]
fn a_handler_looks_at_an_ordered_map_that_grows_and_shrinks() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("a_handler_looks_at_an_ordered_map_that_grows_and_shrinks");
    fill();
    look_during(look_at_ordered, || {
        (MORE..MORE + 40).for_each(|key| drop(ORDERED.insert(key, Value::new(key))));
        (MORE..MORE + 40).for_each(|key| drop(ORDERED.remove(&key)));
    });
}

/// Walks the list, where those that stay are in order, and finds it locked or not.
fn look_at_list() {
    let guard: Guard<'_, D> = D::read();
    let mut next = 0;
    for value in LIST.iter(&guard) {
        check_value(value.key, value);
        if value.key <= REPLACED {
            check(value.key == next, WALK);
            next += 1;
        }
    }
    check(next == REPLACED + 1, WALK);
    // A handler does not wait, and gives back what it takes.
    drop(LIST.try_lock());
    HANDLED.fetch_add(1, Relaxed);
}

#[test]
fn a_handler_walks_a_list_anywhere() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("a_handler_walks_a_list_anywhere");
    D::register().unwrap();
    (&mut &LIST).extend((0..=REPLACED).map(Value::new));
    look_during(look_at_list, || {
        LIST.push_back(Value::new(COMES));
        LIST.push_front(Value::new(MORE));
        let mut locked = LIST.lock();
        let mut cursor = locked.cursor_back();
        drop(cursor.remove_current());
        cursor.move_prev();
        drop(cursor.replace(Value::new(REPLACED)));
        cursor.insert_before(Value::new(MORE));
        cursor.move_prev();
        drop(cursor.remove_current());
        drop(locked);
        drop(LIST.pop_front());
    });
    look_during(look_at_list, || LIST.reclaim());
}
