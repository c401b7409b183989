//! What [`Collector::retire`](crate::Collector::retire) and [`Guard::defer_retire`](crate::Guard::defer_retire) take
//! to free an object.

use std::ptr;

use crate::{AsLink, Link};

/// Frees an object that came from a [`Box`].
///
/// # Safety
/// A `T` was retired. Else that of [`Box::from_raw`].
pub unsafe fn boxed<T: AsLink>(link: *mut Link) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(Link::cast::<T>(link)) });
}

/// Drops an object where it is.
///
/// # Safety
/// A `T` was retired. Else that of [`ptr::drop_in_place`].
pub unsafe fn in_place<T: AsLink>(link: *mut Link) {
    // SAFETY: the caller's promise.
    unsafe { ptr::drop_in_place(Link::cast::<T>(link)) };
}
