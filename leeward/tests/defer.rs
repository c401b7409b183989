//! Deferred callbacks and retired values: after a grace period, in order, once, and never more than the limit; and polling.

#![cfg(all(target_os = "linux", feature = "std", not(leeward_loom)))]
#![allow(missing_docs)]

mod common;

use common::*;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use leeward::rcu::{Cookie, Domain, Full, Limit, Policy, RcuCell, RcuOption, Reader, Retired};

macro_rules! domain {
    () => {
        leeward::rcu_domain! { struct D; }
    };
}

/// A flag, and a callback that sets it.
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
        // Nobody asks again.
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

/// A batch costs one grace period, however many it holds.
#[test]
fn a_batch_is_one_grace_period() {
    domain!();
    let _dog = Watchdog::new("a_batch_is_one_grace_period");
    let guard = D::read();
    D::defer(|| {});
    // The worker has taken that one, and waits for us.
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

    /// No clock anywhere: a callback and its barrier take some grace periods, not some milliseconds.
    #[test]
    fn are_prompt() {
        domain!();
        let _dog = Watchdog::new("are_prompt");
        let mut times: Vec<_> = (0..101)
            .map(|_| {
                let start = Instant::now();
                D::defer(|| {});
                D::barrier();
                start.elapsed()
            })
            .collect();
        times.sort();
        assert!(times[50] < Duration::from_millis(8), "half of the barriers took longer than {:?}", times[50]);
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

mod limits {
    use super::*;

    fn limit<D: Domain>(callbacks: usize, policy: Policy) {
        D::set_limit(Limit { callbacks, policy, ..Limit::default() });
    }

    /// The most that were queued at any time, counted by the callbacks' owners.
    struct Mark {
        now: AtomicUsize,
        most: AtomicUsize,
    }

    impl Mark {
        const fn new() -> Mark {
            Mark { now: AtomicUsize::new(0), most: AtomicUsize::new(0) }
        }

        fn watch<D: Domain>(&self) {
            let queued = D::stats().callbacks_queued as usize;
            self.most.fetch_max(queued, Ordering::Relaxed);
        }
    }

    #[test]
    fn block_waits_and_is_bounded() {
        domain!();
        static MARK: Mark = Mark::new();
        const LIMIT: usize = 64;
        let _dog = Watchdog::new("block_waits_and_is_bounded");
        limit::<D>(LIMIT, Policy::Block);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..3_000 {
                        D::defer(|| {
                            MARK.now.fetch_add(1, Ordering::Relaxed);
                        });
                        MARK.watch::<D>();
                    }
                });
            }
        });
        D::barrier();
        let most = MARK.most.load(Ordering::Relaxed);
        assert!(most <= LIMIT, "{most} callbacks were queued at a limit of {LIMIT}");
        assert_eq!(MARK.now.load(Ordering::Relaxed), 9_000);
        assert_eq!(D::stats().over_limit, 0);
    }

    #[test]
    fn block_waits_for_a_reader() {
        domain!();
        let _dog = Watchdog::new("block_waits_for_a_reader");
        limit::<D>(4, Policy::Block);
        let reader = Reader::<D>::register();
        let (entered, inside) = std::sync::mpsc::channel();
        let (leave, told) = std::sync::mpsc::channel::<()>();
        drop(reader);
        let other = thread::spawn(move || {
            let guard = D::read();
            entered.send(()).unwrap();
            told.recv().unwrap();
            drop(guard);
        });
        inside.recv().unwrap();
        (0..4).for_each(|_| D::defer(|| {}));
        let blocked = thread::spawn(|| D::defer(|| {}));
        never("a caller went beyond the limit", || blocked.is_finished() || D::stats().callbacks_queued > 4);
        leave.send(()).unwrap();
        blocked.join().unwrap();
        other.join().unwrap();
        D::barrier();
        assert_eq!((D::stats().callbacks_run, D::stats().over_limit), (5, 0));
    }

    /// Raising the limit lets those go who wait.
    #[test]
    fn may_be_raised_under_a_caller_that_waits() {
        domain!();
        let _dog = Watchdog::new("may_be_raised_under_a_caller_that_waits");
        limit::<D>(1, Policy::Block);
        let guard = D::read();
        D::defer(|| {});
        let blocked = thread::spawn(|| D::defer(|| {}));
        never("a caller went beyond the limit", || blocked.is_finished());
        limit::<D>(2, Policy::Block);
        blocked.join().unwrap();
        drop(guard);
        D::barrier();
    }

    #[test]
    fn what_was_set_can_be_asked() {
        leeward::rcu_domain! { struct D; struct Other; }
        let _dog = Watchdog::new("what_was_set_can_be_asked");
        assert_eq!(D::limit(), Limit::default());
        let limit = Limit { callbacks: 3, bytes: 5_000, policy: Policy::Expedite };
        D::set_limit(limit);
        assert_eq!((D::limit(), Other::limit()), (limit, Limit::default()));
        D::set_limit(Limit { bytes: 1, ..D::limit() });
        assert_eq!(D::limit(), Limit { bytes: 1, ..limit });
    }

    #[test]
    fn bytes_are_bounded_too() {
        domain!();
        let _dog = Watchdog::new("bytes_are_bounded_too");
        const LIMIT: usize = 10_000;
        D::set_limit(Limit { bytes: LIMIT, ..Limit::default() });
        let cell = RcuCell::<_, D>::new([0u8; 1_000]);
        let most = AtomicU64::new(0);
        for n in 0..500u32 {
            cell.replace([n as u8; 1_000]).defer();
            most.fetch_max(D::stats().bytes_queued, Ordering::Relaxed);
        }
        // One that is larger than the limit is let in alone.
        for _ in 0..3 {
            cell.replace([0; 1_000]).defer_bytes(5 * LIMIT);
        }
        D::barrier();
        let most = most.load(Ordering::Relaxed);
        assert!(most <= LIMIT as u64, "{most} bytes were queued at a limit of {LIMIT}");
        let stats = D::stats();
        assert_eq!((stats.callbacks_run, stats.bytes_queued), (503, 0));
    }

    #[test]
    fn expedite_runs_them_here() {
        domain!();
        let _dog = Watchdog::new("expedite_runs_them_here");
        const LIMIT: usize = 8;
        limit::<D>(LIMIT, Policy::Expedite);
        static HERE: AtomicUsize = AtomicUsize::new(0);
        thread_local! {
            static PRODUCER: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
        }
        PRODUCER.set(true);
        for _ in 0..20_000 {
            D::defer(|| {
                HERE.fetch_add(usize::from(PRODUCER.get()), Ordering::Relaxed);
            });
            assert!(D::stats().callbacks_queued as usize <= LIMIT);
        }
        D::barrier();
        assert_eq!(D::stats().callbacks_run, 20_000);
        assert!(HERE.load(Ordering::Relaxed) > 0, "the caller never helped");
    }

    #[test]
    fn try_defer_gives_the_closure_back() {
        domain!();
        let _dog = Watchdog::new("try_defer_gives_the_closure_back");
        limit::<D>(2, Policy::Block);
        let guard = D::read();
        assert!(D::try_defer(|| {}).is_ok());
        assert!(D::try_defer(|| {}).is_ok());
        let token = Arc::new(7);
        let held = Arc::clone(&token);
        let (ran, callback) = flag();
        let Err(Full(back)) = D::try_defer(move || {
            assert_eq!(*held, 7);
            callback();
        }) else {
            panic!("there was no room for a third");
        };
        assert_eq!(Arc::strong_count(&token), 2);
        assert!(!ran.load(Ordering::SeqCst));
        back();
        assert!(ran.load(Ordering::SeqCst));
        assert_eq!(Arc::strong_count(&token), 1);
        // A retired value as well.
        let cell = RcuCell::<_, D>::new(String::from("old"));
        let Err(retired) = cell.replace(String::from("new")).try_defer() else {
            panic!("there was no room for a value")
        };
        assert_eq!(&*retired, "old");
        drop(guard);
        D::barrier();
        assert!(retired.try_defer().is_ok());
        D::barrier();
    }

    #[test]
    fn inside_a_section_they_are_exceeded_and_that_is_counted() {
        domain!();
        let _dog = Watchdog::new("inside_a_section_they_are_exceeded_and_that_is_counted");
        for policy in [Policy::Block, Policy::Expedite] {
            limit::<D>(3, policy);
            let before = D::stats();
            let guard = D::read();
            (0..10).for_each(|_| D::defer(|| {}));
            assert_eq!(D::stats().over_limit - before.over_limit, 7);
            drop(guard);
            D::barrier();
            let reader = Reader::<D>::register();
            let guard = reader.read();
            (0..10).for_each(|_| D::defer(|| {}));
            assert_eq!(D::stats().over_limit - before.over_limit, 14);
            drop(guard);
            D::barrier();
            assert_eq!(D::stats().callbacks_run - before.callbacks_run, 20);
        }
    }

    #[test]
    fn inside_a_callback_they_are_exceeded_and_that_is_counted() {
        domain!();
        let _dog = Watchdog::new("inside_a_callback_they_are_exceeded_and_that_is_counted");
        limit::<D>(2, Policy::Block);
        let ran = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&ran);
        D::defer(move || {
            for _ in 0..10 {
                let count = Arc::clone(&count);
                D::defer(move || {
                    count.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        eventually("all of them run", || ran.load(Ordering::SeqCst) == 10);
        assert!(D::stats().over_limit >= 8);
    }
}

mod polling {
    use super::*;

    fn is_ready<D: Domain>(cookie: Cookie<D>) -> impl Fn() -> bool {
        move || D::poll(&cookie)
    }

    #[test]
    fn nobody_has_to_ask_twice() {
        domain!();
        let _dog = Watchdog::new("nobody_has_to_ask_twice");
        for _ in 0..20 {
            let before = D::stats().grace_periods;
            let cookie = D::start_poll();
            // Not even by polling.
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
        // An old one is ready, whoever waits for whom now.
        let _guard = D::read();
        assert!(D::poll(&cookie));
    }

    #[test]
    fn is_prompt() {
        domain!();
        let _dog = Watchdog::new("is_prompt");
        let mut times: Vec<_> = (0..101)
            .map(|_| {
                let start = Instant::now();
                let cookie = D::start_poll();
                while !D::poll(&cookie) {
                    thread::yield_now();
                }
                start.elapsed()
            })
            .collect();
        times.sort();
        assert!(times[50] < Duration::from_millis(8), "half of the cookies took longer than {:?}", times[50]);
    }
}

mod retired {
    use super::*;

    /// How often each value was dropped.
    struct Drops(Vec<AtomicU64>);

    struct Value {
        number: usize,
        drops: Arc<Drops>,
    }

    impl Drop for Value {
        fn drop(&mut self) {
            self.drops.0[self.number].fetch_add(1, Ordering::SeqCst);
        }
    }

    fn values(count: usize) -> (Arc<Drops>, impl FnMut() -> Value) {
        let drops = Arc::new(Drops((0..count).map(|_| AtomicU64::new(0)).collect()));
        let made = Arc::clone(&drops);
        let mut number = 0;
        (drops, move || {
            number += 1;
            Value { number: number - 1, drops: Arc::clone(&made) }
        })
    }

    #[test]
    fn synchronize_gives_the_value_back() {
        domain!();
        let _dog = Watchdog::new("synchronize_gives_the_value_back");
        let cell = RcuCell::<_, D>::new(vec![1, 2, 3]);
        let retired = cell.replace(vec![]);
        assert_eq!(*retired, [1, 2, 3]);
        let back: Box<Vec<i32>> = retired.synchronize();
        assert_eq!(*back, [1, 2, 3]);
        assert_eq!(*cell.into_inner(), []);
    }

    #[test]
    fn try_into_box_waits_for_nobody() {
        domain!();
        let _dog = Watchdog::new("try_into_box_waits_for_nobody");
        let cell = RcuCell::<_, D>::new(1);
        let guard = D::read();
        let mut retired: Retired<_, D> = cell.replace(2);
        for _ in 0..10 {
            retired = retired.try_into_box().expect_err("a reader is inside");
            thread::sleep(Duration::from_micros(200));
        }
        drop(guard);
        let start = Instant::now();
        let value = loop {
            match retired.try_into_box() {
                Ok(value) => break value,
                Err(again) => retired = again,
            }
            assert!(start.elapsed() < patience());
        };
        assert_eq!(*value, 1);
    }

    #[test]
    fn dropping_defers() {
        domain!();
        let _dog = Watchdog::new("dropping_defers");
        let (drops, mut value) = values(2);
        let cell = RcuCell::<_, D>::new(value());
        let guard = D::read();
        drop(cell.replace(value()));
        never("a value was dropped under a reader", || drops.0[0].load(Ordering::SeqCst) > 0);
        drop(guard);
        D::barrier();
        assert_eq!(drops.0[0].load(Ordering::SeqCst), 1);
        // The cell's own value goes with it, at once: nobody can have a reference.
        drop(cell);
        assert_eq!(drops.0[1].load(Ordering::SeqCst), 1);
    }

    #[test]
    fn cells_that_may_be_empty() {
        domain!();
        let _dog = Watchdog::new("cells_that_may_be_empty");
        let (drops, mut value) = values(3);
        let cell = RcuOption::<_, D>::none();
        assert!(cell.take().is_none() && cell.replace(None).is_none());
        assert!(cell.replace(Some(value())).is_none());
        assert_eq!(cell.read(|now| now.map(|value| value.number)), Some(0));
        drop(cell.replace(Some(value())).unwrap().synchronize());
        drop(cell.update(|old| {
            assert_eq!(old.map(|value| value.number), Some(1));
            value()
        }));
        drop(cell.take());
        assert!(cell.read(|now| now.is_none()));
        D::barrier();
        assert!(drops.0.iter().all(|times| times.load(Ordering::SeqCst) == 1));
    }

    #[test]
    fn updates_are_not_lost() {
        domain!();
        let _dog = Watchdog::new("updates_are_not_lost");
        let cell = RcuCell::<u64, D>::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..2_000).for_each(|_| cell.update(|now| now + 1).defer()));
            }
        });
        assert_eq!(*cell.into_inner(), 8_000);
    }

    /// Any sequence of operations: every value is dropped exactly once, and none under a reader that has it.
    #[test]
    fn every_value_is_dropped_once() {
        domain!();
        let _dog = Watchdog::new("every_value_is_dropped_once");
        const STEPS: usize = 400;
        for seed in 0..60 {
            let (drops, mut value) = values(STEPS + 1);
            let mut rng = Rng::new(seed);
            let cell = RcuOption::<_, D>::some(value());
            let mut made = 1;
            let mut kept: Vec<Retired<Value, D>> = Vec::new();
            let mut boxes = Vec::new();
            for _ in 0..STEPS {
                let guard = D::read();
                let seen = cell.load(&guard);
                let new = (rng.below(5) > 0).then(|| {
                    made += 1;
                    value()
                });
                let old = if rng.below(4) == 0 {
                    let mut new = new;
                    match new.take() {
                        // `next` is called once: nobody else updates.
                        Some(new) => {
                            let mut new = Some(new);
                            cell.update(|_| new.take().unwrap())
                        }
                        None => cell.take(),
                    }
                } else {
                    cell.replace(new)
                };
                if let Some(seen) = seen {
                    assert_eq!(drops.0[seen.number].load(Ordering::SeqCst), 0, "seed {seed}: dropped under a reader");
                }
                drop(guard);
                let Some(old) = old else { continue };
                match rng.below(8) {
                    0 => old.defer(),
                    1 => drop(old),
                    2 => drop(old.synchronize()),
                    3 => boxes.push(old.synchronize()),
                    4 => old.defer_bytes(1 << rng.below(20)),
                    5 => drop(old.try_defer()),
                    _ => kept.push(old),
                }
                if rng.below(3) == 0 {
                    if let Some(old) = kept.pop() {
                        match old.try_into_box() {
                            Ok(old) => boxes.push(old),
                            Err(old) => kept.push(old),
                        }
                    }
                }
            }
            drop((cell, kept, boxes));
            D::barrier();
            for (number, times) in drops.0.iter().enumerate().take(made) {
                assert_eq!(times.load(Ordering::SeqCst), 1, "seed {seed}: value {number} was dropped so often");
            }
        }
    }
}

/// One domain's callbacks may defer to, and wait for, another's.
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
