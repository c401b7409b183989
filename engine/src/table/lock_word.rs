//! The lock word of a bucket: its lock, and a filter that says what its waiters wait for, so that a wake that finds nobody looks at nothing else.
//!
//! In a table that is as large as its threads ask, each lock word has a cache line of its own, apart from the list that the lock guards: threads
//! that look at the lock while somebody holds it do not take the line that its holder works on. In one that grew because there
//! are more waiters than that, lock words lie side by side: then they are so many that threads seldom meet on a line.

use crate::Host;
use crate::atomic::{AtomicU32, Ordering, Turn};
use crate::host::preemption::Off;
use crate::mutant::mutated;

const TAKEN: u32 = 1;
/// The bucket's waiters were moved into a larger table.
const MOVED: u32 = 2;
/// How many tags there are.
const TAGS: u64 = 30;

/// What a lock word holds when nobody waits.
const EMPTY: u32 = 0;

/// What a key's waiters leave in the lock word: one of 30 bits, by the hash's upper half (the lower chooses the bucket).
#[inline]
pub(crate) const fn tag(hash: u64) -> u32 {
    1 << (2 + (((hash >> 32) * TAGS) >> 32))
}

/// What a lock word says, without the bit of the lock; whoever holds the lock has it, and stores it with the unlocking.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sign(u32);

impl Sign {
    pub(crate) fn has_moved(self) -> bool {
        self.0 & MOVED != 0
    }

    /// Somebody waits for a key with that tag.
    pub(crate) fn with(self, tag: u32) -> Sign {
        Sign(self.0 | tag)
    }

    /// Those who wait have these tags and no others.
    pub(crate) fn of(self, tags: u32) -> Sign {
        Sign(self.0 & MOVED | tags)
    }

    /// The list moved to the table's successor.
    pub(crate) const CLOSED: Sign = Sign(MOVED);
}

pub(crate) struct LockWord {
    /// | bits | meaning |
    /// |---|---|
    /// | 0 | the lock is taken |
    /// | 1 | the list moved to the table's successor, and stays empty |
    /// | 2-31 | tags of those in the list, and of the one that has the lock to get there; perhaps of some that are gone, but none when the list is empty |
    ///
    /// Changes only by taking the lock, and by its holder.
    word: AtomicU32,
    turn: Turn,
}

impl LockWord {
    pub(crate) fn new() -> LockWord {
        LockWord { word: AtomicU32::new(EMPTY), turn: Turn::new() }
    }

    /// Whether nobody waits for a key with that tag nor is about to, and none were moved away: one look, so that nothing slips between two.
    #[inline(always)]
    pub(crate) fn is_deserted(&self, tag: u32) -> bool {
        let moved = if mutated!(moved_mark) { 0 } else { MOVED };
        // Relaxed: the fence before it orders it (pair W).
        self.word.load(Ordering::Relaxed) & (moved | tag) == 0
    }

    /// Whether anybody waits here: an estimate.
    pub(crate) fn is_occupied(&self) -> bool {
        // Relaxed: an estimate.
        self.word.load(Ordering::Relaxed) & !(TAKEN | MOVED) != 0
    }

    #[inline]
    pub(crate) fn has_moved(&self) -> bool {
        // Acquire: the successor is there, with the waiters that were here; partner: `unlock`.
        self.word.load(Ordering::Acquire) & MOVED != 0
    }

    /// Takes the lock, and puts `tag` there in the same step; it is gone with the lock unless what the lock word says is changed.
    #[inline(always)]
    pub(crate) fn lock<'a, H: Host>(&'a self, host: &'a H, tag: u32) -> Held<'a, H> {
        let off = Off::new(host);
        let sign = self.try_lock(tag).unwrap_or_else(|| self.lock_contended(host, tag));
        Held { lock_word: self, sign, _off: off }
    }

    #[inline]
    fn try_lock(&self, tag: u32) -> Option<Sign> {
        // Acquire: what was done under the lock before; partner: `unlock`. Relaxed on failure: nothing learnt.
        let order = if mutated!(lock_acquire) { Ordering::Relaxed } else { Ordering::Acquire };
        // Relaxed: a guess.
        let mut free = self.word.load(Ordering::Relaxed) & !TAKEN;
        loop {
            match self.word.compare_exchange(free, free | TAKEN | tag, order, Ordering::Relaxed) {
                Ok(_) => return Some(Sign(free)),
                Err(now) if now & TAKEN != 0 => return None,
                Err(now) => free = now,
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn lock_contended<H: Host>(&self, host: &H, tag: u32) -> Sign {
        let mut tries = 0_u32;
        loop {
            host.spin(tries);
            tries = tries.saturating_add(1);
            // Relaxed: `try_lock` acquires.
            let free = || self.word.load(Ordering::Relaxed) & TAKEN == 0;
            if let Some(sign) = self.turn.look(free, || self.try_lock(tag)) {
                return sign;
            }
        }
    }

    /// Gives the lock up, and says this from now on.
    #[inline]
    fn unlock(&self, sign: Sign) {
        // Release: what was done under the lock; partners: `try_lock`, `has_moved`.
        let order = if mutated!(lock_release) { Ordering::Relaxed } else { Ordering::Release };
        self.word.store(sign.0, order);
        self.turn.pass();
    }
}

/// A lock that is held.
pub(crate) struct Held<'a, H: Host> {
    lock_word: &'a LockWord,
    /// What the lock word says when the lock is given up.
    pub(crate) sign: Sign,
    // Preemption is on again when the lock was given up.
    _off: Off<'a, H>,
}

impl<H: Host> Drop for Held<'_, H> {
    fn drop(&mut self) {
        self.lock_word.unlock(self.sign);
    }
}

#[cfg(all(test, not(leeward_loom)))]
mod tests {
    use super::*;

    #[test]
    fn tags_are_thirty_bits_beside_those_of_lock_and_mark() {
        let all = (0..=u32::MAX).step_by(1 << 20).fold(0, |all, upper| all | tag(u64::from(upper) << 32));
        assert_eq!(all, !(TAKEN | MOVED));
        assert_eq!(tag(u64::MAX), 1 << 31);
        assert_eq!(size_of::<LockWord>(), 4);
    }
}
