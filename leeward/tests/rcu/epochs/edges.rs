//! Where bugs are: calls that defer, pin, panic or drop the handle; leaked guards; threads that exit.

use super::*;

#[test]
fn calls_may_defer_pin_and_flush() {
    let (collector, count) = (Collector::new(), Arc::new(AtomicUsize::new(0)));
    fn again(collector: &Collector, depth: usize, count: &Arc<AtomicUsize>) {
        let handle = collector.register();
        let guard = handle.pin();
        let (inner, count) = (collector.clone(), Arc::clone(count));
        guard.defer(move || {
            count.fetch_add(1, SeqCst);
            if depth != 0 {
                again(&inner, depth - 1, &count);
            }
        });
        guard.flush();
    }
    for _ in 0..BAG {
        again(&collector, 5, &count);
    }
    let handle = collector.register();
    for _ in 0..20 {
        handle.pin().flush();
    }
    assert_eq!(count.load(SeqCst), 6 * BAG);
}

#[test]
fn calls_of_the_default_collector_use_it() {
    let count = Arc::new(AtomicUsize::new(0));
    for _ in 0..3 * BAG {
        let count = Arc::clone(&count);
        epoch::pin().defer(move || {
            let guard = epoch::pin();
            let count = Arc::clone(&count);
            guard.defer(move || count.fetch_add(1, SeqCst));
            guard.flush();
        });
    }
    // Other tests' sections hold it back for a moment.
    common::eventually("the calls are made", || {
        epoch::pin().flush();
        count.load(SeqCst) == 3 * BAG
    });
}

#[test]
fn a_panic_in_a_call_is_counted_and_the_others_are_made() {
    let (collector, count) = (Collector::new(), Arc::default());
    let handle = collector.register();
    let guard = handle.pin();
    for at in 0..BAG {
        guard.defer(move || assert!(at % 2 == 0, "expected"));
        defer_counting(&guard, 1, &count);
    }
    drop((guard, handle));
    assert_eq!(count.load(SeqCst), BAG);
    assert_eq!(collector.stats().callback_panics, BAG as u64 / 2);
}

#[test]
fn a_call_may_drop_the_handle_it_is_called_by() {
    thread_local!(static HANDLE: Cell<Option<LocalHandle>> = const { Cell::new(None) });
    let (collector, count) = (Collector::new(), Arc::default());
    HANDLE.set(Some(collector.register()));
    let pin = || {
        let handle = HANDLE.take().unwrap();
        let guard = handle.pin();
        HANDLE.set(Some(handle));
        guard
    };
    let guard = pin();
    guard.defer(|| drop(HANDLE.take()));
    defer_counting(&guard, BAG, &count);
    guard.flush();
    drop(guard);
    let guard = pin();
    guard.flush();
    assert!(HANDLE.take().is_none());
    drop(guard);
    assert_eq!(count.load(SeqCst), BAG);
    assert_eq!(collector.stats().readers, 0);
}

#[test]
fn a_handle_may_be_dropped_while_its_guard_is_outside() {
    let (collector, count) = (Collector::new(), Arc::default());
    let handle = Cell::new(Some(collector.register()));
    let taken = handle.take().unwrap();
    let mut guard = taken.pin();
    handle.set(Some(taken));
    guard.repin_after(|| drop(handle.take()));
    defer_counting(&guard, BAG, &count);
    assert_eq!(collector.stats().readers, 1);
    guard.repin_after(|| ());
    drop(guard);
    assert_eq!((count.load(SeqCst), collector.stats().readers), (BAG, 0));
}

#[test]
fn a_panic_outside_enters_again() {
    let collector = Collector::new();
    let handle = collector.register();
    let mut guard = handle.pin();
    let panics = std::panic::AssertUnwindSafe(|| guard.repin_after(|| panic!("expected")));
    assert!(std::panic::catch_unwind(panics).is_err());
    assert!(handle.is_pinned());
    drop(guard);
    assert!(!handle.is_pinned());
}

#[test]
fn a_leaked_guard_keeps_all_that_comes_after() {
    let (collector, count) = (Collector::new(), Arc::default());
    thread::scope(|scope| {
        scope.spawn(|| std::mem::forget(collector.register().pin()));
    });
    let handle = collector.register();
    defer_counting(&handle.pin(), BAG, &count);
    for _ in 0..4 {
        handle.pin().flush();
    }
    drop(handle);
    assert_eq!((count.load(SeqCst), collector.stats().readers), (0, 1));
}

#[test]
fn exiting_threads_pin_before_and_after_their_destructors() {
    struct AtExit(Arc<AtomicUsize>);
    impl Drop for AtExit {
        fn drop(&mut self) {
            let guard = epoch::pin();
            defer_counting(&guard, BAG + 1, &self.0);
            guard.flush();
        }
    }
    thread_local! {
        static FIRST: Cell<Option<AtExit>> = const { Cell::new(None) };
        static SECOND: Cell<Option<AtExit>> = const { Cell::new(None) };
    }
    let count = Arc::default();
    for _ in 0..8 {
        let at_exit = AtExit(Arc::clone(&count));
        let other = AtExit(Arc::clone(&count));
        thread::spawn(move || {
            FIRST.set(Some(at_exit));
            drop(epoch::pin());
            SECOND.set(Some(other));
        })
        .join()
        .unwrap();
    }
    common::eventually("the calls are made", || {
        epoch::pin().flush();
        count.load(SeqCst) == 8 * 2 * (BAG + 1)
    });
}

/// A guard in a thread-local variable whose destructor comes after the record's.
#[test]
fn a_guard_that_outlives_its_threads_record_protects_until_its_end() {
    thread_local!(static KEPT: Cell<Option<Guard>> = const { Cell::new(None) });
    let before = epoch::default_collector().stats().readers;
    for _ in 0..8 {
        thread::spawn(|| {
            KEPT.set(None);
            KEPT.set(Some(epoch::pin()));
        })
        .join()
        .unwrap();
    }
    // Other tests' threads come and go.
    common::eventually("the slots are given back", || epoch::default_collector().stats().readers <= before + 4);
}

/// A destructor at thread exit that waits beside the thread's own guard, before and after the record was given
/// up: the guard is the thread's all the same, and the wait would be for itself.
#[test]
fn synchronize_beside_an_own_guard_at_exit_panics() {
    struct Waits(fn() -> &'static Collector);
    impl Drop for Waits {
        fn drop(&mut self) {
            let said = common::panic_of(|| self.0().synchronize());
            assert!(said.contains("in a section of the same collector"), "{said}");
            PANICKED.fetch_add(1, SeqCst);
        }
    }
    static PANICKED: AtomicUsize = AtomicUsize::new(0);
    static ENTERED: std::sync::LazyLock<Collector> = std::sync::LazyLock::new(Collector::new);
    thread_local! {
        static KEPT: Cell<Option<Guard>> = const { Cell::new(None) };
        static OF_A_HANDLE: Cell<Option<Guard>> = const { Cell::new(None) };
        static OF_A_COLLECTOR: Cell<Option<epoch::CollectorGuard<'static>>> = const { Cell::new(None) };
        static EARLY: Cell<[Option<Waits>; 3]> = const { Cell::new([const { None }; 3]) };
        static LATE: Cell<[Option<Waits>; 3]> = const { Cell::new([const { None }; 3]) };
    }
    static HANDLED: std::sync::LazyLock<Collector> = std::sync::LazyLock::new(Collector::new);
    let _dog = common::Watchdog::new("synchronize_beside_an_own_guard_at_exit_panics");
    let all = || [Some(Waits(epoch::default_collector)), Some(Waits(|| &ENTERED)), Some(Waits(|| &HANDLED))];
    thread::spawn(move || {
        // The guards' variables first, and the library's destructors between the two that wait: whichever way
        // round destructors run, some wait after the records were given up and before the guards are dropped.
        KEPT.set(None);
        OF_A_HANDLE.set(None);
        OF_A_COLLECTOR.set(None);
        EARLY.set(all());
        KEPT.set(Some(epoch::pin()));
        OF_A_COLLECTOR.set(Some(ENTERED.enter()));
        OF_A_HANDLE.set(Some(HANDLED.register().pin()));
        LATE.set(all());
    })
    .join()
    .unwrap();
    assert_eq!(PANICKED.load(SeqCst), 6);
    for collector in [&*ENTERED, &*HANDLED] {
        assert_eq!(collector.stats().readers, 0);
        collector.synchronize();
    }
}

/// A list whose nodes' drop defers the next one's, dropped when its thread has begun to exit: calls do not
/// nest as deep as the list is long.
#[test]
fn calls_that_defer_calls_do_not_nest() {
    struct Link(Option<Box<Link>>, Arc<AtomicUsize>);
    impl Drop for Link {
        fn drop(&mut self) {
            self.1.fetch_add(1, SeqCst);
            let next = self.0.take();
            epoch::pin().defer(move || drop(next));
        }
    }
    thread_local!(static LIST: Cell<Option<Box<Link>>> = const { Cell::new(None) });
    const LENGTH: usize = 8_000;
    let count = Arc::new(AtomicUsize::new(0));
    let list = (0..LENGTH).fold(None, |next, _| Some(Box::new(Link(next, Arc::clone(&count)))));
    thread::spawn(move || {
        LIST.set(list);
        drop(epoch::pin());
    })
    .join()
    .unwrap();
    // Each flush may make one call and issue a heavy fence: thousands of them take what they take.
    let come_to = |count: &AtomicUsize, most: usize, flush: &dyn Fn()| {
        while count.load(SeqCst) < most {
            let before = count.load(SeqCst);
            common::eventually("another is called", || {
                flush();
                count.load(SeqCst) > before
            });
        }
    };
    come_to(&count, LENGTH, &|| epoch::pin().flush());
    // So with handles that the calls themselves register.
    fn again(collector: Collector, left: usize, count: Arc<AtomicUsize>) {
        count.fetch_add(1, SeqCst);
        if left != 0 {
            let handle = collector.register();
            handle.pin().defer(move || again(collector, left - 1, count));
        }
    }
    let (collector, count) = (Collector::new(), Arc::new(AtomicUsize::new(0)));
    again(collector.clone(), LENGTH, Arc::clone(&count));
    come_to(&count, LENGTH + 1, &|| collector.enter().flush());
}
