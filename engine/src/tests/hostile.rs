//! Hostile arguments: whatever a program passes ends in a number, without a panic, a held lock, or
//! a waiter that is left in a list.

use crate::linux::abi::Numbers;
use crate::tests::host::{Nowhere, Rationed};
use crate::{Config, Engine, Errno, Host, Node, Scope, Size, WaitEntry, WakeOp, Word};

/// Returns the next number of splitmix64 (G. L. Steele, D. Lea and C. H. Flood, Fast splittable
/// pseudorandom number generators, 2014).
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (z ^ z >> 29).wrapping_mul(0x94d0_49bb_1331_11eb) ^ z >> 31
}

/// Returns any 64 bits, often such that mean something.
fn argument(state: &mut u64) -> u64 {
    let any = random(state);
    match random(state) % 8 {
        0 => any,
        1 => any & 0xffff_ffff,
        2 => 1 << (any & 63),
        3 => (1_u64 << (any & 63)).wrapping_neg(),
        4 => any & 15,
        5 => any & 0x1ff,
        _ => 4 * (any & 63),
    }
}

/// Fills memory, often with what means something: a time, an array of words to wait for, numbers.
fn memory(host: &Nowhere, state: &mut u64) {
    let put = |at: usize, number: u64| {
        host.words[at].set(number as u32);
        host.words[at + 1].set((number >> 32) as u32);
    };
    for at in (0..64).step_by(2) {
        put(at, if random(state) % 4 == 0 { argument(state) } else { 0 });
    }
    // At 32: seconds, nanoseconds. From 64 on: value, address, flags and zeroes, six times.
    put(8, random(state) % 3);
    put(10, if random(state) % 4 == 0 { argument(state) } else { random(state) % 1_000_000_000 });
    for element in 0..6 {
        let at = 16 + 6 * element;
        put(at, random(state) % 8 / 7);
        put(at + 2, 4 * (random(state) % 4));
        let size = if random(state) % 4 == 0 { random(state) % 4 } else { 2 };
        put(at + 4, if random(state) % 16 == 0 { argument(state) } else { size + 128 * (random(state) & 1) });
    }
}

#[test]
fn any_arguments_end_in_a_number() {
    use std::collections::BTreeSet;
    const NUMBERS: [u64; 6] = [202, 449, 454, 455, 456, 324];
    let mut state = 1;
    let mut answers: [BTreeSet<i64>; NUMBERS.len()] = Default::default();
    for (config, all_sizes) in [(Config::for_processors(1, 1), false), (Config::small(2), true)] {
        let engine = Engine::new(config, Rationed::new(i64::MAX)).unwrap();
        let mut host = Nowhere::new(64, Rationed::new(i64::MAX));
        host.all_sizes = all_sizes;
        for round in 0..200_000_u32 {
            host.threads.set(round % 70);
            if round % 16 == 0 {
                memory(&host, &mut state);
            }
            let call = round as usize % NUMBERS.len();
            let mut arguments: [u64; 6] = core::array::from_fn(|_| argument(&mut state));
            // Half of them are such that more than the checks is reached.
            if random(&mut state) % 2 == 0 {
                match NUMBERS[call] {
                    202 => arguments[1] &= 0x8f,
                    449 => arguments[..3].copy_from_slice(&[64, 1 + random(&mut state) % 6, 0]),
                    454 => arguments[3] = random(&mut state) % 4,
                    455 => arguments[2..4].copy_from_slice(&[1, random(&mut state) % 4]),
                    _ => arguments[..2].copy_from_slice(&[64, 0]),
                }
                arguments[3] = if NUMBERS[call] == 449 { 32 * (random(&mut state) & 1) } else { arguments[3] };
                arguments[4] = if matches!(NUMBERS[call], 449 | 455) { random(&mut state) & 1 } else { arguments[4] };
            }
            let answer = engine.syscall(&host, &Numbers::X86_64, NUMBERS[call], arguments).unwrap();
            assert!((-133..=0).contains(&answer), "{answer} for {arguments:#x?}");
            answers[call].insert(answer);
        }
        // This would hang if a lock were held.
        assert_eq!(engine.stats(&host).waiters + host.space().stats(&host).waiters, 0);
    }
    // Each call came past its checks: some answers are given only after them.
    let [again, past] = [Errno::EAGAIN, Errno::ETIMEDOUT].map(Errno::answer);
    for (call, wanted) in [(0, again), (0, past), (0, 0), (1, again), (1, past), (2, 0), (3, past), (4, again), (4, 0)]
    {
        assert!(answers[call].contains(&wanted), "{} never answered {wanted}: {:?}", NUMBERS[call], answers[call]);
    }
}

/// An access that reaches beyond the last address of user memory is not made, wherever it begins.
#[test]
fn the_last_byte_is_asked_for_too() {
    let engine = Engine::new(Config::for_processors(1, 1), Rationed::new(9)).unwrap();
    let host = Nowhere::new(64, Rationed::new(9));
    let end = 1_u64 << 47;
    for (first, last) in [(end - 8, end - 17), (u64::MAX - 3, u64::MAX - 15)] {
        for address in [first, last] {
            // A time, an array of words to wait for, two words to move between.
            for call in
                [(202, [0, 0, 0, address, 0, 0]), (449, [address, 1, 0, 0, 0, 0]), (456, [address, 0, 1, 1, 0, 0])]
            {
                let answer = engine.syscall(&host, &Numbers::X86_64, call.0, call.1);
                assert_eq!(answer, Some(Errno::EFAULT.answer()), "{call:x?}");
            }
        }
    }
}

/// Memory may end between two words: the second one, which has the node, is asked for as well.
#[test]
fn the_word_with_the_node_is_asked_for_too() {
    let engine = Engine::new(Config::for_processors(1, 1), Rationed::new(9)).unwrap();
    let mut host = Nowhere::new(64, Rationed::new(9));
    host.nodes = true;
    host.words[33].set(u32::MAX);
    let beside = |address| crate::Word { node: crate::Node::Beside, ..crate::Word::shared(address) };
    assert_eq!(engine.wake(&host, beside(128), 1, 1), Ok(0));
    assert_eq!(host.words[33].get(), 1);
    host.range.set(132);
    assert_eq!(engine.wake(&host, beside(128), 1, 1), Err(Errno::EFAULT));
    assert_eq!(engine.wake(&host, crate::Word::shared(128), 1, 1), Ok(0));
}

/// Words of every size at every address, in every kind of call, end in a number and leave nothing.
#[test]
fn words_of_any_size_anywhere_end_in_a_number() {
    let mut state = 9;
    let engine = Engine::new(Config::for_processors(1, 1), Rationed::new(i64::MAX)).unwrap();
    let mut host = Nowhere::new(64, Rationed::new(i64::MAX));
    host.nodes = true;
    let mut ends = [0_u32; 3];
    for round in 0..100_000_u32 {
        host.all_sizes = round % 4 != 0;
        host.words[round as usize % 64].set([0, u32::MAX, 1 << 31, 0x0101_0101][round as usize / 64 % 4]);
        let word = |state: &mut u64| {
            let size = [Size::U8, Size::U16, Size::U32, Size::U64][random(state) as usize % 4];
            let node = [Node::Hashed, Node::Hashed, Node::Beside, Node::Policy][random(state) as usize % 4];
            let scope = [Scope::Private, Scope::Shared][random(state) as usize % 2];
            let address = if random(state) % 8 == 0 { argument(state) } else { random(state) % 256 };
            Word { address, scope, node, size }
        };
        let (first, second, value) = (word(&mut state), word(&mut state), argument(&mut state));
        let answer = match round % 5 {
            0 => engine.wait(&host, first, value, 1, None).map(|_| ()),
            1 => engine.wake(&host, first, 1, 1).map(|_| ()),
            2 => engine.requeue(&host, first, second, 1, 1, (value % 2 == 0).then_some(value)).map(|_| ()),
            3 => engine.waitv(&host, &mut [first, second].map(|word| WaitEntry::new(word, value)), None).map(|_| ()),
            _ => engine.wake_op(&host, first, 1, second, WakeOp::decode(0x1000).unwrap(), 1).map(|_| ()),
        };
        let end = [Ok(()), Err(Errno::EINVAL), Err(Errno::EFAULT)].iter().position(|end| *end == answer);
        ends[end.unwrap_or_else(|| panic!("{answer:?} for {first:?}, {second:?}, {value:#x}"))] += 1;
    }
    assert!(ends.iter().all(|count| *count > 1000), "{ends:?}");
    assert_eq!(engine.stats(&host).waiters + host.space().stats(&host).waiters, 0);
}

#[test]
fn any_arguments_to_locks_that_inherit_end_in_a_number() {
    let mut state = 5;
    let engine = Engine::new(Config::for_processors(1, 1), Rationed::new(i64::MAX)).unwrap();
    let mut host = Nowhere::new(64, Rationed::new(i64::MAX));
    for inherits in [false, true] {
        host.inherits = inherits;
        for round in 0..50_000_u32 {
            host.priority.set(random(&mut state) as u32);
            host.end.set(if round % 2 == 0 { crate::ParkEnd::TimedOut } else { crate::ParkEnd::Interrupted });
            host.words[round as usize % 64].set(argument(&mut state) as u32 ^ round << 30);
            let mut arguments: [u64; 6] = core::array::from_fn(|_| argument(&mut state));
            arguments[1] = [6, 7, 8, 11, 12, 13][round as usize % 6] | arguments[1] & 0x180;
            if round % 3 != 0 {
                arguments[3] = 0;
            }
            let answer = engine.syscall(&host, &Numbers::X86_64, 202, arguments).unwrap();
            assert!((-133..=0).contains(&answer), "{answer} for {arguments:#x?}");
            assert!(inherits || answer == Errno::ENOSYS.answer());
        }
        // This would hang if a lock were held.
        assert_eq!(engine.exit_pi(&host), 0);
        assert_eq!(engine.stats(&host).waiters + host.space().stats(&host).waiters, 0);
    }
}

#[test]
fn a_table_is_no_larger_than_the_most_however_many_threads_there_are() {
    let engine = Engine::new(Config::for_processors(1, 1), Rationed::new(10)).unwrap();
    let host = Nowhere::new(4, Rationed::new(10));
    engine.reserve(&host, u32::MAX);
    assert_eq!(host.space().stats(&host).buckets, crate::MOST_BUCKETS);
}

#[test]
fn waitv_without_memory_for_its_places_is_an_errno() {
    let engine = Engine::new(Config::for_processors(1, 1), Rationed::new(1)).unwrap();
    let host = Nowhere::new(64, Rationed::new(i64::MAX));
    let waitv = |count| engine.syscall(&host, &Numbers::X86_64, 449, [64, count, 0, 0, 0, 0]);
    assert_eq!(waitv(5), Some(Errno::ENOMEM.answer()));
    // Few words need none; the array of zeroes names no size.
    assert_eq!(waitv(4), Some(Errno::EINVAL.answer()));
}
