//! A hash table of addresses of nodes, which it neither owns nor frees: what
//! [`HashMap`](super::HashMap) is made of, and what C's tables are. Readers take no lock, in no
//! state of the table; writers lock one line.
//!
//! ```text
//! table -> mask, lines --> | tags | node node node node node node node |   64 bytes, one cache line
//!          next            | tags | ..                                 | --> overflow lines
//! ```
//!
//! A node is in the line that the lowest bits of its hash name. Seven bits of the hash are its tag.
//!
//! # Why readers find what is there
//! - **A node keeps its slot** for as long as it is in this table. A reader that loaded the line's
//!   word finds in each slot with a tag the node that was there, or one that came later.
//! - **A move copies addresses.** The writer that moves a line (`resize.rs`) has its lock. It fills
//!   the lines of the next table, which no other thread looks at yet, and then publishes `MOVED`
//!   with all tags cleared. A reader that loaded the word before finds everything as it was then:
//!   the slots keep their addresses until the table is freed. One that loads it later finds no tag,
//!   and looks into the next table. So a reader takes one more step for a table that is being
//!   moved, and none that another thread could make it repeat without moving all of a table.
//! - **A word is loaded once a line.** Whatever else happens, the result is that of the instant of
//!   this load, or of some instant between it and the return: a key that is found under a tag was
//!   not removed before; one that is not found was absent when its line's word was loaded, or was
//!   removed and inserted meanwhile.
//!
//! # Why writers lose nothing
//! - No code of users runs under a lock: a writer compares keys first, without it, and notes the
//!   nodes that it compared (`Seen`). With the lock it only looks for nodes with this hash that it
//!   does not know; if there is one, it unlocks and begins anew.
//! - A line is changed in the newest table only: a line that was moved refuses the lock.
//! - A writer that meets a move first moves its own line, and then some others.
//! - The word of a line is right at any instant. So the child of a fork breaks the locks of threads
//!   that it does not have.
//! - A node has its hash in it, and takes the place of nodes of that hash only. So it is in the line
//!   that its hash names, and moves within its unit, whatever a program's hash function answers.
//!
//! The tags in the table's own line are those of A. Kulukundis, "Designing a fast, efficient,
//! cache-friendly hash table, step by step", 2017 (SwissTable); a move by the writers that meet it
//! is C. Click's, "A lock-free hash table", 2007.

mod change;
mod counts;
#[cfg(any(feature = "c", leeward_loom))]
mod find;
mod limits;
mod line;
#[cfg(any(feature = "c", leeward_loom))]
mod link;
#[cfg(any(feature = "c", leeward_loom))]
mod list;
#[cfg(all(test, leeward_loom))]
mod list_loom_tests;
mod lock;
#[cfg(all(test, leeward_loom))]
mod loom_tests;
#[cfg(any(feature = "c", leeward_loom))]
mod order;
mod put;
mod repair;
mod resize;
mod search;
#[cfg(not(leeward_loom))]
#[path = "start/fixed.rs"]
mod start;
#[cfg(leeward_loom)]
#[path = "start/model.rs"]
mod start;
mod storage;
#[cfg(all(target_arch = "x86_64", not(any(leeward_loom, miri))))]
#[path = "tags/sse2.rs"]
mod tags;
#[cfg(not(all(target_arch = "x86_64", not(any(leeward_loom, miri)))))]
#[path = "tags/portable.rs"]
mod tags;
mod walk;
#[cfg(leeward_loom)]
#[path = "zeroed/model.rs"]
mod zeroed;
#[cfg(not(leeward_loom))]
#[path = "zeroed/native.rs"]
mod zeroed;

use core::marker::PhantomData;
use core::ptr::NonNull;

#[cfg_attr(not(feature = "std"), allow(unused_imports))]
pub(crate) use change::Insertion;
pub(crate) use limits::Limits;
#[cfg(feature = "c")]
pub(crate) use link::{Linked, Stand, TableLink, follow};
#[cfg(feature = "c")]
pub(crate) use list::survivor;
#[cfg_attr(not(feature = "std"), allow(unused_imports))]
pub(crate) use search::Seen;
#[cfg(feature = "c")]
pub(crate) use storage::NoMemory;
pub(crate) use storage::Table;
#[cfg(feature = "std")]
pub(crate) use walk::Walk;

use crate::atomic::{AtomicPtr, AtomicU32, Ordering, const_fn};
use crate::inherited::Inherited;
use counts::Counts;

/// What a table's addresses point to.
///
/// # Safety
/// The hash of a node never changes while the node is in a table.
pub(crate) unsafe trait TableNode: Sized {
    /// Returns the hash that the node was inserted with: stored in the node, not computed again.
    fn hash(&self) -> u64;

    /// Returns what a slot with this node is to have in the child of a fork, before the child's first
    /// change, and how many nodes that stands for; `None`: nothing.
    ///
    /// # Safety
    /// No other thread changes the table; inside a section, in which the node is in the table.
    unsafe fn survivor(node: NonNull<Self>) -> Option<(NonNull<Self>, usize)> {
        Some((node, 1))
    }
}

/// What the owner of a table does for it.
pub(crate) trait Owner {
    /// Takes a table over that no section which begins from now on finds, to be freed
    /// (`Table::free`) after a grace period.
    fn retire(&self, table: NonNull<Table>);
}

/// A hash table of nodes.
///
/// All functions but those of `&mut self` are called inside a section, in which neither nodes that
/// were in the table nor tables are freed.
pub(crate) struct RawTable<N> {
    /// Replaced when all nodes of a table were moved.
    table: AtomicPtr<Table>,
    counts: Counts,
    limits: Limits,
    /// Where writers sleep that wait for a line's lock, by the line's index. Each counts wakes.
    rooms: [AtomicU32; 4],
    inherited: Inherited,
    nodes: PhantomData<*const N>,
}

// SAFETY: the table has addresses only. What they point to is its owner's.
unsafe impl<N> Send for RawTable<N> {}
// SAFETY: as above.
unsafe impl<N> Sync for RawTable<N> {}

impl<N: TableNode> RawTable<N> {
    const_fn! {
        /// Makes a table without nodes. Allocates nothing.
        pub(crate) fn new() -> Self {
            RawTable {
                table: AtomicPtr::new(start::table()),
                counts: Counts::new(),
                limits: Limits::none(),
                rooms: [AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0)],
                inherited: Inherited::new(),
                nodes: PhantomData,
            }
        }
    }

    /// Returns the table that look-ups begin with.
    #[inline(always)]
    fn table(&self) -> &Table {
        // Acquire: partner of the release in `resize.rs`: the table, whole.
        let table = self.table.load(Ordering::Acquire);
        // SAFETY: a table that was replaced is freed after a grace period, and callers are in a section.
        unsafe { &*table }
    }

    /// Returns how many nodes there are, which is exact while no writer is at work.
    pub(crate) fn len(&self) -> usize {
        self.counts.sum()
    }
}

impl<N> Drop for RawTable<N> {
    fn drop(&mut self) {
        // Relaxed: no other thread has the table.
        let mut next = NonNull::new(self.table.load(Ordering::Relaxed));
        while let Some(table) = next {
            // SAFETY: alive until it is freed below.
            let this = unsafe { table.as_ref() };
            // Relaxed: as above.
            next = NonNull::new(this.next.load(Ordering::Relaxed));
            if !this.is_fixed() {
                // SAFETY: made by `allocate`, and no thread uses it.
                unsafe { Table::free(table) };
            }
        }
    }
}

/// Returns a node's address as slots have it.
fn raw<N>(node: NonNull<N>) -> *mut () {
    node.as_ptr().cast()
}
