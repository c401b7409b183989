//! Sections and values in thread-local destructors.

use super::*;

leeward::rcu_domain! { struct D; struct Late; struct Nested; struct Beside; }

static READ: AtomicU64 = AtomicU64::new(0);

/// Reads when its thread ends.
struct Reads;

impl Drop for Reads {
    fn drop(&mut self) {
        let cell = RcuCell::<_, D>::new_in(7);
        let outer = D::read();
        let inner = D::read();
        assert_eq!(*cell.load(&inner), 7);
        drop(outer);
        assert_eq!(*cell.load(&inner), 7);
        drop(inner);
        cell.read(|seven| assert_eq!(*seven, 7));
        D::synchronize();
        READ.fetch_add(1, Ordering::SeqCst);
    }
}

thread_local! {
    static EARLY: Reads = const { Reads };
    static AFTERWARDS: Reads = const { Reads };
}

/// The destructors are registered before and after the thread's first section, so that they run on
/// either side of the library's own destructor.
#[test]
fn may_read() {
    let _dog = Watchdog::new("may_read");
    for _ in 0..100 {
        thread::spawn(|| {
            EARLY.with(|_| ());
            drop(D::read());
            AFTERWARDS.with(|_| ());
        })
        .join()
        .unwrap();
    }
    assert_eq!(READ.load(Ordering::SeqCst), 200);
    let stats = D::stats();
    assert_eq!((stats.readers, stats.leaked), (0, 0), "{stats:?}");
    D::synchronize();
}

/// A thread reads in destructors only.
#[test]
fn may_read_for_the_first_time() {
    leeward::rcu_domain! { struct First; }
    struct ReadsFirst;
    impl Drop for ReadsFirst {
        fn drop(&mut self) {
            drop(First::read());
            First::synchronize();
        }
    }
    thread_local! {
        static FIRST: ReadsFirst = const { ReadsFirst };
    }
    let _dog = Watchdog::new("may_read_for_the_first_time");
    for _ in 0..50 {
        thread::spawn(|| FIRST.with(|_| ())).join().unwrap();
    }
    assert_eq!((First::stats().readers, First::stats().leaked), (0, 0));
    First::synchronize();
}

static SEEN_LEAKED: AtomicU64 = AtomicU64::new(u64::MAX);

/// Drops its guard when its thread ends, later than the library's own destructor if it is
/// registered first.
struct Keeps(RefCell<Option<Guard<'static, Late>>>);

impl Drop for Keeps {
    fn drop(&mut self) {
        SEEN_LEAKED.store(Late::stats().leaked, Ordering::SeqCst);
        drop(self.0.borrow_mut().take());
    }
}

thread_local! {
    static KEPT: Keeps = const { Keeps(RefCell::new(None)) };
    static TWO: RefCell<Vec<Guard<'static, Nested>>> = const { RefCell::new(Vec::new()) };
}

#[test]
fn may_drop_a_guard_late() {
    let _dog = Watchdog::new("may_drop_a_guard_late");
    for round in 0..20 {
        thread::spawn(move || {
            if round % 2 == 0 {
                KEPT.with(|_| ());
                drop(Late::read());
            } else {
                // Registered after the library's destructor, and run before it.
                drop(Late::read());
            }
            KEPT.with(|kept| *kept.0.borrow_mut() = Some(Late::read()));
        })
        .join()
        .unwrap();
        let stats = Late::stats();
        assert_eq!((stats.leaked, stats.readers), (0, 0), "round {round}: {stats:?}");
        // Grace periods go on.
        Late::synchronize();
    }
}

#[test]
fn may_drop_several() {
    let _dog = Watchdog::new("may_drop_several");
    for order in [true, false] {
        thread::spawn(move || {
            TWO.with(|two| {
                for _ in 0..3 {
                    two.borrow_mut().push(Nested::read());
                }
                if order {
                    two.borrow_mut().reverse();
                }
            });
        })
        .join()
        .unwrap();
        let stats = Nested::stats();
        assert_eq!((stats.leaked, stats.readers), (0, 0), "{stats:?}");
        Nested::synchronize();
    }
}

/// A destructor waits beside the thread's own guard, which another variable keeps: it panics, as it does
/// before the thread's exit, and waits for no section of its own.
#[test]
fn a_wait_beside_an_own_guard_panics() {
    struct Waits;
    impl Drop for Waits {
        fn drop(&mut self) {
            assert!(panic_of(Beside::synchronize).contains("inside a read section"));
            PANICKED.fetch_add(1, Ordering::SeqCst);
        }
    }
    static PANICKED: AtomicU64 = AtomicU64::new(0);
    thread_local! {
        static KEPT: Cell<Option<Guard<'static, Beside>>> = const { Cell::new(None) };
        static EARLY: Cell<Option<Waits>> = const { Cell::new(None) };
        static LATE: Cell<Option<Waits>> = const { Cell::new(None) };
    }
    let _dog = Watchdog::new("a_wait_beside_an_own_guard_panics");
    thread::spawn(|| {
        KEPT.set(None);
        EARLY.set(Some(Waits));
        KEPT.set(Some(Beside::read()));
        LATE.set(Some(Waits));
    })
    .join()
    .unwrap();
    assert_eq!(PANICKED.load(Ordering::SeqCst), 2);
    assert_eq!((Beside::stats().leaked, Beside::stats().readers), (0, 0));
    Beside::synchronize();
}
