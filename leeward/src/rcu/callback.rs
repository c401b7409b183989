//! Callbacks: closures that a [`Head`] precedes, through which they are queued and called.
//!
//! Called by `defer/queueing.rs`.

use alloc::alloc::alloc;
use alloc::boxed::Box;
use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::backing::Backing;
use super::head::Head;

/// The bytes that a callback counts towards the limit.
pub(super) trait Bytes: Copy {
    fn get(self) -> usize;
}

/// A number that the caller states, which is kept with the callback.
impl Bytes for usize {
    fn get(self) -> usize {
        self
    }
}

/// The size of a `T`, which need not be kept with each callback.
pub(super) struct SizeOf<T>(PhantomData<fn() -> T>);

impl<T> SizeOf<T> {
    pub(super) const NEW: SizeOf<T> = SizeOf(PhantomData);
}

impl<T> Clone for SizeOf<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for SizeOf<T> {}

impl<T> Bytes for SizeOf<T> {
    fn get(self) -> usize {
        size_of::<T>()
    }
}

/// A closure with a head, which comes first.
#[repr(C)]
struct Callback<F, B> {
    head: Head,
    bytes: B,
    call: F,
}

/// Makes a callback of a closure, which counts `bytes` towards the limit of `D`. Who has the head
/// called answers for what the closure borrows, and for the thread.
///
/// # Errors
/// The closure, where there is no memory.
pub(super) fn callback<D: Backing, F: FnOnce(), B: Bytes>(call: F, bytes: B) -> Result<NonNull<Head>, F> {
    /// Runs and frees a callback.
    ///
    /// # Safety
    /// `head` belongs to a `Callback<F, B>` that `callback::<D, F, B>` made, and this is its only
    /// call.
    unsafe extern "C-unwind" fn run<D: Backing, F: FnOnce(), B: Bytes>(head: NonNull<Head>) {
        // SAFETY: by the caller's promise, it was allocated below, as a box of this type is.
        let boxed = unsafe { Box::from_raw(head.cast::<Callback<F, B>>().as_ptr()) };
        let Callback { bytes, call, .. } = *boxed;
        D::state().queue.note_bytes(bytes.get());
        call();
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
