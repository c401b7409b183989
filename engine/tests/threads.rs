//! The engine beside the kernel, with threads that wait: which of them each call wakes, and what
//! the call and the waits answer.
//!
//! `differential.rs` says how many scripts there are, and what Linux leaves unspecified.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(missing_docs)]

#[path = "common/differential.rs"]
mod differential;
#[path = "common/guest.rs"]
mod guest;

use differential::{Random, Script, Waiter, agree, difference, seeds, summary, without_one};
use guest::{Guest, Page, kernel};
use leeward_engine::abi::Numbers;
use leeward_engine::{Config, Engine, Heap};

const WAITERS: usize = 6;
const WORDS: u64 = 4;
const CALLS: usize = 5;
const PRIVATE: u64 = 128;

/// A script: which threads wait where, then what is called.
#[derive(Clone, Debug)]
struct Waits {
    /// The word and the bitset of each wait.
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

fn script(seed: u64) -> Waits {
    let mut random = Random(seed);
    // The last words are not waited on: waiters are moved there.
    let waits = (0..WAITERS).map(|_| (random.below(WORDS - 2), [1, 2, 3, u32::MAX][random.below(4) as usize]));
    let waits = waits.collect();
    let mut targets = vec![WORDS - 1, WORDS - 2];
    let mut calls = Vec::new();
    for _ in 0..CALLS {
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
                // A value that changes makes the kernel's waits end no earlier, but a script's own
                // wait is past already.
                Call::WakeOp { word, on: random.below(WORDS), wake: count, wake_on: random.below(3) as u32, op }
            }
        });
    }
    Waits { waits, calls, shared: seed % 2 == 0 }
}

impl Script for Waits {
    fn shorter(&self) -> Vec<Waits> {
        let calls = without_one(&self.calls).map(|calls| Waits { calls, ..self.clone() });
        calls.chain(without_one(&self.waits).map(|waits| Waits { waits, ..self.clone() })).collect()
    }
}

impl Waits {
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

    /// Runs the script; returns what must be the same, line by line.
    fn run(&self, guest: &Guest, ask: impl Fn([u64; 6]) -> i64 + Sync) -> Vec<String> {
        let mut lines = Vec::new();
        for word in 0..WORDS {
            guest.store(self.address(guest, word), 0);
        }
        let waiters: Vec<_> = self.waits.iter().map(|_| Waiter::default()).collect();
        std::thread::scope(|threads| {
            for (waiter, (word, bits)) in waiters.iter().zip(&self.waits) {
                // Waiters of objects use the other mapping.
                let page = if self.shared { Page::Alias } else { Page::Writable };
                let flag = if self.shared { 0 } else { PRIVATE };
                let wait = [guest.address(page) + 4 * word, 9 | flag, 0, 0, 0, u64::from(*bits)];
                let ask = &ask;
                threads.spawn(move || waiter.run(|| ask(wait)));
                assert_eq!(waiter.settled(), None, "a waiter does not go to sleep");
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
        let answers: Vec<_> = waiters.iter().map(Waiter::answer).collect();
        lines.push(format!("the waits: {answers:?}"));
        lines
    }
}

/// Returns the waiters that still wait, when all have settled.
fn left(waiters: &[Waiter]) -> Vec<usize> {
    (0..waiters.len()).filter(|&i| waiters[i].settled().is_none()).collect()
}

#[test]
fn threads_get_the_kernels_wakes() {
    let (guest, seeds) = (Guest::new(), seeds(200));
    let mut woken = 0;
    for seed in seeds.clone() {
        let script = script(seed);
        let theirs = |script: &Waits| script.run(&guest, kernel);
        agree(seed, &script, |script| {
            let engine: Engine<Guest> = Engine::new(Config::for_processors(1, 5), Heap).unwrap();
            let ours = |call| engine.syscall(&guest, &Numbers::X86_64, Numbers::X86_64.futex, call).unwrap();
            difference(&theirs(script), &script.run(&guest, ours))
        });
        if seed < seeds.start + 20 {
            woken += theirs(&script).iter().filter(|line| !line.starts_with("at") && !line.contains("= 0")).count();
        }
    }
    let count = seeds.end - seeds.start;
    summary(&format!("{count} scripts of {WAITERS} waiters and {CALLS} calls agree"));
    assert!(woken > 0);
}
