//! What tagged pointers point to.

use alloc::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use alloc::boxed::Box;
use core::mem::MaybeUninit;

/// A type that [`Atomic`](super::Atomic), [`Owned`](super::Owned) and [`Shared`](super::Shared) can
/// point to: every sized type, and `[MaybeUninit<T>]`, whose length lies before its elements, so
/// that one word points to both.
///
/// ```
/// use leeward::rcu::epoch::Owned;
/// use std::mem::MaybeUninit;
/// let slice = Owned::<[MaybeUninit<u32>]>::init(10);
/// assert_eq!(slice.len(), 10);
/// ```
///
/// Only this crate implements it: safe functions rely on `ALIGN` and on what the functions do.
pub trait Pointable: sealed::Sealed {
    /// The alignment in bytes, a power of two. The lower bits of a pointer, which it leaves free,
    /// are the tag.
    const ALIGN: usize;

    /// What a value is made of: itself, or a slice's length.
    type Init;

    #[doc(hidden)]
    fn init(init: Self::Init) -> *mut ();
    /// # Safety
    /// `init` returned the pointer, and the value is alive for `'a`.
    #[doc(hidden)]
    unsafe fn deref<'a>(pointer: *mut ()) -> &'a Self;
    /// # Safety
    /// As for `deref`, and there is no other reference.
    #[doc(hidden)]
    unsafe fn deref_mut<'a>(pointer: *mut ()) -> &'a mut Self;
    /// # Safety
    /// `init` returned the pointer, and the value is not used any more.
    #[doc(hidden)]
    unsafe fn drop(pointer: *mut ());
}

impl<T> Pointable for T {
    const ALIGN: usize = align_of::<T>();
    type Init = T;

    fn init(init: T) -> *mut () {
        Box::into_raw(Box::new(init)).cast()
    }

    unsafe fn deref<'a>(pointer: *mut ()) -> &'a T {
        // SAFETY: the caller's promise.
        unsafe { &*pointer.cast::<T>() }
    }

    unsafe fn deref_mut<'a>(pointer: *mut ()) -> &'a mut T {
        // SAFETY: the caller's promise.
        unsafe { &mut *pointer.cast::<T>() }
    }

    unsafe fn drop(pointer: *mut ()) {
        // SAFETY: from a box, by the caller's promise.
        drop(unsafe { Box::from_raw(pointer.cast::<T>()) });
    }
}

/// A slice's allocation: its length, then its elements.
#[repr(C)]
struct Slice<T> {
    length: usize,
    elements: [MaybeUninit<T>; 0],
}

impl<T> Slice<T> {
    /// Returns the layout of a slice of that length, if there can be one.
    fn layout(length: usize) -> Option<Layout> {
        let elements = Layout::array::<MaybeUninit<T>>(length).ok()?;
        let (whole, _) = Layout::new::<Slice<T>>().extend(elements).ok()?;
        Some(whole.pad_to_align())
    }

    /// Returns the slice's length and the address of its first element.
    ///
    /// # Safety
    /// `init` returned the pointer, and the slice is alive.
    unsafe fn parts(pointer: *mut ()) -> (*mut MaybeUninit<T>, usize) {
        let slice = pointer.cast::<Slice<T>>();
        // SAFETY: the caller's promise.
        let length = unsafe { (*slice).length };
        // SAFETY: as above; the address keeps the provenance of the whole allocation.
        let elements = unsafe { &raw mut (*slice).elements };
        (elements.cast(), length)
    }
}

impl<T> Pointable for [MaybeUninit<T>] {
    const ALIGN: usize = align_of::<Slice<T>>();
    type Init = usize;

    fn init(length: usize) -> *mut () {
        let Some(layout) = Slice::<T>::layout(length) else { panic!("leeward: a slice of {length} elements") };
        // SAFETY: the layout is not empty: it has the length.
        let slice = unsafe { alloc(layout) }.cast::<Slice<T>>();
        if slice.is_null() {
            handle_alloc_error(layout);
        }
        // SAFETY: the fresh memory, aligned.
        unsafe { slice.write(Slice { length, elements: [] }) };
        slice.cast()
    }

    unsafe fn deref<'a>(pointer: *mut ()) -> &'a Self {
        // SAFETY: the caller's promise.
        let (elements, length) = unsafe { Slice::<T>::parts(pointer) };
        // SAFETY: the elements that were allocated, which need not be initialized.
        unsafe { core::slice::from_raw_parts(elements, length) }
    }

    unsafe fn deref_mut<'a>(pointer: *mut ()) -> &'a mut Self {
        // SAFETY: the caller's promise.
        let (elements, length) = unsafe { Slice::<T>::parts(pointer) };
        // SAFETY: as above, and the caller's alone.
        unsafe { core::slice::from_raw_parts_mut(elements, length) }
    }

    unsafe fn drop(pointer: *mut ()) {
        // SAFETY: the caller's promise.
        let (_, length) = unsafe { Slice::<T>::parts(pointer) };
        if let Some(layout) = Slice::<T>::layout(length) {
            // SAFETY: allocated by `init` with this layout.
            unsafe { dealloc(pointer.cast(), layout) };
        }
    }
}

/// Returns the bits of an address that a tag may have.
pub(super) const fn tag_bits<T: ?Sized + Pointable>() -> usize {
    T::ALIGN - 1
}

/// Returns the pointer with another tag.
pub(super) fn with_tag<T: ?Sized + Pointable>(pointer: *mut (), tag: usize) -> *mut () {
    pointer.map_addr(|address| address & !tag_bits::<T>() | tag & tag_bits::<T>())
}

/// Returns the pointer without its tag.
pub(super) fn untagged<T: ?Sized + Pointable>(pointer: *mut ()) -> *mut () {
    with_tag::<T>(pointer, 0)
}

/// Returns the pointer's tag.
pub(super) fn tag<T: ?Sized + Pointable>(pointer: *mut ()) -> usize {
    pointer.addr() & tag_bits::<T>()
}

mod sealed {
    pub trait Sealed {}
    impl<T> Sealed for T {}
    impl<T> Sealed for [core::mem::MaybeUninit<T>] {}
}
