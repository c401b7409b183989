//! Tags compared within one word, seven at once. A slot behind an equal one may be reported
//! although its tag differs in the lowest bit; callers compare keys in any case. (After M.
//! Mycroft's test for a zero byte, 1987.)

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x0080_8080_8080_8080;

/// The slots whose tags were equal: the highest bit of each byte.
#[derive(Clone, Copy)]
pub(in crate::collect) struct Matches(u64);

impl Matches {
    #[inline(always)]
    pub(in crate::collect) fn new(tags: u64, tag: u8) -> Matches {
        let differences = tags ^ (u64::from(tag) * LOW);
        Matches(differences.wrapping_sub(LOW) & !differences & HIGH)
    }
}

impl Iterator for Matches {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let slot = self.0.trailing_zeros() as usize / 8;
        self.0 &= self.0 - 1;
        Some(slot)
    }
}
