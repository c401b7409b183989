//! More of the engine's code under loom: futures, and waits on several words.

use core::pin::pin;
use core::task::{Context, Waker};
use std::boxed::Box;
use std::future::Future;
use std::sync::Arc;

use loom::thread;

use crate::loom::host::{ANY, Case, FROM, SOON, TO, explore};
use crate::{Deadline, Wait, WaitAny, WaitEntry};

#[test]
fn a_future_that_is_dropped_passes_its_wake_on() {
    explore(2, || {
        let case = Case::new(1);
        let waker = case.spawn(|case| {
            case.store(FROM);
            case.wake(FROM, 1)
        });
        let waiter = case.spawn(|case| case.wait(FROM, None));
        {
            let mut future = Box::pin(case.engine.wait_async(&*case.host, FROM, 0, ANY));
            _ = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        }
        waker.join().unwrap();
        // The one wake is for the thread, if it sleeps: the future is gone.
        waiter.join().unwrap();
        assert!(case.is_empty());
    });
}

/// A waker that ends a thread's park.
struct Unpark(thread::Thread);
impl std::task::Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[test]
fn a_future_polled_anew_tells_the_last_context() {
    explore(3, || {
        let case = Case::new(1);
        let waker = case.spawn(|case| {
            case.store(FROM);
            case.wake(FROM, 1)
        });
        let mut future = pin!(case.engine.wait_async(&*case.host, FROM, 0, ANY));
        if future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
            let tell = Waker::from(Arc::new(Unpark(thread::current())));
            while future.as_mut().poll(&mut Context::from_waker(&tell)).is_pending() {
                thread::park();
            }
        }
        waker.join().unwrap();
        assert!(case.is_empty());
    });
}

fn waitv(case: &Case, until: Option<Deadline>) -> WaitAny {
    let mut entries = [WaitEntry::new(FROM, 0), WaitEntry::new(TO, 0)];
    case.engine.waitv(&case.host, &mut entries, until).unwrap()
}

#[test]
fn a_wait_on_two_words_and_a_wake_of_one() {
    explore(3, || {
        let case = Case::new(2);
        let waiter = case.spawn(|case| waitv(case, None));
        case.store(TO);
        let woken = case.wake(TO, 1);
        assert_eq!(waiter.join().unwrap(), if woken == 1 { WaitAny::Woken(1) } else { WaitAny::Changed });
        assert!(case.is_empty());
    });
}

#[test]
fn a_wait_on_two_words_and_a_wake_of_each() {
    explore(2, || {
        let case = Case::new(2);
        let waiter = case.spawn(|case| waitv(case, None));
        let other = case.spawn(|case| {
            case.store(FROM);
            case.wake(FROM, 1)
        });
        case.store(TO);
        let woken = case.wake(TO, 1);
        let end = waiter.join().unwrap();
        match (other.join().unwrap(), woken) {
            (0, 0) => assert_eq!(end, WaitAny::Changed),
            (1, 0) => assert_eq!(end, WaitAny::Woken(0)),
            _ => assert_eq!(end, WaitAny::Woken(1)),
        }
        assert!(case.is_empty());
    });
}

#[test]
fn a_wait_on_two_words_that_times_out_eats_no_wake() {
    explore(2, || {
        let case = Case::new(2);
        let timed = case.spawn(|case| waitv(case, SOON));
        let waiter = case.spawn(|case| case.wait(TO, None));
        case.store(TO);
        let woken = case.wake(TO, 2);
        let by_group = timed.join().unwrap() == WaitAny::Woken(1);
        let by_waiter = waiter.join().unwrap() == Wait::Woken;
        assert_eq!(woken, u32::from(by_group) + u32::from(by_waiter));
        assert!(case.is_empty());
    });
}
