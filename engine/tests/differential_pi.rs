//! Priority inheritance beside the kernel: the same calls, made from a seed by one thread, must
//! answer the same and leave the same words. Several threads: `differential_pi_threads.rs`.
//!
//! Linux 6.18's answers. An older kernel may differ where a private word names another process's
//! thread (here `EPERM`).
//!
//! `LEEWARD_SEQUENCES=N` runs N sequences (default 1,000), `LEEWARD_SEED=N` begins at another.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(missing_docs)]

#[path = "common/differential.rs"]
mod differential;
#[path = "common/guest.rs"]
mod guest;
#[path = "common/pi_calls.rs"]
mod pi_calls;

use std::collections::BTreeMap;

use differential::{Random, seeds, summary};
use guest::{Guest, Page, gettid, kernel};
use leeward_engine::abi::{FUTEX_OWNER_DIED, FUTEX_WAITERS};
use pi_calls::*;

/// Returns a call of one thread that does not block, with garbage in words and arguments.
fn call(random: &mut Random, guest: &Guest) -> [u64; 6] {
    let command =
        random.pick(&[LOCK, LOCK, UNLOCK, UNLOCK, TRYLOCK, TRYLOCK, LOCK2, WAIT_REQUEUE, CMP_REQUEUE, 1, 3, 4]);
    let flags = random.pick(&[0, PRIVATE, PRIVATE, PRIVATE, 256, 384]);
    let mut address = || {
        let word = 4 * (random.next() % 8);
        match random.next() % 16 {
            0..9 => guest.address(Page::Writable) + word,
            9..11 => guest.address(Page::Object) + word,
            11 => guest.address(Page::Alias) + word,
            12 => guest.address(Page::ReadOnly) + word,
            13 => guest.address(Page::Missing) + word,
            14 => guest.address(Page::Writable) + word + random.next() % 4,
            _ => random.pick(&[0, 4, 0xffff_8000_0000_0000, u64::MAX - 3, u64::MAX]),
        }
    };
    let (word, second) = (address(), address());
    let waits = [LOCK, LOCK2, WAIT_REQUEUE].contains(&command);
    let value = match command {
        1 => 1,
        WAIT_REQUEUE => random.next() & 1,
        CMP_REQUEUE => random.pick(&[1, 1, 1, 0, 2, u64::MAX]),
        _ => random.next() & 3,
    };
    let fourth = if waits {
        match random.next() % 8 {
            0 => random.pick(&[8, guest.address(Page::Missing), u64::MAX]),
            1 => time(guest, 3 + random.next() as usize % 2),
            _ => time(guest, random.next() as usize % 3),
        }
    } else {
        random.pick(&[0, 1, 5, 0x8000_0000, u64::MAX])
    };
    [word, command | flags, value, fourth, second, random.next() & 1]
}

#[test]
fn one_thread_gets_the_kernels_answers() {
    // Not on the program's first thread, which is the other one.
    std::thread::spawn(one_thread).join().unwrap();
}

fn one_thread() {
    let guest = Guest::new();
    let seeds = seeds(1000);
    let count = seeds.end - seeds.start;
    let (me, dead) = (gettid(), dead());
    // The test program's first thread waits for this one.
    let other = std::process::id();
    assert_ne!(me, other);
    let mut answers = BTreeMap::<i64, u64>::new();
    for seed in seeds {
        let mut random = Random(seed);
        let owners = [0, 0, me, me, dead, other, 1, 2, 0x3fff_ffff];
        let flags = [0, 0, FUTEX_WAITERS, FUTEX_OWNER_DIED, FUTEX_WAITERS | FUTEX_OWNER_DIED];
        let words: Vec<_> = (0..8).map(|_| random.pick(&owners) | random.pick(&flags)).collect();
        let calls: Vec<_> = (0..10).map(|_| call(&mut random, &guest)).collect();
        prepare(&guest, &words);
        let theirs: Vec<_> = calls.iter().map(|call| (kernel(*call), guest.contents())).collect();
        prepare(&guest, &words);
        let engine = new_engine();
        for (i, (call, (answer, contents))) in calls.iter().zip(theirs).enumerate() {
            let ours = ask(&engine, &guest, *call);
            let now = guest.contents();
            let differs = (0..now.len()).find(|&at| now[at] != contents[at]);
            assert!(
                ours == answer && differs.is_none(),
                "seed {seed}, call {i}: {call:x?}: the kernel answers {answer}, the engine {ours}; \
                 word {differs:?}: {:x?} and {:x?}\n\
                 words {words:x?}, me {me:x}, calls {:x?}, page {:x}",
                differs.map(|at| contents[at]),
                differs.map(|at| now[at]),
                &calls[..=i],
                guest.address(Page::Writable)
            );
            *answers.entry(ours).or_default() += 1;
        }
        assert_eq!(engine.stats(&guest).waiters, 0);
    }
    summary(&format!(
        "priority inheritance, one thread: {count} sequences, {} calls agree; answers: {answers:?}",
        10 * count
    ));
    let all = [
        0,
        -libc::EPERM,
        -libc::ESRCH,
        -libc::EAGAIN,
        -libc::EFAULT,
        -libc::EINVAL,
        -libc::EDEADLK,
        -libc::ENOSYS,
        -libc::ETIMEDOUT,
    ];
    assert!(count < 1000 || all.iter().all(|answer| answers.contains_key(&i64::from(*answer))), "{answers:?}");
}
