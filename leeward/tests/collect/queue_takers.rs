//! Threads that take all values of a queue at once, while another thread has the right to take them:
//! they wait until it gives that up, or finds the queue empty.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;

use common::*;

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread::{self, JoinHandle};

use leeward::collect::{Queue, TryPop};

type Shared = Arc<Queue<u32>>;

fn queue_of<const N: usize>(values: [u32; N]) -> Shared {
    Arc::new(values.into_iter().collect())
}

/// Runs `work` beside, and returns when it sleeps.
fn sleeps<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> JoinHandle<R> {
    let id = Arc::new(AtomicI32::new(0));
    let own = id.clone();
    let thread = thread::spawn(move || {
        // SAFETY: takes no pointer.
        own.store(unsafe { libc::gettid() }, Ordering::SeqCst);
        work()
    });
    eventually("it sleeps", || {
        let id = id.load(Ordering::SeqCst);
        id != 0 && is_asleep(id)
    });
    thread
}

fn takes(queue: &Shared) -> JoinHandle<Vec<u32>> {
    let queue = queue.clone();
    sleeps(move || queue.pop_all().collect())
}

/// A consumer that sleeps for a value has the lock.
#[test]
fn a_taker_passes_a_consumer_that_sleeps() {
    let _watchdog = Watchdog::new("a taker passes a consumer that sleeps");
    let (queue, other) = (queue_of([]), queue_of([7]));
    let pops = queue.clone();
    let consumer = sleeps(move || pops.pop());
    assert_eq!(queue.pop_all().count(), 0);
    other.splice(&queue);
    assert_eq!((other.pop(), queue.is_empty()), (Some(7), true));
    queue.push(1);
    assert_eq!(consumer.join().unwrap(), Some(1));
}

/// A consumer takes the last value, and goes to sleep for the next.
#[test]
fn a_consumer_that_goes_to_sleep_lets_takers_go() {
    let _watchdog = Watchdog::new("a consumer that goes to sleep");
    let queue = queue_of([1]);
    let mut consumer = queue.consumer();
    let takers = [takes(&queue), takes(&queue)];
    let pushes = queue.clone();
    let pusher = thread::spawn(move || {
        for taker in takers {
            assert_eq!(taker.join().unwrap(), []);
        }
        pushes.push(2);
    });
    assert_eq!((consumer.pop(), consumer.pop()), (Some(1), Some(2)));
    pusher.join().unwrap();
}

/// A consumer that never sleeps, and asks in vain.
#[test]
fn a_consumer_that_finds_nothing_lets_takers_go() {
    let _watchdog = Watchdog::new("a consumer that finds nothing");
    let queue = queue_of([1]);
    let mut consumer = queue.consumer();
    let taker = takes(&queue);
    assert_eq!(consumer.try_pop(), TryPop::Value(1));
    eventually("the taker returns", || consumer.try_pop().is_empty() && taker.is_finished());
    assert_eq!(taker.join().unwrap(), []);
    drop(consumer);
    queue.push(2);
    assert_eq!(queue.pop_all().collect::<Vec<_>>(), [2]);
}

/// A consumer that is dropped leaves its values to the takers.
#[test]
fn a_consumer_that_is_dropped_lets_takers_go() {
    let _watchdog = Watchdog::new("a consumer that is dropped");
    let queue = queue_of([1, 2, 3]);
    let mut consumer = queue.consumer();
    let takers = [takes(&queue), takes(&queue)];
    assert_eq!(consumer.pop(), Some(1));
    drop(consumer);
    let taken: Vec<_> = takers.into_iter().flat_map(|taker| taker.join().unwrap()).collect();
    assert_eq!(taken, [2, 3]);
}

/// Takers beside a thread that waits for the same lock to pop.
#[test]
fn takers_wait_beside_one_that_pops() {
    let _watchdog = Watchdog::new("takers beside one that pops");
    let queue = queue_of([1, 2, 3]);
    let mut consumer = queue.consumer();
    let takers = [takes(&queue), takes(&queue)];
    let pops = queue.clone();
    let popper = sleeps(move || pops.pop());
    assert_eq!(consumer.pop(), Some(1));
    drop(consumer);
    let mut taken: Vec<_> = takers.into_iter().flat_map(|taker| taker.join().unwrap()).collect();
    queue.push(4);
    let popped = popper.join().unwrap();
    taken.extend(popped.into_iter().chain(queue.pop_all()));
    taken.sort_unstable();
    assert_eq!(taken, [2, 3, 4]);
}

/// A consumer that was forgotten holds up those that take all as long as there is something to take.
#[test]
fn an_empty_queue_of_a_forgotten_consumer_has_nothing_to_take() {
    let queue = queue_of([]);
    std::mem::forget(queue.consumer());
    assert_eq!((queue.pop_all().count(), queue.try_pop()), (0, TryPop::Empty));
    queue.push(1);
    assert_eq!(queue.try_pop(), TryPop::Busy);
}

fn pops(queue: &Shared) -> JoinHandle<Option<u32>> {
    let queue = queue.clone();
    sleeps(move || queue.pop())
}

/// Threads that pop wait for a consumer that does nothing; then the empty queue is closed.
#[test]
fn pops_behind_an_idle_consumer_end_when_the_queue_is_closed() {
    let _watchdog = Watchdog::new("pops behind an idle consumer");
    let queue = queue_of([]);
    let consumer = queue.consumer();
    let poppers = [pops(&queue), pops(&queue)];
    queue.close();
    assert_eq!(poppers.map(|popper| popper.join().unwrap()), [None, None]);
    // And one that comes later.
    assert_eq!((queue.pop(), queue.pop_for(patience())), (None, None));
    drop(consumer);
}

/// A consumer takes the last value of a closed queue, and finds it empty: it may wait or not.
#[test]
fn pops_and_takers_end_when_a_consumer_finds_the_closed_queue_empty() {
    let _watchdog = Watchdog::new("a consumer that finds the closed queue empty");
    for waits in [false, true] {
        let queue = queue_of([1]);
        queue.close();
        let mut consumer = queue.consumer();
        let poppers = [pops(&queue), pops(&queue)];
        let taker = takes(&queue);
        assert_eq!(consumer.pop(), Some(1));
        if waits {
            assert_eq!(consumer.pop(), None);
        } else {
            assert!(consumer.try_pop().is_empty());
        }
        assert_eq!(poppers.map(|popper| popper.join().unwrap()), [None, None]);
        assert_eq!(taker.join().unwrap(), []);
        drop(consumer);
    }
}

/// What was pushed before the queue was closed is popped by a thread that waited for a consumer.
#[test]
fn a_pop_behind_a_consumer_of_a_closed_queue_takes_what_is_left() {
    let _watchdog = Watchdog::new("a pop takes what is left");
    let queue = queue_of([1, 2]);
    let mut consumer = queue.consumer();
    let popper = pops(&queue);
    queue.close();
    assert_eq!(consumer.pop(), Some(1));
    drop(consumer);
    assert_eq!((popper.join().unwrap(), queue.pop()), (Some(2), None));
}
