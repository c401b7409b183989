//! A node of a list, and chains of nodes that no list has yet.

use alloc::alloc::{Layout, alloc, handle_alloc_error};
use alloc::boxed::Box;
use core::cell::Cell;
use core::marker::PhantomData;
use core::mem;
use core::ptr::{self, NonNull};

use crate::atomic::{AtomicPtr, Ordering};
use crate::collect::backend::panics;

/// A value and its links. Allocated as a `Box` is.
pub(super) struct ListNode<T> {
    /// The node after this one; null: none. All that readers look at beside the value. It stays as
    /// it is when the node is removed.
    pub(super) next: AtomicPtr<ListNode<T>>,
    /// The node before this one; null: none. The writers' own, under the lock: no reader looks at it.
    /// Of a node that is about to be retired, the one that is to be retired after it.
    pub(super) previous: Cell<*mut ListNode<T>>,
    pub(super) value: T,
}

impl<T> ListNode<T> {
    /// Allocates a node; returns the value if there is no memory.
    pub(super) fn try_new(value: T) -> Result<NonNull<ListNode<T>>, T> {
        // SAFETY: the layout has a size: that of two pointers at least.
        let memory = unsafe { alloc(Layout::new::<ListNode<T>>()) };
        let Some(node) = NonNull::new(memory.cast::<ListNode<T>>()) else { return Err(value) };
        let links = (AtomicPtr::new(ptr::null_mut()), Cell::new(ptr::null_mut()));
        // SAFETY: allocated above, for a node.
        unsafe { node.write(ListNode { next: links.0, previous: links.1, value }) };
        Ok(node)
    }

    /// Takes the value out of a node, and frees it.
    ///
    /// # Safety
    /// It is from `try_new`, the caller's alone, and not used again.
    pub(super) unsafe fn into_value(node: NonNull<ListNode<T>>) -> T {
        // SAFETY: the caller's promise; allocated as a box is.
        let node = unsafe { Box::from_raw(node.as_ptr()) };
        node.value
    }

    /// Frees a node and its value.
    ///
    /// # Safety
    /// As for `into_value`.
    pub(super) unsafe fn free(node: NonNull<ListNode<T>>) {
        // SAFETY: the caller's promise; allocated as a box is.
        drop(unsafe { Box::from_raw(node.as_ptr()) });
    }
}

/// One node or several, linked both ways, which no list has.
pub(super) struct NodeChain<T> {
    pub(super) first: NonNull<ListNode<T>>,
    pub(super) last: NonNull<ListNode<T>>,
    pub(super) len: usize,
    owns: PhantomData<T>,
}

impl<T> NodeChain<T> {
    /// Makes a chain of one value.
    #[inline]
    pub(super) fn one(value: T) -> NodeChain<T> {
        Self::try_one(value).unwrap_or_else(|_| handle_alloc_error(Layout::new::<ListNode<T>>()))
    }

    /// Makes a chain of one value; returns the value if there is no memory.
    #[inline]
    pub(super) fn try_one(value: T) -> Result<NodeChain<T>, T> {
        let node = ListNode::try_new(value)?;
        // SAFETY: a chain of one node, which is new.
        Ok(unsafe { NodeChain::new(node, node, 1) })
    }

    /// Makes a chain of all that an iterator yields; `None`: it yields nothing.
    pub(super) fn collect(values: impl IntoIterator<Item = T>) -> Option<NodeChain<T>> {
        let mut values = values.into_iter();
        let mut chain = NodeChain::one(values.next()?);
        values.for_each(|value| chain.push(value));
        Some(chain)
    }

    /// # Safety
    /// `len` nodes from `first` to `last`, linked both ways, are the caller's alone, and the chain's
    /// from now on. The last one's `next` is null.
    pub(super) unsafe fn new(first: NonNull<ListNode<T>>, last: NonNull<ListNode<T>>, len: usize) -> NodeChain<T> {
        NodeChain { first, last, len, owns: PhantomData }
    }

    fn push(&mut self, value: T) {
        let new = NodeChain::one(value).leak();
        // SAFETY: the chain's own.
        let last = unsafe { self.last.as_ref() };
        // Relaxed: no other thread has the chain.
        last.next.store(new.as_ptr(), Ordering::Relaxed);
        // SAFETY: made above.
        unsafe { new.as_ref() }.previous.set(self.last.as_ptr());
        self.last = new;
        self.len += 1;
    }

    /// Gives the nodes up to the caller, and returns the first.
    pub(super) fn leak(self) -> NonNull<ListNode<T>> {
        let first = self.first;
        mem::forget(self);
        first
    }
}

impl<T> Drop for NodeChain<T> {
    /// Drops the values. One whose destructor panics keeps none of the others.
    fn drop(&mut self) {
        let mut node = self.first.as_ptr();
        while let Some(this) = NonNull::new(node) {
            // SAFETY: the chain's own. Relaxed: no other thread has it.
            node = unsafe { this.as_ref() }.next.load(Ordering::Relaxed);
            // SAFETY: as above, and given up.
            panics(|| unsafe { ListNode::free(this) });
        }
    }
}
