//! A mutex whose unlock is a store: no read-modify-write while no thread sleeps. A thread that goes
//! to sleep pays for that with a heavy fence.
//!
//! The asymmetric Dekker synchronization of Dave Dice, Hui Huang and Mingyao Yang (2001), between
//! the unlocking store and the check for sleepers.

use core::time::Duration;

use super::forked::forked_child;
use super::spin_budget::SpinBudget;
use crate::atomic::{AtomicU32, IS_MODEL, Ordering, const_fn, outside_model};
use crate::fence;
use crate::futex::{Deadline, Futex, Private, Timeout, Wait};
use crate::mutant::{check, mutated, step};

pub(super) const UNLOCKED: u32 = 0;
const LOCKED: u32 = 1;
pub(super) const RESERVED: u32 = 2;

/// One sleeper: the unit of the count in bits 0 to 21. Linux has no more than 2^22 threads.
const SLEEPER: u32 = 1;
const SLEEPERS: u32 = (1 << 22) - 1;
const WAKING: u32 = 1 << 22;
const QUIET_SHIFT: u32 = 23;
const QUIET: u32 = 1 << QUIET_SHIFT;
/// How many unlocks in a row must find no sleeper before unlocking is a store again. (One in a
/// model.)
const QUIET_UNLOCKS: u32 = outside_model(510) + 1;

pub(super) const fn sleepers(word: u32) -> u32 {
    word & SLEEPERS
}

const fn is_waking(word: u32) -> bool {
    word & WAKING != 0
}

const fn is_raised(word: u32) -> bool {
    word >> QUIET_SHIFT != 0
}

/// How long a lock stays reserved if no thread that has slept comes for it.
const LONG: Duration = Duration::from_millis(1);

/// Returns until when the caller may sleep, which has found the lock in `state`: a reserved lock
/// stays reserved for [`LONG`]. A waiter that is there comes at once. In the child of a fork it is
/// not there. (In a model it is, so nothing expires.)
fn kept_until(state: u32) -> Timeout {
    let expires = check!(light_expire, state == RESERVED && !IS_MODEL);
    if expires { Timeout::after::<Private>(LONG) } else { Timeout::Never }
}

/// A mutex whose unlock is a store, for the threads of one process; 8 bytes, valid when zeroed
/// (unlocked).
///
/// For locks that are seldom contended. It is not recursive, and has no owner.
///
/// ```
/// use leeward::raw::LightMutex;
/// static LOCK: LightMutex = LightMutex::new();
/// LOCK.lock();
/// assert!(!LOCK.try_lock());
/// // SAFETY: locked above.
/// unsafe { LOCK.unlock() };
/// ```
///
/// # Cost
/// - Free: one compare-exchange to lock; a store and a load to unlock.
/// - Contended: [spinning](super#waiting), then a [`heavy`](fence::heavy) fence and one system call
///   to sleep. The fence *raises* the second word. It stays raised until 511 unlocks in a row found
///   no sleeper; until then unlocking costs a compare-exchange more, and going to sleep no fence.
///   So there is at most one heavy fence in 511 unlocks, however many threads sleep.
///
/// # Fairness
/// The first thread that takes a free lock has it, and a sleeper may be overtaken without bound
/// while no holder calls [`unlock_fair`](Self::unlock_fair). [`Mutex`](super::Mutex) has a bound.
///
/// # Lifetime
/// Unlike a `Mutex` it must live until `unlock` returns, since the unlocking thread reads the lock
/// after others may have taken it. (Safe Rust cannot do otherwise; C's habit of destroying a lock
/// that one has just taken can.)
///
/// # Fork
/// Threads that slept in the parent stay counted in the child's copy, so each unlock there costs
/// the compare-exchange from then on. A lock that was reserved for one of them in the moment of the
/// fork is taken by the first thread of the child that has waited for a millisecond; and by
/// [`try_lock`](Self::try_lock) at once, if the library noticed the fork (see
/// [`RwLock`](super::RwLock#fork)).
///
/// # Signals
/// Not async-signal-safe: the handler may have interrupted the holder.
///
/// # Aborts
/// Waiting where a heavy fence is impossible ends the process; [`fence::init`] reports that
/// beforehand. It is not a panic: a caller that caught it within `unlocked` would have a guard
/// without the lock.
#[repr(C)]
pub struct LightMutex {
    /// 0: unlocked; 1: locked; 2: reserved, that is, not locked, and only a thread that has slept
    /// may take it.
    pub(super) state: AtomicU32,
    /// | bits | meaning |
    /// |---|---|
    /// | 0-21 | threads that sleep or are about to |
    /// | 22 | one of them was woken and has not rechecked yet, so no other wake is needed |
    /// | 23-31 | raised while not 0: how many more unlocks must find no sleeper until it is 0 |
    ///
    /// Threads sleep on this word.
    pub(super) waiters: AtomicU32,
}

impl LightMutex {
    const_fn! {
        /// Returns an unlocked mutex.
        #[allow(clippy::new_without_default)]
        pub fn new() -> Self {
            LightMutex { state: AtomicU32::new(UNLOCKED), waiters: AtomicU32::new(0) }
        }
    }

    /// Locks the mutex, waiting as long as that takes. What was done under the lock before happens
    /// before the return.
    #[inline]
    pub fn lock(&self) {
        if self.take(UNLOCKED).is_err() {
            self.lock_contended(Timeout::Never);
        }
    }

    /// Locks the mutex if it is neither held nor reserved for a waiter; returns true if it did.
    #[inline]
    pub fn try_lock(&self) -> bool {
        match self.take(UNLOCKED) {
            Ok(_) => true,
            Err(state) => state == RESERVED && self.try_lock_reserved(),
        }
    }

    /// Makes one attempt to take a lock in `state`; returns its state if it is another.
    #[inline]
    fn take(&self, state: u32) -> Result<u32, u32> {
        // Acquire: partner of the releases in `unlock` and `unlock_fair`. Relaxed on failure: nothing
        // was learnt.
        self.state.compare_exchange(state, LOCKED, Ordering::Acquire, Ordering::Relaxed)
    }

    /// Makes one attempt to take the lock for a thread that has slept for it (`has_slept`), or has
    /// not; returns the lock's state if it failed.
    fn take_waiting(&self, has_slept: bool) -> Result<u32, u32> {
        match self.take(UNLOCKED) {
            Err(RESERVED) if has_slept => self.take(RESERVED),
            outcome => outcome,
        }
    }

    /// Takes a reserved lock in the child of a fork, where the thread is not for which it was
    /// reserved; returns true if it did.
    #[cold]
    #[inline(never)]
    fn try_lock_reserved(&self) -> bool {
        forked_child::<Private>() && self.take(RESERVED).is_ok()
    }

    /// Locks the mutex if that is possible until `deadline`; returns true if it did.
    ///
    /// ```
    /// use leeward::futex::{Deadline, Private};
    /// use leeward::raw::LightMutex;
    /// use std::time::Duration;
    /// let lock = LightMutex::new();
    /// lock.lock();
    /// let soon = Deadline::after::<Private>(Duration::from_millis(1));
    /// assert!(lock.is_locked() && !lock.try_lock_until(soon));
    /// // SAFETY: locked above.
    /// unsafe { lock.unlock() };
    /// ```
    #[inline]
    pub fn try_lock_until(&self, deadline: Deadline) -> bool {
        self.take(UNLOCKED).is_ok() || self.lock_contended(Timeout::At(deadline))
    }

    /// Returns true if a thread held the mutex; out of date when it returns.
    #[inline]
    pub fn is_locked(&self) -> bool {
        // Relaxed: says nothing about what the holder did.
        self.state.load(Ordering::Relaxed) == LOCKED
    }

    /// Unlocks the mutex.
    ///
    /// # Safety
    /// The caller holds the lock.
    #[inline]
    pub unsafe fn unlock(&self) {
        // Release: what was done under the lock happens before the next holder's acquire.
        self.state.store(UNLOCKED, Ordering::Release);
        self.wake_sleepers();
    }

    /// Wakes a sleeper, if there is one, after the lock was made free.
    #[inline(always)]
    pub(super) fn wake_sleepers(&self) {
        // Pair F, light half. Partner: the heavy fence in `announce`.
        // - If our store comes first, the sleeper's recheck finds the lock free.
        // - If the heavy fence comes first, we find the word raised and wake a sleeper.
        step!(light_unlock_fence, fence::light());
        // Relaxed: ordered by the fence.
        if self.waiters.load(Ordering::Relaxed) != 0 {
            self.unlock_contended();
        }
    }

    /// Wakes a sleeper after the unlocking store, or counts an unlock that found none.
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
            // AcqRel: partner of the exchange in `announce`; the two take the place of the heavy
            // fence while the word is raised.
            // - If theirs comes first, we see the sleeper.
            // - If ours comes first, the sleeper's recheck sees our unlocking store.
            // So even a word that does not change is exchanged.
            match self.waiters.compare_exchange(word, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
        if check!(light_wake, sleepers(word) != 0 && !is_waking(word)) {
            Private::wake(&self.waiters, 1);
        }
    }

    /// Rechecks the lock within the spin budget. Returns true if the lock was acquired.
    fn spin(&self, has_slept: bool, timeout: Timeout) -> bool {
        let mut budget = SpinBudget::for_lock(timeout);
        while budget.pause::<Private>() {
            // Relaxed: the exchange that takes the lock acquires.
            let state = self.state.load(Ordering::Relaxed);
            let is_free = state == UNLOCKED || has_slept && state == RESERVED;
            if is_free && self.take(state).is_ok() {
                return true;
            }
        }
        false
    }

    /// Waits for the lock. Returns true if the lock was acquired, false on timeout.
    #[cold]
    #[inline(never)]
    fn lock_contended(&self, timeout: Timeout) -> bool {
        // A reserved lock is reserved for threads that have slept.
        let mut has_slept = false;
        if self.spin(has_slept, timeout) {
            return true;
        }
        let mut word = self.announce(SLEEPER);
        let is_taken = loop {
            let taken = if mutated!(light_recheck) { Err(LOCKED) } else { self.take_waiting(has_slept) };
            let Err(state) = taken else { break true };
            let until = timeout.min(kept_until(state));
            match Private::wait(&self.waiters, word, until) {
                Wait::TimedOut if until == timeout => break false,
                // Woken; or the lock was reserved and no thread came for it.
                Wait::TimedOut | Wait::Woken => has_slept = true,
                Wait::Changed => {}
            }
            if self.take_waiting(has_slept).is_ok() || self.spin(has_slept, timeout) {
                break true;
            }
            word = self.announce(0);
        };
        self.leave();
        is_taken
    }

    /// Raises the word, so that the unlock knows of the caller, and counts `more` sleepers. Returns
    /// the word on which the caller may sleep after one more attempt to take the lock.
    fn announce(&self, more: u32) -> u32 {
        // Relaxed: the exchange decides.
        let mut word = self.waiters.load(Ordering::Relaxed);
        loop {
            let next =
                if mutated!(light_raise) { word } else { (word + more) & SLEEPERS | QUIET_UNLOCKS << QUIET_SHIFT };
            // AcqRel: partner of the exchange in `unlock_contended`, where both cases stand.
            match self.waiters.compare_exchange(word, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => {
                    if check!(light_heavy, !is_raised(word)) {
                        // Pair F, heavy half. Partner: the light fence in `unlock`.
                        // - If the unlock's store comes first, our recheck finds the lock free.
                        // - If this fence comes first, the unlock finds the word raised and wakes a
                        //   sleeper.
                        // Threads that find the word raised while this fence runs sleep at once.
                        // The next holder's unlock wakes them; that is ours if our recheck takes
                        // the lock.
                        fence::heavy_or_abort();
                    }
                    return next;
                }
                Err(now) => word = now,
            }
        }
    }

    /// Takes the caller out of the count of sleepers.
    fn leave(&self) {
        if mutated!(light_raise) {
            return;
        }
        // Relaxed: the exchange decides.
        let mut word = self.waiters.load(Ordering::Relaxed);
        loop {
            // The caller may be the thread that was woken: the next unlock wakes another.
            let left = word - SLEEPER;
            let next = if mutated!(light_leave) { left } else { left & !WAKING };
            // AcqRel: partner of the exchange in `announce`: a thread that counts itself after us
            // knows of the lock what we knew.
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
