//! What the adapter asks of a runtime's linear memory. The runtime implements it; `guest` and
//! `memory` call it.

use alloc::sync::Arc;

/// A linear memory of a runtime's: its current length, and atomic loads from it.
///
/// The trait is safe to implement and safe to call: an offset is checked by the implementation,
/// and a wrong answer breaks the guest's waits and nothing else. The loads are called while a lock
/// of the engine's is held: they must not sleep, and must not call the [`Runtime`](crate::Runtime).
/// So a memory that may grow is reserved up to its maximum when it is made, as shared memories are,
/// and growth changes nothing but the length.
///
/// ```
/// use leeward_wasm::LinearMemory;
/// use std::sync::atomic::{AtomicU32, AtomicU64, AtomicU64 as Length, Ordering::SeqCst};
///
/// /// A memory at a fixed place, with room for the largest length that it may grow to.
/// struct Mapping {
///     base: *mut u8,
///     bytes: Length,
/// }
///
/// impl Mapping {
///     /// Returns a pointer to `size` bytes at `offset`, if they are within the length.
///     fn at(&self, offset: u64, size: u64) -> Option<*mut u8> {
///         let end = offset.checked_add(size)?;
///         let within = offset % size == 0 && end <= self.length();
///         within.then(|| self.base.wrapping_add(offset as usize))
///     }
/// }
///
/// impl LinearMemory for Mapping {
///     fn length(&self) -> u64 {
///         self.bytes.load(SeqCst)
///     }
///     fn is_shared(&self) -> bool {
///         true
///     }
///     fn load32(&self, offset: u64) -> Option<u32> {
///         let word = self.at(offset, 4)?.cast();
///         // SAFETY: aligned, and within the mapping, which outlives this and is accessed by
///         // atomics only.
///         let word = unsafe { AtomicU32::from_ptr(word) };
///         Some(u32::from_le(word.load(SeqCst)))
///     }
///     fn load64(&self, offset: u64) -> Option<u64> {
///         let word = self.at(offset, 8)?.cast();
///         // SAFETY: as above.
///         let word = unsafe { AtomicU64::from_ptr(word) };
///         Some(u64::from_le(word.load(SeqCst)))
///     }
/// }
///
/// let pages = Box::into_raw(Box::new([7_u64, 0]));
/// let mapping = Mapping { base: pages.cast(), bytes: Length::new(8) };
/// assert_eq!((mapping.load32(0), mapping.load64(0), mapping.load64(8)), (Some(7), Some(7), None));
/// mapping.bytes.store(16, SeqCst);
/// assert_eq!(mapping.load64(8), Some(0));
/// # // SAFETY: it came from there, and the mapping is not used any more.
/// # drop(unsafe { Box::from_raw(pages) });
/// ```
pub trait LinearMemory {
    /// Returns the current length in bytes. It may grow at any time and never shrinks.
    fn length(&self) -> u64;

    /// Returns true if the memory was declared `shared`, always the same. In a memory that is not,
    /// waits trap and notifies find no waiter.
    fn is_shared(&self) -> bool;

    /// Reads the 4 bytes at an offset in one sequentially consistent access, as a little-endian
    /// number. Returns `None` if they are not aligned or not within the current length.
    fn load32(&self, offset: u64) -> Option<u32>;

    /// Reads the 8 bytes at an offset in one sequentially consistent access, as a little-endian
    /// number. Returns `None` if they are not aligned or not within the current length, and where
    /// the machine has no such access.
    fn load64(&self, offset: u64) -> Option<u64>;
}

impl<M: LinearMemory + ?Sized> LinearMemory for Arc<M> {
    fn length(&self) -> u64 {
        (**self).length()
    }

    fn is_shared(&self) -> bool {
        (**self).is_shared()
    }

    fn load32(&self, offset: u64) -> Option<u32> {
        (**self).load32(offset)
    }

    fn load64(&self, offset: u64) -> Option<u64> {
        (**self).load64(offset)
    }
}
