//! Callbacks: closures that begin with a [`Head`], and are queued and called through it.

use alloc::alloc::alloc;
use alloc::boxed::Box;
use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::backing::Backing;
use super::head::Head;
use super::worker;

/// What a callback counts towards the limit.
pub(super) trait Bytes: Copy {
    fn get(self) -> usize;
}

/// What was said.
impl Bytes for usize {
    fn get(self) -> usize {
        self
    }
}

/// As much as a `T` takes, which need not be kept with each callback.
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

/// A closure with a head.
#[repr(C)]
struct Callback<F, B> {
    head: Head,
    bytes: B,
    call: F,
}

/// Makes an object of a closure, which counts `bytes` towards the limit of `D`.
///
/// # Errors
/// The closure again, where there is no memory.
pub(super) fn callback<D: Backing, F: FnOnce() + Send + 'static, B: Bytes>(
    call: F,
    bytes: B,
) -> Result<NonNull<Head>, F> {
    /// # Safety
    /// `head` is that of a `Callback<F, B>` made by `callback::<D, F, B>`, for this call alone.
    unsafe extern "C-unwind" fn run<D: Backing, F: FnOnce(), B: Bytes>(head: NonNull<Head>) {
        // SAFETY: the caller's promise; allocated below as a box of this type would be.
        let boxed = unsafe { Box::from_raw(head.cast::<Callback<F, B>>().as_ptr()) };
        let Callback { bytes, call, .. } = *boxed;
        let state = D::state();
        state.queue.note_bytes(bytes.get());
        if worker::panics(call) {
            state.grace.counts.callback_panics.add(1);
        }
    }
    let layout = Layout::new::<Callback<F, B>>();
    // SAFETY: the head's two words are not nothing.
    let memory = unsafe { alloc(layout) };
    let Some(memory) = NonNull::new(memory.cast::<Callback<F, B>>()) else { return Err(call) };
    let head = Head::new(run::<D, F, B>);
    // SAFETY: fresh memory of this layout.
    unsafe { memory.write(Callback { head, bytes, call }) };
    Ok(memory.cast())
}
