//! Containers in thread-local destructors.

use super::*;

leeward::rcu_domain! { struct D; struct First; struct Late; struct Own; }

static ALIVE_VALUES: AtomicI64 = AtomicI64::new(0);
static USES: AtomicU64 = AtomicU64::new(0);

/// Uses containers when its thread ends.
struct Uses<D: Domain>(RefCell<Option<Arc<Containers<D>>>>);

impl<D: Domain> Uses<D> {
    const fn new() -> Self {
        Uses(RefCell::new(None))
    }

    fn set(&self, containers: &Arc<Containers<D>>) {
        *self.0.borrow_mut() = Some(containers.clone());
    }
}

impl<D: Domain> Drop for Uses<D> {
    fn drop(&mut self) {
        let containers = self.0.take().unwrap();
        containers.use_all(USES.fetch_add(1, Relaxed) * 1000, &ALIVE_VALUES);
    }
}

thread_local! {
    static EARLY: Uses<D> = const { Uses::new() };
    static AFTERWARDS: Uses<D> = const { Uses::new() };
    static FIRST: Uses<First> = const { Uses::new() };
}

/// The destructors are registered before and after the thread first writes, so that they run on
/// either side of the library's own; the last threads write in destructors only.
#[test]
fn may_use_everything() {
    let _dog = Watchdog::new("may_use_everything");
    let (containers, first) = (Arc::new(Containers::<D>::new()), Arc::new(Containers::<First>::new()));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let (containers, first) = (containers.clone(), first.clone());
                    let run = move || {
                        EARLY.with(|uses| uses.set(&containers));
                        containers.use_all(USES.fetch_add(1, Relaxed) * 1000, &ALIVE_VALUES);
                        AFTERWARDS.with(|uses| uses.set(&containers));
                    };
                    thread::spawn(run).join().unwrap();
                    thread::spawn(move || FIRST.with(|uses| uses.set(&first))).join().unwrap();
                }
            });
        }
    });
    assert_eq!(USES.load(Relaxed), 400);
    containers.assert_empty();
    first.assert_empty();
    assert_eq!((D::stats().leaked, First::stats().leaked), (0, 0));
    // Whatever a thread left to the containers goes with them.
    drop((Arc::into_inner(containers).unwrap(), Arc::into_inner(first).unwrap()));
    assert_eq!(ALIVE_VALUES.load(Relaxed), 0);
}

static OWNED: AtomicI64 = AtomicI64::new(0);
static MAPS_DROPPED: AtomicU64 = AtomicU64::new(0);

/// A thread's own containers. As they end, their values use those of another thread-local.
struct OwnMaps(Containers<Own>);

impl Drop for OwnMaps {
    fn drop(&mut self) {
        self.0.use_all(1000, &OWNED);
        MAPS_DROPPED.fetch_add(1, Relaxed);
    }
}

thread_local! {
    static OWN_EARLY: OwnMaps = OwnMaps(Containers::new());
    static OWN_LATE: OwnMaps = OwnMaps(Containers::new());
}

/// Maps that are thread-local drop what they have, before and after the library's own destructor.
#[test]
fn maps_may_be_thread_local() {
    let _dog = Watchdog::new("maps_may_be_thread_local");
    for round in 0..40 {
        let fill = move |own: &OwnMaps| {
            for key in 0..round {
                own.0.map.insert(key, Value::new(&OWNED));
                own.0.ordered.insert(key, Value::new(&OWNED));
                own.0.queue.push(Value::new(&OWNED));
                own.0.stack.push(Value::new(&OWNED));
            }
            own.0.map.retain(|key, _| key % 3 == 0);
            own.0.ordered.retain(|key, _| key % 3 == 0);
        };
        let run = move || {
            if round % 2 == 0 {
                OWN_EARLY.with(|_| ());
            }
            drop(Own::read());
            OWN_EARLY.with(fill);
            OWN_LATE.with(fill);
        };
        thread::spawn(run).join().unwrap();
        assert_eq!(OWNED.load(Relaxed), 0, "round {round}");
    }
    assert_eq!(MAPS_DROPPED.load(Relaxed), 80);
}

static LATE_VALUES: AtomicI64 = AtomicI64::new(0);

type Removed = (
    leeward::collect::hash_map::Retired<'static, u64, Value, Hasher, Late>,
    leeward::collect::ordered_map::Retired<'static, u64, Value, Late>,
);

thread_local! {
    static KEPT: RefCell<Vec<(Removed, Guard<'static, Late>)>> = const { RefCell::new(Vec::new()) };
}

/// What was removed, and the guards of the sections, are dropped by a destructor of the thread that
/// removed it, on either side of the library's own.
#[test]
fn removed_entries_may_be_dropped_late() {
    let _dog = Watchdog::new("removed_entries_may_be_dropped_late");
    let containers: &'static Containers<Late> = Box::leak(Box::new(Containers::new()));
    for round in 0..40 {
        let run = move || {
            if round % 2 == 0 {
                KEPT.with(|_| ());
            }
            for key in 0..200 {
                containers.map.insert(key, Value::new(&LATE_VALUES));
                containers.ordered.insert(key, Value::new(&LATE_VALUES));
                let removed = (containers.map.remove(&key).unwrap(), containers.ordered.remove(&key).unwrap());
                KEPT.with(|kept| kept.borrow_mut().push((removed, Late::read())));
            }
        };
        thread::spawn(run).join().unwrap();
        assert_eq!((Late::stats().leaked, Late::stats().readers), (0, 0));
    }
    containers.assert_empty();
    // SAFETY: leaked above, and no thread has it any more.
    drop(unsafe { Box::from_raw(std::ptr::from_ref(containers).cast_mut()) });
    assert_eq!(LATE_VALUES.load(Relaxed), 0);
}
