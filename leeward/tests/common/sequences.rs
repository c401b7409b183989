//! Random sequences of steps for tests. Each sequence is made from a seed. One on which a test
//! panics is made as short as it gets, and printed with its seed.
//!
//! The seeds are those from 1 on, so that every run tries the same sequences. `LEEWARD_SEED=N`
//! begins at another seed, and `LEEWARD_SEQUENCES=N` tries N sequences in each test; a failure says
//! which two settings repeat it.
//!
//! A fuzzer's input makes a sequence, too ([`check_input`]): its bytes are the choices. So the fuzz
//! targets (`fuzz/`, which includes this file) have steps that are made, shortened and printed here.
//!
//! Each step is made from a seed, or from bytes, and a bound of its own ([`Origin`]). So a step
//! stays what it is when others are left out, and its numbers can be made smaller, without code for
//! each kind of step.

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
    check_headed(count, lengths, |_| (), step, |(), steps| test(steps));
}

/// Tries a test as [`check`] does, whose sequences begin with a head, which `head` makes and which
/// is never left out.
#[track_caller]
pub fn check_headed<H: Debug, S: Debug>(
    count: u64,
    lengths: Range<u64>,
    head: impl Fn(&mut Choices) -> H,
    step: impl Fn(&mut Choices) -> S,
    test: impl Fn(&H, &[S]),
) {
    let subject = Subject { head, step, test };
    for seed in seeds(count) {
        if let Some(failure) = subject.failure(Sequence::of_seed(seed, &lengths), &format!("seed {seed}")) {
            panic!("seed {seed}: {failure}again: LEEWARD_SEED={seed} LEEWARD_SEQUENCES=1");
        }
    }
}

/// Tries a test with the sequence that a fuzzer's input makes, of `most` steps at most. Panics if the
/// test does, with the shortest sequence.
#[track_caller]
pub fn check_input<H: Debug, S: Debug>(
    input: &[u8],
    most: usize,
    head: impl Fn(&mut Choices) -> H,
    step: impl Fn(&mut Choices) -> S,
    test: impl Fn(&H, &[S]),
) {
    let subject = Subject { head, step, test };
    let sequence = Sequence::of_input(
        input,
        most,
        |choices| drop((subject.head)(choices)),
        |choices| {
            drop((subject.step)(choices));
        },
    );
    if let Some(failure) = subject.failure(sequence, "the input") {
        panic!("the input: {failure}");
    }
}

/// The choices of which a step is made.
pub struct Choices<'a> {
    source: Source<'a>,
    /// Each number is below the bound.
    bound: u64,
}

/// Where choices come from.
#[derive(Clone, Copy, PartialEq)]
enum Source<'a> {
    /// The numbers that [`Random`] makes from here on.
    Seed(u64),
    /// Bytes, which are followed by zeroes.
    Bytes(&'a [u8]),
}

/// Stands for no bound.
const UNBOUNDED: u64 = u64::MAX;

impl Choices<'_> {
    /// Returns a number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        let number = self.number_of(end - 1) % end;
        self.bounded(number)
    }

    /// Returns any number of 32 bits.
    pub fn any(&mut self) -> u32 {
        self.below(1 << 32) as u32
    }

    /// Returns any number of 64 bits.
    pub fn any_long(&mut self) -> u64 {
        let number = self.number_of(u64::MAX);
        self.bounded(number)
    }

    /// Returns one of these values.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    /// Returns true in this many of 100 cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        // Zeroes, and what is made smaller, are the usual case.
        self.below(100) >= 100 - percent
    }

    /// Returns what one of these functions returns; each is called as often as its weight says.
    pub fn one_of<T>(&mut self, weighted: &[(u64, &dyn Fn(&mut Choices) -> T)]) -> T {
        // Not below the bound: a step stays of its kind.
        let sum = weighted.iter().map(|(weight, _)| weight).sum::<u64>();
        let mut at = self.number_of(sum - 1) % sum;
        let chosen = weighted.iter().find(|(weight, _)| {
            let is_it = at < *weight;
            at = at.saturating_sub(*weight);
            is_it
        });
        chosen.expect("the number is below the sum of the weights").1(self)
    }

    /// Returns a number of which `greatest` is one. It takes as few bytes as tell those numbers.
    fn number_of(&mut self, greatest: u64) -> u64 {
        match &mut self.source {
            Source::Seed(seed) => {
                let mut random = Random(*seed);
                let number = random.next();
                *seed = random.0;
                number
            }
            Source::Bytes(bytes) => {
                let count = (u64::BITS - greatest.leading_zeros()).div_ceil(8) as usize;
                let (taken, rest) = bytes.split_at(count.min(bytes.len()));
                *bytes = rest;
                taken.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
            }
        }
    }

    fn bounded(&self, number: u64) -> u64 {
        if self.bound == UNBOUNDED { number } else { number % self.bound }
    }
}

/// What a step is made from.
#[derive(Clone, Copy, PartialEq)]
struct Origin<'a> {
    source: Source<'a>,
    /// Each number of the step is below the bound.
    bound: u64,
}

impl<'a> Origin<'a> {
    fn of(source: Source<'a>) -> Origin<'a> {
        Origin { source, bound: UNBOUNDED }
    }

    fn choices(&self) -> Choices<'a> {
        Choices { source: self.source, bound: self.bound }
    }
}

/// What a sequence is made from: its head first, then each step.
#[derive(Clone, PartialEq)]
struct Sequence<'a>(Vec<Origin<'a>>);

impl<'a> Sequence<'a> {
    /// Returns the seed's sequence.
    fn of_seed(seed: u64, lengths: &Range<u64>) -> Sequence<'a> {
        let mut random = Random(seed);
        let length = lengths.start + random.below(lengths.end - lengths.start);
        let steps = (0..length).map(|_| random.next());
        Sequence(std::iter::once(!seed).chain(steps).map(|seed| Origin::of(Source::Seed(seed))).collect())
    }

    /// Returns the sequence of a fuzzer's input: what each part is made from are the bytes that it
    /// takes when it is made.
    fn of_input(
        mut input: &'a [u8],
        most: usize,
        head: impl Fn(&mut Choices),
        step: impl Fn(&mut Choices),
    ) -> Sequence<'a> {
        let mut taken_by = |make: &dyn Fn(&mut Choices)| {
            let mut choices = Origin::of(Source::Bytes(input)).choices();
            make(&mut choices);
            let Source::Bytes(rest) = choices.source else { unreachable!("choices do not change their source") };
            let (taken, rest) = input.split_at(input.len() - rest.len());
            input = rest;
            (Origin::of(Source::Bytes(taken)), !rest.is_empty())
        };
        let (first, mut are_left) = taken_by(&head);
        let mut parts = vec![first];
        while are_left && parts.len() <= most {
            let (part, goes_on) = taken_by(&step);
            parts.push(part);
            are_left = goes_on;
        }
        Sequence(parts)
    }
}

impl Steps for Sequence<'_> {
    fn count(&self) -> usize {
        self.0.len() - 1
    }

    fn without(&self, places: Range<usize>) -> Self {
        Sequence([&self.0[..1 + places.start], &self.0[1 + places.end..]].concat())
    }
}

/// Returns the seeds that are tried: the first `usual` ones if the environment names no others.
fn seeds(usual: u64) -> Range<u64> {
    let setting = |name, usual| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let first = setting("LEEWARD_SEED", 1);
    first..first + setting("LEEWARD_SEQUENCES", usual)
}

/// What is tried: how sequences are made, and the test.
struct Subject<M, N, T> {
    head: M,
    step: N,
    test: T,
}

impl<H, S, M, N, T> Subject<M, N, T>
where
    H: Debug,
    S: Debug,
    M: Fn(&mut Choices) -> H,
    N: Fn(&mut Choices) -> S,
    T: Fn(&H, &[S]),
{
    fn made(&self, sequence: &Sequence) -> (H, Vec<S>) {
        let steps = sequence.0[1..].iter().map(|origin| (self.step)(&mut origin.choices()));
        ((self.head)(&mut sequence.0[0].choices()), steps.collect())
    }

    /// Tries the test. Where it panics, returns the panic's text and the shortest sequence on which
    /// it does, as lines.
    fn failure(&self, whole: Sequence, name: &str) -> Option<String> {
        let panic_of = |sequence: &Sequence| {
            let (head, steps) = self.made(sequence);
            panic_of(&|| (self.test)(&head, &steps))
        };
        let mut text = panic_of(&whole)?;
        // Not by a macro: the test harness would keep it, and a test may end its process.
        _ = writeln!(std::io::stderr(), "  {name} fails; its sequence is made shorter");
        let (length, start) = (whole.count(), Instant::now());
        let mut fails = |sequence: &Sequence| {
            let panic = if start.elapsed() < SHORTENING { panic_of(sequence) } else { None };
            panic.map(|panic| text = panic).is_some()
        };
        let shorter = shortened(whole, &mut fails);
        let smaller = with_smaller_numbers(shorter, &mut fails);
        // Steps that differed in their numbers may now be the same.
        let (head, steps) = self.made(&shortened(smaller, &mut fails));
        let head = if size_of::<H>() == 0 { String::new() } else { format!("    {head:?}\n") };
        let lines: Vec<_> = steps.iter().map(|step| format!("    {step:?}\n")).collect();
        Some(format!("{text}\nby these {} of {length} steps:\n{head}{}", steps.len(), lines.concat()))
    }
}

/// Returns the sequence, which fails, with the least bounds (powers of two) by which it still does.
fn with_smaller_numbers<'a>(mut sequence: Sequence<'a>, fails: &mut dyn FnMut(&Sequence<'a>) -> bool) -> Sequence<'a> {
    let count = sequence.0.len();
    // All parts at once first: numbers that are equal stay so.
    for places in std::iter::once(0..count).chain((0..count).map(|at| at..at + 1)) {
        for bound in (0..32).map(|bit| 1 << bit) {
            let mut smaller = sequence.clone();
            smaller.0[places.clone()].iter_mut().for_each(|origin| origin.bound = origin.bound.min(bound));
            if smaller != sequence && fails(&smaller) {
                sequence = smaller;
                break;
            }
        }
    }
    sequence
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
