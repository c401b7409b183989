//! A condition variable over any futex and any lock of this crate, with three ways to signal.
//!
//! After Ulrich Drepper's and Jakub Jelinek's for glibc (2002-2005: an inner lock, requeueing, `FUTEX_WAKE_OP`), without
//! its defect: whoever comes after a signal cannot take it from those who came before.

use core::marker::PhantomData;
use core::ptr;

use super::spin_budget::SpinBudget;
use super::{Lock, Mutex};
use crate::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, const_fn};
use crate::futex::{ALL, Argument, Comparison, Futex, Operation, Private, Timeout, Wait};
use crate::mutant::{check, mutated, step};
use crate::process::fork_mark;

const WAITER: u64 = 1;
const SIGNAL: u64 = 1 << 32;

const fn waiters(counts: u64) -> u32 {
    counts as u32
}

const fn signals(counts: u64) -> u32 {
    (counts >> 32) as u32
}

/// How a notification reaches those that it is for. Waiters and notifiers must agree, so it is a type; implemented by
/// [`Plain`], [`Requeue`] and [`WakeOp`] only.
pub trait Scheme: sealed::Sealed + Send + Sync + 'static {
    /// Whether waiters may be moved to the lock: they lock as contended.
    #[doc(hidden)]
    const MOVES: bool;
    /// Whether the inner lock is unlocked by the wake itself.
    #[doc(hidden)]
    const UNLOCKS: bool;
}

/// Wakes as it is: one wake a notification. A waiter that is woken while the lock is held finds it locked and sleeps again.
#[derive(Debug)]
pub enum Plain {}

/// While the lock is held, waiters are moved to the lock, whose unlock wakes them one by one: no herd, and nobody runs in
/// vain. Never far from the best; twice as fast as the others where all threads share a processor. `FUTEX_CMP_REQUEUE`,
/// Linux 2.6.7.
#[derive(Debug)]
pub enum Requeue {}

/// The wake unlocks the condition variable's inner lock in the same system call, and wakes whoever waits for that. Nobody
/// is moved. The fastest where a few waiters have processors of their own. `FUTEX_WAKE_OP`, Linux 2.6.14.
#[derive(Debug)]
pub enum WakeOp {}

impl Scheme for Plain {
    const MOVES: bool = false;
    const UNLOCKS: bool = false;
}
impl Scheme for Requeue {
    const MOVES: bool = true;
    const UNLOCKS: bool = false;
}
impl Scheme for WakeOp {
    const MOVES: bool = false;
    const UNLOCKS: bool = true;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Plain {}
    impl Sealed for super::Requeue {}
    impl Sealed for super::WakeOp {}
}

/// The inner lock's unlocking: its word becomes 0, and if it was more than locked, somebody waits for it.
const UNLOCK: crate::futex::WakeOp =
    match crate::futex::WakeOp::new(Operation::Set, Argument::Value(0), Comparison::Greater, 1) {
        Ok(op) => op,
        Err(_) => panic!("0 and 1 fit"),
    };

/// A condition variable; valid when zeroed. On 64-bit machines 32 bytes: inner lock, sequence number, counts, where to move waiters,
/// and in which process (these two unused and 0 with a shared futex, since processes map memory at different addresses).
///
/// # Promise
/// A notification wakes at least one (all) of the threads that wait when it is issued; one that comes to wait later does
/// not take it from them. Who waits, and who notifies, is ordered by the lock: a notifier that changed, under the lock,
/// what a waiter waits for finds that waiter. A wait may end without a notification: look at the condition again.
///
/// # Cost
/// Notifying with nobody waiting is one load. Otherwise the inner lock and one system call; two if the lock was given up
/// while its waiters were moved. Waiting takes the inner lock once, or twice if the time is up; before it sleeps, a waiter looks for a
/// moment, most of it with its processor offered to others: who is notified then, or is about to sleep, returns without sleeping.
///
/// # Lifetime
/// It must live until each `wait` and `notify` has returned. Not async-signal-safe.
///
/// # Forks
/// In the child of a fork threads that waited are not there, nor, perhaps, their mutexes: notifications wake plainly, and may
/// count some of them, as long as any of them is counted; if another thread was inside a call just then, the child waits
/// for ever.
#[repr(C)]
pub struct Condvar<S: Scheme = Requeue, F: Futex = Private> {
    /// The inner lock: held to come, to notify, and to leave without a notification.
    inner: Mutex<F>,
    /// The sequence number: changes with each notification. Waiters sleep on it.
    sequence: AtomicU32,
    /// | bits | meaning |
    /// |---|---|
    /// | 0-31 | threads inside for which no notification was issued |
    /// | 32-63 | notifications that nobody has left with |
    ///
    /// The sum is the number of threads inside. Those notified never outnumber those that are on their way out, so where
    /// the first is 0, everybody is.
    counts: AtomicU64,
    /// The mutex of those inside, if that takes moved waiters and is private. Written by the first that comes,
    queue: AtomicPtr<Mutex<F>>,
    /// with its process, by its `fork_mark`. In another one, who is counted may be a thread of the parent, whose mutex lay
    /// on a stack that is gone: there the mutex is neither looked at nor demanded to be the same, until nobody is counted.
    process: AtomicU32,
    scheme: PhantomData<fn() -> S>,
}

impl<S: Scheme, F: Futex> Condvar<S, F> {
    const_fn! {
        /// One with nobody waiting.
        #[allow(clippy::new_without_default)]
        pub fn new() -> Self {
            Condvar {
                inner: Mutex::<F>::new(),
                sequence: AtomicU32::new(0),
                counts: AtomicU64::new(0),
                queue: AtomicPtr::new(ptr::null_mut()),
                process: AtomicU32::new(0),
                scheme: PhantomData,
            }
        }
    }

    /// Unlocks `lock` and waits for a notification, until `timeout` at most; has the lock again when it returns. False:
    /// the time is up and no notification came.
    ///
    /// # Panics
    /// If others wait with a mutex of another address, to which this one's waiters must not be moved. The lock is held
    /// still then.
    ///
    /// # Safety
    /// The caller holds `lock`.
    pub unsafe fn wait<L: Lock<F>>(&self, lock: &L, timeout: Timeout) -> bool {
        // Counted under the caller's lock: a notifier that changes, under the lock, what this thread waits for finds it.
        let sequence = self.enter(lock.queue());
        // SAFETY: the caller's promise.
        unsafe { lock.unlock() };
        // Notified within the spin budget: no sleep, and no wake.
        let has_slept = !self.spin(sequence, timeout) && self.sleep(sequence, timeout);
        let notified = self.leave(sequence);
        // Whoever has not slept was not moved.
        if check!(condvar_lock_moved, S::MOVES && has_slept) {
            lock.lock_moved();
        } else {
            lock.lock();
        }
        notified
    }

    /// Returns true if the sequence number changed within the spin budget: then the caller need not sleep, and its notifier
    /// finds no waiter to move.
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

    /// Counts the caller as a waiter; returns the sequence number for whose change it waits.
    fn enter(&self, queue: Option<&Mutex<F>>) -> u32 {
        let queue = match queue {
            Some(queue) if S::MOVES && !F::SHARED => ptr::from_ref(queue).cast_mut(),
            _ => ptr::null_mut(),
        };
        self.inner.lock();
        // Relaxed, all: under the inner lock; whoever leaves only lowers the count.
        let nobody = self.counts.load(Ordering::Relaxed) == 0;
        // A shared one keeps no mutex: what stands there another process wrote.
        let same = nobody || F::SHARED || self.queue.load(Ordering::Relaxed) == queue || !self.is_this_process();
        let sequence = self.sequence.load(Ordering::Relaxed);
        if nobody {
            self.queue.store(queue, Ordering::Relaxed);
            let process = if S::MOVES && !F::SHARED { fork_mark::now() } else { 0 };
            self.process.store(process, Ordering::Relaxed);
        }
        if same {
            self.counts.fetch_add(WAITER, Ordering::Relaxed);
        }
        self.unlock_inner();
        assert!(same, "a condition variable was waited upon with two mutexes at a time");
        sequence
    }

    /// Whether all who are inside, of whom there are some, came in this process, or nobody asks.
    fn is_this_process(&self) -> bool {
        // Relaxed: under the inner lock.
        let process = self.process.load(Ordering::Relaxed);
        process == 0 || fork_mark::is_still(process) || mutated!(condvar_forked)
    }

    /// Sleeps until the sequence number changes or the time is up. Returns true if it was asleep, and so perhaps moved.
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

    /// Counts the caller out; whether with a notification. Any that was issued since the caller came will do: each woke
    /// somebody who was there, and all who come out leave.
    fn leave(&self, sequence: u32) -> bool {
        // Relaxed: as in `sleep`.
        let ended = self.sequence.load(Ordering::Relaxed) != sequence;
        if ended && self.consume() {
            return true;
        }
        // Whoever issues a notification now counts on nobody leaving: the lock to which it moves waiters is theirs.
        self.inner.lock();
        // Relaxed: changed under the inner lock.
        let ended = self.sequence.load(Ordering::Relaxed) != sequence;
        let notified = ended && self.consume();
        if !notified {
            // Relaxed: under the inner lock.
            self.counts.fetch_sub(WAITER, Ordering::Relaxed);
        }
        self.unlock_inner();
        // Whoever was woken for somebody that came out by itself has been notified all the same.
        ended
    }

    /// Takes a notification; returns false if there is none.
    fn consume(&self) -> bool {
        // Relaxed: the exchange decides.
        let mut counts = self.counts.load(Ordering::Relaxed);
        while signals(counts) != 0 {
            // Acquire: partner of the release in `count_signals`: what the notifier did with our lock is done before we
            // have that, and free it perhaps.
            match self.counts.compare_exchange(counts, counts - SIGNAL, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => counts = now,
            }
        }
        false
    }

    /// Wakes one, if anybody waits; whether anybody did.
    #[inline]
    pub fn notify_one(&self) -> bool {
        !self.nobody_waits() && self.notify(1, None) != 0
    }

    /// Wakes all that wait; how many did.
    #[inline]
    pub fn notify_all(&self) -> u32 {
        if self.nobody_waits() { 0 } else { self.notify(ALL, None) }
    }

    /// As [`notify_one`](Self::notify_one), and told the lock: how waiters of a shared condition variable are moved.
    ///
    /// # Safety
    /// All that wait use `lock`.
    #[inline]
    pub unsafe fn notify_one_of<L: Lock<F>>(&self, lock: &L) -> bool {
        !self.nobody_waits() && self.notify(1, lock.queue()) != 0
    }

    /// As [`notify_all`](Self::notify_all), and told the lock: how waiters of a shared condition variable are moved.
    ///
    /// # Safety
    /// All that wait use `lock`.
    #[inline]
    pub unsafe fn notify_all_of<L: Lock<F>>(&self, lock: &L) -> u32 {
        if self.nobody_waits() { 0 } else { self.notify(ALL, lock.queue()) }
    }

    #[inline]
    fn nobody_waits(&self) -> bool {
        // Relaxed: who waits before the notification is decided by the lock, under which they counted themselves.
        waiters(self.counts.load(Ordering::Relaxed)) == 0
    }

    #[cold]
    #[inline(never)]
    fn notify(&self, count: u32, queue: Option<&Mutex<F>>) -> u32 {
        self.inner.lock();
        // Relaxed, all: under the inner lock.
        let count = waiters(self.counts.load(Ordering::Relaxed)).min(count);
        // All those inside are on their way out.
        if count == 0 {
            self.unlock_inner();
            return 0;
        }
        // From here on no waiter of before goes to sleep, and one that comes is not this notification's.
        let sequence = self.sequence.load(Ordering::Relaxed).wrapping_add(1);
        step!(condvar_sequence, self.sequence.store(sequence, Ordering::Relaxed));
        // `WakeOp`: one call wakes the waiters, unlocks the inner lock and wakes a thread that waits for that.
        if S::UNLOCKS {
            self.count_signals(count);
            // SAFETY: the inner lock is held, and lives as long as this call.
            unsafe { F::wake_op(&self.sequence, count, self.inner.word(), UNLOCK, 1) };
            return count;
        }
        // Of other processes nothing is believed.
        let is_believed = !F::SHARED && self.is_this_process();
        let stored = if is_believed { self.queue.load(Ordering::Relaxed) } else { ptr::null_mut() };
        // SAFETY: null, or the lock of those inside, all of this process; at least one is, and none can leave but with the
        // inner lock or a signal, of which there are none for the last of them until `count_signals`.
        let stored = unsafe { stored.as_ref() };
        match queue.or(stored) {
            // `Requeue`, and a waiter that is woken would find the lock held: by its holder, or by the waiter before it.
            Some(queue) if S::MOVES && (count > 1 || queue.is_locked()) => {
                self.requeue_to(queue, sequence, count);
                self.count_signals(count);
            }
            // A plain wake. Counted first, so that a waiter that is woken does not need the inner lock.
            _ => {
                self.count_signals(count);
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

    /// Moves `count` waiters to the lock, whose unlock will wake the first. If the lock is free, wakes the first and moves
    /// the others. A waiter that is woken from there locks as contended, so that its unlock wakes the next.
    fn requeue_to(&self, queue: &Mutex<F>, sequence: u32, count: u32) {
        let woken = u32::from(!queue.is_locked());
        // SAFETY: the word is ours.
        let outcome = unsafe { F::requeue(&self.sequence, sequence, woken, queue.word(), count - woken) };
        match outcome {
            Ok(0) => {}
            Ok(_) if woken != 0 => {}
            // Moved first and marked then: the holder's unlock that does not see the mark came before, and leaves the lock
            // free. Then nobody is left to wake them but us.
            Ok(_) if mutated!(condvar_mark) || queue.mark() => {}
            Ok(_) => {
                F::wake(queue.word(), 1);
            }
            // The sequence number changes under the inner lock only; a futex that says otherwise has moved nobody.
            Err(_) => self.wake(count),
        }
    }

    /// Turns `count` waiters into notifications.
    fn count_signals(&self, count: u32) {
        // Release: partner of the acquire in `consume`.
        self.counts.fetch_add(u64::from(count) * (SIGNAL - WAITER), Ordering::Release);
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
