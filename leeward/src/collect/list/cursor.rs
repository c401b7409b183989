//! A place in a list that its writer has locked. Made by `edit.rs`; calls `links.rs`.

use core::fmt;
use core::ptr::{self, NonNull};

use super::list::List;
use super::locked::Locked;
use super::node::{ListNode, NodeChain};
use super::retired::Retired;
use crate::rcu::{Domain, Global};

/// A place in a [`Locked`] list: at a value, or between the last one and the first, where it has no
/// value. It inserts, removes and replaces there, while readers walk the list.
///
/// It moves in both directions, and around: from the last value to the place without a value, and
/// from there to the first. The values are shared with readers, so it gives no `&mut T`:
/// [`replace`](Self::replace) puts a new one in the old one's place.
///
/// ```
/// use leeward::collect::List;
/// let list = List::from(["a", "x", "d"]);
/// let mut locked = list.lock();
/// let mut cursor = locked.cursor_front();
/// assert!(cursor.seek(|letter| *letter == "x"));
/// let x = cursor.replace("b").unwrap();
/// cursor.insert_after("c");
/// assert_eq!((*x, cursor.current(), cursor.peek_next()), ("x", Some(&"b"), Some(&"c")));
/// x.defer();
/// drop(locked);
/// assert!(list.into_iter().eq(["a", "b", "c", "d"]));
/// ```
pub struct Cursor<'a, 'l, T, D: Domain = Global> {
    locked: &'a mut Locked<'l, T, D>,
    /// A node of the list; null: the place without a value.
    node: *mut ListNode<T>,
}

// SAFETY: a shared one lets other threads look at the values, as does the locked list.
unsafe impl<T: Send + Sync, D: Domain> Sync for Cursor<'_, '_, T, D> {}

impl<'a, 'l, T, D: Domain> Cursor<'a, 'l, T, D> {
    /// Makes a cursor at the place without a value.
    pub(super) fn new(locked: &'a mut Locked<'l, T, D>) -> Self {
        Cursor { locked, node: ptr::null_mut() }
    }

    /// Returns the node after the cursor's, or null.
    fn after(&self) -> *mut ListNode<T> {
        // SAFETY: the lock is this thread's, and the node the list's.
        unsafe { self.locked.list().links.after(self.node) }
    }

    /// Returns the node before the cursor's, or null.
    fn before(&self) -> *mut ListNode<T> {
        // SAFETY: the lock is this thread's, and the node the list's.
        unsafe { self.locked.list().links.before(self.node) }
    }

    /// Puts a chain before the cursor.
    fn link_before(&mut self, chain: NodeChain<T>) {
        let previous = self.before();
        // SAFETY: the lock is this thread's, and both are the list's, one after the other.
        unsafe { self.locked.list().links.link(previous, chain, self.node) };
    }

    /// Puts a chain after the cursor.
    fn link_after(&mut self, chain: NodeChain<T>) {
        let next = self.after();
        // SAFETY: the lock is this thread's, and both are the list's, one after the other.
        unsafe { self.locked.list().links.link(self.node, chain, next) };
    }

    /// Returns the value at the cursor; `None` at the place without a value.
    pub fn current(&self) -> Option<&T> {
        // SAFETY: a node of the list.
        unsafe { self.locked.value(self.node) }
    }

    /// Returns the value after the cursor.
    pub fn peek_next(&self) -> Option<&T> {
        // SAFETY: a node of the list.
        unsafe { self.locked.value(self.after()) }
    }

    /// Returns the value before the cursor.
    pub fn peek_prev(&self) -> Option<&T> {
        // SAFETY: a node of the list.
        unsafe { self.locked.value(self.before()) }
    }

    /// Moves to the next value; from the last to the place without a value, and from there to the first.
    pub fn move_next(&mut self) {
        self.node = self.after();
    }

    /// Moves to the value before; from the first to the place without a value, and from there to the last.
    pub fn move_prev(&mut self) {
        self.node = self.before();
    }

    /// Moves forwards to the first value, from the current one on, for which `predicate` returns true,
    /// and returns true; to the place without a value if there is none, and returns false.
    ///
    /// # Panics
    /// If `predicate` does: the cursor is then at the value that it was given.
    pub fn seek(&mut self, mut predicate: impl FnMut(&T) -> bool) -> bool {
        while let Some(value) = self.current() {
            if predicate(value) {
                return true;
            }
            self.move_next();
        }
        false
    }

    /// Adds a value before the cursor: at the end of the list, if it is at the place without a value.
    pub fn insert_before(&mut self, value: T) {
        self.link_before(NodeChain::one(value));
    }

    /// Adds a value after the cursor: at the front of the list, if it is at the place without a value.
    pub fn insert_after(&mut self, value: T) {
        self.link_after(NodeChain::one(value));
    }

    /// Moves the values of another list to before the cursor: readers find all of them from one moment
    /// on. [`Locked::append`] says what it costs.
    pub fn splice_before<E: Domain>(&mut self, mut other: List<T, E>) {
        if let Some(chain) = other.take_chain() {
            self.link_before(chain);
        }
    }

    /// Moves the values of another list to after the cursor, as [`splice_before`](Self::splice_before)
    /// does.
    pub fn splice_after<E: Domain>(&mut self, mut other: List<T, E>) {
        if let Some(chain) = other.take_chain() {
            self.link_after(chain);
        }
    }

    /// Takes the value at the cursor out and returns it, and moves to the next value; `None`, and no
    /// move, at the place without a value.
    pub fn remove_current(&mut self) -> Option<Retired<'l, T, D>> {
        let node = NonNull::new(self.node)?;
        self.move_next();
        let list = self.locked.list();
        // SAFETY: the lock is this thread's, and the node the list's.
        unsafe { list.links.unlink(node) };
        // SAFETY: unlinked above.
        Some(unsafe { Retired::new(list, node) })
    }

    /// Puts a value into the place of the one at the cursor, and returns that. Readers find the old
    /// one or the new one.
    ///
    /// # Errors
    /// The new value, at the place without a value.
    pub fn replace(&mut self, value: T) -> Result<Retired<'l, T, D>, T> {
        let Some(node) = NonNull::new(self.node) else { return Err(value) };
        let new = NodeChain::one(value);
        let list = self.locked.list();
        // SAFETY: the lock is this thread's, and the node the list's.
        self.node = unsafe { list.links.replace(node, new) }.as_ptr();
        // SAFETY: taken out above.
        Ok(unsafe { Retired::new(list, node) })
    }
}

impl<T: fmt::Debug, D: Domain> fmt::Debug for Cursor<'_, '_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cursor").field(&self.current()).finish()
    }
}
