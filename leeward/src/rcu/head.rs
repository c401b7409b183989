//! The head of a callback: two words, through which it is queued and called (`defer/`).

use core::cell::Cell;
use core::ptr::NonNull;

/// The head of an object that waits to be called. The queue needs nothing but these two words, so
/// queueing allocates nothing and touches no other memory.
#[doc(hidden)]
#[derive(Debug)]
#[repr(C)]
pub struct Head {
    /// The head that was queued before this one or, in a batch, the head that is called after it.
    next: Cell<*mut Head>,
    /// The function that is called once, with the head, after a grace period, and consumes the
    /// object.
    call: unsafe extern "C-unwind" fn(NonNull<Head>),
}

impl Head {
    /// Makes the head of an object that is not queued yet.
    pub(super) fn new(call: unsafe extern "C-unwind" fn(NonNull<Head>)) -> Head {
        Head { next: Cell::new(core::ptr::null_mut()), call }
    }

    pub(super) fn next(&self) -> *mut Head {
        self.next.get()
    }

    pub(super) fn set_next(&self, next: *mut Head) {
        self.next.set(next);
    }

    /// Calls the object, which ends it.
    ///
    /// # Safety
    /// `head` is the caller's alone, taken out of the queue and not called yet; a grace period has
    /// passed since it was queued. The object is not used afterwards.
    pub(super) unsafe fn call(head: NonNull<Head>) {
        // SAFETY: the object is alive, by the caller's promise.
        let call = unsafe { head.as_ref() }.call;
        // SAFETY: the function was stored with this head, and is called once.
        unsafe { call(head) };
    }
}
