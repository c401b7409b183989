//! Every schedule, breadth first. Tests and `shapes` call it; it asks `steps` what a state allows,
//! with programs as trees (`unfold`).

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::vec::Vec;

use super::machine::{Machine, Programs, Runner, State, Step};
use super::unfold::Unfold;

/// A schedule that ends badly.
///
/// [`Report`] has an example.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// The steps from the start; no schedule that ends badly has fewer.
    pub schedule: Vec<Step>,
    /// What the threads returned; `None`: the machine stands still, and that thread has not ended.
    pub results: Vec<Option<u64>>,
}

/// The outcome of a search.
///
/// ```
/// use leeward_engine::simulation::{Machine, Setup, Spawn, Start};
///
/// // Two threads each add 1 to a word, by a load and a store: can an addition be lost?
/// let mut setup = Setup::new(&[Start::Runs(0), Start::Runs(1)]);
/// let add = Spawn::new("adder", 0, |thread| {
///     thread.set(0, thread.get(0) + 1);
///     0
/// });
/// setup.threads = vec![add.clone(), add];
/// let machine = Machine::new(setup);
/// let report = machine.explore(1_000, &|_, memory| memory(0, 0) != 2);
/// let found = report.found.unwrap();
/// assert_eq!(found.results, [Some(0), Some(0)]);
/// // Two loads, then two stores.
/// assert_eq!(found.schedule.len(), 4);
/// assert!(machine.print(&found.schedule).contains("cpu 1: runs adder"));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// The number of states that were met.
    pub states: usize,
    /// The number of schedules that were followed to their ends. Each is one order of all steps; as
    /// many pass through a state as lead to it. Those that lead to a state by more steps than others
    /// do, and so were met before, are not counted.
    pub schedules: u128,
    /// The names of the barriers that some schedule passed, in order: those that are left out, too.
    pub barriers: Vec<&'static str>,
    /// A shortest schedule that ends badly, or stands still.
    pub found: Option<Found>,
}

/// The state from which another was first met, and the step between them.
type Parent = (u32, Step);

/// A state that was met, its number, and the number of schedules that lead to it.
struct Met {
    state: State,
    id: u32,
    ways: u128,
}

/// A search, level by level: a level has the states that as many steps lead to.
struct Search {
    /// The fingerprints of all states that were met.
    seen: HashSet<u128, BuildHasherDefault<Identity>>,
    parents: Vec<Parent>,
    level: Vec<Met>,
    /// The place in the level of each of its states.
    places: HashMap<u128, usize, BuildHasherDefault<Identity>>,
}

impl Search {
    fn new(start: State) -> Search {
        let parents = std::vec![(u32::MAX, Step::Shootdown { processor: u8::MAX })];
        let seen = core::iter::once(print(&start)).collect();
        Search { seen, parents, level: std::vec![Met { state: start, id: 0, ways: 1 }], places: HashMap::default() }
    }

    /// Takes the level's states; from now on the next level's are met.
    fn take_level(&mut self) -> Vec<Met> {
        self.places.clear();
        core::mem::take(&mut self.level)
    }

    /// Notes a state to which a step leads, if it is new; else that more schedules lead to it.
    fn meet(&mut self, from: &Met, step: Step, state: State) {
        let fingerprint = print(&state);
        if self.seen.insert(fingerprint) {
            self.parents.push((from.id, step));
            self.places.insert(fingerprint, self.level.len());
            self.level.push(Met { state, id: self.parents.len() as u32 - 1, ways: from.ways });
        } else if let Some(place) = self.places.get(&fingerprint) {
            let ways = &mut self.level[*place].ways;
            *ways = ways.saturating_add(from.ways);
        }
    }
}

impl Machine {
    /// Tries all schedules until one ends in what `bad` says is bad, given the threads' results and
    /// a function that reads memory (object, word), or in a state from which no step leads on.
    /// Takes time and memory in proportion to the states;
    /// [`Setup::switches`](super::Setup::switches) and its like bound them.
    ///
    /// # Panics
    /// If there are more than `limit` states; if a program panics.
    pub fn explore(&self, limit: usize, bad: &dyn Fn(&[u64], &dyn Fn(u16, u16) -> u32) -> bool) -> Report {
        let mut programs = Unfold::new(self);
        let mut start = self.start();
        self.begin(&mut start, &mut programs);
        let (mut search, mut schedules, mut found) = (Search::new(start), 0_u128, None);
        while !search.level.is_empty() && found.is_none() {
            for met in search.take_level() {
                let over = self.is_over(&met.state);
                let steps = if over { Vec::new() } else { self.steps(&met.state, &mut programs) };
                for &step in &steps {
                    let mut next = met.state.clone();
                    self.apply(&mut next, step, &mut programs);
                    search.meet(&met, step, next);
                }
                assert!(search.seen.len() <= limit, "more than {limit} states");
                if !steps.is_empty() {
                    continue;
                }
                if self.ends_badly(&met.state, over, bad) {
                    let results = met.state.threads.iter().map(|runner| runner.ended).collect();
                    found = Some(Found { schedule: schedule(&search.parents, met.id), results });
                    break;
                }
                schedules = schedules.saturating_add(met.ways);
            }
        }
        Report { states: search.seen.len(), schedules, barriers: programs.barriers(), found }
    }

    /// Returns true if a state from which no step leads on is bad, or the machine stands still in
    /// it.
    fn ends_badly(&self, state: &State, over: bool, bad: &dyn Fn(&[u64], &dyn Fn(u16, u16) -> u32) -> bool) -> bool {
        if over {
            let ended: Vec<u64> = state.threads.iter().map(|runner| runner.ended.unwrap_or(0)).collect();
            return bad(&ended, &|object, word| state.memory.get(self.layout.word(object, word)));
        }
        // The allowed switches are used up, and a thread has yet to run: no end at all.
        let cut_short = |runner: &Runner| runner.ended.is_none() && runner.on.is_none();
        !state.threads.iter().any(cut_short)
    }

    /// Notes the end of programs that have nothing to do.
    pub(crate) fn begin(&self, state: &mut State, programs: &mut dyn Programs) {
        for thread in 0..state.threads.len() {
            if let super::machine::Next::Done(result) = programs.thread(thread as u8, 0) {
                state.threads[thread].ended = Some(result);
            }
        }
    }
}

/// Returns 128 bits that stand for a state: the search keeps these. With 2^22 states the chance
/// that two of them are equal is 2^-85.
fn print(state: &State) -> u128 {
    let mut hash = Lanes(0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f);
    state.hash(&mut hash);
    u128::from(hash.finish()) << 64 | u128::from(hash.1)
}

/// A hash of two lanes of multiply and shift.
struct Lanes(u64, u64);

impl Hasher for Lanes {
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.write_u64(u64::from_le_bytes(word));
        }
    }
    fn write_u8(&mut self, n: u8) {
        self.write_u64(n.into());
    }
    fn write_u16(&mut self, n: u16) {
        self.write_u64(n.into());
    }
    fn write_u32(&mut self, n: u32) {
        self.write_u64(n.into());
    }
    fn write_u64(&mut self, n: u64) {
        self.0 = (self.0 ^ n).wrapping_mul(0xff51_afd7_ed55_8ccd);
        self.0 ^= self.0 >> 32;
        self.1 = (self.1.rotate_left(23) ^ n).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        self.1 ^= self.1 >> 29;
    }
    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

/// A hash of what is a hash already.
#[derive(Default)]
struct Identity(u64);

impl Hasher for Identity {
    fn write(&mut self, _: &[u8]) {
        unreachable!("only fingerprints are kept");
    }
    fn write_u128(&mut self, n: u128) {
        self.0 = n as u64;
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

/// Returns the steps from the start to a state.
fn schedule(parents: &[Parent], mut at: u32) -> Vec<Step> {
    let mut steps = Vec::new();
    while at != 0 {
        let (parent, step) = parents[at as usize];
        steps.push(step);
        at = parent;
    }
    steps.reverse();
    steps
}
