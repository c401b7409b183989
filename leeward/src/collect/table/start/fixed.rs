//! The table that a new map has: a static line without nodes, so that a map is made without an
//! allocation, and a reader needs no test for a map that has no table.

use core::ptr::NonNull;

use super::line::Line;
use super::storage::{Overflow, Table, Words};
use crate::atomic::AtomicPtr;

static LINE: Line = Line::new();
static LINK: AtomicPtr<Overflow> = AtomicPtr::new(core::ptr::null_mut());
static TABLE: Table = Table::fixed(address(&raw const LINE), address(&raw const LINK), Words::new());

/// Returns the address of a static.
const fn address<T>(of: *const T) -> NonNull<T> {
    // SAFETY: callers have addresses of statics, which are not null.
    unsafe { NonNull::new_unchecked(of.cast_mut()) }
}

/// Returns the table of a new map.
pub(super) const fn table() -> *mut Table {
    (&raw const TABLE).cast_mut()
}
