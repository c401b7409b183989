//! Memory that may be refused, and the inner nodes that a change needs. They are reserved before the
//! writers' lock is taken, so a change that has begun never fails, and the lock's holder does not call the
//! allocator.

use alloc::alloc::{Layout, alloc};
use alloc::boxed::Box;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};

use super::edit::Change;
use super::node::{CAPACITY, FEW, Inner};
use super::path::Path;
use super::store::Store;
use crate::mutant::mutated;
use crate::no_unwind::abort;

/// Returns memory as that of a box, if there is any.
pub(super) fn try_uninit<T>() -> Option<Box<MaybeUninit<T>>> {
    if size_of::<T>() == 0 {
        return Some(Box::new(MaybeUninit::uninit()));
    }
    // SAFETY: the layout is not empty.
    let memory = NonNull::new(unsafe { alloc(Layout::new::<T>()) })?;
    // SAFETY: allocated as a box is; nothing need be initialized.
    Some(unsafe { Box::from_raw(memory.as_ptr().cast()) })
}

/// Makes a box; returns the value if there is no memory.
pub(super) fn try_box<T>(value: T) -> Result<Box<T>, T> {
    let Some(mut memory) = try_uninit::<T>() else { return Err(value) };
    memory.write(value);
    // SAFETY: written above.
    Ok(unsafe { memory.assume_init() })
}

/// Memory for inner nodes, `T`, that a change may use.
pub(super) struct Stock<T> {
    first: *mut Unused,
    nodes: PhantomData<T>,
}

/// The beginning of memory that is not used: the next piece.
struct Unused(*mut Unused);

impl<T> Stock<T> {
    /// Reserves memory for so many nodes; `None`: there is not so much.
    #[inline]
    pub(super) fn new(count: usize) -> Option<Self> {
        let mut stock = Stock { first: ptr::null_mut(), nodes: PhantomData };
        for _ in 0..count {
            stock.put(try_uninit()?);
        }
        Some(stock)
    }

    /// Takes memory for a node.
    pub(super) fn take(&mut self) -> Box<MaybeUninit<T>> {
        self.try_take().unwrap_or_else(|| abort!("a change of an ordered map takes more memory than it has reserved"))
    }

    fn try_take(&mut self) -> Option<Box<MaybeUninit<T>>> {
        let first = NonNull::new(self.first)?;
        // SAFETY: put in by `put`, which wrote it.
        self.first = unsafe { first.read() }.0;
        // SAFETY: the memory of a box, which `put` took over.
        Some(unsafe { Box::from_raw(first.as_ptr().cast()) })
    }

    /// Puts memory back that no node uses.
    pub(super) fn put(&mut self, memory: Box<MaybeUninit<T>>) {
        const { assert!(size_of::<T>() >= size_of::<Unused>() && align_of::<T>() >= align_of::<Unused>()) };
        let memory = Box::into_raw(memory).cast::<Unused>();
        // SAFETY: the caller's, and large enough.
        unsafe { memory.write(Unused(self.first)) };
        self.first = memory;
    }
}

impl<T> Drop for Stock<T> {
    #[inline]
    fn drop(&mut self) {
        while let Some(memory) = self.try_take() {
            drop(memory);
        }
    }
}

/// Returns how many inner nodes `Tree::commit` makes at most, if it puts the change in the place of the
/// path's leaf.
///
/// It goes the way that `commit` goes, from the leaf up. An inner node on the path is what it is now, if
/// the path is linked then. What may change is how full its children are, so what is merged is not known:
/// each node that may be merged is taken for one that is.
///
/// # Safety
/// The path's section is open, and the change's nodes are new; all is of this kind.
#[inline]
pub(super) unsafe fn inner_nodes<K, V, S: Store<K, V>>(path: &Path, change: &Change<S::Key>) -> usize {
    if change.is_simple() {
        return 0;
    }
    let mut nodes = 0;
    // How many nodes take a child's place, whether they may be merged, how full the one is then at least,
    // and whether it has another least key.
    let (mut count, mut is_smaller, mut has_least) = (change.count(), change.is_smaller, change.least.is_some());
    // SAFETY: a new node.
    let mut len = change.first.map_or(0, |first| unsafe { first.as_ref() }.len());
    for level in (0..path.depth()).rev() {
        let (node, index) = path.inner(level);
        // SAFETY: an inner node of this kind, which lives until the section ends.
        let inner = unsafe { Inner::<K, V, S>::of(node) };
        let may_merge = is_smaller && count == 1 && len < FEW;
        if count == 1 && !may_merge && (!has_least || index == 0) {
            // The node stays; what is above it changes only for a separator.
            if !has_least {
                break;
            }
            is_smaller = false;
            continue;
        }
        let total = inner.len() - 1 + count;
        let made = total.div_ceil(CAPACITY);
        nodes += made;
        // (Where the first child goes, the next one's least key is the node's.)
        has_least = index == 0 && (has_least || count == 0);
        is_smaller = may_merge || total < inner.len();
        len = total - usize::from(may_merge);
        count = made;
    }
    // A root above two.
    nodes += usize::from(count == 2);
    nodes.saturating_sub(usize::from(mutated!(ordered_reserve)))
}
