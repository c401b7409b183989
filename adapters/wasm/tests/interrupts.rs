//! Waits that the runtime ends: by an interrupt, or by its parker.

mod common;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;

use common::{Noting, Pages, runtime, until_waiters};
use leeward_engine::{Config, Flag, ParkEnd};
use leeward_wasm::{LinearMemory, Outcome, Parker, Runtime, Threads, Trap};

/// How often a thread waits beside an interrupt that comes and goes.
const ROUNDS: u32 = 200_000;

#[test]
fn an_interrupt_ends_the_waits_of_its_handles_and_no_others() {
    let runtime = runtime(Threads::default());
    let memory = runtime.memory(Pages::new(1, true));
    let (killed, other) = (runtime.interrupt(), runtime.interrupt());
    thread::scope(|threads| {
        let begin = |interrupt| {
            let memory = memory.interruptible(interrupt);
            threads.spawn(move || memory.wait32(0, 0, 0, -1))
        };
        let (first, second, third) = (begin(&killed), begin(&killed), begin(&other));
        until_waiters(&memory, 3);
        killed.raise();
        assert_eq!((first.join().unwrap(), second.join().unwrap()), (Err(Trap::Interrupted), Err(Trap::Interrupted)));
        // Those that are gone take no notify with them.
        assert_eq!(memory.stats().waiters, 1);
        assert_eq!(memory.notify(0, 0, 5), Ok(1));
        assert_eq!(third.join().unwrap(), Ok(Outcome::Woken));
    });
}

#[test]
fn a_raised_interrupt_lets_no_wait_begin_until_it_is_lowered() {
    let runtime = runtime(Threads::default());
    let memory = runtime.memory(Pages::new(1, true));
    let interrupt = runtime.interrupt();
    let memory = memory.interruptible(&interrupt);
    interrupt.raise();
    assert!(interrupt.is_raised());
    assert_eq!(memory.wait32(0, 0, 0, -1), Err(Trap::Interrupted));
    assert_eq!(memory.wait64(0, 0, 1, -1), Err(Trap::Interrupted));
    // What traps without it goes on to do so, and notifies go on.
    assert_eq!(memory.wait32(1, 0, 0, -1), Err(Trap::Unaligned));
    assert_eq!(memory.notify(0, 0, 1), Ok(0));
    interrupt.lower();
    assert!(!interrupt.is_raised());
    assert_eq!(memory.wait32(0, 0, 0, 0), Ok(Outcome::TimedOut));
    assert_eq!(memory.wait64(0, 0, 1, -1), Ok(Outcome::NotEqual));
}

#[test]
fn a_handle_that_can_be_interrupted_waits_like_any_other() {
    let runtime = runtime(Threads::default());
    let memory = runtime.memory(Pages::new(1, true));
    let handle = memory.interruptible(&runtime.interrupt());
    thread::scope(|threads| {
        let plain = threads.spawn(|| memory.wait32(8, 0, 0, -1));
        until_waiters(&memory, 1);
        let other = threads.spawn(|| handle.wait64(8, 0, 0, -1));
        until_waiters(&memory, 2);
        // First in, first out, whichever handle they have.
        assert_eq!(handle.notify(8, 0, 1), Ok(1));
        assert_eq!(plain.join().unwrap(), Ok(Outcome::Woken));
        assert_eq!(memory.notify(8, 0, 1), Ok(1));
        assert_eq!(other.join().unwrap(), Ok(Outcome::Woken));
    });
    assert_eq!(handle.wait32(8, 0, 0, 1), Ok(Outcome::TimedOut));
}

#[test]
fn a_notify_that_is_counted_is_answered_also_beside_an_interrupt() {
    for raise_first in [true, false] {
        let held = Arc::new(Held::default());
        let runtime = runtime(held.clone());
        let memory = runtime.memory(Pages::new(1, true));
        let interrupt = runtime.interrupt();
        let handle = memory.interruptible(&interrupt);
        thread::scope(|threads| {
            let wait = threads.spawn(|| handle.wait32(0, 0, 0, -1));
            until_waiters(&memory, 1);
            if raise_first {
                interrupt.raise();
            }
            assert_eq!(memory.notify(0, 0, 1), Ok(1));
            interrupt.raise();
            // Both have happened before the thread looks.
            held.0.store(true, SeqCst);
            assert_eq!(wait.join().unwrap(), Ok(Outcome::Woken));
        });
    }
}

/// Threads that go on when the test lets them.
#[derive(Default)]
struct Held(AtomicBool);

impl Parker for Held {
    type Task = ();

    fn task(&self, _: &Flag) {}

    fn park(&self, _: &Flag, _: Option<u64>) -> ParkEnd {
        while !self.0.load(SeqCst) {
            thread::yield_now();
        }
        ParkEnd::Unparked
    }

    fn unpark(&self, (): ()) {}

    fn now(&self) -> u64 {
        0
    }

    fn spin(&self, _: u32) {
        thread::yield_now();
    }
}

#[test]
fn one_interrupt_serves_handles_on_several_memories() {
    let runtime = runtime(Threads::default());
    let memories = [runtime.memory(Pages::new(1, true)), runtime.memory(Pages::new(1, true))];
    let interrupt = runtime.interrupt();
    let handles = memories.each_ref().map(|memory| memory.interruptible(&interrupt));
    thread::scope(|threads| {
        let waits = handles.each_ref().map(|handle| threads.spawn(|| handle.wait64(0, 0, 0, -1)));
        memories.iter().for_each(|memory| until_waiters(memory, 1));
        interrupt.clone().raise();
        for wait in waits {
            assert_eq!(wait.join().unwrap(), Err(Trap::Interrupted));
        }
    });
}

#[test]
fn a_parker_may_end_a_wait_by_itself() {
    let noting = Noting { now: 0, end: ParkEnd::Interrupted, until: Mutex::default() };
    let runtime = runtime(noting);
    let memory = runtime.memory(Pages::new(1, true));
    assert_eq!(memory.wait32(0, 0, 0, -1), Err(Trap::Interrupted));
    assert_eq!(memory.interruptible(&runtime.interrupt()).wait32(0, 0, 0, 7), Err(Trap::Interrupted));
    assert_eq!(memory.stats().waiters, 0);
}

#[test]
fn a_wait_beside_an_interrupt_looks_at_a_word_again_that_seemed_to_differ() {
    // The engine says that one of two words differed, and not which: here it is the guest's, once.
    let runtime = Runtime::<Blinking, _>::new(Config::small(7), Threads::default()).unwrap();
    let memory = runtime.memory(Blinking::default());
    let handle = memory.interruptible(&runtime.interrupt());
    assert_eq!(handle.wait32(0, 0, 0, 0), Ok(Outcome::TimedOut));
    assert_eq!(memory.linear().0.load(SeqCst), 3, "compared, looked at again, compared again");
}

/// A memory whose word holds 7 for the first look, and 0 afterwards. It counts the looks.
#[derive(Default)]
struct Blinking(AtomicU32);

impl LinearMemory for Blinking {
    fn length(&self) -> u64 {
        8
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn load32(&self, _: u64) -> Option<u32> {
        Some(if self.0.fetch_add(1, SeqCst) == 0 { 7 } else { 0 })
    }

    fn load64(&self, offset: u64) -> Option<u64> {
        self.load32(offset).map(u64::from)
    }
}

#[test]
fn a_wait_never_calls_an_equal_word_another_while_an_interrupt_comes_and_goes() {
    let runtime = runtime(Threads::default());
    let memory = runtime.memory(Pages::new(1, true));
    let interrupt = runtime.interrupt();
    let handle = memory.interruptible(&interrupt);
    let is_over = AtomicBool::new(false);
    thread::scope(|threads| {
        threads.spawn(|| {
            while !is_over.load(SeqCst) {
                interrupt.raise();
                interrupt.lower();
            }
        });
        let answers: Vec<_> = (0..ROUNDS).map(|_| handle.wait32(0, 0, 0, 0)).collect();
        is_over.store(true, SeqCst);
        assert!(!answers.contains(&Ok(Outcome::NotEqual)));
    });
}
