//! Bytes as a source of choices, followed by zeroes.

pub struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    pub fn of(data: &[u8]) -> Bytes<'_> {
        Bytes(data)
    }

    pub fn are_left(&self) -> bool {
        !self.0.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    pub fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end
    }

    pub fn number(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }
}

/// Returns bytes for tests without a fuzzer, which depend on the seed alone.
#[cfg(test)]
pub fn random(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let byte = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    (0..length).map(byte).collect()
}
