//! The stack: order, all values at once, values of all kinds, and histories under stress.

#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/linearize.rs"]
mod linearize;

use common::*;
use linearize::*;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use leeward::collect::{Stack, TryPop};

/// A sequential stack.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct Lifo(Vec<u32>);

#[derive(Clone, Debug)]
enum Call {
    Push(u32),
    Pop,
    TryPop,
    PopAll,
    IsEmpty,
}

#[derive(Clone, Debug)]
enum Answer {
    Done,
    Popped(TryPop<u32>),
    All(Vec<u32>),
    Is(bool),
}

impl Spec for Lifo {
    type Call = Call;
    type Answer = Answer;

    fn accepts(&mut self, call: &Call, answer: &Answer) -> bool {
        match (call, answer) {
            (Call::Push(value), _) => {
                self.0.push(*value);
                true
            }
            (Call::TryPop, Answer::Popped(TryPop::Busy)) => true,
            (Call::Pop | Call::TryPop, Answer::Popped(popped)) => self.0.pop() == popped.value(),
            (Call::PopAll, Answer::All(all)) => std::mem::take(&mut self.0).iter().rev().eq(all),
            (Call::IsEmpty, Answer::Is(is_empty)) => self.0.is_empty() == *is_empty,
            _ => false,
        }
    }
}

/// Returns the history of four threads, each with some calls.
fn history(seed: u64) -> History<Lifo> {
    let (stack, recorder) = (<Stack<u32>>::new(), Recorder::default());
    let start = std::sync::Barrier::new(4);
    let work = |thread: usize| {
        let mut rng = Rng::new(seed * 4 + thread as u64);
        let mut log = recorder.log::<Call, Answer>(thread);
        start.wait();
        for turn in 0..10 {
            match rng.below(16) {
                0..7 => {
                    let value = (thread * 100 + turn) as u32;
                    log.call(Call::Push(value), || {
                        stack.push(value);
                        Answer::Done
                    });
                }
                7..11 => {
                    let pop = || Answer::Popped(stack.pop().map_or(TryPop::Empty, TryPop::Value));
                    log.call(Call::Pop, pop);
                }
                11..13 => drop(log.call(Call::TryPop, || Answer::Popped(stack.try_pop()))),
                13 => drop(log.call(Call::PopAll, || Answer::All(stack.pop_all().collect()))),
                _ => drop(log.call(Call::IsEmpty, || Answer::Is(stack.is_empty()))),
            }
        }
        log.events
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|thread| scope.spawn(move || work(thread))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn histories_are_those_of_a_stack() {
    let _watchdog = Watchdog::new("histories of a stack");
    let mut tally = Tally::default();
    let end = std::time::Instant::now() + duration(2.0);
    let mut seed = 0;
    while std::time::Instant::now() < end || tally.decided < 50 {
        seed += 1;
        tally.add(check::<Lifo>(&history(seed), Duration::from_millis(200)));
    }
    tally.assert_decided(50);
}

/// Every value arrives once, with pops of one and of all beside one another.
#[test]
fn values_arrive_once() {
    let _watchdog = Watchdog::new("values arrive once");
    const EACH: usize = 30_000;
    let stack = <Stack<Box<usize>>>::new();
    let seen: Vec<AtomicUsize> = (0..2 * EACH).map(|_| AtomicUsize::new(0)).collect();
    let left = AtomicUsize::new(2 * EACH);
    let see = |value: Box<usize>| {
        seen[*value].fetch_add(1, Relaxed);
        left.fetch_sub(1, Relaxed);
    };
    thread::scope(|scope| {
        for producer in 0..2 {
            let stack = &stack;
            scope.spawn(move || (0..EACH).for_each(|number| stack.push(Box::new(producer * EACH + number))));
        }
        for consumer in 0..3 {
            let (stack, left, see) = (&stack, &left, &see);
            scope.spawn(move || {
                while left.load(Relaxed) != 0 {
                    match consumer {
                        0 => stack.pop().into_iter().for_each(see),
                        1 => stack.pop_all().for_each(see),
                        _ => stack.pop_all().first_pushed_first().for_each(see),
                    }
                }
            });
        }
    });
    assert!(seen.iter().all(|count| count.load(Relaxed) == 1));
}

/// Counts its drops; may panic, or use its own stack, in its destructor.
struct Counted {
    drops: Arc<AtomicUsize>,
    panics: bool,
    again: Option<Arc<Stack<Counted>>>,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Relaxed);
        if let Some(stack) = self.again.take() {
            stack.push(Counted { drops: self.drops.clone(), panics: false, again: None });
            drop(stack.pop());
        }
        assert!(!self.panics, "as the test wants");
    }
}

#[test]
fn a_destructor_that_panics_leaks_no_other_value() {
    let drops = Arc::new(AtomicUsize::new(0));
    let value = |number| Counted { drops: drops.clone(), panics: number == 40, again: None };
    let fill = || (0..100).map(value).collect::<Stack<_>>();
    let stack = fill();
    assert!(catch_unwind(AssertUnwindSafe(|| drop(stack))).is_err());
    assert_eq!(drops.swap(0, Relaxed), 100);
    let stack = fill();
    assert!(catch_unwind(AssertUnwindSafe(|| drop(stack.pop_all()))).is_err());
    assert_eq!(drops.swap(0, Relaxed), 100);
    let mut values = fill().into_iter();
    drop(values.next());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(values))).is_err());
    assert_eq!(drops.swap(0, Relaxed), 100);
}

#[test]
fn a_destructor_that_uses_the_stack() {
    let (stack, drops) = (Arc::new(<Stack<Counted>>::new()), Arc::new(AtomicUsize::new(0)));
    for _ in 0..10 {
        stack.push(Counted { drops: drops.clone(), panics: false, again: Some(stack.clone()) });
    }
    drop(stack.pop());
    drop(stack.pop_all());
    assert_eq!(drops.load(Relaxed), 20);
}

#[repr(align(512))]
#[derive(Clone, Copy, PartialEq, Debug)]
struct Aligned(u8);

#[test]
fn values_of_every_shape() {
    fn each<T: Clone + PartialEq + std::fmt::Debug>(value: T) {
        let stack: Stack<T> = std::iter::repeat_n(value.clone(), 20).collect();
        (0..10).for_each(|_| assert_eq!(stack.pop().as_ref(), Some(&value)));
        assert_eq!(stack.pop_all().count(), 10);
        assert!(stack.is_empty() && stack.try_pop().is_empty());
    }
    each(());
    each([7_u64; 512]);
    each(Aligned(3));
    each("text".to_string());
    let stack: Stack<Aligned> = (0..9).map(Aligned).collect();
    for value in stack {
        assert_eq!(std::ptr::from_ref(&value).addr() % 512, 0);
    }
}

/// A leaked walk leaks its values, and the stack goes on.
#[test]
fn a_leaked_walk() {
    let stack: Stack<Box<u32>> = (0..3).map(Box::new).collect();
    let mut taken = stack.pop_all();
    drop(taken.next());
    std::mem::forget(taken);
    stack.push(Box::new(9));
    assert_eq!(stack.into_iter().map(|value| *value).collect::<Vec<_>>(), [9]);
}

#[test]
fn words_about_a_stack() {
    let mut stack = Stack::<u32>::default();
    stack.extend([1, 2]);
    assert_eq!(format!("{stack:?}"), "Stack { is_empty: false, .. }");
    assert_eq!(format!("{:?}", stack.pop_all()), "Taken { is_empty: false, .. }");
    assert_eq!(format!("{:?}", stack.into_iter()), "IntoIter { is_empty: true, .. }");
}

fn is_send<T: Send>() {}
fn is_sync<T: Sync>() {}

/// What is `Send` is enough: no reference to a value is given.
#[test]
fn threads_may_share_it() {
    is_send::<Stack<std::cell::Cell<u32>>>();
    is_sync::<Stack<std::cell::Cell<u32>>>();
    is_send::<leeward::collect::stack::Taken<'static, u32>>();
}
