//! Pointers that count: what a cell can hold.

use alloc::rc::Rc;
use alloc::sync::Arc;
use core::pin::Pin;
use core::ptr::null_mut;

/// A pointer with a count: `Arc`, `Rc`, their `Pin`s and `Option`s, `Weak` by the feature `weak`, and
/// what other crates implement it for.
///
/// # Safety
/// - [`into_ptr`](Self::into_ptr), [`as_ptr`](Self::as_ptr) and [`from_ptr`](Self::from_ptr) speak of
///   one address, which the value keeps when it moves, and `from_ptr` undoes `into_ptr`.
/// - The value is no wider than a pointer to a sized type, and null stands for one without a count
///   only.
/// - A `clone` is another count of the same value, with the same address.
pub unsafe trait RefCnt: Clone {
    /// The type of the value that is pointed to.
    type Base;

    /// What tells types of one address and several counts apart in arc-swap. Not used here, where an
    /// `Arc`'s counts alone are borrowed.
    const TAG: usize = 0;

    /// True if a count is that of an `Arc` whose value is at the address: then a load needs none.
    #[doc(hidden)]
    const IS_LENT: bool = false;

    /// Turns the pointer and its count into an address.
    fn into_ptr(me: Self) -> *mut Self::Base;

    /// Returns the address; the count stays where it is.
    fn as_ptr(me: &Self) -> *mut Self::Base;

    /// Turns an address back into the pointer, with its count.
    ///
    /// # Safety
    /// `ptr` is from [`into_ptr`](Self::into_ptr) of this type, once for each call.
    unsafe fn from_ptr(ptr: *const Self::Base) -> Self;

    /// Makes one count more, and returns the address.
    fn inc(me: &Self) -> *mut Self::Base {
        Self::into_ptr(Self::clone(me))
    }

    /// Gives a count back.
    ///
    /// # Safety
    /// As [`from_ptr`](Self::from_ptr).
    unsafe fn dec(ptr: *const Self::Base) {
        // SAFETY: the caller's promise.
        drop(unsafe { Self::from_ptr(ptr) });
    }
}

// SAFETY: `into_raw` and `from_raw` are what is asked for.
unsafe impl<T> RefCnt for Arc<T> {
    type Base = T;
    const IS_LENT: bool = true;

    fn into_ptr(me: Arc<T>) -> *mut T {
        Arc::into_raw(me).cast_mut()
    }
    fn as_ptr(me: &Arc<T>) -> *mut T {
        Arc::as_ptr(me).cast_mut()
    }
    unsafe fn from_ptr(ptr: *const T) -> Arc<T> {
        // SAFETY: the caller's promise.
        unsafe { Arc::from_raw(ptr) }
    }
}

// SAFETY: as of `Arc`.
unsafe impl<T> RefCnt for Rc<T> {
    type Base = T;

    fn into_ptr(me: Rc<T>) -> *mut T {
        Rc::into_raw(me).cast_mut()
    }
    fn as_ptr(me: &Rc<T>) -> *mut T {
        Rc::as_ptr(me).cast_mut()
    }
    unsafe fn from_ptr(ptr: *const T) -> Rc<T> {
        // SAFETY: the caller's promise.
        unsafe { Rc::from_raw(ptr) }
    }
}

// SAFETY: as of the pointer, and null for `None`.
unsafe impl<T: RefCnt> RefCnt for Option<T> {
    type Base = T::Base;
    const TAG: usize = T::TAG;
    const IS_LENT: bool = T::IS_LENT;

    fn into_ptr(me: Option<T>) -> *mut T::Base {
        me.map_or(null_mut(), T::into_ptr)
    }
    fn as_ptr(me: &Option<T>) -> *mut T::Base {
        me.as_ref().map_or(null_mut(), T::as_ptr)
    }
    unsafe fn from_ptr(ptr: *const T::Base) -> Option<T> {
        // SAFETY: the caller's promise; an address that is not null is a `Some`'s.
        (!ptr.is_null()).then(|| unsafe { T::from_ptr(ptr) })
    }
}

// SAFETY: as of `Arc`.
unsafe impl<T> RefCnt for Pin<Arc<T>> {
    type Base = T;
    const IS_LENT: bool = true;

    fn into_ptr(me: Pin<Arc<T>>) -> *mut T {
        // SAFETY: the value is not moved, and pinned again by `from_ptr`.
        Arc::into_raw(unsafe { Pin::into_inner_unchecked(me) }).cast_mut()
    }
    fn as_ptr(me: &Pin<Arc<T>>) -> *mut T {
        core::ptr::from_ref::<T>(me).cast_mut()
    }
    unsafe fn from_ptr(ptr: *const T) -> Self {
        // SAFETY: the caller's promise.
        let arc = unsafe { Arc::from_raw(ptr) };
        // SAFETY: it was pinned before `into_ptr`.
        unsafe { Pin::new_unchecked(arc) }
    }
}

// SAFETY: as of `Rc`.
unsafe impl<T> RefCnt for Pin<Rc<T>> {
    type Base = T;

    fn into_ptr(me: Pin<Rc<T>>) -> *mut T {
        // SAFETY: the value is not moved, and pinned again by `from_ptr`.
        Rc::into_raw(unsafe { Pin::into_inner_unchecked(me) }).cast_mut()
    }
    fn as_ptr(me: &Pin<Rc<T>>) -> *mut T {
        core::ptr::from_ref::<T>(me).cast_mut()
    }
    unsafe fn from_ptr(ptr: *const T) -> Self {
        // SAFETY: the caller's promise.
        let rc = unsafe { Rc::from_raw(ptr) };
        // SAFETY: it was pinned before `into_ptr`.
        unsafe { Pin::new_unchecked(rc) }
    }
}
