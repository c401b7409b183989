//! Callbacks: calls that a [`Head`] precedes, through which they are queued and called.

use alloc::alloc::alloc;
use alloc::boxed::Box;
use core::alloc::Layout;
use core::ptr::NonNull;

use super::super::backing::Backing;
use super::head::Head;

/// What is called: closures, and what knows more of itself (`retired.rs`).
pub(in crate::rcu) trait Call {
    fn call(self);
}

impl<F: FnOnce()> Call for F {
    fn call(self) {
        self();
    }
}

/// The bytes that a callback which calls `F` counts towards the limit: as many when it is queued as
/// when it is about to be called.
pub(in crate::rcu) trait Bytes<F>: Copy {
    fn of(self, call: &F) -> usize;
}

/// A number that the caller states, which is kept with the callback.
impl<F> Bytes<F> for usize {
    fn of(self, _: &F) -> usize {
        self
    }
}

/// The size of what is called, which need not be kept with each callback.
#[derive(Clone, Copy)]
pub(in crate::rcu) struct OwnSize;

impl<F> Bytes<F> for OwnSize {
    fn of(self, _: &F) -> usize {
        size_of::<F>()
    }
}

/// What is called, with a head, which comes first.
#[repr(C)]
struct Callback<F, B> {
    head: Head,
    bytes: B,
    call: F,
}

/// Makes a callback that counts `bytes` towards the limit of `D`. Who has the head called answers for
/// what `call` borrows, and for the thread.
///
/// # Errors
/// `call`, where there is no memory.
pub(in crate::rcu) fn callback<D: Backing, F: Call, B: Bytes<F>>(call: F, bytes: B) -> Result<NonNull<Head>, F> {
    /// Runs and frees a callback.
    ///
    /// # Safety
    /// `head` belongs to a `Callback<F, B>` that `callback::<D, F, B>` made, and this is its only
    /// call.
    unsafe extern "C-unwind" fn run<D: Backing, F: Call, B: Bytes<F>>(head: NonNull<Head>) {
        // SAFETY: by the caller's promise, it was allocated below, as a box of this type is.
        let boxed = unsafe { Box::from_raw(head.cast::<Callback<F, B>>().as_ptr()) };
        let Callback { bytes, call, .. } = *boxed;
        D::state().queue.note_bytes(bytes.of(&call));
        call.call();
    }
    let layout = Layout::new::<Callback<F, B>>();
    // SAFETY: the layout is not empty: it has the head's two words.
    let memory = unsafe { alloc(layout) };
    let Some(memory) = NonNull::new(memory.cast::<Callback<F, B>>()) else { return Err(call) };
    let head = Head::of(run::<D, F, B>);
    // SAFETY: the memory is fresh and has this layout.
    unsafe { memory.write(Callback { head, bytes, call }) };
    Ok(memory.cast())
}
