//! Callbacks: something to be called once, or forgotten, as two words and its size.

use alloc::boxed::Box;
use core::ptr::NonNull;

/// Something to be called once, or forgotten.
pub(crate) struct Callback {
    data: NonNull<()>,
    call: unsafe fn(NonNull<()>),
    bytes: usize,
}

// SAFETY: both constructors ask for what may be sent.
unsafe impl Send for Callback {}

impl Callback {
    pub(super) fn from_closure<F: FnOnce() + Send + 'static>(callback: F) -> Callback {
        /// # Safety
        /// `data` is a boxed `F`, for this call alone.
        unsafe fn call<F: FnOnce()>(data: NonNull<()>) {
            // SAFETY: the caller's promise.
            let callback = unsafe { Box::from_raw(data.cast::<F>().as_ptr()) };
            callback();
        }
        let bytes = size_of::<F>();
        let data = NonNull::from(Box::leak(Box::new(callback))).cast();
        Callback { data, call: call::<F>, bytes }
    }

    /// # Safety
    /// `value` came from a box that is the caller's to give up, and may be dropped on another thread.
    pub(super) unsafe fn from_box<T: Send + 'static>(value: NonNull<T>, bytes: usize) -> Callback {
        /// # Safety
        /// `data` is a boxed `T`, for this call alone.
        unsafe fn free<T>(data: NonNull<()>) {
            // SAFETY: the caller's promise.
            drop(unsafe { Box::from_raw(data.cast::<T>().as_ptr()) });
        }
        Callback { data: value.cast(), call: free::<T>, bytes }
    }

    /// What it counts towards the limit.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn run(self) {
        // SAFETY: made by one of the two constructors, and consumed here.
        unsafe { (self.call)(self.data) };
    }

    /// The closure again, uncalled.
    ///
    /// # Safety
    /// Made by `from_closure::<F>`.
    pub(super) unsafe fn into_closure<F>(self) -> F {
        // SAFETY: the caller's promise.
        *unsafe { Box::from_raw(self.data.cast::<F>().as_ptr()) }
    }
}
