//! Bags: what a thread has deferred, a few dozen calls at a time, and lists of them.

use alloc::boxed::Box;
use core::mem::{self, MaybeUninit};
use core::ptr::{self, NonNull};

/// The number of calls in a bag, which then is 1,016 bytes: of a size that allocators cache.
pub(super) const CALLS: usize = 41;

/// The words that a call is made with: the closure itself, such as a pointer and a function, or the
/// address of its box.
type Words = MaybeUninit<[*mut (); 2]>;

/// A closure that is called once. It is called or leaked: it has no destructor.
pub(super) struct Deferred {
    call: unsafe fn(Words),
    words: Words,
}

impl Deferred {
    /// Takes a closure, which lies in two words or is boxed.
    ///
    /// # Safety
    /// The closure may be called on any thread, after any time.
    pub(super) unsafe fn new<F: FnOnce()>(closure: F) -> Deferred {
        /// # Safety
        /// The words have a closure, which is called once.
        unsafe fn call<F: FnOnce()>(words: Words) {
            // SAFETY: the closure was written there.
            let closure = unsafe { words.as_ptr().cast::<F>().read() };
            closure();
        }
        /// # Safety
        /// The first word has the address of a boxed closure, which is called once.
        unsafe fn call_boxed<F: FnOnce()>(words: Words) {
            // SAFETY: the address was written there.
            let boxed = unsafe { words.as_ptr().cast::<*mut ()>().read() };
            // SAFETY: from a box of this type.
            let closure = unsafe { Box::from_raw(boxed.cast::<F>()) };
            closure();
        }
        if size_of::<F>() > size_of::<Words>() || align_of::<F>() > align_of::<Words>() {
            let boxed = Box::into_raw(Box::new(closure)).cast();
            return Deferred { call: call_boxed::<F>, words: Words::new([boxed, ptr::null_mut()]) };
        }
        let mut words = Words::uninit();
        // SAFETY: it fits.
        unsafe { words.as_mut_ptr().cast::<F>().write(closure) };
        Deferred { call: call::<F>, words }
    }

    /// Calls the closure, on this thread.
    ///
    /// # Safety
    /// What the closure frees has no reader.
    pub(super) unsafe fn call(self) {
        // SAFETY: the words are of this function, by `new`, and this is the only call.
        unsafe { (self.call)(self.words) };
    }
}

/// A part of what was deferred.
pub(super) struct Bag {
    /// The bag that is behind this one in a list; null: none.
    next: *mut Bag,
    /// The grace period after which the calls may be made; 0: the bag is not sealed.
    pub(super) ticket: u64,
    /// The number of calls that were made.
    called: usize,
    /// The number of calls that were put in.
    length: usize,
    calls: [MaybeUninit<Deferred>; CALLS],
}

impl Bag {
    pub(super) fn new() -> Box<Bag> {
        Box::new(Bag {
            next: ptr::null_mut(),
            ticket: 0,
            called: 0,
            length: 0,
            calls: [const { MaybeUninit::uninit() }; CALLS],
        })
    }

    /// Puts a call in. The bag is not full.
    #[inline]
    pub(super) fn push(&mut self, call: Deferred) {
        self.calls[self.length].write(call);
        self.length += 1;
    }

    /// Takes the first call out; forgets all calls when the last one was taken.
    fn pop(&mut self) -> Option<Deferred> {
        if self.called == self.length {
            (self.called, self.length, self.ticket) = (0, 0, 0);
            return None;
        }
        self.called += 1;
        // SAFETY: put in by `push`, and taken once.
        Some(unsafe { self.calls[self.called - 1].assume_init_read() })
    }

    /// Makes all calls, each by `call`.
    pub(super) fn empty(&mut self, mut call: impl FnMut(Deferred)) {
        while let Some(deferred) = self.pop() {
            call(deferred);
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.length == CALLS
    }

    /// Returns how many calls are left.
    pub(super) fn len(&self) -> usize {
        self.length - self.called
    }
}

/// A list of bags, first in, first out. Bags that are still in it when it is dropped are leaked: their
/// calls must not be made early.
pub(super) struct Bags {
    first: *mut Bag,
    last: *mut Bag,
}

impl Bags {
    pub(super) const fn new() -> Bags {
        Bags { first: ptr::null_mut(), last: ptr::null_mut() }
    }

    /// Takes a list over whose first bag is `first`.
    ///
    /// # Safety
    /// The bags are the caller's alone, and linked by `into_raw`.
    pub(super) unsafe fn from_raw(first: *mut Bag) -> Bags {
        let mut bags = Bags { first, last: first };
        // SAFETY: the caller's promise.
        while let Some(next) = unsafe { bags.last.as_ref() }.map(|last| last.next).filter(|next| !next.is_null()) {
            bags.last = next;
        }
        bags
    }

    /// Gives the list up for its first bag, behind whose last one `rest` is linked.
    pub(super) fn into_raw(self, rest: *mut Bag) -> *mut Bag {
        // SAFETY: the list's own bag.
        match unsafe { self.last.as_mut() } {
            None => rest,
            Some(last) => {
                last.next = rest;
                mem::ManuallyDrop::new(self).first
            }
        }
    }

    pub(super) fn push(&mut self, mut bag: Box<Bag>) {
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
    pub(super) fn pop_if(&mut self, may_go: impl FnOnce(&Bag) -> bool) -> Option<Box<Bag>> {
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
    pub(super) fn last_ticket(&self) -> Option<u64> {
        // SAFETY: the list's own bag.
        unsafe { self.last.as_ref() }.map(|bag| bag.ticket)
    }
}
