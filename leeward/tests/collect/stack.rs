//! The stack: order, all values at once, values of all kinds, and histories under stress.

#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/linearize.rs"]
mod linearize;
#[path = "../common/recorded.rs"]
mod recorded;
#[path = "../common/values.rs"]
mod values;

use common::*;
use linearize::*;
use recorded::{check_histories, history};
use values::{Aligned, Dropped, each_shape};

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

fn choose(rng: &mut Rng, value: u32) -> Call {
    match rng.below(16) {
        0..7 => Call::Push(value),
        7..11 => Call::Pop,
        11..13 => Call::TryPop,
        13 => Call::PopAll,
        _ => Call::IsEmpty,
    }
}

fn make(stack: &Stack<u32>, call: Call) -> Answer {
    match call {
        Call::Push(value) => {
            stack.push(value);
            Answer::Done
        }
        Call::Pop => Answer::Popped(stack.pop().map_or(TryPop::Empty, TryPop::Value)),
        Call::TryPop => Answer::Popped(stack.try_pop()),
        Call::PopAll => Answer::All(stack.pop_all().collect()),
        Call::IsEmpty => Answer::Is(stack.is_empty()),
    }
}

#[test]
fn histories_are_those_of_a_stack() {
    check_histories("histories of a stack", |seed| {
        let stack = <Stack<u32>>::new();
        check::<Lifo>(&history::<Lifo>(seed, [4, 10], choose, |call| make(&stack, call)), Duration::from_millis(200))
    });
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

#[test]
fn a_destructor_that_panics_leaks_no_other_value() {
    let drops = Arc::new(AtomicUsize::new(0));
    let fill = || (0..100).map(|number| Dropped::may_panic(&drops, number == 40)).collect::<Stack<_>>();
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
    let (stack, drops) = (Arc::new(<Stack<Dropped>>::new()), Arc::new(AtomicUsize::new(0)));
    for _ in 0..10 {
        let (own, count) = (stack.clone(), drops.clone());
        stack.push(Dropped::and_then(&drops, move || {
            own.push(Dropped::new(&count));
            drop(own.pop());
        }));
    }
    drop(stack.pop());
    drop(stack.pop_all());
    assert_eq!(drops.load(Relaxed), 20);
}

#[test]
fn values_of_every_shape() {
    fn each<T: Clone + PartialEq + std::fmt::Debug>(value: T) {
        let stack: Stack<T> = std::iter::repeat_n(value.clone(), 20).collect();
        (0..10).for_each(|_| assert_eq!(stack.pop().as_ref(), Some(&value)));
        assert_eq!(stack.pop_all().count(), 10);
        assert!(stack.is_empty() && stack.try_pop().is_empty());
    }
    each_shape!(each);
    let stack: Stack<Aligned> = (0..9).map(Aligned).collect();
    assert!(stack.into_iter().all(|value| value.is_aligned()));
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
