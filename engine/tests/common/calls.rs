//! Scripts of calls of the futex family, which the kernel and the engine must answer alike: one
//! thread makes them one after another, and those that sleep are threads of their own. After each
//! call the answer, the threads that sleep, and all of the memory are compared.

// Each test program uses its part.
#![allow(dead_code)]

#[path = "realtime.rs"]
mod realtime;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use leeward_engine::abi::Numbers;
use leeward_engine::{Config, Engine, Heap, Priority};

use crate::differential::{Random, Steps, Waiter, agree, seeds, summary, without};
use crate::guest::{Element, Guest, PAGE, Page, URGENCY, put, put_waitv, system};

pub const FUTEX: u64 = Numbers::X86_64.futex;
pub const WAITV: u64 = 449;
pub const WAKE: u64 = 454;
pub const WAIT: u64 = 455;
pub const REQUEUE: u64 = 456;

/// The flag of a private word, in `futex`'s operation and in futex2's flags.
pub const PRIVATE: u64 = 128;

/// The times in the writable page: seconds and nanoseconds. The first ones are past as points in
/// time; of these the first two end a relative wait at once or soon.
const TIMES: [(i64, i64); 9] = [
    (0, 0),
    (0, 100_000),
    (1, 0),
    (0, 999_999_999),
    (-1, 0),
    (0, -1),
    (0, 1_000_000_000),
    (0, 999_999_999_999),
    (i64::MIN, i64::MIN),
];
pub const SHORT: u64 = 2;
pub const PAST: u64 = 4;
pub const ODD: Range<u64> = PAST..TIMES.len() as u64;
/// Where the times are in that page; below them is room for an array.
const TIMES_AT: u64 = 2048;
const ARRAY_AT: u64 = 1024;

/// Returns the address of the array.
pub fn array(guest: &Guest) -> u64 {
    guest.address(Page::Writable) + ARRAY_AT
}

/// Returns the address of a time.
pub fn time(guest: &Guest, at: u64) -> u64 {
    guest.address(Page::Writable) + TIMES_AT + 16 * at
}

/// Fills the memory as each script finds it: small numbers in both pages, and the times.
pub fn prepare(guest: &Guest) {
    for page in [Page::Writable, Page::Object] {
        (0..PAGE as u64 / 4).for_each(|at| guest.store(guest.address(page) + 4 * at, at as u32 & 3));
    }
    for (at, (seconds, nanos)) in (0..).zip(TIMES) {
        put(guest, time(guest, at), seconds as u64);
        put(guest, time(guest, at) + 8, nanos as u64);
    }
}

/// How many of 100 addresses are in the writable page, in the object, in its alias, in the read-only
/// and in the missing page, misaligned, and at no page at all.
pub type Where = [u64; 7];

/// Returns an address: mostly one of the first words of a page, or one of these others.
pub fn address(random: &mut Random, guest: &Guest, of_100: &Where, words: &[u64]) -> u64 {
    let word = 4 * random.pick(words);
    let mut at = random.below(100);
    let place = of_100.iter().position(|weight| {
        let is_it = at < *weight;
        at = at.saturating_sub(*weight);
        is_it
    });
    match place.expect("100 of 100 are somewhere") {
        page @ 0..5 => {
            let pages = [Page::Writable, Page::Object, Page::Alias, Page::ReadOnly, Page::Missing];
            guest.address(pages[page]) + word
        }
        5 => guest.address(Page::Writable) + word + random.pick(&[1, 2, 3]),
        _ => random.pick(&[0, 4, 0xffff_8000_0000_0000, u64::MAX - 3, u64::MAX, 0xffff_ffff_8100_0000 + word]),
    }
}

/// A call of a script.
#[derive(Clone)]
pub struct Call {
    pub number: u64,
    pub arguments: [u64; 6],
    /// The words that are in the array ([`array`]) before it.
    pub words: Vec<Element>,
    /// True if a thread of its own makes it, which may sleep.
    pub sleeps: bool,
    /// The real-time level of its thread, where the system lets it have one; 0: an ordinary thread.
    pub level: i32,
}

impl Call {
    pub fn new(number: u64, arguments: [u64; 6]) -> Call {
        Call { number, arguments, words: Vec::new(), sleeps: false, level: 0 }
    }

    /// Returns a call of `futex`.
    pub fn futex(arguments: [u64; 6]) -> Call {
        Call::new(FUTEX, arguments)
    }

    /// Returns this call as one of a thread of its own, which may sleep.
    pub fn asleep(self) -> Call {
        self.asleep_at(0)
    }

    /// Returns this call as one of a thread of its own with this real-time level, which may sleep.
    pub fn asleep_at(self, level: i32) -> Call {
        Call { sleeps: true, level, ..self }
    }

    /// Returns the call with these words in the array.
    pub fn with_words(self, words: Vec<Element>) -> Call {
        Call { words, ..self }
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.words.iter().try_for_each(|word| writeln!(f, "  in the array: {word:x?}"))?;
        let [a, b, c, d, e, g] = self.arguments;
        let name = match self.number {
            FUTEX => "futex",
            WAITV => "futex_waitv",
            WAKE => "futex_wake",
            WAIT => "futex_wait",
            _ => "futex_requeue",
        };
        let by = if self.sleeps { ", in a thread" } else { "" };
        write!(f, "  {name}({a:#x}, {b:#x}, {c:#x}, {d:#x}, {e:#x}, {g:#x}){by}")?;
        if self.level == 0 { Ok(()) } else { write!(f, " of real-time level {}", self.level) }
    }
}

/// A script of calls. Each part that can be left out is a call, or a store before the first one.
#[derive(Clone, Default)]
pub struct Script {
    /// What words hold at first: an address and a value each.
    pub stores: Vec<(u64, u32)>,
    pub calls: Vec<Call>,
    /// The arguments of the wakes at the end, by which each thread that still sleeps is woken.
    pub ends: Vec<[u64; 6]>,
}

impl Steps for Script {
    fn count(&self) -> usize {
        self.stores.len() + self.calls.len()
    }

    fn without(&self, places: Range<usize>) -> Script {
        let (stores, calls) = (without(&self.stores, 0, &places), without(&self.calls, self.stores.len(), &places));
        Script { stores, calls, ends: self.ends.clone() }
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stores.iter().try_for_each(|(address, value)| writeln!(f, "  *{address:#x} = {value:#x}"))?;
        self.calls.iter().try_for_each(|call| writeln!(f, "{call:?}"))
    }
}

/// What can be seen after a call.
#[derive(PartialEq)]
struct Seen {
    /// The answer; none if the call sleeps.
    answer: Option<i64>,
    /// The answer of each thread's call; none if it sleeps.
    threads: Vec<Option<i64>>,
    memory: Vec<u32>,
}

/// Gives the calling thread a real-time level, if the system lets it have one.
fn become_urgent(level: i32) {
    if level > 0 && realtime::run_at(level) {
        // The greater the level the sooner, and ordinary threads at last.
        URGENCY.set(Priority(100 - level as u32));
    }
}

impl Script {
    /// Asks the calls one after another; returns what was seen after each, the wakes at the end
    /// among them.
    fn run(&self, guest: &Guest, ask: impl Fn(u64, [u64; 6]) -> i64 + Sync) -> Vec<Seen> {
        prepare(guest);
        self.stores.iter().for_each(|(address, value)| guest.store(*address, *value));
        let waiters: Vec<_> = self.calls.iter().filter(|call| call.sleeps).map(|_| Waiter::default()).collect();
        let (mut seen, mut begun) = (Vec::new(), 0);
        std::thread::scope(|threads| {
            let mut see = |answer, begun: usize| {
                let threads = waiters[..begun].iter().map(Waiter::settled).collect();
                seen.push(Seen { answer, threads, memory: guest.contents() });
            };
            for call in &self.calls {
                put_waitv(guest, array(guest), &call.words);
                let (number, arguments, level, ask) = (call.number, call.arguments, call.level, &ask);
                let answer = if call.sleeps {
                    let waiter = &waiters[begun];
                    begun += 1;
                    threads.spawn(move || {
                        become_urgent(level);
                        waiter.run(|| ask(number, arguments));
                    });
                    waiter.settled()
                } else {
                    Some(ask(number, arguments))
                };
                see(answer, begun);
            }
            for wake in &self.ends {
                see(Some(ask(FUTEX, *wake)), begun);
            }
        });
        seen
    }

    /// Returns the answers of the calls of one thread, or how the kernel and the engine differ.
    fn asked(&self, guest: &Guest) -> Result<Vec<i64>, String> {
        // The kernel of another machine has another number for `futex`.
        let native = |number| if number == FUTEX { libc::SYS_futex as u64 } else { number };
        let theirs = self.run(guest, |number, arguments| system(native(number), arguments));
        let engine: Engine<Guest> = Engine::new(Config::for_processors(1, 11), Heap).unwrap();
        let ours = self.run(guest, |number, arguments| {
            engine.syscall(guest, &Numbers::X86_64, number, arguments).expect("a call of the futex family")
        });
        assert_eq!(engine.stats(guest).waiters, 0);
        if let Some(at) = (0..ours.len()).find(|&at| theirs[at] != ours[at]) {
            let (theirs, ours) = (&theirs[at], &ours[at]);
            let show = |seen: &Seen| format!("{:?}, the threads {:?}", seen.answer, seen.threads);
            let word = (0..ours.memory.len()).find(|&word| theirs.memory[word] != ours.memory[word]);
            let word = word.map(|word| (word, theirs.memory[word], ours.memory[word]));
            let pages = guest.address(Page::Writable);
            return Err(format!(
                "call {at}: the kernel answers {}; the engine {}; the word that differs: {word:x?} \
                 (pages at {pages:#x})",
                show(theirs),
                show(ours)
            ));
        }
        Ok(ours.iter().map(|seen| seen.answer.unwrap_or(SLEPT)).collect())
    }
}

/// Stands for the answer of a call that slept.
const SLEPT: i64 = i64::MAX;

/// Asks the kernel and the engine the scripts that `script` makes of the seeds, `usual` of them, and
/// fails where they differ. From a thousand scripts on, these errors must be among the answers.
/// Returns how many calls slept, and the sum of the answers that were above 0.
pub fn all_agree(
    guest: &Guest,
    what: &str,
    usual: u64,
    errors: &[i32],
    script: impl Fn(&mut Random) -> Script,
) -> (u64, u64) {
    let (seeds, mut answers) = (seeds(usual), BTreeMap::<i64, u64>::new());
    let count = seeds.end - seeds.start;
    for seed in seeds {
        let agreed = Cell::default();
        agree(seed, &script(&mut Random(seed)), |script| script.asked(guest).map(|answers| agreed.set(answers)).err());
        agreed.take().into_iter().for_each(|answer| *answers.entry(answer).or_default() += 1);
    }
    let slept = answers.remove(&SLEPT).unwrap_or(0);
    let calls: u64 = answers.values().sum();
    summary(&format!("{what}: {count} scripts of {} calls agree; {slept} slept; answers: {answers:?}", calls + slept));
    let is_there = |error: &i32| answers.contains_key(&-i64::from(*error));
    assert!(count < 1000 || errors.iter().all(is_there), "{answers:?}");
    (slept, answers.iter().filter(|(answer, _)| **answer > 0).map(|(answer, count)| *answer as u64 * count).sum())
}
