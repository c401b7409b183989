//! The link of a node to the next one with an equal hash, and how readers follow it.
//!
//! A slot of a table with lists has the *first* node of those with one hash; the others hang behind
//! it.
//!
//! # A link says two things at once
//! The lowest bit of a node's link, `REMOVED`, says that the node is not in the table any more. It
//! is set once, by the writer that takes the node out, in the same store that the link then keeps
//! for good. So one load of a reader tells whether the node was in the table at that instant, and
//! which one was behind it.
//!
//! # Why a reader finds exactly one node of a key that is there
//! - Nodes come to an end of the list only: to its first place, or behind its last node. A node that
//!   replaces another takes that one's place. So a reader, which goes forward, meets the nodes that
//!   are there throughout, each once.
//! - **A removed node keeps the link that it had.** A reader that stands on it goes on to what was
//!   behind it. If that was removed meanwhile, it has such a link too. No node is freed, or used
//!   again, while that reader is in its section.
//! - **A replaced node's link leads to the one that replaced it**, and that one's to what was behind
//!   both. The store that marks the old node as removed is the one that puts the new one into the
//!   list. A reader that meets the old node before the store takes it, and one that meets it later
//!   finds it marked and takes the new one.
//! - A reader that has *taken* a node keeps the link that it loaded with it, and goes on from there:
//!   so it passes by the node that replaced the one it has, and meets no key twice.
//!
//! The mark in the link is T. Harris's, "A pragmatic implementation of non-blocking linked-lists",
//! 2001; that one load says both is M. Michael's, "High performance dynamic lock-free hash tables and
//! list-based sets", 2002. Here writers have the line's lock.

use core::ptr::{self, NonNull};

use super::TableNode;
use crate::atomic::{AtomicPtr, Ordering, const_fn};
use crate::mutant::{check, order};

/// The node is not in the table.
const REMOVED: usize = 1;

/// A node that has a link to the next one with its hash.
///
/// # Safety
/// The link is changed by the table alone while the node is in it, and for a grace period
/// after.
pub(crate) unsafe trait Linked: TableNode {
    fn link(&self) -> &TableLink;

    /// Returns true if this is the node's hash.
    fn has_hash(&self, hash: u64) -> bool {
        self.hash() == hash
    }
}

/// The address of the next node, and the mark of removed ones.
#[repr(transparent)]
pub(crate) struct TableLink(AtomicPtr<()>);

/// What a link said when it was loaded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Next(*mut ());

impl Next {
    /// Returns true if the node was not in the table.
    #[inline(always)]
    pub(crate) fn is_removed(self) -> bool {
        self.0.addr() & REMOVED != 0
    }

    /// Returns the next node, or null.
    #[inline(always)]
    pub(crate) fn node<N>(self) -> *mut N {
        self.0.map_addr(|address| address & !REMOVED).cast()
    }
}

impl TableLink {
    const_fn! {
        /// Makes the link of a node that is in no table.
        #[cfg_attr(not(leeward_loom), allow(dead_code))]
        pub(crate) fn new() -> TableLink {
            TableLink(AtomicPtr::new(ptr::null_mut()))
        }
    }

    /// Loads the link.
    #[inline(always)]
    pub(crate) fn load(&self) -> Next {
        // Acquire: partner of the releases in `append` and `replace_by`: what the next node has.
        Next(self.0.load(order!(Acquire, cmap_link_acquire)))
    }

    /// Sets the link of a node that is not published yet.
    #[inline]
    pub(super) fn prepare<N>(&self, next: *mut N) {
        // Relaxed: published with the node.
        self.0.store(next.cast(), Ordering::Relaxed);
    }

    /// Links a node behind this one, which is the last or the one before a node that was removed.
    #[inline]
    pub(super) fn append<N>(&self, next: *mut N) {
        // Release: what the node has. Partner: the acquire in `load`.
        self.0.store(next.cast(), order!(Release, cmap_link_release));
    }

    /// Marks this node as removed; its link stays.
    #[inline]
    pub(super) fn remove<N>(&self, next: *mut N) {
        let next = next.cast::<()>();
        // Release: what the writer did before it took the node out. Partner: the acquire in `load`.
        self.0.store(next.map_addr(|address| address | REMOVED), Ordering::Release);
    }

    /// Marks this node as removed, and has it lead to the one that takes its place.
    #[inline]
    pub(super) fn replace_by<N>(&self, new: NonNull<N>) {
        let new = new.as_ptr().cast::<()>();
        // Release: what the new node has. Partner: the acquire in `load`.
        self.0.store(new.map_addr(|address| address | REMOVED), order!(Release, cmap_replace_release));
    }

    /// Marks a node that is in no table as removed.
    pub(crate) fn set_removed(&self) {
        // Relaxed: no other thread has the node.
        self.0.store(ptr::without_provenance_mut(REMOVED), Ordering::Relaxed);
    }
}

/// A node that was in the table, and the one behind it at that instant.
pub(crate) struct Stand<N> {
    pub(crate) node: NonNull<N>,
    pub(crate) next: *mut N,
}

/// Returns the first node, from `node` on, that is in the table and for which `is_equal` returns
/// true.
///
/// # Safety
/// Inside a section, in which `node` was in the table. Null is no node.
#[inline(always)]
pub(crate) unsafe fn follow<N: Linked>(
    mut node: *mut N,
    mut is_equal: impl FnMut(NonNull<N>) -> bool,
) -> Option<Stand<N>> {
    while let Some(this) = NonNull::new(node) {
        // SAFETY: it was in the table in this section, so it is alive.
        let next = unsafe { this.as_ref() }.link().load();
        if !check!(cmap_removed_bit, next.is_removed()) && is_equal(this) {
            return Some(Stand { node: this, next: next.node() });
        }
        node = next.node();
    }
    None
}
