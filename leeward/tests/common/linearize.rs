//! A checker of histories: is there an order of the calls, each at one moment between its beginning
//! and its end, in which a sequential object would have answered as the real one did?
//!
//! The search of Jeannette Wing and Chun Gong ("Testing and verifying concurrent objects", 1993):
//! of the calls that no unplaced call ended before, place one that the specification accepts; go
//! back where none is left. With the memory of Gavin Lowe ("Testing for linearizability", 2017): a
//! set of placed calls and a state that were met before are not tried again. The time is bounded: a
//! verdict may be "not decided".
//!
//! 1. Write the sequential object: [`Spec`].
//! 2. Each thread records its calls: [`Recorder::log`], [`Log::call`].
//! 3. Put the logs together and ask [`check`], [`check_by_key`] (a map: each key alone), or
//!    [`Tally::add`], which fails a test on a violation and counts what was decided.
//!
//! The recorder's clock is one counter that all threads add to. It orders the calls, and with them
//! it orders memory: histories show wrong answers, not a missing acquire (loom does).

#![allow(dead_code, missing_docs)]

use std::collections::{BTreeMap, HashSet};
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A sequential object, in one of its states.
pub trait Spec: Clone + Eq + Hash + Default {
    /// A call, with its arguments.
    type Call: Clone + Debug;
    /// What a call returned.
    type Answer: Clone + Debug;

    /// Changes the object as `call` does. Returns false if it would not have answered so.
    fn accepts(&mut self, call: &Self::Call, answer: &Self::Answer) -> bool;
}

/// A call that was made.
#[derive(Clone, Debug)]
pub struct Event<C, A> {
    pub thread: usize,
    pub call: C,
    pub answer: A,
    /// The time of the recorder's clock before the call, and after it.
    pub began: u64,
    pub ended: u64,
}

/// The history of an object with this specification.
pub type History<S> = Vec<Event<<S as Spec>::Call, <S as Spec>::Answer>>;

/// The clock of a history.
#[derive(Default)]
pub struct Recorder {
    clock: AtomicU64,
}

impl Recorder {
    /// Returns the log of one thread.
    pub fn log<C, A>(&self, thread: usize) -> Log<'_, C, A> {
        Log { recorder: self, thread, events: Vec::with_capacity(64) }
    }

    fn now(&self) -> u64 {
        // SeqCst: the calls of all threads are in one order.
        self.clock.fetch_add(1, Ordering::SeqCst)
    }
}

/// The calls of one thread.
pub struct Log<'a, C, A> {
    recorder: &'a Recorder,
    thread: usize,
    pub events: Vec<Event<C, A>>,
}

impl<C: Clone, A: Clone> Log<'_, C, A> {
    /// Makes a call and records it.
    pub fn call(&mut self, call: C, make: impl FnOnce() -> A) -> A {
        let began = self.recorder.now();
        let answer = make();
        let ended = self.recorder.now();
        self.events.push(Event { thread: self.thread, call, answer: answer.clone(), began, ended });
        answer
    }
}

/// What the checker says of a history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    Linearizable,
    /// There is no order; the history as text.
    Violated(String),
    /// The time was up.
    NotDecided,
}

/// Returns whether the history is one of the object, searching for `limit` at most.
pub fn check<S: Spec>(history: &[Event<S::Call, S::Answer>], limit: Duration) -> Verdict {
    match Search::<S>::new(history).run(Instant::now() + limit) {
        Some(true) => Verdict::Linearizable,
        Some(false) => Verdict::Violated(text(history)),
        None => Verdict::NotDecided,
    }
}

/// Checks the calls of each key alone, for objects whose keys do not touch one another. `S` is the
/// object that holds one key.
pub fn check_by_key<S: Spec, K: Ord>(
    history: &[Event<S::Call, S::Answer>],
    key: impl Fn(&S::Call) -> K,
    limit: Duration,
) -> Verdict {
    let mut parts = BTreeMap::<K, History<S>>::new();
    for event in history {
        parts.entry(key(&event.call)).or_default().push(event.clone());
    }
    let end = Instant::now() + limit;
    let mut verdict = Verdict::Linearizable;
    for part in parts.values() {
        match check::<S>(part, end.saturating_duration_since(Instant::now())) {
            Verdict::Linearizable => {}
            Verdict::NotDecided => verdict = Verdict::NotDecided,
            violated => return violated,
        }
    }
    verdict
}

fn text<C: Debug, A: Debug>(history: &[Event<C, A>]) -> String {
    let mut events: Vec<_> = history.iter().collect();
    events.sort_by_key(|event| event.began);
    let line = |event: &&Event<C, A>| {
        format!(
            "{:5} to {:5}, thread {}: {:?} = {:?}\n",
            event.began, event.ended, event.thread, event.call, event.answer
        )
    };
    events.iter().map(line).collect()
}

/// How many histories were decided. A violation fails the test at once.
#[derive(Default, Debug)]
pub struct Tally {
    pub decided: usize,
    pub not_decided: usize,
}

impl Tally {
    /// Counts a verdict.
    #[track_caller]
    pub fn add(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Linearizable => self.decided += 1,
            Verdict::NotDecided => self.not_decided += 1,
            Verdict::Violated(history) => panic!("no order explains these calls:\n{history}"),
        }
    }

    /// Fails the test if fewer than `least` histories were decided.
    #[track_caller]
    pub fn assert_decided(&self, least: usize) {
        assert!(self.decided >= least, "too few histories were decided: {self:?}");
        println!("linearizable: {} histories; not decided: {}", self.decided, self.not_decided);
    }
}

/// The beginning or the end of a call, in a list of those that are not placed.
#[derive(Clone, Copy)]
struct Entry {
    call: usize,
    is_end: bool,
    before: usize,
    after: usize,
}

/// The search: a list of beginnings and ends in the order of time, with an entry 0 before the first.
struct Search<'a, S: Spec> {
    history: &'a [Event<S::Call, S::Answer>],
    entries: Vec<Entry>,
    /// The entry of each call's end.
    ends: Vec<usize>,
    state: S,
    /// The calls that are placed, a bit each.
    placed: Vec<u64>,
    /// The entries of the placed calls, and the states before them.
    path: Vec<(usize, S)>,
    met: HashSet<(Vec<u64>, S)>,
}

impl<'a, S: Spec> Search<'a, S> {
    fn new(history: &'a [Event<S::Call, S::Answer>]) -> Self {
        let mut times: Vec<(u64, usize, bool)> = Vec::with_capacity(2 * history.len());
        for (call, event) in history.iter().enumerate() {
            assert!(event.began < event.ended, "a call ends before it begins");
            times.extend([(event.began, call, false), (event.ended, call, true)]);
        }
        times.sort_unstable();
        let mut entries = vec![Entry { call: usize::MAX, is_end: false, before: 0, after: 1 }];
        let mut ends = vec![0; history.len()];
        for (_, call, is_end) in times {
            let index = entries.len();
            if is_end {
                ends[call] = index;
            }
            entries.push(Entry { call, is_end, before: index - 1, after: index + 1 });
        }
        let last = entries.len() - 1;
        entries[last].after = 0;
        let placed = vec![0; history.len().div_ceil(64)];
        Search { history, entries, ends, state: S::default(), placed, path: Vec::new(), met: HashSet::new() }
    }

    /// Returns whether there is an order; `None`: not decided by then.
    fn run(mut self, end: Instant) -> Option<bool> {
        let mut entry = self.entries[0].after;
        for step in 1_u64.. {
            if self.entries[0].after == 0 {
                return Some(true);
            }
            if step % 1024 == 0 && Instant::now() > end {
                return None;
            }
            let Entry { call, is_end, after, .. } = self.entries[entry];
            if is_end {
                // The call that ends here is not placed, and none before it can be: back.
                let Some((undone, state)) = self.path.pop() else { return Some(false) };
                self.state = state;
                self.put_back(undone);
                entry = self.entries[undone].after;
            } else {
                entry = if self.place(entry, call) { self.entries[0].after } else { after };
            }
        }
        None
    }

    /// Places a call next, if the object accepts it and this was not tried before.
    fn place(&mut self, entry: usize, call: usize) -> bool {
        let event = &self.history[call];
        let mut state = self.state.clone();
        if !state.accepts(&event.call, &event.answer) {
            return false;
        }
        self.placed[call / 64] |= 1 << (call % 64);
        if !self.met.insert((self.placed.clone(), state.clone())) {
            self.placed[call / 64] &= !(1 << (call % 64));
            return false;
        }
        self.path.push((entry, std::mem::replace(&mut self.state, state)));
        self.take_out(entry);
        self.take_out(self.ends[call]);
        true
    }

    fn put_back(&mut self, entry: usize) {
        let call = self.entries[entry].call;
        self.placed[call / 64] &= !(1 << (call % 64));
        self.put_in(self.ends[call]);
        self.put_in(entry);
    }

    fn take_out(&mut self, entry: usize) {
        let Entry { before, after, .. } = self.entries[entry];
        self.entries[before].after = after;
        if after != 0 {
            self.entries[after].before = before;
        }
    }

    fn put_in(&mut self, entry: usize) {
        let Entry { before, after, .. } = self.entries[entry];
        self.entries[before].after = entry;
        if after != 0 {
            self.entries[after].before = entry;
        }
    }
}
