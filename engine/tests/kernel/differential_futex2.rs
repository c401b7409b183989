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

#[path = "../common/calls.rs"]
mod calls;
#[path = "../common/differential.rs"]
mod differential;
#[path = "../common/guest.rs"]
mod guest;

use calls::{Call, ODD, PAST, REQUEUE, Script, WAIT, WAITV, WAKE, all_agree, array, time};
use differential::{Random, summary};
use guest::{Element, Guest, Page, system};

const NUMA: u64 = 4;
const MPOL: u64 = 8;

fn there_is_none() -> bool {
    let none = [WAIT, WAITV].iter().any(|number| system(*number, [0; 6]) == -i64::from(libc::ENOSYS));
    if none {
        summary("nothing: the system has no futex2 calls");
    }
    none
}

/// Returns true if words with a node can be compared.
fn has_nodes(guest: &Guest) -> bool {
    let one = std::fs::read_to_string("/sys/devices/system/node/possible").is_ok_and(|nodes| nodes.trim() == "0");
    let word = guest.address(Page::Writable);
    guest.store(word + 4, 0);
    let known = system(WAKE, [word, 1, 0, 2 | NUMA, 0, 0]) == 0 && system(WAKE, [word, 1, 0, 2 | MPOL, 0, 0]) == 0;
    one && known
}

fn address(random: &mut Random, guest: &Guest) -> u64 {
    calls::address(random, guest, &[46, 21, 8, 4, 4, 4, 13], &[0, 1, 2, 3])
}

fn flags(random: &mut Random) -> u32 {
    const ODD: [u32; 9] = [0, 1, 3, 128, 2 | 16, 2 | 64, 2 | 256, 2 | 1 << 31, 130 | 512];
    if random.below(8) == 0 { random.pick(&ODD) } else { random.pick(&[2, 130, 130]) }
}

fn value(random: &mut Random) -> u64 {
    if random.below(10) == 0 { random.pick(&[1 << 32, u64::MAX, 0xffff_ffff]) } else { random.below(4) }
}

/// Returns one call.
fn call(random: &mut Random, guest: &Guest) -> Call {
    let number = random.pick(&[WAITV, WAITV, WAKE, WAIT, REQUEUE, REQUEUE]);
    let length = if number == REQUEUE { 2 } else { random.pick(&[1, 2, 3, 5]) };
    let same = random.pick(&[2, 130]);
    let word = |random: &mut Random| -> Element {
        let flags = if random.below(3) != 0 { same } else { flags(random) };
        let reserved = if random.below(20) == 0 { 1 << random.below(32) } else { 0 };
        // Mostly the value that is there.
        let address = address(random, guest);
        let value = if random.below(4) != 0 { (address / 4) & 3 } else { value(random) };
        (value, address, flags, reserved)
    };
    let words = (0..length).map(|_| word(random)).collect();
    let (mut array, missing) = (array(guest), guest.address(Page::Missing));
    if random.below(12) == 0 {
        array = random.pick(&[0, 8, missing, missing - 12, u64::MAX - 7, 0xffff_8000_0000_0000, array + 4]);
    }
    let time = match random.below(8) {
        0 => random.pick(&[8, missing, u64::MAX]),
        1 => time(guest, random.below(ODD.end)),
        _ => time(guest, random.below(PAST)),
    };
    let clock = if random.below(10) == 0 { random.pick(&[2, 7, u64::MAX, 1 << 32]) } else { random.below(2) };
    let zero = if random.below(16) == 0 { random.pick(&[1, 1 << 31, 1 << 32]) } else { 0 };
    let count = |random: &mut Random| random.pick(&[0, 1, 2, u64::MAX, 0x8000_0000, 1 << 32, 0x7fff_ffff]);
    let arguments = match number {
        WAITV => {
            let length = if random.below(10) == 0 { random.pick(&[0, 129, u64::MAX]) } else { length };
            [array, length, zero, time, clock, 0]
        }
        WAKE => [address(random, guest), value(random), count(random), u64::from(flags(random)), 0, 0],
        WAIT => [address(random, guest), value(random), value(random), u64::from(flags(random)), time, clock],
        _ => [array, zero, count(random), count(random), 0, 0],
    };
    Call::new(number, arguments).with_words(words)
}

const ERRORS: [i32; 4] = [libc::EAGAIN, libc::EFAULT, libc::EINVAL, libc::ETIMEDOUT];

#[test]
fn one_thread_gets_the_kernels_answers() {
    if there_is_none() {
        return;
    }
    let guest = Guest::new();
    all_agree(&guest, "futex2", 20_000, &ERRORS, |random| Script {
        calls: vec![call(random, &guest)],
        ..Script::default()
    });
}

/// Returns one call at words with a node beside them, or with a memory policy.
fn call_at_a_node(random: &mut Random, guest: &Guest) -> Call {
    let mut call = call(random, guest);
    let page = random.pick(&[Page::Writable, Page::Writable, Page::Object, Page::Alias, Page::ReadOnly, Page::Missing]);
    let word = guest.address(page) + if random.below(8) == 0 { random.pick(&[4, 12, 2]) } else { 8 * random.below(5) };
    let places = random.pick(&[NUMA, NUMA, MPOL, NUMA | MPOL]) | random.pick(&[2, 2, 130, 130, 130, 3]);
    match call.number {
        WAKE | WAIT => {
            call.arguments[0] = if random.below(16) == 0 { random.pick(&[0, 1 << 47, u64::MAX - 7]) } else { word };
            call.arguments[3] = places;
        }
        _ => {
            let last = call.words.len() - 1;
            for element in [0, last] {
                let value = if random.below(4) == 0 { random.below(4) } else { 0 };
                call.words[element] = (value, word + 8 * element as u64, places as u32, 0);
            }
        }
    }
    call
}

#[test]
fn words_with_a_node_get_the_kernels_answers() {
    let guest = Guest::new();
    if !has_nodes(&guest) {
        summary("nothing: the system knows no words with a node, or has several nodes");
        return;
    }
    all_agree(&guest, "futex2 with nodes", 10_000, &ERRORS, |random| {
        let calls = vec![call_at_a_node(random, &guest)];
        let node = if random.below(6) == 0 {
            random.pick(&[1, 63, 64, 1024, u32::MAX - 1, 1 << 30])
        } else {
            random.pick(&[0, u32::MAX])
        };
        let words =
            [Page::Writable, Page::Object].into_iter().flat_map(|page| (0..6).map(move |word| (page, 8 * word)));
        let stores = words.flat_map(|(page, at)| [(guest.address(page) + at, 0), (guest.address(page) + at + 4, node)]);
        Script { stores: stores.collect(), calls, ends: Vec::new() }
    });
}

/// How many words are waited on.
const WORDS: u64 = 4;
/// The words to which waiters are moved: none is waited on (see `differential.rs`).
const TARGETS: [u64; 2] = [4, 5];

/// Returns a script of three threads in waitv, and of calls after that.
fn waits(random: &mut Random, guest: &Guest) -> Script {
    let (page, flag) = random.pick(&[(Page::Writable, 130), (Page::Object, 2)]);
    let at = |word: u64| guest.address(page) + 4 * word;
    let wake = |word, bits: u32, count| Call::new(WAKE, [at(word), bits.into(), count, flag.into(), 0, 0]);
    let words = |words: &[u64]| words.iter().map(|word| (0, at(*word), flag, 0)).collect::<Vec<Element>>();
    let mut calls = Vec::new();
    for _ in 0..3 {
        let waits: Vec<_> = (0..random.pick(&[1, 2, 3, 7])).map(|_| random.below(WORDS)).collect();
        let wait = Call::new(WAITV, [array(guest), waits.len() as u64, 0, 0, 0, 0]);
        calls.push(wait.with_words(words(&waits)).asleep());
    }
    let mut targets = TARGETS.to_vec();
    for _ in 0..5 {
        let word = random.below(WORDS);
        match (random.below(3) == 0).then(|| targets.pop()).flatten() {
            Some(to) => {
                let (woken, moved) = (random.below(2), random.below(4));
                let requeue = Call::new(REQUEUE, [array(guest), 0, woken, moved, 0, 0]);
                // One that was moved is woken.
                calls.extend([requeue.with_words(words(&[word, to])), wake(to, 1, 1)]);
            }
            None => calls.push(wake(word, 1, random.below(4))),
        }
    }
    let all = || (0..WORDS).chain(TARGETS);
    calls.extend(all().map(|word| wake(word, u32::MAX, 99)));
    let private = u64::from(flag) & calls::PRIVATE;
    let ends = all().map(|word| [at(word), 1 | private, 99, 0, 0, 0]).collect();
    Script { stores: (0..8).map(|word| (at(word), 0)).collect(), calls, ends }
}

#[test]
fn threads_get_the_kernels_wakes() {
    if there_is_none() {
        return;
    }
    let guest = Guest::new();
    let (slept, woken) = all_agree(&guest, "threads in waitv", 200, &[], |random| waits(random, &guest));
    assert!(slept > 0 && woken > 0);
}
