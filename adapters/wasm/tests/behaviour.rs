//! The behaviour of the three instructions, point by point as the threads proposal lists it.

mod common;

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;

use common::{Noting, PAGE, Pages, Restless, memory, runtime, until_waiters};
use leeward_engine::{Config, ParkEnd};
use leeward_wasm::{LinearMemory, Outcome, Runtime, Threads, Trap};

#[test]
fn a_notify_ends_a_wait_with_ok() {
    let memory = memory();
    thread::scope(|threads| {
        let wait32 = threads.spawn(|| memory.wait32(8, 0, 0, -1));
        let wait64 = threads.spawn(|| memory.wait64(16, 0, 0, -1));
        until_waiters(&memory, 2);
        assert_eq!((memory.notify(8, 0, 1), memory.notify(16, 0, 1)), (Ok(1), Ok(1)));
        assert_eq!(wait32.join().unwrap(), Ok(Outcome::Woken));
        assert_eq!(wait64.join().unwrap(), Ok(Outcome::Woken));
    });
}

#[test]
fn another_value_is_not_equal_whatever_the_time() {
    let memory = memory();
    memory.linear().store64(0, 7);
    for timeout in [-1, 0, i64::MAX, i64::MIN] {
        assert_eq!(memory.wait32(0, 0, 8, timeout), Ok(Outcome::NotEqual));
        assert_eq!(memory.wait64(0, 0, 8, timeout), Ok(Outcome::NotEqual));
    }
}

#[test]
fn wait64_compares_both_halves_and_wait32_its_own() {
    let memory = memory();
    memory.linear().store64(0, 0xffff_fffe_0000_0001);
    assert_eq!(memory.wait64(0, 0, 1, -1), Ok(Outcome::NotEqual));
    assert_eq!(memory.wait64(0, 0, 0xffff_fffe_0000_0000, -1), Ok(Outcome::NotEqual));
    assert_eq!(memory.wait64(0, 0, 0xffff_fffe_0000_0001, 0), Ok(Outcome::TimedOut));
    assert_eq!(memory.wait32(0, 0, 1, 0), Ok(Outcome::TimedOut));
    assert_eq!(memory.wait32(4, 0, 0xffff_fffe, 0), Ok(Outcome::TimedOut));
    assert_eq!(memory.wait32(4, 0, 1, -1), Ok(Outcome::NotEqual));
}

#[test]
fn a_time_is_relative_and_a_negative_one_never_ends() {
    let noting = Noting { now: 1000, end: ParkEnd::TimedOut, until: Mutex::default() };
    let noting = Arc::new(noting);
    let memory = runtime(noting.clone()).memory(Pages::new(1, true));
    for timeout in [0, 5, i64::MAX] {
        assert_eq!(memory.wait32(0, 0, 0, timeout), Ok(Outcome::TimedOut));
        assert_eq!(memory.wait64(0, 0, 0, timeout), Ok(Outcome::TimedOut));
    }
    for timeout in [-1, i64::MIN] {
        // This parker ends even such a sleep.
        assert_eq!(memory.wait32(0, 0, 0, timeout), Ok(Outcome::TimedOut));
    }
    let far = Some(1000 + i64::MAX as u64);
    let expected = [Some(1000), Some(1000), Some(1005), Some(1005), far, far, None, None];
    assert_eq!(*noting.until.lock().unwrap(), expected);
}

#[test]
fn a_time_past_the_clocks_end_is_never_reached() {
    let noting = Noting { now: u64::MAX - 5, end: ParkEnd::TimedOut, until: Mutex::default() };
    let noting = Arc::new(noting);
    let memory = runtime(noting.clone()).memory(Pages::new(1, true));
    assert_eq!(memory.wait32(0, 0, 0, 10), Ok(Outcome::TimedOut));
    assert_eq!(*noting.until.lock().unwrap(), [Some(u64::MAX)]);
}

#[test]
fn a_time_that_is_up_ends_a_sleep_and_a_long_one_does_not() {
    let memory = memory();
    assert_eq!(memory.wait32(0, 0, 0, 0), Ok(Outcome::TimedOut));
    assert_eq!(memory.wait64(0, 0, 0, 1000), Ok(Outcome::TimedOut));
    thread::scope(|threads| {
        let long = threads.spawn(|| memory.wait32(0, 0, 0, i64::MAX));
        until_waiters(&memory, 1);
        assert_eq!(memory.notify(0, 0, 1), Ok(1));
        assert_eq!(long.join().unwrap(), Ok(Outcome::Woken));
    });
}

#[test]
fn a_notify_wakes_none_of_0_and_all_of_more_than_there_are() {
    let memory = memory();
    assert_eq!(memory.notify(0, 0, u32::MAX), Ok(0));
    thread::scope(|threads| {
        let waits: Vec<_> = (0..20).map(|_| threads.spawn(|| memory.wait32(0, 0, 0, -1))).collect();
        until_waiters(&memory, 20);
        assert_eq!(memory.notify(0, 0, 0), Ok(0));
        assert_eq!(memory.stats().waiters, 20);
        assert_eq!(memory.notify(4, 0, u32::MAX), Ok(0));
        assert_eq!(memory.notify(0, 0, 3), Ok(3));
        assert_eq!(memory.notify(0, 0, u32::MAX), Ok(17));
        for wait in waits {
            assert_eq!(wait.join().unwrap(), Ok(Outcome::Woken));
        }
    });
    assert_eq!(memory.notify(0, 0, u32::MAX), Ok(0));
}

#[test]
fn waiters_are_woken_in_the_order_in_which_they_came() {
    let memory = memory();
    let order = Mutex::new(Vec::new());
    thread::scope(|threads| {
        for number in 0..6 {
            let (memory, order) = (&memory, &order);
            threads.spawn(move || {
                // Both kinds of waits are in one order.
                let end = if number % 2 == 0 { memory.wait32(8, 0, 0, -1) } else { memory.wait64(8, 0, 0, -1) };
                assert_eq!(end, Ok(Outcome::Woken));
                order.lock().unwrap().push(number);
            });
            until_waiters(memory, number + 1);
        }
        for woken in 1..=6 {
            assert_eq!(memory.notify(8, 0, 1), Ok(1));
            while order.lock().unwrap().len() < woken {
                thread::yield_now();
            }
        }
    });
    assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn waits_of_32_and_64_bits_at_one_address_meet_one_notify() {
    let memory = memory();
    thread::scope(|threads| {
        let wait32 = threads.spawn(|| memory.wait32(8, 0, 0, -1));
        let wait64 = threads.spawn(|| memory.wait64(8, 0, 0, -1));
        until_waiters(&memory, 2);
        // The upper half of the wide word is an address of its own.
        assert_eq!(memory.notify(12, 0, 2), Ok(0));
        assert_eq!(memory.notify(8, 0, 2), Ok(2));
        assert_eq!((wait32.join().unwrap(), wait64.join().unwrap()), (Ok(Outcome::Woken), Ok(Outcome::Woken)));
    });
}

#[test]
fn growth_moves_no_waiter_and_what_it_adds_can_be_waited_for() {
    let memory = memory();
    assert_eq!(memory.wait32(PAGE, 0, 0, 0), Err(Trap::OutOfBounds));
    assert_eq!(memory.notify(PAGE, 0, 0), Err(Trap::OutOfBounds));
    thread::scope(|threads| {
        let old = threads.spawn(|| memory.wait32(PAGE - 4, 0, 0, -1));
        until_waiters(&memory, 1);
        memory.linear().grow();
        let new = threads.spawn(|| memory.wait64(PAGE, 0, 0, -1));
        until_waiters(&memory, 2);
        memory.linear().grow();
        assert_eq!(memory.notify(PAGE - 4, 0, 1), Ok(1));
        assert_eq!(memory.notify(PAGE, 0, 1), Ok(1));
        assert_eq!((old.join().unwrap(), new.join().unwrap()), (Ok(Outcome::Woken), Ok(Outcome::Woken)));
    });
}

#[test]
fn the_effective_address_is_a_sum_and_a_sum_of_65_bits_is_out_of_bounds() {
    let memory = memory();
    memory.linear().store64(16, 1);
    assert_eq!(memory.wait32(8, 8, 0, -1), Ok(Outcome::NotEqual));
    assert_eq!(memory.wait64(0, 16, 0, -1), Ok(Outcome::NotEqual));
    // A sum that wraps around would be the word at 16.
    assert_eq!(memory.wait32(u64::MAX - 7, 24, 0, -1), Err(Trap::OutOfBounds));
    assert_eq!(memory.wait64(u64::MAX - 7, 24, 0, -1), Err(Trap::OutOfBounds));
    assert_eq!(memory.notify(24, u64::MAX - 7, 1), Err(Trap::OutOfBounds));
    // A 32-bit memory's operands do not wrap around at 32 bits.
    assert_eq!(memory.wait32(0xffff_fff8, 24, 0, -1), Err(Trap::OutOfBounds));
}

#[test]
fn the_last_word_is_within_and_the_next_is_not() {
    let memory = memory();
    assert_eq!(memory.wait32(PAGE - 4, 0, 0, 0), Ok(Outcome::TimedOut));
    assert_eq!(memory.wait64(PAGE - 8, 0, 0, 0), Ok(Outcome::TimedOut));
    assert_eq!(memory.notify(PAGE - 4, 0, 1), Ok(0));
    for address in [PAGE, 1 << 62, 1 << 63, u64::MAX - 7] {
        assert_eq!(memory.wait32(address, 0, 0, 0), Err(Trap::OutOfBounds));
        assert_eq!(memory.wait64(address, 0, 0, 0), Err(Trap::OutOfBounds));
        assert_eq!(memory.notify(address, 0, 1), Err(Trap::OutOfBounds));
    }
}

#[test]
fn alignment_comes_before_bounds_and_bounds_before_sharing() {
    for shared in [true, false] {
        let memory = runtime(Threads::default()).memory(Pages::new(1, shared));
        for address in [1, 2, 3, PAGE + 1, u64::MAX] {
            assert_eq!(memory.wait32(address, 0, 0, 0), Err(Trap::Unaligned));
            assert_eq!(memory.wait64(address, 0, 0, 0), Err(Trap::Unaligned));
            assert_eq!(memory.notify(0, address, 1), Err(Trap::Unaligned));
        }
        assert_eq!(memory.wait64(4, 0, 0, 0), Err(Trap::Unaligned));
        assert_eq!(memory.wait64(PAGE, 0, 0, 0), Err(Trap::OutOfBounds));
        assert_eq!(memory.notify(PAGE, 0, 0), Err(Trap::OutOfBounds));
    }
}

#[test]
fn in_a_memory_that_is_not_shared_waits_trap_and_notifies_wake_none() {
    let memory = runtime(Threads::default()).memory(Pages::new(1, false));
    assert_eq!(memory.wait32(0, 0, 0, 0), Err(Trap::Unshared));
    // Also where the value differs.
    assert_eq!(memory.wait64(0, 0, 1, -1), Err(Trap::Unshared));
    assert_eq!(memory.notify(0, 0, u32::MAX), Ok(0));
    assert_eq!(Trap::Unshared.to_string(), "expected shared memory");
}

#[test]
fn memories_of_one_runtime_do_not_meet_and_handles_on_one_memory_do() {
    let runtime = runtime(Threads::default());
    let memories = [runtime.memory(Pages::new(1, true)), runtime.memory(Pages::new(1, true))];
    let elsewhere = memories[0].clone();
    thread::scope(|threads| {
        let wait = threads.spawn(move || elsewhere.wait32(0, 0, 0, -1));
        until_waiters(&memories[0], 1);
        assert_eq!(memories[1].notify(0, 0, 1), Ok(0));
        assert_eq!(memories[0].notify(0, 0, 1), Ok(1));
        assert_eq!(wait.join().unwrap(), Ok(Outcome::Woken));
    });
}

#[test]
fn a_handle_keeps_its_memory_as_long_as_a_thread_waits() {
    let pages = Pages::new(1, true);
    let memory = runtime(Threads::default()).memory(pages.clone());
    let (waiting, waker) = (memory.clone(), memory.clone());
    let wait = thread::spawn(move || waiting.wait32(0, 0, 0, -1));
    until_waiters(&memory, 1);
    drop(memory);
    assert_eq!(Arc::strong_count(&pages), 2);
    assert_eq!(waker.notify(0, 0, 1), Ok(1));
    assert_eq!(wait.join().unwrap(), Ok(Outcome::Woken));
    drop(waker);
    assert_eq!(Arc::strong_count(&pages), 1);
}

#[test]
fn a_wait_that_sleeps_does_not_end_because_its_word_changes() {
    let restless = Arc::new(Restless::default());
    let memory = runtime(restless.clone()).memory(Pages::new(1, true));
    thread::scope(|threads| {
        let wait = threads.spawn(|| memory.wait32(0, 0, 0, -1));
        until_waiters(&memory, 1);
        memory.linear().store64(0, 1);
        // The thread looks up some times.
        let before = restless.0.load(SeqCst);
        while restless.0.load(SeqCst) < before + 10 && memory.stats().waiters == 1 {
            thread::yield_now();
        }
        assert_eq!(memory.notify(0, 0, 1), Ok(1));
        assert_eq!(wait.join().unwrap(), Ok(Outcome::Woken));
    });
}

#[test]
fn a_memory_that_contradicts_its_length_traps() {
    let runtime: Runtime<Endless, _> = Runtime::new(Config::small(7), Threads::default()).unwrap();
    let memory = runtime.memory(Endless);
    for memory in [memory.clone(), memory.interruptible(&runtime.interrupt())] {
        for address in [0, 8, 1 << 62, 1 << 63, (1 << 63) + 8, u64::MAX - 7] {
            assert_eq!(memory.wait32(address, 0, 0, -1), Err(Trap::OutOfBounds));
            assert_eq!(memory.wait64(address, 0, 0, -1), Err(Trap::OutOfBounds));
        }
        assert_eq!(memory.notify(8, 0, 1), Ok(0));
        assert_eq!(memory.notify(1 << 63, 0, 1), Err(Trap::OutOfBounds));
    }
}

/// A memory that claims every address, and has no word.
struct Endless;

impl LinearMemory for Endless {
    fn length(&self) -> u64 {
        u64::MAX
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn load32(&self, _: u64) -> Option<u32> {
        None
    }

    fn load64(&self, _: u64) -> Option<u64> {
        None
    }
}

#[test]
fn no_wake_is_lost_between_the_comparison_and_the_sleep() {
    let (memory, turns) = (memory(), AtomicU32::new(0));
    let turn = |own: u64| {
        for round in 0..2000 {
            while memory.linear().load64(0) != Some(2 * round + own) {
                let seen = memory.linear().load64(0).unwrap();
                if seen != 2 * round + own {
                    memory.wait64(0, 0, seen, -1).unwrap();
                }
            }
            turns.fetch_add(1, SeqCst);
            memory.linear().store64(0, 2 * round + own + 1);
            memory.notify(0, 0, u32::MAX).unwrap();
        }
    };
    thread::scope(|threads| {
        threads.spawn(|| turn(0));
        threads.spawn(|| turn(1));
    });
    assert_eq!(turns.load(SeqCst), 4000);
    assert_eq!(memory.stats().waiters, 0);
}
