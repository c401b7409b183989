//! What a writer does under the lock: it checks that its path is still linked, puts new nodes in
//! the place of old ones, and returns what it unlinked. No user code runs here, and nothing is allocated
//! or freed: the memory of new nodes is reserved before (`memory.rs`).

use alloc::boxed::Box;
use core::mem::MaybeUninit;
use core::ops::Range;
use core::ptr::NonNull;

use super::lock::WriteLock;
use super::memory::Stock;
use super::node::{self, CAPACITY, FEW, Inner, MERGED, TreeNode};
use super::path::{self, Path};
use super::store::{Store, TreeSlot};
use crate::atomic::{AtomicPtr, AtomicUsize, Ordering, const_fn};
use crate::mutant::check;

/// The tree of a map, and its writers' lock.
pub(super) struct Tree {
    root: AtomicPtr<TreeNode>,
    /// The number of entries. Changed under the lock.
    len: AtomicUsize,
    lock: WriteLock,
}

/// What takes the place of a node: nothing, one node (`left`), or two.
pub(super) struct Change<Key> {
    pub(super) left: Option<NonNull<TreeNode>>,
    /// The right one of two nodes, and the separator between them: its least key.
    pub(super) right: Option<(TreeSlot<Key>, NonNull<TreeNode>)>,
    /// The separator before `left`, where it is another one than before: the least key of `left`.
    pub(super) new_separator: Option<TreeSlot<Key>>,
    /// True if entries or children were removed: the node may fit into a neighbour.
    pub(super) has_shrunk: bool,
}

/// The number of nodes that one change unlinks, at most: two on each level, and a root.
const UNLINKED: usize = 40;

/// The nodes that a change has unlinked.
pub(super) struct Unlinked {
    nodes: [MaybeUninit<NonNull<TreeNode>>; UNLINKED],
    len: usize,
}

impl Unlinked {
    fn push(&mut self, node: NonNull<TreeNode>) {
        self.nodes[self.len].write(node);
        self.len += 1;
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = NonNull<TreeNode>> {
        // SAFETY: those below the length were written.
        self.nodes[..self.len].iter().map(|node| unsafe { node.assume_init() })
    }
}

impl<Key> Change<Key> {
    /// Returns true if one node takes the place of one.
    fn is_one(&self) -> bool {
        self.left.is_some() && self.right.is_none()
    }

    /// Returns true if one node takes the place of one, and nothing else changes.
    #[inline]
    pub(super) fn is_simple(&self) -> bool {
        self.is_one() && self.new_separator.is_none() && !self.has_shrunk
    }

    pub(super) fn count(&self) -> usize {
        usize::from(self.left.is_some()) + usize::from(self.right.is_some())
    }

    /// Frees the new nodes, which readers cannot find.
    ///
    /// # Safety
    /// They are of this kind, and were not published.
    pub(super) unsafe fn free<K, V, S: Store<K, V, Key = Key>>(self) {
        for node in self.left.into_iter().chain(self.right.map(|(_, node)| node)) {
            // SAFETY: the caller's promise.
            unsafe { node::free::<K, V, S>(node) };
        }
    }
}

impl Tree {
    const_fn! {
        pub(super) fn new() -> Tree {
            Tree {
                root: AtomicPtr::new(core::ptr::null_mut()),
                len: AtomicUsize::new(0),
                lock: WriteLock::new(),
            }
        }
    }

    #[inline(always)]
    pub(super) fn root(&self) -> Option<NonNull<TreeNode>> {
        path::root(&self.root)
    }

    pub(super) fn len(&self) -> usize {
        // Relaxed: a number.
        self.len.load(Ordering::Relaxed)
    }

    /// Puts `change` in the place of the path's leaf, or of an empty tree, and adds `more` to the
    /// number of entries. Returns what was unlinked; the change, if the path is not linked any
    /// more. `stock` has memory for `need::inner_nodes`.
    ///
    /// # Safety
    /// The path and the change are of this kind, and the path's section is open. The caller that
    /// removes an entry retires it afterwards.
    pub(super) unsafe fn commit<K, V, S: Store<K, V>>(
        &self,
        path: Option<&Path>,
        change: Change<S::Key>,
        more: isize,
        stock: &mut Stock<Inner<K, V, S>>,
    ) -> Result<Unlinked, Change<S::Key>> {
        let held = self.lock.lock();
        if held.was_abandoned {
            // SAFETY: the tree is of this kind, and the lock keeps it.
            unsafe { self.recount::<K, V, S>() };
        }
        let root = self.root();
        let is_valid = match path {
            // SAFETY: the caller's promise.
            Some(path) => unsafe { path.is_linked::<K, V, S>(root) },
            None => root.is_none(),
        };
        if check!(ordered_validate, !is_valid) {
            return Err(change);
        }
        let mut unlinked = Unlinked { nodes: [MaybeUninit::uninit(); UNLINKED], len: 0 };
        match path {
            // SAFETY: the caller's promise; the path is linked, and the lock keeps it so.
            Some(path) => unsafe { self.splice::<K, V, S>(path, change, &mut unlinked, stock) },
            None => path::set_root(&self.root, change.left),
        }
        // Relaxed: changed under the lock.
        self.len.store(self.len().wrapping_add_signed(more), Ordering::Relaxed);
        Ok(unlinked)
    }

    /// Empties the tree, and returns the root that it had.
    pub(super) fn take(&self) -> Option<NonNull<TreeNode>> {
        let _held = self.lock.lock();
        let root = self.root();
        path::set_root(&self.root, None);
        // Relaxed: changed under the lock.
        self.len.store(0, Ordering::Relaxed);
        root
    }

    /// Puts `change` in the place of the path's leaf. Readers find the tree in order at each store.
    ///
    /// # Safety
    /// The caller has the lock; the path is linked and, as the change, of this kind.
    unsafe fn splice<K, V, S: Store<K, V>>(
        &self,
        path: &Path,
        mut change: Change<S::Key>,
        unlinked: &mut Unlinked,
        stock: &mut Stock<Inner<K, V, S>>,
    ) {
        let mut old = path.leaf_node();
        for level in (0..path.depth()).rev() {
            let (node, index) = path.inner(level);
            // SAFETY: an inner node of this kind, which the lock keeps.
            let inner = unsafe { Inner::<K, V, S>::of(node) };
            let mut range = index..index + 1;
            if change.has_shrunk && change.is_one() {
                // SAFETY: the change's node is new, and of this kind.
                unsafe { merge(inner, &mut range, &mut change) };
            }
            let is_kept = change.left == Some(old);
            if range.len() == 1 && change.is_one() && (change.new_separator.is_none() || range.start == 0) {
                if let Some(new) = change.left.filter(|_| !is_kept) {
                    inner.set_child(index, new);
                    unlinked.push(old);
                }
                if change.new_separator.is_none() {
                    return;
                }
                // The separator before this subtree is further up.
                change =
                    Change { left: Some(node), right: None, new_separator: change.new_separator, has_shrunk: false };
            } else {
                range.clone().map(|index| inner.child(index)).filter(|_| !is_kept).for_each(|old| unlinked.push(old));
                change = rebuild(inner, range, change, stock);
            }
            old = node;
        }
        // SAFETY: the new nodes are of this kind.
        unsafe { self.replace_root::<K, V, S>(old, change, unlinked, stock) };
    }

    /// Puts `change` in the place of the root `old`.
    ///
    /// # Safety
    /// The caller has the lock; the change's nodes are of this kind.
    unsafe fn replace_root<K, V, S: Store<K, V>>(
        &self,
        old: NonNull<TreeNode>,
        change: Change<S::Key>,
        unlinked: &mut Unlinked,
        stock: &mut Stock<Inner<K, V, S>>,
    ) {
        if change.left == Some(old) {
            return;
        }
        let new = match (change.left, change.right) {
            (Some(left), Some((separator, right))) => {
                // SAFETY: a new node.
                let level = unsafe { left.as_ref() }.level();
                let mut root = Inner::<K, V, S>::new(stock.take(), level + 1, left);
                root.push(separator, right);
                Some(node::leak(root))
            }
            // SAFETY: a new node, of this kind.
            (Some(left), None) => Some(unsafe { without_chain::<K, V, S>(left, stock) }),
            (None, _) => None,
        };
        path::set_root(&self.root, new);
        unlinked.push(old);
    }

    /// Counts the entries, where another process's thread may have left the number wrong.
    ///
    /// # Safety
    /// The tree is of this kind, and the caller has the lock.
    #[cold]
    unsafe fn recount<K, V, S: Store<K, V>>(&self) {
        /// Counts the entries below a node.
        ///
        /// # Safety
        /// The node is linked in a tree of this kind, whose lock the caller has.
        unsafe fn count<K, V, S: Store<K, V>>(node: NonNull<TreeNode>) -> usize {
            // SAFETY: linked nodes live.
            let head = unsafe { node.as_ref() };
            if head.level() == 0 {
                return head.len();
            }
            // SAFETY: an inner node of this kind.
            let inner = unsafe { Inner::<K, V, S>::of(node) };
            // SAFETY: as above.
            (0..inner.len()).map(|index| unsafe { count::<K, V, S>(inner.child(index)) }).sum()
        }
        // SAFETY: the caller's promise.
        let len = self.root().map_or(0, |root| unsafe { count::<K, V, S>(root) });
        // Relaxed: changed under the lock.
        self.len.store(len, Ordering::Relaxed);
    }
}

/// Returns the only child of a new root that has one, and puts that root's memory back; else the root.
///
/// # Safety
/// The node is of this kind and was not published.
unsafe fn without_chain<K, V, S: Store<K, V>>(
    root: NonNull<TreeNode>,
    stock: &mut Stock<Inner<K, V, S>>,
) -> NonNull<TreeNode> {
    // SAFETY: a new node.
    let head = unsafe { root.as_ref() };
    if head.level() == 0 || head.len() != 1 {
        return root;
    }
    // SAFETY: an inner node of this kind.
    let child = unsafe { Inner::<K, V, S>::of(root) }.child(0);
    // SAFETY: not published; from a box, and without a destructor.
    stock.put(unsafe { Box::from_raw(root.cast::<MaybeUninit<Inner<K, V, S>>>().as_ptr()) });
    child
}

/// Has the change's node, if it is small, take in a neighbour of `range`, and adds that to the range.
///
/// # Safety
/// The change is one node, not published, that takes the place of `range`; all is of this kind, and
/// the caller has the lock.
unsafe fn merge<K, V, S: Store<K, V>>(inner: &Inner<K, V, S>, range: &mut Range<usize>, change: &mut Change<S::Key>) {
    let Some(new) = change.left else { return };
    // SAFETY: a new node.
    let len = unsafe { new.as_ref() }.len();
    // SAFETY: a linked node.
    let fits = |index: usize| len + unsafe { inner.child(index).as_ref() }.len() <= MERGED;
    if len >= FEW {
        return;
    }
    let index = range.start;
    if index > 0 && fits(index - 1) {
        let separator = change.new_separator.take().unwrap_or_else(|| inner.separator(index));
        // SAFETY: nodes of this kind; the new one was not published, and has room.
        unsafe { node::prepend::<K, V, S>(new, inner.child(index - 1), separator) };
        range.start -= 1;
    } else if index + 1 < inner.len() && fits(index + 1) {
        // SAFETY: as above.
        unsafe { node::append::<K, V, S>(new, inner.separator(index + 1), inner.child(index + 1)) };
        range.end += 1;
    }
}

/// Makes the nodes that take the place of `inner` when `change` takes the place of its children in
/// `range`.
fn rebuild<K, V, S: Store<K, V>>(
    inner: &Inner<K, V, S>,
    range: Range<usize>,
    change: Change<S::Key>,
    stock: &mut Stock<Inner<K, V, S>>,
) -> Change<S::Key> {
    let total = inner.len() - range.len() + change.count();
    // Where all is appended at the end, as in order, nodes stay full.
    let is_at_end = range.end == inner.len();
    let left_len = match total {
        0..=CAPACITY => total,
        _ if is_at_end => total - CAPACITY.div_ceil(8),
        _ => total / 2,
    };
    let mut nodes: [Option<Box<Inner<K, V, S>>>; 2] = [None, None];
    // The separators before the two nodes.
    let (mut new_separator, mut middle) = (None, None);
    let mut count = 0;
    let mut push = |separator: Option<TreeSlot<S::Key>>, child| {
        let node = &mut nodes[usize::from(count >= left_len)];
        match (node, separator) {
            (Some(node), Some(separator)) => node.push(separator, child),
            (node, separator) => {
                *node = Some(Inner::new(stock.take(), inner.level(), child));
                *(if count == 0 { &mut new_separator } else { &mut middle }) = separator;
            }
        }
        count += 1;
    };
    let separator = |index: usize| (index > 0).then(|| inner.separator(index));
    (0..range.start).for_each(|index| push(separator(index), inner.child(index)));
    if let Some(left) = change.left {
        push(change.new_separator.or_else(|| separator(range.start)), left);
    }
    if let Some((separator, right)) = change.right {
        push(Some(separator), right);
    }
    for index in range.end..inner.len() {
        push(separator(index), inner.child(index));
    }
    let [left, right] = nodes.map(|node| node.map(node::leak));
    Change { left, right: middle.zip(right), new_separator, has_shrunk: total < inner.len() }
}
