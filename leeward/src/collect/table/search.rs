//! Looking for a node, for readers and for writers.

use alloc::vec::Vec;
use core::ptr::NonNull;

use super::line::{Line, Tags};
use super::storage::{Overflow, Table};
use super::{RawTable, TableNode, raw};
use crate::atomic::AtomicPtr;
use crate::mutant::order;

/// How many nodes of the same hash a writer notes without an allocation.
const FEW: usize = 4;

/// The nodes with the wanted hash that a writer has compared, and found to have other keys: none as
/// a rule, many if an attacker chooses the keys.
pub(crate) struct Seen {
    few: [*mut (); FEW],
    length: usize,
    more: Vec<*mut ()>,
    /// Where the next look begins: nodes are found again in the order in which they were noted.
    next: usize,
}

impl Seen {
    #[inline]
    pub(crate) fn new() -> Seen {
        Seen { few: [core::ptr::null_mut(); FEW], length: 0, more: Vec::new(), next: 0 }
    }

    #[inline]
    fn clear(&mut self) {
        (self.length, self.next) = (0, 0);
        self.more.clear();
    }

    fn note(&mut self, node: *mut ()) {
        match self.few.get_mut(self.length) {
            Some(place) => *place = node,
            None => self.more.push(node),
        }
        self.length += 1;
    }

    fn get(&self, index: usize) -> *mut () {
        self.few.get(index).copied().unwrap_or_else(|| self.more[index - FEW])
    }

    /// Returns true if the node was compared.
    #[inline]
    pub(super) fn has(&mut self, node: *mut ()) -> bool {
        let rest = (self.next..self.length).chain(0..self.next);
        for index in rest {
            if self.get(index) == node {
                self.next = index + 1;
                return true;
            }
        }
        false
    }
}

impl<N: TableNode> RawTable<N> {
    /// Returns the node with this hash for which `is_equal` returns true. Wait-free, but for
    /// `is_equal`.
    ///
    /// # Safety
    /// Inside a section, in which what is returned stays alive.
    #[inline(always)]
    pub(crate) unsafe fn find(&self, hash: u64, mut is_equal: impl FnMut(&N) -> bool) -> Option<NonNull<N>> {
        let table = self.table();
        let line = table.line(hash);
        let tags = line.tags();
        // SAFETY: the caller's promise.
        if let Some(node) = unsafe { find_in(line, tags, hash, &mut is_equal) } {
            return Some(node);
        }
        if tags.is_plain() {
            return None;
        }
        // SAFETY: the caller's promise.
        unsafe { find_further(table, tags, hash, &mut is_equal) }
    }

    /// Does what `find` does, for a writer: notes the nodes with this hash that it compared.
    /// Returns the table that it found the node in, or not.
    ///
    /// # Safety
    /// As for `find`.
    pub(crate) unsafe fn search(
        &self,
        hash: u64,
        seen: &mut Seen,
        mut is_equal: impl FnMut(&N) -> bool,
    ) -> Option<NonNull<N>> {
        seen.clear();
        let compare = |node: &N| {
            // A table with few lines has many nodes with an equal tag; and only nodes with an equal hash
            // must be known later.
            node.hash() == hash && {
                let equal = is_equal(node);
                if !equal {
                    seen.note(core::ptr::from_ref(node).cast_mut().cast());
                }
                equal
            }
        };
        // SAFETY: the caller's promise.
        unsafe { self.find(hash, compare) }
    }
}

/// Returns the node in the slots of one line for which `is_equal` returns true.
///
/// # Safety
/// As for `find`; the word is the line's.
#[inline(always)]
unsafe fn find_in<N: TableNode>(
    line: &Line,
    tags: Tags,
    hash: u64,
    is_equal: &mut impl FnMut(&N) -> bool,
) -> Option<NonNull<N>> {
    for slot in tags.matches(hash) {
        let node = line.node(slot).cast::<N>();
        // SAFETY: a slot that had a tag has a node, which is freed after the section.
        let found = unsafe { &*node };
        if is_equal(found) {
            return NonNull::new(node);
        }
    }
    None
}

/// Goes on in overflow lines, or in the next table.
///
/// # Safety
/// As for `find`. The word of the table's line was loaded in this section.
#[cold]
#[inline(never)]
unsafe fn find_further<N: TableNode>(
    mut table: &Table,
    mut tags: Tags,
    hash: u64,
    is_equal: &mut impl FnMut(&N) -> bool,
) -> Option<NonNull<N>> {
    // At most one step for each table that was replaced since the section began.
    while tags.is_moved() {
        table = table.next()?;
        let line = table.line(hash);
        tags = line.tags();
        // SAFETY: the caller's promise.
        if let Some(node) = unsafe { find_in(line, tags, hash, is_equal) } {
            return Some(node);
        }
    }
    if !tags.has_overflow() {
        return None;
    }
    for overflow in overflows(table, table.index(hash)) {
        let line = &overflow.line;
        // SAFETY: the caller's promise.
        if let Some(node) = unsafe { find_in(line, line.tags(), hash, is_equal) } {
            return Some(node);
        }
    }
    None
}

/// Returns the overflow lines of the line `index`.
pub(super) fn overflows(table: &Table, index: usize) -> impl Iterator<Item = &Overflow> {
    let mut link = table.link(index);
    core::iter::from_fn(move || {
        let next = linked(link)?;
        link = &next.next;
        Some(next)
    })
}

/// Returns the overflow line that a link of a table leads to.
#[inline]
pub(super) fn linked(link: &AtomicPtr<Overflow>) -> Option<&Overflow> {
    // Acquire: partner of the release in `put.rs`: the overflow line, whole.
    let next = link.load(order!(Acquire, map_link_acquire));
    // SAFETY: null, or whole when it was linked, and freed with the table.
    unsafe { next.as_ref() }
}

/// Returns the line and the slot of a node, and the line's word, among the line `index`, whose word
/// is `tags`, and its overflow lines. For a writer that has the lock.
#[inline]
pub(super) fn locate<N>(
    table: &Table,
    index: usize,
    tags: Tags,
    hash: u64,
    node: NonNull<N>,
) -> Option<(&Line, Tags, usize)> {
    let home = table.line(index as u64);
    if let Some(slot) = slot_of(home, tags, hash, node) {
        return Some((home, tags, slot));
    }
    if tags.has_overflow() { locate_further(table, index, hash, node) } else { None }
}

#[cold]
fn locate_further<N>(table: &Table, index: usize, hash: u64, node: NonNull<N>) -> Option<(&Line, Tags, usize)> {
    overflows(table, index).find_map(|overflow| {
        let (line, tags) = (&overflow.line, overflow.line.tags());
        slot_of(line, tags, hash, node).map(|slot| (line, tags, slot))
    })
}

/// Returns the slot of a node in one line.
#[inline(always)]
fn slot_of<N>(line: &Line, tags: Tags, hash: u64, node: NonNull<N>) -> Option<usize> {
    tags.matches(hash).find(|&slot| line.node(slot) == raw(node))
}

/// Returns true if there is a node with this hash that the writer has not compared.
///
/// # Safety
/// The line `index` is locked, and its word is `tags`. Inside a section.
#[inline]
pub(super) unsafe fn has_unknown<N: TableNode>(
    table: &Table,
    index: usize,
    tags: Tags,
    hash: u64,
    seen: &mut Seen,
) -> bool {
    // SAFETY: the caller's promise.
    if unsafe { is_unknown_in::<N>(table.line(index as u64), tags, hash, seen) } {
        return true;
    }
    // SAFETY: the caller's promise.
    tags.has_overflow() && unsafe { has_unknown_further::<N>(table, index, hash, seen) }
}

/// # Safety
/// As for `has_unknown`.
#[cold]
unsafe fn has_unknown_further<N: TableNode>(table: &Table, index: usize, hash: u64, seen: &mut Seen) -> bool {
    overflows(table, index).any(|overflow| {
        let line = &overflow.line;
        // SAFETY: the caller's promise.
        unsafe { is_unknown_in::<N>(line, line.tags(), hash, seen) }
    })
}

/// Returns true if one line has such a node.
///
/// # Safety
/// As for `has_unknown`.
#[inline(always)]
unsafe fn is_unknown_in<N: TableNode>(line: &Line, tags: Tags, hash: u64, seen: &mut Seen) -> bool {
    tags.matches(hash).any(|slot| {
        let node = line.node(slot);
        // SAFETY: in the table, and callers are in a section.
        let found = unsafe { &*node.cast::<N>() };
        found.hash() == hash && !seen.has(node)
    })
}
