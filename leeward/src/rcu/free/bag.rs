//! Bags: what waits for one grace period, a few dozen items at a time, and lists of them.

use alloc::alloc::{Layout, alloc, handle_alloc_error};
use alloc::boxed::Box;
use core::mem::{self, MaybeUninit};
use core::ptr::{self, NonNull};

/// A part of what was deferred or retired: `LENGTH` items at most.
pub(in crate::rcu) struct Bag<T, const LENGTH: usize> {
    /// The bag that is behind this one in a list; null: none.
    next: *mut Self,
    /// The grace period after which the items may be taken out; 0: the bag is not sealed.
    pub(in crate::rcu) ticket: u64,
    /// The number of items that were taken out.
    taken: usize,
    /// The number of items that were put in.
    length: usize,
    items: [MaybeUninit<T>; LENGTH],
}

impl<T, const LENGTH: usize> Bag<T, LENGTH> {
    pub(in crate::rcu) fn new() -> Box<Self> {
        Self::try_new().unwrap_or_else(|| handle_alloc_error(Layout::new::<Self>()))
    }

    /// Makes an empty bag; `None`: there is no memory.
    pub(in crate::rcu) fn try_new() -> Option<Box<Self>> {
        // SAFETY: the layout is not empty.
        let memory = NonNull::new(unsafe { alloc(Layout::new::<Self>()) }.cast::<Self>())?;
        let items = [const { MaybeUninit::uninit() }; LENGTH];
        // SAFETY: allocated above, for a bag.
        unsafe { memory.write(Bag { next: ptr::null_mut(), ticket: 0, taken: 0, length: 0, items }) };
        // SAFETY: allocated as a box is, and written.
        Some(unsafe { Box::from_raw(memory.as_ptr()) })
    }

    /// Puts an item in. The bag is not full.
    #[inline]
    pub(in crate::rcu) fn push(&mut self, item: T) {
        self.items[self.length].write(item);
        self.length += 1;
    }

    /// Takes the first item out; the bag is a new one when the last was taken.
    fn pop(&mut self) -> Option<T> {
        if self.taken == self.length {
            (self.taken, self.length, self.ticket) = (0, 0, 0);
            return None;
        }
        self.taken += 1;
        // SAFETY: put in by `push`, and taken once.
        Some(unsafe { self.items[self.taken - 1].assume_init_read() })
    }

    /// Takes all items out, each for `take`.
    pub(in crate::rcu) fn empty(&mut self, mut take: impl FnMut(T)) {
        while let Some(item) = self.pop() {
            take(item);
        }
    }

    pub(in crate::rcu) fn is_full(&self) -> bool {
        self.length == LENGTH
    }

    /// Returns how many items are left.
    pub(in crate::rcu) fn len(&self) -> usize {
        self.length - self.taken
    }
}

/// A list of bags, first in, first out. Bags that are still in it when it is dropped are leaked:
/// their items must not be taken out early.
pub(in crate::rcu) struct Bags<T, const LENGTH: usize> {
    first: *mut Bag<T, LENGTH>,
    last: *mut Bag<T, LENGTH>,
}

impl<T, const LENGTH: usize> Bags<T, LENGTH> {
    pub(in crate::rcu) const fn new() -> Self {
        Bags { first: ptr::null_mut(), last: ptr::null_mut() }
    }

    /// Takes a list over whose first bag is `first`.
    ///
    /// # Safety
    /// The bags are the caller's alone, and linked by `into_raw`.
    pub(in crate::rcu) unsafe fn from_raw(first: *mut Bag<T, LENGTH>) -> Self {
        let mut bags = Bags { first, last: first };
        // SAFETY: the caller's promise.
        while let Some(next) = unsafe { bags.last.as_ref() }.map(|last| last.next).filter(|next| !next.is_null()) {
            bags.last = next;
        }
        bags
    }

    /// Gives the list up for its first bag, behind whose last one `rest` is linked.
    pub(in crate::rcu) fn into_raw(self, rest: *mut Bag<T, LENGTH>) -> *mut Bag<T, LENGTH> {
        // SAFETY: the list's own bag.
        match unsafe { self.last.as_mut() } {
            None => rest,
            Some(last) => {
                last.next = rest;
                mem::ManuallyDrop::new(self).first
            }
        }
    }

    pub(in crate::rcu) fn push(&mut self, mut bag: Box<Bag<T, LENGTH>>) {
        bag.next = ptr::null_mut();
        let bag = Box::into_raw(bag);
        // SAFETY: the list's own bag.
        match unsafe { self.last.as_mut() } {
            None => self.first = bag,
            Some(last) => last.next = bag,
        }
        self.last = bag;
    }

    /// Takes the first bag out, if `may_go` says so.
    pub(in crate::rcu) fn pop_if(
        &mut self,
        may_go: impl FnOnce(&Bag<T, LENGTH>) -> bool,
    ) -> Option<Box<Bag<T, LENGTH>>> {
        let first = NonNull::new(self.first)?;
        // SAFETY: the list's own bag.
        if !may_go(unsafe { first.as_ref() }) {
            return None;
        }
        // SAFETY: from a box, by `push`, and taken out below.
        let bag = unsafe { Box::from_raw(first.as_ptr()) };
        self.first = bag.next;
        if self.first.is_null() {
            self.last = ptr::null_mut();
        }
        Some(bag)
    }

    /// Returns the ticket of the last bag.
    pub(in crate::rcu) fn last_ticket(&self) -> Option<u64> {
        // SAFETY: the list's own bag.
        unsafe { self.last.as_ref() }.map(|bag| bag.ticket)
    }
}
