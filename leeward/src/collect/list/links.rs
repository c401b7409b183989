//! The links of a list, and what a writer does to them under the lock. No user code runs here.
//!
//! At every instruction, the nodes that `next` leads to from `first` are the list's, in order: a
//! change is one store to one `next`. Readers need no more, nor does the child of a fork, which
//! mends all the rest by a walk.

use core::cell::Cell;
use core::mem;
use core::ptr::{self, NonNull};

use super::node::{ListNode, NodeChain};
use crate::atomic::{AtomicPtr, AtomicUsize, Ordering, const_fn};
use crate::mutant::order;

/// The links of a list.
pub(super) struct Links<T> {
    /// The first node; null: the list is empty.
    pub(super) first: AtomicPtr<ListNode<T>>,
    /// The number of nodes. Changed under the lock.
    len: AtomicUsize,
    /// The last node; null: the list is empty. The writers' own, under the lock.
    pub(super) last: Cell<*mut ListNode<T>>,
    /// Nodes that were removed under the lock, and are retired when it is not held any more: the
    /// first of a list by `previous`.
    waste: Cell<*mut ListNode<T>>,
}

impl<T> Links<T> {
    const_fn! {
        /// Returns the links of an empty list.
        pub(super) fn new() -> Links<T> {
            Links {
                first: AtomicPtr::new(ptr::null_mut()),
                len: AtomicUsize::new(0),
                last: Cell::new(ptr::null_mut()),
                waste: Cell::new(ptr::null_mut()),
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        // Relaxed: a number.
        self.len.load(Ordering::Relaxed)
    }

    fn set_len(&self, len: usize) {
        // Relaxed: a number, changed under the lock.
        self.len.store(len, Ordering::Relaxed);
    }

    /// Returns the link that leads to what comes after `node`; null stands for the place before the
    /// first node.
    ///
    /// # Safety
    /// Null, or a node that lives as long as what is returned.
    unsafe fn link_after(&self, node: *mut ListNode<T>) -> &AtomicPtr<ListNode<T>> {
        // SAFETY: the caller's promise.
        unsafe { node.as_ref() }.map_or(&self.first, |node| &node.next)
    }

    /// Returns the node after `node`, or null; after null, the first.
    ///
    /// # Safety
    /// The caller has the lock; null, or a node of this list.
    pub(super) unsafe fn after(&self, node: *mut ListNode<T>) -> *mut ListNode<T> {
        // SAFETY: the caller's promise. Relaxed: under the lock.
        unsafe { self.link_after(node) }.load(Ordering::Relaxed)
    }

    /// Returns the node before `node`, or null; before null, the last.
    ///
    /// # Safety
    /// As for `after`.
    pub(super) unsafe fn before(&self, node: *mut ListNode<T>) -> *mut ListNode<T> {
        // SAFETY: the caller's promise.
        unsafe { node.as_ref() }.map_or(&self.last, |node| &node.previous).get()
    }

    /// Notes that `previous` comes before `node`; null stands for the end.
    ///
    /// # Safety
    /// As for `after`.
    unsafe fn set_before(&self, node: *mut ListNode<T>, previous: *mut ListNode<T>) {
        // SAFETY: the caller's promise.
        unsafe { node.as_ref() }.map_or(&self.last, |node| &node.previous).set(previous);
    }

    /// Puts a chain between the nodes `previous` and `next`, where null stands for the ends. Readers find
    /// all of it from one moment on.
    ///
    /// # Safety
    /// The caller has the lock; both are null or nodes of this list, one after the other.
    pub(super) unsafe fn link(&self, previous: *mut ListNode<T>, chain: NodeChain<T>, next: *mut ListNode<T>) {
        let (len, last) = (chain.len, chain.last.as_ptr());
        let first = chain.leak().as_ptr();
        // SAFETY: the caller's promise.
        let link = unsafe { self.link_after(previous) };
        // SAFETY: the chain's own nodes. Relaxed: the release below publishes it.
        unsafe { (*last).next.store(next, Ordering::Relaxed) };
        // SAFETY: as above.
        unsafe { (*first).previous.set(previous) };
        // Release: the chain. Partner: the acquire in `Iter::next`.
        link.store(first, order!(Release, list_link_release));
        // SAFETY: the caller's promise.
        unsafe { self.set_before(next, last) };
        self.set_len(self.len() + len);
    }

    /// Takes a node out. Its own links stay: readers that stand on it go on.
    ///
    /// # Safety
    /// The caller has the lock; the node is this list's.
    pub(super) unsafe fn unlink(&self, node: NonNull<ListNode<T>>) {
        // SAFETY: the caller's promise.
        let previous = unsafe { self.before(node.as_ptr()) };
        // SAFETY: as above.
        let next = unsafe { self.after(node.as_ptr()) };
        // SAFETY: as above.
        let link = unsafe { self.link_after(previous) };
        // Release: the node after, which a reader may find first by this link. Partner: the acquire in
        // `Iter::next`.
        link.store(next, order!(Release, list_unlink_release));
        // SAFETY: as above.
        unsafe { self.set_before(next, previous) };
        self.set_len(self.len() - 1);
    }

    /// Puts a chain of one node into the place of a node, and takes that out. Readers find one of the
    /// two.
    ///
    /// # Safety
    /// As for `unlink`.
    pub(super) unsafe fn replace(&self, node: NonNull<ListNode<T>>, chain: NodeChain<T>) -> NonNull<ListNode<T>> {
        let new = chain.leak();
        // SAFETY: the caller's promise.
        let previous = unsafe { self.before(node.as_ptr()) };
        // SAFETY: as above.
        let next = unsafe { self.after(node.as_ptr()) };
        // SAFETY: a new node.
        let links = unsafe { new.as_ref() };
        links.previous.set(previous);
        // Relaxed: the release below publishes it.
        links.next.store(next, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        let link = unsafe { self.link_after(previous) };
        // Release: the new node. Partner: the acquire in `Iter::next`.
        link.store(new.as_ptr(), order!(Release, list_replace_release));
        // SAFETY: the caller's promise.
        unsafe { self.set_before(next, new.as_ptr()) };
        new
    }

    /// Takes all nodes out at one moment, and keeps them until the lock is given up.
    ///
    /// # Safety
    /// The caller has the lock.
    pub(super) unsafe fn discard_all(&self) {
        // Relaxed, both: under the lock; readers learn nothing by null.
        let first = NonNull::new(self.first.load(Ordering::Relaxed));
        self.first.store(ptr::null_mut(), Ordering::Relaxed);
        let last = self.last.replace(ptr::null_mut());
        self.set_len(0);
        if let Some(first) = first {
            // The nodes are a list by `previous` already.
            // SAFETY: a node of this list, which the lock keeps.
            unsafe { first.as_ref() }.previous.set(self.waste.replace(last));
        }
    }

    /// Keeps a node that was taken out, until the lock is given up.
    ///
    /// # Safety
    /// The caller has the lock; the node was this list's, and is given up.
    pub(super) unsafe fn discard(&self, node: NonNull<ListNode<T>>) {
        // SAFETY: the caller's promise.
        unsafe { node.as_ref() }.previous.set(self.waste.replace(node.as_ptr()));
    }

    /// Returns what is to be retired: a list by `previous`, the caller's from now on.
    ///
    /// # Safety
    /// The caller has the lock.
    pub(super) unsafe fn take_waste(&self) -> *mut ListNode<T> {
        self.waste.replace(ptr::null_mut())
    }

    /// Mends what readers do not look at, where a thread that a fork did not copy has left it. What
    /// that thread was about to retire is leaked.
    ///
    /// # Safety
    /// The caller has the lock, or the list, alone.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn repair(&self) {
        let (mut previous, mut len) = (ptr::null_mut(), 0);
        loop {
            // SAFETY: null, or a node that was reached from the first one.
            let node = unsafe { self.after(previous) };
            // SAFETY: as above.
            unsafe { self.set_before(node, previous) };
            if node.is_null() {
                break;
            }
            len += 1;
            previous = node;
        }
        self.set_len(len);
        self.waste.set(ptr::null_mut());
    }

    /// Takes the chain of all nodes out.
    pub(super) fn take_chain(&mut self) -> Option<NodeChain<T>> {
        let old = mem::replace(self, Links::new());
        self.waste.set(old.waste.get());
        let len = old.len();
        // Relaxed: the caller has the list alone.
        let first = NonNull::new(old.first.load(Ordering::Relaxed))?;
        let last = NonNull::new(old.last.get())?;
        // SAFETY: the nodes of the list, which has them no more.
        Some(unsafe { NodeChain::new(first, last, len) })
    }
}
