//! The door for authors of data structures: objects with a head of their own.

use core::ptr::NonNull;

use super::reclaim;
use crate::rcu::Head;

/// Retires an object: `call(head)` frees it when no hazard pointer names its address. The head, two
/// words, is the object's first field, so that its address is the object's. Allocates nothing.
///
/// ```standalone_crate
/// use leeward::hazard::{self, HazardPointer};
/// use leeward::rcu::Head;
/// use std::ptr::{self, NonNull};
/// use std::sync::atomic::{AtomicPtr, Ordering::AcqRel};
/// #[repr(C)]
/// struct Node { head: Head, value: u64 }
/// /// # Safety
/// /// The head is that of a node which is the caller's alone.
/// unsafe extern "C-unwind" fn free(head: NonNull<Head>) {
///     // SAFETY: the head is a node's first field, and the node came from a box.
///     drop(unsafe { Box::from_raw(head.cast::<Node>().as_ptr()) });
/// }
/// let top = AtomicPtr::new(Box::into_raw(Box::new(Node { head: Head::new(), value: 7 })));
/// let mut hazard = HazardPointer::new();
/// // A reader.
/// let node = hazard.protect_raw(&top);
/// // SAFETY: the hazard pointer protects it.
/// assert_eq!(unsafe { (*node).value }, 7);
/// hazard.reset_protection();
/// // A writer.
/// let old = NonNull::new(top.swap(ptr::null_mut(), AcqRel)).unwrap();
/// // SAFETY: the exchange unlinked it for this thread alone; a number may be dropped anywhere.
/// unsafe { hazard::retire_raw(old.cast(), free) };
/// assert_eq!(hazard::reclaim(), 1);
/// ```
///
/// # Cost, panics
/// As [`Retired::retire`](super::Retired::retire).
///
/// # Signals
/// Not async-signal-safe: it may run destructors.
///
/// # Fork
/// What was retired and not freed before a fork is freed in the parent alone.
///
/// # Safety
/// - The object is the caller's alone to free, is not retired yet, and stays where it is until
///   `call` runs.
/// - No source from which readers protect holds its address any more, nor will again. (Sources in
///   objects that are retired themselves do not count if no reader protects from them: see
///   [`guide::hazard`](crate::guide::hazard).)
/// - `call` may run on another thread, at any later time, or never, and its promises hold then.
pub unsafe fn retire_raw(head: NonNull<Head>, call: unsafe extern "C-unwind" fn(NonNull<Head>)) {
    // SAFETY: the head is the caller's alone, who gives it up.
    unsafe { head.write(Head::of(call)) };
    // SAFETY: the caller's promise.
    unsafe { reclaim::retire(head) };
}
