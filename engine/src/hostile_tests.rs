//! Whatever a program passes ends in a number: no panic, no lock left held, nobody left in a list.

use crate::abi::Numbers;
use crate::test_host::{Nowhere, Rationed};
use crate::{Config, Engine, Errno, Host};

/// splitmix64.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (z ^ z >> 29).wrapping_mul(0x94d0_49bb_1331_11eb) ^ z >> 31
}

/// Any 64 bits; often such as mean something.
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

#[test]
fn any_arguments_end_in_a_number() {
    let mut state = 1;
    for config in [Config::for_processors(1, 1), Config::small(2)] {
        let engine = Engine::new(config, Rationed::new(i64::MAX)).unwrap();
        let host = Nowhere::new(64, Rationed::new(i64::MAX));
        for round in 0..200_000_u32 {
            host.threads.set(round % 70);
            let arguments = core::array::from_fn(|_| argument(&mut state));
            let number = [202, 449, 454, 455, 456][round as usize % 5];
            let answer = engine.syscall(&host, &Numbers::X86_64, number, arguments).unwrap();
            assert!((-133..=0).contains(&answer), "{answer} for {arguments:#x?}");
        }
        // Would hang if a lock were held.
        assert_eq!(engine.stats(&host).waiters + host.space().stats(&host).waiters, 0);
    }
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
        // Would hang if a lock were held.
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
    assert_eq!(engine.syscall(&host, &Numbers::X86_64, 449, [64, 1, 0, 0, 0, 0]), Some(Errno::ENOMEM.answer()));
}
