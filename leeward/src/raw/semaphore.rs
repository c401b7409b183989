//! A counting semaphore in one word (Dijkstra, 1965).
//!
//! A release wakes as many sleepers as it brings permits and clears the contended mark. A thread
//! that has slept sets the mark again, and wakes one more if permits are left. So no thread sleeps
//! beside a free permit. Called through `sync` and `shared`; calls [`Futex`] and `spin_budget.rs`.

use core::marker::PhantomData;
use core::time::Duration;

use super::spin_budget::SpinBudget;
use crate::atomic::{AtomicU32, Ordering, const_fn};
use crate::futex::{Deadline, Futex, Private, Timeout, Wait};
use crate::mutant::{check, mutated};

const PERMITS: u32 = (1 << 31) - 1;
const WAITERS: u32 = 1 << 31;

/// A number of permits that any thread may take and give back; 4 bytes, valid when zeroed (without
/// permits).
///
/// What was done before a release happens before the return of the call that takes the permit.
///
/// ```
/// use leeward::raw::Semaphore;
/// static FREE: Semaphore = Semaphore::new(2);
/// let (first, second) = (FREE.permit(), FREE.permit());
/// assert!(FREE.try_permit().is_none());
/// drop(first);
/// assert_eq!(FREE.permits(), 1);
/// second.forget();
/// ```
///
/// # Cost
/// - Free: taking and giving back are one compare-exchange each.
/// - A thread that finds no permit [spins](super#waiting), then sleeps. A release that finds the
///   word marked makes one system call.
///
/// # Fairness
/// None: a newcomer may take the permit that a sleeper was woken for.
///
/// # Fork
/// The child's copy keeps the count. Permits that the parent's other threads hold are never given
/// back there. A [`Permit`] of the forking thread is given back once in each process.
///
/// # Signals
/// [`release`](Self::release), [`try_release`](Self::try_release),
/// [`try_acquire`](Self::try_acquire) and the drop of a [`Permit`] are async-signal-safe.
#[repr(C)]
pub struct Semaphore<F: Futex = Private> {
    /// | bits | meaning |
    /// |---|---|
    /// | 0-30 | permits |
    /// | 31 | contended: a thread may sleep on the word |
    word: AtomicU32,
    futex: PhantomData<fn() -> F>,
}

impl Semaphore {
    const_fn! {
        /// Returns a semaphore with `permits` permits.
        ///
        /// # Panics
        /// If `permits` is more than [`MOST`](Self::MOST).
        #[track_caller]
        pub fn new(permits: u32) -> Self {
            Self::new_in(permits)
        }
    }
}

impl<F: Futex> Semaphore<F> {
    /// The greatest number of permits.
    pub const MOST: u32 = PERMITS;

    const_fn! {
        /// Returns a semaphore with `permits` permits.
        ///
        /// It is on the futexes that its type names; [`new`](Semaphore::new) returns one for a single process.
        ///
        /// # Panics
        /// If `permits` is more than [`MOST`](Self::MOST).
        #[track_caller]
        pub fn new_in(permits: u32) -> Self {
            assert!(permits <= PERMITS, "leeward: a Semaphore cannot count so many permits");
            Semaphore { word: AtomicU32::new(permits), futex: PhantomData }
        }
    }

    /// Takes a permit, waiting as long as that takes.
    #[inline]
    pub fn acquire(&self) {
        if !self.try_acquire() {
            self.acquire_slow(Timeout::Never);
        }
    }

    /// Takes a permit if there is one; returns true if it did.
    ///
    /// ```
    /// use leeward::futex::{Deadline, Private};
    /// use leeward::raw::Semaphore;
    /// use std::time::Duration;
    /// let free = <Semaphore>::new(2);
    /// free.acquire();
    /// assert!(free.try_acquire() && !free.try_acquire());
    /// assert!(!free.acquire_for(Duration::from_millis(1)));
    /// free.release(1);
    /// assert!(free.acquire_until(Deadline::after::<Private>(Duration::from_secs(1))));
    /// ```
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

    /// Takes a permit if there is one until `deadline`; returns true if it did.
    pub fn acquire_until(&self, deadline: Deadline) -> bool {
        self.try_acquire() || self.acquire_slow(Timeout::At(deadline))
    }

    /// Takes a permit if there is one within `limit`; returns true if it did.
    pub fn acquire_for(&self, limit: Duration) -> bool {
        self.try_acquire() || self.acquire_slow(Timeout::after::<F>(limit))
    }

    /// Takes a permit as [`acquire`](Self::acquire) does. It is given back when the returned value
    /// is dropped.
    #[inline]
    pub fn permit(&self) -> Permit<'_, F> {
        self.acquire();
        Permit(self)
    }

    /// Takes a permit if there is one. It is given back when the returned value is dropped.
    #[inline]
    pub fn try_permit(&self) -> Option<Permit<'_, F>> {
        self.try_acquire().then(|| Permit(self))
    }

    /// Waits for a permit and takes it. Returns false on timeout.
    #[cold]
    #[inline(never)]
    pub(super) fn acquire_slow(&self, timeout: Timeout) -> bool {
        let mut budget = SpinBudget::for_lock(timeout);
        // A thread that has slept sets the mark again, since others may still sleep.
        let mut mark = 0;
        loop {
            // Relaxed: the exchanges decide.
            let word = self.word.load(Ordering::Relaxed);
            // A permit: take it, and wake another thread if there are more. Or recheck.
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
            // No permit, and the spin budget is spent: tell the release that a thread sleeps.
            // Relaxed: the mark is all that is published.
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

    /// Adds `permits` permits: gives back those that were taken, or brings new ones.
    ///
    /// # Panics
    /// If there would be more than [`MOST`](Self::MOST). The count has not changed then.
    #[inline]
    #[track_caller]
    pub fn release(&self, permits: u32) {
        assert!(self.try_release(permits), "leeward: a Semaphore cannot count so many permits");
    }

    /// Adds `permits` permits as [`release`](Self::release) does. Returns false, with nothing
    /// changed, where `release` panics.
    ///
    /// ```
    /// use leeward::raw::Semaphore;
    /// let free = <Semaphore>::new(Semaphore::<leeward::futex::Private>::MOST);
    /// assert!(!free.try_release(1));                  // more than it can count
    /// free.acquire();
    /// assert!(free.try_release(1));
    /// ```
    #[inline]
    pub fn try_release(&self, permits: u32) -> bool {
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

    /// Returns how many permits there are; out of date when it returns.
    pub fn permits(&self) -> u32 {
        // Relaxed: out of date when it returns.
        self.word.load(Ordering::Relaxed) & PERMITS
    }
}

impl<F: Futex> core::fmt::Debug for Semaphore<F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Semaphore").field("permits", &self.permits()).finish()
    }
}

/// A permit of a [`Semaphore`], given back when it is dropped, on any thread. If the semaphore is
/// full by then, the count stays as it is: a drop does not panic.
///
/// ```
/// use leeward::raw::Semaphore;
/// let semaphore = <Semaphore>::new(1);
/// let permit = semaphore.permit();
/// assert_eq!(semaphore.permits(), 0);
/// drop(permit);
/// assert_eq!(semaphore.permits(), 1);
/// semaphore.permit().forget();                    // for good, or until `release`
/// assert_eq!(semaphore.permits(), 0);
/// ```
#[derive(Debug)]
#[must_use = "the permit is given back at once"]
pub struct Permit<'a, F: Futex = Private>(&'a Semaphore<F>);

impl<F: Futex> Permit<'_, F> {
    /// Keeps the permit forever: the semaphore has one permit less.
    pub fn forget(self) {
        core::mem::forget(self);
    }
}

impl<F: Futex> Drop for Permit<'_, F> {
    #[inline]
    fn drop(&mut self) {
        let _ = self.0.try_release(1);
    }
}
