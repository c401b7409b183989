//! The bounded queue: order, capacity, waiting at both ends, closing, values of all kinds, and histories under
//! stress.

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

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use leeward::collect::bounded::PushError;
use leeward::collect::{Bounded, TryPop};
use leeward::futex::{Deadline, Private};

/// A sequential queue of a capacity, which is a number of its type, and whether it is closed.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct Fifo<const CAPACITY: usize>(VecDeque<u32>, bool);

#[derive(Clone, Debug)]
enum Call {
    Push(u32),
    Pop,
    Len,
    IsEmpty,
    IsFull,
    Close,
}

#[derive(Clone, Debug, PartialEq)]
enum Answer {
    Done,
    Pushed(Result<(), PushError<u32>>),
    Popped(TryPop<u32>),
    Counts(usize),
    Is(bool),
}

impl<const CAPACITY: usize> Spec for Fifo<CAPACITY> {
    type Call = Call;
    type Answer = Answer;

    fn accepts(&mut self, call: &Call, answer: &Answer) -> bool {
        match (call, answer) {
            (Call::Push(value), Answer::Pushed(pushed)) => match pushed {
                Err(PushError::Busy(back)) => back == value,
                Err(PushError::Closed(back)) => self.1 && back == value,
                Err(PushError::Full(back)) => !self.1 && self.0.len() == CAPACITY && back == value,
                Ok(()) => {
                    self.0.push_back(*value);
                    !self.1 && self.0.len() <= CAPACITY
                }
            },
            (Call::Pop, Answer::Popped(TryPop::Busy)) => true,
            (Call::Pop, Answer::Popped(popped)) => self.0.pop_front() == popped.value(),
            (Call::Len, Answer::Counts(count)) => self.0.len() == *count,
            (Call::IsEmpty, Answer::Is(is_empty)) => self.0.is_empty() == *is_empty,
            (Call::IsFull, Answer::Is(is_full)) => (self.0.len() == CAPACITY) == *is_full,
            (Call::Close, _) => {
                self.1 = true;
                true
            }
            _ => false,
        }
    }
}

fn choose(rng: &mut Rng, value: u32) -> Call {
    match rng.below(40) {
        0..17 => Call::Push(value),
        17..32 => Call::Pop,
        32..35 => Call::Len,
        35..37 => Call::IsEmpty,
        37..39 => Call::IsFull,
        _ => Call::Close,
    }
}

fn make(queue: &Bounded<u32>, call: Call) -> Answer {
    match call {
        Call::Push(value) => Answer::Pushed(queue.try_push(value)),
        Call::Pop => Answer::Popped(queue.try_pop()),
        Call::Len => Answer::Counts(queue.len()),
        Call::IsEmpty => Answer::Is(queue.is_empty()),
        Call::IsFull => Answer::Is(queue.is_full()),
        Call::Close => {
            queue.close();
            Answer::Done
        }
    }
}

fn histories_of<const CAPACITY: usize>(what: &'static str) {
    check_histories(what, |seed| {
        let queue = Bounded::with_capacity(CAPACITY);
        // The calls begin at any slot.
        (0..seed as u32 % 7).for_each(|value| assert!(queue.try_push(value).is_ok() && queue.pop() == Some(value)));
        let history = history::<Fifo<CAPACITY>>(seed, [4, 10], choose, |call| make(&queue, call));
        check::<Fifo<CAPACITY>>(&history, Duration::from_millis(200))
    });
}

#[test]
fn histories_are_those_of_a_bounded_queue() {
    histories_of::<1>("histories of a queue of one slot");
    histories_of::<3>("histories of a queue of three slots");
}

/// Every value arrives once, and each producer's in its order, at each consumer. Some wait, some with a limit,
/// and some not at all.
fn values_arrive(capacity: usize, [producers, consumers]: [usize; 2], each: usize) {
    let _watchdog = Watchdog::new("values arrive");
    let queue = Bounded::<(usize, usize)>::with_capacity(capacity);
    let seen: Vec<AtomicUsize> = (0..producers * each).map(|_| AtomicUsize::new(0)).collect();
    let push = |producer: usize, value: (usize, usize)| match producer % 3 {
        0 => queue.push(value).unwrap(),
        way => {
            let attempt = |value| match way {
                1 => queue.push_for(value, Duration::from_micros(50)),
                _ => queue.try_push(value),
            };
            let mut left = Some(value);
            while let Some(value) = left {
                left = attempt(value).err().map(PushError::into_inner);
                if left.is_some() {
                    thread::yield_now();
                }
            }
        }
    };
    thread::scope(|scope| {
        let pushing: Vec<_> = (0..producers)
            .map(|producer| scope.spawn(move || (0..each).for_each(|number| push(producer, (producer, number)))))
            .collect();
        for consumer in 0..consumers {
            let (queue, seen) = (&queue, &seen);
            scope.spawn(move || {
                let mut last = vec![None; producers];
                loop {
                    let popped = match consumer % 3 {
                        0 => queue.pop(),
                        1 => queue.pop_for(Duration::from_micros(50)),
                        _ => queue.try_pop().value(),
                    };
                    let Some((producer, number)) = popped else {
                        if queue.is_closed() && queue.is_empty() {
                            break;
                        }
                        thread::yield_now();
                        continue;
                    };
                    assert!(queue.len() <= capacity);
                    assert!(last[producer].is_none_or(|last| last < number), "out of order");
                    last[producer] = Some(number);
                    seen[producer * each + number].fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        pushing.into_iter().for_each(|producer| producer.join().unwrap());
        queue.close();
    });
    assert!(seen.iter().all(|count| count.load(Ordering::Relaxed) == 1));
}

#[test]
fn values_arrive_once_and_in_order() {
    for capacity in [1, 2, 3, 64] {
        values_arrive(capacity, [3, 3], 3_000);
    }
}

/// Many producers wait for one consumer, and the queue is no longer than it may be.
#[test]
fn sixteen_producers() {
    values_arrive(2, [16, 1], 500);
    values_arrive(16, [16, 2], 500);
}

/// Runs what waits on threads of their own, calls `then` when all of them sleep, and returns what they return.
fn asleep<R: Send>(waits: &[&(dyn Fn() -> R + Sync)], then: impl FnOnce()) -> Vec<R> {
    let numbers: Vec<_> = waits.iter().map(|_| AtomicI32::new(0)).collect();
    thread::scope(|scope| {
        let threads: Vec<_> = waits
            .iter()
            .zip(&numbers)
            .map(|(wait, number)| {
                scope.spawn(move || {
                    // SAFETY: has no precondition.
                    number.store(unsafe { libc::gettid() }, Ordering::SeqCst);
                    wait()
                })
            })
            .collect();
        eventually("all sleep", || {
            numbers.iter().map(|number| number.load(Ordering::SeqCst)).all(|number| number != 0 && is_asleep(number))
        });
        then();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn consumers_that_sleep_are_woken() {
    let _watchdog = Watchdog::new("consumers that sleep");
    let queue = Bounded::with_capacity(3);
    let pop = || queue.pop();
    let mut popped = asleep(&[&pop, &pop, &pop], || (1..=3).for_each(|value| queue.push(value).unwrap()));
    popped.sort_unstable();
    assert_eq!(popped, [Some(1), Some(2), Some(3)]);
    assert_eq!(asleep(&[&pop, &pop], || queue.close()), [None, None]);
}

#[test]
fn producers_that_sleep_are_woken() {
    let _watchdog = Watchdog::new("producers that sleep");
    let queue = Bounded::with_capacity(2);
    (0..2).for_each(|value| queue.push(value).unwrap());
    let push = || queue.push(7);
    let pushed = asleep(&[&push, &push], || assert_eq!((queue.pop(), queue.pop()), (Some(0), Some(1))));
    assert_eq!(pushed, [Ok(()), Ok(())]);
    assert_eq!(asleep(&[&push, &push], || queue.close()), [Err(7), Err(7)]);
    assert_eq!((queue.pop(), queue.pop(), queue.pop()), (Some(7), Some(7), None));
}

/// One that gives up has not taken the wake from one that stays.
#[test]
fn a_wake_reaches_those_that_stay() {
    let _watchdog = Watchdog::new("those that stay");
    let queue = Bounded::with_capacity(1);
    thread::scope(|scope| {
        let stays = scope.spawn(|| (0..2_000).map(|_| queue.pop().unwrap()).collect::<Vec<u32>>());
        let gives_up = scope.spawn(|| {
            let mut popped = Vec::new();
            while !queue.is_closed() {
                popped.extend(queue.pop_for(Duration::from_micros(20)));
            }
            popped
        });
        let mut next = 0;
        while !stays.is_finished() {
            next += u32::from(queue.push_for(next, Duration::from_millis(1)).is_ok());
        }
        queue.close();
        let mut all = [stays.join().unwrap(), gives_up.join().unwrap()].concat();
        all.extend(queue.pop());
        all.sort_unstable();
        assert!(all.into_iter().eq(0..next));
    });
}

#[test]
fn calls_end_in_time() {
    let queue = Bounded::with_capacity(1);
    let late = || Deadline::at(Duration::ZERO);
    assert_eq!(queue.pop_for(Duration::from_millis(2)), None);
    assert_eq!(queue.pop_until(Deadline::after::<Private>(Duration::from_millis(2))), None);
    assert_eq!(queue.pop_until(late()), None);
    assert_eq!(queue.push_until(1, late()), Ok(()));
    assert_eq!(queue.push_for(2, Duration::from_millis(2)), Err(PushError::Full(2)));
    assert_eq!(queue.push_until(2, Deadline::after::<Private>(Duration::from_millis(2))), Err(PushError::Full(2)));
    assert_eq!(queue.push_until(2, late()), Err(PushError::Full(2)));
    assert_eq!(queue.pop_until(late()), Some(1));
    queue.close();
    assert_eq!(queue.push_until(2, late()), Err(PushError::Closed(2)));
    assert_eq!((queue.push(2), queue.try_push(2)), (Err(2), Err(PushError::Closed(2))));
}

/// The ring is gone round some times, with every number of values.
#[test]
fn every_capacity_and_count() {
    for capacity in 1..=9 {
        let queue = Bounded::with_capacity(capacity);
        let (mut next, mut first) = (0, 0);
        for count in (0..=capacity).cycle().take(5 * capacity) {
            while queue.len() < count {
                assert_eq!(queue.try_push(next), Ok(()));
                next += 1;
            }
            while queue.len() > count {
                assert_eq!(queue.try_pop(), TryPop::Value(first));
                first += 1;
            }
            assert_eq!((queue.is_empty(), queue.is_full()), (count == 0, count == capacity));
            assert_eq!(queue.try_push(next).is_err(), count == capacity);
            next += usize::from(count != capacity);
        }
        assert_eq!(queue.capacity(), capacity);
        assert!(queue.into_iter().eq(first..next));
    }
}

#[test]
fn a_ring_buffer_of_the_latest_values() {
    for capacity in 1..=5 {
        let queue = Bounded::with_capacity(capacity);
        for value in 0..3 * capacity {
            assert_eq!(queue.force_push(value), value.checked_sub(capacity));
        }
        queue.close();
        assert_eq!(queue.force_push(3 * capacity), Some(2 * capacity));
        assert!(queue.into_iter().eq(2 * capacity + 1..=3 * capacity));
    }
}

/// What is pushed by force is popped or displaced, once.
#[test]
fn pushes_by_force_beside_pushes_and_pops() {
    let _watchdog = Watchdog::new("pushes by force");
    const EACH: usize = 3_000;
    for capacity in [1, 3] {
        let queue = Bounded::with_capacity(capacity);
        let seen: Vec<AtomicUsize> = (0..3 * EACH).map(|_| AtomicUsize::new(0)).collect();
        let see = |value: usize| _ = seen[value].fetch_add(1, Ordering::Relaxed);
        thread::scope(|scope| {
            let forces = |from: usize| {
                let (queue, see) = (&queue, &see);
                scope.spawn(move || {
                    (from..from + EACH).for_each(|value| queue.force_push(value).into_iter().for_each(see))
                })
            };
            let producers = [forces(0), forces(EACH)];
            let waits = scope.spawn(|| (2 * EACH..3 * EACH).for_each(|value| queue.push(value).unwrap()));
            scope.spawn(|| {
                while let Some(value) = queue.pop() {
                    see(value);
                }
            });
            producers.into_iter().chain([waits]).for_each(|producer| producer.join().unwrap());
            queue.close();
        });
        assert!(seen.iter().all(|count| count.load(Ordering::Relaxed) == 1));
    }
}

#[test]
fn a_destructor_that_panics_leaks_no_other_value() {
    let drops = Arc::new(AtomicUsize::new(0));
    let fill = || {
        let queue = Bounded::with_capacity(5);
        (0..8).for_each(|number| drop(queue.force_push(Dropped::may_panic(&drops, number == 5))));
        assert_eq!(drops.swap(0, Ordering::Relaxed), 3);
        queue
    };
    let queue = fill();
    assert!(catch_unwind(AssertUnwindSafe(|| drop(queue))).is_err());
    assert_eq!(drops.swap(0, Ordering::Relaxed), 5);
    let mut values = fill().into_iter();
    drop(values.next());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(values))).is_err());
    assert_eq!(drops.swap(0, Ordering::Relaxed), 5);
    let queue = fill();
    assert!(
        catch_unwind(AssertUnwindSafe(|| while let Some(value) = queue.try_pop().value() {
            drop(value);
        }))
        .is_err()
    );
    drop(queue);
    assert_eq!(drops.load(Ordering::Relaxed), 5);
}

#[test]
fn a_destructor_that_uses_the_queue() {
    let (queue, drops) = (Arc::new(Bounded::<Dropped>::with_capacity(2)), Arc::new(AtomicUsize::new(0)));
    for _ in 0..20 {
        let (own, count) = (queue.clone(), drops.clone());
        let value = Dropped::and_then(&drops, move || {
            assert!(own.try_push(Dropped::new(&count)).is_ok());
            assert!(own.try_pop().value().is_some());
        });
        assert!(queue.try_push(value).is_ok());
        drop(queue.pop());
    }
    assert_eq!(drops.load(Ordering::Relaxed), 40);
}

/// Values without a size, large ones, and ones that are more aligned than others.
#[test]
fn values_of_every_shape() {
    fn each<T: Clone + PartialEq + std::fmt::Debug>(value: T) {
        let queue = Bounded::with_capacity(7);
        for _ in 0..3 {
            (0..7).for_each(|_| queue.push(value.clone()).unwrap());
            (0..7).for_each(|_| assert_eq!(queue.pop().as_ref(), Some(&value)));
        }
        assert!(queue.is_empty());
    }
    each_shape!(each);
    let queue = Bounded::with_capacity(9);
    (0..9).map(Aligned).for_each(|value| queue.push(value).unwrap());
    assert!(queue.into_iter().all(|value| value.is_aligned()));
}

#[test]
fn queues_that_cannot_be() {
    assert!(panic_of(|| drop(Bounded::<u32>::with_capacity(0))).starts_with("leeward: a Bounded has"));
    assert!(panic_of(|| drop(Bounded::<u32>::try_with_capacity(0))).starts_with("leeward: a Bounded has"));
    for capacity in [usize::MAX, usize::MAX / 16, 1 << 40] {
        assert!(Bounded::<[u64; 512]>::try_with_capacity(capacity).is_err());
    }
}

#[test]
fn words_about_a_bounded_queue() {
    let queue = Bounded::with_capacity(2);
    queue.push("a").unwrap();
    assert_eq!(format!("{queue:?}"), "Bounded { len: 1, capacity: 2, is_closed: false }");
    queue.close();
    assert_eq!(format!("{queue:?}"), "Bounded { len: 1, capacity: 2, is_closed: true }");
    let closed = queue.try_push("b").unwrap_err();
    assert_eq!((format!("{closed:?}"), closed.to_string()), ("Closed(..)".into(), "the queue is closed".into()));
    assert!(closed.is_closed() && !closed.is_full() && !closed.is_busy());
    assert_eq!(PushError::Full(0).to_string(), "the queue is full");
    assert_eq!(PushError::Busy(0).to_string(), "a pop is under way in the slot");
    assert_eq!(format!("{:?}", queue.into_iter()), "IntoIter { len: 1, .. }");
}

fn is_send<T: Send>() {}
fn is_sync<T: Sync>() {}

/// What is `Send` is enough: no reference to a value is given.
#[test]
fn threads_may_share_it() {
    is_send::<Bounded<std::cell::Cell<u32>>>();
    is_sync::<Bounded<std::cell::Cell<u32>>>();
}
