//! What a map's writers have unlinked: nodes, entries, and whole trees. The limbo keeps an address, of
//! which two bits say what it is.

use alloc::boxed::Box;
use core::ptr::NonNull;

use super::node::{self, Node};
use super::store::{Entry, Layout, Store, Taken, with_store};
use crate::collect::backend::panics;

/// An object that no new reader finds.
pub(super) enum Waste<K, V> {
    /// A node, without what it points to.
    Node(NonNull<Node>),
    Entry(NonNull<Entry<K, V>>),
    /// A root, with all that is below.
    Tree(NonNull<Node>),
}

/// The bit of an entry's address.
const ENTRY: usize = 1;
/// The bit of a whole tree's address.
const TREE: usize = 2;

/// Returns the address with bits.
fn mark<T>(object: NonNull<T>, bits: usize) -> NonNull<()> {
    object.cast::<()>().map_addr(|address| address | bits)
}

impl<K, V> Waste<K, V> {
    /// Returns the address by which the limbo knows the object.
    pub(super) fn into_item(self) -> NonNull<()> {
        match self {
            Waste::Node(node) => node.cast(),
            Waste::Entry(entry) => mark(entry, ENTRY),
            Waste::Tree(root) => mark(root, TREE),
        }
    }
}

/// Returns an address without its bits; it is an object's, so it is not 0.
fn unmark(item: NonNull<()>, bits: usize) -> NonNull<()> {
    NonNull::new(item.as_ptr().map_addr(|address| address & !bits)).unwrap_or(item)
}

/// Frees an object of a map with the layout `layout`.
///
/// # Safety
/// The item is of `Waste::<K, V>::into_item`, of a map with this layout, and the caller's alone.
pub(super) unsafe fn free<K, V>(layout: Layout, item: NonNull<()>) {
    let bits = item.addr().get() & (ENTRY | TREE);
    let object = unmark(item, bits);
    match bits {
        // SAFETY: an entry of this kind; the caller's promise.
        ENTRY => drop(unsafe { Box::from_raw(object.cast::<Entry<K, V>>().as_ptr()) }),
        // SAFETY: a tree of this layout; the caller's promise.
        TREE => with_store!(layout, K, V, S => unsafe { drop_tree::<K, V, S>(object.cast()) }),
        // SAFETY: a node of this layout; the caller's promise.
        _ => with_store!(layout, K, V, S => unsafe { node::free::<K, V, S>(object.cast()) }),
    }
}

/// Frees a tree with its entries. A destructor that panics keeps none of the others from running.
///
/// # Safety
/// As for `node::take_apart`.
pub(super) unsafe fn drop_tree<K, V, S: Store<K, V>>(root: NonNull<Node>) {
    let mut each = |key, value| {
        // SAFETY: the tree is the caller's alone; each pair comes once.
        if let Taken::Entry(entry) = unsafe { S::unpack(key, value) } {
            // SAFETY: from a box, and the caller's alone.
            panics(|| drop(unsafe { Box::from_raw(entry.as_ptr()) }));
        }
    };
    // SAFETY: the caller's promise.
    unsafe { node::take_apart::<K, V, S>(root, &mut each) };
}
