//! What [`Collector::retire`] and [`Guard::defer_retire`](crate::Guard::defer_retire) take to free an object.

use std::ptr;

use crate::Collector;

/// Frees an object that came from a [`Box`].
///
/// # Safety
/// That of [`Box::from_raw`].
pub unsafe fn boxed<T>(ptr: *mut T, _: &Collector) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(ptr) });
}

/// Drops an object where it is.
///
/// # Safety
/// That of [`ptr::drop_in_place`].
pub unsafe fn in_place<T>(ptr: *mut T, _: &Collector) {
    // SAFETY: the caller's promise.
    unsafe { ptr::drop_in_place(ptr) };
}
