//! What a section and a grace period owe each other, without luck: nesting, refreshing, which
//! thread waits for which, how many fences that costs, which callers share, and the sentences of
//! those that would wait for themselves.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;

use common::*;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use leeward::rcu::{Domain, Guard, RcuCell, Reader, Stall, qsbr};

/// Makes a domain for each test: what one test counts, no other disturbs.
macro_rules! domain {
    () => {
        leeward::rcu_domain! { struct D; }
    };
}

const SYNCHRONIZE_INSIDE: &str =
    "leeward: synchronize() called inside a read section of the same domain: it would wait for itself forever";
const BARRIER_INSIDE: &str =
    "leeward: barrier() called inside a read section of the same domain: it would wait for itself forever";
const BARRIER_IN_CALLBACK: &str =
    "leeward: barrier() called inside a callback of the same domain: it would wait for itself forever";
const QUIESCENT_INSIDE: &str =
    "leeward: quiescent() called while the thread is inside a read section of the same domain";

/// A thread that is inside a section until it is told to leave.
struct Inside {
    leave: std::sync::mpsc::Sender<()>,
    thread: thread::JoinHandle<()>,
}

impl Inside {
    fn new<D: Domain>() -> Inside {
        Self::with(|| D::read())
    }

    fn with<G>(enter: impl FnOnce() -> G + Send + 'static) -> Inside {
        let (leave, told) = channel();
        let (entered, inside) = channel();
        let thread = thread::spawn(move || {
            let guard = enter();
            entered.send(()).unwrap();
            told.recv().unwrap();
            drop(guard);
        });
        inside.recv().unwrap();
        Inside { leave, thread }
    }

    fn leave(self) {
        self.leave.send(()).unwrap();
        self.thread.join().unwrap();
    }
}

/// A thread that waits for a grace period.
fn synchronizing<D: Domain>() -> thread::JoinHandle<()> {
    thread::spawn(D::synchronize)
}

/// Starts a grace period that sleeps on a reader that is inside.
fn asleep<D: Domain>() -> thread::JoinHandle<()> {
    let sleeps = D::stats().sleeps;
    let waiting = synchronizing::<D>();
    eventually("the grace period sleeps", || D::stats().sleeps > sleeps || waiting.is_finished());
    assert!(!waiting.is_finished(), "a grace period ended although a section was open");
    waiting
}

#[test]
fn guards_may_be_dropped_in_any_order() {
    domain!();
    let _dog = Watchdog::new("guards_may_be_dropped_in_any_order");
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut guards = [(); 3].map(|()| Some(D::read()));
        let cookie = D::start_poll();
        for (dropped, index) in order.into_iter().enumerate() {
            never("a grace period ended under a nested guard", || D::poll_state(&cookie));
            guards[index] = None;
            assert!(dropped < 2 || guards.iter().all(Option::is_none));
        }
        eventually("the grace period ends", || D::poll_state(&cookie));
    }
}

#[test]
fn sections_nest_deeply() {
    domain!();
    let _dog = Watchdog::new("sections_nest_deeply");
    let mut guards: Vec<_> = (0..100_000).map(|_| D::read()).collect();
    let cookie = D::start_poll();
    guards.drain(1..);
    never("a grace period ended under the last of 100,000 guards", || D::poll_state(&cookie));
    drop(guards);
    eventually("the grace period ends", || D::poll_state(&cookie));
    D::synchronize();
}

#[test]
fn what_was_loaded_stays_until_the_last_guard() {
    domain!();
    static DROPPED: AtomicBool = AtomicBool::new(false);
    struct Canary;
    impl Drop for Canary {
        fn drop(&mut self) {
            DROPPED.store(true, Ordering::SeqCst);
        }
    }
    let _dog = Watchdog::new("what_was_loaded_stays_until_the_last_guard");
    let cell = RcuCell::<_, D>::new_in(Some(Canary));
    let outer = D::read();
    let inner = D::read();
    let seen = cell.load(&inner);
    drop(outer);
    cell.replace(None).defer();
    never("a value was dropped under its reader", || DROPPED.load(Ordering::SeqCst));
    assert!(seen.is_some());
    drop(inner);
    D::barrier();
    assert!(DROPPED.load(Ordering::SeqCst));
}

#[test]
fn refreshing() {
    domain!();
    fn check<'a>(mut guard: Guard<'a, D>, nested: impl FnOnce() -> Guard<'a, D>) {
        let cookie = D::start_poll();
        never("a grace period ended under a guard", || D::poll_state(&cookie));
        // Repeatedly, since the grace period may begin after the first refresh.
        eventually("a refreshed guard lets grace periods pass", || {
            guard.refresh();
            D::poll_state(&cookie)
        });
        let other = nested();
        let cookie = D::start_poll();
        for _ in 0..3 {
            guard.refresh();
            never("a guard was refreshed under another", || D::poll_state(&cookie));
        }
        // Now the other guard is the outermost.
        drop(guard);
        let mut other = other;
        never("a grace period ended under the second guard", || D::poll_state(&cookie));
        eventually("the last guard can be refreshed", || {
            other.refresh();
            D::poll_state(&cookie)
        });
        // The guard still protects.
        let cookie = D::start_poll();
        never("a grace period ended under a refreshed guard", || D::poll_state(&cookie));
    }
    let _dog = Watchdog::new("refreshing");
    check(D::read(), D::read);
    let reader = Reader::<D>::register_in();
    check(reader.read(), || reader.read());
}

#[test]
fn synchronize_waits_for_a_section_that_was_open() {
    domain!();
    let _dog = Watchdog::new("synchronize_waits_for_a_section_that_was_open");
    for handle in [false, true] {
        let inside = if handle {
            Inside::with(|| {
                let reader = Box::leak(Box::new(Reader::<D>::register_in()));
                reader.read()
            })
        } else {
            Inside::new::<D>()
        };
        let waiting = asleep::<D>();
        never("synchronize returned under a section", || waiting.is_finished());
        inside.leave();
        waiting.join().unwrap();
    }
}

#[test]
fn synchronize_does_not_wait_for_a_section_that_began_later() {
    domain!();
    let _dog = Watchdog::new("synchronize_does_not_wait_for_a_section_that_began_later");
    let before = Inside::new::<D>();
    // The later reader takes a slot that the grace period scans, after the slot that it sleeps on.
    let places = [(); 4].map(|()| Reader::<D>::register_in());
    let waiting = asleep::<D>();
    drop(places);
    let after = Inside::new::<D>();
    before.leave();
    eventually("synchronize returns while a later section is open", || waiting.is_finished());
    after.leave();
}

#[test]
fn a_caller_needs_a_grace_period_that_starts_after_it_arrived() {
    domain!();
    let _dog = Watchdog::new("a_caller_needs_a_grace_period_that_starts_after_it_arrived");
    let first = Inside::new::<D>();
    let early = asleep::<D>();
    // It entered after that grace period began, and before the next caller came.
    let second = Inside::new::<D>();
    let late = synchronizing::<D>();
    let cookie = D::start_poll();
    thread::sleep(GLANCE);
    first.leave();
    early.join().unwrap();
    never("a caller was served by a grace period that began before it came", || {
        late.is_finished() || D::poll_state(&cookie)
    });
    second.leave();
    late.join().unwrap();
    eventually("the cookie is ready", || D::poll_state(&cookie));
}

#[test]
fn two_domains_do_not_wait_for_each_other() {
    leeward::rcu_domain! { struct One; struct Other; }
    let _dog = Watchdog::new("two_domains_do_not_wait_for_each_other");
    let guard = One::read();
    Other::synchronize();
    Other::defer(|| {});
    Other::barrier();
    let cookie = One::start_poll();
    never("a grace period ended under a guard of its own domain", || One::poll_state(&cookie));
    drop(guard);
    One::synchronize();
}

mod costs {
    use super::*;

    #[test]
    fn one_heavy_fence_when_nobody_is_inside() {
        domain!();
        let _dog = Watchdog::new("one_heavy_fence_when_nobody_is_inside");
        D::register().unwrap();
        let _idle = [(); 40].map(|()| Reader::<D>::register_in());
        let before = D::stats();
        for _ in 0..100 {
            D::synchronize();
        }
        let after = D::stats();
        assert_eq!(after.heavy_fences - before.heavy_fences, 100);
        assert_eq!(after.grace_periods - before.grace_periods, 100);
        assert_eq!(after.sleeps, before.sleeps);
    }

    // (Without futexes a sleep is a recheck now and then.)
    #[cfg(not(leeward_symmetric))]
    #[test]
    fn three_at_most_and_one_sleep_when_it_sleeps() {
        domain!();
        let _dog = Watchdog::new("three_at_most_and_one_sleep_when_it_sleeps");
        for _ in 0..10 {
            let inside = Inside::new::<D>();
            let before = D::stats();
            let waiting = asleep::<D>();
            thread::sleep(Duration::from_millis(5));
            inside.leave();
            waiting.join().unwrap();
            let after = D::stats();
            assert!(after.heavy_fences - before.heavy_fences <= 3, "{before:?} {after:?}");
            assert_eq!(after.sleeps - before.sleeps, 1, "{before:?} {after:?}");
        }
    }

    // (Without futexes a sleep is a recheck now and then.)
    #[cfg(not(leeward_symmetric))]
    #[test]
    fn many_readers_asleep_cost_no_more_fences() {
        domain!();
        let _dog = Watchdog::new("many_readers_asleep_cost_no_more_fences");
        let inside = [(); 20].map(|()| Inside::new::<D>());
        let before = D::stats();
        let waiting = asleep::<D>();
        inside.into_iter().for_each(Inside::leave);
        waiting.join().unwrap();
        let after = D::stats();
        assert!(after.heavy_fences - before.heavy_fences <= 3, "{before:?} {after:?}");
        assert!(after.sleeps - before.sleeps <= 20, "{before:?} {after:?}");
    }

    /// A reader with full fences spares the writer its system call: none is issued by the process
    /// on the domain's behalf.
    #[test]
    fn a_full_domain_needs_no_help_of_the_kernel() {
        leeward::rcu_domain! { struct Fenced: Full; }
        let _dog = Watchdog::new("a_full_domain_needs_no_help_of_the_kernel");
        let inside = Inside::new::<Fenced>();
        let waiting = asleep::<Fenced>();
        inside.leave();
        waiting.join().unwrap();
        assert!(Fenced::stats().heavy_fences <= 3);
    }
}

/// Readers that execute full fences of their own need no help of the kernel, in any domain.
#[test]
fn a_domain_of_quiescent_readers_issues_no_heavy_fence() {
    domain!();
    let _dog = Watchdog::new("a_domain_of_quiescent_readers_issues_no_heavy_fence");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = Raise(&stop);
        for _ in 0..2 {
            scope.spawn(|| {
                let mut online = qsbr::Reader::<D>::register_in();
                while !stop.load(Ordering::Relaxed) {
                    online.quiescent();
                    thread::yield_now();
                }
            });
        }
        eventually("both read", || D::stats().readers == 2);
        (0..50).for_each(|_| D::synchronize());
        D::defer(|| ());
        D::barrier();
        let cookie = D::start_poll();
        eventually("the grace period that is polled for ends", || D::poll_state(&cookie));
        let stats = D::stats();
        assert!(stats.heavy_fences == 0 && stats.grace_periods >= 52, "{stats:?}");
        // This holds until there is a reader of another kind. Then there is one more for each sleep.
        let reader = Reader::<D>::register_in();
        D::synchronize();
        let fences = D::stats().heavy_fences;
        assert_ne!(fences, 0);
        drop(reader);
        D::synchronize();
        assert_eq!(D::stats().heavy_fences, fences);
        stop.store(true, Ordering::Relaxed);
    });
}

#[path = "sections/sharing.rs"]
mod sharing;

#[path = "sections/waking.rs"]
mod waking;

#[path = "sections/sentences.rs"]
mod sentences;

mod stalls {
    use super::*;

    static REPORTS: Mutex<Vec<(u32, Duration, Option<String>)>> = Mutex::new(Vec::new());

    fn report(stall: &Stall) {
        REPORTS.lock().unwrap().push((
            stall.thread,
            stall.waited,
            stall.entered_at.map(|place| place.file().to_owned()),
        ));
    }

    #[test]
    fn name_the_thread() {
        domain!();
        let _dog = Watchdog::new("name_the_thread");
        const LIMIT: Duration = Duration::from_millis(10);
        D::set_stall_limit(Some(LIMIT), Some(report));
        let (named, name) = channel();
        let inside = Inside::with(move || {
            // SAFETY: has no precondition.
            named.send(unsafe { libc::gettid() } as u32).unwrap();
            D::read()
        });
        let waiting = synchronizing::<D>();
        eventually("the stall is reported, and reported again", || REPORTS.lock().unwrap().len() >= 2);
        inside.leave();
        waiting.join().unwrap();
        let reports = REPORTS.lock().unwrap();
        let thread = name.recv().unwrap();
        assert!(reports.iter().all(|(reported, ..)| *reported == thread), "{thread} {reports:?}");
        assert!(reports[0].1 >= LIMIT && reports[1].1 >= 2 * LIMIT, "{reports:?}");
        if cfg!(debug_assertions) {
            assert!(reports[0].2.as_deref().is_some_and(|file| file.ends_with("sections.rs")), "{reports:?}");
        }
        assert!(D::stats().stalls >= 2);
    }

    /// A limit of many centuries is taken as it is, and does not become another time.
    #[test]
    fn a_limit_longer_than_any() {
        domain!();
        let _dog = Watchdog::new("a_limit_longer_than_any");
        for seconds in [1 << 61, u64::MAX] {
            D::set_stall_limit(Some(Duration::from_secs(seconds)), Some(|stall| panic!("{stall}")));
            let sleeps = D::stats().sleeps;
            let inside = Inside::new::<D>();
            let waiting = synchronizing::<D>();
            eventually("the grace period sleeps", || D::stats().sleeps > sleeps);
            never("it ended, or a stall was reported", || waiting.is_finished());
            inside.leave();
            waiting.join().unwrap();
        }
        assert_eq!(D::stats().stalls, 0);
    }
}
