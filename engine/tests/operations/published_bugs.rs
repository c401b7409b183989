//! Bugs that other implementations published, one test each, for the operations that the engine
//! has.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/guest.rs"]
mod guest;

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use guest::{Guest, Page};
use leeward_engine::abi::Numbers;
use leeward_engine::parking::now;
use leeward_engine::{Clock, Config, Deadline, Engine, Errno, Heap, Host, Requeue, Wait, WaitAsync, Word};

const ANY: u32 = u32::MAX;

struct Case {
    guest: Guest,
    engine: Engine<Guest>,
}

impl Case {
    fn new() -> Case {
        Case { guest: Guest::new(), engine: Engine::new(Config::for_processors(1, 1), Heap).unwrap() }
    }

    fn word(&self, i: u64) -> Word {
        Word::private(self.guest.address(Page::Writable) + 4 * i)
    }

    /// Returns a queued waiter, on the heap.
    fn waiter(&self, word: Word, bits: u32) -> Pin<Box<WaitAsync<'_, Guest>>> {
        let mut waiter = Box::pin(self.engine.wait_async(&self.guest, word, 0, bits));
        assert!(poll(&mut waiter).is_pending());
        waiter
    }

    fn wake(&self, word: Word, count: u32, bits: u32) -> u32 {
        self.engine.wake(&self.guest, word, count, bits).unwrap()
    }

    fn requeue(&self, from: Word, to: Word, wake: u32, requeue: u32) -> Requeue {
        self.engine.requeue(&self.guest, from, to, wake, requeue, Some(0)).unwrap()
    }

    fn wait_soon(&self, word: Word) -> Wait {
        let until = Deadline { clock: Clock::Monotonic, at: now(Clock::Monotonic) + 1_000_000 };
        self.engine.wait(&self.guest, word, 0, ANY, Some(until)).unwrap()
    }

    fn waiting(&self) -> u64 {
        self.engine.stats(&self.guest).waiters + self.guest.space().stats(&self.guest).waiters
    }
}

fn poll(waiter: &mut Pin<Box<WaitAsync<'_, Guest>>>) -> Poll<Result<Wait, Errno>> {
    waiter.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

const WOKEN: Poll<Result<Wait, Errno>> = Poll::Ready(Ok(Wait::Woken));

#[test]
fn asterinas_1587_a_waiter_that_leaves_after_a_requeue_leaves_the_new_bucket() {
    let case = Case::new();
    for to in 1..200 {
        let waiter = case.waiter(case.word(0), ANY);
        assert_eq!(case.requeue(case.word(0), case.word(to), 0, 1), Requeue::Done(1));
        drop(waiter);
        assert_eq!(case.waiting(), 0);
        assert_eq!(case.wake(case.word(to), 1, ANY), 0);
    }
}

#[test]
fn asterinas_1642_a_requeue_keeps_the_bitset() {
    let case = Case::new();
    let mut waiter = case.waiter(case.word(0), 2);
    assert_eq!(case.requeue(case.word(0), case.word(1), 0, 1), Requeue::Done(1));
    assert_eq!(case.wake(case.word(1), 1, !2), 0);
    assert!(poll(&mut waiter).is_pending());
    assert_eq!(case.wake(case.word(1), 1, 2), 1);
    assert_eq!(poll(&mut waiter), WOKEN);
}

#[test]
fn asterinas_2366_leaving_from_the_middle_keeps_first_in_first_out() {
    let case = Case::new();
    let mut waiters: Vec<_> = (0..9).map(|_| case.waiter(case.word(0), ANY)).collect();
    for i in [4, 0, 6] {
        drop(waiters.remove(i));
    }
    for waiter in &mut waiters {
        assert!(poll(waiter).is_pending());
        assert_eq!(case.wake(case.word(0), 1, ANY), 1);
        assert_eq!(poll(waiter), WOKEN);
    }
}

#[test]
fn gvisor_negative_requeue_counts_are_refused() {
    let case = Case::new();
    let address = case.guest.address(Page::Writable);
    let mut waiter = case.waiter(case.word(0), ANY);
    for (wake, requeue) in [(-1_i32, 1), (1, -1), (i32::MIN, 0), (-1, -1)] {
        for command in [3 | 128, 4 | 128] {
            let call = [address, command, wake as u64, requeue as u64, address + 4, 0];
            assert_eq!(case.engine.syscall(&case.guest, &Numbers::X86_64, 202, call), Some(-22));
        }
    }
    assert!(poll(&mut waiter).is_pending());
}

#[test]
fn gvisor_shared_futexes_are_spread_over_buckets() {
    let case = Case::new();
    let object = case.guest.address(Page::Object);
    let waiters: Vec<_> = (0..64).map(|i| case.waiter(Word::shared(object + 4 * i), ANY)).collect();
    let locked = case.engine.stats(&case.guest).locked;
    // Words without waiters: few of them share a bucket with a word that has one.
    for i in 64..1024 {
        assert_eq!(case.wake(Word::shared(object + 4 * i), 1, ANY), 0);
    }
    assert!(case.engine.stats(&case.guest).locked - locked < 480);
    drop(waiters);
}

#[test]
fn starryos_494_a_waiter_that_timed_out_eats_no_wake() {
    let case = Case::new();
    assert_eq!(case.wait_soon(case.word(0)), Wait::TimedOut);
    let mut waiter = case.waiter(case.word(0), ANY);
    assert_eq!(case.wake(case.word(0), 1, ANY), 1);
    assert_eq!(poll(&mut waiter), WOKEN);
}

#[test]
fn starnix_a_requeue_takes_from_the_front() {
    let case = Case::new();
    let mut waiters: Vec<_> = (0..5).map(|_| case.waiter(case.word(0), ANY)).collect();
    assert_eq!(case.requeue(case.word(0), case.word(1), 1, 2), Requeue::Done(3));
    assert_eq!(poll(&mut waiters[0]), WOKEN);
    assert_eq!(case.wake(case.word(1), 9, ANY), 2);
    assert_eq!([poll(&mut waiters[1]), poll(&mut waiters[2])], [WOKEN, WOKEN]);
    assert!(poll(&mut waiters[3]).is_pending() && poll(&mut waiters[4]).is_pending());
}

#[test]
fn litebox_a_thread_that_finds_another_value_was_never_queued() {
    let case = Case::new();
    let mut waiter = case.waiter(case.word(0), ANY);
    case.guest.store(case.guest.address(Page::Writable), 1);
    let queued = case.guest.space().stats(&case.guest).queued;
    assert_eq!(case.engine.wait(&case.guest, case.word(0), 0, ANY, None), Ok(Wait::Changed));
    assert_eq!(case.guest.space().stats(&case.guest).queued, queued);
    assert_eq!(case.wake(case.word(0), 1, ANY), 1);
    assert_eq!(poll(&mut waiter), WOKEN);
}

#[test]
fn occlum_and_redox_no_copy_of_a_requeued_waiter_is_left_behind() {
    let case = Case::new();
    let waiters: Vec<_> = (0..4).map(|_| case.waiter(case.word(0), ANY)).collect();
    for (from, to) in [(0, 1), (1, 2), (2, 0), (0, 3)] {
        assert_eq!(case.requeue(case.word(from), case.word(to), 0, 9), Requeue::Done(4));
        assert_eq!(case.wake(case.word(from), 9, ANY), 0);
    }
    assert_eq!(case.wake(case.word(3), 9, ANY), 4);
    assert_eq!(case.waiting(), 0);
    drop(waiters);
}

#[test]
fn gramine_private_and_shared_are_different_futexes_and_clocks_are_two() {
    let case = Case::new();
    let address = case.guest.address(Page::Writable);
    let mut waiter = case.waiter(Word::private(address), ANY);
    assert_eq!(case.wake(Word::shared(address), 1, ANY), 0);
    assert_eq!(case.wake(Word::private(address), 1, ANY), 1);
    assert_eq!(poll(&mut waiter), WOKEN);
    // A point in time that is past on one clock, and far ahead on the other.
    let at = now(Clock::Monotonic) + 5_000_000_000;
    assert!(at < now(Clock::Realtime));
    let until = Some(Deadline { clock: Clock::Realtime, at });
    assert_eq!(case.engine.wait(&case.guest, Word::private(address), 0, ANY, until), Ok(Wait::TimedOut));
    assert!(now(Clock::Monotonic) < at);
}

#[test]
fn wasmtime_7629_no_waiter_eats_anothers_notification() {
    let case = Case::new();
    let (first, second) = (case.waiter(case.word(0), ANY), case.waiter(case.word(0), ANY));
    let (mut first, mut second) = (Some(first), second);
    assert_eq!(case.wake(case.word(0), 1, ANY), 1);
    assert!(poll(&mut second).is_pending());
    assert_eq!(poll(first.as_mut().unwrap()), WOKEN);
    // A future that has reported its wake passes nothing on.
    first = None;
    assert!(first.is_none() && poll(&mut second).is_pending());
    assert_eq!(case.wake(case.word(0), 1, ANY), 1);
    assert_eq!(poll(&mut second), WOKEN);
}

#[test]
fn wasmtime_13981_a_guest_that_waits_everywhere_takes_no_memory() {
    let case = Case::new();
    let past = Some(Deadline { clock: Clock::Monotonic, at: 0 });
    let bytes = |case: &Case| case.engine.stats(&case.guest).bytes + case.guest.space().stats(&case.guest).bytes;
    assert_eq!(case.engine.wait(&case.guest, case.word(0), 0, ANY, past), Ok(Wait::TimedOut));
    let before = bytes(&case);
    for round in 0..20 {
        for i in 0..1024 {
            assert_eq!(case.engine.wait(&case.guest, case.word(i), 0, ANY, past), Ok(Wait::TimedOut), "{round}");
        }
    }
    assert_eq!((bytes(&case), case.waiting()), (before, 0));
}

#[test]
fn nanos_1006_a_requeue_while_another_leaves() {
    let case = Case::new();
    std::thread::scope(|threads| {
        let running = threads.spawn(|| (0..300).for_each(|_| _ = case.wait_soon(case.word(0))));
        while !running.is_finished() {
            _ = case.requeue(case.word(0), case.word(1), 0, 1);
            _ = case.requeue(case.word(1), case.word(0), 0, 1);
        }
    });
    assert_eq!(case.waiting(), 0);
}

#[test]
fn osv_853_other_operations_are_an_errno_and_no_abort() {
    let case = Case::new();
    for command in [2, 14, 77, 127, 1 << 9, 1 << 31] {
        let call = [case.guest.address(Page::Writable), command, 1, 0, 0, 0];
        assert_eq!(case.engine.syscall(&case.guest, &Numbers::X86_64, 202, call), Some(-38), "{command}");
    }
    assert_eq!(case.engine.syscall(&case.guest, &Numbers::X86_64, 1, [0; 6]), None);
}

#[test]
fn linux_2026_a_requeue_between_scopes_is_refused() {
    let case = Case::new();
    let object = Word::shared(case.guest.address(Page::Object));
    let mut waiter = pin!(case.engine.wait_async(&case.guest, object, 0, ANY));
    assert!(waiter.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    for (from, to) in [(object, case.word(0)), (case.word(0), object)] {
        assert_eq!(case.engine.requeue(&case.guest, from, to, 0, 1, None), Err(Errno::EINVAL));
    }
    assert_eq!(case.wake(object, 1, ANY), 1);
}
