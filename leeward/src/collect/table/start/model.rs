//! The first table in a model, whose atomics are not made of zeros: one line.

use core::ptr::NonNull;

use super::storage::Table;

/// Returns the table of a new map.
pub(super) fn table() -> *mut Table {
    Table::allocate(1).map_or(core::ptr::null_mut(), NonNull::as_ptr)
}
