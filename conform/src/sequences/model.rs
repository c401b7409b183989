//! The model: what Linux answers to each step of a script, found out by the engine on one thread.
//!
//! A call that would sleep is found by asking it: the host interrupts it, so that it answers `EINTR` and
//! has done nothing. Then it is asked once more as futures, one for each word that it waits for, which stay in
//! the engine's lists until a later step wakes them.

use core::cell::Cell;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use leeward_engine::abi::Numbers;
use leeward_engine::{Config, Engine, Host, ROBUST_LIST_LIMIT, RobustHost, Space, WaitAsync, Word};

use super::arena::Arena;
use super::host::{AT_DATA, Copy, DYING, Model, base};
use super::script::{
    Argument, Asked, CALLER, Death, ENTRIES, Entry, Family, OWNER, PRIVATE, Page, STEPS, Script, Step, WORDS, address,
};
use crate::numbers;

/// The most calls of a script that sleep.
pub(super) const SLEEPERS: usize = 8;
const EINTR: i64 = -4;
const ALL_BITS: u32 = u32::MAX;

/// What Linux does in a step.
#[derive(Clone, Copy)]
pub(super) struct Expected {
    /// The step is left out: Linux leaves its outcome open, or too many sleep already.
    pub(super) is_left_out: bool,
    /// What the call answers at once; nothing if it sleeps.
    pub(super) answer: Option<i64>,
    /// The sleeper that the call becomes.
    pub(super) becomes: Option<usize>,
    /// For each sleeper the least and the greatest answer with which its call ends in this step.
    pub(super) ends: [Option<(i64, i64)>; SLEEPERS],
    /// What the words hold afterwards.
    pub(super) words: [[u32; WORDS]; 2],
}

/// What Linux does with a script.
pub(super) struct Foreseen {
    pub(super) steps: [Expected; STEPS],
    /// The step by which each sleeper went to sleep.
    pub(super) asleep_by: [Option<usize>; SLEEPERS],
    /// The words, as bits by [`queue`], at which a call still sleeps at the end.
    pub(super) waited_on: u64,
}

/// A call that sleeps.
struct Sleeper<'a, 'm> {
    waits: [Option<WaitAsync<'a, Model<'m>>>; ENTRIES],
    /// The queues in which it may be, as bits.
    may: u64,
}

/// The words whose queues have names, in rows of `WORDS`, by the flag with which they are named. A call can be
/// moved to a private word of which nothing is mapped: Linux takes its address alone.
const ROWS: [(Option<Page>, u64); 8] = [
    (Some(Page::Own), PRIVATE),
    (Some(Page::Own), 0),
    (Some(Page::Shared), PRIVATE),
    (Some(Page::Alias), PRIVATE),
    (Some(Page::Shared), 0),
    (Some(Page::ReadOnly), PRIVATE),
    (Some(Page::Missing), PRIVATE),
    // Addresses from 0 on.
    (None, PRIVATE),
];

/// Returns the queue of a word, as a bit: words that share one are one. Nothing for a word on which no call
/// can sleep, and to which none can be moved.
fn queue(place: Argument, is_private: bool) -> Option<u64> {
    let (page, at) = match place {
        // The same memory, by one name.
        Argument::Place(Page::Alias, at) if !is_private => (Some(Page::Shared), at),
        Argument::Place(page, at) => (Some(page), at),
        Argument::Number(address) => (None, address),
        _ => return None,
    };
    let row = ROWS.iter().position(|row| *row == (page, if is_private { PRIVATE } else { 0 }))?;
    (at % 4 == 0 && at / 4 < WORDS as u64).then(|| 1 << (row * WORDS + (at / 4) as usize))
}

/// Returns a wake of all that wait in the first of these queues, and the others.
pub(super) fn wake_of_the_first(queues: u64) -> (Step, u64) {
    let bit = queues.trailing_zeros() as usize;
    let (page, flag) = ROWS[bit / WORDS];
    let at = 4 * (bit % WORDS) as u64;
    let place = page.map_or(Argument::Number(at), |page| Argument::Place(page, at));
    let zero = Argument::Number(0);
    let all = Argument::Number(i32::MAX as u64);
    let wake = Asked::futex(1 | flag, [place, all, zero, zero, zero]);
    (Step::Call(wake), queues & (queues - 1))
}

/// Returns the queues of the two words of a requeue, if the call is one.
fn requeues(asked: &Asked) -> Option<(u64, u64)> {
    let is_private = |flags: u64| flags & PRIVATE != 0;
    match (asked.family, asked.command(), asked.arguments[1]) {
        (Family::Futex, Some(3 | 4), Argument::Number(operation)) => {
            let of = |at: usize| queue(asked.arguments[at], is_private(operation));
            Some((of(0)?, of(4)?))
        }
        (Family::Requeue, ..) => {
            let of = |at: usize| {
                let Entry { place, flags, .. } = asked.entries[at];
                queue(place, is_private(flags.into()))
            };
            Some((of(0)?, of(1)?))
        }
        _ => None,
    }
}

/// One word that a call waits for: where, whether it is private, the value, and the bits.
type Waited = (Argument, bool, u32, u32);

/// Returns the words that a call waits for, which is known to sleep.
fn waits(asked: &Asked) -> [Option<Waited>; ENTRIES] {
    let number = |at: usize| match asked.arguments[at] {
        Argument::Number(number) => number,
        _ => 0,
    };
    let one = |is_private, value: u64, bits| [Some((asked.arguments[0], is_private, value as u32, bits)), None, None];
    match (asked.family, asked.command()) {
        (Family::Futex, Some(9)) => one(number(1) & PRIVATE != 0, number(2), number(5) as u32),
        (Family::Futex, _) => one(number(1) & PRIVATE != 0, number(2), ALL_BITS),
        (Family::Wait, _) => one(number(3) & PRIVATE != 0, number(1), number(2) as u32),
        _ => core::array::from_fn(|at| {
            let Entry { place, flags, value, .. } = asked.entries[at];
            let is_private = u64::from(flags) & PRIVATE != 0;
            ((at as u64) < number(1)).then_some((place, is_private, value as u32, ALL_BITS))
        }),
    }
}

/// The engine, its host and the calls that sleep.
struct Run<'r, 'a, 'm> {
    engine: &'a Engine<Model<'m>>,
    host: &'a Model<'m>,
    sleepers: Pin<&'r mut [Option<Sleeper<'a, 'm>>; SLEEPERS]>,
    count: usize,
}

impl<'a, 'm> Run<'_, 'a, 'm> {
    /// Returns a sleeper's future.
    fn wait(&mut self, sleeper: usize, at: usize) -> Option<Pin<&mut WaitAsync<'a, Model<'m>>>> {
        // SAFETY: what the array holds is not moved.
        let sleepers = unsafe { self.sleepers.as_mut().get_unchecked_mut() };
        let wait = sleepers[sleeper].as_mut()?.waits[at].as_mut()?;
        // SAFETY: as above: it lies in the array, and is dropped there.
        Some(unsafe { Pin::new_unchecked(wait) })
    }

    /// Sets what is in a sleeper's place; what was there is dropped there.
    fn put(&mut self, at: usize, sleeper: Option<Sleeper<'a, 'm>>) {
        // SAFETY: what the array holds is dropped in place by the assignment, and not moved.
        let sleepers = unsafe { self.sleepers.as_mut().get_unchecked_mut() };
        sleepers[at] = sleeper;
    }

    /// Polls a sleeper's future; returns true if it was woken.
    fn is_woken(&mut self, sleeper: usize, at: usize) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        self.wait(sleeper, at).is_some_and(|wait| matches!(wait.poll(&mut context), Poll::Ready(_)))
    }

    /// Makes a call a sleeper.
    fn sleep(&mut self, asked: &Asked, step: usize) -> usize {
        let mut may = 0;
        let waits = waits(asked).map(|wait| {
            let (place, is_private, value, bits) = wait?;
            may |= queue(place, is_private).unwrap_or_default();
            let address = address(place, base, AT_DATA, step);
            let word = if is_private { Word::private(address) } else { Word::shared(address) };
            Some(self.engine.wait_async(self.host, word, u64::from(value), bits))
        });
        let at = self.count;
        self.count += 1;
        self.put(at, Some(Sleeper { waits, may }));
        for wait in 0..ENTRIES {
            let is_woken = self.is_woken(at, wait);
            assert!(!is_woken, "the model finds that a call sleeps, and then that it does not");
        }
        at
    }

    /// Returns the queues in which a call may sleep.
    fn waited_on(&self) -> u64 {
        self.sleepers.iter().flatten().fold(0, |queues, sleeper| queues | sleeper.may)
    }

    /// Notes where a requeue may have moved calls.
    fn moved(&mut self, from: u64, to: u64) {
        // SAFETY: what the array holds is not moved.
        let sleepers = unsafe { self.sleepers.as_mut().get_unchecked_mut() };
        for sleeper in sleepers.iter_mut().flatten().filter(|sleeper| sleeper.may & from != 0) {
            sleeper.may |= to;
        }
    }

    /// Returns which sleepers were woken, and what each call may answer; they are gone afterwards.
    fn ends(&mut self) -> [Option<(i64, i64)>; SLEEPERS] {
        let mut ends = [None; SLEEPERS];
        for (at, end) in ends.iter_mut().enumerate() {
            for wait in 0..ENTRIES {
                // Each is polled: a future that was woken and is dropped unpolled hands its wake on.
                if self.is_woken(at, wait) {
                    let (least, _) = end.unwrap_or((wait as i64, 0));
                    *end = Some((least, wait as i64));
                }
            }
            if end.is_some() {
                self.put(at, None);
            }
        }
        ends
    }

    fn step(&mut self, step: &Step, at: usize) -> Expected {
        let mut expected = Expected {
            is_left_out: false,
            answer: Some(0),
            becomes: None,
            ends: [None; SLEEPERS],
            words: [[0; WORDS]; 2],
        };
        match step {
            Step::Store(page, word, value) => self.host.copy.set(*page, *word, *value),
            Step::Call(asked) => self.call(asked, at, &mut expected),
            Step::Death(death) => expected.is_left_out = !self.die(death, at),
        }
        expected.ends = self.ends();
        expected.words = self.host.copy.contents();
        expected
    }

    /// Has a thread end that holds words; returns false if the outcome is open on Linux. Its wakes come one after
    /// the other: a call that waits for two of the words takes the second one from another call, or does not.
    fn die(&mut self, death: &Death, at: usize) -> bool {
        let wakes = death.words().filter(|(_, bits)| *bits != 0);
        let wakes = wakes.filter_map(|(word, _)| queue(Argument::Place(death.page, 4 * word as u64), false));
        let woken = wakes.fold(0, |queues, queue| queues | queue);
        if self.sleepers.iter().flatten().any(|sleeper| (sleeper.may & woken).count_ones() > 1) {
            return false;
        }
        for (word, bits) in death.words() {
            self.host.copy.set(death.page, word, DYING | bits);
        }
        self.host.set_robust_head(address(Argument::Array, base, AT_DATA, at));
        self.engine.exit_robust(self.host, ROBUST_LIST_LIMIT);
        true
    }

    /// Returns true if the call's outcome is open on Linux, or depends on which numbers threads have.
    fn is_open(&self, asked: &Asked, at: usize) -> bool {
        // Where others wait already, Linux leaves open who comes first.
        let is_joined = requeues(asked).is_some_and(|(_, to)| self.waited_on() & to != 0);
        let owner = |argument| {
            let word = self.host.load(address(asked.arguments[argument], base, AT_DATA, at));
            word.map_or(0, |word| word & OWNER)
        };
        let is_strange = match asked.command() {
            Some(5) => owner(4) == CALLER,
            // Which thread has a number that was stored, the model does not know.
            Some(6 | 8) => !matches!(owner(0), 0 | CALLER),
            _ => false,
        };
        is_joined || is_strange
    }

    fn call(&mut self, asked: &Asked, at: usize, expected: &mut Expected) {
        let moves = requeues(asked);
        expected.is_left_out = self.is_open(asked, at);
        if expected.is_left_out {
            return;
        }
        let arguments = asked.arguments.map(|argument| address(argument, base, AT_DATA, at));
        let numbers = Numbers { futex: numbers::FUTEX as u64, ..Numbers::X86_64 };
        let answer = self.engine.syscall(self.host, &numbers, asked.family.number() as u64, arguments);
        let answer = answer.expect("a call of the futex family");
        match moves {
            Some((from, to)) if answer > 0 => self.moved(from, to),
            _ => {}
        }
        if answer != EINTR {
            expected.answer = Some(answer);
        } else if self.count == SLEEPERS {
            expected.is_left_out = true;
        } else {
            expected.answer = None;
            expected.becomes = Some(self.sleep(asked, at));
        }
    }
}

/// Returns what Linux does with a script.
pub(super) fn foresee(script: &Script, arena: &mut Arena) -> Foreseen {
    arena.begin();
    let arena = &*arena;
    let copy = Copy::new(script.data(base, AT_DATA));
    let host = Model { space: Space::new(1, 5, arena), copy: &copy, head: Cell::new(0) };
    let engine = Engine::new(Config::small(11), arena).expect("a small engine fits into the arena");
    let sleepers = core::pin::pin!([const { None }; SLEEPERS]);
    let mut run = Run { engine: &engine, host: &host, sleepers, count: 0 };
    let mut asleep_by = [None; SLEEPERS];
    let nothing = run.step(&Step::Store(Page::Own, 0, 0), 0);
    let mut steps = [nothing; STEPS];
    for (at, step) in script.steps().iter().enumerate() {
        steps[at] = run.step(step, at);
        if let Some(sleeper) = steps[at].becomes {
            asleep_by[sleeper] = Some(at);
        }
    }
    let waited_on = run.waited_on();
    Foreseen { steps, asleep_by, waited_on }
}
