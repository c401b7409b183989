//! Weak pointers in cells. One that never pointed anywhere has no allocation, and is null.

use alloc::rc::Weak as RcWeak;
use alloc::sync::Weak;
use core::ptr::null_mut;

use crate::RefCnt;

macro_rules! of_weak {
    ($weak:ident) => {
        // SAFETY: `into_raw` and `from_raw` are what is asked for; what they say of a pointer without an
        // allocation is not used.
        unsafe impl<T> RefCnt for $weak<T> {
            type Base = T;
            const TAG: usize = 1;

            fn as_ptr(me: &Self) -> *mut T {
                if $weak::ptr_eq(&$weak::new(), me) { null_mut() } else { $weak::as_ptr(me).cast_mut() }
            }
            fn into_ptr(me: Self) -> *mut T {
                if $weak::ptr_eq(&$weak::new(), &me) { null_mut() } else { $weak::into_raw(me).cast_mut() }
            }
            unsafe fn from_ptr(ptr: *const T) -> Self {
                if ptr.is_null() {
                    return $weak::new();
                }
                // SAFETY: the caller's promise.
                unsafe { $weak::from_raw(ptr) }
            }
        }
    };
}
of_weak!(Weak);
of_weak!(RcWeak);
