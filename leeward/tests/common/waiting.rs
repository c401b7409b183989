//! The calls of `rcu`, `hazard` and `collect` that wait for a grace period or for callbacks, or go on
//! with one, as a table. A program tries each call in a place of its own, and says in a table by these
//! names how it must end there.

#![allow(dead_code, missing_docs)]

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use leeward::collect::{Bounded, HashMap, Queue};
use leeward::hazard;
use leeward::rcu::epoch::Collector;
use leeward::rcu::{Domain, Limit, Policy, RcuCell};

leeward::rcu_domain! {
    /// The domain of the calls.
    pub struct D;
}

/// How a call ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    Returns,
    /// It panics, and the message has this in it.
    Panics(&'static str),
}

/// The calls, each with its name.
pub const CALLS: &[(&str, fn())] = &[
    ("Domain::synchronize", D::synchronize),
    ("Domain::barrier", || {
        D::defer(|| {});
        D::barrier();
    }),
    ("Domain::poll_state", || {
        let cookie = D::start_poll();
        while !D::poll_state(&cookie) {
            thread::yield_now();
        }
    }),
    ("Domain::synchronize_async", || block_on(D::synchronize_async())),
    ("Domain::defer, Wait", || defer_at_the_limit(Policy::Wait(HOUR))),
    ("Domain::defer, WaitForever", || defer_at_the_limit(Policy::WaitForever)),
    ("Domain::defer, Expedite", || defer_at_the_limit(Policy::Expedite(HOUR))),
    ("Domain::try_defer", || {
        D::set_limit(Limit { callbacks: 1, ..Limit::default() });
        let _ = (D::try_defer(|| {}), D::try_defer(|| {}));
    }),
    ("Retired::synchronize", || assert_eq!(*RcuCell::<_, D>::new_in(1).replace(2).synchronize(), 1)),
    ("Retired::try_into_box", || {
        let mut retired = RcuCell::<_, D>::new_in(1).replace(2);
        while let Err(again) = retired.try_into_box() {
            retired = again;
            thread::yield_now();
        }
    }),
    ("Retired::reclaimed", || assert_eq!(*block_on(RcuCell::<_, D>::new_in(1).replace(2).reclaimed()), 1)),
    ("Retired::drop", || {
        D::set_limit(Limit { callbacks: 1, policy: Policy::Wait(HOUR), ..Limit::default() });
        let cell = RcuCell::<_, D>::new_in(0);
        (1..4).for_each(|value| drop(cell.replace(value)));
    }),
    ("hazard::reclaim", || {
        let cell = hazard::Cell::new(0);
        (1..1_000).for_each(|value| cell.store(value));
        hazard::reclaim();
    }),
    ("Collector::synchronize", || {
        let collector = Collector::new();
        let handle = collector.register();
        handle.pin().defer(|| {});
        collector.synchronize();
        handle.pin().flush();
    }),
    ("HashMap", || {
        let map = HashMap::new();
        for round in 0..2_000 {
            map.insert(round % 10, Box::new(round));
        }
        map.clear();
    }),
    ("Queue::pop", || {
        let queue = <Queue<u32>>::new();
        queue.push(1);
        assert_eq!(queue.pop(), Some(1));
    }),
    ("Bounded::pop", || {
        let queue = Bounded::with_capacity(1);
        queue.push(1).unwrap();
        assert_eq!(queue.pop(), Some(1));
    }),
];

/// A time that nothing here waits for.
const HOUR: Duration = Duration::from_secs(3_600);

/// Defers up to the limit and beyond. (One callback is within each limit.)
fn defer_at_the_limit(policy: Policy) {
    D::set_limit(Limit { callbacks: 1, policy, ..Limit::default() });
    (0..4).for_each(|_| D::defer(|| {}));
}

/// Makes the call of that name, and returns how it ended: the message of its panic, if it panicked.
pub fn call(name: &str) -> Result<(), String> {
    let (_, call) = CALLS.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("no such call: `{name}`"));
    let ended = catch_unwind(AssertUnwindSafe(call)).map_err(|panic| match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(other) => other.downcast_ref::<&str>().map(|text| (*text).to_owned()).unwrap_or_default(),
    });
    D::set_limit(Limit::default());
    ended
}

/// Asserts that a call ended so.
#[track_caller]
pub fn must_end(name: &str, place: &str, end: End, ended: &Result<(), String>) {
    let is_so = match (end, ended) {
        (End::Returns, Ok(())) => true,
        (End::Panics(message), Err(said)) => said.contains(message),
        _ => false,
    };
    assert!(is_so, "{name}, {place}: must be {end:?}, and was {ended:?}");
}

/// Asserts that a table has each call once, in this order.
#[track_caller]
pub fn has_each<'a>(names: impl Iterator<Item = &'a str>) {
    let calls: Vec<_> = CALLS.iter().map(|(name, _)| *name).collect();
    assert_eq!(names.collect::<Vec<_>>(), calls, "the table has each call once");
}

/// Runs a future on this thread.
pub fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        thread::park();
    }
}
