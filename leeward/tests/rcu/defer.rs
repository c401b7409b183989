//! Deferred callbacks and retired values: after a grace period, in order, once, and never more than
//! the limit; and polling.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/cases.rs"]
mod cases;
#[path = "../common/mod.rs"]
mod common;

use common::*;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use leeward::rcu::{Cookie, Domain, Limit, NotQueued, Policy, RcuCell, RcuOption, Reader, Retired};

macro_rules! domain {
    () => {
        leeward::rcu_domain! { struct D; }
    };
}

/// Returns a flag, and a callback that sets it.
fn flag() -> (Arc<AtomicBool>, impl FnOnce() + Send + 'static) {
    let flag = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&flag);
    (flag, move || set.store(true, Ordering::SeqCst))
}

#[test]
fn callbacks_run_after_a_grace_period() {
    domain!();
    let _dog = Watchdog::new("callbacks_run_after_a_grace_period");
    for _ in 0..5 {
        let guard = D::read();
        let (ran, callback) = flag();
        D::defer(callback);
        never("a callback ran under a section that was open", || ran.load(Ordering::SeqCst));
        drop(guard);
        // No further call asks for it.
        eventually("the callback runs", || ran.load(Ordering::SeqCst));
    }
}

#[test]
fn callbacks_run_in_order() {
    domain!();
    let _dog = Watchdog::new("callbacks_run_in_order");
    let order = Arc::new(Mutex::new(Vec::new()));
    for n in 0..10_000 {
        let order = Arc::clone(&order);
        D::defer(move || order.lock().unwrap().push(n));
        if n % 97 == 0 {
            thread::yield_now();
        }
    }
    D::barrier();
    assert!(order.lock().unwrap().iter().copied().eq(0..10_000));
}

/// A batch costs one grace period, however many callbacks it holds.
#[test]
fn a_batch_is_one_grace_period() {
    domain!();
    let _dog = Watchdog::new("a_batch_is_one_grace_period");
    let guard = D::read();
    D::defer(|| {});
    // The worker has taken that callback, and waits for this thread.
    eventually("the worker sleeps", || D::stats().sleeps > 0);
    for _ in 0..5_000 {
        D::defer(|| {});
    }
    let before = D::stats().grace_periods;
    drop(guard);
    D::barrier();
    let stats = D::stats();
    assert_eq!(stats.grace_periods - before, 2, "{stats:?}");
    assert_eq!((stats.callbacks_run, stats.callbacks_queued, stats.bytes_queued), (5_001, 0, 0));
}

mod barriers {
    use super::*;

    #[test]
    fn wait_for_everything_before() {
        domain!();
        let _dog = Watchdog::new("wait_for_everything_before");
        for _ in 0..200 {
            let (ran, callback) = flag();
            D::defer(callback);
            D::barrier();
            assert!(ran.load(Ordering::SeqCst), "barrier() returned before a callback had run");
        }
    }

    #[test]
    fn wait_for_the_batch_that_is_running() {
        domain!();
        let _dog = Watchdog::new("wait_for_the_batch_that_is_running");
        let (started, start) = flag();
        let (ended, end) = flag();
        D::defer(move || {
            start();
            thread::sleep(Duration::from_millis(20));
            end();
        });
        eventually("the callback runs", || started.load(Ordering::SeqCst));
        D::barrier();
        assert!(ended.load(Ordering::SeqCst), "barrier() returned in the midst of a callback");
    }

    #[test]
    fn of_many_threads_at_once() {
        domain!();
        let _dog = Watchdog::new("of_many_threads_at_once");
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let (ran, callback) = flag();
                        D::defer(callback);
                        D::barrier();
                        assert!(ran.load(Ordering::SeqCst));
                    }
                });
            }
        });
        assert_eq!(D::stats().callbacks_run, 2_000);
    }

    #[test]
    fn cost_nothing_when_idle() {
        domain!();
        let _dog = Watchdog::new("cost_nothing_when_idle");
        D::defer(|| {});
        D::barrier();
        let before = D::stats();
        D::barrier();
        assert_eq!(D::stats().grace_periods, before.grace_periods);
    }

    /// No clock is involved: a callback and its barrier take some grace periods, not some
    /// milliseconds.
    #[test]
    fn are_prompt() {
        domain!();
        let _dog = Watchdog::new("are_prompt");
        let times = (0..101).map(|_| {
            let start = Instant::now();
            D::defer(|| {});
            D::barrier();
            start.elapsed()
        });
        // The shortest time: a clock would delay each, since each begins when the one before has
        // ended; a busy machine does not.
        let shortest = times.min().unwrap();
        assert!(shortest < Duration::from_millis(8), "every barrier took longer than {shortest:?}");
        let before = D::stats().grace_periods;
        D::defer(|| {});
        D::barrier();
        assert!(D::stats().grace_periods - before <= 2);
    }
}

#[test]
fn a_panic_is_counted_and_the_queue_goes_on() {
    domain!();
    let _dog = Watchdog::new("a_panic_is_counted_and_the_queue_goes_on");
    /// Panics when its panic is dropped.
    struct Twice;
    impl Drop for Twice {
        fn drop(&mut self) {
            panic!("again");
        }
    }
    // The panics that are meant are not printed.
    let loudly = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let meant = |text: &&str| text.starts_with("a panic in a callback") || *text == "again";
        if !info.payload().is::<Twice>() && !info.payload().downcast_ref().is_some_and(meant) {
            loudly(info);
        }
    }));
    for n in 0..100 {
        match n % 4 {
            0 => D::defer(|| panic!("a panic in a callback, which this test wants")),
            1 => D::defer(|| std::panic::panic_any(Twice)),
            _ => D::defer(|| {}),
        }
    }
    D::barrier();
    let (ran, callback) = flag();
    D::defer(callback);
    D::barrier();
    assert!(ran.load(Ordering::SeqCst));
    let stats = D::stats();
    assert_eq!((stats.callbacks_run, stats.callback_panics), (101, 50));
    assert_eq!((stats.callbacks_queued, stats.bytes_queued), (0, 0));
}

#[path = "defer/limits.rs"]
mod limits;

mod polling {
    use super::*;

    fn is_ready<D: Domain>(cookie: Cookie<D>) -> impl Fn() -> bool {
        move || D::poll_state(&cookie)
    }

    #[test]
    fn nobody_has_to_ask_twice() {
        domain!();
        let _dog = Watchdog::new("nobody_has_to_ask_twice");
        for _ in 0..20 {
            let before = D::stats().grace_periods;
            let cookie = D::start_poll();
            // It does so without polling.
            eventually("the grace period runs by itself", || D::stats().grace_periods > before);
            eventually("the cookie is ready", is_ready(cookie));
            assert!(D::stats().grace_periods - before <= 3);
        }
    }

    #[test]
    fn waits_for_readers() {
        domain!();
        let _dog = Watchdog::new("waits_for_readers");
        let guard = D::read();
        let cookie = D::start_poll();
        never("a cookie was ready under a section that was open", is_ready(cookie));
        drop(guard);
        eventually("the cookie is ready", is_ready(cookie));
        // An old cookie is ready, whatever else waits now.
        let _guard = D::read();
        assert!(D::poll_state(&cookie));
    }

    #[test]
    fn is_prompt() {
        domain!();
        let _dog = Watchdog::new("is_prompt");
        let times = (0..101).map(|_| {
            let start = Instant::now();
            let cookie = D::start_poll();
            while !D::poll_state(&cookie) {
                thread::yield_now();
            }
            start.elapsed()
        });
        let shortest = times.min().unwrap();
        assert!(shortest < Duration::from_millis(8), "every cookie took longer than {shortest:?}");
    }
}

#[path = "defer/raw.rs"]
mod raw;
#[path = "defer/retired.rs"]
mod retired;
#[path = "defer/twice.rs"]
mod twice;
#[path = "defer/unwinding.rs"]
mod unwinding;

/// One domain's callbacks may defer to another domain, and wait for it.
#[test]
fn across_domains() {
    leeward::rcu_domain! { struct One; struct Other; }
    let _dog = Watchdog::new("across_domains");
    let (ran, callback) = flag();
    One::defer(move || {
        Other::defer(callback);
        Other::barrier();
    });
    One::barrier();
    assert!(ran.load(Ordering::SeqCst));
}

/// A callback sees what its caller did before queueing it, also where only the queue carries it to
/// the worker. (Under ThreadSanitizer; elsewhere this says little.)
#[test]
fn what_callbacks_carry() {
    domain!();
    let _dog = Watchdog::new("what_callbacks_carry");
    static IS_IN: AtomicBool = AtomicBool::new(false);
    static LEAVE: AtomicBool = AtomicBool::new(false);
    D::defer(|| {
        // Relaxed: nothing here may order what is queued meanwhile.
        IS_IN.store(true, Ordering::Relaxed);
        while !LEAVE.load(Ordering::Relaxed) {
            thread::yield_now();
        }
    });
    while !IS_IN.load(Ordering::Relaxed) {
        thread::yield_now();
    }
    let sum = Arc::new(AtomicU64::new(0));
    for n in 0..10 {
        let (number, sum) = (Box::new(n), Arc::clone(&sum));
        D::defer(move || {
            sum.fetch_add(*number, Ordering::Relaxed);
        });
    }
    LEAVE.store(true, Ordering::Relaxed);
    D::barrier();
    assert_eq!(sum.load(Ordering::Relaxed), 45);
}

#[test]
#[ignore = "a case of `twice`, in a process of its own"]
fn case() {
    twice::case();
}
