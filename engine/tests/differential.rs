//! The engine beside the kernel: the same calls, made from a seed, must answer the same and leave
//! the same memory.
//!
//! `LEEWARD_SEQUENCES=N` runs N sequences in each of these tests (`differential*.rs`,
//! `threads.rs`), `LEEWARD_SEED=N` begins at another. A disagreement is made as short as it gets
//! and printed as a script.
//!
//! Where Linux's own answer is unspecified, nothing is compared:
//! - the order of waiters that were moved to a word on which others waited already: Linux leaves
//!   them where they were if both words happen to share a bucket, and puts them after the others if
//!   not. So nothing is moved to a word that was waited on.
//! - a signal, a wake and a time-out at once: any of them may come first. `differential_signals.rs`
//!   lets each settle before the next.
//! - times that come while a call runs: those that are compared are past, a moment away, or too far
//!   to come.
//! - `EINTR` from `set_robust_list` and `get_robust_list`, which nothing says that they answer
//!   (`differential_robust.rs`).
//!
//! And what the engine refuses on purpose: words with a node or a memory policy (`FUTEX2_NUMA`,
//! `FUTEX2_MPOL`; `differential_futex2.rs`).

#![cfg(all(target_os = "linux", target_pointer_width = "64"))]
#![allow(missing_docs)]

#[path = "common/differential.rs"]
mod differential;
#[path = "common/guest.rs"]
mod guest;

use differential::{Random, Script, agree, seeds, summary, without_one};
use guest::{Guest, PAGE, Page, kernel};
use leeward_engine::abi::Numbers;
use leeward_engine::{Config, Engine, Heap};

fn engine() -> Engine<Guest> {
    Engine::new(Config::for_processors(1, 11), Heap).unwrap()
}

fn ask(engine: &Engine<Guest>, guest: &Guest, arguments: [u64; 6]) -> i64 {
    engine.syscall(guest, &Numbers::X86_64, Numbers::X86_64.futex, arguments).unwrap()
}

/// The times in the writable page: seconds and nanoseconds.
const TIMES: [(i64, i64); 8] =
    [(0, 0), (0, 100_000), (1, 0), (-1, 0), (0, -1), (0, 1_000_000_000), (0, 999_999_999_999), (i64::MIN, i64::MIN)];
/// How many of these end a relative wait at once or soon; as points in time, all of them are past.
const SHORT: usize = 2;
const TIMES_AT: u64 = 2048;

fn time(guest: &Guest, i: usize) -> u64 {
    guest.address(Page::Writable) + TIMES_AT + 16 * i as u64
}

/// Fills the memory as each sequence finds it.
fn prepare(guest: &Guest) {
    for page in [Page::Writable, Page::Object] {
        for i in 0..PAGE as u64 / 4 {
            guest.store(guest.address(page) + 4 * i, i as u32 & 3);
        }
    }
    for (i, (seconds, nanos)) in TIMES.into_iter().enumerate() {
        for (j, half) in [seconds as u64, nanos as u64].into_iter().enumerate() {
            guest.store(time(guest, i) + 8 * j as u64, half as u32);
            guest.store(time(guest, i) + 8 * j as u64 + 4, (half >> 32) as u32);
        }
    }
}

fn address(random: &mut Random, guest: &Guest) -> u64 {
    let word = 4 * random.pick(&[0, 1, 2, 3, 4, 511]);
    match random.next() % 20 {
        0..8 => guest.address(Page::Writable) + word,
        8..11 => guest.address(Page::Object) + word,
        11..13 => guest.address(Page::Alias) + word,
        13..15 => guest.address(Page::ReadOnly) + word,
        15..17 => guest.address(Page::Missing) + word,
        17 => guest.address(Page::Writable) + random.pick(&[1, 2, 3, 6]),
        18 => random.pick(&[0, 4, 0xffff_8000_0000_0000, u64::MAX - 3, u64::MAX]),
        _ => 0xffff_ffff_8100_0000 + word,
    }
}

const COUNTS: [u64; 10] = [0, 1, 2, 3, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, u64::MAX, 1 << 32, 5];

/// Returns any call that ends by itself, but for operations that the engine does not have.
fn call(random: &mut Random, guest: &Guest) -> [u64; 6] {
    const COMMANDS: [u64; 16] = [0, 0, 1, 3, 4, 4, 5, 5, 5, 9, 9, 10, 2, 14, 99, 127];
    let command = random.pick(&COMMANDS);
    let mut flags = random.pick(&[0, 0, 128, 128, 128, 128, 128, 256, 384]);
    if random.chance(3) {
        flags |= random.pick(&[512, 1 << 31, 1 << 32, 1 << 12]);
    }
    let (word, second) = (address(random, guest), address(random, guest));
    let value = if random.chance(50) { random.next() & 3 } else { random.pick(&COUNTS) };
    let waits = command == 0 || command == 9;
    let fourth = if waits {
        match random.next() % 10 {
            0 => random.pick(&[8, guest.address(Page::Missing), u64::MAX, 0xffff_8000_0000_0000]),
            1 => time(guest, SHORT + random.next() as usize % (TIMES.len() - SHORT)),
            _ => time(guest, random.next() as usize % SHORT),
        }
    } else {
        random.pick(&COUNTS)
    };
    // A relative time of a second is for points in time only.
    let fourth = if command == 0 && fourth == time(guest, SHORT) { time(guest, 1) } else { fourth };
    let third = match command {
        5 => random.next() & 0xff00_3003 | random.pick(&[0, 0x0080_0800, 0x00ff_f000, 0xfff]),
        4 => random.next() & 3,
        _ => random.pick(&[0, 1, 2, u64::MAX, 0xffff_ffff, 1 << 32]),
    };
    [word, command | flags, value, fourth, second, third]
}

/// Returns the first call to which the kernel and the engine answer differently, with the answers.
fn disagreement(guest: &Guest, calls: &[[u64; 6]]) -> Option<String> {
    prepare(guest);
    let theirs: Vec<_> = calls.iter().map(|call| (kernel(*call), guest.contents())).collect();
    prepare(guest);
    let engine = engine();
    for (i, (call, (answer, contents))) in calls.iter().zip(theirs).enumerate() {
        let ours = ask(&engine, guest, *call);
        if ours != answer {
            return Some(format!("call {i}: the kernel answers {answer}, the engine {ours}"));
        }
        let now = guest.contents();
        if let Some(at) = (0..now.len()).find(|&at| now[at] != contents[at]) {
            return Some(format!("call {i}: word {at} is {:#x} by the kernel, {:#x} here", contents[at], now[at]));
        }
    }
    None
}

/// A script of calls, one after another.
#[derive(Clone)]
struct Calls(Vec<[u64; 6]>);

impl Script for Calls {
    fn shorter(&self) -> Vec<Calls> {
        without_one(&self.0).map(Calls).collect()
    }
}

impl std::fmt::Debug for Calls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0
            .iter()
            .try_for_each(|[a, b, c, d, e, g]| writeln!(f, "  futex({a:#x}, {b:#x}, {c:#x}, {d:#x}, {e:#x}, {g:#x})"))
    }
}

#[test]
fn one_thread_gets_the_kernels_answers() {
    let guest = Guest::new();
    let (seeds, mut answers) = (seeds(3000), std::collections::BTreeMap::<i64, u64>::new());
    for seed in seeds.clone() {
        let mut random = Random(seed);
        let calls = Calls((0..12).map(|_| call(&mut random, &guest)).collect());
        agree(seed, &calls, |calls| {
            let pages = guest.address(Page::Writable);
            disagreement(&guest, &calls.0).map(|why| format!("{why} (pages at {pages:#x})"))
        });
        let engine = engine();
        prepare(&guest);
        for call in &calls.0 {
            *answers.entry(ask(&engine, &guest, *call)).or_default() += 1;
        }
    }
    let count = seeds.end - seeds.start;
    summary(&format!("{count} sequences, {} futex calls agree; answers: {answers:?}", 12 * count));
    // The generator reaches them all.
    let all = [0, -libc::EAGAIN, -libc::EFAULT, -libc::EINVAL, -libc::ENOSYS, -libc::ETIMEDOUT];
    if count >= 1000 {
        assert!(all.iter().all(|answer| answers.contains_key(&i64::from(*answer))), "{answers:?}");
    }
}
