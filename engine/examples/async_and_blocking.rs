//! Blocked threads and futures that wait on one word, in one queue: they are woken in the order in
//! which they came, whichever kind they are.
//!
//! The executor has twenty lines: it polls futures on one thread, which parks until a waker unparks
//! it.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use leeward_engine::Wait;
use leeward_engine::parking::ParkingLot;

/// A waker that unparks a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls two futures until both have ended: two tasks on one thread.
fn block_on_both<A: Future, B: Future>(first: A, second: B) -> (A::Output, B::Output) {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let (mut first, mut second) = (pin!(first), pin!(second));
    let (mut one, mut other) = (None, None);
    loop {
        if one.is_none() {
            if let Poll::Ready(answer) = first.as_mut().poll(&mut context) {
                one = Some(answer);
            }
        }
        if other.is_none() {
            if let Poll::Ready(answer) = second.as_mut().poll(&mut context) {
                other = Some(answer);
            }
        }
        match (one.take(), other.take()) {
            (Some(one), Some(other)) => return (one, other),
            left => (one, other) = left,
        }
        thread::park();
    }
}

fn main() {
    let lot = &ParkingLot::new(4).expect("memory for a table");
    let word = &AtomicU32::new(0);
    let order = &Mutex::new(Vec::new());
    let came = |who: &'static str| order.lock().unwrap().push(who);
    let waiters = || lot.stats().waiters + lot.global_stats().waiters;
    let until = |count| {
        while waiters() != count {
            thread::yield_now();
        }
    };
    let task = |who: &'static str| async move {
        let answer = lot.wait_async(word, 0).await;
        came(who);
        answer
    };
    let block = |who: &'static str| {
        let answer = lot.wait(word, 0, None);
        came(who);
        answer
    };

    thread::scope(|threads| {
        // The order in which they come to wait: a thread, two tasks of one thread, a thread.
        let first = threads.spawn(move || block("thread 1"));
        until(1);
        let tasks = threads.spawn(move || block_on_both(task("task 1"), task("task 2")));
        until(3);
        let last = threads.spawn(move || block("thread 2"));
        until(4);

        // The word keeps its value, so a waiter that compares it once more before it sleeps keeps
        // its place.
        for woken in 1..=4 {
            assert_eq!(lot.wake(word, 1), 1);
            while order.lock().unwrap().len() < woken {
                thread::yield_now();
            }
        }
        assert_eq!(lot.wake(word, 1), 0);
        assert_eq!((first.join().unwrap(), last.join().unwrap()), (Wait::Woken, Wait::Woken));
        assert_eq!(tasks.join().unwrap(), (Wait::Woken, Wait::Woken));
    });
    let order = order.lock().unwrap();
    println!("woken in the order in which they came: {}", order.join(", "));
    assert_eq!(*order, ["thread 1", "task 1", "task 2", "thread 2"]);
}
