//! The futex2 calls beside the kernel's: the same calls, made from a seed, must answer the same;
//! and of threads that wait the same are woken.
//!
//! `differential.rs` says how many sequences there are. What is not compared:
//! - words with a node or a memory policy (`FUTEX2_NUMA`, `FUTEX2_MPOL`) on kernels before 6.17,
//!   and on machines of several nodes, where the answers depend on the processor that a thread runs
//!   on;
//! - a word that some use with its node and others without: which of them meet depends on the size
//!   of the kernel's tables.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(missing_docs)]

#[path = "common/differential.rs"]
mod differential;
#[path = "common/guest.rs"]
mod guest;

use differential::{Random, Script, Waiter, agree, difference, seeds, summary, without_one};
use guest::{Element, Guest, PAGE, Page, put, put_waitv, system};
use leeward_engine::abi::Numbers;
use leeward_engine::{Config, Engine, Heap};

const WAITV: u64 = 449;
const WAKE: u64 = 454;
const WAIT: u64 = 455;
const REQUEUE: u64 = 456;

fn engine() -> Engine<Guest> {
    Engine::new(Config::for_processors(1, 11), Heap).unwrap()
}

fn ours(engine: &Engine<Guest>, guest: &Guest, number: u64, arguments: [u64; 6]) -> i64 {
    engine.syscall(guest, &Numbers::X86_64, number, arguments).unwrap()
}

/// Where the array for waitv begins in the writable page.
const ARRAY_AT: u64 = 1024;
/// Where the times are in that page.
const TIMES_AT: u64 = 512;
/// The times; all of the valid ones are past.
const TIMES: [(u64, u64); 6] = [(0, 0), (0, 100_000), (1, 0), (u64::MAX, 0), (0, 1_000_000_000), (1 << 63, 5)];

fn put_array(guest: &Guest, elements: &[Element]) -> u64 {
    let array = guest.address(Page::Writable) + ARRAY_AT;
    put_waitv(guest, array, elements);
    array
}

fn there_is_none() -> bool {
    let none = [WAIT, WAITV].iter().any(|number| system(*number, [0; 6]) == -i64::from(libc::ENOSYS));
    if none {
        summary("nothing: the system has no futex2 calls");
    }
    none
}

/// A call, and the array that it may read.
#[derive(Clone, Debug)]
struct Step {
    number: u64,
    arguments: [u64; 6],
    elements: Vec<Element>,
}

impl Script for Step {
    fn shorter(&self) -> Vec<Step> {
        without_one(&self.elements).map(|elements| Step { elements, ..self.clone() }).collect()
    }
}

fn address(random: &mut Random, guest: &Guest) -> u64 {
    let word = 4 * random.pick(&[0, 1, 2, 3]);
    match random.next() % 24 {
        0..11 => guest.address(Page::Writable) + word,
        11..16 => guest.address(Page::Object) + word,
        16..18 => guest.address(Page::Alias) + word,
        18 => guest.address(Page::ReadOnly) + word,
        19 => guest.address(Page::Missing) + word,
        20 => guest.address(Page::Writable) + random.pick(&[1, 2, 3, 6]),
        _ => random.pick(&[0, 4, 0xffff_8000_0000_0000, u64::MAX - 3]),
    }
}

/// Returns true if words with a node can be compared.
fn has_nodes(guest: &Guest) -> bool {
    let one = std::fs::read_to_string("/sys/devices/system/node/possible").is_ok_and(|nodes| nodes.trim() == "0");
    let word = guest.address(Page::Writable);
    guest.store(word + 4, 0);
    let known = system(WAKE, [word, 1, 0, 2 | NUMA, 0, 0]) == 0 && system(WAKE, [word, 1, 0, 2 | MPOL, 0, 0]) == 0;
    one && known
}

const NUMA: u64 = 4;
const MPOL: u64 = 8;

fn flags(random: &mut Random) -> u32 {
    const ODD: [u32; 9] = [0, 1, 3, 128, 2 | 16, 2 | 64, 2 | 256, 2 | 1 << 31, 130 | 512];
    if random.next() % 8 == 0 { random.pick(&ODD) } else { random.pick(&[2, 130, 130]) }
}

fn value(random: &mut Random) -> u64 {
    if random.next() % 10 == 0 { random.pick(&[1 << 32, u64::MAX, 0xffff_ffff]) } else { random.next() & 3 }
}

fn step(random: &mut Random, guest: &Guest) -> Step {
    let number = random.pick(&[WAITV, WAITV, WAKE, WAIT, REQUEUE, REQUEUE]);
    let length = if number == REQUEUE { 2 } else { random.pick(&[1, 2, 3, 5]) };
    let same = random.pick(&[2, 130]);
    let elements: Vec<Element> = (0..length)
        .map(|_| {
            let flags = if random.next() % 3 != 0 { same } else { flags(random) };
            let reserved = if random.next() % 20 == 0 { 1 << (random.next() & 31) } else { 0 };
            // Mostly the value that is there.
            let address = address(random, guest);
            let value = if random.next() % 4 != 0 { (address / 4) & 3 } else { value(random) };
            (value, address, flags, reserved)
        })
        .collect();
    let mut array = guest.address(Page::Writable) + ARRAY_AT;
    if random.next() % 12 == 0 {
        let missing = guest.address(Page::Missing);
        array = random.pick(&[0, 8, missing, missing - 12, u64::MAX - 7, 0xffff_8000_0000_0000, array + 4]);
    }
    let time = match random.next() % 8 {
        0 => random.pick(&[8, guest.address(Page::Missing), u64::MAX]),
        1 => guest.address(Page::Writable) + TIMES_AT + 16 * (random.next() % TIMES.len() as u64),
        _ => guest.address(Page::Writable) + TIMES_AT + 16 * (random.next() % 3),
    };
    let clock = if random.next() % 10 == 0 { random.pick(&[2, 7, u64::MAX, 1 << 32]) } else { random.next() & 1 };
    let zero = if random.next() % 16 == 0 { random.pick(&[1, 1 << 31, 1 << 32]) } else { 0 };
    let count = |random: &mut Random| random.pick(&[0, 1, 2, u64::MAX, 0x8000_0000, 1 << 32, 0x7fff_ffff]);
    let arguments = match number {
        WAITV => {
            let length = if random.next() % 10 == 0 { random.pick(&[0, 129, u64::MAX]) } else { length };
            [array, length, zero, time, clock, 0]
        }
        WAKE => [address(random, guest), value(random), count(random), u64::from(flags(random)), 0, 0],
        WAIT => [address(random, guest), value(random), value(random), u64::from(flags(random)), time, clock],
        _ => [array, zero, count(random), count(random), 0, 0],
    };
    Step { number, arguments, elements }
}

fn prepare(guest: &Guest) {
    for page in [Page::Writable, Page::Object] {
        for i in 0..PAGE as u64 / 4 {
            guest.store(guest.address(page) + 4 * i, i as u32 & 3);
        }
    }
    for (i, (seconds, nanos)) in TIMES.into_iter().enumerate() {
        let at = guest.address(Page::Writable) + TIMES_AT + 16 * i as u64;
        put(guest, at, seconds);
        put(guest, at + 8, nanos);
    }
}

fn disagreement(guest: &Guest, engine: &Engine<Guest>, step: &Step) -> Option<String> {
    prepare(guest);
    put_array(guest, &step.elements);
    let (theirs, memory) = (system(step.number, step.arguments), guest.contents());
    let ours = ours(engine, guest, step.number, step.arguments);
    if theirs != ours {
        let pages = guest.address(Page::Writable);
        return Some(format!("the kernel answers {theirs}, the engine {ours} (pages at {pages:#x})"));
    }
    (memory != guest.contents()).then(|| "memory was written".into())
}

#[test]
fn one_thread_gets_the_kernels_answers() {
    if there_is_none() {
        return;
    }
    let (guest, engine, seeds) = (Guest::new(), engine(), seeds(20_000));
    let mut answers = std::collections::BTreeMap::<i64, u64>::new();
    for seed in seeds.clone() {
        let step = step(&mut Random(seed), &guest);
        agree(seed, &step, |step| disagreement(&guest, &engine, step));
        *answers.entry(ours(&engine, &guest, step.number, step.arguments)).or_default() += 1;
    }
    let count = seeds.end - seeds.start;
    summary(&format!("{count} futex2 calls agree; answers: {answers:?}"));
    let all = [0, -libc::EAGAIN, -libc::EFAULT, -libc::EINVAL, -libc::ETIMEDOUT];
    assert!(count < 1000 || all.iter().all(|answer| answers.contains_key(&i64::from(*answer))), "{answers:?}");
}

/// A script: threads in waitv, and calls one after another.
#[derive(Clone, Debug)]
struct Waits {
    shared: bool,
    /// The words of each thread.
    waits: Vec<Vec<u64>>,
    calls: Vec<Call>,
}

#[derive(Clone, Debug)]
enum Call {
    Wake {
        word: u64,
        bits: u32,
        count: u64,
    },
    /// Moves waiters to a word without waiters (see `differential.rs`), which is then woken once.
    Requeue {
        from: u64,
        to: u64,
        wake: u64,
        requeue: u64,
    },
}

/// How many words are waited on.
const WORDS: u64 = 4;
/// The words to which waiters are moved.
const TARGETS: [u64; 2] = [4, 5];

impl Script for Waits {
    fn shorter(&self) -> Vec<Waits> {
        let calls = without_one(&self.calls).map(|calls| Waits { calls, ..self.clone() });
        calls.chain(without_one(&self.waits).map(|waits| Waits { waits, ..self.clone() })).collect()
    }
}

/// Returns one call at words with a node beside them, or with a memory policy.
fn step_at_a_node(random: &mut Random, guest: &Guest) -> Step {
    let mut step = step(random, guest);
    let page = random.pick(&[Page::Writable, Page::Writable, Page::Object, Page::Alias, Page::ReadOnly, Page::Missing]);
    let word =
        guest.address(page) + if random.next() % 8 == 0 { random.pick(&[4, 12, 2]) } else { 8 * (random.next() % 5) };
    let places = random.pick(&[NUMA, NUMA, MPOL, NUMA | MPOL]) | random.pick(&[2, 2, 130, 130, 130, 3]);
    match step.number {
        WAKE | WAIT => {
            step.arguments[0] = if random.next() % 16 == 0 { random.pick(&[0, 1 << 47, u64::MAX - 7]) } else { word };
            step.arguments[3] = places;
        }
        _ => {
            let last = step.elements.len() - 1;
            for element in [0, last] {
                let value = if random.next() % 4 == 0 { random.next() & 3 } else { 0 };
                step.elements[element] = (value, word + 8 * element as u64, places as u32, 0);
            }
        }
    }
    step
}

#[test]
fn words_with_a_node_get_the_kernels_answers() {
    let guest = Guest::new();
    if !has_nodes(&guest) {
        summary("nothing: the system knows no words with a node, or has several nodes");
        return;
    }
    let engine = engine();
    let odd = [1, 63, 64, 1024, u32::MAX - 1, 1 << 30];
    let seeds = seeds(10_000);
    let count = seeds.end - seeds.start;
    let mut answers = std::collections::BTreeMap::<i64, u64>::new();
    for seed in seeds {
        let mut random = Random(seed);
        let step = step_at_a_node(&mut random, &guest);
        let number = if random.next() % 6 == 0 { random.pick(&odd) } else { random.pick(&[0, u32::MAX]) };
        let prepare = || {
            prepare(&guest);
            for page in [Page::Writable, Page::Object] {
                (0..6).for_each(|word| guest.store(guest.address(page) + 8 * word, 0));
                (0..6).for_each(|word| guest.store(guest.address(page) + 8 * word + 4, number));
            }
            put_array(&guest, &step.elements);
        };
        prepare();
        let (theirs, memory) = (system(step.number, step.arguments), guest.contents());
        prepare();
        let ours = ours(&engine, &guest, step.number, step.arguments);
        let at = guest.address(Page::Writable);
        assert_eq!(theirs, ours, "seed {seed}: {step:#x?} with {number:#x} beside the words, pages at {at:#x}");
        assert!(memory == guest.contents(), "seed {seed}: {step:#x?} with {number:#x}: memory differs");
        *answers.entry(ours).or_default() += 1;
    }
    summary(&format!("{count} futex2 calls with nodes agree; answers: {answers:?}"));
}

fn waits(random: &mut Random) -> Waits {
    let shared = random.below(2) == 0;
    let words = |random: &mut Random| (0..random.pick(&[1, 2, 3, 7])).map(|_| random.below(WORDS)).collect();
    let waits = (0..3).map(|_| words(random)).collect();
    let mut targets = TARGETS.to_vec();
    let mut calls: Vec<_> = (0..5)
        .map(|_| {
            let word = random.below(WORDS);
            match (random.below(3) == 0).then(|| targets.pop()).flatten() {
                Some(to) => Call::Requeue { from: word, to, wake: random.below(2), requeue: random.below(4) },
                None => Call::Wake { word, bits: 1, count: random.below(4) },
            }
        })
        .collect();
    calls.extend((0..WORDS).chain(TARGETS).map(|word| Call::Wake { word, bits: u32::MAX, count: 99 }));
    Waits { shared, waits, calls }
}

impl Waits {
    /// Runs the script; returns what must be the same, line by line.
    fn run(&self, guest: &Guest, ask: impl Fn(u64, [u64; 6]) -> i64 + Sync) -> Vec<String> {
        let (page, flag) = if self.shared { (Page::Object, 2) } else { (Page::Writable, 130_u32) };
        let at = |word: u64| guest.address(page) + 4 * word;
        (0..8).for_each(|word| guest.store(at(word), 0));
        let wake = |word, bits: u32, count| ask(WAKE, [at(word), bits.into(), count, flag.into(), 0, 0]);
        let waiters: Vec<_> = self.waits.iter().map(|_| Waiter::default()).collect();
        let states = || waiters.iter().map(Waiter::settled).collect::<Vec<_>>();
        std::thread::scope(|threads| {
            for (waiter, words) in waiters.iter().zip(&self.waits) {
                let elements: Vec<Element> = words.iter().map(|word| (0, at(*word), flag, 0)).collect();
                let (array, ask) = (put_array(guest, &elements), &ask);
                threads.spawn(move || waiter.run(|| ask(WAITV, [array, elements.len() as u64, 0, 0, 0, 0])));
                assert_eq!(waiter.settled(), None, "{words:?} does not go to sleep");
            }
            let mut lines = Vec::new();
            for call in &self.calls {
                let answer = match *call {
                    Call::Wake { word, bits, count } => wake(word, bits, count),
                    Call::Requeue { from, to, wake, requeue } => {
                        let array = put_array(guest, &[(0, at(from), flag, 0), (0, at(to), flag, 0)]);
                        ask(REQUEUE, [array, 0, wake, requeue, 0, 0])
                    }
                };
                lines.push(format!("{call:?}: {answer}, {:?}", states()));
                if let Call::Requeue { to, .. } = *call {
                    lines.push(format!("  one of them: {}, {:?}", wake(to, 1, 1), states()));
                }
            }
            // A script that was made shorter may leave waiters.
            (0..WORDS).chain(TARGETS).for_each(|word| _ = wake(word, u32::MAX, 99));
            lines
        })
    }
}

#[test]
fn threads_get_the_kernels_wakes() {
    if there_is_none() {
        return;
    }
    let (guest, seeds) = (Guest::new(), seeds(200));
    for seed in seeds.clone() {
        agree(seed, &waits(&mut Random(seed)), |script| {
            let engine = engine();
            let ours = script.run(&guest, |number, arguments| ours(&engine, &guest, number, arguments));
            difference(&script.run(&guest, system), &ours)
        });
    }
    summary(&format!("{} scripts of 3 threads in waitv agree", seeds.end - seeds.start));
}
