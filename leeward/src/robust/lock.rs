//! A robust lock without data: its words, and the order in which they and the list are written, so
//! that a death between any two instructions leaves no lock held and no wake-up lost. Called by
//! [`mutex`](super::mutex); calls `current`, `list` and `sleepers`.
//!
//! docs/robust.md has the orders, and what each death leaves. After the robust futex interface of
//! Ingo Molnar and Ulrich Drepper (Linux 2.6.17, 2006). The waiters bit that outlives the release,
//! and the way in which it is cleared, are ours.

mod deaths;
mod slot;

use core::time::Duration;

use super::ListError;
use super::current::{Current, current};
use super::list::{OFFSET, RobustEntry};
use super::sleepers::{Sleeper, Sleepers};
use super::unlock::Unlock;
use crate::atomic::{AtomicU32, Ordering};
use crate::futex::{self, Futex, Shared, Timeout, Wait};
use crate::mutant::{mutated, step};
use crate::process::is_a_thread;
use crate::raw::spin_budget::SpinBudget;

/// Bit of the word: a thread may sleep.
const WAITERS: u32 = 1 << 31;
/// Bit of a free lock's word: its owner died, or left it inconsistent.
const OWNER_DIED: u32 = 1 << 30;
/// The same bit of a held lock's word: its last owner is about to clear `WAITERS`.
const SETTLING: u32 = 1 << 30;
/// The bits of the owner's thread number.
const OWNER: u32 = OWNER_DIED - 1;
const FREE: u32 = 0;

pub(super) const USABLE: u32 = 0;
const UNRECOVERABLE: u32 = 1;
/// The state of a usable lock whose owner has no guard and was told of a death (`raw`).
pub(super) const BEING_REPAIRED: u32 = 2;

/// How long a waiter sleeps before it checks whether the owner exists: the kernel may not have
/// walked the owner's list to its end.
pub(super) const LONG: Duration = Duration::from_secs(30);

/// The words of a robust lock.
///
/// | offset | field |
/// |---|---|
/// | 0 | the lock word |
/// | 4 | the state |
/// | 8 | the sleepers, and whether the owner is leaving: 0 unless the lock is unlocked by a store |
/// | 16 | unused, 0 |
/// | 24 | `prev` |
/// | 32 | `next`, which the kernel's and glibc's pointers address |
#[repr(C)]
pub(super) struct Lock {
    /// | value | meaning |
    /// |---|---|
    /// | 0 | free, no thread sleeps |
    /// | `WAITERS` | free, a thread may sleep |
    /// | id, id + `WAITERS` | held |
    /// | id + `WAITERS` + `SETTLING` | held by its last owner for a moment, to find out whether a thread sleeps |
    /// | `OWNER_DIED`, with or without `WAITERS` | free; the state tells whether forever |
    word: AtomicU32,
    /// `USABLE`, `UNRECOVERABLE` or `BEING_REPAIRED`. Written by an owner before its release.
    pub(super) state: AtomicU32,
    sleepers: Sleepers,
    nothing: [u32; 2],
    entry: RobustEntry,
}

const _: () = assert!(
    core::mem::offset_of!(Lock, word) as isize
        == (core::mem::offset_of!(Lock, entry) + size_of::<usize>()) as isize + OFFSET
);

/// What the taker of a lock learns.
#[derive(Clone, Copy)]
pub(super) struct LockTaken {
    /// The calling thread.
    pub(super) me: Current,
    /// Its last owner died, or left it inconsistent.
    pub(super) owner_died: bool,
}

/// The reason why a lock was not taken: those of [`LockError`](super::LockError).
pub enum Refusal {
    /// An owner died, and the next one did not repair the data.
    NotRecoverable,
    /// The calling thread holds the lock already.
    WouldDeadlock,
    /// Another thread holds the lock, and the call was not to wait.
    WouldBlock,
    /// Another thread held the lock until the time limit passed.
    TimedOut,
    /// The lock is held by a thread of this number, and there is no such thread.
    OwnerLost(u32),
    /// The calling thread has no robust list that can be used.
    NoList(ListError),
}

fn is_free(word: u32) -> bool {
    word & OWNER == 0
}

/// Returns true if a thread that goes to sleep on this word will be woken.
fn is_announced(word: u32) -> bool {
    word & (WAITERS | SETTLING) == WAITERS
}

impl Lock {
    pub(super) const fn new() -> Lock {
        Lock {
            word: AtomicU32::new(FREE),
            state: AtomicU32::new(USABLE),
            sleepers: Sleepers::new(),
            nothing: [0; 2],
            entry: RobustEntry::new(),
        }
    }

    /// Takes it: a compare-exchange and six stores, if it is free.
    #[inline]
    pub(super) fn lock<U: Unlock>(&'static self, timeout: Timeout) -> Result<LockTaken, Refusal> {
        let me = match current() {
            Ok(me) => me,
            Err(error) => return Err(Refusal::NoList(error)),
        };
        self.announce(me);
        // Acquire: partner of the release in `unlock`. Relaxed on failure: the slow path loads the
        // word again.
        if self.word.compare_exchange(FREE, me.id(), Ordering::Acquire, Ordering::Relaxed).is_err() {
            return self.lock_slow::<U>(me, timeout);
        }
        self.taken::<U>(me);
        Ok(LockTaken { me, owner_died: false })
    }

    /// Names the lock as pending: the caller is about to take it.
    #[inline]
    fn announce(&'static self, me: Current) {
        step!(robust_pending_late, me.list.begin(&self.entry));
        if mutated!(robust_link_first) {
            me.list.link(&self.entry);
        }
    }

    /// Links the lock, whose word is this thread's now.
    #[inline]
    fn taken<U: Unlock>(&'static self, me: Current) {
        if U::STORES {
            self.sleepers.owner_stays();
        }
        if mutated!(robust_pending_late) {
            me.list.begin(&self.entry);
        }
        if mutated!(robust_pending_before_link) {
            me.list.end();
        }
        step!(robust_link_first, me.list.link(&self.entry));
        me.list.end();
    }

    #[cold]
    #[inline(never)]
    fn lock_slow<U: Unlock>(&'static self, me: Current, timeout: Timeout) -> Result<LockTaken, Refusal> {
        let mut sleeper = Sleeper::new();
        let outcome = self.contend::<U>(me, timeout, &mut sleeper);
        sleeper.leave(&self.sleepers);
        match outcome {
            Ok(_) => self.taken::<U>(me),
            Err(_) => me.list.end(),
        }
        outcome
    }

    /// Spins, then sleeps, until it has the lock or must give up. `pending` names this lock
    /// throughout: if this thread is killed after it was woken and before it takes the lock, the
    /// kernel wakes another.
    fn contend<U: Unlock>(&self, me: Current, timeout: Timeout, sleeper: &mut Sleeper) -> Result<LockTaken, Refusal> {
        let mut budget = SpinBudget::for_lock(timeout);
        loop {
            // Acquire: partner of the release in `unlock`: the state was written before it.
            let word = self.word.load(Ordering::Acquire);
            // Free, or its owner died: take it, with the news of that; or learn that it cannot be used
            // any more.
            if is_free(word) {
                match self.take(word, me) {
                    Some(outcome) => return outcome,
                    None => continue,
                }
            }
            // This thread's already.
            if word & OWNER == me.id() {
                return Err(Refusal::WouldDeadlock);
            }
            if timeout == Timeout::Now {
                return Err(Refusal::WouldBlock);
            }
            // Held by another: recheck, while the spin budget lasts.
            if budget.pause::<Shared>() {
                continue;
            }
            // An owner that releases by a store may do so over the mark that is set below, as long as it
            // has not seen this thread counted (`sleepers`): until then, sleep for a nap only.
            let nap = if U::STORES && !sleeper.is_seen(&self.sleepers) { Some(sleeper.nap()) } else { None };
            let announced = (word | WAITERS) & !SETTLING;
            // Relaxed, both: the sleep compares the word again. A release finds the bit in its own
            // read-modify-write (or this is a nap).
            if is_announced(word)
                || self.word.compare_exchange(word, announced, Ordering::Relaxed, Ordering::Relaxed).is_ok()
            {
                self.sleep(announced, timeout, nap)?;
                budget = SpinBudget::for_lock(timeout);
            }
        }
    }

    /// Takes it as it is seen, free. Returns none if the word has changed.
    fn take(&self, word: u32, me: Current) -> Option<Result<LockTaken, Refusal>> {
        // Relaxed: stored before the release that the caller's load acquired; it never changes
        // back.
        if word & OWNER_DIED != 0 && self.state.load(Ordering::Relaxed) == UNRECOVERABLE {
            // All: the news is for every waiter, and a woken one may die before it passes the news
            // on.
            if word & WAITERS != 0 {
                Shared::wake(&self.word, futex::ALL);
            }
            return Some(Err(Refusal::NotRecoverable));
        }
        // The bit stays while a thread may sleep.
        let taken = me.id() | word & WAITERS;
        // Acquire: as in `lock`; a dead owner's stores come before the kernel's. Relaxed on
        // failure: the caller loads the word again.
        self.word.compare_exchange(word, taken, Ordering::Acquire, Ordering::Relaxed).ok()?;
        Some(Ok(LockTaken { me, owner_died: word & OWNER_DIED != 0 }))
    }

    /// Sleeps while the word, which announces the sleeper, stays as it is; for a nap only, if it
    /// may change without a wake.
    fn sleep(&self, word: u32, timeout: Timeout, nap: Option<Duration>) -> Result<(), Refusal> {
        let until = timeout.min(Timeout::after::<Shared>(nap.unwrap_or(LONG)));
        if Shared::wait(&self.word, word, until) != Wait::TimedOut {
            return Ok(());
        }
        if let Some(owner) = self.lost_owner().filter(|owner| *owner == word & OWNER) {
            return Err(Refusal::OwnerLost(owner));
        }
        if until == timeout { Err(Refusal::TimedOut) } else { Ok(()) }
    }

    /// Gives it up; unusable forever, if it `is_inconsistent`. Does nothing in the child of a
    /// fork: a copied guard opens nothing, and the entry's links mean nothing there.
    ///
    /// # Safety
    /// `me`, if it is the calling thread, has taken the lock by [`lock`](Self::lock), and has not
    /// given it up since.
    #[inline]
    pub(super) unsafe fn unlock<U: Unlock>(&'static self, me: Current, is_inconsistent: bool) {
        if !me.is_here() {
            return;
        }
        me.list.begin(&self.entry);
        // SAFETY: the caller's promise: linked when it was taken.
        unsafe { self.entry.unlink() };
        if mutated!(robust_pending_before_release) {
            me.list.end();
        }
        if is_inconsistent || !self.release::<U>(me.id(), me.is_reached()) {
            return self.unlock_slow::<U>(me, is_inconsistent);
        }
        me.list.end();
    }

    /// Releases it if no thread sleeps. Returns false if there is more to do.
    #[inline]
    fn release<U: Unlock>(&self, id: u32, is_reached: bool) -> bool {
        if U::STORES {
            // Relaxed: only this thread stores its own number and takes it away. A sleeper's mark:
            // the sleeper is counted before it sets it.
            let may = is_reached && self.sleepers.owner_leaves() && self.word.load(Ordering::Relaxed) == id;
            if may {
                // Release: partner of the acquires in `lock` and `contend`. No mark is lost: see
                // `sleepers`.
                self.word.store(FREE, Ordering::Release);
            }
            return may;
        }
        // Release: partner of the acquires in `lock` and `contend`. Relaxed on failure: the slow
        // path loads the word again.
        self.word.compare_exchange(id, FREE, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    #[cold]
    #[inline(never)]
    fn unlock_slow<U: Unlock>(&self, me: Current, is_inconsistent: bool) {
        // Relaxed: only this thread stores its own number, and takes it away. If the word was
        // overwritten, it is left as it is: another thread may have taken the lock.
        if self.word.load(Ordering::Relaxed) & OWNER != me.id() {
            return me.list.end();
        }
        if is_inconsistent {
            return self.unlock_inconsistent(me);
        }
        // Release: partner of the acquires in `lock` and `contend`. What is left is `WAITERS`, if
        // it was there.
        if self.word.fetch_sub(me.id(), Ordering::Release) & WAITERS != 0 {
            self.pass_on(me);
        }
        if U::STORES {
            self.sleepers.quieten();
        }
        me.list.end();
        if U::STORES && !me.is_reached() {
            me.ask_to_be_reached();
        }
    }

    /// Wakes one waiter of a lock that was released while a thread may sleep. Clears the bit if
    /// none does.
    fn pass_on(&self, me: Current) {
        if mutated!(robust_pending_before_wake) {
            me.list.end();
        }
        if mutated!(robust_waiters_dropped) {
            self.word.fetch_and(!WAITERS, Ordering::Relaxed);
        }
        if !mutated!(robust_wake) && Shared::wake(&self.word, 1) == 0 {
            self.settle(me.id());
        }
    }

    /// Clears `WAITERS` after a wake that found no sleeper, if no thread has come since.
    fn settle(&self, id: u32) {
        if mutated!(robust_settle_without_taking) {
            let _ = self.word.compare_exchange(WAITERS, FREE, Ordering::Relaxed, Ordering::Relaxed);
            return;
        }
        let mine = id | WAITERS | SETTLING;
        // Acquire: taken, for a moment, like any lock. Relaxed on failure: it has another owner,
        // which will wake.
        if self.word.compare_exchange(WAITERS, mine, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return;
        }
        if Shared::wake(&self.word, 1) == 0 {
            // No thread slept then, and none sleeps on this very value: a thread that came since
            // has changed it.
            // Release: as in `unlock`. Relaxed on failure: nothing is read.
            if self.word.compare_exchange(mine, FREE, Ordering::Release, Ordering::Relaxed).is_ok() {
                return;
            }
        }
        // Release: as above.
        self.word.fetch_and(WAITERS, Ordering::Release);
        Shared::wake(&self.word, 1);
    }

    /// Gives it up as unusable.
    #[cold]
    #[inline(never)]
    fn unlock_inconsistent(&self, me: Current) {
        // Relaxed: the release below publishes it. A death in between leaves `OWNER_DIED` as well.
        self.state.store(UNRECOVERABLE, Ordering::Relaxed);
        // Release: partner of the acquire in `contend`. Leaves `OWNER_DIED`, and `WAITERS` if it
        // was there.
        let old = self.word.fetch_sub(me.id().wrapping_sub(OWNER_DIED), Ordering::Release);
        if old & WAITERS != 0 {
            Shared::wake(&self.word, futex::ALL);
        }
        me.list.end();
    }

    /// Returns the number of the thread that holds the lock; 0: none.
    #[inline]
    pub(super) fn owner(&self) -> u32 {
        // Relaxed: only the number counts; a thread's own is there as long as it holds the lock.
        self.word.load(Ordering::Relaxed) & OWNER
    }

    /// Returns the number that holds the lock, if there is no such thread.
    pub(super) fn lost_owner(&self) -> Option<u32> {
        let owner = self.owner();
        // The word of a thread that exits is given away before its number is free.
        (owner != 0 && !is_a_thread(owner) && self.owner() == owner).then_some(owner)
    }

    /// Returns true if it is unusable forever.
    pub(super) fn is_unrecoverable(&self) -> bool {
        // Acquire: partner of the release in `unlock_inconsistent`.
        let word = self.word.load(Ordering::Acquire);
        // Relaxed: as in `take`.
        is_free(word) && word & OWNER_DIED != 0 && self.state.load(Ordering::Relaxed) == UNRECOVERABLE
    }
}
