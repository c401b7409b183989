//! The async ends of a bounded queue: tasks wait for values and for room, beside threads that do.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/polled.rs"]
mod polled;
#[path = "../common/processes.rs"]
mod processes;

use common::*;
use polled::*;
use processes::*;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use leeward::collect::Bounded;

fn full<T>(values: impl IntoIterator<Item = T>, capacity: usize) -> Bounded<T> {
    let queue = Bounded::with_capacity(capacity);
    values.into_iter().for_each(|value| assert!(queue.try_push(value).is_ok()));
    queue
}

#[test]
fn a_task_waits_for_a_value() {
    let queue = Bounded::with_capacity(1);
    let mut pop = Task::waiting(queue.pop_async());
    assert!(pop.poll().is_none() && pop.wakes() == 0);
    queue.push(1).unwrap();
    assert_eq!((pop.wakes(), pop.poll()), (1, Some(Some(1))));
    // Where there is one, no task waits; and a future that was ready asks anew.
    queue.push(2).unwrap();
    assert_eq!((pop.poll(), Task::new(queue.pop_async()).poll()), (Some(Some(2)), None));
}

#[test]
fn a_task_waits_for_room() {
    let queue = full([1], 1);
    let mut push = Task::waiting(queue.push_async(2));
    assert_eq!((queue.pop(), push.wakes(), push.poll()), (Some(1), 1, Some(Ok(()))));
    assert_eq!((queue.pop(), queue.is_empty()), (Some(2), true));
}

#[test]
fn tasks_are_served_in_turn_and_once_each() {
    let queue = Bounded::with_capacity(3);
    let mut tasks: Vec<_> = (0..3).map(|_| Task::waiting(queue.pop_async())).collect();
    for (value, at) in (0..3).zip(0..) {
        queue.push(value).unwrap();
        assert_eq!(tasks.iter().map(|task| task.wakes().min(1)).sum::<usize>(), at + 1, "one task for each value");
        assert_eq!(tasks[at].poll(), Some(Some(value)));
    }
}

/// Values that come before the first task that was woken has looked: it wakes the next one.
#[test]
fn a_wake_is_passed_on() {
    let queue = Bounded::with_capacity(3);
    let mut tasks: Vec<_> = (0..3).map(|_| Task::waiting(queue.pop_async())).collect();
    (0..3).for_each(|value| queue.push(value).unwrap());
    for (value, task) in tasks.iter_mut().enumerate() {
        assert_ne!(task.wakes(), 0, "task {value}");
        assert_eq!(task.poll(), Some(Some(value)));
    }
    let queue = full(0..3, 3);
    let mut tasks: Vec<_> = (0..3).map(|_| Task::waiting(queue.push_async(7))).collect();
    (0..3).for_each(|value| assert_eq!(queue.pop(), Some(value)));
    for (at, task) in tasks.iter_mut().enumerate() {
        assert_ne!(task.wakes(), 0, "task {at}");
        assert_eq!(task.poll(), Some(Ok(())));
    }
}

/// A future that was woken and is dropped leaves its wake to the next task, or to a thread.
#[test]
fn a_wake_of_a_future_that_is_dropped_is_anothers() {
    let _watchdog = Watchdog::new("futures that are dropped");
    let queue = Bounded::with_capacity(1);
    let [first, mut second] = [(); 2].map(|()| Task::waiting(queue.pop_async()));
    queue.push(1).unwrap();
    assert_eq!((first.wakes(), second.wakes()), (1, 0));
    drop(first);
    assert_ne!(second.wakes(), 0);
    assert_eq!(second.poll(), Some(Some(1)));
    let queue = full([1], 1);
    let [first, mut second] = [2, 3].map(|value| Task::waiting(queue.push_async(value)));
    assert_eq!(queue.pop(), Some(1));
    drop(first);
    assert_ne!(second.wakes(), 0);
    assert_eq!((second.poll(), queue.pop()), (Some(Ok(())), Some(3)));
}

#[test]
fn closing_wakes_tasks() {
    let queue = Bounded::<u32>::with_capacity(1);
    let mut pops: Vec<_> = (0..3).map(|_| Task::waiting(queue.pop_async())).collect();
    queue.close();
    assert!(pops.iter_mut().all(|pop| pop.wakes() != 0 && pop.poll() == Some(None)));
    let queue = full([1], 1);
    let mut pushes: Vec<_> = (2..5).map(|value| Task::waiting(queue.push_async(value))).collect();
    queue.close();
    for (push, value) in pushes.iter_mut().zip(2..5) {
        assert_eq!((push.wakes() != 0, push.poll()), (true, Some(Err(value))));
    }
    assert_eq!(block_on(queue.push_async(9)), Err(9));
    assert_eq!((block_on(queue.pop_async()), block_on(queue.pop_async())), (Some(1), None));
}

/// Threads and tasks at both ends of one queue: each value arrives once.
#[test]
fn threads_and_tasks() {
    let _watchdog = Watchdog::new("threads and tasks");
    const EACH: usize = 2_000;
    for capacity in [1, 3] {
        let queue = Bounded::with_capacity(capacity);
        let seen: Vec<AtomicUsize> = (0..4 * EACH).map(|_| AtomicUsize::new(0)).collect();
        thread::scope(|scope| {
            let producers: Vec<_> = (0..4)
                .map(|producer| {
                    let queue = &queue;
                    scope.spawn(move || {
                        for value in producer * EACH..(producer + 1) * EACH {
                            match producer % 2 {
                                0 => queue.push(value).unwrap(),
                                _ => block_on(queue.push_async(value)).unwrap(),
                            }
                        }
                    })
                })
                .collect();
            for consumer in 0..4 {
                let (queue, seen) = (&queue, &seen);
                scope.spawn(move || {
                    let pop = || if consumer % 2 == 0 { queue.pop() } else { block_on(queue.pop_async()) };
                    while let Some(value) = pop() {
                        seen[value].fetch_add(1, Ordering::Relaxed);
                        // A future that waits, perhaps, and gives up.
                        let mut gives_up = Task::new(queue.pop_async());
                        if let Some(Some(value)) = gives_up.poll() {
                            seen[value].fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
            producers.into_iter().for_each(|producer| producer.join().unwrap());
            queue.close();
        });
        assert!(seen.iter().all(|count| count.load(Ordering::Relaxed) == 1));
    }
}

/// In the child of a fork nobody is queued: a future that is polled there queues anew.
#[test]
fn futures_in_the_child_of_a_fork() {
    let queue = Bounded::with_capacity(1);
    let counts = [(); 2].map(|()| Arc::new(Count::default()));
    let wakes = || counts.each_ref().map(|count| count.0.load(Ordering::SeqCst));
    let [mut first, mut second] = counts.each_ref().map(|count| Some(Task::waiting_of(count, queue.pop_async())));
    in_child(|| {
        queue.push(1).unwrap();
        let nobody = wakes() == [0, 0] && queue.pop() == Some(1);
        let queued = second.as_mut().unwrap().poll().is_none();
        first = None;
        queue.push(2).unwrap();
        let woken = wakes()[0] == 0 && wakes()[1] != 0 && second.take().unwrap().poll() == Some(Some(2));
        // Nobody is counted any more: no mark stays.
        nobody && queued && woken && queue.try_push(3).is_ok() && queue.pop() == Some(3)
    });
    assert_eq!(wakes(), [0, 0], "the parent's queue is as it was");
    queue.push(4).unwrap();
    assert_eq!((first.unwrap().poll(), second.unwrap().poll()), (Some(Some(4)), None));
}
