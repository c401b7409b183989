//! A mutex: one word. Spins, yields, sleeps; whoever is passed over for too long is handed the lock.
//!
//! After Ulrich Drepper ("Futexes Are Tricky", 2004: locked, and locked with sleepers, as two values of one word); the
//! hand-over after Waiman Long's in Linux (2016) and Go's starvation mode (Rhys Hiltner, Dmitry Vyukov, Russ Cox, 2016).

use core::marker::PhantomData;
use core::time::Duration;

use super::forked::forked_child;
use super::spin_budget::SpinBudget;
use crate::atomic::{AtomicU32, IS_MODEL, Ordering, const_fn, outside_model};
use crate::futex::{Deadline, Futex, Private, Timeout, Wait};
use crate::mutant::{check, mutated, step};

const UNLOCKED: u32 = 0;
const LOCKED: u32 = 1;
const CONTENDED: u32 = 2;
const RESERVED: u32 = 4;
/// One that has asked.
const ASKED: u32 = 8;
/// How many have.
const ASKERS: u32 = !(ASKED - 1);

const fn is_locked(word: u32) -> bool {
    word & LOCKED != 0
}

/// Whether one that has slept (`patient`), or one that has not, may take it.
const fn is_free_for(word: u32, patient: bool) -> bool {
    !is_locked(word) && (word & RESERVED == 0 || patient)
}

const fn is_reserved(word: u32) -> bool {
    word & RESERVED != 0
}

const fn is_asked_for(word: u32) -> bool {
    word & ASKERS != 0
}

/// With one asker less. (None to be taken away: another process wrote to a shared one.)
const fn without_asker(word: u32) -> u32 {
    if is_asked_for(word) { word - ASKED } else { word }
}

/// How many wake-ups a waiter may lose to threads that came later before it asks for the lock,
const LOSSES: u32 = 32;
/// and after how long it asks when it loses one. Also how long a lock is kept for those that asked, if none of them comes.
const LONG: Duration = Duration::from_millis(1);

/// A mutex of one word, over any futex; 4 bytes, valid when zeroed (unlocked).
///
/// # Cost
/// Uncontended: one compare-exchange to lock, one to unlock. Contended: some 7 microseconds of looking, most of them with
/// its processor offered to others; then one system call to sleep, and one by whoever unlocks. Whoever does not sleep
/// causes none.
///
/// # Fairness
/// A lock that was given up goes to whoever takes it first, so that a lock is not idle while a sleeper wakes. The bound:
/// a waiter that lost more than 32 wake-ups, or one when it has waited for a millisecond, asks for the lock. From then
/// until it has it, the lock is given only to threads that have slept for it, which are woken in the order in which they
/// went to sleep: no newcomer comes first, however many have asked. [`unlock_fair`](Self::unlock_fair) does the same at once.
///
/// # Forks, signals, threads that end
/// It has no owner: whoever ends while holding it leaves it locked (see `robust` locks for those that survive). Who ended while
/// waiting, or waited in the parent of a fork, may have asked: if nobody comes for the lock within a millisecond, all requests
/// expire. Who waits finds that out, and for a millisecond at least: until somebody has, [`try_lock`](Self::try_lock) fails although nobody
/// holds it. It does not in the child of a fork that is known of, as [`RwLock`](super::RwLock) tells. Not async-signal-safe: a handler may have interrupted the holder.
#[repr(transparent)]
pub struct Mutex<F: Futex = Private> {
    /// | bit | meaning |
    /// |---|---|
    /// | 0 | locked |
    /// | 1 | somebody may sleep: whoever unlocks wakes one |
    /// | 2 | not locked, but reserved for those that have slept |
    /// | 3-31 | how many have asked for it: while any has, whoever unlocks reserves it. Each is waiting still: it leaves the count with the lock, or when it gives up |
    word: AtomicU32,
    futex: PhantomData<fn() -> F>,
}

/// What a waiter knows about itself.
struct Waiter {
    /// It has slept: reserved locks are for it.
    patient: bool,
    /// It has asked.
    asked: bool,
    /// It has seen the lock kept for those that asked, and none of them come.
    expired: bool,
    /// Wake-ups that it lost.
    losses: u32,
    /// When it first went to sleep.
    since: Option<Deadline>,
}

impl Waiter {
    const fn new(patient: bool) -> Waiter {
        Waiter { patient, asked: false, expired: false, losses: 0, since: None }
    }

    /// It was woken, and will look at the lock.
    fn woken(&mut self) {
        self.patient = true;
        self.losses = self.losses.saturating_add(1);
    }

    /// It has been passed over for too long.
    fn is_starving<F: Futex>(&mut self) -> bool {
        if self.asked || self.losses == 0 {
            return self.asked;
        }
        let since = self.since.unwrap_or(Deadline::at(Duration::MAX)).since_beginning();
        self.losses > outside_model(LOSSES) || since.saturating_add(LONG) <= F::now().since_beginning()
    }
}

/// When somebody may take a lock that is kept for those that asked. They come at once, if they are there: in the child of a
/// fork they are not, nor if their process was killed. (In a model they are.)
fn kept_until<F: Futex>(word: u32) -> Timeout {
    let expires = check!(mutex_expire, is_reserved(word) && !IS_MODEL);
    if expires { Timeout::after::<F>(LONG) } else { Timeout::Never }
}

impl<F: Futex> Mutex<F> {
    const_fn! {
        /// An unlocked one.
        #[allow(clippy::new_without_default)]
        pub fn new() -> Self {
            Mutex { word: AtomicU32::new(UNLOCKED), futex: PhantomData }
        }
    }

    /// Locks it, waiting as long as that takes. Everything done under the lock before happens before the return.
    #[inline]
    pub fn lock(&self) {
        if self.take_at_once().is_err() {
            self.lock_contended(Timeout::Never, false);
        }
    }

    /// Locks it if nobody holds it and it is not reserved for somebody who waits.
    #[inline]
    pub fn try_lock(&self) -> bool {
        match self.take_at_once() {
            Ok(_) => true,
            Err(word) => !is_locked(word) && self.try_lock_reserved(word),
        }
    }

    #[inline]
    fn take_at_once(&self) -> Result<u32, u32> {
        // Acquire: partner of the releases in `unlock`. Relaxed on failure: nothing was learnt.
        self.word.compare_exchange(UNLOCKED, LOCKED, Ordering::Acquire, Ordering::Relaxed)
    }

    /// Takes a free lock that is reserved for threads that are not there: in the child of a fork. Those that are ask
    /// again.
    #[cold]
    #[inline(never)]
    fn try_lock_reserved(&self, word: u32) -> bool {
        let expired = Waiter { expired: true, ..Waiter::new(true) };
        forked_child::<F>() && self.take(word, &expired)
    }

    /// Locks it if that is possible until `deadline`; whether it did. A deadline that has passed is [`try_lock`](Self::try_lock)
    /// with a little spinning.
    #[inline]
    pub fn try_lock_until(&self, deadline: Deadline) -> bool {
        self.take_at_once().is_ok() || self.lock_contended(Timeout::At(deadline), false)
    }

    /// Whether somebody holds it; out of date when it returns.
    #[inline]
    pub fn is_locked(&self) -> bool {
        // Relaxed: says nothing about what the holder did.
        is_locked(self.word.load(Ordering::Relaxed))
    }

    /// Takes the lock. One that was woken marks it: the unlock that woke it dropped the mark, and others may sleep still.
    /// One that was not leaves that to whoever was.
    fn take(&self, word: u32, waiter: &Waiter) -> bool {
        let mark = if waiter.patient && !mutated!(mutex_contended) { CONTENDED } else { 0 };
        let others = if waiter.asked { without_asker(word) } else { word };
        let forget = waiter.expired || waiter.asked && mutated!(mutex_ask_forgotten);
        let asked = if forget { 0 } else { others & ASKERS };
        // Acquire: as in `try_lock`.
        self.word.compare_exchange(word, LOCKED | mark | asked, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Rechecks the word until the lock is free or the spin budget is spent; returns the word.
    fn spin(&self, patient: bool, budget: &mut SpinBudget) -> u32 {
        loop {
            // Relaxed: whoever takes it acquires.
            let word = self.word.load(Ordering::Relaxed);
            if is_free_for(word, patient) || !budget.pause::<F>() {
                return word;
            }
        }
    }

    /// Waits for the lock. Returns true if it was acquired, false on timeout. `patient`: the caller slept on the lock's word
    /// already, moved there.
    #[cold]
    #[inline(never)]
    pub(super) fn lock_contended(&self, timeout: Timeout, patient: bool) -> bool {
        let mut waiter = Waiter::new(patient);
        let mut budget = SpinBudget::for_lock(timeout);
        loop {
            let word = self.spin(waiter.patient, &mut budget);
            // Free, and not reserved for others: take it, or see who did.
            if is_free_for(word, waiter.patient) {
                if self.take(word, &waiter) {
                    return true;
                }
                continue;
            }
            // Held or reserved, and the spin budget is spent. A waiter that was passed over for too long asks; one that
            // had asked asks again where the requests have expired meanwhile.
            let starving = waiter.is_starving::<F>();
            let asks = starving && !(waiter.asked && is_asked_for(word));
            let marked = (word | CONTENDED).wrapping_add(if asks { ASKED } else { 0 });
            // Tell the unlock that a thread sleeps. If the word has changed, the lock may be free: from the beginning.
            // Relaxed, both: a mark; the kernel compares the word under its queue's lock.
            if marked != word && self.word.compare_exchange(word, marked, Ordering::Relaxed, Ordering::Relaxed).is_err()
            {
                continue;
            }
            waiter.asked = starving;
            if waiter.since.is_none() {
                waiter.since = Some(F::now());
            }
            // Sleep until woken, but no longer than a lock is kept for those that asked.
            let until = timeout.min(kept_until::<F>(marked));
            let outcome = F::wait(&self.word, marked, until);
            waiter.expired = outcome == Wait::TimedOut && until != timeout;
            match outcome {
                // By an unlock, or for no reason: reserved locks are for this thread from now on.
                Wait::Woken => waiter.woken(),
                // The lock was kept for those that asked, and none of them came: their requests have expired.
                Wait::TimedOut if waiter.expired => waiter.patient = true,
                // The caller's time is up.
                Wait::TimedOut => return self.give_up(&waiter),
                // The word changed before the thread slept: it has lost nothing.
                Wait::Changed => {}
            }
            budget = SpinBudget::for_lock(timeout);
        }
    }

    /// The time is up: whoever has asked takes that back, or takes the lock if it was granted meanwhile.
    fn give_up(&self, waiter: &Waiter) -> bool {
        if !waiter.asked {
            return false;
        }
        loop {
            // Relaxed: as in `spin`.
            let word = self.word.load(Ordering::Relaxed);
            if is_free_for(word, true) {
                if self.take(word, waiter) {
                    return true;
                }
            } else if !is_asked_for(word)
                || mutated!(mutex_ask_kept)
                // Relaxed, both: a mark.
                || self.word.compare_exchange(word, without_asker(word), Ordering::Relaxed, Ordering::Relaxed).is_ok()
            {
                return false;
            }
        }
    }

    /// Unlocks it. The lock may be freed as soon as another thread can have it: only its address is used after that.
    ///
    /// # Safety
    /// The caller holds it.
    #[inline]
    pub unsafe fn unlock(&self) {
        // Release: what was done under the lock happens before the next holder's acquire. Relaxed on failure: the
        // slow path looks again.
        if self.word.compare_exchange(LOCKED, UNLOCKED, Ordering::Release, Ordering::Relaxed).is_err() {
            self.unlock_contended();
        }
    }

    #[cold]
    #[inline(never)]
    fn unlock_contended(&self) {
        let word = core::ptr::from_ref(&self.word);
        self.release(false);
        step!(mutex_wake, F::wake(word, 1));
    }

    /// Gives it up, reserved if somebody asked for it or `fair`; what the word became.
    fn release(&self, fair: bool) -> u32 {
        // Relaxed: the exchange decides.
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let reserve = (fair && word & CONTENDED != 0) || (is_asked_for(word) && !mutated!(mutex_reserve));
            let next = if reserve { word & !LOCKED | RESERVED } else { UNLOCKED };
            // Release: as in `unlock`.
            match self.word.compare_exchange(word, next, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return next,
                Err(now) => word = now,
            }
        }
    }

    /// Unlocks it, for the one that has slept longest if somebody sleeps: a newcomer does not get it before. Costs the
    /// time until that one runs; the lock must live until this returns.
    ///
    /// # Safety
    /// The caller holds it.
    pub unsafe fn unlock_fair(&self) {
        let word = self.release(true);
        if word == UNLOCKED {
            // Nobody marked it.
            return;
        }
        if F::wake(&self.word, 1) != 0 || is_asked_for(word) {
            return;
        }
        // Nobody slept. Whoever went to sleep since did so upon the reservation: so it is taken back with a wake.
        // Relaxed, both: it is free already, by the release above.
        if self.word.compare_exchange(word, UNLOCKED, Ordering::Release, Ordering::Relaxed).is_ok() {
            F::wake(&self.word, 1);
        }
    }

    /// Marks it so that its unlock wakes one of those that were moved here; false if nobody holds it.
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

    /// The word that its waiters sleep on.
    pub(super) fn word(&self) -> &AtomicU32 {
        &self.word
    }

    /// Unlocks it whoever held it: in the child of a fork, where the holder may not exist.
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
