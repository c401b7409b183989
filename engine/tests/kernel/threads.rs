//! The engine beside the kernel, with threads that wait: which of them each call wakes, and what
//! the call and the waits answer. Some of the threads run in real time, where the system lets them,
//! and are woken before the others.
//!
//! `differential.rs` says how many scripts there are, and what Linux leaves unspecified.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(missing_docs)]

#[path = "../common/calls.rs"]
mod calls;
#[path = "../common/differential.rs"]
mod differential;
#[path = "../common/guest.rs"]
mod guest;

use calls::{Call, PRIVATE, Script, all_agree};
use differential::Random;
use guest::{Guest, Page};

const WAITERS: usize = 6;
const WORDS: u64 = 4;
const CALLS: usize = 5;

/// Returns a script of threads that wait, and of calls after that.
fn script(random: &mut Random, guest: &Guest) -> Script {
    // Waiters of objects use the other mapping.
    let private = (Page::Writable, Page::Writable, PRIVATE);
    let (page, others, flag) = random.pick(&[private, (Page::Object, Page::Alias, 0)]);
    let at = |word| guest.address(page) + 4 * word;
    let wait = |random: &mut Random| {
        // The last words are not waited on: waiters are moved there.
        let (word, bits) = (random.below(WORDS - 2), random.pick(&[1, 2, 3, u32::MAX]));
        Call::futex([guest.address(others) + 4 * word, 9 | flag, 0, 0, 0, bits.into()])
            .asleep_at(random.pick(&[0, 0, 0, 1, 1, 2]))
    };
    let mut calls: Vec<_> = (0..WAITERS).map(|_| wait(random)).collect();
    let mut targets = vec![WORDS - 1, WORDS - 2];
    for _ in 0..CALLS {
        let (word, count) = (at(random.below(WORDS)), random.below(4));
        calls.push(Call::futex(match random.below(4) {
            0 | 1 => [word, 10 | flag, count, 0, 0, random.pick(&[1, 2, 4, u32::MAX]).into()],
            2 => match targets.pop() {
                None => [word, 10 | flag, u32::MAX.into(), 0, 0, u32::MAX.into()],
                Some(to) => {
                    let (command, expected) = random.pick(&[(3, 0), (4, 0), (4, 1)]);
                    [word, command | flag, count, random.below(5), at(to), expected]
                }
            },
            _ => {
                // A value that changes makes the kernel's waits end no earlier, but a script's own
                // wait is past already.
                let (on, wake_on) = (at(random.below(WORDS)), random.below(3));
                let op = random.below(5) << 28 | random.below(7) << 24 | random.below(3) << 12 | random.below(3);
                [word, 5 | flag, count, wake_on, on, op]
            }
        }));
    }
    let ends = (0..WORDS).map(|word| [at(word), 1 | flag, 99, 0, 0, 0]).collect();
    Script { stores: (0..WORDS).map(|word| (at(word), 0)).collect(), calls, ends }
}

#[test]
fn threads_get_the_kernels_wakes() {
    let guest = Guest::new();
    let what = "threads that wait";
    let (slept, woken) = all_agree(&guest, what, 200, &[], |random| script(random, &guest));
    assert!(slept > 0 && woken > 0);
}
