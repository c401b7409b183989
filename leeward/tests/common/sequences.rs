//! Random sequences of steps for tests. Each sequence is made from a seed. One on which a test
//! panics is made as short as it gets, and printed with its seed.
//!
//! The seeds are those from 1 on, so that every run tries the same sequences. `LEEWARD_SEED=N`
//! begins at another seed, and `LEEWARD_SEQUENCES=N` tries N sequences in each test; a failure says
//! which two settings repeat it.
//!
//! Each step is made from a seed and a bound of its own ([`Origin`]). So a step stays what it is
//! when others are left out, and its numbers can be made smaller, without code for each kind of
//! step.

#![allow(dead_code, missing_docs)]

#[path = "../../../conform/src/sequences/random.rs"]
mod random;
#[path = "../../../conform/src/sequences/shorten.rs"]
mod shorten;

use std::cell::Cell;
use std::fmt::Debug;
use std::io::Write;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;
use std::time::{Duration, Instant};

use random::Random;
use shorten::{Steps, shortened};

/// How long a sequence is made shorter at most: each attempt may wait in vain for its patience.
const SHORTENING: Duration = Duration::from_secs(30);

/// Tries a test with `count` sequences whose lengths are in this range, or with those that the
/// environment names. `step` makes a step. Panics if the test does, with the shortest sequence.
#[track_caller]
pub fn check<S: Debug>(count: u64, lengths: Range<u64>, step: impl Fn(&mut Choices) -> S, test: impl Fn(&[S])) {
    let steps_of = |origins: &[Origin]| origins.iter().map(|origin| step(&mut origin.choices())).collect::<Vec<S>>();
    let panic_of = |origins: &[Origin]| {
        let steps = steps_of(origins);
        panic_of(&|| test(&steps))
    };
    if let Some(failure) = first_failure(seeds(count), &lengths, &panic_of) {
        let Failure { seed, length, origins, text } = failure;
        let steps: Vec<_> = steps_of(&origins).iter().map(|step| format!("    {step:?}\n")).collect();
        panic!(
            "seed {seed}: {text}\nby these {} of {length} steps:\n{}again: LEEWARD_SEED={seed} LEEWARD_SEQUENCES=1",
            steps.len(),
            steps.concat()
        );
    }
}

/// The choices of which a step is made.
pub struct Choices {
    random: Random,
    /// Each number is below the bound.
    bound: u64,
}

impl Choices {
    /// Returns a number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.random.below(end) % self.bound
    }

    /// Returns any number of 32 bits.
    pub fn any(&mut self) -> u32 {
        self.below(1 << 32) as u32
    }

    /// Returns what one of these functions returns; each is called as often as its weight says.
    pub fn one_of<T>(&mut self, weighted: &[(u64, &dyn Fn(&mut Choices) -> T)]) -> T {
        // Not below the bound: a step stays of its kind.
        let mut at = self.random.below(weighted.iter().map(|(weight, _)| weight).sum());
        let chosen = weighted.iter().find(|(weight, _)| {
            let is_it = at < *weight;
            at = at.saturating_sub(*weight);
            is_it
        });
        chosen.expect("the number is below the sum of the weights").1(self)
    }
}

/// What a step is made from.
#[derive(Clone, Copy, PartialEq)]
struct Origin {
    seed: u64,
    /// Each number of the step is below the bound.
    bound: u64,
}

impl Origin {
    fn choices(&self) -> Choices {
        Choices { random: Random(self.seed), bound: self.bound }
    }
}

/// Returns the seed's sequence.
fn sequence(seed: u64, lengths: &Range<u64>) -> Vec<Origin> {
    let mut random = Random(seed);
    let length = lengths.start + random.below(lengths.end - lengths.start);
    (0..length).map(|_| Origin { seed: random.next(), bound: u64::MAX }).collect()
}

/// Returns the seeds that are tried: the first `usual` ones if the environment names no others.
fn seeds(usual: u64) -> Range<u64> {
    let setting = |name, usual| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let first = setting("LEEWARD_SEED", 1);
    first..first + setting("LEEWARD_SEQUENCES", usual)
}

/// A sequence on which a test panics.
struct Failure {
    seed: u64,
    /// How many steps the seed's sequence has.
    length: usize,
    /// The steps that are left.
    origins: Vec<Origin>,
    /// The panic's text.
    text: String,
}

/// Tries a test with each seed's sequence. Returns the first on which it panics, shortened.
fn first_failure(
    mut seeds: Range<u64>,
    lengths: &Range<u64>,
    panic_of: &dyn Fn(&[Origin]) -> Option<String>,
) -> Option<Failure> {
    let (seed, whole, mut text) = seeds.find_map(|seed| {
        let whole = sequence(seed, lengths);
        panic_of(&whole).map(|text| (seed, whole, text))
    })?;
    // Not by a macro: the test harness would keep it, and a test may end its process.
    _ = writeln!(std::io::stderr(), "  seed {seed} fails; its sequence is made shorter");
    let (length, start) = (whole.len(), Instant::now());
    let mut fails = |origins: &Vec<Origin>| {
        let panic = if start.elapsed() < SHORTENING { panic_of(origins) } else { None };
        panic.map(|panic| text = panic).is_some()
    };
    let shorter = shortened(whole, &mut fails);
    let smaller = with_smaller_numbers(shorter, &mut fails);
    // Steps that differed in their numbers may now be the same.
    let origins = shortened(smaller, &mut fails);
    Some(Failure { seed, length, origins, text })
}

impl Steps for Vec<Origin> {
    fn count(&self) -> usize {
        self.len()
    }

    fn without(&self, places: Range<usize>) -> Vec<Origin> {
        [&self[..places.start], &self[places.end..]].concat()
    }
}

/// Returns the sequence, which fails, with the least bounds (powers of two) by which it still does.
fn with_smaller_numbers(mut origins: Vec<Origin>, fails: &mut dyn FnMut(&Vec<Origin>) -> bool) -> Vec<Origin> {
    // All steps at once first: numbers that are equal stay so.
    let each = (0..origins.len()).map(|at| at..at + 1);
    for places in std::iter::once(0..origins.len()).chain(each) {
        for bound in (0..32).map(|bit| 1 << bit) {
            let mut smaller = origins.clone();
            smaller[places.clone()].iter_mut().for_each(|origin| origin.bound = origin.bound.min(bound));
            if smaller != origins && fails(&smaller) {
                origins = smaller;
                break;
            }
        }
    }
    origins
}

thread_local! {
    /// The text of this thread's last panic, while its panics are kept from being printed.
    static KEPT: Cell<Option<String>> = const { Cell::new(None) };
}

/// Returns the text of the panic with which `test` ends, if it does; the panic is not printed.
fn panic_of(test: &dyn Fn()) -> Option<String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = take_hook();
        // A thread may panic where its variables are gone.
        set_hook(Box::new(move |panic| match KEPT.try_with(Cell::take) {
            Ok(Some(_)) => KEPT.set(Some(panic.to_string())),
            _ => usual(panic),
        }));
    });
    KEPT.set(Some(String::new()));
    let outcome = catch_unwind(AssertUnwindSafe(test));
    let text = KEPT.take().unwrap_or_default();
    outcome.is_err().then_some(text)
}
