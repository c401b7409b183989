//! Tags compared by SSE2, which every x86-64 processor has: all seven at once.

use core::arch::x86_64::{_mm_cmpeq_epi8, _mm_cvtsi64_si128, _mm_movemask_epi8, _mm_set1_epi8};

/// The slots whose tags were equal, one bit each.
#[derive(Clone, Copy)]
pub(in crate::collect) struct Matches(u32);

impl Matches {
    #[inline(always)]
    pub(in crate::collect) fn new(tags: u64, tag: u8) -> Matches {
        // SAFETY: every x86-64 processor has SSE2.
        let wanted = unsafe { _mm_set1_epi8(tag as i8) };
        // SAFETY: as above.
        let tags = unsafe { _mm_cvtsi64_si128(tags as i64) };
        // SAFETY: as above.
        let equal = unsafe { _mm_cmpeq_epi8(tags, wanted) };
        // SAFETY: as above.
        Matches(unsafe { _mm_movemask_epi8(equal) } as u32 & 0x7f)
    }
}

impl Iterator for Matches {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let slot = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(slot)
    }
}
