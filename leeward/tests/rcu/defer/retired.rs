//! Values that are freed after a grace period.

use super::*;

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::SeqCst;

/// How often each value was dropped.
struct Drops(Vec<AtomicU64>);

struct Value {
    number: usize,
    drops: Arc<Drops>,
}

impl Drop for Value {
    fn drop(&mut self) {
        self.drops.0[self.number].fetch_add(1, Ordering::SeqCst);
    }
}

fn values(count: usize) -> (Arc<Drops>, impl FnMut() -> Value) {
    let drops = Arc::new(Drops((0..count).map(|_| AtomicU64::new(0)).collect()));
    let made = Arc::clone(&drops);
    let mut number = 0;
    (drops, move || {
        number += 1;
        Value { number: number - 1, drops: Arc::clone(&made) }
    })
}

#[test]
fn synchronize_gives_the_value_back() {
    domain!();
    let _dog = Watchdog::new("synchronize_gives_the_value_back");
    let cell = RcuCell::<_, D>::new_in(vec![1, 2, 3]);
    let retired = cell.replace(vec![]);
    assert_eq!(*retired, [1, 2, 3]);
    let back: Box<Vec<i32>> = retired.synchronize();
    assert_eq!(*back, [1, 2, 3]);
    assert_eq!(*cell.into_inner(), []);
}

#[test]
fn try_into_box_waits_for_nobody() {
    domain!();
    let _dog = Watchdog::new("try_into_box_waits_for_nobody");
    let cell = RcuCell::<_, D>::new_in(1);
    let guard = D::read();
    let mut retired: Retired<_, D> = cell.replace(2);
    for _ in 0..10 {
        retired = retired.try_into_box().expect_err("a reader is inside");
        thread::sleep(Duration::from_micros(200));
    }
    drop(guard);
    let start = Instant::now();
    let value = loop {
        match retired.try_into_box() {
            Ok(value) => break value,
            Err(again) => retired = again,
        }
        assert!(start.elapsed() < patience());
    };
    assert_eq!(*value, 1);
}

#[test]
fn dropping_defers() {
    domain!();
    let _dog = Watchdog::new("dropping_defers");
    let (drops, mut value) = values(2);
    let cell = RcuCell::<_, D>::new_in(value());
    let guard = D::read();
    drop(cell.replace(value()));
    never("a value was dropped under a reader", || drops.0[0].load(Ordering::SeqCst) > 0);
    drop(guard);
    D::barrier();
    assert_eq!(drops.0[0].load(Ordering::SeqCst), 1);
    // The cell's own value goes with it, at once: no thread can have a reference.
    drop(cell);
    assert_eq!(drops.0[1].load(Ordering::SeqCst), 1);
}

#[test]
fn cells_that_may_be_empty() {
    domain!();
    let _dog = Watchdog::new("cells_that_may_be_empty");
    let (drops, mut value) = values(3);
    let cell = RcuOption::<_, D>::none_in();
    assert!(cell.take().is_none() && cell.replace(None).is_none());
    assert!(cell.replace(Some(value())).is_none());
    assert_eq!(cell.read(|now| now.map(|value| value.number)), Some(0));
    drop(cell.replace(Some(value())).unwrap().synchronize());
    drop(cell.update(|old| {
        assert_eq!(old.map(|value| value.number), Some(1));
        value()
    }));
    drop(cell.take());
    assert!(cell.read(|now| now.is_none()));
    D::barrier();
    assert!(drops.0.iter().all(|times| times.load(Ordering::SeqCst) == 1));
}

#[test]
fn updates_are_not_lost() {
    domain!();
    let _dog = Watchdog::new("updates_are_not_lost");
    let cell = RcuCell::<u64, D>::new_in(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..2_000).for_each(|_| cell.update(|now| now + 1).defer()));
        }
    });
    assert_eq!(*cell.into_inner(), 8_000);
}

/// After any sequence of operations, every value is dropped exactly once, and none under a reader
/// that has it.
#[test]
fn every_value_is_dropped_once() {
    domain!();
    let _dog = Watchdog::new("every_value_is_dropped_once");
    const STEPS: usize = 400;
    for seed in 0..60 {
        let (drops, mut value) = values(STEPS + 1);
        let mut rng = Rng::new(seed);
        let cell = RcuOption::<_, D>::some_in(value());
        let mut made = 1;
        let mut kept: Vec<Retired<Value, D>> = Vec::new();
        let mut boxes = Vec::new();
        for _ in 0..STEPS {
            let guard = D::read();
            let seen = cell.load(&guard);
            let new = (rng.below(5) > 0).then(|| {
                made += 1;
                value()
            });
            let old = if rng.below(4) == 0 {
                let mut new = new;
                match new.take() {
                    // `next` is called once: no other thread updates.
                    Some(new) => {
                        let mut new = Some(new);
                        cell.update(|_| new.take().unwrap())
                    }
                    None => cell.take(),
                }
            } else {
                cell.replace(new)
            };
            if let Some(seen) = seen {
                assert_eq!(drops.0[seen.number].load(Ordering::SeqCst), 0, "seed {seed}: dropped under a reader");
            }
            drop(guard);
            let Some(old) = old else { continue };
            match rng.below(8) {
                0 => old.defer(),
                1 => drop(old),
                2 => drop(old.synchronize()),
                3 => boxes.push(old.synchronize()),
                4 => old.defer_bytes(1 << rng.below(20)),
                5 => drop(old.try_defer()),
                _ => kept.push(old),
            }
            if rng.below(3) == 0 {
                if let Some(old) = kept.pop() {
                    match old.try_into_box() {
                        Ok(old) => boxes.push(old),
                        Err(old) => kept.push(old),
                    }
                }
            }
        }
        drop((cell, kept, boxes));
        D::barrier();
        for (number, times) in drops.0.iter().enumerate().take(made) {
            assert_eq!(times.load(Ordering::SeqCst), 1, "seed {seed}: value {number} was dropped so often");
        }
    }
}

/// What the compiler cannot check: a value that is not `Send`, in memory of one's own.
#[test]
fn raw_values_are_freed_by_their_own_function() {
    leeward::rcu_domain! { struct D; }
    static FREED: AtomicUsize = AtomicUsize::new(0);
    /// # Safety
    /// From a box, and used by nobody.
    unsafe fn free(value: NonNull<Cell<u32>>) {
        FREED.fetch_add(1, SeqCst);
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(value.as_ptr()) });
    }
    let retire = |number| {
        let value = NonNull::from(Box::leak(Box::new(Cell::new(number))));
        // SAFETY: no reader has it; and whichever thread frees it has it alone.
        unsafe { Retired::<_, D>::from_raw_in(value, free) }
    };
    let reader = Reader::<D>::register_in();
    let section = reader.read();
    retire(1).defer();
    assert!(retire(2).try_defer().is_ok());
    drop(retire(3));
    let polled = retire(4).try_into_raw().unwrap_err();
    assert_eq!((polled.get(), FREED.load(SeqCst)), (4, 0));
    drop(section);
    D::barrier();
    assert_eq!(FREED.load(SeqCst), 3);
    let waited = retire(5).synchronize();
    // SAFETY: the caller's own since then.
    unsafe { free(waited) };
    drop(polled);
    D::barrier();
    assert_eq!(FREED.load(SeqCst), 5);
}
