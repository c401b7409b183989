//! Two guards of one address that use the same slot. A program of its own: slots are handed on from thread to thread,
//! and here there is one.

use std::sync::Arc;

use arc_swap::ArcSwapOption;

#[test]
fn notes_of_one_address_stand_for_one_another() {
    let value = Arc::new(1);
    let cell = ArcSwapOption::from(Some(Arc::clone(&value)));
    let first = cell.load();
    // Paid for the first guard, and the slot is free; then the same `Arc` is in the cell again.
    drop(cell.swap(None));
    cell.store(Some(Arc::clone(&value)));
    let second = cell.load();
    assert_eq!(Arc::strong_count(&value), 3);
    // Clears the note of the second one, in the same slot, and leaves it its count.
    drop(first);
    assert_eq!(Arc::strong_count(&value), 3);
    cell.store(None);
    assert_eq!(second.as_deref(), Some(&1));
    drop(second);
    assert_eq!(Arc::strong_count(&value), 1);
}
