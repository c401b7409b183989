//! Where a node finds room: in a line, or in its overflow lines.

use super::line::Tags;
use super::search::{linked, overflows};
use super::storage::{NoMemory, Overflow, Table};
use crate::atomic::AtomicPtr;
use crate::mutant::{mutated, order};

/// Puts a node into a free slot of the line `index` or of its overflow lines, and returns the
/// line's new word. The line is locked, or the table is not published yet.
///
/// It goes through the overflow lines up to one that has room. Its callers have gone through all of
/// them, which they do to find what has the node's hash: a note of where there is room, which each
/// removal would have to take back, would spare the last of these walks and no order of growth.
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
    append(link, hash, node)?;
    Ok(tags.with_overflow())
}

/// Links a new overflow line with a node behind the last one, whose link this is.
fn append(link: &AtomicPtr<Overflow>, hash: u64, node: *mut ()) -> Result<&Overflow, NoMemory> {
    let new = Overflow::allocate()?;
    // SAFETY: made above, linked below, and freed with the table.
    let overflow = unsafe { new.as_ref() };
    overflow.line.set(0, node);
    overflow.line.prepare(overflow.line.tags().with(0, hash));
    // Release: the overflow line, whole. Partner: the acquire in `linked`.
    link.store(new.as_ptr(), order!(Release, map_link_release));
    Ok(overflow)
}

/// Puts a node into the line `index` of a table to which nodes move, and returns the line's new word.
/// No other thread looks at the line yet, and nothing is taken out of it: so it and its overflow lines
/// are filled one after the other, in a time that does not depend on how many there are.
#[inline]
pub(super) fn fill_in(table: &Table, index: usize, tags: Tags, hash: u64, node: *mut ()) -> Result<Tags, NoMemory> {
    let Some(slot) = tags.free() else { return fill_further(table, index, tags, hash, node) };
    table.line(index as u64).set(slot, node);
    Ok(tags.with(slot, hash))
}

#[cold]
fn fill_further(table: &Table, index: usize, tags: Tags, hash: u64, node: *mut ()) -> Result<Tags, NoMemory> {
    let link = table.link(index);
    let Some(first) = linked(link) else {
        append(link, hash, node)?;
        return Ok(tags.with_overflow());
    };
    let mut overflow = if mutated!(map_move_end) { first } else { first.filling() };
    let filled = loop {
        let word = overflow.line.tags();
        if let Some(slot) = word.free() {
            overflow.line.set(slot, node);
            overflow.line.prepare(word.with(slot, hash));
            break overflow;
        }
        // An attempt that failed may have left a line without nodes.
        match linked(&overflow.next) {
            Some(next) => overflow = next,
            None => break append(&overflow.next, hash, node)?,
        }
    };
    first.set_filling(filled);
    Ok(tags)
}
