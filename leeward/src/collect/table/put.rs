//! Where a node finds room: in a line, or in its overflow lines.

use super::line::Tags;
use super::search::overflows;
use super::storage::{NoMemory, Overflow, Table};
use crate::mutant::order;

/// Puts a node into a free slot of the line `index` or of its overflow lines, and returns the
/// line's new word. The line is locked, or the table is not published yet.
#[inline]
pub(super) fn put(table: &Table, index: usize, tags: Tags, hash: u64, node: *mut ()) -> Result<Tags, NoMemory> {
    let Some(slot) = tags.free() else { return put_further(table, index, tags, hash, node) };
    table.line(index as u64).set(slot, node);
    Ok(tags.with(slot, hash))
}

#[cold]
fn put_further(table: &Table, index: usize, tags: Tags, hash: u64, node: *mut ()) -> Result<Tags, NoMemory> {
    let mut link = table.link(index);
    for overflow in overflows(table, index) {
        let word = overflow.line.tags();
        if let Some(slot) = word.free() {
            overflow.line.set(slot, node);
            overflow.line.publish(word.with(slot, hash));
            return Ok(tags);
        }
        link = &overflow.next;
    }
    let new = Overflow::allocate()?;
    // SAFETY: made above, and linked below.
    let first = unsafe { &new.as_ref().line };
    first.set(0, node);
    first.prepare(first.tags().with(0, hash));
    // Release: the overflow line, whole. Partner: the acquire in `overflows`.
    link.store(new.as_ptr(), order!(Release, map_link_release));
    Ok(tags.with_overflow())
}
