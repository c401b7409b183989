//! Every schedule, breadth first. Tests and `shapes` call it; it asks `steps` what a state allows,
//! with programs as trees (`unfold`).

use std::collections::HashSet;
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
    /// A shortest schedule that ends badly, or stands still.
    pub found: Option<Found>,
}

/// The state from which another was first met, and the step between them.
type Parent = (u32, Step);

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
        let mut seen = HashSet::<u128, BuildHasherDefault<Identity>>::default();
        seen.insert(print(&start));
        let mut parents: Vec<Parent> = std::vec![(u32::MAX, Step::Shootdown { processor: u8::MAX })];
        let mut frontier = std::vec![(start, 0_u32)];
        while !frontier.is_empty() {
            for (state, id) in core::mem::take(&mut frontier) {
                let results: Vec<_> = state.threads.iter().map(|runner| runner.ended).collect();
                let over = self.is_over(&state);
                if over {
                    let ended: Vec<u64> = results.iter().map(|result| result.unwrap_or(0)).collect();
                    let look = |object, word| state.memory.get(self.layout.word(object, word));
                    if !bad(&ended, &look) {
                        continue;
                    }
                }
                let steps = if over { Vec::new() } else { self.steps(&state, &mut programs) };
                // The allowed switches are used up, and a thread has yet to run: no end at all.
                let cut_short = |runner: &Runner| runner.ended.is_none() && runner.on.is_none();
                if steps.is_empty() && !over && state.threads.iter().any(cut_short) {
                    continue;
                }
                if steps.is_empty() {
                    let found = Some(Found { schedule: schedule(&parents, id), results });
                    return Report { states: seen.len(), found };
                }
                for step in steps {
                    let mut next = state.clone();
                    self.apply(&mut next, step, &mut programs);
                    if seen.insert(print(&next)) {
                        parents.push((id, step));
                        frontier.push((next, parents.len() as u32 - 1));
                    }
                }
                assert!(seen.len() <= limit, "more than {limit} states");
            }
        }
        Report { states: seen.len(), found: None }
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
