//! The unlock that is a store: who may, and what a thread has to do before it sleeps so that nobody does.
//!
//! A plain store over the lock word would erase the waiters bit that a sleeper has set a moment before. So an owner says
//! that it is *leaving*, looks whether anybody has counted himself as a sleeper, and stores only if nobody has. A sleeper counts itself, issues
//! a heavy fence that reaches all processes, and looks whether the owner is leaving: if it is, it naps until that is over. From then on, as
//! long as it is counted, every owner sees it and unlocks by an exchange, and the protocol is the one without any of this.
//!
//! A sleeper that is killed stays counted, and the lock's unlocks stay exchanges: slower, and never wrong. Called by [`lock`](super::lock);
//! both interleavings are told in docs/orderings-locks.md. After the asymmetric Dekker synchronization of Dave Dice, Hui
//! Huang and Mingyao Yang (2001).

use core::time::Duration;

use crate::atomic::{AtomicU32, Ordering};
use crate::fence::{self, processes};
use crate::mutant::{mutated, step};

/// One sleeper; pid_max is 2^22. So many that the count is full: it stays full.
const SLEEPER: u32 = 1;
const SLEEPERS: u32 = (1 << 22) - 1;
const FENCED: u32 = 1 << 22;
const QUIET_SHIFT: u32 = 23;
const QUIET: u32 = 1 << QUIET_SHIFT;
/// How many unlocks in a row must find nobody counted before unlocking is a store again.
const QUIET_UNLOCKS: u32 = 511;

const STAYING: u32 = 0;
const LEAVING: u32 = 1;

/// The first nap, and how often it doubles: 50 us to 51 ms.
const NAP: Duration = Duration::from_micros(50);
const DOUBLINGS: u32 = 10;

const fn sleepers(word: u32) -> u32 {
    word & SLEEPERS
}

#[repr(C)]
pub(super) struct Sleepers {
    /// | bits | meaning |
    /// |---|---|
    /// | 0-21 | threads that sleep or are about to, or were killed there |
    /// | 22 | since the word was last 0, a heavy fence was issued |
    /// | 23-31 | how many more unlocks must find nobody counted until the word is 0 |
    ///
    /// 0: unlocking is a store.
    word: AtomicU32,
    /// Of a held lock, `LEAVING`: its owner may be about to unlock by a store. Written by owners.
    leaving: AtomicU32,
}

impl Sleepers {
    pub(super) const fn new() -> Sleepers {
        Sleepers { word: AtomicU32::new(0), leaving: AtomicU32::new(STAYING) }
    }

    /// The caller has taken the lock, and will stay.
    #[inline]
    pub(super) fn owner_stays(&self) {
        // Release: partner of the acquire in `is_seen`: whoever sees this sees the word taken, and what stood there before it gone.
        self.leaving.store(STAYING, Ordering::Release);
    }

    /// The caller, who has the lock and is reached by heavy fences, is leaving; whether it may by a store.
    #[inline]
    pub(super) fn owner_leaves(&self) -> bool {
        // Relaxed: ordered by the fence, and before the unlocking store by that one's release.
        step!(robust_light_leaving, self.leaving.store(LEAVING, Ordering::Relaxed));
        // Pair K, light half. Partner: the heavy fence in `is_seen`.
        // - If our store comes first, the sleeper finds us leaving, and naps.
        // - If the heavy fence comes first, we find the sleeper counted, and unlock by an exchange.
        fence::light();
        // Relaxed: ordered by the fence.
        self.word.load(Ordering::Relaxed) == 0
    }

    /// An unlock by exchange.
    #[cold]
    pub(super) fn quieten(&self) {
        // Relaxed, all: a sleeper counts itself in the same word, and issues a fence if it finds 0.
        let word = self.word.load(Ordering::Relaxed);
        if sleepers(word) == 0 && word != 0 {
            let next = if word >> QUIET_SHIFT <= 1 { 0 } else { word - QUIET };
            // Another's change is as good.
            let _ = self.word.compare_exchange(word, next, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}

/// A thread that wants to sleep.
pub(super) struct Sleeper {
    is_counted: bool,
    is_seen: bool,
    naps: u32,
}

impl Sleeper {
    pub(super) const fn new() -> Sleeper {
        Sleeper { is_counted: false, is_seen: false, naps: 0 }
    }

    /// Whether every unlock from now on sees the caller's mark on the lock word, until it calls [`leave`](Self::leave). If not, it may nap
    /// and ask again.
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
        // Acquire: partner of the release below: what that fence brought to light is seen here.
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

    /// How long to sleep at most when not seen.
    pub(super) fn nap(&mut self) -> Duration {
        self.naps += 1;
        NAP * (1 << (self.naps - 1).min(DOUBLINGS))
    }

    /// It sleeps no more.
    pub(super) fn leave(self, all: &Sleepers) {
        if self.is_counted {
            change(&all.word, |word| match sleepers(word) {
                // Full; or overwritten.
                SLEEPERS | 0 => word,
                _ => word - SLEEPER,
            });
        }
    }
}

fn change(word: &AtomicU32, to: impl Fn(u32) -> u32) {
    // Relaxed: the exchange decides.
    let mut seen = word.load(Ordering::Relaxed);
    // AcqRel: a chain through all of them, so that `FENCED` is acquired from whoever has set it. Relaxed on failure: tried again.
    while let Err(now) = word.compare_exchange(seen, to(seen), Ordering::AcqRel, Ordering::Relaxed) {
        seen = now;
    }
}
