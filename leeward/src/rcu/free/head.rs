//! The head of a callback: two words, through which it is queued and called (`defer/`), or retired
//! and ended (`hazard`).

use core::cell::Cell;
use core::ptr::NonNull;

/// The head of an object that waits to be called: two words in the object itself, for
/// [`Domain::defer_raw`](super::super::Domain::defer_raw) and
/// [`hazard::retire_raw`](crate::hazard::retire_raw), which have examples.
///
/// The queue needs nothing else, so queueing allocates nothing and touches no other memory. The words
/// are the queue's from `defer_raw` until the call; otherwise they are free for other uses of the
/// same size and alignment, for example in a union.
///
/// ```
/// use leeward::rcu::Head;
/// #[repr(C)]
/// struct Node { head: Head, value: u64 }          // the head first: its address is the node's
/// let node = Node { head: Head::new(), value: 7 };
/// assert_eq!(&raw const node as usize, &raw const node.head as usize);
/// assert_eq!((size_of::<Head>(), node.value), (2 * size_of::<usize>(), 7));
/// ```
#[repr(C)]
pub struct Head {
    /// The head that was queued before this one or, in a batch, the head that is called after it, and
    /// `TAKEN`.
    next: Cell<*mut Head>,
    /// The function that is called once, with the head, after a grace period, and consumes the
    /// object. A cell, as all of the head: it is written when the object is queued, while readers
    /// may have references to the object.
    call: Cell<unsafe extern "C-unwind" fn(NonNull<Head>)>,
}

/// The bit of `next` that marks heads of a batch: the queue takes heads, and who queues one stores
/// an address, which is even. So a head that is queued a second time shows: it has the mark where a
/// head of the queue must not, or lacks it where one of a batch must have it.
const TAKEN: usize = 1;

const _: () = assert!(align_of::<Head>() > TAKEN);

impl Head {
    /// Makes the head of an object that is not queued.
    pub const fn new() -> Head {
        /// Does nothing: an object that is not queued is not called.
        unsafe extern "C-unwind" fn nothing(_: NonNull<Head>) {}
        Head::of(nothing)
    }

    /// Makes the head of an object that is to be called by `call`.
    pub(crate) const fn of(call: unsafe extern "C-unwind" fn(NonNull<Head>)) -> Head {
        Head { next: Cell::new(core::ptr::null_mut()), call: Cell::new(call) }
    }

    pub(crate) fn next(&self) -> *mut Head {
        self.next.get()
    }

    pub(crate) fn set_next(&self, next: *mut Head) {
        self.next.set(next);
    }

    /// Stores the next head of a batch, with the mark of a head that was taken out of the queue.
    pub(crate) fn set_taken_next(&self, next: *mut Head) {
        self.next.set(next.map_addr(|address| address | TAKEN));
    }

    /// Returns the next head, without the mark.
    pub(crate) fn next_unmarked(&self) -> *mut Head {
        self.next.get().map_addr(|address| address & !TAKEN)
    }

    /// Returns true if the head has the mark that `set_taken_next` stored.
    pub(crate) fn is_taken(&self) -> bool {
        self.next.get().addr() & TAKEN != 0
    }

    /// Returns the function by which the object is called.
    #[cfg_attr(not(feature = "threads"), allow(dead_code))]
    pub(crate) fn function(&self) -> unsafe extern "C-unwind" fn(NonNull<Head>) {
        self.call.get()
    }

    /// Calls the object, which ends it.
    ///
    /// # Safety
    /// `head` is the caller's alone, taken out of the queue and not called yet; no reader has its
    /// object any more. The object is not used afterwards.
    pub(crate) unsafe fn call(head: NonNull<Head>) {
        // SAFETY: the object is alive, by the caller's promise.
        let call = unsafe { head.as_ref() }.call.get();
        // SAFETY: the function was stored with this head, and is called once.
        unsafe { call(head) };
    }
}

// SAFETY: the words are changed by the object's owner or, once it is queued, by the queue, which
// hands them from thread to thread by releases and acquires; a shared reference changes nothing
// outside this crate.
unsafe impl Send for Head {}
// SAFETY: as above.
unsafe impl Sync for Head {}

impl Default for Head {
    fn default() -> Self {
        Head::new()
    }
}

impl core::fmt::Debug for Head {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Head").finish_non_exhaustive()
    }
}
