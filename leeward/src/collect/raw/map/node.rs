//! The node of a map in C: two words inside the program's object.

use core::ptr::NonNull;

use crate::atomic::{AtomicUsize, Ordering};
use crate::collect::table::{Linked, TableLink, TableNode, survivor};

/// A place in one map; 16 bytes on 64-bit machines, of any content before it is added.
#[repr(C, align(8))]
pub struct MapNode {
    link: TableLink,
    /// The hash that the node was added with, as the program computed it.
    hash: AtomicUsize,
}

// The layout that the headers have.
const _: () = assert!(size_of::<MapNode>() == 2 * size_of::<usize>());

impl MapNode {
    /// Sets the hash of a node that is in no map.
    pub(super) fn set_hash(&self, hash: usize) {
        // Relaxed: published with the node.
        self.hash.store(hash, Ordering::Relaxed);
    }

    /// Returns the hash that the node was added with.
    pub fn given_hash(&self) -> usize {
        // Relaxed: it does not change while the node is in a map.
        self.hash.load(Ordering::Relaxed)
    }

    /// Returns true if the node was removed from its map, or replaced there.
    pub fn is_removed(&self) -> bool {
        self.link.load().is_removed()
    }

    /// Makes a node that is in no map look as one that was removed.
    pub fn set_removed(&self) {
        self.link.set_removed();
    }
}

/// Returns what the table takes for the hash. A line is chosen by a hash's lowest bits, and the
/// highest seven are its tag; programs' hashes often have 32 bits only. So the highest bits are mixed
/// with the others. Different hashes stay different, and the lowest 57 bits stay as they are: the
/// order of a walk is that of the program's hashes.
#[inline(always)]
pub(super) fn spread(hash: u64) -> u64 {
    // The fraction of the golden ratio: each bit of the product depends on all bits below it.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    hash ^ (hash << 7).wrapping_mul(FACTOR) >> 57 << 57
}

// SAFETY: `set_hash` is called for nodes that are in no map.
unsafe impl TableNode for MapNode {
    #[inline(always)]
    fn hash(&self) -> u64 {
        spread(self.given_hash() as u64)
    }

    unsafe fn survivor(node: NonNull<Self>) -> Option<(NonNull<Self>, usize)> {
        // SAFETY: the caller's promise.
        unsafe { survivor(node) }
    }
}

// SAFETY: the field is private, and `set_removed` is called for nodes that are in no map.
unsafe impl Linked for MapNode {
    #[inline(always)]
    fn link(&self) -> &TableLink {
        &self.link
    }

    #[inline(always)]
    fn has_hash(&self, hash: u64) -> bool {
        // What is spread twice is as it was.
        self.given_hash() as u64 == spread(hash)
    }
}

#[cfg(test)]
mod tests {
    use super::spread;

    #[test]
    fn hashes_stay_different_and_in_order() {
        let hashes = (0..64).flat_map(|bit| [1_u64 << bit, (1 << bit) | 5, u64::MAX >> bit]);
        for hash in hashes {
            assert_eq!(spread(spread(hash)), hash);
            assert_eq!(spread(hash) << 7, hash << 7);
        }
    }

    #[test]
    fn short_hashes_have_many_tags() {
        let mut tags: std::vec::Vec<u64> = (0..1000).map(|hash| spread(hash << 4) >> 57).collect();
        tags.sort_unstable();
        tags.dedup();
        assert!(tags.len() > 100, "{}", tags.len());
    }
}
