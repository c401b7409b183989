//! A walk through all nodes, in the order of the bits of their hashes, lowest first: so it goes on
//! where it was in a table that has grown or shrunk meanwhile.
//!
//! What was walked is a range of *positions*: hashes with their bits reversed. A line has the nodes
//! of one range, which ends where that of another begins; in a larger table the range is cut into
//! halves.

use core::ptr::NonNull;

use super::line::{Line, SLOTS, Tags};
use super::storage::{Overflow, Table};
use super::{RawTable, TableNode};
use crate::atomic::{AtomicPtr, Ordering};
use crate::mutant::mutated;

/// A walk, which stands between two nodes.
pub(crate) struct Walk<'t, N> {
    table: &'t RawTable<N>,
    /// Nodes at positions below this one have been visited, or are of the line where the walk
    /// stands.
    from: u64,
    /// The end of that line's range; `None`: the walk ends there.
    to: Option<u64>,
    /// Where it stands; `None`: it has not begun, or has ended.
    place: Option<Place<'t>>,
    has_begun: bool,
}

/// A place in a line.
struct Place<'t> {
    line: &'t Line,
    tags: Tags,
    /// The first slot that was not visited.
    slot: usize,
    /// The link to the next overflow line.
    link: &'t AtomicPtr<Overflow>,
}

impl<N: TableNode> RawTable<N> {
    /// Walks through all nodes. Each that is there throughout is visited once; others may be
    /// visited.
    ///
    /// # Safety
    /// Inside a section that lasts as long as the walk and what it returns.
    pub(crate) unsafe fn walk(&self) -> Walk<'_, N> {
        Walk { table: self, from: 0, to: Some(0), place: None, has_begun: false }
    }
}

impl<'t, N: TableNode> Walk<'t, N> {
    /// Goes to the line that has the nodes from `from` on.
    fn enter_line(&mut self) {
        let hash = self.from.reverse_bits();
        let mut table: &'t Table = self.table.table();
        let mut tags = table.line(hash).tags();
        while let Some(next) = table.next().filter(|_| tags.is_moved()) {
            table = next;
            tags = table.line(hash).tags();
        }
        let range = (table.count() as u64).trailing_zeros();
        // The positions of a line have their highest bits in common; of a single line, none.
        let last = self.from | u64::MAX.checked_shr(range).unwrap_or(0);
        self.to = last.checked_add(1);
        self.place = Some(Place { line: table.line(hash), tags, slot: 0, link: table.link(table.index(hash)) });
    }

    /// Returns the next node.
    pub(crate) fn next(&mut self) -> Option<NonNull<N>> {
        loop {
            if let Some(place) = &mut self.place {
                while let Some(node) = place.next() {
                    let node = NonNull::new(node.cast::<N>())?;
                    // SAFETY: in the table when the line's word was loaded, or later; by the promise of
                    // `walk`, it is alive.
                    let position = unsafe { node.as_ref() }.hash().reverse_bits();
                    // A table that has shrunk has nodes in the line that were visited.
                    if position >= self.from || mutated!(map_walk_position) {
                        return Some(node);
                    }
                }
            }
            if self.has_begun {
                self.place = None;
                self.from = self.to?;
            }
            self.has_begun = true;
            self.enter_line();
        }
    }
}

impl Place<'_> {
    /// Returns the next node of the line or of its overflow lines.
    fn next(&mut self) -> Option<*mut ()> {
        loop {
            while self.slot < SLOTS {
                self.slot += 1;
                if self.tags.is_used(self.slot - 1) {
                    return Some(self.line.node(self.slot - 1));
                }
            }
            // Acquire: partner of the release in `change.rs`: the overflow line, whole.
            let next = self.link.load(Ordering::Acquire);
            // SAFETY: null, or whole when it was linked, and freed with the table.
            let next = unsafe { next.as_ref() }?;
            (self.line, self.tags, self.slot, self.link) = (&next.line, next.line.tags(), 0, &next.next);
        }
    }
}
