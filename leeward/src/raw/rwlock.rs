//! A readers-writer lock for general use: two words; neither readers nor writers starve the other
//! side. This file has the type, the writers' side and the wakes; `rwlock_read.rs` has the readers'
//! side, `rwlock_upgrade.rs` the upgradable reader's, `rwlock_fair.rs` the unlocks that hand over,
//! `rwlock_state.rs` the state word.
//!
//! Phases alternate as in a phase-fair lock (Brandenburg and Anderson, "Spin-Based Reader-Writer
//! Synchronization for Multiprocessor Real-Time Systems", 2010): readers stay out while a writer
//! waits, and a writer's unlock lets in the readers that waited for it, past other waiting writers.
//! The lock is not handed off but free to take, so that a thread that is awake goes on. What that
//! costs readers is bounded by counting those that were bypassed.
//!
//! Why it is right: the page "locks" of the book.

use core::marker::PhantomData;

use super::forked::forked_child;
use super::rwlock_state::{
    READER, READERS, READERS_WAIT, RESERVED, UPGRADABLE, WRITER, WRITERS_WAIT, after_expiry, after_writer, is_free,
    is_upgrading, is_written, kept_for, kept_until, show,
};
use super::spin_budget::SpinBudget;
use crate::atomic::{AtomicU32, Ordering, const_fn};
use crate::futex::{ALL, Deadline, Futex, Private, Timeout, Wait};
use crate::mutant::{check, mutated, order};

/// A readers-writer lock over any futex: readers share it, a writer is alone; 8 bytes, valid when
/// zeroed (unlocked).
///
/// It is not recursive: [`lock_shared`](Self::lock_shared) by a thread that reads already may wait
/// for a writer that waits for that thread. [`lock_shared_recursive`](Self::lock_shared_recursive)
/// does not. A [`Condvar`](super::Condvar) may be waited on with the lock held for writing.
///
/// One of the readers may be an upgradable one ([`lock_upgradable`](Self::lock_upgradable)), which
/// becomes a writer without leaving the lock to another.
///
/// ```
/// use leeward::raw::RwLock;
/// static LOCK: RwLock = RwLock::new();
/// LOCK.lock_shared();
/// assert!(LOCK.try_lock_shared());
/// assert!(!LOCK.try_lock_exclusive());
/// for _ in 0..2 {
///     // SAFETY: locked twice for reading above.
///     unsafe { LOCK.unlock_shared() };
/// }
/// assert!(LOCK.try_lock_exclusive());
/// ```
///
/// # Cost
/// - Free: one compare-exchange to lock, one subtraction (reading) or compare-exchange (writing) to
///   unlock. Readers share the word's cache line; where they are many and writes are rare, see
///   `asym`.
/// - Contended: [spinning](super#waiting), then one system call to sleep, and one or two of the
///   thread that unlocks.
///
/// # Fairness
/// - **A sleeping writer** is overtaken by the readers that are inside and by those that an earlier
///   writer kept out. No later reader overtakes it, unless the lock has been free for a millisecond
///   and none of the writers that were woken came for it.
/// - **A sleeping reader** is let in by the next writer's unlock. If other writers take the lock
///   before the reader has run, it is counted as bypassed when it runs, and then no writer takes
///   the lock before it (31 readers at a time are counted). So from its first recheck on, one
///   writer at most precedes it: the one that holds the lock then. If no counted reader comes for
///   the lock within a millisecond, a waiting writer takes it, and the readers are counted anew.
/// - **An upgradable reader** enters as other readers do, and waits for another upgradable one
///   besides, without a bound. To become the writer it waits for the readers that are inside, past
///   all that wait, bypassed readers too; from when it sleeps, no later reader overtakes it.
/// - **Among writers** there is no bound: a newcomer may overtake a writer that was woken. Sleeping
///   writers are woken in the order in which they went to sleep.
/// - **A holder may hand over** by [`unlock_exclusive_fair`](Self::unlock_exclusive_fair) and its
///   like: then the lock is reserved for threads that have slept, and no newcomer overtakes these.
///
/// Where the platform has no futexes, waiting is polling, no lock knows its waiters, and none of
/// these bounds holds.
///
/// # Lifetime
/// The lock must live until each call on it has returned: the unlocking thread reads it after other
/// threads may have locked it.
///
/// # Fork
/// Marks that the parent's waiting threads left in a free lock expire: a waiter goes on after a
/// millisecond. In the child of a fork a `try_` call succeeds at once if the library noticed the
/// fork: if the process had used before it an RCU domain, an asymmetric or robust lock, a
/// [`Condvar`](super::Condvar) that was waited on, or a guard of a [shared](crate::shared) lock.
///
/// # Signals
/// Not async-signal-safe: the handler may have interrupted a holder, or a thread that is about to
/// wake one.
///
/// # Aborts
/// With 1,048,574 readers inside, which takes leaked guards, one more reader ends the process. With
/// a futex that processes share, it waits until a reader has left.
#[repr(C)]
pub struct RwLock<F: Futex = Private> {
    /// | bits | meaning |
    /// |---|---|
    /// | 0-19 | readers inside; all ones: a writer |
    /// | 20-24 | bypassed readers: no writer takes the lock while it is not 0 |
    /// | 25 | reserved: when it is free, only a thread that has slept may write, or be upgradable |
    /// | 26-28 | phase: counts the writers' unlocks that let readers in past waiting writers |
    /// | 29 | an upgradable reader is inside; with no readers inside, it becomes the writer next |
    /// | 30 | readers may sleep, on this word |
    /// | 31 | writers may sleep, on the other word: readers that arrive stay out |
    pub(super) state: AtomicU32,
    /// Counts wakes of writers, which sleep on it, as upgradable readers do that become writers.
    pub(super) writers: AtomicU32,
    futex: PhantomData<fn() -> F>,
}

impl RwLock {
    const_fn! {
        /// Returns an unlocked lock.
        #[allow(clippy::new_without_default)]
        pub fn new() -> Self {
            Self::new_in()
        }
    }
}

impl<F: Futex> RwLock<F> {
    const_fn! {
        /// Returns an unlocked lock.
        ///
        /// It is on the futexes that its type names; [`new`](RwLock::new) returns one for a single process.
        pub fn new_in() -> Self {
            RwLock { state: AtomicU32::new(0), writers: AtomicU32::new(0), futex: PhantomData }
        }
    }

    /// Locks for writing, waiting as long as that takes. What earlier holders did happens before
    /// the return.
    ///
    /// ```
    /// use leeward::raw::RwLock;
    /// let lock = <RwLock>::new();
    /// lock.lock_exclusive();
    /// assert!(lock.is_locked() && lock.is_locked_exclusive() && !lock.try_lock_shared());
    /// // SAFETY: locked for writing above.
    /// unsafe { lock.unlock_exclusive() };
    /// assert!(!lock.is_locked());
    /// ```
    #[inline]
    pub fn lock_exclusive(&self) {
        if !self.take_at_once() {
            self.lock_exclusive_slow(Timeout::Never);
        }
    }

    /// Locks for writing if that is possible until `deadline`; returns true if it did. Attempts at
    /// least once.
    ///
    /// ```
    /// use leeward::futex::{Deadline, Private};
    /// use leeward::raw::RwLock;
    /// use std::time::Duration;
    /// let lock = <RwLock>::new();
    /// lock.lock_shared();
    /// let soon = Deadline::after::<Private>(Duration::from_millis(1));
    /// assert!(!lock.lock_exclusive_until(soon));      // a reader is inside
    /// // SAFETY: locked for reading above.
    /// unsafe { lock.unlock_shared() };
    /// ```
    #[inline]
    pub fn lock_exclusive_until(&self, deadline: Deadline) -> bool {
        self.take_at_once() || self.lock_exclusive_slow(Timeout::At(deadline))
    }

    /// Locks for writing if no thread is inside and no reader was bypassed; returns true if it did.
    #[inline]
    pub fn try_lock_exclusive(&self) -> bool {
        // Relaxed: the exchange decides.
        let mut state = self.state.load(Ordering::Relaxed);
        while is_free(state, false) || kept_for(state).is_some() && forked_child::<F>() {
            let taken = after_expiry(state) | WRITER;
            // Acquire: as in `take_at_once`.
            match self.state.compare_exchange_weak(state, taken, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => state = now,
            }
        }
        false
    }

    /// Makes one attempt to take a lock that no thread holds or waits for; returns true if it did.
    #[inline]
    pub(crate) fn take_at_once(&self) -> bool {
        // Acquire: partner of the releases in `unlock_shared` and `unlock_exclusive`. Relaxed on
        // failure: the slow path rechecks.
        self.state.compare_exchange(0, WRITER, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Waits until the writer has the lock. Returns true if it was acquired, false on timeout.
    #[cold]
    #[inline(never)]
    pub(super) fn lock_exclusive_slow(&self, timeout: Timeout) -> bool {
        let mut budget = SpinBudget::for_lock(timeout);
        // `mark`: a writer that has slept sets the mark again, since others may still sleep.
        // `expired`: the reservation that ran out while this writer slept (`kept_for`'s value); 0: none.
        // `has_slept`: a reserved lock is reserved for this writer.
        let (mut mark, mut expired, mut has_slept) = (0, 0, false);
        loop {
            // Acquire: partner of the release in `wake_a_writer`: a writer that knows of the wake
            // sees the unlock before it.
            let wakes = self.writers.load(Ordering::Acquire);
            // Relaxed: the exchanges decide.
            let state = self.state.load(Ordering::Relaxed);
            // Free; or free and kept for threads none of which came while this writer slept: take it.
            if kept_for(state) == Some(expired) || is_free(state, has_slept) {
                let taken = after_expiry(state) | WRITER | mark;
                // Acquire: as in `take_at_once`.
                if self.state.compare_exchange(state, taken, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                    return true;
                }
                continue;
            }
            // Held, or kept for readers: recheck, while the spin budget lasts.
            if budget.pause::<F>() {
                continue;
            }
            // Tell the unlock that a writer sleeps, and newcomers to stay out.
            // Relaxed: the mark is all that is published.
            if state & WRITERS_WAIT == 0
                && self
                    .state
                    .compare_exchange(state, state | WRITERS_WAIT, Ordering::Relaxed, Ordering::Relaxed)
                    .is_err()
            {
                continue;
            }
            mark = WRITERS_WAIT;
            // Sleep until a wake is counted, but no longer than a free lock is kept for others.
            let until = timeout.min(kept_until::<F>(state));
            match F::wait(&self.writers, wakes, until) {
                // The caller's time is up: readers need not stay out for this writer any more.
                Wait::TimedOut if until == timeout => {
                    // It may have been woken before to take the lock that is reserved now.
                    self.retract(if check!(rwlock_gives_up_reserved, has_slept) { RESERVED } else { 0 });
                    return false;
                }
                // The threads that it was kept for did not come. If none comes before the recheck,
                // this writer takes it.
                Wait::TimedOut => expired = kept_for(state).unwrap_or(0),
                // A wake: bypassed readers are waited for anew.
                outcome => {
                    expired = 0;
                    has_slept |= outcome == Wait::Woken;
                }
            }
        }
    }

    /// Unlocks a lock that is held for writing.
    ///
    /// # Safety
    /// The lock is held for writing, and its holder gives that up.
    #[inline]
    pub unsafe fn unlock_exclusive(&self) {
        // Release: what was done under the lock happens before the next holder's. Relaxed on
        // failure: the slow path rechecks.
        if self.state.compare_exchange(WRITER, 0, Ordering::Release, Ordering::Relaxed).is_err() {
            self.unlock_exclusive_slow();
        }
    }

    /// Unlocks for writing where threads sleep, and wakes those that come next.
    #[cold]
    #[inline(never)]
    pub(super) fn unlock_exclusive_slow(&self) {
        let state = self.leave_as_writer(after_writer);
        // Waiting readers go first, and the last of them to leave wakes a writer. If the wake found
        // none, no reader may come to do that, so a writer is woken here.
        let has_woken = state & READERS_WAIT != 0 && self.wake_readers();
        if !has_woken && state & WRITERS_WAIT != 0 {
            self.wake_writer();
        }
    }

    /// Makes the writer a reader: no other writer comes between, and waiting readers are let in.
    ///
    /// ```
    /// use leeward::raw::RwLock;
    /// let lock = <RwLock>::new();
    /// lock.lock_exclusive();
    /// // SAFETY: locked for writing above.
    /// unsafe { lock.downgrade() };
    /// assert!(lock.try_lock_shared() && !lock.is_locked_exclusive());
    /// for _ in 0..2 {
    ///     // SAFETY: two readers: the writer that was, and the one above.
    ///     unsafe { lock.unlock_shared() };
    /// }
    /// ```
    ///
    /// # Safety
    /// The lock is held for writing, and its holder goes on as a reader.
    #[inline]
    pub unsafe fn downgrade(&self) {
        let state = self.leave_as_writer(|state| after_writer(state) + READER);
        if state & READERS_WAIT != 0 {
            self.wake_readers();
        }
    }

    /// Changes the state to what `leave` says that the writer leaves; returns the state as it was.
    pub(super) fn leave_as_writer(&self, leave: impl Fn(u32) -> u32) -> u32 {
        // Relaxed: the exchange decides.
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            // Release: as in `unlock_exclusive`.
            match self.state.compare_exchange_weak(state, leave(state), Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return state,
                Err(now) => state = now,
            }
        }
    }

    /// Wakes the readers that sleep; returns true if there were any.
    pub(super) fn wake_readers(&self) -> bool {
        !mutated!(rwlock_wake_readers) && F::wake(&self.state, ALL) != 0
    }

    /// Wakes a writer. Newcomers stay out until it comes; if no writer sleeps, they need not.
    #[cold]
    #[inline(never)]
    pub(super) fn wake_writer(&self) {
        if !self.wake_a_writer() {
            self.retract(0);
        }
    }

    /// Counts a wake and wakes one sleeping writer; returns true if there was one. Where an
    /// upgradable reader may be what sleeps, all are woken: no other of them could take the lock.
    pub(super) fn wake_a_writer(&self) -> bool {
        if mutated!(rwlock_wake_writer) {
            return true;
        }
        // Release: partner of the acquires in `lock_exclusive_slow` and `upgrade_slow`.
        self.writers.fetch_add(1, order!(Release, rwlock_wakes_release));
        // Relaxed: an upgradable reader sleeps only after it has changed this word, before which the
        // caller's last reader had left, or after which the caller changed it: then it is seen.
        let upgrades = check!(rwlock_upgrade_wakes, self.state.load(Ordering::Relaxed) & UPGRADABLE != 0);
        F::wake(&self.writers, if upgrades { ALL } else { 1 }) != 0
    }

    /// Takes back the mark that keeps readers out, and the reservation if that is `reserved`, for
    /// threads that are not there, or no longer. If a writer sleeps after all (it went to sleep
    /// without marking the word, because it was marked), it is woken and marks the word again.
    #[cold]
    #[inline(never)]
    pub(super) fn retract(&self, reserved: u32) {
        // Relaxed: the marks are all that changes.
        let state = self.state.fetch_and(!(WRITERS_WAIT | reserved), Ordering::Relaxed);
        if !mutated!(rwlock_retract_wakes) && self.wake_a_writer() || is_written(state) || is_upgrading(state) {
            return;
        }
        // No writer sleeps, is inside or comes next: the readers that stayed out may enter.
        // Relaxed: as above.
        if self.state.fetch_and(!READERS_WAIT, Ordering::Relaxed) & READERS_WAIT != 0 {
            self.wake_readers();
        }
    }

    /// Returns true if a thread held the lock; out of date when it returns.
    pub fn is_locked(&self) -> bool {
        // Relaxed: out of date when it returns.
        self.state.load(Ordering::Relaxed) & (READERS | UPGRADABLE) != 0
    }

    /// Returns true if a writer held the lock; out of date when it returns.
    pub fn is_locked_exclusive(&self) -> bool {
        // Relaxed: out of date when it returns.
        is_written(self.state.load(Ordering::Relaxed))
    }
}

impl<F: Futex> core::fmt::Debug for RwLock<F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // Relaxed: out of date when it is printed.
        show(self.state.load(Ordering::Relaxed), f)
    }
}
