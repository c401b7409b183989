//! An array of words as a shared memory, for interpreters that keep a guest's memory so, and for
//! tests. Implements `linear`.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::LinearMemory;

/// A shared memory whose length is the array's. The first byte of a word is its lowest 8 bits, on
/// every machine.
impl<const COUNT: usize> LinearMemory for [AtomicU64; COUNT] {
    fn length(&self) -> u64 {
        8 * COUNT as u64
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn load32(&self, offset: u64) -> Option<u32> {
        let above = self.load64(offset & !7)? >> (8 * (offset & 4));
        (offset % 4 == 0).then_some(above as u32)
    }

    fn load64(&self, offset: u64) -> Option<u64> {
        let word = self.get(usize::try_from(offset / 8).ok()?)?;
        // SeqCst: the guest's atomics are sequentially consistent.
        (offset % 8 == 0).then(|| word.load(Ordering::SeqCst))
    }
}
