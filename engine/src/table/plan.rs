//! The plan of a table. What a bucket has to know of its table is here, so that buckets do not
//! depend on tables.

use crate::table::key::Key;
use crate::table::lock_word;

/// The largest number of buckets of a table: 262,144.
pub const MOST_BUCKETS: usize = 1 << 18;
/// The smallest number of buckets of a space's table.
const FEWEST_BUCKETS: usize = 16;
/// The number of buckets for each thread of a space.
pub(crate) const BUCKETS_A_THREAD: usize = 4;

/// The rank of the first table that all spaces share. A larger table that takes over has a higher
/// rank.
pub(crate) const GLOBAL: u32 = 0;
/// The rank of a space's first table.
pub(crate) const PRIVATE: u32 = 1 << 16;

/// Returns true if all spaces share the tables of that rank.
pub(crate) const fn is_global(rank: u32) -> bool {
    rank < PRIVATE
}

/// The plan of a table: its length, its place, its rank and its seed.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    /// The number of buckets: a power of two.
    pub(crate) len: usize,
    /// True if lock words lie side by side; otherwise each is on a cache line of its own.
    pub(crate) dense: bool,
    /// The node near whose processors the table is allocated.
    pub(crate) node: Option<u32>,
    /// The table's place in the order in which buckets are locked.
    pub(crate) rank: u32,
    /// The seed with which keys are hashed.
    pub(crate) seed: u64,
}

impl Plan {
    /// Returns the bit that a key's waiters set in the filter of their bucket.
    #[inline]
    pub(crate) fn filter_bit(&self, key: &Key) -> u32 {
        lock_word::filter_bit(key.hash(self.seed))
    }
}

/// Returns the number of buckets of a private table for that many threads.
pub(crate) fn wanted(threads: u32) -> usize {
    let buckets = (threads as usize).saturating_mul(BUCKETS_A_THREAD).min(MOST_BUCKETS);
    buckets.next_power_of_two().max(FEWEST_BUCKETS)
}
