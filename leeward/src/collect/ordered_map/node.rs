//! The nodes of the tree. A leaf never changes once readers can find it; of an inner node, only the
//! pointers to its children do.

use alloc::boxed::Box;
use core::borrow::Borrow;
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};

use super::memory::try_uninit;
use super::store::{Store, TreeSlot, copy_of};
use crate::atomic::{AtomicPtr, AtomicU32, IS_MODEL, Ordering};
use crate::collect::backend::AsideLink;
use crate::mutant::order;

/// The number of entries of a leaf, and of children of an inner node, at most.
pub(super) const CAPACITY: usize = if IS_MODEL { 4 } else { 32 };
/// A node that shrinks below this is merged with a neighbour, if the two fill `MERGED` at most.
pub(super) const FEW: usize = CAPACITY / 4 + 1;
/// How much a merged node holds at most, so that it is not split by the next insertions.
pub(super) const MERGED: usize = CAPACITY - CAPACITY / 4;

/// What a leaf and an inner node begin with. (Aligned, so that its address has bits for `waste.rs`.)
#[repr(C, align(8))]
pub(super) struct TreeNode {
    /// By which the limbo keeps a node that was unlinked, where there is no memory for a bag. Readers
    /// leave it alone.
    link: AsideLink,
    /// The number of levels below: 0 for a leaf.
    level: u16,
    len: u16,
    /// A bit for each entry that is freed with this leaf: it was unlinked with it. 0 until then.
    drops: AtomicU32,
}

impl TreeNode {
    fn new(level: usize, len: u16) -> TreeNode {
        const { assert!(CAPACITY <= u32::BITS as usize) };
        TreeNode { link: AsideLink::new(), level: level as u16, len, drops: AtomicU32::new(0) }
    }

    /// Returns a bit for each entry that is freed with this leaf.
    pub(super) fn drops(&self) -> u32 {
        // Relaxed: the limbo orders it.
        self.drops.load(Ordering::Relaxed)
    }

    /// Says which entries are freed with this leaf, before it is retired.
    pub(super) fn set_drops(&self, bits: u32) {
        // Relaxed: as above.
        self.drops.store(bits, Ordering::Relaxed);
    }

    #[inline(always)]
    pub(super) fn level(&self) -> usize {
        self.level.into()
    }

    /// Returns the number of entries of a leaf, or of children of an inner node.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len.into()
    }
}

/// A node at the bottom: entries in order, one at least once readers can find it.
#[repr(C)]
pub(super) struct Leaf<K, V, S: Store<K, V>> {
    node: TreeNode,
    keys: [TreeSlot<S::Key>; CAPACITY],
    values: [TreeSlot<S::Value>; CAPACITY],
}

/// A node above others: children, one at least, and between each two of them the least key of the
/// second (or, where keys are copied, a key between the two).
#[repr(C)]
pub(super) struct Inner<K, V, S: Store<K, V>> {
    node: TreeNode,
    /// Before each child but the first: the separator at `i - 1` stands before child `i`.
    separators: [TreeSlot<S::Key>; CAPACITY],
    children: [AtomicPtr<TreeNode>; CAPACITY],
}

/// Returns how many keys of the first `len` slots are not greater than `wanted`. The keys are in order;
/// if not, the answer is some number up to `len`.
///
/// # Safety
/// As for `Store::key`, of those slots.
#[inline(always)]
unsafe fn not_greater<K: Borrow<Q>, V, S: Store<K, V>, Q: Ord + ?Sized>(
    slots: &[TreeSlot<S::Key>],
    wanted: &Q,
) -> usize {
    // SAFETY: the caller's promise.
    slots.partition_point(|slot| unsafe { S::key(slot) }.borrow() <= wanted)
}

impl<K, V, S: Store<K, V>> Leaf<K, V, S> {
    /// Returns an empty leaf, which is the caller's alone; `None`: there is no memory.
    pub(super) fn new() -> Option<Box<Self>> {
        let mut leaf = try_uninit::<Self>()?;
        let node = leaf.as_mut_ptr().cast::<TreeNode>();
        // SAFETY: a leaf begins with its node.
        unsafe { node.write(TreeNode::new(0, 0)) };
        // SAFETY: slots need not be initialized.
        Some(unsafe { leaf.assume_init() })
    }

    /// Returns the leaf behind a node.
    ///
    /// # Safety
    /// The node is a leaf of this kind, and lives for as long as `'a`.
    #[inline(always)]
    pub(super) unsafe fn of<'a>(node: NonNull<TreeNode>) -> &'a Self {
        // SAFETY: the caller's promise.
        unsafe { node.cast().as_ref() }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.node.len()
    }

    /// Returns the key at `index`, which is below the length.
    #[inline(always)]
    pub(super) fn key(&self, index: usize) -> &K {
        debug_assert!(index < self.len());
        // SAFETY: within the length, which is the capacity at most.
        let slot = unsafe { self.keys.get_unchecked(index) };
        // SAFETY: slots below the length are packed; their entries live for as long as the leaf.
        unsafe { S::key(slot) }
    }

    /// Returns the value at `index`, which is below the length.
    #[inline(always)]
    pub(super) fn value(&self, index: usize) -> &V {
        debug_assert!(index < self.len());
        // SAFETY: within the length, which is the capacity at most.
        let key = unsafe { self.keys.get_unchecked(index) };
        // SAFETY: as above.
        let value = unsafe { self.values.get_unchecked(index) };
        // SAFETY: as in `key`.
        unsafe { S::value(key, value) }
    }

    /// Returns the slots of the pair at `index`.
    pub(super) fn pair(&self, index: usize) -> (TreeSlot<S::Key>, TreeSlot<S::Value>) {
        (copy_of(&self.keys[index]), copy_of(&self.values[index]))
    }

    /// Returns how many entries have keys that are not greater than `wanted`.
    #[inline(always)]
    pub(super) fn not_greater<Q: Ord + ?Sized>(&self, wanted: &Q) -> usize
    where
        K: Borrow<Q>,
    {
        // SAFETY: the length is the capacity at most.
        let slots = unsafe { self.keys.get_unchecked(..self.len()) };
        // SAFETY: slots below the length are packed; their entries live for as long as the leaf.
        unsafe { not_greater::<K, V, S, Q>(slots, wanted) }
    }

    /// Returns where `wanted` is, or where it belongs.
    #[inline(always)]
    pub(super) fn find<Q: Ord + ?Sized>(&self, wanted: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        let end = self.not_greater(wanted);
        if end > 0 && self.key(end - 1).borrow().cmp(wanted).is_eq() { Ok(end - 1) } else { Err(end) }
    }

    /// Appends entries of another leaf.
    pub(super) fn append(&mut self, from: &Self, range: core::ops::Range<usize>) {
        let (start, count) = (self.len(), range.len());
        assert!(start + count <= CAPACITY && range.end <= from.len());
        // SAFETY: the range is within the leaf, and the target within this one.
        let to = unsafe { self.keys.as_mut_ptr().add(start) };
        // SAFETY: as above.
        let keys = unsafe { from.keys.as_ptr().add(range.start) };
        // SAFETY: as above; the bytes of slots may be copied.
        unsafe { ptr::copy_nonoverlapping(keys, to, count) };
        // SAFETY: as above.
        let to = unsafe { self.values.as_mut_ptr().add(start) };
        // SAFETY: as above.
        let values = unsafe { from.values.as_ptr().add(range.start) };
        // SAFETY: as above.
        unsafe { ptr::copy_nonoverlapping(values, to, count) };
        self.node.len += count as u16;
    }

    /// Puts all entries of another leaf before the own ones.
    pub(super) fn prepend(&mut self, from: &Self) {
        let (len, count) = (self.len(), from.len());
        self.keys[..len + count].rotate_right(count);
        self.values[..len + count].rotate_right(count);
        for index in 0..count {
            (self.keys[index], self.values[index]) = from.pair(index);
        }
        self.node.len += count as u16;
    }

    /// Appends a packed pair.
    pub(super) fn push(&mut self, (key, value): (TreeSlot<S::Key>, TreeSlot<S::Value>)) {
        let index = self.len();
        self.keys[index] = key;
        self.values[index] = value;
        self.node.len += 1;
    }
}

impl<K, V, S: Store<K, V>> Inner<K, V, S> {
    /// Makes an inner node with one child, which is the caller's alone.
    pub(super) fn new(mut memory: Box<MaybeUninit<Self>>, level: usize, first: NonNull<TreeNode>) -> Box<Self> {
        let separators = [const { MaybeUninit::uninit() }; CAPACITY];
        let children = core::array::from_fn(|_| AtomicPtr::new(ptr::null_mut()));
        let inner = memory.write(Inner { node: TreeNode::new(level, 1), separators, children });
        // Relaxed: the node is no one else's yet.
        inner.children[0].store(first.as_ptr(), Ordering::Relaxed);
        // SAFETY: written above.
        unsafe { memory.assume_init() }
    }

    /// Returns the inner node behind a node.
    ///
    /// # Safety
    /// The node is an inner node of this kind, and lives for as long as `'a`.
    #[inline(always)]
    pub(super) unsafe fn of<'a>(node: NonNull<TreeNode>) -> &'a Self {
        // SAFETY: the caller's promise.
        unsafe { node.cast().as_ref() }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.node.len()
    }

    pub(super) fn level(&self) -> usize {
        self.node.level()
    }

    /// Returns a child, with all that was done to it before it was published.
    #[inline(always)]
    pub(super) fn child(&self, index: usize) -> NonNull<TreeNode> {
        debug_assert!(index < self.len());
        // SAFETY: within the length, which is the capacity at most.
        let child = unsafe { self.children.get_unchecked(index) };
        // Acquire: partner of the release in `set_child`.
        let child = child.load(order!(Acquire, ordered_child_acquire));
        // SAFETY: children below the length are never null.
        unsafe { NonNull::new_unchecked(child) }
    }

    /// Publishes another child in the place of one.
    pub(super) fn set_child(&self, index: usize, child: NonNull<TreeNode>) {
        // Release: partner of the acquire in `child`: the new node is whole.
        self.children[index].store(child.as_ptr(), order!(Release, ordered_child_release));
    }

    /// Returns the separator before a child other than the first.
    pub(super) fn separator(&self, child: usize) -> TreeSlot<S::Key> {
        copy_of(&self.separators[child - 1])
    }

    /// Returns the index of the child to which `wanted` belongs.
    #[inline(always)]
    pub(super) fn find<Q: Ord + ?Sized>(&self, wanted: &Q) -> usize
    where
        K: Borrow<Q>,
    {
        // SAFETY: the length is the capacity at most.
        let slots = unsafe { self.separators.get_unchecked(..self.len() - 1) };
        // SAFETY: separators before children are packed; the entry of one lives for as long as the node
        // that names it.
        unsafe { not_greater::<K, V, S, Q>(slots, wanted) }
    }

    /// Puts all children of another node before the own ones. `separator` is the own least key.
    fn prepend(&mut self, from: &Self, separator: TreeSlot<S::Key>) {
        let (len, count) = (self.len(), from.len());
        self.separators[..len + count - 1].rotate_right(count);
        (1..count).for_each(|child| self.separators[child - 1] = from.separator(child));
        self.separators[count - 1] = separator;
        for index in (0..len).rev() {
            // Relaxed, all: the node is no one else's yet.
            let child = self.children[index].load(Ordering::Relaxed);
            self.children[index + count].store(child, Ordering::Relaxed);
        }
        (0..count).for_each(|index| self.children[index].store(from.child(index).as_ptr(), Ordering::Relaxed));
        self.node.len += count as u16;
    }

    /// Appends a child, with the separator before it.
    pub(super) fn push(&mut self, separator: TreeSlot<S::Key>, child: NonNull<TreeNode>) {
        let index = self.len();
        self.separators[index - 1] = separator;
        // Relaxed: the node is no one else's yet.
        self.children[index].store(child.as_ptr(), Ordering::Relaxed);
        self.node.len += 1;
    }
}

/// Puts what another node has into a node, before its own content. `separator` is the node's least key.
///
/// # Safety
/// Both are of this kind and of one level, and live; `node` is the caller's alone, and has room.
pub(super) unsafe fn prepend<K, V, S: Store<K, V>>(
    node: NonNull<TreeNode>,
    left: NonNull<TreeNode>,
    separator: TreeSlot<S::Key>,
) {
    // SAFETY: the caller's promise.
    if unsafe { left.as_ref() }.level() == 0 {
        // SAFETY: a leaf of this kind.
        let left = unsafe { Leaf::<K, V, S>::of(left) };
        // SAFETY: a leaf of this kind, which is the caller's alone.
        unsafe { node.cast::<Leaf<K, V, S>>().as_mut() }.prepend(left);
    } else {
        // SAFETY: an inner node of this kind.
        let left = unsafe { Inner::<K, V, S>::of(left) };
        // SAFETY: an inner node of this kind, which is the caller's alone.
        unsafe { node.cast::<Inner<K, V, S>>().as_mut() }.prepend(left, separator);
    }
}

/// Puts what another node has into a node, behind its own content. `separator` is the other's least key.
///
/// # Safety
/// As for `prepend`.
pub(super) unsafe fn append<K, V, S: Store<K, V>>(
    node: NonNull<TreeNode>,
    separator: TreeSlot<S::Key>,
    right: NonNull<TreeNode>,
) {
    // SAFETY: the caller's promise.
    if unsafe { right.as_ref() }.level() == 0 {
        // SAFETY: a leaf of this kind.
        let right = unsafe { Leaf::<K, V, S>::of(right) };
        // SAFETY: a leaf of this kind, which is the caller's alone.
        unsafe { node.cast::<Leaf<K, V, S>>().as_mut() }.append(right, 0..right.len());
    } else {
        // SAFETY: an inner node of this kind.
        let right = unsafe { Inner::<K, V, S>::of(right) };
        // SAFETY: an inner node of this kind, which is the caller's alone.
        let node = unsafe { node.cast::<Inner<K, V, S>>().as_mut() };
        node.push(separator, right.child(0));
        (1..right.len()).for_each(|index| node.push(right.separator(index), right.child(index)));
    }
}

/// Returns a node of a box, which is to be published.
pub(super) fn leak<T>(node: Box<T>) -> NonNull<TreeNode> {
    NonNull::from(Box::leak(node)).cast()
}

/// Frees the memory of one node, and nothing to which it points.
///
/// # Safety
/// The node is of this kind, came from `leak`, and is the caller's alone.
pub(super) unsafe fn free<K, V, S: Store<K, V>>(node: NonNull<TreeNode>) {
    // SAFETY: the caller's promise.
    let is_leaf = unsafe { node.as_ref() }.level() == 0;
    if is_leaf {
        // SAFETY: a leaf of this kind, from a box.
        drop(unsafe { Box::from_raw(node.cast::<Leaf<K, V, S>>().as_ptr()) });
    } else {
        // SAFETY: an inner node of this kind, from a box.
        drop(unsafe { Box::from_raw(node.cast::<Inner<K, V, S>>().as_ptr()) });
    }
}

/// Takes a tree apart: calls `each` with every pair, in order, and frees the nodes. If `each` unwinds,
/// the rest is leaked.
///
/// # Safety
/// The nodes and their entries are the caller's alone, and of this kind.
pub(super) unsafe fn take_apart<K, V, S: Store<K, V>>(
    node: NonNull<TreeNode>,
    each: &mut impl FnMut(TreeSlot<S::Key>, TreeSlot<S::Value>),
) {
    // SAFETY: the caller's promise.
    if unsafe { node.as_ref() }.level() == 0 {
        // SAFETY: a leaf of this kind, which lives until it is freed below.
        let leaf = unsafe { Leaf::<K, V, S>::of(node) };
        for index in 0..leaf.len() {
            let (key, value) = leaf.pair(index);
            each(key, value);
        }
    } else {
        // SAFETY: an inner node of this kind, which lives until it is freed below.
        let inner = unsafe { Inner::<K, V, S>::of(node) };
        for index in 0..inner.len() {
            // SAFETY: a child is the tree's alone.
            unsafe { take_apart::<K, V, S>(inner.child(index), each) };
        }
    }
    // SAFETY: the caller's promise; nothing uses the node any more.
    unsafe { free::<K, V, S>(node) };
}
