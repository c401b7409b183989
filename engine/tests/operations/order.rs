//! Requeues of waiters of several priorities onto a word with such waiters, beside a model: the
//! most urgent come first, and after those that are as urgent.

#![allow(missing_docs)]

#[path = "../common/zeros.rs"]
#[macro_use]
mod zeros;

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Waker};

use leeward_engine::{
    Access, Address, Clock, Config, Deadline, Engine, Errno, Fault, Flag, Heap, Host, ParkEnd, Priority, Requeue,
    SharedKey, Space, Wait, WaitAsync, Word,
};

struct Ranked {
    space: Space<Ranked>,
    priority: Cell<u32>,
}

impl Host for Ranked {
    type Task = ();
    type Memory = Heap;
    type Preemption<'a> = ();

    zeros!();

    fn preempt_off(&self) {}

    fn space(&self) -> &Space<Ranked> {
        &self.space
    }
    fn threads(&self) -> u32 {
        1
    }
    fn load(&self, _: Address) -> Result<u32, Fault> {
        Ok(0)
    }
    fn priority(&self) -> Priority {
        Priority(self.priority.get())
    }
    fn park(&self, _: &Flag, _: Option<Deadline>) -> ParkEnd {
        ParkEnd::TimedOut
    }
}

type Waiting<'a> = Pin<Box<WaitAsync<'a, Ranked>>>;

/// Returns true if the future was woken.
fn is_woken(waiting: &mut Waiting<'_>) -> bool {
    let end = waiting.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(end.is_pending() || end == std::task::Poll::Ready(Ok(Wait::Woken)));
    end.is_ready()
}

/// Adds a waiter to the model's list, after the last one that is as urgent.
fn place<'a>(list: &mut Vec<(u32, Waiting<'a>)>, priority: u32, waiting: Waiting<'a>) {
    let at = list.iter().rposition(|(other, _)| *other <= priority).map_or(0, |last| last + 1);
    list.insert(at, (priority, waiting));
}

/// Moves waiters among three words, which lie in one bucket or in several.
fn moves(buckets: usize, seed: u64, priorities: u32) {
    let mut state = seed;
    let mut any = |below: u32| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 33) as u32 % below
    };
    let engine = Engine::new(Config { buckets, ..Config::small(seed) }, Heap).unwrap();
    let host = Ranked { space: Space::new(1, 2, Heap), priority: Cell::new(0) };
    // Lists of (priority, waiter).
    let mut lists: [Vec<(u32, Waiting<'_>)>; 3] = Default::default();
    for _ in 0..400 {
        let (from, to) = (any(3) as usize, any(3) as usize);
        let word = |list: usize| Word::shared(4 * list as u64);
        match any(4) {
            0 | 1 => {
                host.priority.set(any(priorities));
                let mut waiting = Box::pin(engine.wait_async(&host, word(from), 0, 1));
                assert!(!is_woken(&mut waiting));
                place(&mut lists[from], host.priority.get(), waiting);
            }
            2 => {
                let (wake, requeue) = (any(3) as usize, any(9) as usize);
                let woken = wake.min(lists[from].len());
                let moved = requeue.min(lists[from].len() - woken);
                let done = engine.requeue(&host, word(from), word(to), wake as u32, requeue as u32, None);
                // The count that the wakes did not use is moved as well.
                let moved = (moved + wake - woken).min(lists[from].len() - woken);
                assert_eq!(done, Ok(Requeue::Done((woken + moved) as u32)));
                for (_, mut waiting) in lists[from].drain(..woken) {
                    assert!(is_woken(&mut waiting));
                }
                if from != to {
                    for (priority, waiting) in lists[from].drain(..moved).collect::<Vec<_>>() {
                        place(&mut lists[to], priority, waiting);
                    }
                }
            }
            _ => {
                let count = any(4) as usize;
                let woken = count.min(lists[from].len());
                assert_eq!(engine.wake(&host, word(from), count as u32, 1), Ok(woken as u32));
                for (_, mut waiting) in lists[from].drain(..woken) {
                    assert!(is_woken(&mut waiting), "not the most urgent, or not the oldest of them");
                }
            }
        }
    }
    // One by one, so that the place of each is seen.
    for (list, waiting) in lists.iter_mut().enumerate() {
        for (_, mut waiting) in waiting.drain(..) {
            assert_eq!(engine.wake(&host, Word::shared(4 * list as u64), 1, 1), Ok(1));
            assert!(is_woken(&mut waiting));
        }
    }
    assert_eq!(engine.stats(&host).waiters, 0);
}

#[test]
fn moved_waiters_are_behind_those_that_are_as_urgent() {
    for seed in 0..60 {
        for buckets in [1, 16] {
            for priorities in [1, 3, 50] {
                moves(buckets, seed, priorities);
            }
        }
    }
}

/// A requeue costs one pass over both lists: with one pass for each moved waiter, this would take a
/// minute or more.
#[test]
fn many_urgent_waiters_are_moved_onto_many_ordinary_ones() {
    const COUNT: u32 = 40_000;
    for buckets in [1, 16] {
        let engine = Engine::new(Config { buckets, ..Config::small(1) }, Heap).unwrap();
        let host = Ranked { space: Space::new(1, 2, Heap), priority: Cell::new(0) };
        let mut waiting = Vec::new();
        for (word, priority) in [(0, 5), (4, 9)] {
            host.priority.set(priority);
            for _ in 0..COUNT {
                // In one bucket, the ordinary waiters come last, so that none of them searches for
                // its place either.
                let mut one = Box::pin(engine.wait_async(&host, Word::shared(word), 0, 1));
                assert!(!is_woken(&mut one));
                waiting.push(one);
            }
        }
        let moved = engine.requeue(&host, Word::shared(0), Word::shared(4), 0, u32::MAX, None);
        assert_eq!(moved, Ok(Requeue::Done(COUNT)));
        assert_eq!(engine.wake(&host, Word::shared(4), COUNT, 1), Ok(COUNT));
        assert!(waiting[..COUNT as usize].iter_mut().all(is_woken));
        assert!(!waiting[COUNT as usize..].iter_mut().any(is_woken));
    }
}
