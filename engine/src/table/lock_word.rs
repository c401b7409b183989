//! The lock word of a bucket: its lock, and the occupancy filter, by which a wake that finds no
//! waiter reads nothing else.
//!
//! In a table that is as large as its threads ask, each lock word has a cache line of its own,
//! apart from the list that the lock guards: threads that spin for the lock do not take the line
//! that its holder works on. In a table that is larger because there are many waiters, lock words
//! lie side by side: there are then so many of them that threads seldom meet on a line.

use crate::Host;
use crate::atomic::{AtomicU32, LockQueue, Ordering};
use crate::mutant::{mutated, order};

const TAKEN: u32 = 1;
/// The migrated bit: the bucket's waiters are in a larger table.
const MIGRATED: u32 = 2;
/// The number of filter bits.
const FILTER_BITS: u64 = 30;

/// The lock word of a bucket without waiters.
const EMPTY: u32 = 0;

/// Returns the bit that a key's waiters set in the filter: one of 30, by the hash's upper half (the
/// lower half chooses the bucket).
#[inline]
pub(crate) const fn filter_bit(hash: u64) -> u32 {
    1 << (2 + (((hash >> 32) * FILTER_BITS) >> 32))
}

/// The filter and the migrated bit of a lock word. The lock's holder has it, and stores it with the
/// unlocking.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Filter(u32);

impl Filter {
    pub(crate) fn has_migrated(self) -> bool {
        self.0 & MIGRATED != 0
    }

    /// Returns the filter with the bit of one more waiter.
    pub(crate) fn with(self, filter_bit: u32) -> Filter {
        Filter(self.0 | filter_bit)
    }

    /// Returns the filter of waiters that have these bits and no others; the migrated bit stays.
    pub(crate) fn of(self, filter_bits: u32) -> Filter {
        Filter(self.0 & MIGRATED | filter_bits)
    }

    /// The filter of a bucket whose waiters migrated to the table's successor.
    pub(crate) const CLOSED: Filter = Filter(MIGRATED);
}

/// The lock word of a bucket.
pub(crate) struct LockWord {
    /// | bits | meaning |
    /// |---|---|
    /// | 0 | the lock is taken |
    /// | 1 | the list migrated to the table's successor, and stays empty |
    /// | 2-31 | the occupancy filter: bits of the waiters in the list and of the thread that took the lock to queue |
    ///
    /// The filter may have bits of waiters that are gone, but has none when the list is empty. The
    /// word changes only by the taking of the lock, and by the lock's holder.
    word: AtomicU32,
    queue: LockQueue,
}

impl LockWord {
    pub(crate) fn new() -> LockWord {
        LockWord { word: AtomicU32::new(EMPTY), queue: LockQueue::new() }
    }

    /// Returns true if no thread waits for a key with that filter bit or is about to, and the
    /// bucket has not migrated. It is one load, so that nothing can happen between two.
    #[inline(always)]
    pub(crate) fn is_deserted(&self, filter_bit: u32) -> bool {
        let migrated = if mutated!(migrated_bit) { 0 } else { MIGRATED };
        // Relaxed: the waker's fence before it orders it (pair W).
        self.word.load(Ordering::Relaxed) & (migrated | filter_bit) == 0
    }

    /// Returns true if the bucket has waiters: an estimate.
    pub(crate) fn is_occupied(&self) -> bool {
        // Relaxed: an estimate.
        self.word.load(Ordering::Relaxed) & !(TAKEN | MIGRATED) != 0
    }

    #[inline]
    pub(crate) fn has_migrated(&self) -> bool {
        // Acquire: the successor is there, with the waiters that were here; partner: `unlock`.
        self.word.load(Ordering::Acquire) & MIGRATED != 0
    }

    /// Takes the lock, and sets `filter_bit` in the same exchange. The unlocking takes the bit away
    /// again unless the holder's filter has it.
    #[inline(always)]
    pub(crate) fn lock<'a, H: Host>(&'a self, host: &'a H, filter_bit: u32) -> HeldWord<'a, H> {
        let preemption = host.preempt_off();
        let filter = self.try_lock(filter_bit).unwrap_or_else(|| self.lock_contended(host, filter_bit));
        HeldWord { lock_word: self, filter, preemption }
    }

    #[inline]
    fn try_lock(&self, filter_bit: u32) -> Option<Filter> {
        // Relaxed: a guess, which the exchange confirms.
        let mut free = self.word.load(Ordering::Relaxed) & !TAKEN;
        loop {
            match self.word.compare_exchange(
                free,
                free | TAKEN | filter_bit,
                // Acquire: what was done under the lock before; partner: `unlock`. Relaxed on
                // failure: nothing is learnt.
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

    /// Gives the lock up, and stores the filter.
    #[inline]
    fn unlock(&self, filter: Filter) {
        // Release: what was done under the lock; partners: `try_lock`, `has_migrated`.
        self.word.store(filter.0, order!(Release, lock_release));
        self.queue.released();
    }
}

/// A bucket's lock that is held; dropping this unlocks.
pub(crate) struct HeldWord<'a, H: Host + 'a> {
    lock_word: &'a LockWord,
    /// The filter that the unlocking stores.
    pub(crate) filter: Filter,
    // Dropped after the unlocking: preemption is on again then.
    preemption: H::Preemption<'a>,
}

impl<H: Host> HeldWord<'_, H> {
    /// Changes the times without preemption of two locks: for a caller that drops this one first,
    /// and took it first.
    pub(crate) fn swap_preemption(&mut self, other: &mut Self) {
        core::mem::swap(&mut self.preemption, &mut other.preemption);
    }
}

impl<H: Host> Drop for HeldWord<'_, H> {
    fn drop(&mut self) {
        self.lock_word.unlock(self.filter);
    }
}

#[cfg(all(test, not(leeward_loom)))]
mod tests {
    use super::*;

    #[test]
    fn filter_bits_are_thirty_beside_those_of_lock_and_migration() {
        let all = (0..=u32::MAX).step_by(1 << 20).fold(0, |all, upper| all | filter_bit(u64::from(upper) << 32));
        assert_eq!(all, !(TAKEN | MIGRATED));
        assert_eq!(filter_bit(u64::MAX), 1 << 31);
        assert_eq!(size_of::<LockWord>(), 4);
    }
}
