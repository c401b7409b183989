//! When a map frees what it had, and what is lost where a callback panics or a destructor uses the
//! map: nothing.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::values::Panics;
use super::*;

#[test]
fn a_value_that_was_taken_out_comes_back() {
    let alive = Arc::new(AtomicUsize::new(0));
    let map = HashMap::new();
    map.insert(1, Counted::new(&alive, 10));
    let old = map.insert(1, Counted::new(&alive, 11)).unwrap();
    let (key, value) = old.synchronize();
    assert_eq!((key, value.1, alive.load(Relaxed)), (1, 10, 2));
    drop(value);
    let mut old = map.remove(&1).unwrap();
    let (_, value) = loop {
        match old.try_into_pair() {
            Ok(pair) => break pair,
            Err(again) => old = again,
        }
        std::thread::yield_now();
    };
    assert_eq!((value.1, map.len()), (11, 0));
    drop(value);
    assert_eq!(alive.load(Relaxed), 0);
}

#[test]
fn what_is_removed_is_freed_once_and_not_before_its_readers_leave() {
    // Readers of other tests are not waited for.
    leeward::rcu_domain! { struct Alone; }
    let alive = Arc::new(AtomicUsize::new(0));
    let map = HashMap::<_, _, std::hash::RandomState, Alone>::default();
    for round in 0..5_000u64 {
        drop(map.insert(round % 100, Counted::new(&alive, round)));
    }
    let guard = Alone::read();
    let held = map.get(&5, &guard).unwrap();
    drop(map.remove(&5));
    map.reclaim();
    assert!(held.1 == 4905 && alive.load(Relaxed) >= 100, "the reader's value is there");
    drop(guard);
    // The domain's worker frees tables, and leads a grace period meanwhile, which `reclaim` does not wait for.
    Alone::barrier();
    map.reclaim();
    assert_eq!((map.len(), alive.load(Relaxed)), (99, 99));
    drop(map);
    assert_eq!(alive.load(Relaxed), 0);
}

/// A value whose destructor blocks, once, and tells so.
struct Blocking {
    _counted: Counted,
    /// 0: it does not block; 1: the first destructor blocks; 2: one does; 3: it may go on.
    stage: Arc<AtomicUsize>,
}

impl Drop for Blocking {
    fn drop(&mut self) {
        if self.stage.compare_exchange(1, 2, Relaxed, Relaxed).is_ok() {
            while self.stage.load(Relaxed) == 2 {
                std::thread::yield_now();
            }
        }
    }
}

/// A writer frees as much as it retires, whatever another does: here that one is in a destructor that
/// has not returned. (By chance it is one that was preempted.)
#[test]
fn what_waits_is_bounded_beside_a_destructor_that_blocks() {
    leeward::rcu_domain! { struct Alone; }
    let (alive, stage) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let map = HashMap::<_, _, std::hash::RandomState, Alone>::default();
    let put = |round| {
        let value = Blocking { _counted: Counted::new(&alive, round), stage: stage.clone() };
        drop(map.insert(round % 1000, value));
    };
    std::thread::scope(|scope| {
        (0..1000).for_each(put);
        stage.store(1, Relaxed);
        scope.spawn(|| (0..).take_while(|_| stage.load(Relaxed) == 1).for_each(put));
        while stage.load(Relaxed) != 2 {
            std::thread::yield_now();
        }
        let most = (0..400_000).map(|round| (put(round), alive.load(Relaxed)).1).max();
        let waits = Alone::stats().unlinked;
        stage.store(3, Relaxed);
        // Three times 16,384 at most, what is in the map, and bags.
        assert!(most < Some(55_000) && waits < 55_000, "{most:?} were alive at once, and {waits} waited");
    });
    drop(map);
    assert_eq!((alive.load(Relaxed), Alone::stats().unlinked), (0, 0));
}

/// Sixteen writers of the same keys: what waits does not grow with what they have replaced. How much it is
/// depends on how long a writer is kept from the processor while others go on; half of all it never is.
#[test]
fn what_waits_is_bounded_beside_sixteen_writers() {
    leeward::rcu_domain! { struct Alone; }
    const WRITERS: usize = 16;
    const EACH: usize = 60_000;
    let alive = Arc::new(AtomicUsize::new(0));
    let map = HashMap::<_, _, std::hash::RandomState, Alone>::default();
    let most = std::thread::scope(|scope| {
        let write = |_| {
            let puts = (0..EACH).map(|round| {
                drop(map.insert(round as u64 % 1000, Counted::new(&alive, round as u64)));
                alive.load(Relaxed)
            });
            puts.max()
        };
        let writers: Vec<_> = (0..WRITERS).map(|writer| scope.spawn(move || write(writer))).collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).max().flatten()
    });
    assert!(most < Some(WRITERS * EACH / 2), "{most:?} were alive at once");
    drop(map);
    assert_eq!((alive.load(Relaxed), Alone::stats().unlinked), (0, 0));
}

leeward::rcu_domain! {
    /// Of one test: no other's readers keep what is taken out.
    struct Unread;
}

/// A value whose destructor replaces others of the same map.
struct Replacing(Arc<HashMap<u64, Option<Replacing>, std::hash::RandomState, Unread>>);

thread_local! {
    static IS_REPLACING: Cell<bool> = const { Cell::new(false) };
    static NESTED: Cell<u32> = const { Cell::new(0) };
}

impl Drop for Replacing {
    fn drop(&mut self) {
        if IS_REPLACING.replace(true) {
            NESTED.set(NESTED.get() + 1);
            return;
        }
        (0..200).for_each(|key| drop(self.0.insert(1000 + key, None)));
        IS_REPLACING.set(false);
    }
}

/// What a destructor retires, by the bag, is freed after it and not in it.
#[test]
fn a_destructor_that_writes_is_not_interrupted_by_others() {
    let map = Arc::new(HashMap::default());
    for round in 0..20_000 {
        drop(map.insert(round % 10, Some(Replacing(map.clone()))));
    }
    // The map's own values hold it.
    (0..10).for_each(|key| drop(map.insert(key, None)));
    map.reclaim();
    assert_eq!((map.len(), NESTED.get()), (210, 0));
}

thread_local! {
    /// What the callback of this thread does next: panics when it reaches 0.
    static FUSE: Cell<u32> = const { Cell::new(u32::MAX) };
}

fn burn() {
    let left = FUSE.get().wrapping_sub(1);
    FUSE.set(left);
    assert!(left != 0, "the fuse has burnt");
}

/// A key that panics in `eq` and in `hash`, when the test says so.
#[derive(Clone, Debug)]
struct Fused(u64);

impl PartialEq for Fused {
    fn eq(&self, other: &Fused) -> bool {
        burn();
        self.0 == other.0
    }
}
impl Eq for Fused {}
impl Hash for Fused {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        burn();
        // Two hashes, so that keys are compared.
        hasher.write_u64(self.0 % 2);
    }
}

#[test]
fn a_panic_in_a_callback_loses_nothing() {
    let alive = Arc::new(AtomicUsize::new(0));
    for fuse in 1..60 {
        let map: HashMap<Fused, Counted, BuildHasherDefault<Identity>> = HashMap::default();
        FUSE.set(u32::MAX);
        (0..20).for_each(|key| drop(map.insert(Fused(key), Counted::new(&alive, key))));
        let calls: [&dyn Fn(); 9] = [
            &|| drop(map.insert(Fused(19), Counted::new(&alive, 100))),
            &|| drop(map.insert(Fused(21), Counted::new(&alive, 21))),
            &|| drop(map.remove(&Fused(3))),
            &|| drop(map.update(Fused(18), |old| (burn(), old.clone()).1)),
            &|| {
                let update = |old: &Counted| (burn(), old.clone()).1;
                map.pin().update_or_insert_with(Fused(17), update, || unreachable!());
            },
            &|| {
                let make = || (burn(), Counted::new(&alive, 24)).1;
                map.pin().update_or_insert_with(Fused(24), Counted::clone, make);
            },
            &|| _ = map.retain(|key, _| (burn(), key.0 != 5).1),
            &|| _ = map.get_or_insert_with(Fused(23), || (burn(), Counted::new(&alive, 23)).1, &rcu::read()),
            &|| _ = map.pin().get(&Fused(11)).is_some(),
        ];
        for call in calls {
            FUSE.set(fuse);
            let _ = catch_unwind(AssertUnwindSafe(call));
        }
        FUSE.set(u32::MAX);
        for key in (0..18).filter(|key| ![3, 5].contains(key)) {
            assert_eq!(map.pin().get(&Fused(key)).map(|value| value.1), Some(key));
        }
        assert_eq!(map.iter(&rcu::read()).count(), map.len());
        drop(map);
        assert_eq!(alive.load(Relaxed), 0);
    }
}

#[test]
fn a_destructor_that_panics_in_a_writer_is_counted() {
    leeward::rcu_domain! { struct Alone; }
    let count = Cell::new(0);
    let map = HashMap::<u32, Panics, std::hash::RandomState, Alone>::default();
    let ways: [&dyn Fn(); 3] =
        [&|| (0..100).for_each(|key| drop(map.remove(&key))), &|| _ = map.retain(|_, _| false), &|| map.clear()];
    for take_out in ways {
        (0..100).for_each(|key| drop(map.insert(key, Panics(&count, key % 10 == 0))));
        take_out();
    }
    map.reclaim();
    assert_eq!((count.get(), Alone::stats().callback_panics), (300, 30));
}

/// A value whose destructor uses the map that it was in.
struct Recursive(Arc<AtomicUsize>, &'static Recursives, u64);

// Readers of other tests are not waited for.
leeward::rcu_domain! { struct Quiet; }
type Recursives = HashMap<u64, Recursive, std::hash::RandomState, Quiet>;

impl Drop for Recursive {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
        assert!(self.1.pin().get(&u64::MAX).is_none());
        if self.2 % 10 == 0 && self.2 < 1_000_000 {
            let next = 1_000_000 + self.2;
            drop(self.1.insert(next, Recursive(self.0.clone(), self.1, next)));
            drop(self.1.remove(&next));
        }
    }
}

#[test]
fn a_destructor_may_use_the_map() {
    let map: &'static Recursives = Box::leak(Box::default());
    let dropped = Arc::new(AtomicUsize::new(0));
    for key in 0..10_000 {
        drop(map.insert(key, Recursive(dropped.clone(), map, key)));
        drop(map.remove(&key));
    }
    for _ in 0..10 {
        // As above.
        Quiet::barrier();
        map.reclaim();
    }
    assert_eq!((dropped.load(Relaxed), map.len()), (11_000, 0));
}
