//! Iterators over lists: of readers, of the list's only owner, and of a list that was taken apart.
//!
//! Made by `list.rs`, `locked.rs` and `traits.rs`; calls `node.rs`.

use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::node::{ListNode, NodeChain};
use crate::atomic::{AtomicPtr, Ordering};
use crate::collect::backend::panics;
use crate::mutant::order;

/// The values of a [`List`](super::List), in order; made by [`iter`](super::List::iter), which says
/// what it sees beside writers.
///
/// ```
/// use leeward::{collect::List, rcu};
/// let list = List::from([1, 2, 3]);
/// let guard = rcu::read();
/// let values = list.iter(&guard);
/// list.push_back(4);
/// assert!(values.clone().take(3).eq(&[1, 2, 3]));
/// assert_eq!(values.count(), 4);
/// ```
pub struct Iter<'g, T> {
    /// The link to the next value; `None` after the last.
    link: Option<&'g AtomicPtr<ListNode<T>>>,
    values: PhantomData<&'g T>,
}

impl<'g, T> Iter<'g, T> {
    /// # Safety
    /// `first` is a list's, and its nodes live as long as `'g`: a section is open, or the list is
    /// locked.
    #[inline(always)]
    pub(super) unsafe fn new(first: &'g AtomicPtr<ListNode<T>>) -> Self {
        Iter { link: Some(first), values: PhantomData }
    }
}

impl<'g, T> Iterator for Iter<'g, T> {
    type Item = &'g T;

    #[inline(always)]
    fn next(&mut self) -> Option<&'g T> {
        // Acquire: the node. Partner: the releases in `links.rs`.
        let node = self.link?.load(order!(Acquire, list_walk_acquire));
        // SAFETY: null, or a node which the section, or the lock, keeps for as long as `'g`. One that was
        // removed still leads to nodes which this section may find.
        let node: Option<&'g ListNode<T>> = unsafe { node.as_ref() };
        self.link = node.map(|node| &node.next);
        node.map(|node| &node.value)
    }
}

impl<T> FusedIterator for Iter<'_, T> {}

impl<T> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Iter { link: self.link, values: PhantomData }
    }
}

/// Shows the values that are left.
impl<T: fmt::Debug> fmt::Debug for Iter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

/// The values of a [`List`](super::List) that its owner has alone, in order; made by
/// [`iter_mut`](super::List::iter_mut).
///
/// ```
/// let mut list = leeward::collect::List::from([1, 2, 3]);
/// for value in &mut list {
///     *value *= 10;
/// }
/// assert!(list.into_iter().eq([10, 20, 30]));
/// ```
pub struct IterMut<'a, T> {
    node: *mut ListNode<T>,
    values: PhantomData<&'a mut T>,
}

// SAFETY: it is a mutable reference to each value.
unsafe impl<T: Send> Send for IterMut<'_, T> {}
// SAFETY: a shared one gives nothing.
unsafe impl<T: Sync> Sync for IterMut<'_, T> {}

impl<T> IterMut<'_, T> {
    /// # Safety
    /// `first` is a list's, which the caller has alone for as long as this lives.
    pub(super) unsafe fn new(first: &AtomicPtr<ListNode<T>>) -> Self {
        // Relaxed: no other thread has the list.
        IterMut { node: first.load(Ordering::Relaxed), values: PhantomData }
    }
}

impl<'a, T> Iterator for IterMut<'a, T> {
    type Item = &'a mut T;

    fn next(&mut self) -> Option<&'a mut T> {
        let node = NonNull::new(self.node)?.as_ptr();
        // SAFETY: a node of the list. Relaxed: no other thread has it.
        self.node = unsafe { &(*node).next }.load(Ordering::Relaxed);
        // SAFETY: each value comes once, and the list is borrowed for as long as `'a`.
        Some(unsafe { &mut (*node).value })
    }
}

impl<T> FusedIterator for IterMut<'_, T> {}

impl<T> fmt::Debug for IterMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IterMut").finish_non_exhaustive()
    }
}

/// The values of a [`List`](super::List) that was taken apart, in order, from both ends.
///
/// ```
/// let list = leeward::collect::List::from([1, 2, 3]);
/// let mut values = list.into_iter();
/// assert_eq!((values.next_back(), values.next(), values.len()), (Some(3), Some(1), 1));
/// ```
pub struct IntoIter<T> {
    first: *mut ListNode<T>,
    last: *mut ListNode<T>,
    /// The number of nodes that are left.
    len: usize,
    owns: PhantomData<T>,
}

// SAFETY: it owns its values.
unsafe impl<T: Send> Send for IntoIter<T> {}
// SAFETY: a shared one gives nothing.
unsafe impl<T: Sync> Sync for IntoIter<T> {}

impl<T> IntoIter<T> {
    pub(super) fn new(chain: Option<NodeChain<T>>) -> Self {
        let Some(chain) = chain else {
            return IntoIter { first: core::ptr::null_mut(), last: core::ptr::null_mut(), len: 0, owns: PhantomData };
        };
        let (last, len) = (chain.last.as_ptr(), chain.len);
        IntoIter { first: chain.leak().as_ptr(), last, len, owns: PhantomData }
    }

    /// Takes the value out of an end's node, if there is one left.
    fn take(&mut self, node: *mut ListNode<T>) -> Option<T> {
        self.len = self.len.checked_sub(1)?;
        // SAFETY: an end of a chain that is not empty: no null, and this iterator's own.
        let node = unsafe { NonNull::new_unchecked(node) };
        // SAFETY: as above, and no end any more.
        Some(unsafe { ListNode::into_value(node) })
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let node = self.first;
        if self.len > 0 {
            // SAFETY: the first node that is left. Relaxed: no other thread has it.
            self.first = unsafe { &(*node).next }.load(Ordering::Relaxed);
        }
        self.take(node)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len, Some(self.len))
    }
}

impl<T> DoubleEndedIterator for IntoIter<T> {
    fn next_back(&mut self) -> Option<T> {
        let node = self.last;
        if self.len > 0 {
            // SAFETY: the last node that is left.
            self.last = unsafe { &(*node).previous }.get();
        }
        self.take(node)
    }
}

impl<T> ExactSizeIterator for IntoIter<T> {}
impl<T> FusedIterator for IntoIter<T> {}

impl<T> Drop for IntoIter<T> {
    /// Drops the values that are left. One whose destructor panics keeps none of the others.
    fn drop(&mut self) {
        for value in self.by_ref() {
            panics(|| drop(value));
        }
    }
}

impl<T> fmt::Debug for IntoIter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntoIter").field("len", &self.len).finish_non_exhaustive()
    }
}
