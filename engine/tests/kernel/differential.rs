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

#[path = "../common/calls.rs"]
mod calls;
#[path = "../common/differential.rs"]
mod differential;
#[path = "../common/guest.rs"]
mod guest;

use calls::{Call, ODD, SHORT, Script, address, all_agree, time};
use differential::Random;
use guest::{Guest, Page};

const COUNTS: [u64; 10] = [0, 1, 2, 3, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, u64::MAX, 1 << 32, 5];

/// Returns any call that ends by itself, but for operations that the engine does not have.
fn call(random: &mut Random, guest: &Guest) -> Call {
    const COMMANDS: [u64; 16] = [0, 0, 1, 3, 4, 4, 5, 5, 5, 9, 9, 10, 2, 14, 99, 127];
    let command = random.pick(&COMMANDS);
    let mut flags = random.pick(&[0, 0, 128, 128, 128, 128, 128, 256, 384]);
    if random.chance(3) {
        flags |= random.pick(&[512, 1 << 31, 1 << 32, 1 << 12]);
    }
    let mut place = || address(random, guest, &[40, 15, 10, 10, 11, 5, 9], &[0, 1, 2, 3, 4, 511]);
    let (word, second) = (place(), place());
    let value = if random.chance(50) { random.next() & 3 } else { random.pick(&COUNTS) };
    let fourth = match (command, random.below(10)) {
        (0 | 9, 0) => random.pick(&[8, guest.address(Page::Missing), u64::MAX, 0xffff_8000_0000_0000]),
        // Relative times of a second are for points in time only.
        (0, 1) => time(guest, ODD.start + random.below(ODD.end - ODD.start)),
        (9, 1) => time(guest, SHORT + random.below(ODD.end - SHORT)),
        (0 | 9, _) => time(guest, random.below(SHORT)),
        _ => random.pick(&COUNTS),
    };
    let third = match command {
        5 => random.next() & 0xff00_3003 | random.pick(&[0, 0x0080_0800, 0x00ff_f000, 0xfff]),
        4 => random.next() & 3,
        _ => random.pick(&[0, 1, 2, u64::MAX, 0xffff_ffff, 1 << 32]),
    };
    Call::futex([word, command | flags, value, fourth, second, third])
}

#[test]
fn one_thread_gets_the_kernels_answers() {
    let guest = Guest::new();
    let errors = [libc::EAGAIN, libc::EFAULT, libc::EINVAL, libc::ENOSYS, libc::ETIMEDOUT];
    all_agree(&guest, "futex", 3000, &errors, |random| Script {
        calls: (0..12).map(|_| call(random, &guest)).collect(),
        ..Script::default()
    });
}
