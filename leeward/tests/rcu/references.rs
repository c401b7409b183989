//! References that own their section: `RcuCell::get`, `RcuOption::get` and `Ref`.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use leeward::rcu::{Domain, RcuCell, RcuOption, Ref};

leeward::rcu_domain! { struct D; }

/// A value that tells when it is freed.
struct Tracked<'a>(&'a AtomicBool);

impl Drop for Tracked<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn is_inside() -> bool {
    catch_unwind(AssertUnwindSafe(D::synchronize)).is_err()
}

#[test]
fn a_reference_keeps_its_section_open() {
    let cell = RcuCell::<_, D>::new_in([1, 2, 3]);
    let value = cell.get();
    assert!(is_inside());
    assert_eq!(*value, [1, 2, 3]);
    let old = cell.replace([4, 5, 6]);
    // The one that was loaded, and the one that is published.
    assert_eq!((*value, *cell.get()), ([1, 2, 3], [4, 5, 6]));
    drop(value);
    assert!(!is_inside());
    assert_eq!(*old.synchronize(), [1, 2, 3]);
}

#[test]
fn what_is_replaced_is_freed_after_the_reference() {
    static FREED: AtomicBool = AtomicBool::new(false);
    leeward::rcu_domain! { struct Own; }
    let cell = RcuCell::<_, Own>::new_in(Tracked(&FREED));
    let value = cell.get();
    cell.replace(Tracked(Box::leak(Box::new(AtomicBool::new(false))))).defer();
    assert!(!FREED.load(Ordering::SeqCst));
    drop(value);
    Own::barrier();
    assert!(FREED.load(Ordering::SeqCst));
}

#[test]
fn parts_have_the_same_section() {
    let cell = RcuCell::<_, D>::new_in((String::from("left"), vec![1, 2]));
    let left = Ref::map(cell.get(), |pair| pair.0.as_str());
    assert_eq!((&*left, left.to_string(), format!("{left:?}")), ("left", "left".into(), "\"left\"".into()));
    let second = Ref::filter_map(cell.get(), |pair| pair.1.get(1)).unwrap();
    drop(left);
    assert!(is_inside());
    assert_eq!(*second, 2);
    drop(second);
    assert!(!is_inside());
    let whole = Ref::filter_map(cell.get(), |pair| pair.1.get(2)).unwrap_err();
    assert_eq!(whole.1.len(), 2);
    assert!(is_inside());
}

/// A panic in the closure ends the section.
#[test]
fn a_closure_panics() {
    let cell = RcuCell::<_, D>::new_in(1);
    let mapped = catch_unwind(AssertUnwindSafe(|| drop(Ref::map(cell.get(), |_| -> &u32 { panic!("on purpose") }))));
    assert!(mapped.is_err());
    let filtered = || drop(Ref::filter_map(cell.get(), |_| -> Option<&u32> { panic!("on purpose") }));
    assert!(catch_unwind(AssertUnwindSafe(filtered)).is_err());
    assert!(!is_inside());
}

#[test]
fn the_guard_serves_other_loads() {
    let (first, second) = (RcuCell::<_, D>::new_in(1), RcuOption::<_, D>::some_in(2));
    let value = first.get();
    assert_eq!((*value, second.load(Ref::guard(&value))), (1, Some(&2)));
}

#[test]
fn an_empty_cell_opens_no_section() {
    let cell = RcuOption::<u32, D>::none_in();
    assert!(cell.get().is_none());
    assert!(!is_inside());
    cell.replace(Some(7));
    assert_eq!(*cell.get().unwrap(), 7);
}
