//! Cells: a value, or none, that threads protect and replace, without `unsafe` of their users.

use core::fmt;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};

use super::node::HazardNode;
use super::retired::Retired;
use crate::atomic::{AtomicPtr, Ordering, const_fn};

/// A place for a value that readers protect by [hazard pointers](super::HazardPointer), and writers
/// replace without waiting for them. It may be empty.
///
/// ```
/// use leeward::hazard::{Cell, HazardPointer};
/// static LIMITS: Cell<Vec<u32>> = Cell::empty();
/// LIMITS.store(vec![1, 2, 3]);
///
/// // A reader, on any thread. It may take its time: it holds up nobody, and keeps one vector.
/// let mut hazard = HazardPointer::new();
/// let limits = hazard.protect(&LIMITS).unwrap();
/// LIMITS.store(vec![4]); // the old vector is retired, and kept
/// assert_eq!(*limits, [1, 2, 3]);
/// hazard.reset_protection();
/// ```
///
/// A value may have cells of its own, as the nodes of a list. A reference from such a cell borrows
/// the value in which it lies, so that this stays protected too.
///
/// The value lies in memory of its own, with two words by which it is retired. In the child of a
/// fork a cell is as it was. No call waits.
pub struct Cell<T> {
    /// The node of the value; null: empty.
    node: AtomicPtr<HazardNode<T>>,
    owns: PhantomData<HazardNode<T>>,
}

// SAFETY: a cell owns its value, which comes out on another thread (`T: Send`), where others may
// have it protected (`T: Sync`).
unsafe impl<T: Send + Sync> Send for Cell<T> {}
// SAFETY: a shared cell gives out shared references (`T: Sync`) and whole values (`T: Send`).
unsafe impl<T: Send + Sync> Sync for Cell<T> {}

impl<T> Cell<T> {
    /// Makes a cell with a value. One allocation.
    ///
    /// ```
    /// use leeward::hazard::Cell;
    /// assert_eq!(Cell::new(7).into_inner(), Some(7));
    /// ```
    pub fn new(value: T) -> Cell<T> {
        Cell { node: AtomicPtr::new(HazardNode::alloc(value).as_ptr()), owns: PhantomData }
    }

    const_fn! {
        /// Makes a cell without a value, also in a static.
        ///
        /// ```
        /// use leeward::hazard::Cell;
        /// static LATEST: Cell<String> = Cell::empty();
        /// assert!(LATEST.is_empty());
        /// ```
        pub fn empty() -> Cell<T> {
            Cell { node: AtomicPtr::new(ptr::null_mut()), owns: PhantomData }
        }
    }

    /// Returns the pointer that readers protect from.
    #[inline(always)]
    pub(super) fn pointer(&self) -> &AtomicPtr<HazardNode<T>> {
        &self.node
    }

    /// Returns true if the cell has no value at this moment. One load; async-signal-safe.
    ///
    /// ```
    /// use leeward::hazard::Cell;
    /// let cell = Cell::new(7);
    /// assert!(!cell.is_empty());
    /// drop(cell.take());
    /// assert!(cell.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        // Relaxed: nothing is done with the value.
        self.node.load(Ordering::Relaxed).is_null()
    }

    /// Returns the value, mutably: the caller is the cell's only user.
    ///
    /// ```
    /// use leeward::hazard::Cell;
    /// let mut cell = Cell::new(7);
    /// *cell.get_mut().unwrap() += 1;
    /// assert_eq!(cell.into_inner(), Some(8));
    /// ```
    pub fn get_mut(&mut self) -> Option<&mut T> {
        // Relaxed: `&mut self`.
        let node = self.node.load(Ordering::Relaxed);
        // SAFETY: null, or a node of this cell, alive and, since every reference to it borrows the
        // cell, nobody else's.
        unsafe { node.as_mut() }.map(HazardNode::value_mut)
    }

    /// Returns the value and ends the cell. No reader can have it: references borrow the cell.
    ///
    /// ```
    /// use leeward::hazard::Cell;
    /// assert_eq!(Cell::new(7).into_inner(), Some(7));
    /// assert_eq!(Cell::<u8>::empty().into_inner(), None);
    /// ```
    pub fn into_inner(mut self) -> Option<T> {
        self.unlink()
    }

    /// Takes the value out. The caller is the cell's only user.
    fn unlink(&mut self) -> Option<T> {
        // Relaxed, both: `&mut self`.
        let node = NonNull::new(self.node.load(Ordering::Relaxed))?;
        self.node.store(ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: the cell's alone, as in `get_mut`.
        Some(unsafe { HazardNode::into_value(node) })
    }
}

impl<T: Send + 'static> Cell<T> {
    /// Publishes `value`, and returns the old one.
    ///
    /// ```
    /// use leeward::hazard::Cell;
    /// let cell = Cell::new(7);
    /// let old = cell.replace(8).unwrap();
    /// assert_eq!(*old, 7);
    /// old.retire();
    /// ```
    ///
    /// # Memory ordering
    /// What the caller did before is visible to who protects the value (release), and what the
    /// old value's writer did is visible to the caller (acquire).
    ///
    /// # Cost
    /// An allocation and an atomic exchange. Lock-free, but for the allocator.
    pub fn replace(&self, value: T) -> Option<Retired<T>> {
        self.swap(HazardNode::alloc(value).as_ptr())
    }

    /// Publishes `value`, and [retires](Retired::retire) the old one.
    ///
    /// ```
    /// use leeward::hazard::{Cell, HazardPointer};
    /// static LATEST: Cell<u32> = Cell::empty();
    /// LATEST.store(7);
    /// assert_eq!(HazardPointer::new().protect(&LATEST), Some(&7));
    /// ```
    ///
    /// # Memory ordering, cost, panics
    /// As [`replace`](Self::replace) and [`Retired::retire`].
    pub fn store(&self, value: T) {
        drop(self.replace(value));
    }

    /// Empties the cell, and returns what was in it.
    ///
    /// ```
    /// use leeward::hazard::Cell;
    /// let cell = Cell::new(7);
    /// assert_eq!(*cell.take().unwrap(), 7);
    /// assert!(cell.take().is_none());
    /// ```
    ///
    /// # Memory ordering
    /// As [`replace`](Self::replace).
    pub fn take(&self) -> Option<Retired<T>> {
        self.swap(ptr::null_mut())
    }

    /// Publishes a node or null, and returns the old value.
    fn swap(&self, new: *mut HazardNode<T>) -> Option<Retired<T>> {
        // Release: the node is whole for who loads it; partner: the acquire in `HazardSlot::protect`.
        // Acquire: the old node is whole for us.
        let old = self.node.swap(new, Ordering::AcqRel);
        // SAFETY: a node of this cell, which the exchange unlinked for us alone.
        NonNull::new(old).map(|old| unsafe { Retired::new(old) })
    }

    /// Publishes `new` if `current` is the cell's value still, or if that is `None` and the cell is
    /// empty; returns the old value. Values are told apart by their address.
    ///
    /// `current` comes from [`protect`](super::HazardPointer::protect), or is a [`Retired`] value: its
    /// address is not used again meanwhile, so there is no ABA.
    ///
    /// ```
    /// use leeward::hazard::{Cell, HazardPointer};
    /// let cell = Cell::new(1);
    /// let mut hazard = HazardPointer::new();
    /// let one = hazard.protect(&cell);
    /// assert_eq!(*cell.compare_exchange(one, Some(2)).unwrap().unwrap(), 1);
    /// assert_eq!(cell.compare_exchange(None, Some(3)).unwrap_err(), Some(3));
    /// ```
    ///
    /// # Memory ordering
    /// As [`replace`](Self::replace); on failure none.
    ///
    /// # Errors
    /// `new`, if the cell holds something else.
    pub fn compare_exchange(&self, current: Option<&T>, new: Option<T>) -> Result<Option<Retired<T>>, Option<T>> {
        let node = new.map_or(ptr::null_mut(), |new| HazardNode::alloc(new).as_ptr());
        // AcqRel: as in `swap`. Relaxed on failure: what is found is not looked at.
        match self.node.compare_exchange(HazardNode::address_of(current), node, Ordering::AcqRel, Ordering::Relaxed) {
            // SAFETY: a node of this cell, which the exchange unlinked for us alone.
            Ok(old) => Ok(NonNull::new(old).map(|old| unsafe { Retired::new(old) })),
            // SAFETY: made above, and not published.
            Err(_) => Err(NonNull::new(node).map(|node| unsafe { HazardNode::into_value(node) })),
        }
    }
}

impl<T> Drop for Cell<T> {
    fn drop(&mut self) {
        drop(self.unlink());
    }
}

/// Makes an empty cell.
impl<T> Default for Cell<T> {
    fn default() -> Cell<T> {
        Cell::empty()
    }
}

impl<T> From<T> for Cell<T> {
    fn from(value: T) -> Cell<T> {
        Cell::new(value)
    }
}

/// Says whether the cell is empty: to show the value takes a hazard pointer.
impl<T> fmt::Debug for Cell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell").field("is_empty", &self.is_empty()).finish_non_exhaustive()
    }
}
