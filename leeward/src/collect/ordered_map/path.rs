//! The way from the root to a leaf, as a reader or a writer went it.
//!
//! An inner node keeps its separators, and a node that is replaced keeps its last children. So a path
//! stays walkable for as long as its section is open: it leads through every key range once, in
//! order, whatever writers do meanwhile. A writer's path is valid if all of it is still linked: then
//! every comparison on the way would have the same outcome again.

use core::borrow::Borrow;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

use super::node::{Inner, Leaf, TreeNode};
use super::store::Store;
use crate::atomic::AtomicPtr;
use crate::mutant::order;

/// The number of inner levels at most. A tree of `n` entries has fewer than log(n) / log(8).
const LEVELS: usize = 16;

/// One inner node on the way, and which child was taken.
#[derive(Clone, Copy)]
struct Step {
    node: NonNull<TreeNode>,
    index: usize,
}

/// A way from a root to a leaf.
#[derive(Clone)]
pub(super) struct Path {
    steps: [MaybeUninit<Step>; LEVELS],
    /// The number of steps.
    depth: usize,
    leaf: NonNull<TreeNode>,
}

/// The way to go at each inner node.
#[derive(Clone, Copy)]
pub(super) enum Side {
    First,
    Last,
}

/// Loads a root, with all that was done to it before it was published.
#[inline(always)]
pub(super) fn root(root: &AtomicPtr<TreeNode>) -> Option<NonNull<TreeNode>> {
    // Acquire: partner of the release in `set_root`.
    NonNull::new(root.load(order!(Acquire, ordered_root_acquire)))
}

/// Publishes another root.
pub(super) fn set_root(root: &AtomicPtr<TreeNode>, node: Option<NonNull<TreeNode>>) {
    let node = node.map_or(core::ptr::null_mut(), NonNull::as_ptr);
    // Release: partner of the acquire in `root`: the node is whole.
    root.store(node, order!(Release, ordered_root_release));
}

/// Returns the leaf to which `wanted` belongs.
///
/// # Safety
/// The root is a tree's of this kind, and was loaded in a section that is open for as long as `'a`.
#[inline(always)]
pub(super) unsafe fn leaf_of<'a, K, V, S, Q>(root: NonNull<TreeNode>, wanted: &Q) -> &'a Leaf<K, V, S>
where
    K: Borrow<Q> + 'a,
    V: 'a,
    S: Store<K, V> + 'a,
    Q: Ord + ?Sized,
{
    let mut node = root;
    // SAFETY: nodes live until the section ends.
    while unsafe { node.as_ref() }.level() != 0 {
        // SAFETY: an inner node of this kind, which lives until the section ends.
        let inner = unsafe { Inner::<K, V, S>::of(node) };
        node = inner.child(inner.find(wanted));
    }
    // SAFETY: level 0, as above.
    unsafe { Leaf::of(node) }
}

/// All functions that are generic over the store demand the one of the tree, and the section in which
/// the path was begun to be open; `edit.rs` may call them under the writers' lock instead.
impl Path {
    /// Goes from `root` to a leaf, as `choose` says at each inner node.
    ///
    /// # Safety
    /// As for `leaf_of`.
    #[inline]
    pub(super) unsafe fn go<K, V, S: Store<K, V>>(
        root: NonNull<TreeNode>,
        choose: impl Fn(&Inner<K, V, S>) -> usize,
    ) -> Path {
        let mut path = Path { steps: [MaybeUninit::uninit(); LEVELS], depth: 0, leaf: root };
        // SAFETY: the caller's promise.
        unsafe { path.descend(root, choose) };
        path
    }

    /// Goes from `root` to the leaf at one end.
    ///
    /// # Safety
    /// As for `leaf_of`.
    pub(super) unsafe fn to_end<K, V, S: Store<K, V>>(root: NonNull<TreeNode>, side: Side) -> Path {
        // SAFETY: the caller's promise.
        unsafe { Path::go::<K, V, S>(root, |inner| end_of(inner, side)) }
    }

    /// Goes on from `node` to a leaf.
    ///
    /// # Safety
    /// As for `leaf_of`.
    #[inline(always)]
    unsafe fn descend<K, V, S: Store<K, V>>(
        &mut self,
        mut node: NonNull<TreeNode>,
        choose: impl Fn(&Inner<K, V, S>) -> usize,
    ) {
        // SAFETY: nodes live until the section ends.
        while unsafe { node.as_ref() }.level() != 0 {
            // SAFETY: an inner node of this kind, which lives until the section ends.
            let inner = unsafe { Inner::<K, V, S>::of(node) };
            let index = choose(inner);
            self.steps[self.depth].write(Step { node, index });
            self.depth += 1;
            node = inner.child(index);
        }
        self.leaf = node;
    }

    /// Moves to the next leaf on `side` (`Last`: the one after). Returns false if there is none; the
    /// path is then as before.
    ///
    /// # Safety
    /// The path is of a tree of this kind, and its section is open.
    pub(super) unsafe fn step<K, V, S: Store<K, V>>(&mut self, side: Side) -> bool {
        for level in (0..self.depth).rev() {
            let Step { node, index } = self.at(level);
            // SAFETY: an inner node of this kind, which lives until the section ends.
            let inner = unsafe { Inner::<K, V, S>::of(node) };
            let index = match side {
                Side::First if index > 0 => index - 1,
                Side::Last if index + 1 < inner.len() => index + 1,
                _ => continue,
            };
            self.steps[level].write(Step { node, index });
            self.depth = level + 1;
            let other = match side {
                Side::First => Side::Last,
                Side::Last => Side::First,
            };
            // SAFETY: as above.
            unsafe { self.descend::<K, V, S>(inner.child(index), |inner| end_of(inner, other)) };
            return true;
        }
        false
    }

    /// Returns true if the whole path is linked, from `root` on. The caller has the writers' lock.
    ///
    /// # Safety
    /// The path is of a tree of this kind, and its nodes live.
    pub(super) unsafe fn is_linked<K, V, S: Store<K, V>>(&self, root: Option<NonNull<TreeNode>>) -> bool {
        let mut now = root;
        for level in 0..self.depth {
            let Step { node, index } = self.at(level);
            if now != Some(node) {
                return false;
            }
            // SAFETY: an inner node of this kind, which lives.
            now = Some(unsafe { Inner::<K, V, S>::of(node) }.child(index));
        }
        now == Some(self.leaf)
    }

    fn at(&self, level: usize) -> Step {
        assert!(level < self.depth);
        // SAFETY: the steps below the depth were written.
        unsafe { self.steps[level].assume_init() }
    }

    /// Returns the number of inner nodes.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Returns the inner node at `level`, counted from the root, and the index of the child.
    pub(super) fn inner(&self, level: usize) -> (NonNull<TreeNode>, usize) {
        let Step { node, index } = self.at(level);
        (node, index)
    }

    pub(super) fn leaf_node(&self) -> NonNull<TreeNode> {
        self.leaf
    }

    /// Returns the leaf.
    ///
    /// # Safety
    /// The path is of a tree of this kind, and its section is open for as long as `'a`.
    #[inline(always)]
    pub(super) unsafe fn leaf<'a, K, V, S: Store<K, V>>(&self) -> &'a Leaf<K, V, S> {
        // SAFETY: a leaf of this kind, which lives until the section ends.
        unsafe { Leaf::of(self.leaf) }
    }

    /// Returns true if the path leads to the tree's last leaf.
    ///
    /// # Safety
    /// As for `step`.
    pub(super) unsafe fn is_last<K, V, S: Store<K, V>>(&self) -> bool {
        (0..self.depth).all(|level| {
            let Step { node, index } = self.at(level);
            // SAFETY: an inner node of this kind, which lives until the section ends.
            index + 1 == unsafe { Inner::<K, V, S>::of(node) }.len()
        })
    }
}

/// Returns the index of the child at one end.
fn end_of<K, V, S: Store<K, V>>(inner: &Inner<K, V, S>, side: Side) -> usize {
    match side {
        Side::First => 0,
        Side::Last => inner.len() - 1,
    }
}
