//! Retired values: what a cell gave up, and readers may have protected.

use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr::NonNull;

use super::node::HazardNode;
use super::reclaim;

/// A value that a [`Cell`](super::Cell) gave up. Its owner can still look at it, as can readers
/// that have protected it. Dropping it retires it: it is freed when no hazard pointer protects it.
///
/// ```
/// use leeward::hazard::{Cell, HazardPointer, Retired};
/// let cell = Cell::new(String::from("a"));
/// let mut hazard = HazardPointer::new();
/// hazard.protect(&cell);
/// let old: Retired<String> = cell.replace(String::from("b")).unwrap();
/// assert_eq!(*old, "a");
/// let old = old.try_into_inner().unwrap_err();        // it is protected
/// hazard.reset_protection();
/// assert_eq!(old.try_into_inner().unwrap(), "a");
/// ```
#[must_use = "dropping it retires the value; say `.retire()`, or `.try_into_inner()` to have it back"]
pub struct Retired<T: Send + 'static> {
    node: NonNull<HazardNode<T>>,
    owns: PhantomData<HazardNode<T>>,
}

// SAFETY: it owns the value, which is `Send`; readers of other threads may share it meanwhile, so
// it must be `Sync` as well.
unsafe impl<T: Send + Sync> Send for Retired<T> {}
// SAFETY: a shared reference shares the value, as readers do.
unsafe impl<T: Send + Sync> Sync for Retired<T> {}

impl<T: Send> Retired<T> {
    /// Takes a node over that was unlinked.
    ///
    /// # Safety
    /// `HazardNode::alloc` made it; it is the caller's alone to free, and no reader can find it any more.
    pub(super) unsafe fn new(node: NonNull<HazardNode<T>>) -> Self {
        Retired { node, owns: PhantomData }
    }

    /// Has the value dropped when no hazard pointer protects it, by this thread or by another one
    /// that retires something later.
    ///
    /// ```
    /// use leeward::hazard::{self, Cell};
    /// let cell = Cell::new(7);
    /// cell.replace(8).unwrap().retire();
    /// hazard::reclaim(); // now; otherwise when there are more
    /// ```
    ///
    /// # Cost
    /// A compare-exchange, and no allocation. Once in 256 times (or in four times as many as
    /// there are hazard pointers, where that is more) a heavy fence, and the destructors of that many objects.
    ///
    /// # Panics
    /// If a destructor panics that this call runs; the value is retired all the same.
    pub fn retire(self) {
        drop(self);
    }

    /// Returns the value if no hazard pointer protects it. Never waits for readers.
    ///
    /// ```
    /// use leeward::hazard::{Cell, HazardPointer};
    /// let cell = Cell::new(7);
    /// let mut hazard = HazardPointer::new();
    /// let seen = hazard.protect(&cell);
    /// let old = cell.take().unwrap().try_into_inner().unwrap_err();
    /// assert_eq!((seen, *old), (Some(&7), 7));
    /// hazard.reset_protection();
    /// assert_eq!(old.try_into_inner().unwrap(), 7);
    /// ```
    ///
    /// # Cost
    /// A heavy fence, and a load for each hazard pointer.
    ///
    /// # Errors
    /// The retired value, while it is protected.
    pub fn try_into_inner(self) -> Result<T, Self> {
        if reclaim::is_protected(self.node.as_ptr().cast()) {
            return Err(self);
        }
        let this = ManuallyDrop::new(self);
        // SAFETY: ours alone (`new`), unlinked before the heavy fence, and no slot named it after
        // that: no reader has it or can get it.
        Ok(unsafe { HazardNode::into_value(this.node) })
    }
}

impl<T: Send> Deref for Retired<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: alive until `self` is given up.
        unsafe { self.node.as_ref() }.value()
    }
}

impl<T: Send> Drop for Retired<T> {
    fn drop(&mut self) {
        // SAFETY: ours alone to free and unlinked (`new`); the value is `Send + 'static`. A node
        // begins with its head.
        unsafe { reclaim::retire(self.node.cast()) };
    }
}

impl<T: Send + fmt::Debug> fmt::Debug for Retired<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Retired").field(&**self).finish()
    }
}
