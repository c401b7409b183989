//! What a map's writers have unlinked: nodes, entries, and whole trees. The limbo keeps an address, of
//! which two bits say what it is.
//!
//! A node has a word for the limbo, so it is retired also where there is no memory. An entry has none: a
//! caller that must not fail reserves one apart, before it takes the entry out.

use alloc::boxed::Box;
use core::ptr::NonNull;

use super::memory::try_box;
use super::node::{self, Leaf, TreeNode};
use super::store::{Layout, Store, TakenEntry, TreeEntry, with_store};
use crate::collect::backend::{AsideLink, panics};

/// An object that no new reader finds.
pub(super) enum Waste<K, V> {
    /// A node, without what it points to.
    Node(NonNull<TreeNode>),
    Entry(NonNull<TreeEntry<K, V>>),
    /// An entry, and what was reserved to retire it.
    Apart(NonNull<TreeEntry<K, V>>, Box<Apart<K, V>>),
    /// A root, with all that is below.
    Tree(NonNull<TreeNode>),
}

/// What was taken out of the map, and what was reserved to retire it.
pub(super) type Removed<K, V> = (TakenEntry<K, V>, Option<Box<Apart<K, V>>>);

/// What was reserved to retire an entry: the limbo's word for it. (Aligned as a node is.)
#[repr(C, align(8))]
pub(super) struct Apart<K, V> {
    link: AsideLink,
    /// The entry, once it is retired.
    entry: NonNull<TreeEntry<K, V>>,
}

impl<K, V> Apart<K, V> {
    /// Reserves what an entry takes; `None`: there is no memory.
    pub(super) fn reserve() -> Option<Box<Self>> {
        try_box(Apart { link: AsideLink::new(), entry: NonNull::dangling() }).ok()
    }
}

/// The bit of an entry's address.
const ENTRY: usize = 1;
/// The bit of a whole tree's address.
const TREE: usize = 2;
/// The bits of the address of an entry's `Apart`.
const APART: usize = ENTRY | TREE;

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
            Waste::Apart(entry, mut apart) => {
                apart.entry = entry;
                mark(NonNull::from(Box::leak(apart)), APART)
            }
            Waste::Tree(root) => mark(root, TREE),
        }
    }

    /// Returns true if the object begins with a word for the limbo.
    pub(super) fn is_linked(&self) -> bool {
        !matches!(self, Waste::Entry(_))
    }
}

/// Returns an address without its bits; it is an object's, so it is not 0.
fn unmark(item: NonNull<()>, bits: usize) -> NonNull<()> {
    NonNull::new(item.as_ptr().map_addr(|address| address & !bits)).unwrap_or(item)
}

/// Frees an object of a map with the layout `layout`. Returns how many panics of destructors it has
/// caught: all of those of a node or a tree. That of a single entry unwinds.
///
/// # Safety
/// The item is of `Waste::<K, V>::into_item`, of a map with this layout, and the caller's alone.
pub(super) unsafe fn free<K, V>(layout: Layout, item: NonNull<()>) -> u64 {
    let bits = item.addr().get() & APART;
    let object = unmark(item, bits);
    match bits {
        // SAFETY: an entry of this kind; the caller's promise.
        ENTRY => drop(unsafe { Box::from_raw(object.cast::<TreeEntry<K, V>>().as_ptr()) }),
        APART => {
            // SAFETY: from a box, by `into_item`; the caller's promise.
            let apart = unsafe { Box::from_raw(object.cast::<Apart<K, V>>().as_ptr()) };
            // SAFETY: an entry of this kind; the caller's promise.
            drop(unsafe { Box::from_raw(apart.entry.as_ptr()) });
        }
        // SAFETY: a tree of this layout; the caller's promise.
        TREE => return with_store!(layout, K, V, S => unsafe { drop_tree::<K, V, S>(object.cast()) }),
        // SAFETY: a node of this layout; the caller's promise.
        _ => return with_store!(layout, K, V, S => unsafe { free_node::<K, V, S>(object.cast()) }),
    }
    0
}

/// Frees a node, and the entries that were unlinked with it. A destructor that panics keeps none of the
/// others from running. Returns how many have panicked.
///
/// # Safety
/// The node is of this kind, unlinked, and the caller's alone.
unsafe fn free_node<K, V, S: Store<K, V>>(node: NonNull<TreeNode>) -> u64 {
    // SAFETY: the caller's promise.
    let drops = unsafe { node.as_ref() }.drops();
    let mut caught = 0;
    if drops != 0 {
        // SAFETY: only a leaf has such bits.
        let leaf = unsafe { Leaf::<K, V, S>::of(node) };
        for index in (0..leaf.len()).filter(|index| drops >> index & 1 != 0) {
            let (key, value) = leaf.pair(index);
            // SAFETY: unlinked, with the leaf and the separator that had it, and taken out here alone.
            if let TakenEntry::Entry(entry) = unsafe { S::unpack(key, value) } {
                // SAFETY: from a box, and the caller's alone.
                caught += u64::from(panics(|| drop(unsafe { Box::from_raw(entry.as_ptr()) })));
            }
        }
    }
    // SAFETY: the caller's promise.
    unsafe { node::free::<K, V, S>(node) };
    caught
}

/// Frees a tree with its entries. A destructor that panics keeps none of the others from running.
/// Returns how many have panicked.
///
/// # Safety
/// As for `node::take_apart`.
pub(super) unsafe fn drop_tree<K, V, S: Store<K, V>>(root: NonNull<TreeNode>) -> u64 {
    let mut caught = 0;
    let mut each = |key, value| {
        // SAFETY: the tree is the caller's alone; each pair comes once.
        if let TakenEntry::Entry(entry) = unsafe { S::unpack(key, value) } {
            // SAFETY: from a box, and the caller's alone.
            caught += u64::from(panics(|| drop(unsafe { Box::from_raw(entry.as_ptr()) })));
        }
    };
    // SAFETY: the caller's promise.
    unsafe { node::take_apart::<K, V, S>(root, &mut each) };
    caught
}
