//! A mutex whose unlock is a store: no read-modify-write while nobody waits. Sleepers pay, with a heavy fence.
//!
//! The asymmetric Dekker synchronization of Dave Dice, Hui Huang and Mingyao Yang (2001), between the unlocking store
//! and the look for sleepers.

use super::spin_budget::SpinBudget;
use crate::atomic::{AtomicU32, Ordering, const_fn, outside_model};
use crate::fence;
use crate::futex::{Deadline, Futex, Private, Timeout, Wait};
use crate::mutant::{check, mutated};

const UNLOCKED: u32 = 0;
const LOCKED: u32 = 1;

/// One sleeper; pid_max is 2^22.
const SLEEPER: u32 = 1;
const SLEEPERS: u32 = (1 << 22) - 1;
const WAKING: u32 = 1 << 22;
const QUIET_SHIFT: u32 = 23;
const QUIET: u32 = 1 << QUIET_SHIFT;
/// How many unlocks in a row must find nobody asleep before unlocking is a store again. (One in a model.)
const QUIET_UNLOCKS: u32 = outside_model(510) + 1;

const fn sleepers(word: u32) -> u32 {
    word & SLEEPERS
}

const fn is_waking(word: u32) -> bool {
    word & WAKING != 0
}

const fn is_raised(word: u32) -> bool {
    word >> QUIET_SHIFT != 0
}

/// A mutex for the threads of one process; 8 bytes, valid when zeroed (unlocked).
///
/// # Cost
/// Uncontended: one compare-exchange to lock; a store and a load to unlock. Whoever goes to sleep *raises* the second
/// word, with a [`heavy`](fence::heavy) fence; it stays raised until 511 unlocks in a row found nobody asleep, and while
/// it is, unlocking costs a compare-exchange more and sleeping no fence. So there is at most one heavy fence in 511
/// unlocks, however many threads sleep.
///
/// # Fairness
/// None: whoever takes it first has it, and a sleeper may be passed over without bound. [`Mutex`](super::Mutex) has a
/// bound.
///
/// # Lifetime
/// Unlike `Mutex`, the unlocking thread looks at the lock after others may have it: it must live until `unlock`
/// returns. (Safe Rust cannot do otherwise; C's habit of destroying a lock that one has just taken can.)
///
/// # Aborts
/// Waiting for it, where a heavy fence is impossible, which [`fence::init`] tells beforehand. Not a panic: whoever caught
/// it within `unlocked` would have a guard without the lock.
#[repr(C)]
pub struct LightMutex {
    /// 0: unlocked; 1: locked.
    state: AtomicU32,
    /// | bits | meaning |
    /// |---|---|
    /// | 0-21 | threads that sleep or are about to |
    /// | 22 | one of them was woken and has not looked yet: another wake is not needed |
    /// | 23-31 | not 0: raised. How many more unlocks must find nobody asleep until it is lowered |
    ///
    /// Where they sleep.
    waiters: AtomicU32,
}

impl LightMutex {
    const_fn! {
        /// An unlocked one.
        #[allow(clippy::new_without_default)]
        pub fn new() -> Self {
            LightMutex { state: AtomicU32::new(UNLOCKED), waiters: AtomicU32::new(0) }
        }
    }

    /// Locks it, waiting as long as that takes. Everything done under the lock before happens before the return.
    #[inline]
    pub fn lock(&self) {
        if !self.try_lock() {
            self.lock_contended(Timeout::Never);
        }
    }

    /// Locks it if nobody holds it.
    #[inline]
    pub fn try_lock(&self) -> bool {
        // Acquire: partner of the release in `unlock`. Relaxed on failure: nothing was learnt.
        self.state.compare_exchange(UNLOCKED, LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Locks it if that is possible until `deadline`; whether it did.
    #[inline]
    pub fn try_lock_until(&self, deadline: Deadline) -> bool {
        self.try_lock() || self.lock_contended(Timeout::At(deadline))
    }

    /// Whether somebody holds it; out of date when it returns.
    #[inline]
    pub fn is_locked(&self) -> bool {
        // Relaxed: says nothing about what the holder did.
        self.state.load(Ordering::Relaxed) != UNLOCKED
    }

    /// Unlocks it.
    ///
    /// # Safety
    /// The caller holds it.
    #[inline]
    pub unsafe fn unlock(&self) {
        // Release: what was done under the lock happens before the next holder's acquire.
        self.state.store(UNLOCKED, Ordering::Release);
        // Pair F, light half. Partner: the heavy fence in `announce`.
        // - If our store comes first, the sleeper's recheck finds the lock free.
        // - If the heavy fence comes first, we find the word raised and wake a sleeper.
        fence::light();
        // Relaxed: ordered by the fence.
        if self.waiters.load(Ordering::Relaxed) != 0 {
            self.unlock_contended();
        }
    }

    #[cold]
    #[inline(never)]
    fn unlock_contended(&self) {
        // Relaxed: the exchange decides.
        let mut word = self.waiters.load(Ordering::Relaxed);
        loop {
            let next = match sleepers(word) {
                0 if !is_raised(word) => return,
                0 if word >> QUIET_SHIFT == 1 => 0,
                0 => word - QUIET,
                _ => word | WAKING,
            };
            if mutated!(light_settle) && next == word {
                return;
            }
            // AcqRel: partner of the exchange in `announce`, which takes the place of the heavy fence while the word is
            // raised. If that comes first, we see the sleeper; if ours does, the sleeper's second look sees our
            // unlocking store. So even a word that does not change is exchanged.
            match self.waiters.compare_exchange(word, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
        if check!(light_wake, sleepers(word) != 0 && !is_waking(word)) {
            Private::wake(&self.waiters, 1);
        }
    }

    /// Tries again and again, within the spin budget. Returns true if the lock was acquired.
    fn spin(&self, timeout: Timeout) -> bool {
        let mut budget = SpinBudget::for_lock(timeout);
        while budget.pause::<Private>() {
            if !self.is_locked() && self.try_lock() {
                return true;
            }
        }
        false
    }

    /// Whether it has the lock.
    #[cold]
    #[inline(never)]
    fn lock_contended(&self, timeout: Timeout) -> bool {
        if self.spin(timeout) {
            return true;
        }
        let mut word = self.announce(SLEEPER);
        loop {
            if !mutated!(light_recheck) && self.try_lock() {
                self.leave();
                return true;
            }
            if Private::wait(&self.waiters, word, timeout) == Wait::TimedOut {
                self.leave();
                return false;
            }
            if self.try_lock() || self.spin(timeout) {
                self.leave();
                return true;
            }
            word = self.announce(0);
        }
    }

    /// Makes the caller known to whoever unlocks; the word that it may sleep upon after one more look at the lock.
    fn announce(&self, more: u32) -> u32 {
        // Relaxed: the exchange decides.
        let mut word = self.waiters.load(Ordering::Relaxed);
        loop {
            let next =
                if mutated!(light_raise) { word } else { (word + more) & SLEEPERS | QUIET_UNLOCKS << QUIET_SHIFT };
            // AcqRel: partner of the exchange in `unlock_contended`, which tells.
            match self.waiters.compare_exchange(word, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => {
                    if check!(light_heavy, !is_raised(word)) {
                        // Pair F, heavy half. Partner: the light fence in `unlock`.
                        // - If the unlock's store comes first, our recheck finds the lock free.
                        // - If this fence comes first, the unlock finds the word raised and wakes a sleeper.
                        // Those that come while this runs and sleep at once are woken by the next holder's unlock: by ours,
                        // if our recheck takes the lock.
                        fence::heavy_or_abort();
                    }
                    return next;
                }
                Err(now) => word = now,
            }
        }
    }

    /// The caller sleeps no more.
    fn leave(&self) {
        if mutated!(light_raise) {
            return;
        }
        // Relaxed: the exchange decides.
        let mut word = self.waiters.load(Ordering::Relaxed);
        loop {
            // It may be the one that was woken: the next unlock wakes another.
            let left = word - SLEEPER;
            let next = if mutated!(light_leave) { left } else { left & !WAKING };
            // Release, with `announce`'s acquire: whoever counts itself after us knows of the lock what we knew.
            match self.waiters.compare_exchange(word, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
    }
}

impl core::fmt::Debug for LightMutex {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("LightMutex").field("locked", &self.is_locked()).finish_non_exhaustive()
    }
}
