//! Callbacks: objects that begin with a head of two words, and are queued and called through it.

use alloc::alloc::alloc;
use alloc::boxed::Box;
use core::alloc::Layout;
use core::cell::Cell;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::domain::Domain;
use super::worker;

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
pub(super) fn callback<D: Domain, F: FnOnce() + Send + 'static, B: Bytes>(
    call: F,
    bytes: B,
) -> Result<NonNull<Head>, F> {
    /// # Safety
    /// `head` is that of a `Callback<F, B>` made by `callback::<D, F, B>`, for this call alone.
    unsafe extern "C-unwind" fn run<D: Domain, F: FnOnce(), B: Bytes>(head: NonNull<Head>) {
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
    let head = Head { next: Cell::new(core::ptr::null_mut()), call: run::<D, F, B> };
    // SAFETY: fresh memory of this layout.
    unsafe { memory.write(Callback { head, bytes, call }) };
    Ok(memory.cast())
}
