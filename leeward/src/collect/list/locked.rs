//! A list that a thread has locked, and what its writer does at the ends. Made by `write.rs`; calls
//! `links.rs`, and the limbo when the lock is given up.

use core::fmt;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};

use super::iter::Iter;
use super::list::List;
use super::lock::LockWas;
use super::node::{ListNode, NodeChain};
use crate::marker::GuardNoSend;
use crate::mutant::step;
use crate::rcu::{Domain, Global};

/// A [`List`] that the calling thread has locked for writing, until it drops this. Readers go on.
///
/// Made by [`List::lock`]. Several changes under one lock are cheaper than one each, and no other
/// writer comes between; readers see each of them at its own moment.
///
/// ```
/// use leeward::{collect::List, rcu};
/// let list = List::from([1, 2, 3, 4]);
/// let mut locked = list.lock();
/// locked.retain(|number| number % 2 == 0);
/// locked.push_front(0);
/// assert!(locked.iter().eq(&[0, 2, 4]) && list.try_lock().is_none());
/// drop(locked);
/// assert_eq!(list.first(&rcu::read()), Some(&0));
/// ```
///
/// What is removed is freed after the lock was given up: no destructor runs under it. One that is
/// forgotten (`mem::forget`) leaves the list locked for ever.
#[must_use = "the list is unlocked when this is dropped"]
pub struct Locked<'l, T, D: Domain = Global> {
    list: &'l List<T, D>,
    /// The lock knows the thread.
    thread: PhantomData<GuardNoSend>,
}

// SAFETY: a shared one lets other threads look at the values.
unsafe impl<T: Send + Sync, D: Domain> Sync for Locked<'_, T, D> {}

impl<'l, T, D: Domain> Locked<'l, T, D> {
    /// # Safety
    /// The calling thread has taken the list's lock, and gives it up by dropping this.
    #[inline]
    pub(super) unsafe fn new(list: &'l List<T, D>, taken: LockWas) -> Self {
        if taken == LockWas::Abandoned {
            // SAFETY: the lock is this thread's.
            step!(list_repair, unsafe { list.links.repair() });
        }
        Locked { list, thread: PhantomData }
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.list.links.len()
    }

    /// Returns true if the list has no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the values in order, without a guard: the lock keeps them in the list.
    pub fn iter(&self) -> Iter<'_, T> {
        // SAFETY: only this thread unlinks nodes, by what `self` is borrowed for.
        unsafe { Iter::new(&self.list.links.first) }
    }

    /// Returns the first value.
    pub fn front(&self) -> Option<&T> {
        // SAFETY: the lock is this thread's.
        let first = unsafe { self.list.links.after(ptr::null_mut()) };
        // SAFETY: the list's, as long as `self` is borrowed.
        unsafe { self.value(first) }
    }

    /// Returns the last value.
    pub fn back(&self) -> Option<&T> {
        // SAFETY: the lock is this thread's.
        let last = unsafe { self.list.links.before(ptr::null_mut()) };
        // SAFETY: the list's, as long as `self` is borrowed.
        unsafe { self.value(last) }
    }

    /// Returns the value of a node, or `None` for null.
    ///
    /// # Safety
    /// The node is the list's.
    pub(super) unsafe fn value(&self, node: *mut ListNode<T>) -> Option<&T> {
        // SAFETY: the caller's promise; the lock keeps it.
        unsafe { node.as_ref() }.map(|node| &node.value)
    }

    /// Adds a value at the front.
    pub fn push_front(&mut self, value: T) {
        self.link_front(NodeChain::one(value));
    }

    /// Adds a value at the end.
    pub fn push_back(&mut self, value: T) {
        self.link_back(NodeChain::one(value));
    }

    /// Takes all values out, at one moment.
    pub fn clear(&mut self) {
        // SAFETY: the lock is this thread's.
        unsafe { self.list.links.discard_all() };
    }

    /// Moves the values of another list to the end of this one: readers find all of them from one
    /// moment on.
    ///
    /// # Cost
    /// A few stores, however long the other list is. What was removed from that and not freed yet is
    /// freed now; so destructors may run.
    pub fn append<E: Domain>(&mut self, mut other: List<T, E>) {
        if let Some(chain) = other.take_chain() {
            self.link_back(chain);
        }
    }

    pub(super) fn list(&self) -> &'l List<T, D> {
        self.list
    }

    /// Puts a chain to the front.
    pub(super) fn link_front(&mut self, chain: NodeChain<T>) {
        // SAFETY: the lock is this thread's.
        let first = unsafe { self.list.links.after(ptr::null_mut()) };
        // SAFETY: as above, and the first node, or null.
        unsafe { self.list.links.link(ptr::null_mut(), chain, first) };
    }

    /// Puts a chain to the end.
    pub(super) fn link_back(&mut self, chain: NodeChain<T>) {
        // SAFETY: the lock is this thread's.
        let last = unsafe { self.list.links.before(ptr::null_mut()) };
        // SAFETY: as above, and the last node, or null.
        unsafe { self.list.links.link(last, chain, ptr::null_mut()) };
    }
}

impl<T, D: Domain> Drop for Locked<'_, T, D> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the lock is this thread's.
        let waste = unsafe { self.list.links.take_waste() };
        self.list.lock.unlock();
        if !waste.is_null() {
            retire_all(self.list, waste);
        }
    }
}

/// Retires nodes that were kept under the lock: `waste` and those behind it, by `previous`.
#[cold]
#[inline(never)]
fn retire_all<T, D: Domain>(list: &List<T, D>, mut waste: *mut ListNode<T>) {
    while let Some(node) = NonNull::new(waste) {
        // SAFETY: a node that is not retired yet.
        waste = unsafe { node.as_ref() }.previous.get();
        // SAFETY: taken out of the list before it was kept; this comes once for each.
        unsafe { list.retire(node) };
    }
}

impl<T, D: Domain> Extend<T> for Locked<'_, T, D> {
    /// Adds values at the end, one after the other.
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        values.into_iter().for_each(|value| self.push_back(value));
    }
}

impl<T: fmt::Debug, D: Domain> fmt::Debug for Locked<'_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
