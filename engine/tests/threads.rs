//! The engine beside the kernel, with threads that wait: who is woken by each call, what the call and the waits answer.
//!
//! `LEEWARD_SEQUENCES=N` runs N scripts (default 60), `LEEWARD_SEED=N` begins at another seed. What Linux leaves unspecified is told in
//! `differential.rs`.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(missing_docs)]

#[path = "common/guest.rs"]
mod guest;

use std::sync::atomic::{AtomicI32, AtomicI64, Ordering};
use std::time::{Duration, Instant};

use guest::{Guest, Page, kernel};
use leeward_engine::abi::Numbers;
use leeward_engine::{Config, Engine, Heap};

const WAITERS: usize = 6;
const WORDS: u64 = 4;
const PRIVATE: u64 = 128;

/// A script: who waits where, then what is called.
#[derive(Clone, Debug)]
struct Script {
    /// Word and bitset.
    waits: Vec<(u64, u32)>,
    calls: Vec<Call>,
    shared: bool,
}

#[derive(Clone, Debug)]
enum Call {
    Wake { word: u64, count: u32, bits: u32 },
    Requeue { from: u64, to: u64, wake: u32, requeue: u32, expected: Option<u32> },
    WakeOp { word: u64, on: u64, wake: u32, wake_on: u32, op: u32 },
}

struct Random(u64);
impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

fn script(seed: u64) -> Script {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    // The last words are not waited on: waiters are moved there.
    let waits = (0..WAITERS).map(|_| (random.below(WORDS - 2), [1, 2, 3, u32::MAX][random.below(4) as usize]));
    let waits = waits.collect();
    let mut targets = vec![WORDS - 1, WORDS - 2];
    let mut calls = Vec::new();
    for _ in 0..5 {
        let (word, count) = (random.below(WORDS), random.below(4) as u32);
        calls.push(match random.below(4) {
            0 | 1 => Call::Wake { word, count, bits: [1, 2, 4, u32::MAX][random.below(4) as usize] },
            2 => match targets.pop() {
                None => Call::Wake { word, count: u32::MAX, bits: u32::MAX },
                Some(to) => {
                    let expected = [None, Some(0), Some(1)][random.below(3) as usize];
                    Call::Requeue { from: word, to, wake: count, requeue: random.below(5) as u32, expected }
                }
            },
            _ => {
                let op =
                    (random.below(5) << 28 | random.below(7) << 24 | random.below(3) << 12 | random.below(3)) as u32;
                // A value that changes makes the kernel's waits end no earlier, but a script's own wait is past already.
                Call::WakeOp { word, on: random.below(WORDS), wake: count, wake_on: random.below(3) as u32, op }
            }
        });
    }
    Script { waits, calls, shared: seed % 2 == 0 }
}

impl Script {
    fn arguments(&self, guest: &Guest, call: &Call) -> [u64; 6] {
        let at = |word| self.address(guest, word);
        let flag = if self.shared { 0 } else { PRIVATE };
        match *call {
            Call::Wake { word, count, bits } => [at(word), 10 | flag, u64::from(count), 0, 0, u64::from(bits)],
            Call::Requeue { from, to, wake, requeue, expected } => {
                let command = if expected.is_some() { 4 } else { 3 };
                let expected = u64::from(expected.unwrap_or(0));
                [at(from), command | flag, u64::from(wake), u64::from(requeue), at(to), expected]
            }
            Call::WakeOp { word, on, wake, wake_on, op } => {
                [at(word), 5 | flag, u64::from(wake), u64::from(wake_on), at(on), u64::from(op)]
            }
        }
    }

    fn address(&self, guest: &Guest, word: u64) -> u64 {
        guest.address(if self.shared { Page::Object } else { Page::Writable }) + 4 * word
    }

    /// Runs it; what is to be the same, line by line.
    fn run(&self, guest: &Guest, ask: impl Fn([u64; 6]) -> i64 + Sync) -> Vec<String> {
        let mut lines = Vec::new();
        for word in 0..WORDS {
            guest.store(self.address(guest, word), 0);
        }
        let waiters: Vec<_> = self.waits.iter().map(|_| Waiter::default()).collect();
        std::thread::scope(|threads| {
            for (waiter, (word, bits)) in waiters.iter().zip(&self.waits) {
                // Waiters of objects come by the other mapping.
                let page = if self.shared { Page::Alias } else { Page::Writable };
                let flag = if self.shared { 0 } else { PRIVATE };
                let wait = [guest.address(page) + 4 * word, 9 | flag, 0, 0, 0, u64::from(*bits)];
                let ask = &ask;
                threads.spawn(move || waiter.run(|| ask(wait)));
                let start = Instant::now();
                while waiter.settled() != Some(true) {
                    assert!(start.elapsed() < Duration::from_secs(20), "a waiter does not go to sleep");
                    std::thread::yield_now();
                }
            }
            for call in &self.calls {
                let answer = ask(self.arguments(guest, call));
                lines.push(format!("{call:?} = {answer}, left: {:?}", left(&waiters)));
            }
            for word in 0..WORDS {
                let answer = ask([self.address(guest, word), 1 | if self.shared { 0 } else { PRIVATE }, 99, 0, 0, 0]);
                let value = guest.contents()[word as usize];
                lines.push(format!("at last {word} ({value}): {answer}, left: {:?}", left(&waiters)));
            }
        });
        let answers: Vec<_> = waiters.iter().map(|waiter| waiter.answer.load(Ordering::SeqCst)).collect();
        lines.push(format!("the waits: {answers:?}"));
        lines
    }
}

const NONE: i64 = i64::MIN;

struct Waiter {
    thread: AtomicI32,
    answer: AtomicI64,
}

impl Default for Waiter {
    fn default() -> Waiter {
        Waiter { thread: AtomicI32::new(0), answer: AtomicI64::new(NONE) }
    }
}

impl Waiter {
    fn run(&self, wait: impl Fn() -> i64) {
        // SAFETY: no arguments.
        self.thread.store(unsafe { libc::gettid() }, Ordering::SeqCst);
        self.answer.store(wait(), Ordering::SeqCst);
    }

    /// Whether it sleeps on a futex (true) or has its answer (false); nothing if it is on its way.
    fn settled(&self) -> Option<bool> {
        let thread = self.thread.load(Ordering::SeqCst);
        if self.answer.load(Ordering::SeqCst) != NONE {
            return Some(false);
        }
        // The number of the call that a thread sleeps in comes first.
        let call = std::fs::read_to_string(format!("/proc/self/task/{thread}/syscall")).unwrap_or_default();
        // Between the two looks it may have got its answer, and sleep at its end.
        let sleeps = call.starts_with(&format!("{} ", libc::SYS_futex));
        (sleeps && self.answer.load(Ordering::SeqCst) == NONE).then_some(true)
    }
}

/// Who still waits, when everybody has settled.
fn left(waiters: &[Waiter]) -> Vec<usize> {
    let start = Instant::now();
    loop {
        let states: Vec<_> = waiters.iter().map(Waiter::settled).collect();
        if states.iter().all(Option::is_some) {
            return (0..waiters.len()).filter(|&i| states[i] == Some(true)).collect();
        }
        assert!(start.elapsed() < Duration::from_secs(20), "the threads do not settle: {states:?}");
        std::thread::yield_now();
    }
}

#[test]
fn threads_get_the_kernels_wakes() {
    let setting = |name, usual| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (first, count) = (setting("LEEWARD_SEED", 1_u64), setting("LEEWARD_SEQUENCES", 60_u64));
    let guest = Guest::new();
    let mut woken = 0;
    for seed in first..first + count {
        let mut script = script(seed);
        let compare = |script: &Script| {
            let engine: Engine<Guest> = Engine::new(Config::for_processors(1, 5), Heap).unwrap();
            let ours = |call| engine.syscall(&guest, &Numbers::X86_64, Numbers::X86_64.futex, call).unwrap();
            (script.run(&guest, kernel), script.run(&guest, ours))
        };
        let (theirs, ours) = compare(&script);
        woken += theirs.iter().filter(|line| !line.starts_with("the") && !line.contains("= 0")).count();
        // A thread that sleeps in the allocator's lock looks like one that waits: a difference must show again.
        let again = || {
            let (theirs, ours) = compare(&script);
            theirs != ours
        };
        if theirs == ours || !(again() && again()) {
            continue;
        }
        // As short as it gets.
        for i in (0..script.calls.len()).rev() {
            let mut fewer = script.clone();
            fewer.calls.remove(i);
            let (theirs, ours) = compare(&fewer);
            if theirs != ours {
                script = fewer;
            }
        }
        let (theirs, ours) = compare(&script);
        panic!("seed {seed}: {script:#?}\nthe kernel:\n{}\nthe engine:\n{}", theirs.join("\n"), ours.join("\n"));
    }
    println!("{count} scripts of {WAITERS} waiters agree");
    assert!(woken > 0);
}
