//! Sections without handles: records that the collector lends.

use super::*;

use leeward::rcu::epoch::CollectorGuard;

#[test]
fn a_section_holds_back_and_the_next_thread_takes_the_record_over() {
    let (collector, count) = (Collector::new(), Arc::default());
    for _ in 0..20 {
        thread::scope(|scope| {
            scope.spawn(|| {
                let guard = collector.enter();
                let nested = collector.enter();
                assert_eq!(nested.collector(), Some(&collector));
                defer_counting(&guard, BAG + 1, &count);
            });
        });
    }
    common::eventually("each thread has given its slot back", || collector.stats().readers == 0);
    common::eventually("the calls are made", || {
        collector.enter().flush();
        count.load(SeqCst) == 20 * (BAG + 1)
    });
    assert_eq!(collector.stats().readers, 1);
}

#[test]
fn a_collector_ends_before_its_threads_do() {
    let count = Arc::default();
    let (enter, entered, go) = (Barrier::new(3), Barrier::new(3), Barrier::new(3));
    let collector = Collector::new();
    thread::scope(|scope| {
        for _ in 0..2 {
            let (count, collector) = (&count, collector.clone());
            let (enter, entered, go) = (&enter, &entered, &go);
            scope.spawn(move || {
                enter.wait();
                defer_counting(&collector.enter(), 3 * BAG + 5, count);
                drop(collector);
                entered.wait();
                go.wait();
            });
        }
        enter.wait();
        entered.wait();
        drop(collector);
        common::eventually("the last one calls all, sealed or not", || count.load(SeqCst) == 2 * (3 * BAG + 5));
        go.wait();
    });
}

/// A thread that enters one after the other, and many at once, finds the right one each time.
#[test]
fn records_are_told_apart() {
    let count = Arc::default();
    for _ in 0..100 {
        let collector = Collector::new();
        let guard = collector.enter();
        assert_eq!(guard.collector(), Some(&collector));
        defer_counting(&guard, 1, &count);
    }
    assert_eq!(count.load(SeqCst), 100);
    let many: Vec<Collector> = (0..50).map(|_| Collector::new()).collect();
    for collector in many.iter().chain(many.iter().rev()) {
        let guard: CollectorGuard<'_> = collector.enter();
        assert_eq!(guard.collector(), Some(collector));
        assert_eq!(collector.stats().readers, 1);
    }
}

#[test]
fn exiting_threads_enter_before_and_after_their_records_are_given_back() {
    static COLLECTOR: std::sync::LazyLock<Collector> = std::sync::LazyLock::new(Collector::new);
    struct AtExit(Arc<AtomicUsize>);
    impl Drop for AtExit {
        fn drop(&mut self) {
            let guard = COLLECTOR.enter();
            defer_counting(&guard, BAG, &self.0);
            let inner = Arc::clone(&self.0);
            guard.defer(move || defer_counting(&COLLECTOR.enter(), 1, &inner));
        }
    }
    thread_local! {
        static FIRST: Cell<Option<AtExit>> = const { Cell::new(None) };
        static KEPT: Cell<Option<CollectorGuard<'static>>> = const { Cell::new(None) };
        static SECOND: Cell<Option<AtExit>> = const { Cell::new(None) };
    }
    let count = Arc::default();
    for _ in 0..8 {
        let (first, second) = (AtExit(Arc::clone(&count)), AtExit(Arc::clone(&count)));
        thread::spawn(move || {
            FIRST.set(Some(first));
            KEPT.set(None);
            KEPT.set(Some(COLLECTOR.enter()));
            SECOND.set(Some(second));
        })
        .join()
        .unwrap();
    }
    common::eventually("the calls are made", || {
        COLLECTOR.enter().flush();
        count.load(SeqCst) == 8 * 2 * (BAG + 1)
    });
    common::eventually("the slots are given back", || COLLECTOR.stats().readers == 1);
}

#[test]
fn a_leaked_guard_lets_the_collector_end() {
    let count = Arc::default();
    let collector = Collector::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            let guard = collector.enter();
            defer_counting(&guard, BAG + 1, &count);
            std::mem::forget(guard);
        });
    });
    defer_counting(&collector.enter(), 1, &count);
    collector.enter().flush();
    assert_eq!(count.load(SeqCst), 0);
    drop(collector);
    assert_eq!(count.load(SeqCst), BAG + 2);
}

#[test]
fn the_section_is_left_and_entered_again() {
    let collector = Collector::new();
    let mut guard = collector.enter();
    guard.repin_after(|| collector.synchronize());
    guard.repin();
    let panics = std::panic::AssertUnwindSafe(|| guard.repin_after(|| panic!("expected")));
    assert!(std::panic::catch_unwind(panics).is_err());
    drop(guard);
    collector.synchronize();
}

#[test]
fn an_end_that_is_refused_makes_no_call() {
    let count = Arc::default();
    let (handle, collector) = {
        let collector = Collector::new();
        defer_counting(&collector.enter(), 2 * BAG + 1, &count);
        (collector.register(), collector)
    };
    let copy = collector.clone();
    let collector = collector.try_end().expect_err("a handle and a copy have it");
    drop(handle);
    let collector = collector.try_end().expect_err("a copy has it");
    assert_eq!((count.load(SeqCst), &collector), (0, &copy));
    drop(copy);
    assert!(collector.try_end().is_ok());
    assert_eq!(count.load(SeqCst), 2 * BAG + 1);
}

/// Whatever threads do that have entered, run on or exit: once the end is told, all calls have been made.
#[test]
fn an_end_is_told_when_all_calls_have_been_made() {
    let stay = Barrier::new(2);
    thread::scope(|scope| {
        for round in 0..50 {
            let (count, collector) = (Arc::default(), Arc::new(Collector::new()));
            let here = collector.clone();
            let of_here = Arc::clone(&count);
            let exits = scope.spawn(move || defer_counting(&here.enter(), BAG + 1, &of_here));
            if round % 10 == 0 {
                let (here, count, stay, entered) =
                    (collector.clone(), Arc::clone(&count), &stay, Arc::new(Barrier::new(2)));
                let ours = entered.clone();
                scope.spawn(move || {
                    defer_counting(&here.enter(), BAG - 1, &count);
                    drop(here);
                    ours.wait();
                    stay.wait();
                });
                entered.wait();
            }
            // As a scope does, that ends while what its threads have in thread-local variables is dropped.
            while !exits.is_finished() {
                thread::yield_now();
            }
            let mut ends = Arc::into_inner(collector).expect("the threads have given theirs back").try_end();
            while let Err(collector) = ends {
                thread::yield_now();
                ends = collector.try_end();
            }
            let calls = if round % 10 == 0 { 2 * BAG } else { BAG + 1 };
            assert_eq!(count.load(SeqCst), calls);
            if round % 10 == 0 {
                stay.wait();
            }
        }
    });
}
