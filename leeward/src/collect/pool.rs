//! Memory for nodes of one type: each writer keeps a few that were freed for the next that it
//! makes, so that a container whose nodes come and go seldom calls the allocator.

use alloc::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use core::marker::PhantomData;
use core::ptr::{self, NonNull};

use crate::writer::{Fresh, Own, PerWriter, with_index};

/// The number of bytes of free nodes that a writer keeps: as many as come back at a time.
const KEPT: usize = 1 << 16;

/// The memory of free nodes of type `T`, which has a size.
pub(super) struct Pool<T> {
    free: PerWriter<Own<Free>>,
    nodes: PhantomData<*const T>,
}

// SAFETY: free memory is nobody's.
unsafe impl<T> Send for Pool<T> {}
// SAFETY: each writer changes its own list.
unsafe impl<T> Sync for Pool<T> {}

/// A list of free nodes, each of which has the address of the next one in its first word.
struct Free {
    first: *mut Link,
    length: usize,
}

// SAFETY: free memory is nobody's.
unsafe impl Send for Free {}

/// The first word of a free node.
struct Link(*mut Link);

impl Fresh for Free {
    fn fresh() -> Free {
        Free { first: ptr::null_mut(), length: 0 }
    }
}

impl Free {
    fn pop(&mut self) -> Option<NonNull<Link>> {
        let first = NonNull::new(self.first)?;
        // SAFETY: in the list, so free memory with a link in it.
        self.first = unsafe { first.as_ref() }.0;
        self.length -= 1;
        Some(first)
    }

    /// Returns false if the list has `most` nodes.
    fn push(&mut self, node: NonNull<Link>, most: usize) -> bool {
        if self.length == most {
            return false;
        }
        // SAFETY: free memory, of the size of a link at least.
        unsafe { node.write(Link(self.first)) };
        self.first = node.as_ptr();
        self.length += 1;
        true
    }
}

impl<T> Pool<T> {
    const LAYOUT: Layout = {
        assert!(size_of::<T>() >= size_of::<Link>() && align_of::<T>() >= align_of::<Link>());
        Layout::new::<T>()
    };

    /// The number of free nodes that a writer keeps.
    const MOST: usize = KEPT / size_of::<T>();

    pub(super) const fn new() -> Self {
        Pool { free: PerWriter::new(), nodes: PhantomData }
    }

    /// Returns memory for a node.
    #[inline]
    pub(super) fn allocate(&self) -> NonNull<T> {
        // SAFETY: the place of this index.
        let kept = with_index(|index| unsafe { self.free.get(index).change(Free::pop) });
        kept.map_or_else(Self::allocate_new, NonNull::cast)
    }

    #[cold]
    #[inline(never)]
    fn allocate_new() -> NonNull<T> {
        // SAFETY: the layout is not empty.
        let memory = unsafe { alloc(Self::LAYOUT) };
        NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(Self::LAYOUT)).cast()
    }

    /// Takes back the memory of a node that has no value any more.
    ///
    /// # Safety
    /// It is from `allocate`, of any pool of this type.
    #[inline]
    pub(super) unsafe fn release(&self, node: NonNull<T>) {
        // SAFETY: the place of this index.
        let is_kept =
            with_index(|index| unsafe { self.free.get(index).change(|free| free.push(node.cast(), Self::MOST)) });
        if !is_kept {
            // SAFETY: the caller's promise.
            unsafe { Self::free(node) };
        }
    }

    /// Gives the memory of a node back to the allocator.
    ///
    /// # Safety
    /// As for `release`.
    pub(super) unsafe fn free(node: NonNull<T>) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(node.as_ptr().cast(), Self::LAYOUT) };
    }
}

impl<T> Drop for Pool<T> {
    fn drop(&mut self) {
        for free in self.free.iter_mut() {
            while let Some(node) = free.get_mut().pop() {
                // SAFETY: from `allocate`.
                unsafe { Self::free(node.cast()) };
            }
        }
    }
}
