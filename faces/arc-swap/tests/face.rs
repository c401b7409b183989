//! What users of arc-swap rely on: counts that are exact, guards that outlive and travel, and values that are dropped
//! at once.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapAny, ArcSwapOption, AsRaw, Guard, RefCnt};

/// Counts the values that are there.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(alive: &'a AtomicUsize) -> Self {
        // Relaxed: joins order it.
        alive.fetch_add(1, Ordering::Relaxed);
        Counted(alive)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        // Relaxed: as above.
        assert_ne!(self.0.fetch_sub(1, Ordering::Relaxed), 0);
    }
}

#[test]
fn a_guard_needs_no_count_until_the_value_is_replaced() {
    let value = Arc::new(1);
    let cell = ArcSwap::from(Arc::clone(&value));
    let (first, second) = (cell.load(), cell.load());
    assert_eq!(Arc::strong_count(&value), 2);
    let old = cell.swap(Arc::new(2));
    assert_eq!(Arc::strong_count(&value), 4, "the test's, the guards', and what swap returned");
    drop((first, old));
    assert_eq!(Arc::strong_count(&value), 2);
    assert_eq!((**second, **cell.load()), (1, 2));
}

#[test]
fn more_guards_than_slots_have_counts_of_their_own() {
    let value = Arc::new(1);
    let cell = ArcSwap::from(Arc::clone(&value));
    let guards: Vec<_> = (0..100).map(|_| cell.load()).collect();
    assert!((3..102).contains(&Arc::strong_count(&value)));
    let owned: Vec<Arc<i32>> = guards.into_iter().map(Guard::into_inner).collect();
    assert_eq!(Arc::strong_count(&value), 102);
    drop(owned);
    assert_eq!(Arc::strong_count(&value), 2);
    drop(cell);
    assert_eq!(Arc::try_unwrap(value), Ok(1));
}

#[test]
fn a_value_is_dropped_with_its_last_guard_wherever_that_is() {
    let alive = AtomicUsize::new(0);
    // A value that borrows: nothing is deferred to a worker.
    let cell = ArcSwap::from_pointee(Counted::new(&alive));
    let (guard, other) = (cell.load(), cell.load());
    cell.store(Arc::new(Counted::new(&alive)));
    assert_eq!(alive.load(Ordering::Relaxed), 2);
    std::thread::scope(|scope| scope.spawn(move || drop(guard)).join().unwrap());
    assert_eq!(alive.load(Ordering::Relaxed), 2);
    drop(other);
    assert_eq!(alive.load(Ordering::Relaxed), 1);
    let last = cell.load();
    drop(cell);
    assert_eq!(alive.load(Ordering::Relaxed), 1);
    drop(last);
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

#[test]
fn a_guard_outlives_its_thread_and_its_slot_serves_the_next_one() {
    let value = Arc::new(1);
    let cell = ArcSwap::from(Arc::clone(&value));
    for round in 0..20 {
        let guards =
            std::thread::scope(|scope| scope.spawn(|| (0..4).map(|_| cell.load()).collect::<Vec<_>>()).join().unwrap());
        if round % 2 == 0 {
            let old = cell.swap(Arc::clone(&value));
            assert_eq!(Arc::strong_count(&value), 7);
            drop(old);
        }
        drop(guards);
        assert_eq!(Arc::strong_count(&value), 2);
    }
}

#[test]
fn an_exchange_that_fails_drops_what_is_new_and_returns_what_is_there() {
    let (first, second) = (Arc::new(1), Arc::new(2));
    let cell = ArcSwap::from(Arc::clone(&first));
    let found = cell.compare_and_swap(&second, Arc::clone(&second));
    assert_eq!((**found, Arc::strong_count(&first), Arc::strong_count(&second)), (1, 2, 1));
    let replaced = cell.compare_and_swap(found, Arc::clone(&second));
    assert_eq!((replaced.as_raw(), Arc::strong_count(&second)), ((&first).as_raw(), 2));
    assert_eq!(Arc::strong_count(&first), 2, "the test's and the guard's");
    assert_eq!(*cell.rcu(|old| **old + 1), 2);
    assert_eq!((Arc::strong_count(&second), **cell.load()), (1, 3));
}

#[test]
fn a_store_does_not_wait_for_guards() {
    let cell = ArcSwap::from_pointee(1);
    let here = cell.load();
    let (give, take) = mpsc::channel();
    let entered = Barrier::new(2);
    std::thread::scope(|scope| {
        let (cell, entered) = (&cell, &entered);
        scope.spawn(move || {
            let there = cell.load();
            entered.wait();
            // Until the store is over.
            take.recv().unwrap();
            assert_eq!(**there, 1);
        });
        entered.wait();
        cell.store(Arc::new(2));
        give.send(()).unwrap();
    });
    assert_eq!((**here, **cell.load()), (1, 2));
}

/// A pointer whose clone, which a load makes in its section, takes as long as its function does.
struct Slow(Arc<Box<dyn Fn() + Send + Sync>>);

impl Clone for Slow {
    fn clone(&self) -> Self {
        (**self.0)();
        Slow(Arc::clone(&self.0))
    }
}

// SAFETY: as of the `Arc` inside.
unsafe impl RefCnt for Slow {
    type Base = Box<dyn Fn() + Send + Sync>;

    fn into_ptr(me: Self) -> *mut Self::Base {
        Arc::into_raw(me.0).cast_mut()
    }
    fn as_ptr(me: &Self) -> *mut Self::Base {
        Arc::as_ptr(&me.0).cast_mut()
    }
    unsafe fn from_ptr(ptr: *const Self::Base) -> Self {
        // SAFETY: the caller's promise.
        Slow(unsafe { Arc::from_raw(ptr) })
    }
}

#[test]
fn a_swap_waits_for_a_load_that_has_found_the_value() {
    let (inside, enter) = mpsc::sync_channel(1);
    let returned = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&returned);
    let cell = ArcSwapAny::<Slow>::new(Slow(Arc::new(Box::new(move || {
        inside.send(()).unwrap();
        // For a swap that does not wait: time to return.
        std::thread::sleep(Duration::from_millis(50));
        // Relaxed: what the writer does first is what is asked.
        assert!(!seen.load(Ordering::Relaxed), "swap has returned, and the load has no count yet");
    }))));
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| cell.load_full());
        enter.recv().unwrap();
        let old = cell.swap(Slow(Arc::new(Box::new(|| {}))));
        // Relaxed: as above.
        returned.store(true, Ordering::Relaxed);
        drop(reader.join().unwrap());
        assert_eq!(Arc::strong_count(&old.0), 1);
    });
}

#[test]
fn readers_and_writers_lose_no_value_and_drop_none_twice() {
    let alive = AtomicUsize::new(0);
    let cell = ArcSwap::from_pointee(Counted::new(&alive));
    let others = ArcSwapOption::<Counted<'_>>::empty();
    // miri interprets, and looks closer.
    let rounds = if cfg!(miri) { 6 } else { 300 };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for round in 0..rounds {
                    match round % 3 {
                        0 => cell.store(Arc::new(Counted::new(&alive))),
                        1 => drop(cell.rcu(|_| Arc::new(Counted::new(&alive)))),
                        // One value in two cells.
                        _ => others.store(Some(cell.load_full())),
                    }
                }
            });
            scope.spawn(|| {
                let mut kept = Vec::new();
                for round in 0..10 * rounds {
                    let guard = cell.load();
                    // Relaxed: the guard keeps one alive at least.
                    assert_ne!(guard.0.load(Ordering::Relaxed), 0);
                    kept.push(guard);
                    kept.truncate(round % 12);
                    drop(others.load());
                }
            });
        }
    });
    drop((cell, others));
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

/// Guards cross threads, and a task that holds one across an `await` may be sent.
fn _is_sent(cell: ArcSwap<i32>) {
    fn sent(_: impl Send) {}
    fn shared(_: impl Sync) {}
    sent(cell.load());
    shared(cell.load());
    sent(async move {
        let guard = cell.load();
        std::future::ready(()).await;
        drop(guard);
    });
}

#[cfg(feature = "weak")]
#[test]
fn weak_pointers_are_counted() {
    use std::sync::Weak;
    let value = Arc::new(1);
    let cell = arc_swap::ArcSwapWeak::new(Arc::downgrade(&value));
    let strong = ArcSwap::from(Arc::clone(&value));
    let (weak, guard) = (cell.load(), strong.load());
    // The same address in two kinds of cell: a count of the one is none of the other.
    cell.store(Weak::new());
    strong.store(Arc::new(2));
    assert_eq!((weak.upgrade(), **guard), (Some(Arc::new(1)), 1));
    drop((guard, weak));
    assert_eq!((Arc::strong_count(&value), Arc::weak_count(&value)), (1, 0));
    assert!(cell.load().upgrade().is_none());
}

#[cfg(feature = "serde")]
#[test]
fn a_cell_is_written_as_its_value() {
    let cell = ArcSwapOption::from_pointee(5);
    let text = serde_json::to_string(&cell).unwrap();
    assert_eq!(text, "5");
    let read: ArcSwapOption<u32> = serde_json::from_str(&text).unwrap();
    assert_eq!(read.load().as_deref(), Some(&5));
}
