//! A bucket's wait list: waiters linked through their nodes, the most urgent first, and the oldest
//! first among equals. Its bucket's lock guards it; `locked` and `select` change it.

use core::ptr::NonNull;

use crate::atomic::prefetch_all;
use crate::mutant::mutated;
use crate::table::key::Key;
use crate::waiter::{Decision, Links, Waiter, Woken};
use crate::{Errno, Host, Priority};

/// The wait list of a bucket, and its counters: what the bucket's lock guards.
pub(crate) struct WaitList<H: Host> {
    pub(crate) head: Option<NonNull<Waiter<H>>>,
    tail: Option<NonNull<Waiter<H>>>,
    /// The sequence number that the next waiter gets. It never goes back, not even in the table
    /// that takes over.
    pub(crate) next_sequence: u64,
    /// The number of waiters in the list.
    pub(crate) waiters: usize,
    /// How many waiters were queued here by a wait.
    pub(crate) queued: u64,
    /// How often the lock was taken.
    pub(crate) locked: u64,
}

impl<H: Host> WaitList<H> {
    pub(crate) fn new() -> WaitList<H> {
        WaitList { head: None, tail: None, next_sequence: 0, waiters: 0, queued: 0, locked: 0 }
    }
}

/// A waiter that was found in a list.
pub(crate) struct FoundWaiter<H: Host> {
    pub(crate) node: NonNull<Waiter<H>>,
    pub(crate) next: Option<NonNull<Waiter<H>>>,
    /// The waiter's claim (`pi::claim`), if it inherits priorities.
    pub(crate) inheriting: Option<NonNull<()>>,
}

impl<H: Host> WaitList<H> {
    /// Returns a node of the list, or one that is being put there.
    pub(crate) fn waiter(&mut self, node: NonNull<Waiter<H>>) -> &Waiter<H> {
        // SAFETY: a node is there until it is out of the list, or was woken; both need the lock,
        // which is held.
        unsafe { node.as_ref() }
    }

    /// Returns a node's links.
    pub(crate) fn links(&mut self, node: NonNull<Waiter<H>>) -> &mut Links<H> {
        let links = self.waiter(node).links();
        // SAFETY: the links belong to the lock's holder, and this borrows the list.
        unsafe { &mut *links }
    }

    /// Finds the first waiter with that key from a place in the list on.
    pub(crate) fn seek(&mut self, from: Option<NonNull<Waiter<H>>>, key: &Key) -> Option<FoundWaiter<H>> {
        let mut cursor = from;
        while let Some(node) = cursor {
            let links = self.links(node);
            let (next, inheriting, matches) = (links.next, links.inheriting(), links.key == *key);
            if matches && !self.waiter(node).has_left() {
                return Some(FoundWaiter { node, next, inheriting });
            }
            cursor = next;
        }
        None
    }

    /// Returns the first node's key.
    pub(crate) fn first_key(&mut self) -> Option<Key> {
        let node = self.head?;
        Some(self.links(node).key)
    }

    /// Finds the first waiter with that key.
    pub(crate) fn first(&mut self, key: &Key) -> Option<FoundWaiter<H>> {
        self.seek(self.head, key)
    }

    /// Returns true if a waiter with that key is not among the first `count` of those that a wake
    /// with `bits` chooses.
    pub(crate) fn has_beyond(&mut self, key: &Key, bits: u32, count: u32) -> bool {
        let (mut left, mut found) = (count, self.first(key));
        while let Some(FoundWaiter { node, next, .. }) = found {
            if left == 0 || self.links(node).bitset & bits == 0 {
                return true;
            }
            left -= 1;
            found = self.seek(next, key);
        }
        false
    }

    /// Returns true if the last waiter waits for `key`.
    pub(crate) fn ends_with(&mut self, key: &Key) -> bool {
        self.tail.is_some_and(|tail| self.links(tail).key == *key)
    }

    pub(crate) fn priority(&mut self, node: NonNull<Waiter<H>>) -> Priority {
        self.links(node).priority
    }

    /// Links a node after the last one that is as urgent. Among equal priorities that is the tail.
    pub(crate) fn insert(&mut self, node: NonNull<Waiter<H>>) {
        let priority = self.priority(node);
        let mut previous = self.tail;
        while let Some(other) = previous {
            if self.priority(other) <= priority || mutated!(urgent_first) {
                break;
            }
            previous = self.links(other).previous;
        }
        self.link(previous, node);
    }

    /// Links a node after the last one that is as urgent. The search begins at `from`, which is of
    /// the list and no less urgent, or at the head.
    pub(crate) fn insert_after(&mut self, from: Option<NonNull<Waiter<H>>>, node: NonNull<Waiter<H>>) {
        let priority = self.priority(node);
        let mut previous = self.tail;
        if previous.is_some_and(|tail| self.priority(tail) > priority) {
            previous = from;
            loop {
                let next = previous.map_or(self.head, |previous| self.links(previous).next);
                match next {
                    Some(next) if self.priority(next) <= priority => previous = Some(next),
                    _ => break,
                }
            }
        }
        self.link(previous, node);
    }

    /// Links a node after another, or at the head.
    pub(crate) fn link(&mut self, previous: Option<NonNull<Waiter<H>>>, node: NonNull<Waiter<H>>) {
        let next = match previous {
            Some(previous) => self.links(previous).next.replace(node),
            None => self.head.replace(node),
        };
        match next {
            Some(next) => self.links(next).previous = Some(node),
            None => self.tail = Some(node),
        }
        let links = self.links(node);
        links.previous = previous;
        links.next = next;
    }

    pub(crate) fn unlink(&mut self, node: NonNull<Waiter<H>>) {
        let links = self.links(node);
        let (previous, next) = (links.previous.take(), links.next.take());
        match previous {
            Some(previous) => self.links(previous).next = next,
            None => self.head = next,
        }
        match next {
            Some(next) => self.links(next).previous = previous,
            None => self.tail = previous,
        }
    }

    /// Finds the first waiter from a place in the list on that a wake with that key and those bits
    /// chooses, of those with sequence numbers below `cutoff`; returns it and the node after it.
    ///
    /// # Errors
    /// `EINVAL` if a waiter for a lock that inherits priorities comes before: it is not to be woken
    /// so.
    #[inline]
    pub(crate) fn choose(
        &mut self,
        from: Option<NonNull<Waiter<H>>>,
        key: &Key,
        bits: u32,
        cutoff: u64,
    ) -> Result<Option<(NonNull<Waiter<H>>, Option<NonNull<Waiter<H>>>)>, Errno> {
        let mut cursor = from;
        while let Some(node) = cursor {
            let links = self.links(node);
            cursor = links.next;
            if links.key != *key {
                continue;
            }
            if links.inheriting().is_some() {
                return Err(Errno::EINVAL);
            }
            let matches = links.bitset & bits != 0 && (links.sequence < cutoff || mutated!(cutoff));
            if matches && !self.waiter(node).has_left() {
                // Claiming this waiter is an exchange, which holds back later loads: the memory of
                // the next one, which is another thread's, may come meanwhile.
                if let Some(next) = cursor {
                    prefetch_all(next.as_ptr());
                }
                return Ok(Some((node, cursor)));
            }
        }
        Ok(None)
    }

    /// Takes a node out of the list and decides that it is woken. Returns its handle, or none if it
    /// decided first that it leaves. Either way it may be gone from now on.
    pub(crate) fn claim(&mut self, node: NonNull<Waiter<H>>, bits: u32) -> Option<Woken<H>> {
        self.unlink(node);
        let links = self.links(node);
        links.woken_by = bits;
        // Before the decision: after it the node is its owner's, and the group may be gone, too.
        let handle = if mutated!(handle_late) { None } else { links.handle.take() };
        if let Some(group) = links.group().filter(|_| !mutated!(group_flag)) {
            // SAFETY: on the frame of the node's owner, which needs this bucket's lock to go,
            // unless the node was woken.
            unsafe { group.as_ref() }.tell_group();
        }
        let decision = self.waiter(node).decide_to_wake();
        if decision != Decision::Left {
            // The mutant's second exchange, which fails: at it loom may let the owner go on.
            let late = mutated!(handle_late) && self.waiter(node).decide_to_wake() == Decision::Left;
            let handle = if late { self.links(node).handle.take() } else { handle };
            return handle.map(|handle| Woken { handle, spinning: decision == Decision::Spinning });
        }
        // The handle is given back, so that it is not dropped under the lock.
        self.links(node).handle = handle;
        self.waiter(node).taken_out();
        None
    }
}
