//! What may lie in memory that other processes write, and that they may leave at any instant: types to which any bytes are a
//! value.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::{
    AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize,
};

/// Types of which every pattern of bytes, zeroes among them, is a value.
///
/// An owner may be killed between the two halves of a store, and the next one is handed what there is: it may make no
/// sense, but it must be *some* value of its type. So no `bool`, `char`, enum, reference or non-zero number; in memory
/// that processes share, no pointer or file descriptor either, which mean something to one of them only, and a layout that is
/// the same in every program: `repr(C)` or `repr(transparent)`.
///
/// # Safety
/// Every pattern of bytes is a valid value of the type (its padding aside), and nothing in it needs dropping.
///
/// ```
/// use leeward::shared::AnyBytes;
/// #[repr(C)]
/// struct Account {
///     balance: i64,
///     version: u64,
/// }
/// // SAFETY: two numbers.
/// unsafe impl AnyBytes for Account {}
/// ```
pub unsafe trait AnyBytes: Send + Sized + 'static {}

macro_rules! any_bytes {
    ($($type:ty)*) => {
        $(
            // SAFETY: numbers, and atomic ones.
            unsafe impl AnyBytes for $type {}
        )*
    };
}

any_bytes! { () u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 }
any_bytes! { AtomicU8 AtomicU16 AtomicU32 AtomicU64 AtomicUsize AtomicI8 AtomicI16 AtomicI32 AtomicI64 AtomicIsize }

// SAFETY: no claim is made about what is in it.
unsafe impl<T: Send + Copy + 'static> AnyBytes for MaybeUninit<T> {}
// SAFETY: nothing but such values.
unsafe impl<T: AnyBytes, const N: usize> AnyBytes for [T; N] {}
// SAFETY: transparent.
unsafe impl<T: AnyBytes> AnyBytes for UnsafeCell<T> {}
