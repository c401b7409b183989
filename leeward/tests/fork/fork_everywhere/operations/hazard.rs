//! The operations of hazard pointers: a child has the parent's pointers and what they protect, and
//! goes on with its own.

use std::cell::RefCell;
use std::ptr;
use std::sync::atomic::AtomicPtr;

use leeward::hazard::{self, Cell, HazardPointer};

use super::Operation;

operations! {
    "hazard";
    protect: || protect(&mut HazardPointer::new()) => left(is_usable);
    protect_raw: || {
        let source = AtomicPtr::new(ptr::null_mut::<u32>());
        assert!(HazardPointer::new().protect_raw(&source).is_null());
    } => left(is_usable);
    reset: || {
        let mut pointer = HazardPointer::new();
        protect(&mut pointer);
        pointer.reset_protection();
    } => left(is_usable);
    store: || CELL.store(1) => left(is_usable);
    replace: || drop(CELL.replace(2)) => left(is_usable);
    retire: || {
        CELL.store(3);
        if let Some(old) = CELL.take() {
            old.retire();
        }
    } => left(is_usable);
    retire_much: || (0..200).for_each(|value| CELL.store(value)) => left(is_usable);
    update: || drop(CELL.update(&mut HazardPointer::new(), |now| now.map(|now| now + 1))) => left(is_usable);
    reclaim: || {
        CELL.store(4);
        hazard::reclaim();
    } => left(is_usable);
    end_of_an_owner: || {
        thread_local! { static OWNED: RefCell<HazardPointer> = RefCell::new(HazardPointer::new()); }
        OWNED.with(|pointer| protect(&mut pointer.borrow_mut()));
    } => left(is_usable).until_the_thread_ends();
}

static CELL: Cell<u32> = Cell::empty();

fn protect(pointer: &mut HazardPointer) {
    let _ = pointer.protect(&CELL);
}

/// Uses the cell, and frees everything that nothing protects.
fn is_usable() -> bool {
    CELL.store(7);
    let is_seen = HazardPointer::new().protect(&CELL) == Some(&7);
    (0..300).for_each(|value| CELL.store(value));
    let is_back = CELL.take().is_some_and(|old| old.try_into_inner().ok() == Some(299));
    hazard::reclaim();
    is_seen && is_back
}
