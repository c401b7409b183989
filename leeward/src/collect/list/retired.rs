//! A value that a writer has taken out. Made by `cursor.rs`; calls `list.rs`.

use core::fmt;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr::NonNull;

use super::list::List;
use super::node::ListNode;
use crate::mutant::check;
use crate::rcu::{Cookie, Domain, Global};

/// A value that a writer took out of a [`List`]. Readers that found it before may still have it.
///
/// Dropping it leaves the value to the list, which frees it after a grace period: at the earliest
/// when the list is not locked any more. It borrows the list; one that is forgotten
/// (`mem::forget`) leaks the value.
///
/// ```
/// use leeward::collect::List;
/// let names = List::from(["one".to_string(), "two".to_string()]);
/// names.pop_front().unwrap().defer();                     // never waits
/// let two = names.pop_front().unwrap();
/// assert_eq!(two.len(), 3);                               // it derefs to the value
/// assert_eq!(two.synchronize(), "two");                   // waits for a grace period
/// ```
#[must_use = "dropping it has the value freed later; say `.defer()`, or `.synchronize()` to have it back"]
pub struct Retired<'l, T, D: Domain = Global> {
    list: &'l List<T, D>,
    node: NonNull<ListNode<T>>,
    /// Made at the first poll.
    cookie: Option<Cookie<D>>,
}

// SAFETY: it owns the node, which readers of other threads may share meanwhile.
unsafe impl<T: Send + Sync, D: Domain> Send for Retired<'_, T, D> {}
// SAFETY: a shared reference shares the value, as readers do.
unsafe impl<T: Send + Sync, D: Domain> Sync for Retired<'_, T, D> {}

impl<'l, T, D: Domain> Retired<'l, T, D> {
    /// # Safety
    /// The node was the list's, no section that begins from now on finds it, and it is the caller's.
    pub(super) unsafe fn new(list: &'l List<T, D>, node: NonNull<ListNode<T>>) -> Self {
        Retired { list, node, cookie: None }
    }

    /// Leaves the value to the list, which drops it after a grace period. Never waits.
    pub fn defer(self) {
        drop(self);
    }

    /// Waits until no reader can have the value, and returns it. As long as a reader stays in its
    /// section, this waits.
    ///
    /// # Panics
    /// - As [`Domain::synchronize`] does: inside a section of the domain.
    /// - While the calling thread has the list [locked](List::lock): a reader that waits for the lock
    ///   inside its section would never leave. Drop the [`Locked`](super::Locked) first.
    ///
    /// The value is then left to the list.
    #[track_caller]
    pub fn synchronize(self) -> T {
        if check!(list_synchronize_own, self.list.lock.is_own()) {
            panic!("leeward: a grace period is waited for with the list locked: drop the Locked first");
        }
        D::synchronize();
        // SAFETY: every reader that may have found it has left.
        unsafe { ListNode::into_value(ManuallyDrop::new(self).node) }
    }

    /// Returns the value if no reader can have it. Never waits: the first call asks for a grace
    /// period, and later ones look whether it is over.
    ///
    /// ```
    /// use leeward::{collect::List, rcu};
    /// let list = List::from([7]);
    /// let guard = rcu::read();
    /// let Err(value) = list.pop_back().unwrap().try_into_value() else { panic!("a reader may have it") };
    /// drop(guard);
    /// assert_eq!(value.synchronize(), 7);
    /// ```
    ///
    /// # Errors
    /// `self`, if a reader may still have it.
    pub fn try_into_value(mut self) -> Result<T, Self> {
        let cookie = *self.cookie.get_or_insert_with(D::start_poll);
        if !D::poll_state(&cookie) {
            return Err(self);
        }
        // SAFETY: the cookie was made after the node was unlinked, and its grace period is over.
        Ok(unsafe { ListNode::into_value(ManuallyDrop::new(self).node) })
    }
}

impl<T, D: Domain> Deref for Retired<'_, T, D> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: alive until `self` is given up.
        unsafe { &self.node.as_ref().value }
    }
}

impl<T, D: Domain> Drop for Retired<'_, T, D> {
    fn drop(&mut self) {
        // What retires also frees, and runs destructors: not under the lock.
        if check!(list_waste, self.list.lock.is_own()) {
            // SAFETY: the lock is this thread's; the promise of `new`.
            unsafe { self.list.links.discard(self.node) };
        } else {
            // SAFETY: by the promise of `new`; it is retired once.
            unsafe { self.list.retire(self.node) };
        }
    }
}

impl<T: fmt::Debug, D: Domain> fmt::Debug for Retired<'_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Retired").field(&**self).finish()
    }
}
