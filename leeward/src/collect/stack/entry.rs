//! A node of the stack with its value, in an allocation of its own.

use alloc::alloc::{alloc, dealloc};
use core::alloc::Layout;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

use crate::atomic::IS_MODEL;
use crate::collect::raw::Node;

/// A node with its value. The node comes first, so that its address is the entry's.
#[repr(C)]
pub(super) struct StackEntry<T> {
    node: Node,
    value: MaybeUninit<T>,
}

impl<T> StackEntry<T> {
    /// Returns the node of a new entry; gives the value back if there is no memory.
    #[inline]
    pub(super) fn allocate(value: T) -> Result<NonNull<Node>, T> {
        // SAFETY: the layout is not empty: it has the node.
        let entry = unsafe { alloc(Layout::new::<StackEntry<T>>()) }.cast::<StackEntry<T>>();
        let Some(entry) = NonNull::new(entry) else { return Err(value) };
        // SAFETY: new memory with room for it.
        unsafe { entry.write(StackEntry { node: Node::new(), value: MaybeUninit::new(value) }) };
        Ok(entry.cast())
    }

    /// Takes the value out of an entry.
    ///
    /// # Safety
    /// The node is an entry's, which is the caller's, and its value was not taken.
    #[inline]
    pub(super) unsafe fn take(node: NonNull<Node>) -> T {
        // SAFETY: the caller's promise. (No reference to the node, which another thread may read.)
        let value = unsafe { &raw const (*node.cast::<StackEntry<T>>().as_ptr()).value };
        // SAFETY: the caller's promise.
        unsafe { value.cast::<T>().read() }
    }

    /// Frees an entry, and no value. (In a model the memory stays and the link goes: a thread that
    /// follows it waits for ever.)
    ///
    /// # Safety
    /// The node is an entry's, which is the caller's alone.
    #[inline]
    pub(super) unsafe fn free(node: NonNull<Node>) {
        if IS_MODEL {
            // SAFETY: the caller's promise.
            unsafe { node.as_ref() }.forget_next();
            return;
        }
        // SAFETY: allocated with this layout; the caller's promise.
        unsafe { dealloc(node.as_ptr().cast(), Layout::new::<StackEntry<T>>()) };
    }
}
