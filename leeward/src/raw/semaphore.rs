//! A counting semaphore in one word (Dijkstra, 1965).
//!
//! A release wakes as many sleepers as it brings permits and clears the mark that somebody sleeps; whoever has slept
//! puts it back, and, finding more than he takes, wakes the next. So nobody sleeps beside a permit.

use core::marker::PhantomData;
use core::time::Duration;

use super::spin_budget::SpinBudget;
use crate::atomic::{AtomicU32, Ordering, const_fn};
use crate::futex::{Deadline, Futex, Private, Timeout, Wait};
use crate::mutant::{check, mutated};

const PERMITS: u32 = (1 << 31) - 1;
const WAITERS: u32 = 1 << 31;

/// A number of permits that are taken and given back, by any thread.
///
/// Zeroed memory is one without permits. No order among those who wait: a newcomer may take what a sleeper was woken
/// for. Taking and giving back cost one compare-exchange each; who finds none looks a while, yields, sleeps.
/// Giving back is async-signal-safe.
#[repr(C)]
pub struct Semaphore<F: Futex = Private> {
    /// | bits | meaning |
    /// |---|---|
    /// | 0-30 | permits |
    /// | 31 | somebody may sleep |
    word: AtomicU32,
    futex: PhantomData<fn() -> F>,
}

impl<F: Futex> Semaphore<F> {
    /// As many permits as there can be.
    pub const MOST: u32 = PERMITS;

    const_fn! {
        /// One with so many permits.
        ///
        /// # Panics
        /// With more than [`MOST`](Self::MOST).
        pub fn new(permits: u32) -> Self {
            assert!(permits <= PERMITS, "a Semaphore cannot count so many permits");
            Semaphore { word: AtomicU32::new(permits), futex: PhantomData }
        }
    }

    /// Takes a permit, waiting as long as that takes. What was done before its release is seen.
    #[inline]
    pub fn acquire(&self) {
        if !self.try_acquire() {
            self.acquire_slow(Timeout::Never);
        }
    }

    /// Takes a permit if there is one.
    #[inline]
    pub fn try_acquire(&self) -> bool {
        // Relaxed: the exchange decides.
        let mut word = self.word.load(Ordering::Relaxed);
        while word & PERMITS != 0 {
            // Acquire: partner of the release in `release`.
            match self.word.compare_exchange_weak(word, word - 1, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// Takes a permit by `deadline`; whether it did.
    pub fn acquire_until(&self, deadline: Deadline) -> bool {
        self.try_acquire() || self.acquire_slow(Timeout::At(deadline))
    }

    /// Takes a permit within `limit`; whether it did.
    pub fn acquire_for(&self, limit: Duration) -> bool {
        self.try_acquire() || self.acquire_slow(Timeout::after::<F>(limit))
    }

    /// Takes a permit, which is given back when it is dropped.
    #[inline]
    pub fn permit(&self) -> Permit<'_, F> {
        self.acquire();
        Permit(self)
    }

    /// The same, if there is one.
    #[inline]
    pub fn try_permit(&self) -> Option<Permit<'_, F>> {
        self.try_acquire().then(|| Permit(self))
    }

    #[cold]
    #[inline(never)]
    fn acquire_slow(&self, timeout: Timeout) -> bool {
        let mut budget = SpinBudget::for_lock(timeout);
        // Who has slept does not know whether others still do.
        let mut mark = 0;
        loop {
            // Relaxed: the exchanges decide.
            let word = self.word.load(Ordering::Relaxed);
            if word & PERMITS != 0 {
                let taken = (word - 1) | if mutated!(semaphore_mark) { 0 } else { mark };
                // Acquire: partner of the release in `release`.
                if self.word.compare_exchange(word, taken, Ordering::Acquire, Ordering::Relaxed).is_err() {
                    continue;
                }
                if check!(semaphore_next_wake, mark != 0 && taken & PERMITS != 0) {
                    F::wake(&self.word, 1);
                }
                return true;
            }
            if budget.pause::<F>() {
                continue;
            }
            // Relaxed: everything that is said is in this word.
            if word & WAITERS == 0
                && self.word.compare_exchange(word, WAITERS, Ordering::Relaxed, Ordering::Relaxed).is_err()
            {
                continue;
            }
            mark = WAITERS;
            if F::wait(&self.word, WAITERS, timeout) == Wait::TimedOut {
                return false;
            }
        }
    }

    /// Gives back, or adds, `permits`.
    ///
    /// # Panics
    /// If there were more than [`MOST`](Self::MOST) then; nothing has changed.
    #[inline]
    #[track_caller]
    pub fn release(&self, permits: u32) {
        assert!(self.give_back(permits), "a Semaphore cannot count so many permits");
    }

    /// Adds `permits`; false, with nothing changed, if they are too many.
    #[inline]
    fn give_back(&self, permits: u32) -> bool {
        // Relaxed: the exchange decides.
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let sum = (word & PERMITS).checked_add(permits).filter(|&sum| sum <= PERMITS);
            let Some(sum) = sum else { return false };
            let released = if permits == 0 { word } else { sum };
            // Release: partner of the acquires in `try_acquire` and `acquire_slow`.
            match self.word.compare_exchange_weak(word, released, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
        if check!(semaphore_wake, word & WAITERS != 0 && permits != 0) {
            F::wake(&self.word, permits);
        }
        true
    }

    /// How many permits there are; out of date when it is returned.
    pub fn permits(&self) -> u32 {
        // Relaxed: out of date anyway.
        self.word.load(Ordering::Relaxed) & PERMITS
    }
}

impl<F: Futex> core::fmt::Debug for Semaphore<F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Semaphore").field("permits", &self.permits()).finish()
    }
}

/// A permit of a [`Semaphore`]: given back when it is dropped, from whichever thread. If the
/// semaphore has as many as there can be by then, it stays so: a drop does not panic.
#[derive(Debug)]
#[must_use = "the permit is given back at once"]
pub struct Permit<'a, F: Futex = Private>(&'a Semaphore<F>);

impl<F: Futex> Permit<'_, F> {
    /// Keeps the permit for ever: the semaphore has one less.
    pub fn forget(self) {
        core::mem::forget(self);
    }
}

impl<F: Futex> Drop for Permit<'_, F> {
    #[inline]
    fn drop(&mut self) {
        let _ = self.0.give_back(1);
    }
}
