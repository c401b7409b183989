//! Hazard pointers: a slot that its owner keeps, and what readers do with it.

use core::fmt;

use super::cell::Cell;
use super::node::HazardNode;
use super::slot::HazardSlot;
use super::state::state;
use crate::atomic::{AtomicPtr, Ordering};
use crate::mutant::step;

/// The error of [`HazardPointer::try_new`]: there is no memory for one more slot.
///
/// ```
/// use leeward::hazard::{HazardPointer, NoMemory};
/// fn start() -> Result<HazardPointer, NoMemory> {
///     HazardPointer::try_new()
/// }
/// assert!(start().is_ok()); // the first 16 hazard pointers of a process need no memory
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoMemory;

impl fmt::Display for NoMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no memory for one more hazard pointer")
    }
}

impl core::error::Error for NoMemory {}

/// A hazard pointer: it protects one object at a time from being freed.
///
/// It is made once and used for many objects, one after the other. It may be sent to other threads,
/// held while its owner sleeps, and kept across `.await`.
///
/// ```
/// use leeward::hazard::{Cell, HazardPointer};
/// static NAME: Cell<String> = Cell::empty();
/// NAME.store(String::from("a"));
/// let mut hazard = HazardPointer::new();
/// let name = hazard.protect(&NAME).unwrap();
/// NAME.store(String::from("b"));
/// assert_eq!(name, "a"); // still there
/// assert_eq!(hazard.protect(&NAME).unwrap(), "b");
/// ```
///
/// # Cost
/// Making one and dropping it are a compare-exchange and a store. Its 128 bytes come from the
/// kernel and are used again, never given back; the first 16 of a process need none.
///
/// # Leaks, fork, signals
/// One that is forgotten protects its object forever. In the child of a fork, those of all threads
/// go on protecting. A signal handler may use one that no other code uses at that time; making one
/// is async-signal-safe where it needs no memory.
///
/// # Differences from C++26's `hazard_pointer`
/// - There is no empty one: it has a slot from its making to its drop.
/// - `protect` borrows it, so that the object cannot be used after `reset_protection`.
#[must_use = "a hazard pointer protects only while it lives"]
pub struct HazardPointer {
    slot: &'static HazardSlot,
}

impl HazardPointer {
    /// Makes a hazard pointer that protects nothing.
    ///
    /// ```
    /// use leeward::hazard::{Cell, HazardPointer};
    /// let cell = Cell::new(7);
    /// let mut hazard = HazardPointer::new();
    /// assert_eq!(hazard.protect(&cell), Some(&7));
    /// ```
    ///
    /// # Panics
    /// If there is no memory for it; [`try_new`](Self::try_new) returns the error instead.
    #[track_caller]
    pub fn new() -> HazardPointer {
        match HazardPointer::try_new() {
            Ok(hazard) => hazard,
            Err(error) => panic!("leeward: {error}"),
        }
    }

    /// Makes a hazard pointer that protects nothing, if there is memory for it. [`NoMemory`] has an
    /// example.
    ///
    /// ```
    /// use leeward::hazard::{Cell, HazardPointer};
    /// let cell = Cell::new(7);
    /// let mut hazard = HazardPointer::try_new().expect("no memory for another slot");
    /// assert_eq!(hazard.protect(&cell), Some(&7));
    /// ```
    ///
    /// # Errors
    /// [`NoMemory`].
    pub fn try_new() -> Result<HazardPointer, NoMemory> {
        match state().slots.claim(1, 0) {
            Ok(slot) => Ok(HazardPointer { slot }),
            Err(_) => Err(NoMemory),
        }
    }

    /// Protects the cell's current value and returns it; `None` if the cell is empty.
    ///
    /// The value stays alive, whatever becomes of it in the cell, while the reference is used. What
    /// was protected before is not any more.
    ///
    /// ```
    /// use leeward::hazard::{Cell, HazardPointer};
    /// // A list of two, of which each node has a hazard pointer while it is used.
    /// struct Node(u32, Cell<Node>);
    /// let list = Cell::new(Node(1, Cell::new(Node(2, Cell::empty()))));
    /// let (mut one, mut two) = (HazardPointer::new(), HazardPointer::new());
    /// let first = one.protect(&list).unwrap();
    /// let second = two.protect(&first.1).unwrap();
    /// first.1.store(Node(3, Cell::empty()));
    /// assert_eq!((first.0, second.0), (1, 2));
    /// ```
    ///
    /// # Memory ordering
    /// What happened before the value was stored is visible to the caller (acquire).
    ///
    /// # Cost
    /// Two loads and a store; again for each change of the cell that comes between the two loads.
    /// Lock-free, and async-signal-safe.
    #[inline]
    pub fn protect<'r, T>(&'r mut self, cell: &'r Cell<T>) -> Option<&'r T> {
        let node = self.protect_raw(cell.pointer());
        // SAFETY: null, or the node of the cell that this slot names since before the cell still
        // held it. It is not freed while the slot names it, which is as long as `self` is borrowed;
        // and the cell, whose drop frees without asking, is borrowed as long.
        unsafe { node.as_ref() }.map(HazardNode::value)
    }

    /// Protects the cell's current value as [`protect`](Self::protect) does, but tries only once.
    ///
    /// ```
    /// use leeward::hazard::{Cell, HazardPointer};
    /// let cell = Cell::new(1);
    /// let mut hazard = HazardPointer::new();
    /// if let Ok(value) = hazard.try_protect(&cell) {
    ///     assert_eq!(value, Some(&1));
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Changed`], if the cell was changed meanwhile; nothing is protected then.
    #[inline]
    pub fn try_protect<'r, T>(&'r mut self, cell: &'r Cell<T>) -> Result<Option<&'r T>, Changed> {
        // Relaxed: the load of `try_protect_raw` counts.
        let seen = cell.pointer().load(Ordering::Relaxed);
        match self.try_protect_raw(seen, cell.pointer()) {
            // SAFETY: as in `protect`.
            Ok(node) => Ok(unsafe { node.as_ref() }.map(HazardNode::value)),
            Err(_) => Err(Changed),
        }
    }

    /// Protects nothing from now on.
    ///
    /// ```
    /// use leeward::hazard::{Cell, HazardPointer};
    /// let cell = Cell::new(7);
    /// let mut hazard = HazardPointer::new();
    /// hazard.protect(&cell);
    /// let old = cell.take().unwrap().try_into_inner().unwrap_err();
    /// hazard.reset_protection();
    /// assert_eq!(old.try_into_inner().unwrap(), 7);
    /// ```
    ///
    /// # Memory ordering
    /// What the caller did with the object happens before its end (release).
    ///
    /// # Cost
    /// A store. Async-signal-safe.
    #[inline]
    pub fn reset_protection(&mut self) {
        self.slot.reset();
    }

    /// Loads a pointer from `source` and protects the object that it points to.
    ///
    /// Until this hazard pointer is used otherwise or dropped, an object that
    /// [`retire_raw`](super::retire_raw) is told of, by the address that was loaded, is not freed;
    /// if it was taken out of `source` before it was retired, and never put back. Using the pointer
    /// is the caller's `unsafe`: that `source` itself is alive, and is a part of the structure
    /// still, is for the caller to know.
    ///
    /// ```
    /// use leeward::hazard::HazardPointer;
    /// use std::sync::atomic::AtomicPtr;
    /// let mut number = 7;
    /// let source = AtomicPtr::new(&raw mut number);
    /// let mut hazard = HazardPointer::new();
    /// assert_eq!(hazard.protect_raw(&source), &raw mut number);
    /// ```
    ///
    /// # Memory ordering, cost
    /// As [`protect`](Self::protect).
    #[inline]
    pub fn protect_raw<T>(&mut self, source: &AtomicPtr<T>) -> *mut T {
        // Relaxed: the load of `HazardSlot::protect` counts.
        let mut seen = source.load(Ordering::Relaxed);
        loop {
            match self.slot.protect(seen, source) {
                Ok(protected) => return protected,
                Err(now) => seen = now,
            }
        }
    }

    /// Protects the object at `seen` as [`protect_raw`](Self::protect_raw) does, if `source` still
    /// holds that pointer, and returns it.
    ///
    /// The pointer that is returned is the one to use: `seen` may be that of an object which was
    /// freed, and at whose address another one was published meanwhile.
    ///
    /// ```
    /// use leeward::hazard::HazardPointer;
    /// use std::sync::atomic::AtomicPtr;
    /// let mut number = 7;
    /// let source = AtomicPtr::new(&raw mut number);
    /// let mut hazard = HazardPointer::new();
    /// let now = hazard.try_protect_raw(std::ptr::null_mut(), &source).unwrap_err();
    /// assert_eq!(hazard.try_protect_raw(now, &source), Ok(&raw mut number));
    /// ```
    ///
    /// # Errors
    /// The pointer that `source` holds now; nothing is protected then.
    #[inline]
    pub fn try_protect_raw<T>(&mut self, seen: *mut T, source: &AtomicPtr<T>) -> Result<*mut T, *mut T> {
        let protected = self.slot.protect(seen, source);
        if protected.is_err() {
            self.slot.reset();
        }
        protected
    }
}

/// Makes a hazard pointer as [`HazardPointer::new`] does.
impl Default for HazardPointer {
    fn default() -> HazardPointer {
        HazardPointer::new()
    }
}

impl Drop for HazardPointer {
    fn drop(&mut self) {
        step!(hazard_drop_resets, self.slot.reset());
        state().slots.release(self.slot);
    }
}

impl fmt::Debug for HazardPointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HazardPointer").finish_non_exhaustive()
    }
}

/// The error of [`HazardPointer::try_protect`]: the cell was changed meanwhile.
///
/// ```
/// assert_eq!(leeward::hazard::Changed.to_string(), "the cell was changed meanwhile");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Changed;

impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the cell was changed meanwhile")
    }
}

impl core::error::Error for Changed {}
