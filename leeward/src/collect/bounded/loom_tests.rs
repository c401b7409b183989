//! Models of the bounded queue, as it ships, under loom. What is pushed is the number of a cell that loom
//! watches: its producer writes it before, and its consumer after. A lost wake-up is a deadlock, which loom
//! reports.

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::sync::Arc;
use std::task::Wake;
use std::vec::Vec;

use loom::cell::UnsafeCell;
use loom::thread;

use super::Bounded;
use crate::atomic::AtomicU32;
use crate::collect::queue::gap;
use crate::collect::try_pop::TryPop;
use crate::models;
use crate::raw::Event;

struct Shared {
    queue: Bounded<usize>,
    cells: Vec<UnsafeCell<u32>>,
}

// SAFETY: loom reports threads that use a cell at the same time.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

impl Shared {
    fn new(capacity: usize) -> Arc<Shared> {
        let cells = (0..4).map(|_| UnsafeCell::new(0)).collect();
        Arc::new(Shared { queue: Bounded::with_capacity(capacity), cells })
    }

    fn add(&self, number: usize) {
        // SAFETY: loom reports a thread that is here meanwhile.
        self.cells[number].with_mut(|cell| unsafe { *cell += 1 });
    }

    fn push(&self, number: usize) {
        self.add(number);
        self.queue.push(number).unwrap();
    }

    fn pop(&self) -> usize {
        let number = self.queue.pop().unwrap();
        self.seen(number);
        number
    }

    fn seen(&self, number: usize) {
        // SAFETY: as above.
        self.cells[number].with_mut(|cell| unsafe {
            assert_eq!(*cell, 1, "a value arrives once");
            *cell += 1;
        });
    }
}

fn explore(preemptions: usize, capacity: usize, model: impl Fn(Arc<Shared>) + Send + Sync + 'static) {
    models::explore(preemptions, set_up, move || model(Shared::new(capacity)));
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
    explore(2, 2, |shared| {
        let first = beside(&shared, |shared| shared.push(0));
        let second = beside(&shared, |shared| shared.push(1));
        assert_eq!(shared.pop() + shared.pop(), 1);
        first.join().unwrap();
        second.join().unwrap();
    });
}

/// A producer that sleeps for room, in a queue of one slot; what its consumer did before is seen after.
#[test]
fn a_producer_and_a_consumer_of_one_slot() {
    explore(3, 1, |shared| {
        let pushes = beside(&shared, |shared| {
            (0..2).for_each(|number| shared.push(number));
            // After the push that has the room of the first value.
            shared.seen(2);
        });
        shared.add(2);
        assert_eq!((shared.pop(), shared.pop()), (0, 1));
        pushes.join().unwrap();
    });
}

// Here and below, those that are to sleep, or to come second, come first or second in the first schedule: loom
// takes back what another thread has changed before a load, and does not try what a load would have found later.

/// Two consumers that sleep, of which a push wakes one, and the next push none.
#[test]
fn two_consumers_that_sleep() {
    explore(1, 2, |shared| {
        let pops = beside(&shared, |shared| _ = shared.pop());
        let pushes = beside(&shared, |shared| (0..2).for_each(|number| shared.push(number)));
        shared.pop();
        pops.join().unwrap();
        pushes.join().unwrap();
        assert!(shared.queue.is_empty());
    });
}

/// Two producers that sleep, of which a pop wakes one, and the next pop none.
#[test]
fn two_producers_that_sleep() {
    explore(1, 2, |shared| {
        (0..2).for_each(|number| shared.push(number));
        let pushes = beside(&shared, |shared| shared.push(2));
        let pops = beside(&shared, |shared| assert_eq!((shared.pop(), shared.pop()), (0, 1)));
        shared.push(3);
        pushes.join().unwrap();
        pops.join().unwrap();
        assert!(shared.queue.is_full());
    });
}

/// What is done before a pop is seen after the push that has its room.
#[test]
fn what_was_done_before_a_pop() {
    explore(2, 1, |shared| {
        shared.push(0);
        let pushes = beside(&shared, |shared| {
            if shared.queue.try_push(1).is_ok() {
                shared.seen(2);
            }
        });
        shared.add(2);
        assert_eq!(shared.queue.try_pop(), TryPop::Value(0));
        pushes.join().unwrap();
    });
}

/// What is pushed before the queue is closed is popped before a pop returns `None`.
#[test]
fn closing_for_consumers() {
    explore(3, 2, |shared| {
        let closes = beside(&shared, |shared| {
            shared.push(0);
            shared.queue.close();
        });
        assert_eq!((shared.pop(), shared.queue.pop()), (0, None));
        closes.join().unwrap();
    });
}

/// Producers that wait for room have their values back when the queue is closed.
#[test]
fn closing_for_producers() {
    explore(2, 1, |shared| {
        shared.push(0);
        let pushes = |shared: &Shared| assert_eq!(shared.queue.push(1), Err(1));
        let (first, second) = (beside(&shared, pushes), beside(&shared, pushes));
        shared.queue.close();
        first.join().unwrap();
        second.join().unwrap();
        assert_eq!((shared.pop(), shared.queue.pop()), (0, None));
    });
}

/// A push by force into a full queue, beside a producer that waits for room, which it does not make.
#[test]
fn a_push_by_force_and_a_producer_that_sleeps() {
    explore(2, 1, |shared| {
        shared.push(0);
        let pushes = beside(&shared, |shared| shared.push(1));
        shared.add(2);
        let displaced = shared.queue.force_push(2);
        displaced.into_iter().for_each(|number| shared.seen(number));
        let popped: Vec<_> = (displaced.into_iter().count()..3).map(|_| shared.pop()).collect();
        assert_eq!(displaced.into_iter().chain(popped).sum::<usize>(), 3);
        pushes.join().unwrap();
    });
}

/// A push by force into a full queue, beside a consumer that may sleep meanwhile.
#[test]
fn a_push_by_force_and_a_consumer() {
    explore(3, 1, |shared| {
        shared.push(0);
        let pops = beside(&shared, |shared| {
            shared.pop();
        });
        shared.add(1);
        match shared.queue.force_push(1) {
            Some(displaced) => shared.seen(displaced),
            None => _ = shared.pop(),
        }
        pops.join().unwrap();
        assert_eq!(shared.queue.try_pop(), TryPop::Empty);
    });
}

/// A queue that is never empty.
#[test]
fn a_look_at_a_queue_with_values() {
    explore(2, 4, |shared| {
        shared.push(0);
        let looks = beside(&shared, |shared| {
            assert!(!shared.queue.is_empty(), "a queue with a value looks empty");
        });
        shared.push(1);
        shared.pop();
        looks.join().unwrap();
    });
}

/// A queue that is never full.
#[test]
fn a_look_at_a_queue_with_room() {
    explore(2, 2, |shared| {
        shared.push(0);
        let looks = beside(&shared, |shared| {
            assert!(!shared.queue.is_full(), "a queue with room looks full");
        });
        shared.pop();
        shared.push(1);
        looks.join().unwrap();
    });
}

/// A queue that has one value or two, each time that it is looked at.
#[test]
fn a_count_of_values() {
    explore(2, 4, |shared| {
        shared.push(0);
        let looks = beside(&shared, |shared| {
            assert!((1..=2).contains(&shared.queue.len()), "another number of values");
        });
        shared.push(1);
        shared.pop();
        shared.push(2);
        shared.pop();
        looks.join().unwrap();
    });
}

/// Runs a future of a task that is this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    let parker = Arc::new(Parker(<Event>::new()));
    let waker = Waker::from(parker.clone());
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        parker.0.wait();
        parker.0.clear();
        // One that has woken itself waits for another thread.
        thread::yield_now();
    }
}

struct Parker(Event);

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        self.0.set();
    }
}

/// A task that waits for a value, and one that waits for room.
#[test]
fn a_task_at_each_end() {
    explore(2, 1, |shared| {
        let pushes = beside(&shared, |shared| {
            for number in 0..2 {
                shared.add(number);
                assert_eq!(block_on(shared.queue.push_async(number)), Ok(()));
            }
        });
        for number in 0..2 {
            assert_eq!(block_on(shared.queue.pop_async()), Some(number));
            shared.seen(number);
        }
        pushes.join().unwrap();
    });
}

/// A task and a thread that wait for values; the task's first future gives up.
#[test]
fn a_task_that_gives_up_beside_a_thread() {
    explore(2, 2, |shared| {
        let gives_up = beside(&shared, |shared| {
            let mut future = pin!(shared.queue.pop_async());
            match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(number) => shared.seen(number.unwrap()),
                Poll::Pending => thread::yield_now(),
            }
        });
        shared.push(0);
        let pops = beside(&shared, |shared| {
            if shared.queue.pop().map(|number| shared.seen(number)).is_none() {
                assert!(shared.queue.is_closed());
            }
        });
        gives_up.join().unwrap();
        shared.queue.close();
        pops.join().unwrap();
        assert_eq!(shared.queue.pop(), None);
    });
}
