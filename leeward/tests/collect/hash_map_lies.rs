//! `collect::HashMap` and `HashSet` with a key whose `Hash` answers differently each time it is
//! asked, beside honest keys. What becomes of the lying key is open; each call ends, honest entries
//! are found, replaced and removed as ever, no line stays locked, and what was put in is dropped
//! once.

#[path = "../common/cases.rs"]
mod cases;
#[path = "../common/mod.rs"]
mod common;

use std::cell::Cell;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use leeward::collect::hash_map::Operation;
use leeward::collect::raw::map::{Added, Map as MapOfNodes, MapNode, Reclaim, Sizes};
use leeward::collect::{HashMap, HashSet};
use leeward::rcu::{Domain, Head};

use common::eventually;

leeward::rcu_domain! {
    /// The domain of these maps, in which readers of other tests are not waited for.
    struct Own;
}

/// The number of honest keys of one thread.
const HONEST: u64 = if cfg!(miri) { 20 } else { 100 };
/// The number of the lying key.
const LIAR: u64 = u64::MAX;
/// What each answer of `Hash` differs from the last one by, where all differ: in line and tag.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A hasher that returns the number that it was given.
#[derive(Default, Clone)]
struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys hash one number");
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

/// A key; the lying one hashes to what `ANSWERS` says next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Key(u64);

impl Hash for Key {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(if self.0 == LIAR { next_answer() } else { hash_of(self.0) });
    }
}

/// Returns the hash of an honest key: each has its line and its tag.
fn hash_of(key: u64) -> u64 {
    key | key << 57
}

/// What the lying key answers: hashes of the honest keys 1 and 2, or others.
#[derive(Clone, Copy, Debug)]
enum Answers {
    /// One once, then the other for ever.
    OnceThen(u64, u64),
    /// The two by turns.
    Turns(u64, u64),
    /// Another one each time.
    AllDiffer,
}

const ANSWERS: [Answers; 5] =
    [Answers::OnceThen(1, 2), Answers::OnceThen(2, 1), Answers::Turns(1, 2), Answers::Turns(2, 1), Answers::AllDiffer];

thread_local! {
    /// What this thread's lying key answers, and how often it was asked.
    static ANSWER: Cell<(Answers, u64)> = const { Cell::new((Answers::AllDiffer, 0)) };
}

fn begin(answers: Answers) {
    ANSWER.set((answers, 0));
}

/// Returns the lying key's first answer.
fn first(answers: Answers) -> u64 {
    match answers {
        Answers::OnceThen(first, _) | Answers::Turns(first, _) => first,
        Answers::AllDiffer => 0,
    }
}

fn next_answer() -> u64 {
    let (answers, asked) = ANSWER.get();
    ANSWER.set((answers, asked + 1));
    match answers {
        Answers::OnceThen(first, _) if asked == 0 => hash_of(first),
        Answers::OnceThen(_, rest) => hash_of(rest),
        Answers::Turns(even, odd) => hash_of(if asked % 2 == 0 { even } else { odd }),
        Answers::AllDiffer => asked.wrapping_mul(STEP),
    }
}

/// A value that counts those alive, and knows whether it is.
#[derive(Debug)]
struct Value {
    alive: Arc<AtomicUsize>,
    canary: Box<Cell<u64>>,
    number: u64,
}

// SAFETY: the canary is changed by the drop only.
unsafe impl Sync for Value {}

impl Value {
    const ALIVE: u64 = 0x600d_600d_600d_600d;

    fn new(alive: &Arc<AtomicUsize>, number: u64) -> Value {
        alive.fetch_add(1, Relaxed);
        Value { alive: alive.clone(), canary: Box::new(Cell::new(Value::ALIVE)), number }
    }

    fn number(&self) -> u64 {
        assert_eq!(self.canary.get(), Value::ALIVE, "a value was dropped under a reference");
        self.number
    }

    /// Makes the value that takes this one's place.
    fn again(&self) -> Value {
        Value::new(&self.alive, self.number())
    }
}

impl Clone for Value {
    fn clone(&self) -> Value {
        self.again()
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        assert_eq!(self.canary.replace(0), Value::ALIVE, "a value was dropped twice");
        self.alive.fetch_sub(1, Relaxed);
    }
}

type Map = HashMap<Key, Value, BuildHasherDefault<Identity>, Own>;

fn insert_honest(map: &Map, alive: &Arc<AtomicUsize>, keys: impl IntoIterator<Item = u64>) {
    for key in keys {
        assert!(map.insert(Key(key), Value::new(alive, key)).is_none(), "key {key} is new");
    }
}

/// Asserts that each honest key is there, can be replaced, removed and inserted, and that the map's
/// length is right.
fn check(map: &Map, alive: &Arc<AtomicUsize>, keys: impl Iterator<Item = u64> + Clone) {
    for key in keys {
        assert_eq!(map.pin().get(&Key(key)).map(Value::number), Some(key));
        let old = map.insert(Key(key), Value::new(alive, key));
        assert_eq!(old.map(|old| old.number()), Some(key));
        assert_eq!(map.remove(&Key(key)).map(|old| old.number()), Some(key));
        assert!(map.insert(Key(key), Value::new(alive, key)).is_none());
    }
    assert_eq!(map.pin().values().map(Value::number).count(), map.len());
}

/// Checks a map that one thread has: as it is, larger, and smaller.
fn check_all(map: &Map, alive: &Arc<AtomicUsize>) {
    check(map, alive, 0..HONEST);
    map.reserve(40 * HONEST as usize);
    check(map, alive, 0..HONEST);
    for key in 1_000..1_000 + 10 * HONEST {
        insert_honest(map, alive, [key]);
        assert_eq!(map.remove(&Key(key)).map(|old| old.number()), Some(key));
    }
    check(map, alive, 0..HONEST);
    map.retain(|key, _| key.0 != LIAR);
    assert_eq!((map.len(), map.pin().iter().count()), (HONEST as usize, HONEST as usize));
}

/// A call with the lying key.
type Call = fn(&mut Map, &Arc<AtomicUsize>);

const CALLS: [(&str, Call); 16] = [
    ("insert", |map, alive| drop(map.insert(Key(LIAR), Value::new(alive, LIAR)))),
    ("try_insert", |map, alive| drop(map.pin().try_insert(Key(LIAR), Value::new(alive, LIAR)))),
    ("get_or_insert_with", |map, alive| {
        map.pin().get_or_insert_with(Key(LIAR), || Value::new(alive, LIAR)).number();
    }),
    ("update", |map, _| drop(map.update(Key(LIAR), Value::again))),
    ("update_or_insert_with", |map, alive| {
        map.pin().update_or_insert_with(Key(LIAR), Value::again, || Value::new(alive, LIAR)).number();
    }),
    ("compute: insert", |map, alive| {
        let insert = |_: Option<(&Key, &Value)>| Operation::<_, ()>::Insert(Value::new(alive, LIAR));
        _ = map.pin().compute(Key(LIAR), insert);
    }),
    ("compute: remove", |map, _| {
        _ = map.pin().compute(Key(LIAR), |_| Operation::<_, ()>::Remove);
    }),
    ("remove", |map, _| drop(map.remove(&Key(LIAR)))),
    ("remove_if", |map, _| drop(map.remove_if(&Key(LIAR), |_, value| value.number() == LIAR))),
    ("by hash", |map, alive| {
        // Its hash is asked for once, and compared is what lies.
        let (hash, guard) = (map.hasher().hash_one(Key(LIAR)), Own::read());
        let make = || (Key(LIAR), Value::new(alive, LIAR));
        let there = map.get_or_insert_by_hash(hash, |key| *key == Key(LIAR), make, &guard).1.number();
        let found = map.get_by_hash(hash, |key| *key == Key(LIAR), &guard).map(|(_, value)| value.number());
        assert!(there == LIAR && found.is_none_or(|number| number == LIAR));
        drop(map.remove_by_hash(hash, |key| *key == Key(LIAR)));
    }),
    ("get", |map, _| {
        let found = map.pin().get(&Key(LIAR)).map(Value::number);
        assert!(found.is_none_or(|number| number == LIAR));
    }),
    ("get_mut", |map, _| {
        let found = map.get_mut(&Key(LIAR)).map(|value| value.number());
        assert!(found.is_none_or(|number| number == LIAR));
    }),
    ("extend", |map, alive| map.extend([(Key(LIAR), Value::new(alive, LIAR)), (Key(LIAR), Value::new(alive, LIAR))])),
    ("clone", |map, alive| {
        let copy = map.clone();
        check(&copy, alive, 0..HONEST);
    }),
    ("retain", |map, _| _ = map.retain(|key, _| key.0 != LIAR)),
    ("into_iter", |map, _| {
        let (entries, length) = (std::mem::take(map), map.len());
        map.extend(entries);
        assert!(map.len() <= length || length == 0);
    }),
];

/// Calls `call` some times with a key that answers thus, among honest keys, and checks the map.
fn lie(call: Call, answers: Answers, is_there: bool) {
    let alive = Arc::new(AtomicUsize::new(0));
    let mut map = Map::default();
    insert_honest(&map, &alive, 0..HONEST);
    // More answers than there are places where a call might ask twice.
    for _ in 0..4 {
        if is_there {
            // Where the call looks first.
            begin(Answers::OnceThen(first(answers), first(answers)));
            drop(map.try_insert(Key(LIAR), Value::new(&alive, LIAR), &Own::read()));
        }
        begin(answers);
        call(&mut map, &alive);
    }
    check_all(&map, &alive);
    drop(map);
    assert_eq!(alive.load(Relaxed), 0, "each value is dropped once");
}

/// Runs `work` on a thread of its own, and fails if it does not end.
fn ends(what: &str, work: impl FnOnce() + Send + 'static) {
    let thread = thread::spawn(work);
    eventually(&format!("{what} ends"), || thread.is_finished());
    assert!(thread.join().is_ok(), "{what}");
}

fn all_answers(call: &str) {
    let (_, call) = *CALLS.iter().find(|(name, _)| *name == call).unwrap();
    for answers in ANSWERS {
        for is_there in [false, true] {
            ends(&format!("the call, with {answers:?}, there: {is_there},"), move || lie(call, answers, is_there));
        }
    }
}

/// A test for each call.
macro_rules! each_call {
    ($($test:ident: $call:literal,)*) => {
        $(
            #[test]
            fn $test() {
                all_answers($call);
            }
        )*

        #[test]
        fn each_call_has_its_test() {
            let tested = [$($call),*];
            assert!(CALLS.iter().all(|(name, _)| tested.contains(name)) && tested.len() == CALLS.len());
        }
    };
}

each_call! {
    insert: "insert",
    try_insert: "try_insert",
    get_or_insert_with: "get_or_insert_with",
    update: "update",
    update_or_insert_with: "update_or_insert_with",
    compute_that_inserts: "compute: insert",
    compute_that_removes: "compute: remove",
    remove: "remove",
    remove_if: "remove_if",
    by_hash: "by hash",
    get: "get",
    get_mut: "get_mut",
    extend: "extend",
    clone: "clone",
    retain: "retain",
    into_iter: "into_iter",
}

/// A call asks for the hash of its key once.
#[test]
fn each_call_hashes_once() {
    for (name, call) in CALLS {
        if ["extend", "clone", "retain", "into_iter"].contains(&name) {
            continue;
        }
        ends(name, move || {
            let alive = Arc::new(AtomicUsize::new(0));
            let mut map = Map::default();
            for is_there in [false, true] {
                insert_honest(&map, &alive, if is_there { 0..0 } else { 0..HONEST });
                begin(Answers::OnceThen(2, 2));
                if is_there {
                    drop(map.try_insert(Key(LIAR), Value::new(&alive, LIAR), &Own::read()));
                } else {
                    drop(map.remove(&Key(LIAR)));
                }
                begin(Answers::OnceThen(2, 2));
                call(&mut map, &alive);
                assert_eq!(ANSWER.get().1, 1, "{name}: asks once, there: {is_there}");
            }
        });
    }
}

#[test]
fn a_set_with_a_lying_value() {
    for answers in ANSWERS {
        ends(&format!("a set, with {answers:?},"), move || {
            let set = HashSet::<Key, BuildHasherDefault<Identity>, Own>::default();
            (0..HONEST).for_each(|key| assert!(set.insert(Key(key))));
            begin(answers);
            for _ in 0..4 {
                _ = set.insert(Key(LIAR));
                drop(set.replace(Key(LIAR)));
                _ = set.contains(&Key(LIAR));
                _ = set.remove(&Key(LIAR));
                drop(set.take(&Key(LIAR)));
            }
            set.reserve(40 * HONEST as usize);
            (0..HONEST)
                .for_each(|key| assert!(set.contains(&Key(key)) && !set.insert(Key(key)) && set.remove(&Key(key))));
            set.retain(|key| key.0 != LIAR);
            assert!(set.is_empty() && set.iter(&Own::read()).next().is_none());
        });
    }
}

/// The rounds of each honest thread beside a liar.
const ROUNDS: u64 = if cfg!(miri) { 1 } else { 60 };

/// Reads, replaces and removes the honest keys of one thread, and has the table grow and shrink.
fn honest_rounds(map: &Map, alive: &Arc<AtomicUsize>, thread: u64) {
    let mine = thread * HONEST..(thread + 1) * HONEST;
    let more = 10_000 * (thread + 1)..10_000 * (thread + 1) + 10 * HONEST;
    for _ in 0..ROUNDS {
        for key in mine.clone() {
            assert_eq!(map.pin().get(&Key(key)).map(Value::number), Some(key));
            assert_eq!(map.update(Key(key), Value::again).map(|old| old.number()), Some(key));
            assert_eq!(map.remove(&Key(key)).map(|old| old.number()), Some(key));
            assert!(map.insert(Key(key), Value::new(alive, key)).is_none());
        }
        insert_honest(map, alive, more.clone());
        let found = map.pin().iter().filter(|(key, value)| key.0 == value.number() && mine.contains(&key.0)).count();
        assert_eq!(found as u64, HONEST);
        more.clone().for_each(|key| assert_eq!(map.remove(&Key(key)).map(|old| old.number()), Some(key)));
    }
}

/// Calls all that writes with the lying key.
fn lying_rounds(map: &Map, alive: &Arc<AtomicUsize>) {
    for round in 0..40 * ROUNDS {
        let answers = match round % 3 {
            0 => Answers::AllDiffer,
            1 => Answers::Turns(round % HONEST, round * 7 % HONEST),
            _ => Answers::OnceThen(round % HONEST, round * 5 % HONEST),
        };
        begin(answers);
        let pinned = map.pin();
        drop(pinned.insert(Key(LIAR), Value::new(alive, LIAR)));
        drop(pinned.insert(Key(LIAR), Value::new(alive, LIAR)));
        drop(pinned.update(Key(LIAR), Value::again));
        pinned.update_or_insert_with(Key(LIAR), Value::again, || Value::new(alive, LIAR)).number();
        pinned.get_or_insert_with(Key(LIAR), || Value::new(alive, LIAR)).number();
        let remove = |_: Option<(&Key, &Value)>| Operation::<Value, ()>::Remove;
        _ = pinned.compute(Key(LIAR), remove);
        (0..4).for_each(|_| drop(pinned.remove(&Key(LIAR))));
    }
}

/// Threads with honest keys beside one that lies, while the table grows and shrinks.
#[test]
fn honest_threads_beside_a_liar() {
    const THREADS: u64 = 3;
    let alive = Arc::new(AtomicUsize::new(0));
    let map = Arc::new(Map::default());
    insert_honest(&map, &alive, 0..THREADS * HONEST);
    let honest = (0..THREADS).map(|number| {
        let (map, alive) = (map.clone(), alive.clone());
        thread::spawn(move || honest_rounds(&map, &alive, number))
    });
    let liar = {
        let (map, alive) = (map.clone(), alive.clone());
        thread::spawn(move || lying_rounds(&map, &alive))
    };
    let threads: Vec<_> = honest.chain([liar]).collect();
    for (index, thread) in threads.into_iter().enumerate() {
        eventually(&format!("thread {index} ends"), || thread.is_finished());
        assert!(thread.join().is_ok(), "thread {index}");
    }
    let all = map.clone();
    let counted = alive.clone();
    ends("the last look", move || {
        check(&all, &counted, 0..THREADS * HONEST);
        all.retain(|key, _| key.0 != LIAR);
        assert_eq!(all.len() as u64, THREADS * HONEST);
    });
    drop(Arc::into_inner(map).expect("the last one"));
    assert_eq!(alive.load(Relaxed), 0, "each value is dropped once");
}

/// A program in C may write into a node that is in a map. A move finds that out before it touches
/// lines that are not its own.
#[test]
fn a_node_whose_hash_changes_ends_the_process() {
    cases::aborts("changed_hash", "the hash of a node has changed while the node was in a map");
}

#[test]
#[ignore = "a process of its own"]
fn case() {
    assert_eq!(cases::current(), "changed_hash");
    let map = map_of_nodes();
    let words: &mut [usize; 2] = Box::leak(Box::new([0; 2]));
    let node = NonNull::from(words).cast::<MapNode>();
    // SAFETY: two words that nothing else has; a node may have any content.
    assert_eq!(unsafe { map.add(1, node) }, Added::Yes);
    // SAFETY: within the node.
    let hash = unsafe { node.cast::<usize>().add(1) };
    // SAFETY: the node's second word, which no other thread uses.
    unsafe { hash.write(2) };
    let _ = map.resize(1000);
}

/// Returns a map of nodes for one thread, which never frees them.
fn map_of_nodes() -> MapOfNodes {
    unsafe extern "C" fn section(_: *const ()) {}
    unsafe extern "C" fn keep(_: *const (), _: NonNull<Head>, _: unsafe extern "C-unwind" fn(NonNull<Head>)) {}
    let reclaim = Reclaim { domain: std::ptr::null(), read_lock: section, read_unlock: section, defer: keep };
    let sizes = Sizes { initial: 16, least: 1, most: 0, grows: true, shrinks: true };
    // SAFETY: one thread uses the map, and nothing is freed.
    unsafe { MapOfNodes::new(sizes, reclaim) }.unwrap()
}

/// A node that is added although the map has it would be its own successor: each walk would be endless.
#[test]
fn a_node_that_is_added_twice() {
    for others in [0, 1, 3] {
        let map = map_of_nodes();
        let nodes: Vec<NonNull<MapNode>> =
            (0..=others).map(|_| NonNull::from(Box::leak(Box::new([0_usize; 2]))).cast()).collect();
        for &node in &nodes {
            // SAFETY: two words that nothing else has; a node may have any content.
            assert_eq!(unsafe { map.add(7, node) }, Added::Yes);
        }
        for &node in &nodes {
            // SAFETY: the node is in the map, with this hash; here and below.
            assert_eq!(unsafe { map.add(7, node) }, Added::There(node));
            // Comparisons that know no node, and that know this one only.
            // SAFETY: as above.
            assert_eq!(unsafe { map.add_unique(7, node, |_| false) }, Added::There(node));
            // SAFETY: as above.
            assert_eq!(unsafe { map.add_replace(7, node, |_| false) }, Added::There(node));
            // SAFETY: as above.
            assert_eq!(unsafe { map.add_replace(7, node, |there| there == node) }, Added::There(node));
        }
        // SAFETY: as above; one thread, which is inside in effect.
        assert_eq!((unsafe { map.count() }, map.len()), (nodes.len(), nodes.len()));
    }
}
