//! The unlock that is a store: who may, and what a thread has to do before it sleeps so that no
//! owner does.
//!
//! A plain store over the lock word would erase the waiters bit that a sleeper has set a moment
//! before. So an owner says that it is *leaving*, checks whether a sleeper is counted, and stores
//! only if none is. A sleeper counts itself, issues a heavy fence that reaches all processes, and
//! checks whether the owner is leaving: if it is, the sleeper naps until that is over. From then
//! on, as long as the sleeper is counted, every owner sees it and unlocks by an exchange, and the
//! protocol is the one without any of this.
//!
//! A sleeper that is killed stays counted, and the lock's unlocks stay exchanges: slower, and
//! correct. docs/orderings-locks.md has both interleavings. After the asymmetric Dekker
//! synchronization of Dave Dice, Hui Huang and Mingyao Yang (2001).

use core::time::Duration;

use crate::atomic::{AtomicU32, Ordering};
use crate::fence::{self, processes};
use crate::mutant::{mutated, step};

/// One sleeper in the count. Thread numbers are below 2^22; a count that is full nevertheless stays
/// full.
const SLEEPER: u32 = 1;
const SLEEPERS: u32 = (1 << 22) - 1;
const FENCED: u32 = 1 << 22;
const QUIET_SHIFT: u32 = 23;
const QUIET: u32 = 1 << QUIET_SHIFT;
/// How many unlocks in a row must find no sleeper counted before unlocking is a store again.
const QUIET_UNLOCKS: u32 = 511;

const STAYING: u32 = 0;
const LEAVING: u32 = 1;

/// The first nap; naps double in length up to 51 ms.
const NAP: Duration = Duration::from_micros(50);
const DOUBLINGS: u32 = 10;

const fn sleepers(word: u32) -> u32 {
    word & SLEEPERS
}

/// The words by which sleepers and owners that unlock by a store see each other.
#[repr(C)]
pub(super) struct Sleepers {
    /// | bits | meaning |
    /// |---|---|
    /// | 0-21 | threads that sleep or are about to, or were killed there |
    /// | 22 | since the word was last 0, a heavy fence was issued |
    /// | 23-31 | how many more unlocks must find no sleeper counted until the word is 0 |
    ///
    /// 0: unlocking is a store.
    word: AtomicU32,
    /// `LEAVING`, of a held lock: its owner may be about to unlock by a store. Written by owners.
    leaving: AtomicU32,
}

impl Sleepers {
    pub(super) const fn new() -> Sleepers {
        Sleepers { word: AtomicU32::new(0), leaving: AtomicU32::new(STAYING) }
    }

    /// Says that the caller, which has just taken the lock, stays.
    #[inline]
    pub(super) fn owner_stays(&self) {
        // Release: partner of the acquire in `is_seen`: a sleeper that sees this sees that the word
        // is taken, and that the store of the owner before is done.
        self.leaving.store(STAYING, Ordering::Release);
    }

    /// Says that the caller, which has the lock and is reached by heavy fences, is leaving. Returns
    /// true if it may unlock by a store.
    #[inline]
    pub(super) fn owner_leaves(&self) -> bool {
        // Relaxed: ordered by the fence, and before the unlocking store by that store's release.
        step!(robust_light_leaving, self.leaving.store(LEAVING, Ordering::Relaxed));
        // Pair K, light half. Partner: the heavy fence in `is_seen`.
        // - If our store comes first, the sleeper finds us leaving, and naps.
        // - If the heavy fence comes first, we find the sleeper counted, and unlock by an exchange.
        fence::light();
        // Relaxed: ordered by the fence.
        self.word.load(Ordering::Relaxed) == 0
    }

    /// Counts an unlock by exchange towards the return to stores, if no sleeper is counted.
    #[cold]
    pub(super) fn quieten(&self) {
        // Relaxed, all: a sleeper counts itself in the same word, and issues a fence if it finds 0.
        let word = self.word.load(Ordering::Relaxed);
        if sleepers(word) == 0 && word != 0 {
            let next = if word >> QUIET_SHIFT <= 1 { 0 } else { word - QUIET };
            // Failure is fine: another thread's change is as good.
            let _ = self.word.compare_exchange(word, next, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}

/// A thread that is about to sleep, as the lock counts it.
pub(super) struct Sleeper {
    is_counted: bool,
    is_seen: bool,
    naps: u32,
}

impl Sleeper {
    pub(super) const fn new() -> Sleeper {
        Sleeper { is_counted: false, is_seen: false, naps: 0 }
    }

    /// Returns true if every unlock from now on sees the caller's mark on the lock word, until the
    /// caller calls [`leave`](Self::leave). If it returns false, the caller may nap and ask again.
    pub(super) fn is_seen(&mut self, all: &Sleepers) -> bool {
        if self.is_seen {
            return true;
        }
        if !self.is_counted {
            self.is_counted = true;
            change(&all.word, |word| match sleepers(word) {
                SLEEPERS => word,
                _ => (word + SLEEPER) | QUIET_UNLOCKS << QUIET_SHIFT,
            });
        }
        // Acquire: partner of the release below: what that thread's fence made visible is seen
        // here.
        if all.word.load(Ordering::Acquire) & FENCED == 0 {
            // Pair K, heavy half. Partner: the light fence in `owner_leaves`.
            // - If the owner's store comes first, we find it leaving below, and nap.
            // - If this fence comes first, the owner finds us counted, and unlocks by an exchange.
            if !mutated!(robust_light_heavy) && !processes::heavy() {
                return false;
            }
            // Release: as above. The word has not been 0 since the caller was counted.
            all.word.fetch_or(FENCED, Ordering::Release);
        }
        // Acquire: partner of the release in `owner_stays`.
        self.is_seen = all.leaving.load(Ordering::Acquire) != LEAVING;
        self.is_seen
    }

    /// Returns how long to nap, if the caller is not seen.
    pub(super) fn nap(&mut self) -> Duration {
        self.naps += 1;
        NAP * (1 << (self.naps - 1).min(DOUBLINGS))
    }

    /// Takes the caller out of the count: it does not sleep any more.
    pub(super) fn leave(self, all: &Sleepers) {
        if self.is_counted {
            change(&all.word, |word| match sleepers(word) {
                // The count is full, or was overwritten.
                SLEEPERS | 0 => word,
                _ => word - SLEEPER,
            });
        }
    }
}

fn change(word: &AtomicU32, to: impl Fn(u32) -> u32) {
    // Relaxed: the exchange decides.
    let mut seen = word.load(Ordering::Relaxed);
    // AcqRel: a chain through all changes, so that `FENCED` is acquired from the thread that set
    // it. Relaxed on failure: tried again.
    while let Err(now) = word.compare_exchange(seen, to(seen), Ordering::AcqRel, Ordering::Relaxed) {
        seen = now;
    }
}
