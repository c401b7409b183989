//! All values of a stack, taken at once. A thread in the midst of a `pop` may still read the link of one
//! of the nodes, so no node is freed before the lock was seen free.

use core::marker::PhantomData;
use core::ptr::NonNull;

use super::entry::StackEntry;
use crate::atomic::fence_after_update;
use crate::collect::fork_lock::ForkLock;
use crate::collect::raw::{self, Node};
use crate::futex::{Futex, Private, Timeout};
use crate::mutant::{check, step};

/// The values that [`Stack::pop_all`](super::Stack::pop_all) took, the last that was pushed first.
///
/// ```
/// let stack: leeward::collect::Stack<u32> = (0..3).collect();
/// let mut taken = stack.pop_all();
/// assert_eq!(taken.next(), Some(2));
/// stack.push(9); // not among them
/// assert_eq!(taken.collect::<Vec<_>>(), [1, 0]);
/// ```
pub struct Taken<'a, T, F: Futex = Private> {
    /// The node of the next value.
    next: Option<NonNull<Node>>,
    /// Nodes whose values were taken, and which a thread may read still.
    spent: Spent<T>,
    /// The lock was seen free since the nodes were taken: no thread reads them.
    is_settled: bool,
    lock: &'a ForkLock<F>,
}

/// Nodes without values, whose memory is to be freed: a list by their links.
struct Spent<T> {
    top: raw::Stack<Private>,
    owns: PhantomData<T>,
}

impl<'a, T, F: Futex> Taken<'a, T, F> {
    pub(super) fn new(top: Option<NonNull<Node>>, lock: &'a ForkLock<F>) -> Self {
        // The top first, then the lock: partner of the same fence in `Stack::pop_locked`.
        step!(stack_taken_fence, fence_after_update());
        let is_settled = !check!(stack_taken_settle, lock.is_held());
        Taken { next: top, spent: Spent { top: raw::Stack::new(), owns: PhantomData }, is_settled, lock }
    }

    /// Turns the order around: the value that was pushed first comes first. It walks the values once,
    /// and may wait for a thread that is in the midst of a `pop`.
    pub fn first_pushed_first(mut self) -> Self {
        self.settle();
        let turned = raw::Stack::<Private>::new();
        while let Some(node) = self.next {
            // SAFETY: the node is this thread's alone.
            self.next = unsafe { raw::Stack::<F>::next(node) };
            // SAFETY: as above.
            unsafe { turned.push(node) };
        }
        self.next = turned.pop_all();
        self
    }

    /// Waits until no thread reads a node.
    fn settle(&mut self) {
        if self.is_settled {
            return;
        }
        // The thread that popped when the nodes were taken has given the lock up by then.
        if let Some(held) = self.lock.lock(Timeout::Never) {
            self.lock.unlock(&held);
        }
        self.is_settled = true;
    }
}

impl<T, F: Futex> Iterator for Taken<'_, T, F> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let node = self.next?;
        // SAFETY: the node was taken, and is not freed yet.
        self.next = unsafe { raw::Stack::<F>::next(node) };
        // SAFETY: as above, and the value was not taken.
        let value = unsafe { StackEntry::<T>::take(node) };
        if self.is_settled {
            // SAFETY: no thread reads it.
            unsafe { StackEntry::<T>::free(node) };
        } else {
            self.spent.push(node);
        }
        Some(value)
    }
}

impl<T, F: Futex> core::iter::FusedIterator for Taken<'_, T, F> {}

impl<T> Spent<T> {
    fn push(&self, node: NonNull<Node>) {
        // SAFETY: the node is in no stack any more. (A thread that pops may read its link, which is
        // an atomic; its exchange then fails.)
        unsafe { self.top.push(node) };
    }

    fn free(&self) {
        let mut next = self.top.pop_all();
        while let Some(node) = next {
            // SAFETY: the nodes are this thread's.
            next = unsafe { raw::Stack::<Private>::next(node) };
            // SAFETY: as above, and no thread reads them.
            unsafe { StackEntry::<T>::free(node) };
        }
    }
}

impl<T, F: Futex> Drop for Taken<'_, T, F> {
    /// Drops the values that are left, also those after one whose destructor panics, and frees the
    /// nodes.
    fn drop(&mut self) {
        struct Rest<'a, 'b, T, F: Futex>(&'a mut Taken<'b, T, F>);
        impl<T, F: Futex> Drop for Rest<'_, '_, T, F> {
            fn drop(&mut self) {
                while self.0.next().is_some() {}
                self.0.settle();
                self.0.spent.free();
            }
        }
        let rest = Rest(self);
        for value in rest.0.by_ref() {
            drop(value);
        }
    }
}

impl<T, F: Futex> core::fmt::Debug for Taken<'_, T, F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Taken").field("is_empty", &self.next.is_none()).finish_non_exhaustive()
    }
}

// SAFETY: the values are its own.
unsafe impl<T: Send, F: Futex> Send for Taken<'_, T, F> {}

// SAFETY: nothing is reached by a shared reference.
unsafe impl<T: Send, F: Futex> Sync for Taken<'_, T, F> {}
