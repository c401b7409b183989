//! A mutex of one word. A waiter spins, yields and sleeps; one that was overtaken for too long
//! requests the lock, and the unlock then reserves it for threads that have slept.
//!
//! After Ulrich Drepper ("Futexes Are Tricky", 2004: locked, and locked with sleepers, as two
//! values of one word); the reservation after Waiman Long's hand-off in Linux (2016) and Go's
//! starvation mode (Rhys Hiltner, Dmitry Vyukov, Russ Cox, 2016).
//!
//! Why it is right: the page "locks" of the book.

use core::marker::PhantomData;

use super::forked::forked_child;
use super::mutex_state::{
    CONTENDED, LOCKED, REQUEST, REQUESTS, RESERVED, UNLOCKED, Waiter, has_requests, is_free_for, is_locked,
    is_reserved, kept_until, without_request,
};
use super::spin_budget::SpinBudget;
use crate::atomic::{AtomicU32, Ordering, const_fn};
use crate::futex::{Deadline, Futex, Private, Timeout, Wait};
use crate::mutant::{check, mutated, step};

/// A mutex of one word, over any futex; 4 bytes, valid when zeroed (unlocked).
///
/// It has no owner: any thread may unlock it, and a thread that exits while it holds the lock
/// leaves it locked (`robust` locks survive that). It is not recursive. It allocates nothing and
/// has no thread-local data, so an allocator may use it.
///
/// ```
/// use leeward::raw::Mutex;
/// static LOCK: Mutex = Mutex::new();
/// LOCK.lock();
/// assert!(!LOCK.try_lock());
/// // SAFETY: locked above.
/// unsafe { LOCK.unlock() };
/// assert!(!LOCK.is_locked());
/// ```
///
/// # Cost
/// - Free: one compare-exchange to lock, one to unlock.
/// - Contended: some microseconds of [spinning](super#waiting), then one system call to sleep, and
///   one of the thread that unlocks. Where no thread sleeps, the unlock makes no system call.
///
/// # Fairness
/// A free lock goes to the first thread that takes it, so that it is not idle while a sleeper
/// wakes. The bound: a waiter that lost more than 32 wake-ups, or one after waiting for a
/// millisecond, requests the lock. From then until the waiter has it, the lock is given only to
/// threads that have slept for it, and these are woken in the order in which they went to sleep. No
/// newcomer overtakes them, however many have requested it. [`unlock_fair`](Self::unlock_fair) does
/// the same at once.
///
/// # Lifetime
/// A thread that has taken the lock may free it, even while the thread that unlocked it is still
/// inside [`unlock`](Self::unlock). It must live until [`unlock_fair`](Self::unlock_fair) returns.
///
/// # Fork
/// Requests may be those of a parent's threads, or of a process that was killed. If no thread comes
/// for a reserved lock within a millisecond, a waiter takes it and all requests expire. Until a
/// waiter has, [`try_lock`](Self::try_lock) fails although no thread holds the lock; in the child
/// of a fork that the library noticed (see [`RwLock`](super::RwLock#fork)) it succeeds at once.
///
/// # Signals
/// Not async-signal-safe: the handler may have interrupted the holder.
#[repr(transparent)]
pub struct Mutex<F: Futex = Private> {
    /// | bit | meaning |
    /// |---|---|
    /// | 0 | locked |
    /// | 1 | contended: a thread may sleep on the word, so the unlock wakes one |
    /// | 2 | reserved: not locked, and only a thread that has slept may take it |
    /// | 3-31 | requests: how many waiters have asked for the lock and still wait |
    ///
    /// While there are requests, an unlock leaves the word reserved. A waiter leaves the count when
    /// it takes the lock or gives up, so a reservation has a taker.
    word: AtomicU32,
    futex: PhantomData<fn() -> F>,
}

impl Mutex {
    const_fn! {
        /// Returns an unlocked mutex.
        #[allow(clippy::new_without_default)]
        pub fn new() -> Self {
            Self::new_in()
        }
    }
}

impl<F: Futex> Mutex<F> {
    const_fn! {
        /// Returns an unlocked mutex.
        ///
        /// It is on the futexes that its type names; [`new`](Mutex::new) returns one for a single process.
        pub fn new_in() -> Self {
            Mutex { word: AtomicU32::new(UNLOCKED), futex: PhantomData }
        }
    }

    /// Locks the mutex, waiting as long as that takes. What was done under the lock before happens
    /// before the return.
    #[inline]
    pub fn lock(&self) {
        if self.take_at_once().is_err() {
            self.lock_contended(Timeout::Never, false);
        }
    }

    /// Locks the mutex if it is neither held nor reserved for a waiter; returns true if it did.
    #[inline]
    pub fn try_lock(&self) -> bool {
        match self.take_at_once() {
            Ok(_) => true,
            Err(word) => !is_locked(word) && self.try_lock_reserved(word),
        }
    }

    /// Makes one attempt to take a lock whose word is 0; returns the word if it is not.
    #[inline]
    pub(crate) fn take_at_once(&self) -> Result<u32, u32> {
        // Acquire: partner of the releases in `unlock`. Relaxed on failure: nothing was learnt.
        self.word.compare_exchange(UNLOCKED, LOCKED, Ordering::Acquire, Ordering::Relaxed)
    }

    /// Takes a reserved lock in the child of a fork, where the requesting threads are not there;
    /// returns true if it did. Requests of the child's own threads expire with the others; these
    /// threads request again.
    #[cold]
    #[inline(never)]
    fn try_lock_reserved(&self, word: u32) -> bool {
        let expired = Waiter { expired: true, ..Waiter::new(true) };
        forked_child::<F>() && self.take(word, &expired)
    }

    /// Locks the mutex if that is possible until `deadline`; returns true if it did. With a
    /// deadline that has passed this is [`try_lock`](Self::try_lock) and a little spinning.
    ///
    /// ```
    /// use leeward::futex::{Deadline, Private};
    /// use leeward::raw::Mutex;
    /// use std::time::Duration;
    /// let lock = <Mutex>::new();
    /// lock.lock();
    /// let soon = Deadline::after::<Private>(Duration::from_millis(1));
    /// assert!(lock.is_locked() && !lock.try_lock_until(soon));
    /// // SAFETY: locked above.
    /// unsafe { lock.unlock() };
    /// ```
    #[inline]
    pub fn try_lock_until(&self, deadline: Deadline) -> bool {
        self.take_at_once().is_ok() || self.lock_contended(Timeout::At(deadline), false)
    }

    /// Returns true if a thread held the mutex; out of date when it returns.
    #[inline]
    pub fn is_locked(&self) -> bool {
        // Relaxed: says nothing about what the holder did.
        is_locked(self.word.load(Ordering::Relaxed))
    }

    /// Takes the lock, if its word is still `word`; returns true if it did. A waiter that was woken
    /// takes it with the contended mark, since the unlock that woke it cleared the mark while other
    /// threads may sleep. Other takers leave the mark to the thread that was woken.
    fn take(&self, word: u32, waiter: &Waiter) -> bool {
        let mark = if check!(mutex_contended, waiter.patient) { CONTENDED } else { 0 };
        let others = if waiter.has_requested { without_request(word) } else { word };
        let forget = waiter.expired || waiter.has_requested && mutated!(mutex_ask_forgotten);
        let requests = if forget { 0 } else { others & REQUESTS };
        // Acquire: as in `try_lock`.
        self.word.compare_exchange(word, LOCKED | mark | requests, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Rechecks the word until the lock is free or the spin budget is spent; returns the word.
    fn spin(&self, patient: bool, budget: &mut SpinBudget) -> u32 {
        loop {
            // Relaxed: the exchange that takes the lock acquires.
            let word = self.word.load(Ordering::Relaxed);
            if is_free_for(word, patient) || !budget.pause::<F>() {
                return word;
            }
        }
    }

    /// Waits for the lock. Returns true if it was acquired, false on timeout. `patient`: the caller
    /// was moved to the lock's word and has slept on it already.
    #[cold]
    #[inline(never)]
    pub(super) fn lock_contended(&self, timeout: Timeout, patient: bool) -> bool {
        let mut waiter = Waiter::new(patient);
        let mut budget = SpinBudget::for_lock(timeout);
        loop {
            let word = self.spin(waiter.patient, &mut budget);
            // Free, and not reserved for others: take it, or recheck if another thread did.
            if is_free_for(word, waiter.patient) {
                if self.take(word, &waiter) {
                    return true;
                }
                continue;
            }
            // Held or reserved, and the spin budget is spent. A waiter that was overtaken for too
            // long requests the lock; one that had done so requests it again if all requests have
            // expired meanwhile.
            let starving = waiter.is_starving::<F>();
            let must_request = starving && !(waiter.has_requested && has_requests(word));
            let marked = (word | CONTENDED).wrapping_add(if must_request { REQUEST } else { 0 });
            // Tell the unlock that a thread sleeps. If the word has changed, the lock may be free:
            // start again.
            // Relaxed, both: a mark; the kernel compares the word under its queue's lock.
            if marked != word && self.word.compare_exchange(word, marked, Ordering::Relaxed, Ordering::Relaxed).is_err()
            {
                continue;
            }
            waiter.has_requested = starving;
            if waiter.since.is_none() {
                waiter.since = Some(F::now());
            }
            // Sleep until woken, but no longer than a lock stays reserved.
            let until = timeout.min(kept_until::<F>(marked));
            let outcome = F::wait(&self.word, marked, until);
            waiter.expired = outcome == Wait::TimedOut && until != timeout;
            match outcome {
                // Woken by an unlock, or for no reason: this thread may take reserved locks from
                // now on.
                Wait::Woken => waiter.woken(),
                // The lock was reserved and no thread came for it: the requests have expired.
                Wait::TimedOut if waiter.expired => waiter.patient = true,
                // The caller's time is up.
                Wait::TimedOut => return self.give_up(&waiter),
                // The word changed before the thread slept: it has lost nothing.
                Wait::Changed => {}
            }
            budget = SpinBudget::for_lock(timeout);
        }
    }

    /// Ends a wait whose time is up. A waiter that has requested the lock takes its request back,
    /// or takes the lock if it was reserved meanwhile; returns true if it did the latter.
    fn give_up(&self, waiter: &Waiter) -> bool {
        if !waiter.has_requested {
            return false;
        }
        loop {
            // Relaxed: as in `spin`.
            let word = self.word.load(Ordering::Relaxed);
            if is_free_for(word, true) {
                if self.take(word, waiter) {
                    return true;
                }
            } else if !has_requests(word)
                || mutated!(mutex_ask_kept)
                // Relaxed, both: a mark.
                || self.word.compare_exchange(word, without_request(word), Ordering::Relaxed, Ordering::Relaxed).is_ok()
            {
                return false;
            }
        }
    }

    /// Unlocks the mutex. The lock may be freed as soon as another thread can have it: only its
    /// address is used after that.
    ///
    /// # Safety
    /// The caller holds the lock.
    #[inline]
    pub unsafe fn unlock(&self) {
        // Release: what was done under the lock happens before the next holder's acquire. Relaxed
        // on failure: the slow path rechecks.
        if self.word.compare_exchange(LOCKED, UNLOCKED, Ordering::Release, Ordering::Relaxed).is_err() {
            self.unlock_contended();
        }
    }

    /// Unlocks a word that has marks, and wakes a thread that sleeps on it.
    #[cold]
    #[inline(never)]
    pub(super) fn unlock_contended(&self) {
        let word = core::ptr::from_ref(&self.word);
        self.release(false);
        step!(mutex_wake, F::wake(word, 1));
    }

    /// Unlocks the word: to 0, or reserved if there are requests, or if `fair` and it is contended.
    /// Returns the new word.
    fn release(&self, fair: bool) -> u32 {
        // Relaxed: the exchange decides.
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let reserve = (fair && word & CONTENDED != 0) || check!(mutex_reserve, has_requests(word));
            let next = if reserve { word & !LOCKED | RESERVED } else { UNLOCKED };
            // Release: as in `unlock`.
            match self.word.compare_exchange(word, next, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return next,
                Err(now) => word = now,
            }
        }
    }

    /// Unlocks the mutex for the thread that has slept longest, if any sleeps: no newcomer gets the
    /// lock before. The lock is idle until that thread runs. It must live until this call returns.
    ///
    /// ```
    /// use leeward::raw::Mutex;
    /// let lock = <Mutex>::new();
    /// lock.lock();
    /// // SAFETY: locked above.
    /// unsafe { lock.bump() };
    /// // SAFETY: as above.
    /// unsafe { lock.unlock_fair() };
    /// assert!(!lock.is_locked());                     // no thread slept
    /// ```
    ///
    /// # Safety
    /// The caller holds the lock.
    pub unsafe fn unlock_fair(&self) {
        let word = self.release(true);
        if word == UNLOCKED {
            // No thread sleeps.
            return;
        }
        if F::wake(&self.word, 1) != 0 || has_requests(word) {
            return;
        }
        // No thread slept. A newcomer may have gone to sleep since on the reserved word, so the
        // reservation is taken back, and then a thread is woken.
        // Release: as in `unlock`. Relaxed on failure: a waiter has taken the lock.
        if self.word.compare_exchange(word, UNLOCKED, Ordering::Release, Ordering::Relaxed).is_ok() {
            F::wake(&self.word, 1);
        }
    }

    /// Lets a thread that waits for the mutex have it, if there is one, as
    /// [`unlock_fair`](Self::unlock_fair) does, and locks it again. If none waits, it costs a load.
    ///
    /// # Safety
    /// The caller holds the lock, and what it guards may have changed at the return.
    #[inline]
    pub unsafe fn bump(&self) {
        // Relaxed: a thread that has just come to wait may wait for the next call.
        if self.word.load(Ordering::Relaxed) != LOCKED {
            // SAFETY: the caller's promise.
            unsafe { self.unlock_fair() };
            self.lock();
        }
    }

    /// Marks the mutex as contended, so that its unlock wakes a thread that was moved here. Returns
    /// false if the mutex is free, so that no unlock would come.
    pub(super) fn mark(&self) -> bool {
        // Relaxed: the exchange decides.
        let mut word = self.word.load(Ordering::Relaxed);
        while is_locked(word) || is_reserved(word) {
            if word & CONTENDED != 0 {
                return true;
            }
            // Relaxed, both: a mark.
            match self.word.compare_exchange(word, word | CONTENDED, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// Returns the word that waiters sleep on.
    pub(super) fn word(&self) -> &AtomicU32 {
        &self.word
    }

    /// Unlocks the mutex, whichever thread held it: in the child of a fork, where the holder may
    /// not exist.
    pub(crate) fn reset(&self) {
        // Relaxed: the child has one thread.
        self.word.store(UNLOCKED, Ordering::Relaxed);
    }
}

impl<F: Futex> core::fmt::Debug for Mutex<F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Mutex").field("locked", &self.is_locked()).finish_non_exhaustive()
    }
}
