//! A bounded queue: producers wait while it is full, consumers while it is empty.
//!
//! (For programs there is `leeward::collect::Bounded`. This shows condition variables.)
//!
//! It is made of one mutex and two condition variables. Each notification is issued while the lock
//! is held: the waiter is moved to the lock, and runs when that is unlocked.
//!
//! `cargo run --release -p leeward --example bounded_queue`

use std::collections::VecDeque;

use leeward::sync::{Condvar, Mutex};

struct Queue<T> {
    items: Mutex<VecDeque<T>>,
    limit: usize,
    not_empty: Condvar,
    not_full: Condvar,
}

impl<T> Queue<T> {
    fn new(limit: usize) -> Queue<T> {
        Queue {
            items: Mutex::new(VecDeque::with_capacity(limit)),
            limit,
            not_empty: Condvar::new(),
            not_full: Condvar::new(),
        }
    }

    fn push(&self, item: T) {
        let mut items = self.items.lock();
        self.not_full.wait_while(&mut items, |items| items.len() == self.limit);
        items.push_back(item);
        self.not_empty.notify_one();
    }

    fn pop(&self) -> T {
        let mut items = self.items.lock();
        self.not_empty.wait_while(&mut items, |items| items.is_empty());
        let item = items.pop_front().expect("it is not empty");
        self.not_full.notify_one();
        item
    }
}

fn main() {
    const PRODUCERS: u64 = 3;
    const CONSUMERS: u64 = 3;
    const EACH: u64 = 2_000;

    let queue = Queue::new(8);
    let sum: u64 = std::thread::scope(|scope| {
        for producer in 0..PRODUCERS {
            let queue = &queue;
            scope.spawn(move || (0..EACH).for_each(|item| queue.push(producer * EACH + item)));
        }
        let consumers: Vec<_> = (0..CONSUMERS)
            .map(|_| scope.spawn(|| (0..EACH * PRODUCERS / CONSUMERS).map(|_| queue.pop()).sum::<u64>()))
            .collect();
        consumers.into_iter().map(|consumer| consumer.join().expect("a consumer panicked")).sum()
    });

    let all = PRODUCERS * EACH;
    println!("{all} items went through a queue of {}", queue.limit);
    assert_eq!(sum, all * (all - 1) / 2, "an item was lost, or came twice");
}
