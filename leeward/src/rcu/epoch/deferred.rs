//! A deferred call, in three words, and the bags that threads put them into.

use alloc::boxed::Box;
use core::mem::MaybeUninit;
use core::ptr;

use super::super::free::bag;

/// The number of calls in a bag, which then is 1,016 bytes: of a size that allocators cache.
const CALLS: usize = 41;

/// A part of what a thread has deferred.
pub(super) type Bag = bag::Bag<Deferred, CALLS>;
/// A list of bags.
pub(super) type Bags = bag::Bags<Deferred, CALLS>;

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
