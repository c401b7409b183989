//! The child of a fork, in which the threads that were changing the table are not there. The first
//! writer of the child comes here, and no other writes meanwhile.

use core::ptr::NonNull;

use super::line::Tags;
use super::resize::units;
use super::search::overflows;
use super::storage::Table;
use super::{RawTable, TableNode, raw};
use crate::atomic::Ordering;
use crate::inherited;
use crate::mutant::check;

impl<N: TableNode> RawTable<N> {
    /// In the child of a fork: breaks the locks of threads that are not there, has what they were
    /// moving begun anew, and counts the nodes.
    pub(super) fn repair(&self) {
        inherited::watch();
        let table = self.table();
        let break_locks = |table: &Table| (0..table.count()).for_each(|index| table.line(index as u64).break_lock());
        break_locks(table);
        let next = table.next();
        if let Some(next) = next {
            break_locks(next);
            if repair_move(table, next) {
                // Release: the table. Partner: the acquire in `RawTable::table`. The old one is leaked.
                self.table.store(table.next_pointer(), Ordering::Release);
            }
        }
        let is_moved = |index: usize| table.line(index as u64).tags().is_moved();
        let left = survivors::<N>(table, |index| !is_moved(index));
        // What is in the lines of other units is in the old table as well.
        let moved = next.map_or(0, |next| survivors::<N>(next, is_moved));
        self.counts.set(left + moved);
    }
}

/// Replaces each slot's node by its survivor (`TableNode::survivor`), in the lines for which
/// `is_meant(index)` is true. Returns the number of nodes left.
fn survivors<N: TableNode>(table: &Table, is_meant: impl Fn(usize) -> bool) -> usize {
    let mut count = 0;
    for index in (0..table.count()).filter(|&index| is_meant(index)) {
        let home = table.line(index as u64);
        // A writer that is not there may have linked the first overflow line, and not said so in the word:
        // what the line has would be counted, and be found by walks alone.
        if check!(map_repair_overflow, overflows(table, index).next().is_some()) {
            home.prepare(home.tags().with_overflow());
        }
        let further = overflows(table, index).map(|overflow| &overflow.line);
        for line in core::iter::once(home).chain(further) {
            let mut tags = line.tags();
            for slot in tags.used() {
                let node = line.node(slot);
                // SAFETY: a slot with a tag has a node, and callers are in a section.
                let left = NonNull::new(node.cast::<N>()).and_then(|node| unsafe { N::survivor(node) });
                count += left.map_or(0, |(_, length)| length);
                match left {
                    Some((first, _)) if raw(first) == node => {}
                    Some((first, _)) => line.set(slot, raw(first)),
                    None => tags = tags.without(slot),
                }
            }
            line.prepare(tags);
        }
    }
    count
}

/// In the child of a fork: ends the move of units that are moved in part, and counts those that are
/// moved. The others are moved anew. Returns true if all are.
fn repair_move(table: &Table, next: &Table) -> bool {
    let count = units(table, next);
    let is_moved = |unit: &usize| {
        let lines = || (*unit..table.count()).step_by(count).map(|index| table.line(index as u64));
        // The first line was published when the new ones were filled.
        let is_moved = lines().any(|line| line.tags().is_moved());
        if is_moved {
            lines().for_each(|line| line.prepare(Tags::moved()));
        }
        is_moved
    };
    // Relaxed, both: no other thread of the child writes before.
    table.cursor.store(0, Ordering::Relaxed);
    let moved = (0..count).filter(is_moved).count();
    table.moved.store(moved, Ordering::Relaxed);
    moved == count
}
