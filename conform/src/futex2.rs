//! The calls of futex2, as values, and points in time.

use core::mem::size_of;

use crate::futex::Call;
use crate::numbers;

/// A word of 32 bits, of any process that maps it.
pub(crate) const U32: u32 = 2;
/// A word of 32 bits of this process.
pub(crate) const U32_PRIVATE: u32 = 2 | 128;
/// The number of a memory node is in the word behind it.
pub(crate) const NUMA: u32 = 4;
/// The number of a memory node is that of the policy of the word's memory.
pub(crate) const MPOL: u32 = 8;
/// The mask of every bit.
pub(crate) const ANY: usize = u32::MAX as usize;

/// One word that `futex_waitv` waits for: `struct futex_waitv`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Entry {
    pub(crate) value: u64,
    pub(crate) address: u64,
    pub(crate) flags: u32,
    pub(crate) reserved: u32,
}

const _: () = assert!(size_of::<Entry>() == 24);

impl Entry {
    /// A word that holds 0.
    pub(crate) const fn new(address: usize, flags: u32) -> Entry {
        Entry { value: 0, address: address as u64, flags, reserved: 0 }
    }
}

fn call(number: usize, arguments: [usize; 6]) -> Call {
    Call { number, arguments }
}

/// Waits until one of the words is woken; `time`: the address of a point in time, or 0.
pub(crate) fn waitv(entries: &[Entry], time: usize, clock: usize) -> Call {
    waitv_of(entries.as_ptr().expose_provenance(), entries.len(), time, clock)
}

/// As `waitv`, with an array at any address, and any number of entries.
pub(crate) fn waitv_of(array: usize, count: usize, time: usize, clock: usize) -> Call {
    call(numbers::FUTEX_WAITV, [array, count, 0, time, clock, 0])
}

/// Waits while the word holds the value, for wakes that have one of the bits; `time`: the address of a
/// point in time, or 0.
pub(crate) fn wait2(word: usize, value: usize, bits: usize, flags: u32, (time, clock): (usize, usize)) -> Call {
    call(numbers::FUTEX_WAIT, [word, value, bits, flags as usize, time, clock])
}

/// Wakes some of those that wait with one of the bits.
pub(crate) fn wake2(word: usize, bits: usize, count: i32, flags: u32) -> Call {
    call(numbers::FUTEX_WAKE, [word, bits, count as usize, flags as usize, 0, 0])
}

/// Wakes some that wait for the first word, if it holds its value, and moves some others to the second.
pub(crate) fn requeue2(words: &[Entry; 2], flags: u32, wake: i32, moved: i32) -> Call {
    let array = words.as_ptr().expose_provenance();
    call(numbers::FUTEX_REQUEUE, [array, flags as usize, wake as usize, moved as usize, 0, 0])
}
