//! The lock word of a bucket: its lock, and a filter that says what its waiters wait for, so that a
//! wake that finds nobody looks at nothing else.
//!
//! In a table that is as large as its threads ask, each lock word has a cache line of its own,
//! apart from the list that the lock guards: threads that look at the lock while somebody holds it
//! do not take the line that its holder works on. In one that grew because there are more waiters
//! than that, lock words lie side by side: then they are so many that threads seldom meet on a
//! line.

use crate::Host;
use crate::atomic::{AtomicU32, LockQueue, Ordering};
use crate::host::preemption::PreemptionGuard;
use crate::mutant::{mutated, order};

const TAKEN: u32 = 1;
/// The bucket's waiters migrated into a larger table.
const MIGRATED: u32 = 2;
/// The number of filter bits.
const FILTER_BITS: u64 = 30;

/// What a lock word holds when nobody waits.
const EMPTY: u32 = 0;

/// The bit that a key's waiters set in the filter: one of 30, by the hash's upper half (the lower
/// chooses the bucket).
#[inline]
pub(crate) const fn filter_bit(hash: u64) -> u32 {
    1 << (2 + (((hash >> 32) * FILTER_BITS) >> 32))
}

/// A lock word without the bit of the lock: the filter and the migrated bit. The holder of the lock
/// has it, and stores it with the unlocking.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Filter(u32);

impl Filter {
    pub(crate) fn has_migrated(self) -> bool {
        self.0 & MIGRATED != 0
    }

    /// The filter with the bit of one more waiter.
    pub(crate) fn with(self, filter_bit: u32) -> Filter {
        Filter(self.0 | filter_bit)
    }

    /// The filter of waiters that have these bits and no others.
    pub(crate) fn of(self, filter_bits: u32) -> Filter {
        Filter(self.0 & MIGRATED | filter_bits)
    }

    /// The filter of a bucket whose list migrated to the table's successor.
    pub(crate) const CLOSED: Filter = Filter(MIGRATED);
}

pub(crate) struct LockWord {
    /// | bits | meaning |
    /// |---|---|
    /// | 0 | the lock is taken |
    /// | 1 | the list migrated to the table's successor, and stays empty |
    /// | 2-31 | filter bits of those in the list, and of the one that has the lock to get there; perhaps of some that are gone, but none when the list is empty |
    ///
    /// Changes only by taking the lock, and by its holder.
    word: AtomicU32,
    queue: LockQueue,
}

impl LockWord {
    pub(crate) fn new() -> LockWord {
        LockWord { word: AtomicU32::new(EMPTY), queue: LockQueue::new() }
    }

    /// Whether nobody waits for a key with that filter bit, nor is about to, and none migrated: one
    /// load, so that nothing slips between two.
    #[inline(always)]
    pub(crate) fn is_deserted(&self, filter_bit: u32) -> bool {
        let migrated = if mutated!(migrated_bit) { 0 } else { MIGRATED };
        // Relaxed: the fence before it orders it (pair W).
        self.word.load(Ordering::Relaxed) & (migrated | filter_bit) == 0
    }

    /// Whether anybody waits here: an estimate.
    pub(crate) fn is_occupied(&self) -> bool {
        // Relaxed: an estimate.
        self.word.load(Ordering::Relaxed) & !(TAKEN | MIGRATED) != 0
    }

    #[inline]
    pub(crate) fn has_migrated(&self) -> bool {
        // Acquire: the successor is there, with the waiters that were here; partner: `unlock`.
        self.word.load(Ordering::Acquire) & MIGRATED != 0
    }

    /// Takes the lock, and puts `filter_bit` there in the same step; it is gone with the lock
    /// unless what the lock word says is changed.
    #[inline(always)]
    pub(crate) fn lock<'a, H: Host>(&'a self, host: &'a H, filter_bit: u32) -> Held<'a, H> {
        let guard = PreemptionGuard::new(host);
        let filter = self.try_lock(filter_bit).unwrap_or_else(|| self.lock_contended(host, filter_bit));
        Held { lock_word: self, filter, _guard: guard }
    }

    #[inline]
    fn try_lock(&self, filter_bit: u32) -> Option<Filter> {
        // Acquire: what was done under the lock before; partner: `unlock`. Relaxed on failure:
        // nothing learnt.
        // Relaxed: a guess.
        let mut free = self.word.load(Ordering::Relaxed) & !TAKEN;
        loop {
            match self.word.compare_exchange(
                free,
                free | TAKEN | filter_bit,
                order!(Acquire, lock_acquire),
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(Filter(free)),
                Err(now) if now & TAKEN != 0 => return None,
                Err(now) => free = now,
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn lock_contended<H: Host>(&self, host: &H, filter_bit: u32) -> Filter {
        let mut tries = 0_u32;
        loop {
            host.spin(tries);
            tries = tries.saturating_add(1);
            // Relaxed: `try_lock` acquires.
            let free = || self.word.load(Ordering::Relaxed) & TAKEN == 0;
            if let Some(filter) = self.queue.try_take(free, || self.try_lock(filter_bit)) {
                return filter;
            }
        }
    }

    /// Gives the lock up, and says this from now on.
    #[inline]
    fn unlock(&self, filter: Filter) {
        // Release: what was done under the lock; partners: `try_lock`, `has_migrated`.
        self.word.store(filter.0, order!(Release, lock_release));
        self.queue.released();
    }
}

/// A lock that is held.
pub(crate) struct Held<'a, H: Host> {
    lock_word: &'a LockWord,
    /// What the lock word says when the lock is given up.
    pub(crate) filter: Filter,
    // Preemption is on again when the lock was given up.
    _guard: PreemptionGuard<'a, H>,
}

impl<H: Host> Drop for Held<'_, H> {
    fn drop(&mut self) {
        self.lock_word.unlock(self.filter);
    }
}

#[cfg(all(test, not(leeward_loom)))]
mod tests {
    use super::*;

    #[test]
    fn tags_are_thirty_bits_beside_those_of_lock_and_mark() {
        let all = (0..=u32::MAX).step_by(1 << 20).fold(0, |all, upper| all | filter_bit(u64::from(upper) << 32));
        assert_eq!(all, !(TAKEN | MIGRATED));
        assert_eq!(filter_bit(u64::MAX), 1 << 31);
        assert_eq!(size_of::<LockWord>(), 4);
    }
}
