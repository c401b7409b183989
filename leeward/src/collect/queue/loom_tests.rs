//! Models of the queue of blocks, as it ships, under loom. A block has two slots here. What is
//! pushed is the number of a cell that loom watches: its producer writes it before, and its consumer
//! after. A lost wake-up is a deadlock, which loom reports.

use core::mem::ManuallyDrop;
use std::sync::Arc;
use std::vec::Vec;

use loom::cell::UnsafeCell;
use loom::thread;

use super::Queue;
use super::block::{Block, FILLED, QueueSlot};
use super::gap::{self, Gap};
use crate::atomic::{AtomicU32, Ordering};
use crate::futex::{Deadline, Futex, Private, Shared as OfAll, Timeout};
use crate::models;

struct Shared {
    queue: Queue<usize>,
    other: Queue<usize>,
    cells: Vec<UnsafeCell<u32>>,
}

// SAFETY: loom reports threads that use a cell at the same time.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

impl Shared {
    fn new() -> Arc<Shared> {
        let cells = (0..4).map(|_| UnsafeCell::new(0)).collect();
        Arc::new(Shared { queue: Queue::new(), other: Queue::new(), cells })
    }

    fn push_to(&self, queue: &Queue<usize>, number: usize) {
        // SAFETY: loom reports a thread that is here meanwhile.
        self.cells[number].with_mut(|cell| unsafe { *cell += 1 });
        queue.push(number);
    }

    fn push(&self, number: usize) {
        self.push_to(&self.queue, number);
    }

    fn seen(&self, number: usize) {
        // SAFETY: loom reports a thread that is here meanwhile.
        self.cells[number].with_mut(|cell| unsafe {
            assert_eq!(*cell, 1, "a value arrives once");
            *cell += 1;
        });
    }
}

fn explore(preemptions: usize, model: impl Fn(Arc<Shared>) + Send + Sync + 'static) {
    models::explore(preemptions, set_up, move || model(Shared::new()));
}

/// Makes the statics.
fn set_up() {
    crate::futex::wake(&AtomicU32::new(0), 1);
    gap::set_up();
}

fn beside(shared: &Arc<Shared>, work: impl FnOnce(&Shared) + 'static) -> thread::JoinHandle<()> {
    let shared = shared.clone();
    thread::spawn(move || work(&shared))
}

/// Two producers and a consumer that sleeps: for the first value, and for a slot that is claimed.
#[test]
fn two_producers_and_a_consumer() {
    explore(3, |shared| {
        let first = beside(&shared, |shared| shared.push(0));
        let second = beside(&shared, |shared| shared.push(1));
        let popped = [shared.queue.pop(), shared.queue.pop()].map(Option::unwrap);
        popped.iter().for_each(|number| shared.seen(*number));
        assert_eq!(popped[0] + popped[1], 1);
        first.join().unwrap();
        second.join().unwrap();
    });
}

/// Two producers that append blocks, and the consumer that goes from block to block.
#[test]
fn blocks_are_appended() {
    explore(2, |shared| {
        let first = beside(&shared, |shared| {
            shared.push(0);
            shared.push(1);
        });
        let second = beside(&shared, |shared| shared.push(2));
        let mut last = [None; 2];
        for _ in 0..3 {
            let number = shared.queue.pop().unwrap();
            shared.seen(number);
            assert!(last[number / 2].is_none_or(|last| last < number), "in the order of their producer");
            last[number / 2] = Some(number);
        }
        assert!(shared.queue.is_empty());
        first.join().unwrap();
        second.join().unwrap();
    });
}

/// What is pushed before the queue is closed is popped before a pop returns `None`.
#[test]
fn closing() {
    explore(3, |shared| {
        let closes = beside(&shared, |shared| {
            shared.push(0);
            shared.queue.close();
        });
        let popped = shared.queue.pop();
        // Without the order of closing, loom reports this.
        shared.seen(0);
        assert_eq!(popped, Some(0), "pushed before the queue was closed");
        assert_eq!(shared.queue.pop(), None);
        closes.join().unwrap();
    });
}

/// Two consumers, one of which waits for the other's lock.
#[test]
fn two_consumers() {
    explore(2, |shared| {
        let pops = |shared: &Shared| shared.seen(shared.queue.pop().unwrap());
        let first = beside(&shared, pops);
        let second = beside(&shared, pops);
        shared.push(0);
        shared.push(1);
        first.join().unwrap();
        second.join().unwrap();
    });
}

/// Pops that do not wait, or not for long, beside a push and a pop.
#[test]
fn pops_that_do_not_wait() {
    explore(2, |shared| {
        let push = beside(&shared, |shared| shared.push(0));
        let late = beside(&shared, |shared| {
            if let Some(number) = shared.queue.pop_until(Deadline::at(core::time::Duration::ZERO)) {
                shared.seen(number);
            }
        });
        if let Some(number) = shared.queue.try_pop().value() {
            shared.seen(number);
        }
        push.join().unwrap();
        late.join().unwrap();
        if let Some(number) = shared.queue.try_pop().value() {
            shared.seen(number);
        }
        assert!(shared.queue.is_empty());
    });
}

/// A splice beside pushes to both queues, with a consumer that sleeps on the second.
#[test]
fn a_splice_beside_pushes() {
    explore(2, |shared| {
        let push = beside(&shared, |shared| shared.push_to(&shared.other, 0));
        let splice = beside(&shared, |shared| {
            shared.push_to(&shared.other, 1);
            shared.queue.splice(&shared.other);
        });
        let number = shared.queue.pop().unwrap();
        shared.seen(number);
        push.join().unwrap();
        splice.join().unwrap();
        shared.queue.splice(&shared.other);
        let rest = shared.queue.pop().unwrap();
        shared.seen(rest);
        assert_eq!(number + rest, 1);
    });
}

/// A taker, and a consumer that takes the last value and goes to sleep for the next.
#[test]
fn a_taker_and_a_consumer_that_sleeps() {
    explore(3, |shared| {
        shared.push(0);
        let pops = beside(&shared, |shared| {
            let mut consumer = shared.queue.consumer();
            shared.seen(consumer.pop().unwrap());
            shared.seen(consumer.pop().unwrap());
        });
        shared.other.splice(&shared.queue);
        shared.push(1);
        if let Some(number) = shared.other.try_pop().value() {
            shared.seen(number);
            shared.push(2);
        }
        pops.join().unwrap();
    });
}

/// A taker, and a consumer that gives the lock up and leaves a value.
#[test]
fn a_taker_and_a_consumer_that_leaves() {
    explore(3, |shared| {
        shared.push(0);
        shared.push(1);
        let pops = beside(&shared, |shared| shared.seen(shared.queue.pop().unwrap()));
        shared.other.splice(&shared.queue);
        shared.push(2);
        pops.join().unwrap();
        shared.other.splice(&shared.queue);
        let left = core::iter::from_fn(|| shared.other.try_pop().value());
        assert_eq!(left.map(|number| shared.seen(number)).count(), 2);
    });
}

/// A thread that pops waits for a consumer that is there for ever, of a queue that is closed.
#[test]
fn a_pop_behind_a_consumer_of_a_queue_that_is_closed() {
    explore(3, |shared| {
        let consumer = ManuallyDrop::new(shared.queue.consumer());
        let pops = beside(&shared, |shared| assert_eq!(shared.queue.pop(), None));
        shared.queue.close();
        pops.join().unwrap();
        drop(ManuallyDrop::into_inner(consumer));
    });
}

/// A thread that pops waits for a consumer that finds the closed queue empty, and stays.
#[test]
fn a_pop_behind_a_consumer_that_finds_the_closed_queue_empty() {
    explore(3, |shared| {
        shared.push(0);
        shared.queue.close();
        let mut consumer = ManuallyDrop::new(shared.queue.consumer());
        let pops = beside(&shared, |shared| assert_eq!(shared.queue.pop(), None));
        shared.seen(consumer.pop().unwrap());
        assert_eq!(consumer.pop(), None);
        pops.join().unwrap();
        drop(ManuallyDrop::into_inner(consumer));
    });
}

/// Two threads that pop wait for a consumer that takes the last value and leaves. Another consumer takes
/// the lock before the one that was woken, and stays.
#[test]
fn pops_behind_a_consumer_that_comes_again() {
    explore(2, |shared| {
        shared.push(0);
        shared.queue.close();
        let mut consumer = shared.queue.consumer();
        let pops = |shared: &Shared| assert_eq!(shared.queue.pop(), None);
        let poppers = [beside(&shared, pops), beside(&shared, pops)];
        shared.seen(consumer.pop().unwrap());
        drop(consumer);
        let consumer = ManuallyDrop::new(shared.queue.consumer());
        poppers.into_iter().for_each(|popper| popper.join().unwrap());
        drop(ManuallyDrop::into_inner(consumer));
    });
}

/// A queue that is never empty, and whose front's block comes again as the tail's.
#[test]
fn a_look_at_a_queue_whose_block_comes_again() {
    models::explore(2, set_up, || {
        let queue = Arc::new(Queue::<usize>::new());
        queue.push(0);
        queue.push(1);
        // The front is at the block's second slot.
        assert_eq!(queue.pop(), Some(0));
        let other = queue.clone();
        let goes_round = thread::spawn(move || {
            other.push(2);
            other.push(3);
            assert_eq!((other.pop(), other.pop()), (Some(1), Some(2)));
            // The tail is at the second slot of the first block.
            other.push(4);
        });
        assert!(!queue.is_empty(), "a queue with values looks empty");
        goes_round.join().unwrap();
        assert_eq!((queue.pop(), queue.pop(), queue.is_empty()), (Some(3), Some(4), true));
    });
}

/// A block whose two slots are claimed, as if each were of a queue of its own.
#[derive(Clone, Copy)]
struct Claimed(*mut Block<u32>);

// SAFETY: the slots' states are atomics.
unsafe impl Send for Claimed {}

impl Claimed {
    fn fill<F: Futex>(self, index: usize) {
        // SAFETY: the block lives as long as the model does.
        let slot = unsafe { Block::slot(self.0, index) };
        // SAFETY: as above.
        let state = unsafe { QueueSlot::state(slot) };
        // Release: as in `Core::fill`.
        state.store(FILLED, Ordering::Release);
        gap::filled::<F>(slot.addr() as u64);
    }

    fn wait<F: Futex>(self, index: usize) {
        // SAFETY: as above.
        let slot = unsafe { Block::slot(self.0, index) };
        // SAFETY: as above.
        let state = unsafe { QueueSlot::state(slot) };
        // Acquire: as in `Core::take`.
        while state.load(Ordering::Acquire) != FILLED {
            let _ = Gap::new(slot, self.0).wait::<F>(Timeout::Never);
        }
    }
}

/// Two consumers that wait for slots by two kinds of futex.
#[test]
fn consumers_on_two_kinds_of_futex() {
    models::explore(2, set_up, || {
        let claimed = Claimed(Block::new(1));
        let fills = thread::spawn(move || {
            let claimed = claimed;
            claimed.fill::<Private>(0);
            claimed.fill::<OfAll>(1);
        });
        let waits = thread::spawn(move || {
            let claimed = claimed;
            claimed.wait::<Private>(0);
        });
        claimed.wait::<OfAll>(1);
        waits.join().unwrap();
        fills.join().unwrap();
        // SAFETY: made above; no thread is left.
        unsafe { Block::free(claimed.0) };
    });
}
