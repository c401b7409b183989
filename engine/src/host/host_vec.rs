//! A vector in a host's memory, for calls that need room whose size is known at run time only, and
//! which may be too large for a kernel's stack. Used by `linux::futex2` and `membarrier`, calls
//! [`Memory`].

use core::alloc::Layout;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

use crate::Memory;

/// A vector of fixed capacity in a host's memory; dropping it drops its elements and frees the
/// memory.
pub(crate) struct HostVec<'a, M: Memory, T> {
    memory: &'a M,
    block: NonNull<T>,
    capacity: usize,
    len: usize,
}

impl<'a, M: Memory, T> HostVec<'a, M, T> {
    /// Allocates an empty vector. Returns `None` if the capacity is 0 or there is no memory; may
    /// sleep if the host's memory does.
    pub(crate) fn with_capacity(memory: &'a M, capacity: usize) -> Option<HostVec<'a, M, T>> {
        if capacity == 0 {
            return None;
        }
        let block = memory.allocate(Self::layout(capacity)?, None)?.cast();
        Some(HostVec { memory, block, capacity, len: 0 })
    }

    /// Allocates a vector of `len` times `value`. Returns `None` as
    /// [`with_capacity`](Self::with_capacity) does.
    pub(crate) fn filled(memory: &'a M, len: usize, value: T) -> Option<HostVec<'a, M, T>>
    where
        T: Copy,
    {
        let mut vec = HostVec::with_capacity(memory, len)?;
        (0..len).for_each(|_| vec.push(value));
        Some(vec)
    }

    fn layout(capacity: usize) -> Option<Layout> {
        Layout::array::<T>(capacity).ok()
    }

    /// Appends an element. Panics if the vector is full.
    pub(crate) fn push(&mut self, element: T) {
        assert!(self.len < self.capacity, "the vector has room for as many elements as were asked for");
        // SAFETY: inside the block.
        let end = unsafe { self.block.add(self.len) };
        // SAFETY: nothing is there yet.
        unsafe { end.write(element) };
        self.len += 1;
    }
}

impl<M: Memory, T> Deref for HostVec<'_, M, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `len` elements were written, and this borrows them.
        unsafe { core::slice::from_raw_parts(self.block.as_ptr(), self.len) }
    }
}

impl<M: Memory, T> DerefMut for HostVec<'_, M, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: `len` elements were written, and this borrows them.
        unsafe { core::slice::from_raw_parts_mut(self.block.as_ptr(), self.len) }
    }
}

impl<M: Memory, T> Drop for HostVec<'_, M, T> {
    fn drop(&mut self) {
        let elements: *mut [T] = &mut **self;
        // SAFETY: each of them is dropped once.
        unsafe { elements.drop_in_place() };
        let layout = Self::layout(self.capacity).expect("it was a layout when the block was allocated");
        // SAFETY: allocated with that layout, and freed once.
        unsafe { self.memory.free(self.block.cast(), layout) };
    }
}
