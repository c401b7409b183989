//! The orders of the graph of claims (`graph`): three balanced trees whose nodes are the claims
//! themselves, so that finding, adding and taking out cost the logarithm of the claims. After
//! Adelson-Velsky and Landis (1962): two subtrees of a node differ in height by one at most.

use crate::Priority;
use crate::table::key::Key;

/// All claims, by thread.
pub(crate) const BY_THREAD: usize = 0;
/// All claims, by lock, the most urgent first.
pub(crate) const BY_LOCK: usize = 1;
/// The claims of top waiters, by their lock's owner, the most urgent first.
pub(crate) const BY_OWNER: usize = 2;
/// How many trees there are.
pub(crate) const TREES: usize = 3;

/// Claims that are one behind the other in a tree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Group {
    /// Those by which a thread waits: one, unless the host gives two threads one id.
    Thread(u64),
    /// Those to a lock.
    Lock(Key),
    /// Those of the top waiters of a thread's locks.
    Owner(u64),
}

/// A claim's place in a tree. No two have the same: arrivals differ.
pub(crate) type Rank = (Group, Priority, u64);

/// A claim's links in one of the trees.
pub(crate) struct Link<N> {
    pub(crate) parent: Option<N>,
    pub(crate) children: [Option<N>; 2],
    /// Of the subtree below it, itself included.
    pub(crate) height: u8,
}

impl<N: Copy> Link<N> {
    /// In no tree.
    pub(crate) const NOWHERE: Link<N> = Link { parent: None, children: [None; 2], height: 0 };
}

/// The sides of a node.
const LESS: usize = 0;
const MORE: usize = 1;

/// The trees: their nodes lie elsewhere, and are linked by what implements this.
pub(crate) trait Trees {
    /// A node, by its address.
    type Node: Copy + PartialEq;

    /// The top of a tree.
    fn root(&mut self, by: usize) -> &mut Option<Self::Node>;

    /// A node's links in a tree.
    fn link(&mut self, by: usize, node: Self::Node) -> &mut Link<Self::Node>;

    /// The place of a node in a tree in which it is, or is about to be.
    fn rank(&mut self, by: usize, node: Self::Node) -> Rank;

    fn height(&mut self, by: usize, node: Option<Self::Node>) -> u8 {
        node.map_or(0, |node| self.link(by, node).height)
    }

    fn heights(&mut self, by: usize, node: Self::Node) -> [u8; 2] {
        let [less, more] = self.link(by, node).children;
        [self.height(by, less), self.height(by, more)]
    }

    fn measure(&mut self, by: usize, node: Self::Node) {
        let [less, more] = self.heights(by, node);
        self.link(by, node).height = 1 + less.max(more);
    }

    /// The first claim of a group.
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

    /// Puts a claim into a tree, by its rank, which does not change until it is out again.
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

    /// Takes a claim out of a tree in which it is.
    fn take(&mut self, by: usize, node: Self::Node) {
        let Link { parent, children, height } = core::mem::replace(self.link(by, node), Link::NOWHERE);
        let side = self.side(by, parent, node);
        let [Some(less), Some(more)] = children else {
            self.hang(by, parent, side, children[LESS].or(children[MORE]));
            self.balance(by, parent);
            return;
        };
        // The next one in order takes its place: it has nothing below it on one side.
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

    /// On which side of its parent a place is.
    fn side(&mut self, by: usize, parent: Option<Self::Node>, node: Self::Node) -> usize {
        parent.map_or(LESS, |parent| usize::from(self.link(by, parent).children[MORE] == Some(node)))
    }

    /// Makes a node, or none, the child of another, or the root.
    fn hang(&mut self, by: usize, parent: Option<Self::Node>, side: usize, child: Option<Self::Node>) {
        match parent {
            Some(parent) => self.link(by, parent).children[side] = child,
            None => *self.root(by) = child,
        }
        if let Some(child) = child {
            self.link(by, child).parent = parent;
        }
    }

    /// A subtree below a node has become higher or lower by one: turns what leans too far, up to
    /// where the height stays as it was.
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

    /// Balances a node whose subtrees are balanced, and differ by two at most; which node is in its
    /// place then.
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

    /// Turns: a node's child takes its place, and has it as a child; which that is.
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
