//! The search: every state that a machine can reach, breadth first, so that the schedule of a
//! violation is a shortest one.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::time::{Duration, Instant};

use super::machine::{Machine, Outcome, Step};
use super::state::State;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Every reachable state is good.
    Holds,
    /// A property was violated.
    Violated(&'static str),
    /// No thread can step and one is not finished: a lost wake-up, a deadlock.
    Stuck,
    /// A state was reached from which no schedule finishes all threads (only where the test asks
    /// for it).
    Endless,
}

pub struct Report {
    pub states: usize,
    pub verdict: Verdict,
    /// The steps from the start to the violation.
    pub schedule: Vec<Step>,
    pub took: Duration,
}

/// Where the search first met a state: its predecessor and the step.
type Parent = (u32, Step);

struct Search<'m> {
    machine: &'m Machine,
    seen: HashSet<u128, BuildHasherDefault<Identity>>,
    parents: Vec<Parent>,
    frontier: Vec<(State, u32)>,
}

/// Searches all states of `machine`. More than `limit` states are an error: the configuration is
/// larger than its author believed.
pub fn explore(machine: &Machine, limit: usize) -> Report {
    let begun = Instant::now();
    let mut search = Search::new(machine);
    let found = loop {
        match search.level(limit) {
            Some(found) => break Some(found),
            None if search.frontier.is_empty() => break None,
            None => {}
        }
    };
    let (verdict, schedule) = match found {
        None => (Verdict::Holds, Vec::new()),
        Some((verdict, at, last)) => (verdict, search.schedule(at, last)),
    };
    Report { states: search.parents.len(), verdict, schedule, took: begun.elapsed() }
}

impl<'m> Search<'m> {
    fn new(machine: &'m Machine) -> Self {
        let start = machine.start();
        let mut seen = HashSet::default();
        seen.insert(start.fingerprint(machine.threads()));
        let root = Step { thread: 0, act: super::machine::Act::Fetch };
        Self { machine, seen, parents: vec![(u32::MAX, root)], frontier: vec![(start, 0)] }
    }

    /// Searches one level: the successors of all states of the frontier are the next frontier.
    fn level(&mut self, limit: usize) -> Option<(Verdict, u32, Option<Step>)> {
        for (state, id) in std::mem::take(&mut self.frontier) {
            let steps = self.machine.steps(&state);
            if steps.is_empty() && !self.machine.all_finished(&state) {
                return Some((Verdict::Stuck, id, None));
            }
            for step in steps {
                let mut next = state.clone();
                match self.machine.apply(&mut next, step) {
                    Outcome::Running => self.meet(next, id, step),
                    Outcome::Squashed => {}
                    Outcome::Violated(what) => {
                        return Some((Verdict::Violated(what), id, Some(step)));
                    }
                }
            }
            assert!(self.parents.len() <= limit, "more than {limit} states");
        }
        None
    }

    fn meet(&mut self, state: State, from: u32, step: Step) {
        if self.seen.insert(state.fingerprint(self.machine.threads())) {
            let id = u32::try_from(self.parents.len()).expect("fewer than 2^32 states");
            self.parents.push((from, step));
            self.frontier.push((state, id));
        }
    }

    fn schedule(&self, mut at: u32, last: Option<Step>) -> Vec<Step> {
        let mut steps: Vec<Step> = last.into_iter().collect();
        while at != 0 {
            let (parent, step) = self.parents[at as usize];
            steps.push(step);
            at = parent;
        }
        steps.reverse();
        steps
    }
}

/// Reports whether the end can be reached from every reachable state. A machine that predicts
/// branches cannot be asked: a state after a wrong guess has no future.
pub fn always_can_finish(machine: &Machine, limit: usize) -> Report {
    assert!(!super::memory::speculates(machine.model), "no progress question where branches are predicted");
    let begun = Instant::now();
    let (states, edges, finished) = graph(machine, limit);
    let mut before = vec![Vec::new(); states];
    for (from, to) in edges {
        before[to as usize].push(from);
    }
    let mut good = vec![false; states];
    let mut todo = finished;
    while let Some(state) = todo.pop() {
        if !std::mem::replace(&mut good[state as usize], true) {
            todo.extend(&before[state as usize]);
        }
    }
    let verdict = if good.iter().all(|&g| g) { Verdict::Holds } else { Verdict::Endless };
    Report { states, verdict, schedule: Vec::new(), took: begun.elapsed() }
}

/// Returns the whole graph: how many states there are, the edges, and the states in which all have
/// finished.
fn graph(machine: &Machine, limit: usize) -> (usize, Vec<(u32, u32)>, Vec<u32>) {
    let mut ids = std::collections::HashMap::new();
    let mut todo = vec![(machine.start(), 0)];
    ids.insert(todo[0].0.fingerprint(machine.threads()), 0u32);
    let (mut edges, mut finished) = (Vec::new(), Vec::new());
    while let Some((state, id)) = todo.pop() {
        if machine.all_finished(&state) {
            finished.push(id);
        }
        for step in machine.steps(&state) {
            let mut next = state.clone();
            if machine.apply(&mut next, step) == Outcome::Running {
                let fresh = u32::try_from(ids.len()).expect("fewer than 2^32 states");
                let to = *ids.entry(next.fingerprint(machine.threads())).or_insert(fresh);
                edges.push((id, to));
                if to == fresh {
                    todo.push((next, to));
                }
            }
        }
        assert!(ids.len() <= limit, "more than {limit} states");
    }
    (ids.len(), edges, finished)
}

/// A hash that keeps fingerprints as they are.
#[derive(Default)]
pub struct Identity(u64);

impl Hasher for Identity {
    fn write(&mut self, _: &[u8]) {
        unreachable!("only fingerprints are kept");
    }

    fn write_u128(&mut self, n: u128) {
        self.0 = u64::try_from(n >> 64).expect("the upper half");
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
