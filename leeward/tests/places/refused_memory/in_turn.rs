//! Every operation of `collect` that says where there is no memory, refused at each of its allocations
//! in turn: at that one alone, and at all from there on.

use std::collections::BTreeSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::path::Path;
use std::sync::Arc;

use leeward::collect::{Bounded, HashMap, HashSet, List, Queue, ShardMap, Stack, TryPop};
use leeward::rcu::{Domain, Global};

#[path = "ordered.rs"]
mod ordered;

use super::allocator::{refused_after, refuses};

/// A value whose copies are counted: one that is lost or freed twice shows.
type Value = Arc<u32>;

/// What a container has that is tried.
trait Tried {
    /// Makes what the operation is given, with memory.
    fn prepare(&mut self) {}

    /// Tries the operation. Returns false if there is no memory.
    fn tries(&mut self) -> bool;

    /// Looks whether all is there that must be, after an operation that was done or refused.
    fn check(&mut self, is_done: bool);
}

/// Makes a container, and refuses its operation each of its allocations in turn.
fn in_turn<T: Tried>(name: &str, make: impl Fn() -> T) {
    // What a thread and a domain allocate once.
    assert!(make().tries(), "{name}");
    for refuses in [1, u64::MAX] {
        for passes in 0.. {
            let mut tried = make();
            tried.prepare();
            let (is_done, refused) = refused_after(passes, refuses, || tried.tries());
            tried.check(is_done);
            // There is memory again.
            if !is_done {
                assert!(tried.tries(), "{name}: refused for ever");
                tried.check(true);
            }
            if refused == 0 {
                assert!(is_done && passes != 0, "{name}: nothing was refused");
                break;
            }
        }
    }
}

/// A container of values, with `length` in it, to which one is pushed.
struct Pushed<C> {
    container: C,
    length: u32,
    all: Value,
}

/// A container to which values are pushed.
trait Pushes: Default {
    fn push(&self, value: Value) -> Result<(), Value>;

    /// Takes all values out, in the order in which they were pushed, without an allocation.
    fn take_all(&self, each: &mut dyn FnMut(Value));
}

impl<C: Pushes> Pushed<C> {
    fn new(length: u32) -> Self {
        let (container, all) = (C::default(), Arc::new(7));
        assert!((0..length).all(|_| container.push(all.clone()).is_ok()));
        Pushed { container, length, all }
    }
}

impl<C: Pushes> Tried for Pushed<C> {
    fn tries(&mut self) -> bool {
        match self.container.push(self.all.clone()) {
            Ok(()) => true,
            Err(back) => {
                assert!(Arc::ptr_eq(&back, &self.all), "another value comes back");
                false
            }
        }
    }

    fn check(&mut self, is_done: bool) {
        let length = self.length + u32::from(is_done);
        assert_eq!(Arc::strong_count(&self.all) as u32, length + 1, "a value is lost");
        if is_done {
            refuses(true);
            let mut taken = 0;
            self.container.take_all(&mut |value| taken += u32::from(Arc::ptr_eq(&value, &self.all)));
            refuses(false);
            assert_eq!(taken, length, "a value does not come out");
        }
    }
}

impl Pushes for Queue<Value> {
    fn push(&self, value: Value) -> Result<(), Value> {
        self.try_push(value)
    }

    fn take_all(&self, each: &mut dyn FnMut(Value)) {
        while let TryPop::Value(value) = self.try_pop() {
            each(value);
        }
        assert!(self.is_empty());
    }
}

impl Pushes for Stack<Value> {
    fn push(&self, value: Value) -> Result<(), Value> {
        self.try_push(value)
    }

    fn take_all(&self, each: &mut dyn FnMut(Value)) {
        self.pop_all().for_each(each);
        assert!(self.is_empty());
    }
}

/// A list that is pushed to at one end.
#[derive(Default)]
struct Ended<const IS_FRONT: bool>(List<Value>);

impl<const IS_FRONT: bool> Pushes for Ended<IS_FRONT> {
    fn push(&self, value: Value) -> Result<(), Value> {
        if IS_FRONT { self.0.try_push_front(value) } else { self.0.try_push_back(value) }
    }

    fn take_all(&self, each: &mut dyn FnMut(Value)) {
        let locked = self.0.lock();
        assert_eq!(locked.iter().count(), locked.len());
        locked.iter().for_each(|value| each(value.clone()));
    }
}

/// Puts all keys into a few lines, so that a move of a table allocates lines.
#[derive(Default)]
struct Few(u64);

impl Hasher for Few {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are numbers");
    }

    fn write_u32(&mut self, key: u32) {
        self.0 = u64::from(key % 3) | u64::from(key) << 57;
    }
}

type Hashes = BuildHasherDefault<Few>;
const KEYS: u32 = 60;

/// A map that is asked for room.
trait Room {
    fn new() -> Self;
    fn insert(&mut self, key: u32, value: Value);
    /// Asks for so many entries more; `false`: there is no memory.
    fn reserve(&mut self, more: usize) -> bool;
    fn has(&self, key: u32) -> bool;
    fn len(&self) -> usize;
    fn capacity(&self) -> usize;
}

struct Reserved<M> {
    map: M,
    keys: u32,
    before: usize,
    all: Value,
}

impl<M: Room> Reserved<M> {
    fn new(keys: u32) -> Self {
        let (mut map, all) = (M::new(), Arc::new(7));
        (0..keys).for_each(|key| map.insert(key, all.clone()));
        // What moves still, of the last growth.
        assert!(map.reserve(0));
        Reserved { before: map.capacity(), map, keys, all }
    }
}

impl<M: Room> Tried for Reserved<M> {
    fn tries(&mut self) -> bool {
        self.map.reserve(self.before + 1000)
    }

    fn check(&mut self, is_done: bool) {
        assert!(is_done || self.map.capacity() == self.before, "refused, and the capacity has changed");
        assert_eq!(self.map.len() as u32, self.keys);
        assert!((0..self.keys).all(|key| self.map.has(key)), "a key is lost");
        assert_eq!(Arc::strong_count(&self.all) as u32, self.keys + 1, "a value is lost");
        if is_done {
            // Where lines could not be moved, the next writers move them.
            (0..KEYS).for_each(|key| self.map.insert(1000 + key, self.all.clone()));
            assert!((0..self.keys).chain(1000..1000 + KEYS).all(|key| self.map.has(key)), "a key is lost");
            assert_eq!(self.map.len() as u32, self.keys + KEYS);
        }
    }
}

impl Room for HashMap<u32, Value, Hashes> {
    fn new() -> Self {
        HashMap::default()
    }

    fn insert(&mut self, key: u32, value: Value) {
        assert!(HashMap::insert(self, key, value).is_none());
    }

    fn reserve(&mut self, more: usize) -> bool {
        self.try_reserve(more).is_ok()
    }

    fn has(&self, key: u32) -> bool {
        self.contains_key(&key)
    }

    fn len(&self) -> usize {
        let count = self.iter(&Global::read()).count();
        assert_eq!(HashMap::len(self), count, "a key is there twice");
        count
    }

    fn capacity(&self) -> usize {
        HashMap::capacity(self)
    }
}

/// A set has no values: they are kept beside it.
struct Set(HashSet<u32, Hashes>, Vec<Value>);

impl Room for Set {
    fn new() -> Self {
        Set(HashSet::default(), Vec::new())
    }

    fn insert(&mut self, key: u32, value: Value) {
        assert!(self.0.insert(key));
        self.1.push(value);
    }

    fn reserve(&mut self, more: usize) -> bool {
        self.0.try_reserve(more).is_ok()
    }

    fn has(&self, key: u32) -> bool {
        self.0.contains(&key)
    }

    fn len(&self) -> usize {
        let count = self.0.iter(&Global::read()).count();
        assert_eq!(self.0.len(), count, "a key is there twice");
        count
    }

    fn capacity(&self) -> usize {
        self.0.capacity()
    }
}

impl Room for ShardMap<u32, Value, Hashes> {
    fn new() -> Self {
        ShardMap::default()
    }

    fn insert(&mut self, key: u32, value: Value) {
        assert!(ShardMap::insert(self, key, value).is_none());
    }

    fn reserve(&mut self, more: usize) -> bool {
        self.try_reserve(more).is_ok()
    }

    fn has(&self, key: u32) -> bool {
        self.contains_key(&key)
    }

    fn len(&self) -> usize {
        ShardMap::len(self)
    }

    /// Returns 0: the room of some shards may have changed.
    fn capacity(&self) -> usize {
        0
    }
}

fn pushes<C: Pushes>(name: &str) {
    // To an empty one, into a block that has room or is full, and behind several.
    for length in [0, 1, 54, 55, 56, 110] {
        in_turn_if_it_allocates(name, length, || Pushed::<C>::new(length));
    }
}

/// Not each push of a queue allocates.
fn in_turn_if_it_allocates<T: Tried>(name: &str, length: u32, make: impl Fn() -> T) {
    let mut tried = make();
    let (is_done, refused) = refused_after(0, u64::MAX, || tried.tries());
    tried.check(is_done);
    assert!(refused != 0 || is_done && length != 0, "{name}: {length}");
    if refused != 0 {
        in_turn(name, make);
    }
}

/// A bounded queue that is made, or is not.
struct Made(Option<Bounded<u32>>, fn(usize) -> Option<Bounded<u32>>);

impl Tried for Made {
    fn tries(&mut self) -> bool {
        self.0 = (self.1)(100);
        self.0.is_some()
    }

    fn check(&mut self, is_done: bool) {
        assert_eq!(
            self.0.take().map(|queue| (0..100).all(|value| queue.try_push(value).is_ok())),
            is_done.then_some(true)
        );
    }
}

fn makes(name: &str, make: fn(usize) -> Option<Bounded<u32>>) {
    in_turn(name, || Made(None, make));
}

fn reserves<M: Room>(name: &str) {
    for keys in [0, 1, KEYS] {
        in_turn(name, || Reserved::<M>::new(keys));
    }
}

/// The operations, by file and name.
const TABLE: &[(&str, &str, fn(&str))] = &[
    ("bounded/bounded.rs", "try_with_capacity", |name| {
        makes(name, |capacity| Bounded::try_with_capacity(capacity).ok());
    }),
    ("bounded/bounded.rs", "try_with_capacity_in", |name| {
        makes(name, |capacity| Bounded::try_with_capacity_in(capacity).ok());
    }),
    ("queue/queue.rs", "try_push", pushes::<Queue<Value>>),
    ("stack/stack.rs", "try_push", pushes::<Stack<Value>>),
    ("list/write.rs", "try_push_front", pushes::<Ended<true>>),
    ("list/write.rs", "try_push_back", pushes::<Ended<false>>),
    ("hash_map/mod.rs", "try_reserve", reserves::<HashMap<u32, Value, Hashes>>),
    ("hash_set.rs", "try_reserve", reserves::<Set>),
    ("shard_map/write.rs", "try_reserve", reserves::<ShardMap<u32, Value, Hashes>>),
    ("ordered_map/checked.rs", "checked_insert", ordered::checked_insert),
    ("ordered_map/checked.rs", "checked_try_insert", ordered::checked_try_insert),
    ("ordered_map/checked.rs", "checked_update", ordered::checked_update),
    ("ordered_map/checked.rs", "checked_remove", ordered::checked_remove),
    ("ordered_map/checked.rs", "checked_pop_first", ordered::checked_pop_first),
    ("ordered_map/checked.rs", "checked_pop_last", ordered::checked_pop_last),
    ("ordered_map/checked.rs", "checked_retain", ordered::checked_retain),
];

#[test]
fn every_operation_is_refused_at_each_allocation() {
    Global::register().unwrap();
    for (file, name, run) in TABLE {
        run(&format!("{file}: {name}"));
    }
}

/// Adds to `found` the functions below a folder whose documentation says where there is no memory.
fn fallible(root: &Path, folder: &Path, found: &mut BTreeSet<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            fallible(root, &path, found);
            continue;
        }
        let (text, mut words) = (std::fs::read_to_string(&path).unwrap(), String::new());
        for line in text.lines().map(str::trim_start) {
            if let Some(doc) = line.strip_prefix("///") {
                words += doc;
            } else if let Some(name) = line.strip_prefix("pub fn ") {
                let errors = words.split("# ").find_map(|section| section.strip_prefix("Errors"));
                if errors.is_some_and(|errors| errors.contains("no memory") || errors.contains("TryReserveError")) {
                    let name = name.split(['(', '<']).next().unwrap();
                    let file = path.strip_prefix(root).unwrap().display();
                    found.insert((file.to_string(), name.to_string()));
                }
                words.clear();
            } else if !line.starts_with("#[") {
                words.clear();
            }
        }
    }
}

#[test]
fn the_table_has_every_operation_that_may_be_refused() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/collect");
    let mut found = BTreeSet::new();
    fallible(&root, &root, &mut found);
    let listed = TABLE.iter().map(|(file, name, _)| (file.to_string(), name.to_string())).collect();
    assert_eq!(found, listed);
}
