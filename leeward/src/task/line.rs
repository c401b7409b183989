//! A line: the nodes of a queue that wait, in turn, linked in a circle. The queue's lock guards all of
//! it.

use super::node::{TaskLink, TaskNode};

/// The nodes that wait.
pub(super) struct Line {
    /// The last one; the first comes after it.
    last: TaskLink,
}

impl Line {
    /// Returns a line of no nodes.
    pub(super) const fn new() -> Line {
        Line { last: TaskLink::none() }
    }

    /// Forgets all nodes.
    pub(super) fn clear(&self) {
        self.last.set(None);
    }

    /// Returns the first node.
    #[inline]
    pub(super) fn first(&self) -> Option<&TaskNode> {
        self.last.get()?.next.get()
    }

    /// Links a node as the last.
    pub(super) fn push_back(&self, node: &TaskNode) {
        self.push_front(node);
        self.last.set(Some(node));
    }

    /// Links a node as the first.
    pub(super) fn push_front(&self, node: &TaskNode) {
        match self.last.get() {
            Some(last) => Self::link(last, node, last.next.get()),
            None => {
                node.next.set(Some(node));
                node.prev.set(Some(node));
                self.last.set(Some(node));
            }
        }
    }

    /// Makes the last node the first.
    pub(super) fn turn_back(&self) {
        if let Some(last) = self.last.get() {
            self.last.set(last.prev.get());
        }
    }

    /// Links a node behind `other`, which is in the line.
    pub(super) fn insert_after(&self, other: &TaskNode, node: &TaskNode) {
        Self::link(other, node, other.next.get());
        if self.last.is(other) {
            self.last.set(Some(node));
        }
    }

    /// Puts a node between two that are neighbours.
    fn link(prev: &TaskNode, node: &TaskNode, next: Option<&TaskNode>) {
        node.prev.set(Some(prev));
        node.next.set(next);
        prev.next.set(Some(node));
        if let Some(next) = next {
            next.prev.set(Some(node));
        }
    }

    /// Takes a node out that is in the line.
    pub(super) fn remove(&self, node: &TaskNode) {
        let (Some(prev), Some(next)) = (node.prev.get(), node.next.get()) else { return };
        prev.next.set(Some(next));
        next.prev.set(Some(prev));
        if self.last.is(node) {
            self.last.set(if node.next.is(node) { None } else { Some(prev) });
        }
    }
}
