//! The nodes that were handed permits and whose owners did not come for them yet: a tree in the
//! order of their tasks, so that a task's node is found however many there are. Called by
//! `queue.rs`, which has the lock that guards all of it.
//!
//! The tree is a treap, by Aragon and Seidel: a search tree by task and address, and a heap by a
//! number that a node's address decides, which looks like chance. So its height is that of a tree
//! whose nodes came in an order of chance, a small multiple of the logarithm.

use core::ptr;

use super::node::{Task, TaskLink, TaskNode};

/// The nodes that were handed permits.
pub(super) struct Handed {
    root: TaskLink,
}

/// A node's place in the order: among those of its task, by its address.
#[inline]
fn key(node: &TaskNode) -> (Option<Task>, *const TaskNode) {
    // SAFETY: the caller of each function here has locked the queue.
    (unsafe { node.task() }, node)
}

/// A number that decides which of two nodes is above the other: the same for the same node.
#[inline]
fn height(node: &TaskNode) -> usize {
    // Knuth's multiplication, by the golden ratio: the high bits depend on all others.
    ptr::from_ref(node).addr().wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as usize)
}

impl Handed {
    /// Returns a tree without nodes.
    pub(super) const fn new() -> Handed {
        Handed { root: TaskLink::none() }
    }

    /// Forgets all nodes.
    pub(super) fn clear(&self) {
        self.root.set(None);
    }

    /// Returns a node of that task, if there is one.
    #[inline]
    pub(super) fn of(&self, task: Task) -> Option<&TaskNode> {
        let task = Some(task);
        let mut at = self.root.get();
        while let Some(node) = at {
            let of = key(node).0;
            if of == task {
                return at;
            }
            at = if task < of { node.prev.get() } else { node.next.get() };
        }
        None
    }

    /// Adds a node, which is in no line.
    #[inline]
    pub(super) fn insert(&self, node: &TaskNode) {
        let mut link = &self.root;
        while let Some(above) = link.get().filter(|above| height(above) >= height(node)) {
            link = if key(node) < key(above) { &above.prev } else { &above.next };
        }
        // What is below now is split into those before the node and those after it.
        let mut below = link.get();
        link.set(Some(node));
        let (mut less, mut greater) = (&node.prev, &node.next);
        while let Some(other) = below {
            if key(other) < key(node) {
                less.set(Some(other));
                less = &other.next;
                below = less.get();
            } else {
                greater.set(Some(other));
                greater = &other.prev;
                below = greater.get();
            }
        }
        less.set(None);
        greater.set(None);
    }

    /// Takes a node out that is in the tree.
    #[inline]
    pub(super) fn remove(&self, node: &TaskNode) {
        let mut link = &self.root;
        while !link.is(node) {
            let Some(above) = link.get() else { return };
            link = if key(node) < key(above) { &above.prev } else { &above.next };
        }
        // What is below it becomes one tree.
        let (mut less, mut greater) = (node.prev.get(), node.next.get());
        while let (Some(before), Some(after)) = (less, greater) {
            if height(before) >= height(after) {
                link.set(less);
                link = &before.next;
                less = link.get();
            } else {
                link.set(greater);
                link = &after.prev;
                greater = link.get();
            }
        }
        link.set(less.or(greater));
    }
}
