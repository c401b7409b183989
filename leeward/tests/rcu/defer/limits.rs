//! How much may be queued, and what happens beyond.

use super::*;

fn limit<D: Domain>(callbacks: usize, policy: Policy) {
    D::set_limit(Limit { callbacks, policy, ..Limit::default() });
}

/// The largest number that was queued at any time, counted by the callbacks' owners.
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

/// The time of an `Expedite` that must not end by time.
const LONG: Duration = Duration::from_secs(3_600);

#[test]
fn who_waits_for_ever_is_bounded() {
    domain!();
    static MARK: Mark = Mark::new();
    const LIMIT: usize = 64;
    const THREADS: usize = 3;
    let _dog = Watchdog::new("who_waits_for_ever_is_bounded");
    limit::<D>(LIMIT, Policy::WaitForever);
    thread::scope(|scope| {
        for _ in 0..THREADS {
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
    assert!(most <= LIMIT + THREADS, "{most} callbacks of {THREADS} threads were queued at a limit of {LIMIT}");
    assert_eq!(MARK.now.load(Ordering::Relaxed), 9_000);
    assert_eq!(D::stats().over_limit, 0);
}

#[test]
fn who_waits_for_ever_waits_for_a_reader() {
    domain!();
    let _dog = Watchdog::new("who_waits_for_ever_waits_for_a_reader");
    limit::<D>(4, Policy::WaitForever);
    let (entered, inside) = std::sync::mpsc::channel();
    let (leave, told) = std::sync::mpsc::channel::<()>();
    let other = thread::spawn(move || {
        let guard = D::read();
        entered.send(()).unwrap();
        told.recv().unwrap();
        drop(guard);
    });
    inside.recv().unwrap();
    (0..4).for_each(|_| D::defer(|| {}));
    let blocked = thread::spawn(|| D::defer(|| {}));
    never("a caller went beyond the limit", || blocked.is_finished() || D::stats().callbacks_queued > 5);
    leave.send(()).unwrap();
    blocked.join().unwrap();
    other.join().unwrap();
    D::barrier();
    assert_eq!((D::stats().callbacks_run, D::stats().over_limit), (5, 0));
}

/// Raising the limit lets the callers go on that wait.
#[test]
fn may_be_raised_under_a_caller_that_waits() {
    domain!();
    let _dog = Watchdog::new("may_be_raised_under_a_caller_that_waits");
    limit::<D>(1, Policy::WaitForever);
    let guard = D::read();
    D::defer(|| {});
    let blocked = thread::spawn(|| D::defer(|| {}));
    never("a caller went beyond the limit", || blocked.is_finished());
    limit::<D>(2, Policy::WaitForever);
    blocked.join().unwrap();
    drop(guard);
    D::barrier();
}

#[test]
fn what_was_set_can_be_asked() {
    leeward::rcu_domain! { struct D; struct Other; }
    let _dog = Watchdog::new("what_was_set_can_be_asked");
    assert_eq!(D::limit(), Limit::default());
    let limit = Limit { callbacks: 3, bytes: 5_000, policy: Policy::Expedite(Duration::from_micros(7)) };
    D::set_limit(limit);
    assert_eq!((D::limit(), Other::limit()), (limit, Limit::default()));
    D::set_limit(Limit { bytes: 1, ..D::limit() });
    assert_eq!(D::limit(), Limit { bytes: 1, ..limit });
    for policy in [Policy::Wait(Duration::ZERO), Policy::WaitForever, Policy::DEFAULT] {
        D::set_limit(Limit { policy, ..limit });
        assert_eq!(D::limit().policy, policy);
    }
    // Longer than five centuries is five centuries.
    D::set_limit(Limit { policy: Policy::Wait(Duration::MAX), ..limit });
    assert_eq!(D::limit().policy, Policy::Wait(Duration::from_nanos(u64::MAX)));
    D::set_limit(Limit { callbacks: 1, ..D::limit() });
    (0..5).for_each(|_| D::defer(|| {}));
    D::barrier();
}

#[test]
fn bytes_are_bounded_too() {
    domain!();
    let _dog = Watchdog::new("bytes_are_bounded_too");
    const LIMIT: usize = 10_000;
    D::set_limit(Limit { bytes: LIMIT, policy: Policy::WaitForever, ..Limit::default() });
    let cell = RcuCell::<_, D>::new_in([0u8; 1_000]);
    let most = AtomicU64::new(0);
    for n in 0..500u32 {
        cell.replace([n as u8; 1_000]).defer();
        most.fetch_max(D::stats().bytes_queued, Ordering::Relaxed);
    }
    // A callback that is larger than the limit waits until it is alone, or has run.
    for _ in 0..3 {
        cell.replace([0; 1_000]).defer_bytes(5 * LIMIT);
    }
    D::barrier();
    let most = most.load(Ordering::Relaxed);
    assert!(most <= LIMIT as u64 + 1_000, "{most} bytes were queued at a limit of {LIMIT}");
    let stats = D::stats();
    assert_eq!((stats.callbacks_run, stats.bytes_queued), (503, 0));
}

/// Small values that come all the time do not keep a large one from being queued.
#[test]
fn a_large_value_gets_in_beside_small_ones() {
    domain!();
    let _dog = Watchdog::new("a_large_value_gets_in_beside_small_ones");
    const LIMIT: usize = 10_000;
    D::set_limit(Limit { bytes: LIMIT, policy: Policy::WaitForever, ..Limit::default() });
    let (is_in, ran) = (AtomicBool::new(false), Arc::new(AtomicBool::new(false)));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let small = RcuCell::<_, D>::new_in([0u8; 100]);
                while !is_in.load(Ordering::Relaxed) {
                    small.replace([1; 100]).defer();
                }
            });
        }
        scope.spawn(|| {
            struct Large(Arc<AtomicBool>);
            impl Drop for Large {
                fn drop(&mut self) {
                    self.0.store(true, Ordering::Relaxed);
                }
            }
            eventually("small ones are queued", || D::stats().bytes_queued > 1_000);
            let cell = RcuCell::<_, D>::new_in(Some(Large(Arc::clone(&ran))));
            cell.replace(None).defer_bytes(LIMIT);
            is_in.store(true, Ordering::Relaxed);
        });
    });
    D::barrier();
    assert!(ran.load(Ordering::Relaxed));
}

#[test]
fn expedite_runs_them_here() {
    domain!();
    let _dog = Watchdog::new("expedite_runs_them_here");
    const LIMIT: usize = 8;
    limit::<D>(LIMIT, Policy::Expedite(LONG));
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
    limit::<D>(2, Policy::DEFAULT);
    let guard = D::read();
    assert!(D::try_defer(|| {}).is_ok());
    assert!(D::try_defer(|| {}).is_ok());
    let token = Arc::new(7);
    let held = Arc::clone(&token);
    let (ran, callback) = flag();
    let Err(NotQueued(back)) = D::try_defer(move || {
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
    // The same holds for a retired value.
    let cell = RcuCell::<_, D>::new_in(String::from("old"));
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
    for policy in [Policy::DEFAULT, Policy::WaitForever, Policy::Expedite(LONG)] {
        limit::<D>(3, policy);
        let before = D::stats();
        let guard = D::read();
        (0..10).for_each(|_| D::defer(|| {}));
        assert_eq!(D::stats().over_limit - before.over_limit, 7);
        drop(guard);
        D::barrier();
        let reader = Reader::<D>::register_in();
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
    limit::<D>(2, Policy::DEFAULT);
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

/// A reader that is inside, on a thread of its own, until it is asked to leave.
pub struct Inside {
    leave: std::sync::mpsc::Sender<()>,
    thread: thread::JoinHandle<()>,
}

impl Inside {
    pub fn begin<D: Domain>() -> Inside {
        let (entered, inside) = std::sync::mpsc::channel();
        let (leave, told) = std::sync::mpsc::channel();
        let thread = thread::spawn(move || {
            let guard = D::read();
            entered.send(()).unwrap();
            told.recv().unwrap();
            drop(guard);
        });
        inside.recv().unwrap();
        Inside { leave, thread }
    }

    pub fn end(self) {
        self.leave.send(()).unwrap();
        self.thread.join().unwrap();
    }
}

/// A reader that stays inside holds no caller up forever: not under the default policy, not under
/// one that helps, and not where a value is dropped. What goes beyond the limit is counted, and the
/// reader is named.
#[test]
fn a_reader_that_stays_holds_nobody_up() {
    leeward::rcu_domain! { struct D; struct Helped; }
    fn try_it<D: Domain>(policy: Policy) {
        static TOLD: AtomicU64 = AtomicU64::new(0);
        limit::<D>(3, policy);
        D::set_stall_limit(
            Some(Duration::from_secs(3_600)),
            Some(|stall| {
                assert!(stall.is_beyond_limit);
                assert_ne!(stall.thread, 0);
                TOLD.fetch_add(1, Ordering::SeqCst);
            }),
        );
        TOLD.store(0, Ordering::SeqCst);
        let inside = Inside::begin::<D>();
        let cell = RcuCell::<_, D>::new_in(0);
        for n in 0..5 {
            cell.replace(n).defer();
            drop(cell.replace(n));
        }
        let stats = D::stats();
        assert_eq!((stats.over_limit, stats.callbacks_queued, stats.callbacks_run), (7, 10, 0), "{stats:?}");
        // Once there is a grace period that waits for it.
        eventually("the reader is reported", || {
            cell.replace(0).defer();
            TOLD.load(Ordering::SeqCst) > 0
        });
        assert!(D::stats().stalls > 0);
        inside.end();
        D::barrier();
        assert_eq!(D::stats().callbacks_queued, 0);
    }
    let _dog = Watchdog::new("a_reader_that_stays_holds_nobody_up");
    try_it::<D>(Policy::DEFAULT);
    try_it::<Helped>(Policy::Expedite(Duration::from_millis(1)));
}

/// A writer defers under a mutex that a reader takes inside its section.
#[test]
fn a_writer_may_hold_what_its_readers_wait_for() {
    leeward::rcu_domain! { struct D; struct Helped; }
    fn try_it<D: Domain>(policy: Policy) {
        limit::<D>(2, policy);
        let cell = RcuCell::<_, D>::new_in(0u32);
        let mutex = Mutex::new(());
        let (entered, inside) = std::sync::mpsc::channel();
        thread::scope(|scope| {
            let held = mutex.lock().unwrap();
            let reader = scope.spawn(|| {
                let guard = D::read();
                let before = *cell.load(&guard);
                entered.send(()).unwrap();
                drop(mutex.lock().unwrap());
                (before, *cell.load(&guard))
            });
            inside.recv().unwrap();
            for n in 1..=10 {
                cell.replace(n).defer();
            }
            drop(held);
            assert_eq!(reader.join().unwrap(), (0, 10));
        });
        assert!(D::stats().over_limit > 0);
        D::barrier();
        assert_eq!(D::stats().callbacks_run, 10);
    }
    let _dog = Watchdog::new("a_writer_may_hold_what_its_readers_wait_for");
    try_it::<D>(Policy::DEFAULT);
    try_it::<Helped>(Policy::Expedite(Duration::from_millis(1)));
}

/// A caller defers under a mutex that callbacks take.
#[test]
fn a_writer_may_hold_what_callbacks_wait_for() {
    domain!();
    static MUTEX: Mutex<()> = Mutex::new(());
    let _dog = Watchdog::new("a_writer_may_hold_what_callbacks_wait_for");
    limit::<D>(2, Policy::DEFAULT);
    let held = MUTEX.lock().unwrap();
    (0..10).for_each(|_| D::defer(|| drop(MUTEX.lock().unwrap())));
    assert!(D::stats().over_limit > 0);
    drop(held);
    D::barrier();
    assert_eq!(D::stats().callbacks_run, 10);
}
