//! Priority inheritance beside the kernel: the same calls, made from a seed by one thread, must
//! answer the same and leave the same words. Several threads: `differential_pi_threads.rs`.
//!
//! Linux 6.18's answers. An older kernel may differ where a private word names another process's
//! thread (here `EPERM`).
//!
//! `LEEWARD_SEQUENCES=N` runs N sequences (default 1,000), `LEEWARD_SEED=N` begins at another.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(missing_docs)]

#[path = "../common/calls.rs"]
mod calls;
#[path = "../common/differential.rs"]
mod differential;
#[path = "../common/guest.rs"]
mod guest;
#[path = "../common/pi_calls.rs"]
mod pi_calls;

use calls::{Call, ODD, PAST, PRIVATE, Script, address, all_agree, time};
use differential::Random;
use guest::{Guest, Page, gettid};
use leeward_engine::abi::{FUTEX_OWNER_DIED, FUTEX_WAITERS};
use pi_calls::*;

/// Returns a call of one thread that does not block, with garbage in words and arguments.
fn call(random: &mut Random, guest: &Guest) -> Call {
    let command =
        random.pick(&[LOCK, LOCK, UNLOCK, UNLOCK, TRYLOCK, TRYLOCK, LOCK2, WAIT_REQUEUE, CMP_REQUEUE, 1, 3, 4]);
    let flags = random.pick(&[0, PRIVATE, PRIVATE, PRIVATE, 256, 384]);
    let mut place = || address(random, guest, &[58, 13, 6, 6, 6, 5, 6], &[0, 1, 2, 3, 4, 5, 6, 7]);
    let (word, second) = (place(), place());
    let value = match command {
        1 => 1,
        WAIT_REQUEUE => random.next() & 1,
        CMP_REQUEUE => random.pick(&[1, 1, 1, 0, 2, u64::MAX]),
        _ => random.next() & 3,
    };
    let fourth = match (command, random.below(8)) {
        (LOCK | LOCK2 | WAIT_REQUEUE, 0) => random.pick(&[8, guest.address(Page::Missing), u64::MAX]),
        (LOCK | LOCK2 | WAIT_REQUEUE, 1) => time(guest, ODD.start + random.below(ODD.end - ODD.start)),
        (LOCK | LOCK2 | WAIT_REQUEUE, _) => time(guest, random.below(PAST)),
        _ => random.pick(&[0, 1, 5, 0x8000_0000, u64::MAX]),
    };
    Call::futex([word, command | flags, value, fourth, second, random.next() & 1])
}

#[test]
fn one_thread_gets_the_kernels_answers() {
    // Not on the program's first thread, which is the other one.
    std::thread::spawn(one_thread).join().unwrap();
}

fn one_thread() {
    let (guest, me, dead) = (Guest::new(), gettid(), dead());
    // The test program's first thread waits for this one.
    let other = std::process::id();
    assert_ne!(me, other);
    let owners = [0, 0, me, me, dead, other, 1, 2, 0x3fff_ffff];
    let flags = [0, 0, FUTEX_WAITERS, FUTEX_OWNER_DIED, FUTEX_WAITERS | FUTEX_OWNER_DIED];
    let errors = [
        libc::EPERM,
        libc::ESRCH,
        libc::EAGAIN,
        libc::EFAULT,
        libc::EINVAL,
        libc::EDEADLK,
        libc::ENOSYS,
        libc::ETIMEDOUT,
    ];
    all_agree(&guest, "priority inheritance, one thread", 1000, &errors, |random| {
        let words = (0..8).map(|word| (4 * word, random.pick(&owners) | random.pick(&flags)));
        let both = |(place, value)| [Page::Writable, Page::Object].map(|page| (guest.address(page) + place, value));
        let stores = words.flat_map(both).collect();
        Script { stores, calls: (0..10).map(|_| call(random, &guest)).collect(), ends: Vec::new() }
    });
}
