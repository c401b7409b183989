//! Cells of `Arc`s: counts are neither lost nor given up early.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use leeward::rcu::{ArcCell, ArcOption, Domain};

leeward::rcu_domain! { struct D; }

#[test]
fn counts_add_up() {
    leeward::rcu_domain! { struct Own; }
    let (first, second) = (Arc::new(1), Arc::new(2));
    let cell = ArcCell::<_, Own>::new_in(Arc::clone(&first));
    assert_eq!(Arc::strong_count(&first), 2);
    let full = cell.load_full();
    assert!(Arc::ptr_eq(&full, &first));
    let guard = Own::read();
    let seen = cell.load(&guard);
    // The caller's, the loaded one, the returned one, and the cell's, which lasts for the section.
    let old = cell.swap(Arc::clone(&second));
    assert_eq!((Arc::strong_count(&first), *seen, *old), (4, 1, 1));
    assert!(Arc::ptr_eq(&cell.load_full_with(&guard), &second));
    drop(guard);
    Own::barrier();
    assert_eq!(Arc::strong_count(&first), 3);
    drop((full, old, cell));
    assert_eq!((Arc::strong_count(&first), Arc::strong_count(&second)), (1, 1));
}

/// The cell's count keeps a value alive that no `Arc` has any more, until the readers have left.
#[test]
fn a_section_keeps_the_value() {
    leeward::rcu_domain! { struct Own; }
    let alive = Arc::new(());
    let cell = ArcCell::<_, Own>::new_in(Arc::new(Arc::clone(&alive)));
    let value = cell.get();
    cell.store(Arc::new(Arc::new(())));
    assert_eq!(Arc::strong_count(&alive), 2);
    assert!(Arc::ptr_eq(&value, &alive));
    drop(value);
    Own::barrier();
    assert_eq!(Arc::strong_count(&alive), 1);
}

/// What `compare_and_swap` drops, it drops outside of its section, where a destructor may wait for
/// readers.
#[test]
fn a_destructor_may_wait() {
    leeward::rcu_domain! { struct Own; }
    struct Waits;
    impl Drop for Waits {
        fn drop(&mut self) {
            Own::synchronize();
        }
    }
    let before = Own::stats().grace_periods;
    let cell = ArcCell::<_, Own>::new_in(Arc::new(Waits));
    let other = Arc::new(Waits);
    drop(cell.compare_and_swap(&other, Arc::new(Waits)));
    assert!(Own::stats().grace_periods > before);
}

#[test]
fn compare_and_swap_compares_allocations() {
    let (first, equal, second) = (Arc::new(1), Arc::new(1), Arc::new(2));
    let cell = ArcCell::<_, D>::new_in(Arc::clone(&first));
    assert!(Arc::ptr_eq(&cell.compare_and_swap(&equal, Arc::clone(&second)), &first));
    assert!(Arc::ptr_eq(&cell.load_full(), &first));
    assert!(Arc::ptr_eq(&cell.compare_and_swap(&first, Arc::clone(&second)), &first));
    assert!(Arc::ptr_eq(&cell.load_full(), &second));
    let option = ArcOption::<_, D>::none_in();
    assert_eq!(option.compare_and_swap(Some(&first), Some(Arc::clone(&second))), None);
    assert_eq!(option.compare_and_swap(None, Some(Arc::clone(&second))), None);
    assert_eq!(option.compare_and_swap(None, None), Some(Arc::clone(&second)));
    assert_eq!(option.compare_and_swap(Some(&second), None).as_deref(), Some(&2));
    assert!(option.load_full().is_none());
    drop((cell, option));
    D::barrier();
    let counts = [&first, &equal, &second].map(Arc::strong_count);
    assert_eq!(counts, [1, 1, 1]);
}

#[test]
fn no_update_is_lost() {
    const THREADS: u64 = 4;
    const TIMES: u64 = 500;
    let (cell, option) = (ArcCell::<_, D>::new_in(Arc::new(0)), ArcOption::<_, D>::default());
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..TIMES {
                    cell.rcu(|now| Arc::new(**now + 1));
                    option.rcu(|now| Some(Arc::new(now.map_or(1, |now| **now + 1))));
                }
            });
        }
        // Readers meanwhile, whose counts are their own.
        let mut cache = cell.cache();
        let mut last = 0;
        while last < THREADS * TIMES {
            let now = **cache.load().unwrap();
            assert!(now >= last && *cell.load_full() >= now);
            last = now;
        }
    });
    assert_eq!((*cell.get(), *option.get().unwrap()), (THREADS * TIMES, THREADS * TIMES));
}

#[test]
fn a_panic_in_an_update_changes_nothing() {
    let first = Arc::new(1);
    let cell = ArcCell::<_, D>::new_in(Arc::clone(&first));
    assert!(catch_unwind(AssertUnwindSafe(|| cell.rcu(|_| panic!("on purpose")))).is_err());
    assert_eq!(Arc::strong_count(&first), 2);
    D::synchronize();
}

#[test]
fn a_cache_keeps_its_value_until_the_cell_has_another() {
    let option = ArcOption::<_, D>::none_in();
    let mut cache = option.cache();
    assert!(cache.load().is_none());
    let first = Arc::new(1);
    option.store(Some(Arc::clone(&first)));
    assert!(Arc::ptr_eq(cache.load().unwrap(), &first));
    assert!(Arc::ptr_eq(cache.load().unwrap(), &first));
    // The cell's, the cache's, and the caller's.
    assert_eq!(Arc::strong_count(&first), 3);
    option.store(None);
    assert!(cache.load().is_none());
    assert_eq!(format!("{option:?} {:?}", ArcCell::from_pointee(7)), "ArcOption(None) ArcCell(7)");
}
