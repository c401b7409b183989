//! Looking for a node in a table with lists, for readers and for writers: what `search.rs` does for
//! tables without lists.

use core::ptr::{self, NonNull};

use super::RawTable;
use super::line::{Line, Tags};
use super::link::{Linked, Stand, follow};
use super::search::overflows;
use super::storage::Table;

/// The nodes with a hash that a writer has compared: the first and the last one. Null: there was
/// none.
pub(crate) struct Looked<N> {
    pub(super) first: *mut N,
    pub(super) last: *mut N,
}

impl<N: Linked> RawTable<N> {
    /// Returns the first node with this hash that is in the table and for which `is_equal` returns
    /// true. Wait-free, but for `is_equal`, which is called with nodes of this hash only.
    ///
    /// # Safety
    /// Inside a section, in which what is returned stays alive.
    #[inline(always)]
    pub(crate) unsafe fn find_linked(
        &self,
        hash: u64,
        mut is_equal: impl FnMut(NonNull<N>) -> bool,
    ) -> Option<Stand<N>> {
        let table = self.table();
        let line = table.line(hash);
        let tags = line.tags();
        // SAFETY: the caller's promise; the word is the line's.
        let found = unsafe { find_in(line, tags, hash, &mut is_equal) };
        if found.is_some() || tags.is_plain() {
            return found;
        }
        // SAFETY: the caller's promise.
        unsafe { find_further(table, tags, hash, is_equal) }
    }

    /// Does what `find_linked` does, for a writer: returns which nodes it compared, if there is none.
    ///
    /// # Safety
    /// As for `find_linked`.
    pub(crate) unsafe fn look(
        &self,
        hash: u64,
        mut is_equal: impl FnMut(NonNull<N>) -> bool,
    ) -> Result<Stand<N>, Looked<N>> {
        let mut looked = Looked { first: ptr::null_mut(), last: ptr::null_mut() };
        let compare = |node: NonNull<N>| {
            looked.last = node.as_ptr();
            if looked.first.is_null() {
                looked.first = looked.last;
            }
            is_equal(node)
        };
        // SAFETY: the caller's promise.
        unsafe { self.find_linked(hash, compare) }.ok_or(looked)
    }
}

/// Returns the first node of a list in the slots of one line for which `is_equal` returns true.
///
/// # Safety
/// Inside a section, in which the line had this word.
#[inline(always)]
unsafe fn find_in<N: Linked>(
    line: &Line,
    tags: Tags,
    hash: u64,
    is_equal: &mut impl FnMut(NonNull<N>) -> bool,
) -> Option<Stand<N>> {
    for slot in tags.matches(hash) {
        let first = line.node(slot).cast::<N>();
        // SAFETY: a slot that had a tag has a node, which is freed after the section.
        if unsafe { &*first }.has_hash(hash) {
            // SAFETY: as above.
            let found = unsafe { follow(first, &mut *is_equal) };
            if found.is_some() {
                return found;
            }
        }
    }
    None
}

/// Goes on in overflow lines, or in the next table. The comparison is passed by value, so that the
/// common path keeps it in registers.
///
/// # Safety
/// Inside a section, in which the line of `hash` had this word.
#[cold]
#[inline(never)]
unsafe fn find_further<N: Linked>(
    mut table: &Table,
    mut tags: Tags,
    hash: u64,
    mut is_equal: impl FnMut(NonNull<N>) -> bool,
) -> Option<Stand<N>> {
    // At most one step for each table that was replaced since the section began.
    while tags.is_moved() {
        table = table.next()?;
        let line = table.line(hash);
        tags = line.tags();
        // SAFETY: the caller's promise.
        let found = unsafe { find_in(line, tags, hash, &mut is_equal) };
        if found.is_some() {
            return found;
        }
    }
    let mut further = overflows(table, table.index(hash)).filter(|_| tags.has_overflow());
    // SAFETY: the caller's promise.
    further.find_map(|overflow| unsafe { find_in(&overflow.line, overflow.line.tags(), hash, &mut is_equal) })
}
