//! What a section and a grace period owe each other, without luck: nesting, refreshing, who waits for whom, how many fences it costs, who shares, and the
//! sentences of those who would wait for themselves.

#![cfg(all(target_os = "linux", feature = "std", not(leeward_loom)))]
#![allow(missing_docs)]

mod common;

use common::*;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use leeward::rcu::{Domain, Guard, RcuCell, Reader, Stall, qsbr};

/// A domain for each test: what one counts, no other disturbs.
macro_rules! domain {
    () => {
        leeward::rcu_domain! { struct D; }
    };
}

const SYNCHRONIZE_INSIDE: &str =
    "leeward: synchronize() called inside a read section of the same domain: it would wait for itself for ever";
const BARRIER_INSIDE: &str =
    "leeward: barrier() called inside a read section of the same domain: it would wait for itself for ever";
const BARRIER_IN_CALLBACK: &str =
    "leeward: barrier() called inside a callback of the same domain: it would wait for itself for ever";
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

/// A grace period that is asleep, upon a reader that is inside.
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
            never("a grace period ended under a nested guard", || D::poll(&cookie));
            guards[index] = None;
            assert!(dropped < 2 || guards.iter().all(Option::is_none));
        }
        eventually("the grace period ends", || D::poll(&cookie));
    }
}

#[test]
fn sections_nest_deeply() {
    domain!();
    let _dog = Watchdog::new("sections_nest_deeply");
    let mut guards: Vec<_> = (0..100_000).map(|_| D::read()).collect();
    let cookie = D::start_poll();
    guards.drain(1..);
    never("a grace period ended under the last of 100,000 guards", || D::poll(&cookie));
    drop(guards);
    eventually("the grace period ends", || D::poll(&cookie));
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
    let cell = RcuCell::<_, D>::new(Some(Canary));
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
        never("a grace period ended under a guard", || D::poll(&cookie));
        // Again and again: the grace period may begin after the first.
        eventually("a refreshed guard lets grace periods pass", || {
            guard.refresh();
            D::poll(&cookie)
        });
        let other = nested();
        let cookie = D::start_poll();
        for _ in 0..3 {
            guard.refresh();
            never("a guard was refreshed under another", || D::poll(&cookie));
        }
        // Now the other one is the outermost.
        drop(guard);
        let mut other = other;
        never("a grace period ended under the second guard", || D::poll(&cookie));
        eventually("the last guard can be refreshed", || {
            other.refresh();
            D::poll(&cookie)
        });
        // And it still protects.
        let cookie = D::start_poll();
        never("a grace period ended under a refreshed guard", || D::poll(&cookie));
    }
    let _dog = Watchdog::new("refreshing");
    check(D::read(), D::read);
    let reader = Reader::<D>::register();
    check(reader.read(), || reader.read());
}

#[test]
fn synchronize_waits_for_a_section_that_was_open() {
    domain!();
    let _dog = Watchdog::new("synchronize_waits_for_a_section_that_was_open");
    for handle in [false, true] {
        let inside = if handle {
            Inside::with(|| {
                let reader = Box::leak(Box::new(Reader::<D>::register()));
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
    // The later reader takes a slot that the grace period looks at, behind the one that it sleeps on.
    let places = [(); 4].map(|()| Reader::<D>::register());
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
    // Entered after that grace period began, before the next caller came.
    let second = Inside::new::<D>();
    let late = synchronizing::<D>();
    let cookie = D::start_poll();
    thread::sleep(GLANCE);
    first.leave();
    early.join().unwrap();
    never("a caller was served by a grace period that began before it came", || late.is_finished() || D::poll(&cookie));
    second.leave();
    late.join().unwrap();
    eventually("the cookie is ready", || D::poll(&cookie));
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
    never("a grace period ended under a guard of its own domain", || One::poll(&cookie));
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
        let _idle = [(); 40].map(|()| Reader::<D>::register());
        let before = D::stats();
        for _ in 0..100 {
            D::synchronize();
        }
        let after = D::stats();
        assert_eq!(after.heavy_fences - before.heavy_fences, 100);
        assert_eq!(after.grace_periods - before.grace_periods, 100);
        assert_eq!(after.sleeps, before.sleeps);
    }

    // (Without futexes a sleep is a look now and then.)
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

    // (Without futexes a sleep is a look now and then.)
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

    /// A reader with full fences spares the writer its system call: none is issued by the process on the domain's behalf.
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

mod sharing {
    use super::*;

    /// All callers that come while a grace period runs are served by the next one, and all of them wake up.
    #[test]
    fn sixteen_callers() {
        domain!();
        let _dog = Watchdog::new("sixteen_callers");
        for _ in 0..5 {
            let inside = Inside::new::<D>();
            let first = asleep::<D>();
            let before = D::stats().grace_periods;
            let others: Vec<_> = (0..16).map(|_| synchronizing::<D>()).collect();
            // Long enough for all of them to have come and gone to sleep.
            thread::sleep(Duration::from_millis(20));
            assert!(others.iter().all(|other| !other.is_finished()));
            inside.leave();
            first.join().unwrap();
            others.into_iter().for_each(|other| other.join().unwrap());
            let grace_periods = D::stats().grace_periods - before;
            // One each for the first and for all others; one more if a caller was slow to come.
            assert!(grace_periods <= 4, "{grace_periods} grace periods for 17 callers");
        }
    }

    /// Callers that meet at any moment, in rounds, so that one that is not woken is missed by the next round.
    fn rounds<D: Domain>(callers: usize, time: Duration) {
        let (start, end) = (Barrier::new(callers), Instant::now() + time);
        let (stop, served) = (AtomicBool::new(false), AtomicU64::new(0));
        thread::scope(|scope| {
            for caller in 0..callers {
                let (start, stop, served) = (&start, &stop, &served);
                scope.spawn(move || {
                    let mut rng = Rng::new(caller as u64);
                    loop {
                        if caller == 0 && Instant::now() > end {
                            stop.store(true, Ordering::Relaxed);
                        }
                        start.wait();
                        if stop.load(Ordering::Relaxed) {
                            return;
                        }
                        for _ in 0..100 {
                            let before = served.fetch_add(1, Ordering::Relaxed);
                            // All arrive before anybody begins the next round.
                            while served.load(Ordering::Relaxed) / callers as u64 <= before / callers as u64 {
                                thread::yield_now();
                            }
                            compute(rng.below(2_000));
                            D::synchronize();
                        }
                    }
                });
            }
        });
    }

    #[test]
    fn two_callers_in_rounds() {
        domain!();
        let _dog = Watchdog::within("two_callers_in_rounds", patience());
        rounds::<D>(2, duration(1.0));
    }

    #[test]
    fn three_callers_in_rounds() {
        domain!();
        let _dog = Watchdog::within("three_callers_in_rounds", patience());
        rounds::<D>(3, duration(1.0));
    }

    /// With the followers' sleep certain: a reader holds every grace period up.
    #[test]
    fn callers_beside_a_slow_reader() {
        domain!();
        let _dog = Watchdog::within("callers_beside_a_slow_reader", patience());
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let _stop = Raise(&stop);
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let guard = D::read();
                    thread::sleep(Duration::from_micros(100));
                    drop(guard);
                }
            });
            rounds::<D>(3, duration(0.5));
            stop.store(true, Ordering::Relaxed);
        });
    }

    /// A poll that said yes never says no again, whoever leads meanwhile.
    #[test]
    fn true_once_is_true_for_ever() {
        domain!();
        let _dog = Watchdog::new("true_once_is_true_for_ever");
        let stop = AtomicBool::new(false);
        let end = Instant::now() + duration(1.0);
        thread::scope(|scope| {
            let _stop = Raise(&stop);
            for _ in 0..3 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        D::synchronize();
                    }
                });
            }
            let mut again = Vec::new();
            'all: while Instant::now() < end {
                let cookie = D::start_poll();
                while !D::poll(&cookie) {
                    if Instant::now() > end {
                        break 'all;
                    }
                }
                let firm = (0..200).all(|_| D::poll(&cookie));
                again.push(firm);
                if !firm {
                    break;
                }
            }
            stop.store(true, Ordering::Relaxed);
            assert!(again.iter().all(|firm| *firm), "a poll that said yes said no afterwards");
            assert!(!again.is_empty());
        });
    }
}

mod waking {
    use super::*;

    /// A grace period that nobody wakes looks again after so long.
    const PATIENCE_OF_A_STALL: Duration = Duration::from_secs(4);
    static STALLS: AtomicU64 = AtomicU64::new(0);

    fn stalled(_: &Stall) {
        STALLS.fetch_add(1, Ordering::Relaxed);
    }

    fn reader_leaves<G: 'static, D: Domain>(enter: impl FnOnce() -> G + Send + 'static) {
        let inside = Inside::with(enter);
        let waiting = asleep::<D>();
        thread::sleep(Duration::from_millis(1));
        let left = Instant::now();
        inside.leave();
        waiting.join().unwrap();
        // Not by the end of its patience.
        assert!(
            left.elapsed() < PATIENCE_OF_A_STALL / 2,
            "a sleeping grace period was not woken: it took {:?}",
            left.elapsed()
        );
    }

    #[test]
    fn by_every_way_of_leaving() {
        domain!();
        let _dog = Watchdog::new("by_every_way_of_leaving");
        D::set_stall_limit(Some(PATIENCE_OF_A_STALL), Some(stalled));
        reader_leaves::<_, D>(|| D::read());
        reader_leaves::<_, D>(|| Box::leak(Box::new(Reader::<D>::register())).read());
        reader_leaves::<_, D>(|| {
            let reader = Reader::<D>::register();
            std::mem::forget(reader.read());
            reader
        });
        reader_leaves::<_, D>(|| qsbr::Reader::<D>::online());
        struct Quiescent(qsbr::Reader<D>);
        impl Drop for Quiescent {
            fn drop(&mut self) {
                let before = D::stats().grace_periods;
                self.0.quiescent();
                eventually("the grace period ends by a quiescent state", || D::stats().grace_periods > before);
            }
        }
        reader_leaves::<_, D>(|| Quiescent(qsbr::Reader::online()));
        struct Offline(qsbr::Reader<D>);
        impl Drop for Offline {
            fn drop(&mut self) {
                self.0.offline(|| thread::sleep(GLANCE));
            }
        }
        reader_leaves::<_, D>(|| Offline(qsbr::Reader::online()));
        struct Refreshed(Guard<'static, D>);
        impl Drop for Refreshed {
            fn drop(&mut self) {
                self.0.refresh();
            }
        }
        reader_leaves::<_, D>(|| Refreshed(D::read()));
        assert_eq!(STALLS.load(Ordering::Relaxed), 0);
    }
}

mod sentences {
    use super::*;

    #[test]
    fn synchronize_in_a_section() {
        domain!();
        let _dog = Watchdog::new("synchronize_in_a_section");
        let guard = D::read();
        assert_eq!(panic_of(D::synchronize), SYNCHRONIZE_INSIDE);
        drop(guard);
        D::synchronize();

        let reader = Reader::<D>::register();
        let guard = reader.read();
        assert_eq!(panic_of(D::synchronize), SYNCHRONIZE_INSIDE);
        drop(guard);
        D::synchronize();
        drop(reader);

        let mut online = qsbr::Reader::<D>::online();
        assert_eq!(panic_of(D::synchronize), SYNCHRONIZE_INSIDE);
        online.synchronize();
        let guard = D::read();
        assert_eq!(panic_of(|| online.synchronize()), SYNCHRONIZE_INSIDE);
        drop(guard);
        online.synchronize();
        drop(online);
        D::synchronize();
    }

    /// Somebody else leads, and waits for the caller's own section.
    #[test]
    fn synchronize_in_a_section_while_another_leads() {
        domain!();
        let _dog = Watchdog::new("synchronize_in_a_section_while_another_leads");
        let reader = Reader::<D>::register();
        let guard = reader.read();
        let waiting = asleep::<D>();
        assert_eq!(panic_of(D::synchronize), SYNCHRONIZE_INSIDE);
        never("the other caller was served", || waiting.is_finished());
        drop(guard);
        waiting.join().unwrap();
        D::synchronize();
    }

    /// The lead is given away by a caller that panics: others go on.
    #[test]
    fn a_caller_that_panics_leaves_the_domain_usable() {
        domain!();
        let _dog = Watchdog::new("a_caller_that_panics_leaves_the_domain_usable");
        for _ in 0..20 {
            let reader = Reader::<D>::register();
            let guard = reader.read();
            let others: Vec<_> = (0..3).map(|_| synchronizing::<D>()).collect();
            assert_eq!(panic_of(D::synchronize), SYNCHRONIZE_INSIDE);
            drop(guard);
            others.into_iter().for_each(|other| other.join().unwrap());
        }
    }

    #[test]
    fn retired_in_a_section() {
        domain!();
        let _dog = Watchdog::new("retired_in_a_section");
        let cell = RcuCell::<_, D>::new(1);
        let guard = D::read();
        assert_eq!(panic_of(|| drop(cell.replace(2).synchronize())), SYNCHRONIZE_INSIDE);
        drop(guard);
        assert_eq!(*cell.replace(3).synchronize(), 2);
    }

    #[test]
    fn quiescent_in_a_section() {
        domain!();
        let _dog = Watchdog::new("quiescent_in_a_section");
        let mut online = qsbr::Reader::<D>::online();
        let guard = D::read();
        assert_eq!(panic_of(|| online.quiescent()), QUIESCENT_INSIDE);
        drop(guard);
        // The reader is as good as before.
        let cookie = D::start_poll();
        while !D::poll(&cookie) {
            online.quiescent();
        }
    }

    #[test]
    fn barrier_in_a_section() {
        domain!();
        let _dog = Watchdog::new("barrier_in_a_section");
        let guard = D::read();
        assert_eq!(panic_of(D::barrier), BARRIER_INSIDE);
        drop(guard);
        let reader = Reader::<D>::register();
        let guard = reader.read();
        assert_eq!(panic_of(D::barrier), BARRIER_INSIDE);
        drop(guard);
        D::barrier();
    }

    #[test]
    fn barrier_in_a_callback() {
        domain!();
        static TEXT: Mutex<String> = Mutex::new(String::new());
        let _dog = Watchdog::new("barrier_in_a_callback");
        D::defer(|| *TEXT.lock().unwrap() = panic_of(D::barrier));
        D::barrier();
        assert_eq!(*TEXT.lock().unwrap(), BARRIER_IN_CALLBACK);
        // Uncaught, it is counted, and the queue goes on.
        D::defer(D::barrier);
        D::barrier();
        assert_eq!(D::stats().callback_panics, 1);
        D::defer(|| {});
        D::barrier();
        assert_eq!(D::stats().callbacks_run, 3);
    }

    /// A callback may wait for a grace period, and a barrier of another domain.
    #[test]
    fn what_a_callback_may_do() {
        leeward::rcu_domain! { struct D; struct Other; }
        let _dog = Watchdog::new("what_a_callback_may_do");
        D::defer(|| {
            D::synchronize();
            drop(D::read());
            Other::defer(|| {});
            Other::barrier();
            D::defer(|| {});
        });
        D::barrier();
        D::barrier();
        assert_eq!((D::stats().callbacks_run, D::stats().callback_panics), (2, 0));
    }
}

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
}
