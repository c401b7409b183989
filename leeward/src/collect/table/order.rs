//! Going from node to node of a table with lists, in the order of the bits of their hashes, lowest
//! first, by nothing but the node where the reader stands; so it goes on in a table that has grown or
//! shrunk meanwhile.
//!
//! (`walk.rs` remembers where it was, and is cheaper; its order within a line is that of the slots.)

use core::ptr::NonNull;

use super::RawTable;
use super::link::{Linked, Stand, follow};
use super::search::overflows;

/// The nodes of one line from a position on.
struct Found<N> {
    /// The first list from there on, and its position.
    list: Option<(u64, *mut N)>,
    /// The first position of the next line; `None`: this was the last.
    next_line: Option<u64>,
}

impl<N: Linked> RawTable<N> {
    /// Returns the first node of the table, in the order of positions: hashes with their bits
    /// reversed.
    ///
    /// # Safety
    /// Inside a section that lasts as long as what is returned is used.
    pub(crate) unsafe fn first_linked(&self) -> Option<Stand<N>> {
        // SAFETY: the caller's promise.
        unsafe { self.find_from(0) }
    }

    /// Returns the node that follows another one, with `next` behind it when it was found. Each that
    /// is in the table throughout a series of calls is returned once; others may be.
    ///
    /// # Safety
    /// As for `first_linked`; `node` and `next` are of this section.
    pub(crate) unsafe fn next_linked(&self, node: NonNull<N>, next: *mut N) -> Option<Stand<N>> {
        // SAFETY: the caller's promise.
        let behind = unsafe { follow(next, |_| true) };
        behind.or_else(|| {
            // SAFETY: alive, by the caller's promise.
            let position = unsafe { node.as_ref() }.hash().reverse_bits();
            // SAFETY: the caller's promise.
            position.checked_add(1).and_then(|from| unsafe { self.find_from(from) })
        })
    }

    /// Counts the nodes.
    ///
    /// # Safety
    /// As for `first_linked`.
    pub(crate) unsafe fn count_linked(&self) -> usize {
        // SAFETY: the caller's promise.
        let mut lists = unsafe { self.walk() };
        let mut count = 0;
        while let Some(list) = lists.next() {
            let mut next = list.as_ptr();
            // SAFETY: as above; the list was in the table.
            while let Some(stand) = unsafe { follow(next, |_| true) } {
                (count, next) = (count + 1, stand.next);
            }
        }
        count
    }

    /// # Safety
    /// As for `first_linked`.
    unsafe fn find_from(&self, mut from: u64) -> Option<Stand<N>> {
        loop {
            // SAFETY: the caller's promise.
            let found = unsafe { self.look_into_line(from) };
            let Some((position, list)) = found.list else {
                from = found.next_line?;
                continue;
            };
            // SAFETY: the caller's promise; the list was in the table.
            if let Some(stand) = unsafe { follow(list, |_| true) } {
                return Some(stand);
            }
            // All its nodes were removed meanwhile.
            from = position.checked_add(1)?;
        }
    }

    /// Looks for the first list from a position on, in the line of that position.
    ///
    /// # Safety
    /// As for `first_linked`.
    unsafe fn look_into_line(&self, from: u64) -> Found<N> {
        let hash = from.reverse_bits();
        let mut table = self.table();
        let mut tags = table.line(hash).tags();
        while let Some(next) = table.next().filter(|_| tags.is_moved()) {
            table = next;
            tags = table.line(hash).tags();
        }
        let home = (table.line(hash), tags);
        let further = overflows(table, table.index(hash)).map(|overflow| (&overflow.line, overflow.line.tags()));
        let lines = core::iter::once(home).chain(further.filter(|_| tags.has_overflow()));
        let lists = lines.flat_map(|(line, tags)| tags.used().map(move |slot| line.node(slot).cast::<N>()));
        // SAFETY: in the table when the line's word was loaded, or later; alive in the section.
        let positions = lists.map(|list| (unsafe { &*list }.hash().reverse_bits(), list));
        let list = positions.filter(|(position, _)| *position >= from).min_by_key(|(position, _)| *position);
        // The positions of a line have their highest bits in common; of a single line, none.
        let range = (table.count() as u64).trailing_zeros();
        let last = from | u64::MAX.checked_shr(range).unwrap_or(0);
        Found { list, next_line: last.checked_add(1) }
    }
}
