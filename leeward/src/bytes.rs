//! The types that may lie in memory which other processes write, and may leave half-written at any
//! instant: those of which any bytes are a value.

use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::sync::atomic::{
    AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize,
};

/// A type of which every pattern of bytes, zeroes among them, is a value.
///
/// An owner may be killed in the middle of a store, and the next one is handed what there is: it
/// may make no sense, but it must be *some* value of its type. That excludes `bool`, `char`, enums,
/// references and non-zero numbers. In memory that processes share it also excludes pointers and
/// file descriptors, which mean something to one process only, and asks for a layout that is the
/// same in every program: `repr(C)` or `repr(transparent)`.
///
/// With feature `derive` of this crate, `#[derive(AnyBytes)]` implements it for a struct whose fields
/// are all `AnyBytes`, without `unsafe`. It is `leeward-derive`'s, and brings no other crate.
///
#[cfg_attr(feature = "derive", doc = "```")]
#[cfg_attr(not(feature = "derive"), doc = "```ignore")]
/// use leeward::shared::AnyBytes;
/// #[derive(AnyBytes)]
/// #[repr(C)]
/// struct Account {
///     balance: i64,
///     version: u64,
/// }
/// # fn takes<T: AnyBytes>() {}
/// # takes::<Account>();
/// ```
///
/// # Safety
/// Every pattern of bytes is a valid value of the type (its padding aside), and nothing in it needs
/// dropping.
///
/// ```
/// use leeward::shared::AnyBytes;
/// #[repr(C)]
/// union Word {
///     whole: u64,
///     halves: [u32; 2],
/// }
/// // SAFETY: numbers either way, of which all bytes are values.
/// unsafe impl AnyBytes for Word {}
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` may lie in memory that another process left half-written only if it is `AnyBytes`",
    label = "some patterns of bytes may be no value of it",
    note = "for a `#[repr(C)]` type of integers and arrays of them, write `#[derive(leeward::shared::AnyBytes)]` \
            (in Cargo.toml: `leeward = {{ .., features = [\"derive\"] }}`), or `unsafe impl AnyBytes for {Self} {{}}`; \
            use `u8` for `bool` and enums, `u32` for `char`, and indices for references"
)]
pub unsafe trait AnyBytes: Send + Sized + 'static {}

#[cfg(feature = "derive")]
pub use leeward_derive::AnyBytes;

macro_rules! any_bytes {
    ($($type:ty)*) => {
        $(
            // SAFETY: a number, or an atomic number.
            unsafe impl AnyBytes for $type {}
        )*
    };
}

any_bytes! { () u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 }
any_bytes! { AtomicU8 AtomicU16 AtomicU32 AtomicU64 AtomicUsize AtomicI8 AtomicI16 AtomicI32 AtomicI64 AtomicIsize }

// SAFETY: it claims nothing about its bytes.
unsafe impl<T: Send + Copy + 'static> AnyBytes for MaybeUninit<T> {}
// SAFETY: it has no bytes.
unsafe impl<T: ?Sized + Send + 'static> AnyBytes for PhantomData<T> {}
// SAFETY: an array of such values, and nothing else.
unsafe impl<T: AnyBytes, const N: usize> AnyBytes for [T; N] {}
// SAFETY: `repr(transparent)`.
unsafe impl<T: AnyBytes> AnyBytes for UnsafeCell<T> {}
