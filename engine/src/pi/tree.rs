//! The orders of the graph of claims (`graph`): three balanced trees whose nodes are the claims
//! themselves, so that finding, adding and removing a claim cost the logarithm of their number.
//! After Adelson-Velsky and Landis (1962): the two subtrees of a node differ in height by one at
//! most.

use crate::Priority;
use crate::table::key::Key;

/// The tree of all claims, by thread.
pub(crate) const BY_THREAD: usize = 0;
/// The tree of all claims, by lock, the most urgent first.
pub(crate) const BY_LOCK: usize = 1;
/// The tree of the top waiters' claims, by their lock's owner, the most urgent first.
pub(crate) const BY_OWNER: usize = 2;
/// The number of trees.
pub(crate) const TREES: usize = 3;

/// A group of claims that follow each other in a tree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Group {
    /// The claims by which a thread waits: one, unless the host gives two threads one id.
    Thread(u64),
    /// The claims to a lock.
    Lock(Key),
    /// The claims of the top waiters of a thread's locks.
    Owner(u64),
}

/// A claim's place in a tree: group, urgency, arrival. No two claims have the same place in a tree,
/// because arrivals differ.
pub(crate) type Rank = (Group, Priority, u64);

/// A claim's links in one of the trees.
pub(crate) struct Link<N> {
    pub(crate) parent: Option<N>,
    pub(crate) children: [Option<N>; 2],
    /// The height of the subtree whose top is this claim; a claim without children has 1.
    pub(crate) height: u8,
}

impl<N: Copy> Link<N> {
    /// The links of a claim that is in no tree.
    pub(crate) const NOWHERE: Link<N> = Link { parent: None, children: [None; 2], height: 0 };
}

/// The side of a node's children that come before it.
const LESS: usize = 0;
/// The side of a node's children that come after it.
const MORE: usize = 1;

/// A set of trees whose nodes lie elsewhere, and are linked by the implementor.
pub(crate) trait Trees {
    /// The address of a node.
    type Node: Copy + PartialEq;

    /// Returns the root of a tree.
    fn root(&mut self, by: usize) -> &mut Option<Self::Node>;

    /// Returns a node's links in a tree.
    fn link(&mut self, by: usize, node: Self::Node) -> &mut Link<Self::Node>;

    /// Returns the place of a node in a tree in which it is, or is about to be.
    fn rank(&mut self, by: usize, node: Self::Node) -> Rank;

    /// Returns the height of a subtree, which may be empty.
    fn height(&mut self, by: usize, node: Option<Self::Node>) -> u8 {
        node.map_or(0, |node| self.link(by, node).height)
    }

    /// Returns the heights of a node's subtrees.
    fn heights(&mut self, by: usize, node: Self::Node) -> [u8; 2] {
        let [less, more] = self.link(by, node).children;
        [self.height(by, less), self.height(by, more)]
    }

    /// Sets a node's height from its subtrees'.
    fn measure(&mut self, by: usize, node: Self::Node) {
        let [less, more] = self.heights(by, node);
        self.link(by, node).height = 1 + less.max(more);
    }

    /// Returns the first claim of a group.
    fn first(&mut self, by: usize, group: Group) -> Option<Self::Node> {
        let mut found = None;
        let mut cursor = *self.root(by);
        while let Some(node) = cursor {
            let (of, ..) = self.rank(by, node);
            if of == group {
                found = Some(node);
            }
            cursor = self.link(by, node).children[usize::from(of < group)];
        }
        found
    }

    /// Adds a claim to a tree, by its rank, which must not change until it is removed.
    fn put(&mut self, by: usize, node: Self::Node) {
        let rank = self.rank(by, node);
        let (mut parent, mut side) = (None, LESS);
        let mut cursor = *self.root(by);
        while let Some(other) = cursor {
            side = usize::from(self.rank(by, other) < rank);
            parent = Some(other);
            cursor = self.link(by, other).children[side];
        }
        *self.link(by, node) = Link { height: 1, ..Link::NOWHERE };
        self.hang(by, parent, side, Some(node));
        self.balance(by, parent);
    }

    /// Removes a claim from a tree in which it is.
    fn take(&mut self, by: usize, node: Self::Node) {
        let Link { parent, children, height } = core::mem::replace(self.link(by, node), Link::NOWHERE);
        let side = self.side(by, parent, node);
        let [Some(less), Some(more)] = children else {
            self.hang(by, parent, side, children[LESS].or(children[MORE]));
            self.balance(by, parent);
            return;
        };
        // The next claim in order takes its place: that one has no child on the lesser side.
        let mut next = more;
        while let Some(before) = self.link(by, next).children[LESS] {
            next = before;
        }
        let mut lowest = next;
        if next != more {
            let below = self.link(by, next).children[MORE];
            let above = self.link(by, next).parent;
            self.hang(by, above, LESS, below);
            self.hang(by, Some(next), MORE, Some(more));
            lowest = above.unwrap_or(next);
        }
        self.hang(by, Some(next), LESS, Some(less));
        self.link(by, next).height = height;
        self.hang(by, parent, side, Some(next));
        self.balance(by, Some(lowest));
    }

    /// Returns the side of its parent on which a node is; the root counts as on the lesser side.
    fn side(&mut self, by: usize, parent: Option<Self::Node>, node: Self::Node) -> usize {
        parent.map_or(LESS, |parent| usize::from(self.link(by, parent).children[MORE] == Some(node)))
    }

    /// Makes `child`, which may be none, the child of `parent` on a side, or the root.
    fn hang(&mut self, by: usize, parent: Option<Self::Node>, side: usize, child: Option<Self::Node>) {
        match parent {
            Some(parent) => self.link(by, parent).children[side] = child,
            None => *self.root(by) = child,
        }
        if let Some(child) = child {
            self.link(by, child).parent = parent;
        }
    }

    /// Rebalances a tree from a node upwards, one of whose subtrees has become higher or lower by
    /// one; ends where a subtree's height stays as it was.
    fn balance(&mut self, by: usize, from: Option<Self::Node>) {
        let mut cursor = from;
        while let Some(node) = cursor {
            let before = self.link(by, node).height;
            let top = self.upright(by, node);
            let link = self.link(by, top);
            if link.height == before {
                return;
            }
            cursor = link.parent;
        }
    }

    /// Balances a node whose subtrees are balanced and differ in height by two at most. Returns the
    /// node that is in its place then.
    fn upright(&mut self, by: usize, node: Self::Node) -> Self::Node {
        let [less, more] = self.heights(by, node);
        if less.abs_diff(more) < 2 {
            self.link(by, node).height = 1 + less.max(more);
            return node;
        }
        let heavy = usize::from(more > less);
        if let Some(child) = self.link(by, node).children[heavy] {
            let heights = self.heights(by, child);
            if heights[1 - heavy] > heights[heavy] {
                self.raise(by, child, 1 - heavy);
            }
        }
        self.raise(by, node, heavy)
    }

    /// Rotates: a node's child on `side` takes the node's place, and has the node as a child.
    /// Returns that child.
    fn raise(&mut self, by: usize, node: Self::Node, side: usize) -> Self::Node {
        let parent = self.link(by, node).parent;
        let Some(child) = self.link(by, node).children[side] else { return node };
        let own = self.side(by, parent, node);
        let between = self.link(by, child).children[1 - side];
        self.hang(by, Some(node), side, between);
        self.hang(by, Some(child), 1 - side, Some(node));
        self.hang(by, parent, own, Some(child));
        self.measure(by, node);
        self.measure(by, child);
        child
    }
}
