//! Histories of the maps: some threads read and write a few keys, while one more inserts and removes
//! many others, so that tables grow and shrink and leaves split and merge. Each key's calls must be
//! those of one variable (`common/linearize.rs`).
//!
//! The keys' own `Eq`, `Ord` and `Hash` yield the processor now and then, and closures do, so that
//! other threads come in between the steps of a call on any machine.

#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/linearize.rs"]
mod linearize;
#[path = "../common/recorded.rs"]
mod recorded;

#[path = "collect_histories/key.rs"]
mod key;
#[path = "collect_histories/maps.rs"]
mod maps;

use common::*;
use key::{Hasher, Key};
use linearize::*;
use maps::{Hashed, Map};
use recorded::{check_histories, history_beside};

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use leeward::collect::OrderedMap;

/// The keys whose calls are recorded are those below.
const KEYS: u32 = 3;
/// The threads that are recorded, and the calls of each of them.
const EACH: [usize; 2] = [3, 12];

/// A call on one key, but for `Walk`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    Get(u32),
    Contains(u32),
    Insert(u32, u32),
    TryInsert(u32, u32),
    /// Adds to the value.
    Update(u32, u32),
    /// Removes an odd value, adds to an even one, or inserts this one.
    Compute(u32, u32),
    Remove(u32),
    /// Looks at all keys, each at a moment of its own. It is checked as a `Get` of each, or as two of
    /// a key that was returned twice.
    Walk,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// What the key had before.
    Was(Option<u32>),
    Is(bool),
    /// What the keys had, in the order of the walk.
    All(Vec<(u32, u32)>),
}

/// One key of a map.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct Variable(Option<u32>);

impl Variable {
    /// Returns the answer to a call, and what the key has afterwards.
    fn after(&self, call: Call) -> (Answer, Option<u32>) {
        let was = Answer::Was(self.0);
        match call {
            Call::Get(_) => (was, self.0),
            Call::Contains(_) => (Answer::Is(self.0.is_some()), self.0),
            Call::Insert(_, value) => (was, Some(value)),
            Call::TryInsert(_, value) => (Answer::Is(self.0.is_none()), self.0.or(Some(value))),
            Call::Update(_, more) => (was, self.0.map(|value| value + more)),
            Call::Compute(_, more) => (was, computed(self.0, more)),
            Call::Remove(_) => (was, None),
            Call::Walk => unreachable!("it is split"),
        }
    }
}

/// Returns what `Call::Compute` leaves of a value.
pub fn computed(value: Option<u32>, more: u32) -> Option<u32> {
    match value {
        None => Some(more),
        Some(odd) if odd % 2 == 1 => None,
        Some(even) => Some(even + more),
    }
}

impl Spec for Variable {
    type Call = Call;
    type Answer = Answer;

    fn accepts(&mut self, call: &Call, answer: &Answer) -> bool {
        let (own, after) = self.after(*call);
        self.0 = after;
        own == *answer
    }
}

fn key_of(call: &Call) -> u32 {
    match *call {
        Call::Get(key) | Call::Contains(key) | Call::Remove(key) => key,
        Call::Insert(key, _) | Call::TryInsert(key, _) | Call::Update(key, _) | Call::Compute(key, _) => key,
        Call::Walk => unreachable!("it is split"),
    }
}

/// Chooses a call.
fn choose(rng: &mut Rng, has_compute: bool, value: u32) -> Call {
    let key = rng.below(KEYS.into()) as u32;
    match rng.below(16) {
        0..3 => Call::Get(key),
        3 => Call::Contains(key),
        4..6 => Call::Walk,
        6..9 => Call::Insert(key, value),
        9..11 => Call::TryInsert(key, value),
        11 => Call::Update(key, 10_000),
        12 if has_compute => Call::Compute(key, value),
        12 => Call::Update(key, 10_000),
        _ => Call::Remove(key),
    }
}

/// Makes a call on a map.
fn make<M: Map>(map: &M, call: Call) -> Answer {
    match call {
        Call::Get(key) => Answer::Was(map.get(Key(key))),
        Call::Contains(key) => Answer::Is(map.contains(Key(key))),
        Call::Insert(key, value) => Answer::Was(map.insert(Key(key), value)),
        Call::TryInsert(key, value) => Answer::Is(map.try_insert(Key(key), value)),
        Call::Update(key, more) => Answer::Was(map.update(Key(key), more)),
        Call::Compute(key, more) => Answer::Was(map.compute(Key(key), more)),
        Call::Remove(key) => Answer::Was(map.remove(Key(key))),
        Call::Walk => {
            let mut all = Vec::new();
            map.walk(|key, value| all.push((key.0, value)));
            let is_ascending = all.windows(2).all(|two| two[0].0 < two[1].0);
            assert!(is_ascending || !M::IS_ORDERED, "a walk is not in order: {all:?}");
            all.retain(|(key, _)| *key < KEYS);
            Answer::All(all)
        }
    }
}

/// Makes a `Get` of each key out of a walk.
fn split(event: Event<Call, Answer>) -> Vec<Event<Call, Answer>> {
    let Answer::All(all) = &event.answer else { return vec![event] };
    let get = |key, value| Event { call: Call::Get(key), answer: Answer::Was(value), ..event.clone() };
    let absent = (0..KEYS).filter(|key| all.iter().all(|(found, _)| found != key));
    let found = all.iter().map(|(key, value)| get(*key, Some(*value)));
    found.chain(absent.map(|key| get(key, None))).collect()
}

/// Inserts other keys and removes them, as long as there is no `end`: the map grows and shrinks.
fn resize(map: &impl Map, seed: u64, end: &AtomicBool) {
    let mut rng = Rng::new(seed);
    while !end.load(Relaxed) {
        let keys = KEYS..KEYS + 20 + rng.below(200) as u32;
        let inserted = keys.take_while(|_| !end.load(Relaxed)).inspect(|&key| {
            map.insert(Key(key), key);
        });
        let inserted: Vec<_> = inserted.collect();
        inserted.into_iter().for_each(|key| assert_eq!(map.remove(Key(key)), Some(key)));
    }
}

/// Checks histories of maps that `make_map` makes.
#[track_caller]
fn check_maps<M: Map>(what: &'static str, make_map: impl Fn() -> M) {
    check_histories(what, |seed| {
        let map = &make_map();
        let choose = |rng: &mut Rng, value| choose(rng, M::HAS_COMPUTE, value);
        let resize = |end: &AtomicBool| resize(map, seed, end);
        let history = history_beside::<Variable>(seed, EACH, choose, |call| make(map, call), resize);
        let history: Vec<_> = history.into_iter().flat_map(split).collect();
        check_by_key::<Variable, _>(&history, key_of, Duration::from_millis(200))
    });
}

#[test]
fn a_hash_map() {
    check_maps("histories of a hash map", || Hashed::with_hasher(Hasher::Spread));
}

#[test]
fn a_hash_map_of_equal_hashes() {
    check_maps("histories of equal hashes", || Hashed::with_hasher(Hasher::Equal));
}

#[test]
fn an_ordered_map_of_entries() {
    check_maps("histories of an ordered map", OrderedMap::<Key, u32>::new);
}

#[test]
fn an_ordered_map_of_copied_keys() {
    check_maps("histories of copied keys", OrderedMap::<Key, u32>::with_copied_keys);
}

#[test]
fn an_ordered_map_of_copied_entries() {
    check_maps("histories of copied entries", OrderedMap::<Key, u32>::with_copied_entries);
}
