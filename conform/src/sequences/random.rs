//! Choices from a seed: splitmix64 (G. L. Steele, D. Lea and C. H. Flood, Fast splittable pseudorandom number
//! generators, 2014).
//!
//! The file uses core alone: the tests of the engine and of leeward include it by its path.

/// A generator of numbers that only look random: one seed, one sequence of choices.
pub struct Random(pub u64);

impl Random {
    /// Returns the next number, any of 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Returns a number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Returns one of these values.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.next() as usize % from.len()]
    }

    /// Returns true in this many of 100 cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}
