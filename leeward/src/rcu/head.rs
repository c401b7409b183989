//! The head of a callback: two words, through which it is queued and called.

use core::cell::Cell;
use core::ptr::NonNull;

/// The head of an object that waits to be called. Its own two words are all that the queue needs, so
/// that queueing allocates nothing and touches nothing else.
#[repr(C)]
pub(crate) struct Head {
    /// The one that was queued before this one, or, in a batch, the one that is called after it.
    next: Cell<*mut Head>,
    /// Called once, with the head, after a grace period; consumes the object.
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

    /// # Safety
    /// `head` is the caller's alone, taken out of the queue and not called yet; a grace period has
    /// passed since it was queued. The object is not used afterwards.
    pub(super) unsafe fn call(head: NonNull<Head>) {
        // SAFETY: alive, by the caller's promise.
        let call = unsafe { head.as_ref() }.call;
        // SAFETY: the function that was stored with this head, called once.
        unsafe { call(head) };
    }
}
