//! The queue of blocks: order, waiting, closing, values of all kinds, and histories under stress.

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
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use leeward::collect::{Queue, TryPop};
use leeward::futex::{Deadline, Private};

/// A sequential queue.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct Fifo(VecDeque<u32>);

#[derive(Clone, Debug)]
enum Call {
    Push(u32),
    Pop,
    PopAll,
    IsEmpty,
}

#[derive(Clone, Debug, PartialEq)]
enum Answer {
    Done,
    Popped(TryPop<u32>),
    All(Vec<u32>),
    Is(bool),
}

impl Spec for Fifo {
    type Call = Call;
    type Answer = Answer;

    fn accepts(&mut self, call: &Call, answer: &Answer) -> bool {
        match (call, answer) {
            (Call::Push(value), _) => {
                self.0.push_back(*value);
                true
            }
            (Call::Pop, Answer::Popped(TryPop::Busy)) => true,
            (Call::Pop, Answer::Popped(popped)) => self.0.pop_front() == popped.value(),
            (Call::PopAll, Answer::All(all)) => std::mem::take(&mut self.0) == *all,
            (Call::IsEmpty, Answer::Is(is_empty)) => self.0.is_empty() == *is_empty,
            _ => false,
        }
    }
}

fn choose(rng: &mut Rng, value: u32) -> Call {
    match rng.below(16) {
        0..7 => Call::Push(value),
        7..13 => Call::Pop,
        13 => Call::PopAll,
        _ => Call::IsEmpty,
    }
}

fn make(queue: &Queue<u32>, call: Call) -> Answer {
    match call {
        Call::Push(value) => {
            queue.push(value);
            Answer::Done
        }
        Call::Pop => Answer::Popped(queue.try_pop()),
        Call::PopAll => Answer::All(queue.pop_all().collect()),
        Call::IsEmpty => Answer::Is(queue.is_empty()),
    }
}

#[test]
fn histories_are_those_of_a_queue() {
    check_histories("histories of a queue", |seed| {
        let queue = <Queue<u32>>::new();
        // The calls begin near the end of a block or somewhere in it.
        (0..seed as u32 % 120).for_each(|value| queue.push(value));
        while queue.try_pop().value().is_some() {}
        check::<Fifo>(&history::<Fifo>(seed, [4, 10], choose, |call| make(&queue, call)), Duration::from_millis(200))
    });
}

/// Every value arrives once, and each producer's in its order, at each consumer.
#[test]
fn values_arrive_once_and_in_order() {
    let _watchdog = Watchdog::new("values arrive once");
    const EACH: usize = 20_000;
    let queue = <Queue<(usize, usize)>>::new();
    let seen: Vec<AtomicUsize> = (0..3 * EACH).map(|_| AtomicUsize::new(0)).collect();
    thread::scope(|scope| {
        let producers: Vec<_> = (0..3)
            .map(|producer| {
                let queue = &queue;
                scope.spawn(move || (0..EACH).for_each(|number| queue.push((producer, number))))
            })
            .collect();
        for consumer in 0..3 {
            let (queue, seen) = (&queue, &seen);
            scope.spawn(move || {
                let mut last = [None; 3];
                loop {
                    let popped = match consumer {
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
                    assert!(last[producer].is_none_or(|last| last < number), "out of order");
                    last[producer] = Some(number);
                    seen[producer * EACH + number].fetch_add(1, Relaxed);
                }
            });
        }
        producers.into_iter().for_each(|producer| producer.join().unwrap());
        queue.close();
    });
    assert!(seen.iter().all(|count| count.load(Relaxed) == 1));
}

/// Splices beside pushes and pops lose nothing and keep each producer's order.
#[test]
fn splices_beside_pushes() {
    let _watchdog = Watchdog::new("splices");
    const EACH: usize = 20_000;
    let (from, to) = (<Queue<(usize, usize)>>::new(), <Queue<(usize, usize)>>::new());
    thread::scope(|scope| {
        for producer in 0..2 {
            let from = &from;
            scope.spawn(move || (0..EACH).for_each(|number| from.push((producer, number))));
        }
        let mover = scope.spawn(|| {
            let mut rng = Rng::new(1);
            while !to.is_closed() {
                to.splice(&from);
                (0..rng.below(50)).for_each(|_| std::hint::spin_loop());
                thread::yield_now();
            }
        });
        let mut next = [0; 2];
        let mut consumer = to.consumer();
        for _ in 0..2 * EACH {
            let (producer, number) = consumer.pop().unwrap();
            assert_eq!(number, next[producer]);
            next[producer] += 1;
        }
        to.close();
        mover.join().unwrap();
    });
    assert!(from.is_empty() && to.is_empty());
}

/// A consumer that sleeps is woken by a push and by closing.
#[test]
fn a_sleeping_consumer_is_woken() {
    let _watchdog = Watchdog::new("a sleeping consumer");
    let queue = <Queue<u32>>::new();
    thread::scope(|scope| {
        let consumer = scope.spawn(|| (queue.pop(), queue.pop(), queue.pop()));
        for value in [1, 2] {
            thread::sleep(GLANCE);
            queue.push(value);
        }
        thread::sleep(GLANCE);
        queue.close();
        assert_eq!(consumer.join().unwrap(), (Some(1), Some(2), None));
    });
    assert_eq!(queue.pop(), None);
    queue.push(3);
    assert_eq!((queue.pop(), queue.pop()), (Some(3), None));
}

#[test]
fn a_pop_ends_in_time() {
    let queue = <Queue<u32>>::new();
    assert_eq!(queue.pop_for(Duration::from_millis(2)), None);
    assert_eq!(queue.pop_until(Deadline::after::<Private>(Duration::from_millis(2))), None);
    assert_eq!(queue.pop_until(Deadline::at(Duration::ZERO)), None);
    queue.push(1);
    assert_eq!(queue.pop_until(Deadline::at(Duration::ZERO)), Some(1));
    // Behind another consumer.
    let mut consumer = queue.consumer();
    queue.push(2);
    assert_eq!(queue.pop_for(Duration::from_millis(2)), None);
    assert_eq!((queue.try_pop(), consumer.try_pop()), (TryPop::Busy, TryPop::Value(2)));
    assert_eq!((queue.try_pop(), consumer.try_pop()), (TryPop::Empty, TryPop::Empty));
    assert_eq!(consumer.pop_for(Duration::from_millis(2)), None);
    assert!(queue.try_consumer().is_none());
    drop(consumer);
    assert!(queue.try_consumer().is_some());
}

/// Blocks that are half used, empty queues, and a queue onto itself.
#[test]
fn splices_of_every_length() {
    for ours in [0, 1, 55, 56, 57, 200] {
        for theirs in [0, 1, 55, 56, 57, 200] {
            for popped in [0, 1, 56] {
                let (to, from): (Queue<usize>, Queue<usize>) = ((0..ours).collect(), (0..theirs + popped).collect());
                (0..popped).for_each(|number| assert_eq!(from.pop(), Some(number)));
                to.splice(&from);
                assert!(from.is_empty());
                from.push(7);
                to.push(8);
                to.splice(&to);
                assert_eq!((from.pop(), from.try_pop()), (Some(7), TryPop::Empty));
                let expected: Vec<_> = (0..ours).chain(popped..theirs + popped).chain([8]).collect();
                assert_eq!(to.pop_all().collect::<Vec<_>>(), expected);
                to.splice(&from);
                assert!(to.is_empty() && to.try_pop().is_empty());
            }
        }
    }
}

#[test]
fn a_destructor_that_panics_leaks_no_other_value() {
    let drops = Arc::new(AtomicUsize::new(0));
    let fill = || (0..300).map(|number| Dropped::may_panic(&drops, number == 100)).collect::<Queue<_>>();
    let queue = fill();
    assert!(catch_unwind(AssertUnwindSafe(|| drop(queue))).is_err());
    assert_eq!(drops.swap(0, Relaxed), 300);
    let mut values = fill().into_iter();
    drop(values.next());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(values))).is_err());
    assert_eq!(drops.swap(0, Relaxed), 300);
    let queue = fill();
    assert!(catch_unwind(AssertUnwindSafe(|| queue.pop_all().for_each(drop))).is_err());
    assert_eq!((drops.load(Relaxed), queue.is_empty()), (300, true));
}

#[test]
fn a_destructor_that_uses_the_queue() {
    let (queue, drops) = (Arc::new(<Queue<Dropped>>::new()), Arc::new(AtomicUsize::new(0)));
    for _ in 0..200 {
        let (own, count) = (queue.clone(), drops.clone());
        queue.push(Dropped::and_then(&drops, move || {
            own.push(Dropped::new(&count));
            assert!(own.try_pop().value().is_some());
        }));
    }
    drop(queue.pop());
    drop(queue.consumer().try_pop());
    drop(queue.pop_all());
    assert_eq!(drops.load(Relaxed), 400);
}

/// Values without a size, large ones, and ones that are more aligned than a block.
#[test]
fn values_of_every_shape() {
    fn each<T: Clone + PartialEq + std::fmt::Debug>(value: T) {
        let queue: Queue<T> = std::iter::repeat_n(value.clone(), 150).collect();
        for _ in 0..150 {
            assert_eq!(queue.pop().as_ref(), Some(&value));
        }
        assert!(queue.is_empty());
    }
    each_shape!(each);
    let queue: Queue<Aligned> = (0..9).map(Aligned).collect();
    assert!(queue.into_iter().all(|value| value.is_aligned()));
}

#[test]
fn words_about_a_queue() {
    let mut queue = Queue::<u32>::default();
    assert_eq!(format!("{queue:?}"), "Queue { is_empty: true, is_closed: false, .. }");
    queue.extend([1, 2]);
    queue.close();
    assert_eq!(format!("{queue:?}"), "Queue { is_empty: false, is_closed: true, .. }");
    assert_eq!(format!("{:?}", queue.consumer()), "Consumer { is_empty: false, .. }");
    assert_eq!(format!("{:?}", queue.into_iter()), "IntoIter { is_empty: false, .. }");
}

fn is_send<T: Send>() {}
fn is_sync<T: Sync>() {}

/// What is `Send` is enough: no reference to a value is given.
#[test]
fn threads_may_share_it() {
    is_send::<Queue<std::cell::Cell<u32>>>();
    is_sync::<Queue<std::cell::Cell<u32>>>();
    is_send::<leeward::collect::Consumer<'static, u32>>();
}
