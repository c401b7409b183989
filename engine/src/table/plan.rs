//! How a table is made. What a bucket has to know of its table is here, so that it need not know
//! the table.

use crate::table::key::Key;
use crate::table::lock_word;

/// The most buckets of a table.
pub const MOST_BUCKETS: usize = 1 << 18;
/// A space's first table has at least so many.
const FEWEST_BUCKETS: usize = 16;
/// Buckets for a thread of a space.
pub(crate) const BUCKETS_A_THREAD: usize = 4;

/// The rank of the first table that all spaces share. A larger table that takes over has a higher
/// rank.
pub(crate) const GLOBAL: u32 = 0;
/// The rank of a space's first table.
pub(crate) const PRIVATE: u32 = 1 << 16;

/// Whether all spaces share the tables of that rank.
pub(crate) const fn is_global(rank: u32) -> bool {
    rank < PRIVATE
}

/// How a table is made.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    /// How many buckets: a power of two.
    pub(crate) len: usize,
    /// Whether lock words lie side by side, else each on a line of its own.
    pub(crate) dense: bool,
    /// Near the processors of that node.
    pub(crate) node: Option<u32>,
    pub(crate) rank: u32,
    /// What its keys are hashed with.
    pub(crate) seed: u64,
}

impl Plan {
    /// The bit that a key's waiters set in the filter of their bucket.
    pub(crate) fn filter_bit(&self, key: &Key) -> u32 {
        lock_word::filter_bit(key.hash(self.seed))
    }
}

/// How large a space's table is for so many threads.
pub(crate) fn wanted(threads: u32) -> usize {
    let buckets = (threads as usize).saturating_mul(BUCKETS_A_THREAD).min(MOST_BUCKETS);
    buckets.next_power_of_two().max(FEWEST_BUCKETS)
}
