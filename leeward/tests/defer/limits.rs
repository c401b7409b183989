//! How much may be queued, and what happens beyond.

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
    let Err(retired) = cell.replace(String::from("new")).try_defer() else { panic!("there was no room for a value") };
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
