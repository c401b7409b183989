//! What may lie in memory that other processes write.

use core::cell::UnsafeCell;
use core::sync::atomic;

use super::{Barrier, Event, Latch, Mutex, Once, RwLock, Semaphore};

/// Types that may lie in memory that several processes map.
///
/// # Safety
/// - Any bytes are a value of the type, zeroes and garbage alike: no `bool`, no `char`, no enum, no reference, no `NonNull`.
/// - It holds nothing that means something in one process only: no address, no file descriptor, no thread's name.
/// - Its layout is fixed: primitive, `repr(C)` or `repr(transparent)`, the same in every program that maps it.
/// - It needs no drop: nobody knows who is the last.
pub unsafe trait ProcessShared: 'static {}

macro_rules! process_shared {
    ($($type:ty),* $(,)?) => {
        $(
            // SAFETY: any bytes are one, and they mean the same everywhere.
            unsafe impl ProcessShared for $type {}
        )*
    };
}

process_shared!(
    (),
    u8,
    u16,
    u32,
    u64,
    u128,
    usize,
    i8,
    i16,
    i32,
    i64,
    i128,
    isize,
    f32,
    f64,
    Semaphore,
    Barrier,
    Event,
    Latch,
    Once,
    atomic::AtomicU8,
    atomic::AtomicU16,
    atomic::AtomicU32,
    atomic::AtomicUsize,
    atomic::AtomicI8,
    atomic::AtomicI16,
    atomic::AtomicI32,
    atomic::AtomicIsize,
);

#[cfg(target_has_atomic = "64")]
process_shared!(atomic::AtomicU64, atomic::AtomicI64);

// SAFETY: as its elements; an array has no padding of its own.
unsafe impl<T: ProcessShared, const N: usize> ProcessShared for [T; N] {}
// SAFETY: transparent.
unsafe impl<T: ProcessShared> ProcessShared for UnsafeCell<T> {}
// SAFETY: a lock word, of which any bytes are one, and the value; `repr(C)`.
unsafe impl<T: ProcessShared> ProcessShared for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: ProcessShared> ProcessShared for RwLock<T> {}
