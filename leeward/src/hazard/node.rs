//! A value with its head: what cells point to.

use alloc::boxed::Box;
use core::ptr::{self, NonNull};

use crate::rcu::Head;

/// A value that can be retired without memory. The head comes first, so that its address is the
/// node's, which hazard pointers name.
#[repr(C)]
pub(super) struct HazardNode<T> {
    head: Head,
    value: T,
}

impl<T> HazardNode<T> {
    /// Puts a value into memory of its own.
    pub(super) fn alloc(value: T) -> NonNull<HazardNode<T>> {
        /// Frees a node.
        ///
        /// # Safety
        /// `head` is that of a node that `alloc::<T>` made, the caller's alone, who gives it up.
        unsafe extern "C-unwind" fn free<T>(head: NonNull<Head>) {
            // SAFETY: by the caller's promise, a box of this type made it.
            drop(unsafe { Box::from_raw(head.cast::<HazardNode<T>>().as_ptr()) });
        }
        NonNull::from(Box::leak(Box::new(HazardNode { head: Head::of(free::<T>), value })))
    }

    /// Takes the value out and frees the node.
    ///
    /// # Safety
    /// `alloc` made the node, and it is the caller's alone, who gives it up.
    pub(super) unsafe fn into_value(node: NonNull<HazardNode<T>>) -> T {
        // SAFETY: the caller's promise.
        let node = unsafe { Box::from_raw(node.as_ptr()) };
        node.value
    }

    /// Returns the node's value.
    pub(super) fn value(&self) -> &T {
        &self.value
    }

    /// Returns the node's value, mutably.
    pub(super) fn value_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// Returns the address at which the node of `value` lies, if it lies in one; null for `None`.
    /// It is for comparing only.
    pub(super) fn address_of(value: Option<&T>) -> *mut HazardNode<T> {
        let Some(value) = value else { return ptr::null_mut() };
        ptr::from_ref(value).cast_mut().wrapping_byte_sub(core::mem::offset_of!(HazardNode<T>, value)).cast()
    }
}
