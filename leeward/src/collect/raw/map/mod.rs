//! The hash map of C programs: nodes inside the program's objects, which compares keys by a function,
//! and leaves freeing them to the program. For `leeward-capi`: `<leeward/map.h>`, and liburcu's
//! `urcu/rculfhash.h`.
//!
//! `node` (the node, and its hash), and this file: the map over `collect/table`, whose `list.rs` says
//! why nothing is lost.
//!
//! The map works over any RCU, which it is given as functions (`Reclaim`): it needs a section while
//! it moves nodes by itself, and frees the memory of a table that was replaced through a callback
//! after a grace period. So no call waits for readers.

mod node;

use core::mem::offset_of;
use core::ptr::{self, NonNull};

pub use node::MapNode;

use super::super::table::{Insertion, Limits, NoMemory, Owner, RawTable, Stand, Table, follow};
use crate::rcu::Head;
use node::spread;

/// How many nodes a line is made for.
const NODES: usize = 4;

/// An RCU, as functions: each is given `domain`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Reclaim {
    /// What the functions are given.
    pub domain: *const (),
    /// Opens a section of the calling thread.
    pub read_lock: unsafe extern "C" fn(*const ()),
    /// Closes such a section.
    pub read_unlock: unsafe extern "C" fn(*const ()),
    /// Calls a function with a head, once, after a grace period. Never waits.
    pub defer: unsafe extern "C" fn(*const (), NonNull<Head>, unsafe extern "C-unwind" fn(NonNull<Head>)),
}

/// The sizes of a map, in nodes, and whether it changes its size by itself.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// The number of nodes that it has room for at first.
    pub initial: usize,
    /// The number that it keeps room for.
    pub least: usize,
    /// The number that it does not grow beyond; 0: any.
    pub most: usize,
    /// True if it grows by itself.
    pub grows: bool,
    /// True if it shrinks by itself.
    pub shrinks: bool,
}

/// There is no memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutOfMemory;

/// What became of a node that was to be added if its key is absent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Added {
    /// The node is in the map.
    Yes,
    /// This one was there, and the other was visible to no thread.
    There(NonNull<MapNode>),
    /// There is no memory. Nothing was changed.
    OutOfMemory,
}

/// A node that a reader found, and the one behind it at that instant. Valid in one section.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Cursor {
    /// Null: none was found.
    pub node: *mut MapNode,
    next: *mut MapNode,
}

impl Cursor {
    #[inline(always)]
    fn new(found: Option<Stand<MapNode>>) -> Cursor {
        found.map_or(Cursor { node: ptr::null_mut(), next: ptr::null_mut() }, |stand| Cursor {
            node: stand.node.as_ptr(),
            next: stand.next,
        })
    }
}

/// A hash map of nodes.
///
/// Functions are called inside a section of its RCU, unless they say otherwise. A node that was
/// removed or replaced may be freed, or added again, a grace period later.
pub struct Map {
    table: RawTable<MapNode>,
    least: usize,
    most: usize,
    reclaim: Reclaim,
    /// What the caller keeps with the map.
    pub context: *mut (),
}

// SAFETY: the table is, and the other words do not change.
unsafe impl Sync for Map {}

/// Returns the number of lines for so many nodes, or for as many as possible.
fn lines_for(nodes: usize) -> usize {
    nodes.div_ceil(NODES).max(1).checked_next_power_of_two().unwrap_or(1 << (usize::BITS - 1))
}

/// Frees a table that was replaced.
unsafe extern "C-unwind" fn free_table(head: NonNull<Head>) {
    // SAFETY: the head is that of a table.
    let table = unsafe { head.byte_sub(offset_of!(Table, head)) }.cast::<Table>();
    // SAFETY: replaced, and a grace period is over.
    unsafe { Table::free(table) };
}

impl Owner for Map {
    fn retire(&self, table: NonNull<Table>) {
        // SAFETY: within the table.
        let head = unsafe { table.byte_add(offset_of!(Table, head)) }.cast::<Head>();
        // SAFETY: by the promise of `new`; the table is retired once.
        unsafe { (self.reclaim.defer)(self.reclaim.domain, head, free_table) };
    }
}

impl Map {
    /// Makes a map without nodes. May be called outside of sections.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    ///
    /// # Safety
    /// The functions are those of an RCU.
    pub unsafe fn new(sizes: Sizes, reclaim: Reclaim) -> Result<Map, OutOfMemory> {
        let least = lines_for(sizes.least);
        let most = if sizes.most == 0 { usize::MAX } else { lines_for(sizes.most) };
        let limits = Limits { least, most, grows: sizes.grows, shrinks: sizes.shrinks };
        // The least size is storage that is kept; the greatest one counts more.
        let lines = lines_for(sizes.initial).max(least).min(most);
        let table = RawTable::with_lines(lines, limits).map_err(|NoMemory| OutOfMemory)?;
        Ok(Map { table, least, most, reclaim, context: ptr::null_mut() })
    }

    /// Returns the first node of this hash for which `is_equal` returns true; it is called with nodes
    /// of this hash. Wait-free.
    ///
    /// # Safety
    /// Inside a section of the map's RCU.
    #[inline(always)]
    pub unsafe fn find(&self, hash: usize, is_equal: impl FnMut(NonNull<MapNode>) -> bool) -> Cursor {
        // SAFETY: the caller's promise.
        Cursor::new(unsafe { self.table.find_linked(spread(hash as u64), is_equal) })
    }

    /// Returns the next node of the same hash for which `is_equal` returns true.
    ///
    /// # Safety
    /// As for [`find`](Self::find); the cursor is of this map and of this section.
    pub unsafe fn next_equal(&self, cursor: Cursor, is_equal: impl FnMut(NonNull<MapNode>) -> bool) -> Cursor {
        // SAFETY: the caller's promise.
        Cursor::new(unsafe { follow(cursor.next, is_equal) })
    }

    /// Returns the first node, in the order of hashes whose bits are reversed.
    ///
    /// # Safety
    /// As for [`find`](Self::find).
    pub unsafe fn first(&self) -> Cursor {
        // SAFETY: the caller's promise.
        Cursor::new(unsafe { self.table.first_linked() })
    }

    /// Returns the next node in that order. Those that are in the map throughout are returned once.
    ///
    /// # Safety
    /// As for [`next_equal`](Self::next_equal).
    pub unsafe fn next(&self, cursor: Cursor) -> Cursor {
        let node = NonNull::new(cursor.node);
        // SAFETY: the caller's promise.
        Cursor::new(node.and_then(|node| unsafe { self.table.next_linked(node, cursor.next) }))
    }

    /// Adds a node, whatever nodes there are. If it is in the map already, with this hash, it is returned as
    /// [`Added::There`].
    ///
    /// # Safety
    /// As for [`find`](Self::find). The node is in no map, and no thread has it; or it is in this map, with
    /// this hash. It stays alive until a grace period after it was taken out.
    pub unsafe fn add(&self, hash: usize, node: NonNull<MapNode>) -> Added {
        // SAFETY: the caller's promise.
        unsafe { node.as_ref() }.set_hash(hash);
        // SAFETY: as above.
        match unsafe { self.table.add_last(node, self) } {
            Ok(true) => Added::Yes,
            Ok(false) => Added::There(node),
            Err(NoMemory) => Added::OutOfMemory,
        }
    }

    /// Adds a node, unless there is one for which `is_equal` returns true.
    ///
    /// # Safety
    /// As for [`add`](Self::add).
    pub unsafe fn add_unique(
        &self,
        hash: usize,
        node: NonNull<MapNode>,
        mut is_equal: impl FnMut(NonNull<MapNode>) -> bool,
    ) -> Added {
        // SAFETY: the caller's promise.
        unsafe { node.as_ref() }.set_hash(hash);
        loop {
            // SAFETY: as above.
            let looked = match unsafe { self.table.look(spread(hash as u64), |there| is_equal(there) || there == node) }
            {
                Ok(stand) => return Added::There(stand.node),
                Err(looked) => looked,
            };
            // SAFETY: as above.
            match unsafe { self.table.add_if(node, &looked, self) } {
                Insertion::Done => return Added::Yes,
                Insertion::Unknown => {}
                Insertion::NoMemory => return Added::OutOfMemory,
            }
        }
    }

    /// Adds a node, which takes the place of the one for which `is_equal` returns true, if there is
    /// one. That one is returned as [`Added::There`]; if it is the node itself, nothing was changed.
    ///
    /// # Safety
    /// As for [`add`](Self::add); `is_equal` returns true of nodes that have the new one's key.
    pub unsafe fn add_replace(
        &self,
        hash: usize,
        node: NonNull<MapNode>,
        mut is_equal: impl FnMut(NonNull<MapNode>) -> bool,
    ) -> Added {
        loop {
            // SAFETY: the caller's promise.
            match unsafe { self.add_unique(hash, node, &mut is_equal) } {
                // SAFETY: as above.
                Added::There(old) if old != node && !unsafe { self.replace(old, node) } => {}
                added => return added,
            }
        }
    }

    /// Puts a node into the place of another of the same key. Returns false if that was removed. The two are
    /// not one.
    ///
    /// # Safety
    /// As for [`add`](Self::add); `old` was found in this map and section.
    pub unsafe fn replace(&self, old: NonNull<MapNode>, new: NonNull<MapNode>) -> bool {
        // SAFETY: the caller's promise.
        let hash = unsafe { old.as_ref() }.given_hash();
        // SAFETY: as above.
        unsafe { new.as_ref() }.set_hash(hash);
        // SAFETY: as above.
        unsafe { self.table.replace_linked(old, new, self) }
    }

    /// Removes a node. Returns true to one caller.
    ///
    /// # Safety
    /// As for [`find`](Self::find); the node was found in this map and section.
    pub unsafe fn remove(&self, node: NonNull<MapNode>) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.table.remove_linked(node, self) }
    }

    /// Returns how many nodes there are, exactly while no thread changes the map. Outside of sections,
    /// too.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Returns true if the map has no node, by looking at it.
    ///
    /// # Safety
    /// As for [`find`](Self::find), or no other thread uses the map.
    pub unsafe fn is_empty(&self) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.table.first_linked() }.is_none()
    }

    /// Counts the nodes.
    ///
    /// # Safety
    /// As for [`find`](Self::find).
    pub unsafe fn count(&self) -> usize {
        // SAFETY: the caller's promise.
        unsafe { self.table.count_linked() }
    }

    /// Makes the map one for so many nodes, within its limits. Outside of sections only. Does not wait
    /// for readers.
    ///
    /// # Errors
    /// [`OutOfMemory`]: the map has another size.
    pub fn resize(&self, nodes: usize) -> Result<(), OutOfMemory> {
        let lines = lines_for(nodes).max(self.least).min(self.most);
        let in_section = |act: &mut dyn FnMut()| {
            // SAFETY: by the promise of `new`.
            unsafe { (self.reclaim.read_lock)(self.reclaim.domain) };
            act();
            // SAFETY: as above.
            unsafe { (self.reclaim.read_unlock)(self.reclaim.domain) };
        };
        self.table.resize(lines, self, in_section).map_err(|NoMemory| OutOfMemory)
    }
}

impl core::fmt::Debug for Map {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Map").finish_non_exhaustive()
    }
}

impl core::fmt::Debug for MapNode {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("MapNode").finish_non_exhaustive()
    }
}
