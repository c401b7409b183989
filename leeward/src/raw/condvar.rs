//! A condition variable over any futex and any lock of this crate, with three ways to notify.
//!
//! After Ulrich Drepper's and Jakub Jelinek's for glibc (2002-2005: an inner lock, requeueing,
//! `FUTEX_WAKE_OP`), without its defect: a thread that comes after a notification cannot take it
//! from those that came before.
//!
//! Why it is right: the page "locks" of the book.

use core::marker::PhantomData;
use core::ptr;

use super::scheme::{Requeue, Scheme};
use super::spin_budget::SpinBudget;
use super::{Lock, Mutex};
use crate::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, const_fn};
use crate::futex::{ALL, Argument, Comparison, Futex, Operation, Private, Timeout, Wait};
use crate::mutant::{check, mutated, step};
use crate::process::fork_mark;

const WAITER: u64 = 1;
const NOTIFICATION: u64 = 1 << 32;

const fn waiters(counts: u64) -> u32 {
    counts as u32
}

const fn notifications(counts: u64) -> u32 {
    (counts >> 32) as u32
}

/// The unlock of the inner lock as a futex operation: its word becomes 0, and if it was more than
/// "locked", a waiter of the inner lock is woken.
const UNLOCK: crate::futex::WakeOp =
    match crate::futex::WakeOp::new(Operation::Set, Argument::Value(0), Comparison::Greater, 1) {
        Ok(op) => op,
        Err(_) => panic!("0 and 1 fit"),
    };

/// A condition variable over any futex, used with any [`Lock`]; 32 bytes on 64-bit machines, valid
/// when zeroed (no waiters).
///
/// Its words are the inner lock, the sequence number, the counts, the mutex to which waiters are
/// moved, and its process. With a shared futex the last two are unused and 0, since processes map
/// memory at different addresses; there [`notify_one_of`](Self::notify_one_of) is told the lock.
///
/// ```
/// use leeward::futex::Timeout;
/// use leeward::raw::{Condvar, Mutex};
/// use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
/// static LOCK: Mutex = Mutex::new();
/// static CHANGED: Condvar = Condvar::new();
/// static READY: AtomicBool = AtomicBool::new(false);
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         LOCK.lock();
///         READY.store(true, Relaxed);
///         CHANGED.notify_one();
///         // SAFETY: locked above.
///         unsafe { LOCK.unlock() };
///     });
///     LOCK.lock();
///     while !READY.load(Relaxed) {
///         // SAFETY: this thread holds the lock.
///         unsafe { CHANGED.wait(&LOCK, Timeout::Never) };
///     }
///     // SAFETY: a wait returns with the lock.
///     unsafe { LOCK.unlock() };
/// });
/// ```
///
/// # Promise
/// A notification wakes at least one (or all) of the threads that wait when it is issued, and no
/// thread that comes later takes it from them. The lock orders waiters and notifiers: a notifier
/// that changed, under the lock, what a waiter waits for finds that waiter. A wait may end without
/// a notification, so callers check their condition again.
///
/// # Cost
/// - Free: notifying while no thread waits is one load.
/// - Otherwise notifying takes the inner lock and one system call; two if the lock was unlocked
///   while waiters were moved to it.
/// - Waiting takes the inner lock once, or twice if the time is up. Before it sleeps, a waiter
///   [spins](super#waiting); one that is notified by then returns without a sleep.
///
/// # Lifetime
/// It must live until each `wait` and `notify` has returned.
///
/// # Fork
/// In the child, threads that waited are not there, nor, perhaps, their mutexes. As long as any of
/// them is counted, notifications wake plainly and may count absent threads. If another thread held
/// the inner lock at the fork (it was entering a wait, leaving one, or notifying), the child's next
/// call that needs that lock waits forever.
///
/// # Signals
/// Not async-signal-safe: the handler may have interrupted the holder of the inner lock.
#[repr(C)]
pub struct Condvar<S: Scheme = Requeue, F: Futex = Private> {
    /// The inner lock: held to enter, to notify, and to leave without a notification.
    inner: Mutex<F>,
    /// The sequence number: changes with each notification. Waiters sleep on it.
    sequence: AtomicU32,
    /// | bits | meaning |
    /// |---|---|
    /// | 0-31 | waiters: threads inside for which no notification was issued |
    /// | 32-63 | notifications with which no waiter has left yet |
    ///
    /// The sum is the number of threads inside. Notifications never outnumber the threads that are
    /// on their way out, so where there are no waiters, every thread inside is leaving.
    counts: AtomicU64,
    /// The mutex of the threads inside, if that takes moved waiters and is private. Written by the
    /// first that enters.
    queue: AtomicPtr<Mutex<F>>,
    /// The process that wrote `queue`, by its `fork_mark`. In another process, a counted thread may
    /// be one of the parent's, whose mutex lay on a stack that is gone. There the mutex is neither
    /// used nor demanded to be the same until no thread is counted.
    process: AtomicU32,
    scheme: PhantomData<fn() -> S>,
}

impl Condvar {
    const_fn! {
        /// Returns a condition variable without waiters.
        #[allow(clippy::new_without_default)]
        pub fn new() -> Self {
            Self::new_in()
        }
    }
}

impl<S: Scheme, F: Futex> Condvar<S, F> {
    /// The offset of the counts.
    pub(super) const COUNTS_AT: usize = core::mem::offset_of!(Self, counts);

    const_fn! {
        /// Returns a condition variable without waiters.
        ///
        /// It is on the futexes that its type names; [`new`](Condvar::new) returns one for a single process.
        pub fn new_in() -> Self {
            Condvar {
                inner: Mutex::<F>::new_in(),
                sequence: AtomicU32::new(0),
                counts: AtomicU64::new(0),
                queue: AtomicPtr::new(ptr::null_mut()),
                process: AtomicU32::new(0),
                scheme: PhantomData,
            }
        }
    }

    /// Unlocks `lock`, waits for a notification until `timeout`, and locks `lock` again. Returns
    /// false if the time was up and no notification came.
    ///
    /// # Panics
    /// If other threads wait with another mutex, and the scheme might move waiters to it. The lock
    /// is still held then.
    ///
    /// # Safety
    /// The caller holds `lock`.
    #[track_caller]
    pub unsafe fn wait<L: Lock<F>>(&self, lock: &L, timeout: Timeout) -> bool {
        // SAFETY: the caller's promise.
        match unsafe { self.checked_wait(lock, timeout) } {
            Some(notified) => notified,
            None => panic!("leeward: a condition variable was waited upon with two mutexes at a time"),
        }
    }

    /// Waits as [`wait`](Self::wait) does. Returns `None`, with the lock held and without having
    /// waited, where `wait` panics.
    ///
    /// ```
    /// use leeward::futex::Timeout;
    /// use leeward::raw::{Condvar, Mutex};
    /// let (lock, changed) = (<Mutex>::new(), <Condvar>::new());
    /// lock.lock();
    /// // SAFETY: locked above.
    /// let notified = unsafe { changed.checked_wait(&lock, Timeout::Now) };
    /// assert_eq!(notified, Some(false));              // one mutex, and no notification came
    /// // SAFETY: a wait returns with the lock.
    /// unsafe { lock.unlock() };
    /// ```
    ///
    /// # Safety
    /// The caller holds `lock`.
    pub unsafe fn checked_wait<L: Lock<F>>(&self, lock: &L, timeout: Timeout) -> Option<bool> {
        // Counted under the caller's lock: a notifier that changes, under the lock, what this
        // thread waits for finds the thread.
        let sequence = self.enter(lock.queue())?;
        // SAFETY: the caller's promise.
        unsafe { lock.unlock() };
        // A thread that is notified within the spin budget needs no sleep, and no wake.
        let has_slept = !self.spin(sequence, timeout) && self.sleep(sequence, timeout);
        let notified = self.leave(sequence);
        // A thread that has not slept was not moved.
        if check!(condvar_lock_moved, S::MOVES && has_slept) {
            lock.lock_moved();
        } else {
            lock.lock();
        }
        Some(notified)
    }

    /// Returns true if the sequence number changed within the spin budget: then the caller need not
    /// sleep, and its notifier finds no waiter to move.
    fn spin(&self, sequence: u32, timeout: Timeout) -> bool {
        let mut budget = SpinBudget::for_event(timeout);
        loop {
            // Relaxed: `leave` acquires.
            if self.sequence.load(Ordering::Relaxed) != sequence {
                return true;
            }
            if !budget.pause_for_hand_over::<F>() {
                return false;
            }
        }
    }

    /// Counts the caller as a waiter; returns the sequence number whose change it waits for. Counts
    /// nothing and returns `None` if other threads wait with another mutex.
    fn enter(&self, queue: Option<&Mutex<F>>) -> Option<u32> {
        let queue = match queue {
            Some(queue) if S::MOVES && !F::SHARED => ptr::from_ref(queue).cast_mut(),
            _ => ptr::null_mut(),
        };
        self.inner.lock();
        // Relaxed, all: under the inner lock; threads that leave without it only lower the count.
        let is_empty = self.counts.load(Ordering::Relaxed) == 0;
        // A shared condition variable keeps no mutex: another process may have written anything
        // there.
        let same = is_empty || F::SHARED || self.queue.load(Ordering::Relaxed) == queue || !self.is_this_process();
        let sequence = self.sequence.load(Ordering::Relaxed);
        if is_empty {
            self.queue.store(queue, Ordering::Relaxed);
            let process = if S::MOVES && !F::SHARED { fork_mark::now() } else { 0 };
            self.process.store(process, Ordering::Relaxed);
        }
        if same {
            self.counts.fetch_add(WAITER, Ordering::Relaxed);
        }
        self.unlock_inner();
        same.then_some(sequence)
    }

    /// Returns true if every counted waiter belongs to this process, or the scheme does not ask
    /// (precondition: at least one waiter is counted).
    fn is_this_process(&self) -> bool {
        // Relaxed: under the inner lock.
        let process = self.process.load(Ordering::Relaxed);
        process == 0 || fork_mark::is_still(process) || mutated!(condvar_forked)
    }

    /// Sleeps until the sequence number changes or the time is up. Returns true if the caller was
    /// asleep, and so perhaps moved.
    fn sleep(&self, sequence: u32, timeout: Timeout) -> bool {
        let mut has_slept = false;
        loop {
            let outcome = F::wait(&self.sequence, sequence, timeout);
            has_slept |= outcome != Wait::Changed;
            // Relaxed: `leave` acquires.
            let ended = self.sequence.load(Ordering::Relaxed) != sequence;
            if ended || outcome == Wait::TimedOut {
                return has_slept;
            }
        }
    }

    /// Counts the caller out; returns true if it was notified. Any notification that was issued
    /// since the caller entered will do: each woke a thread that was inside, and every thread that
    /// is out of its sleep leaves.
    fn leave(&self, sequence: u32) -> bool {
        // Relaxed: as in `sleep`.
        let ended = self.sequence.load(Ordering::Relaxed) != sequence;
        if ended && self.consume() {
            return true;
        }
        // A notifier that is at work relies on no waiter leaving, since it touches their lock. So
        // leave under the inner lock.
        self.inner.lock();
        // Relaxed: changed under the inner lock.
        let ended = self.sequence.load(Ordering::Relaxed) != sequence;
        let notified = ended && self.consume();
        if !notified {
            // Relaxed: under the inner lock.
            self.counts.fetch_sub(WAITER, Ordering::Relaxed);
        }
        self.unlock_inner();
        // Without a notification left, but woken instead of a thread that took one: notified all
        // the same.
        ended
    }

    /// Takes a notification; returns false if there is none.
    fn consume(&self) -> bool {
        // Relaxed: the exchange decides.
        let mut counts = self.counts.load(Ordering::Relaxed);
        while notifications(counts) != 0 {
            // Acquire: partner of the release in `count_notifications`: what the notifier did with
            // our lock is done before we lock it, and free it perhaps.
            match self.counts.compare_exchange(counts, counts - NOTIFICATION, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => counts = now,
            }
        }
        false
    }

    /// Wakes one waiter; returns true if there was one.
    #[inline]
    pub fn notify_one(&self) -> bool {
        !self.has_no_waiters() && self.notify(1, None) != 0
    }

    /// Wakes all waiters; returns how many there were.
    #[inline]
    pub fn notify_all(&self) -> u32 {
        if self.has_no_waiters() { 0 } else { self.notify(ALL, None) }
    }

    /// Wakes one waiter, or moves it to `lock`; returns true if there was one. Waiters of a shared
    /// condition variable are moved by this call only, since the words store no pointer.
    ///
    /// ```
    /// use leeward::futex::{Shared, Timeout};
    /// use leeward::raw::{Condvar, Mutex, Requeue};
    /// use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    /// static LOCK: Mutex<Shared> = Mutex::new_in();
    /// static CHANGED: Condvar<Requeue, Shared> = Condvar::new_in();
    /// static READY: AtomicBool = AtomicBool::new(false);
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         LOCK.lock();
    ///         READY.store(true, Relaxed);
    ///         // SAFETY: all waiters use this lock. Its unlock wakes the waiter; the call did not.
    ///         unsafe { CHANGED.notify_one_of(&LOCK) };
    ///         // SAFETY: locked above.
    ///         unsafe { LOCK.unlock() };
    ///     });
    ///     LOCK.lock();
    ///     while !READY.load(Relaxed) {
    ///         // SAFETY: this thread holds the lock.
    ///         unsafe { CHANGED.wait(&LOCK, Timeout::Never) };
    ///     }
    ///     // SAFETY: a wait returns with the lock.
    ///     unsafe { LOCK.unlock() };
    /// });
    /// // SAFETY: as above.
    /// assert_eq!(unsafe { CHANGED.notify_all_of(&LOCK) }, 0);
    /// assert_eq!(CHANGED.notify_all(), 0);            // nobody waits
    /// ```
    ///
    /// # Safety
    /// All waiters use `lock`.
    #[inline]
    pub unsafe fn notify_one_of<L: Lock<F>>(&self, lock: &L) -> bool {
        !self.has_no_waiters() && self.notify(1, lock.queue()) != 0
    }

    /// Wakes all waiters, or moves them to `lock`; returns how many there were. Waiters of a shared
    /// condition variable are moved by this call only, since the words store no pointer.
    ///
    /// # Safety
    /// All waiters use `lock`.
    #[inline]
    pub unsafe fn notify_all_of<L: Lock<F>>(&self, lock: &L) -> u32 {
        if self.has_no_waiters() { 0 } else { self.notify(ALL, lock.queue()) }
    }

    #[inline]
    fn has_no_waiters(&self) -> bool {
        // Relaxed: the lock, under which waiters count themselves, decides which come before the
        // notification.
        waiters(self.counts.load(Ordering::Relaxed)) == 0
    }

    /// Notifies up to `count` waiters, whose mutex is `queue` if that is given; returns how many.
    #[cold]
    #[inline(never)]
    fn notify(&self, count: u32, queue: Option<&Mutex<F>>) -> u32 {
        self.inner.lock();
        // Relaxed, all: under the inner lock.
        let count = waiters(self.counts.load(Ordering::Relaxed)).min(count);
        // Every thread inside is on its way out.
        if count == 0 {
            self.unlock_inner();
            return 0;
        }
        // From here on no waiter that was inside goes to sleep, and one that enters is not this
        // notification's.
        let sequence = self.sequence.load(Ordering::Relaxed).wrapping_add(1);
        step!(condvar_sequence, self.sequence.store(sequence, Ordering::Relaxed));
        // `WakeOp`: one call wakes the waiters, unlocks the inner lock and wakes a thread that
        // waits for that.
        if S::UNLOCKS {
            self.count_notifications(count);
            // SAFETY: the inner lock is held, and lives as long as this call.
            unsafe { F::wake_op(&self.sequence, count, self.inner.word(), UNLOCK, 1) };
            return count;
        }
        // A pointer that another process may have written is not followed.
        let is_believed = !F::SHARED && self.is_this_process();
        let stored = if is_believed { self.queue.load(Ordering::Relaxed) } else { ptr::null_mut() };
        // SAFETY: null, or the lock of the waiters, all of this process. At least one is inside,
        // and can leave only with the inner lock or a notification; none is there for the last of
        // them until `count_notifications`.
        let stored = unsafe { stored.as_ref() };
        match queue.or(stored) {
            // `Requeue`, and a woken waiter would find the lock held: by its holder, or by the
            // waiter before it.
            Some(queue) if S::MOVES && (count > 1 || queue.is_locked()) => {
                self.requeue_to(queue, sequence, count);
                self.count_notifications(count);
            }
            // A plain wake. Counted first, so that a waiter that is woken does not need the inner
            // lock.
            _ => {
                self.count_notifications(count);
                self.wake(count);
            }
        }
        self.unlock_inner();
        count
    }

    /// Wakes `count` waiters.
    fn wake(&self, count: u32) {
        step!(condvar_wake, F::wake(&self.sequence, count));
    }

    /// Moves `count` waiters to the lock, whose unlock will wake the first. If the lock is free,
    /// wakes the first and moves the others. A waiter that is woken there locks as contended, so
    /// that its unlock wakes the next.
    fn requeue_to(&self, queue: &Mutex<F>, sequence: u32, count: u32) {
        let woken = u32::from(!queue.is_locked());
        // SAFETY: the word is ours.
        let outcome = unsafe { F::requeue(&self.sequence, sequence, woken, queue.word(), count - woken) };
        match outcome {
            Ok(0) => {}
            Ok(_) if woken != 0 => {}
            // Moved first and marked then. A holder's unlock that does not see the mark came before
            // it and left the lock free; then only this thread can wake them.
            Ok(_) if mutated!(condvar_mark) || queue.mark() => {}
            Ok(_) => {
                F::wake(queue.word(), 1);
            }
            // The sequence number changes under the inner lock only; a futex that reports a change
            // has moved no waiter.
            Err(_) => self.wake(count),
        }
    }

    /// Turns `count` waiters into notifications in the counts.
    fn count_notifications(&self, count: u32) {
        // Release: partner of the acquire in `consume`.
        self.counts.fetch_add(u64::from(count) * (NOTIFICATION - WAITER), Ordering::Release);
    }

    /// Unlocks the inner lock.
    fn unlock_inner(&self) {
        // SAFETY: every caller holds it.
        unsafe { self.inner.unlock() };
    }
}

impl<S: Scheme, F: Futex> core::fmt::Debug for Condvar<S, F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // Relaxed: out of date when it is printed.
        let counts = self.counts.load(Ordering::Relaxed);
        f.debug_struct("Condvar").field("waiters", &waiters(counts)).finish_non_exhaustive()
    }
}
