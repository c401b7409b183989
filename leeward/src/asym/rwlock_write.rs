//! The writers' side of the asymmetric readers-writer lock: how the lock is closed to slots, and
//! taken away from the readers who are in them. Called through `lock_api/`, by the models and by
//! `rwlock_upgrade`; calls `rwlock`, `account` and `drain`.
//!
//! # The states of `open`, and who changes them
//! | from | to | by | holding the ordinary lock |
//! |---|---|---|---|
//! | `CLOSED` | the id | a reader, when nothing is owed (`reopen`) | shared |
//! | the id | `CLOSING` and a number | a writer without a deadline (`close`) | not at all |
//! | the id | `CLOSING` and a number | an upgrade without a deadline (`close`) | upgradable |
//! | any | `CLOSED` | a writer or an upgrade, before it waits for slots (`revoke`) | for writing |
//! | `CLOSED` | the id | the same one, if its time is up first (`revoke`) | for writing |
//!
//! So a thread that gets the ordinary lock for writing and finds `CLOSED` needs no fence and no
//! scan: the thread that stored it had that lock for writing until all had left their slots. A
//! thread that finds anything else closes the lock, sees to a heavy fence after the last moment at
//! which a reader may have entered by a slot, and waits for the slots. Its own fence, from before
//! it had the ordinary lock, will do if the number of its closing stands:
//! - A number is one closing's alone, and only a thread that has the ordinary lock for writing, or
//!   a reader that opens the lock, writes over it: while it stands, the lock has not been open.
//! - A reader may open a lock that was closed by number: it saw `CLOSED` before another reader
//!   opened the lock, and stores the id late. The number is gone then, and the writer executes
//!   another fence. (That reader has the ordinary lock meanwhile: no writer is inside.)
//! - Two writers meet: one has closed the lock by number, and its fence has not happened yet; the
//!   other gets the ordinary lock first. It finds a number that is not its own, and executes its
//!   own fence. It leaves `CLOSED`, or the id if it gives up, which the first one finds in its
//!   number's place.
//! - A writer and an upgradable reader meet: the writer has closed the lock by number, and waits
//!   for the ordinary lock, which the upgradable reader has. An upgrade goes on as the second
//!   writer does. It does not wait for the first one's write, which cannot come before.
//! - An upgrade closes the lock by number, and a writer comes: it finds the number, waits a moment,
//!   and then for the ordinary lock. Until the upgraded thread unlocks, nobody else changes `open`.
//! - An upgrade gives up: `open` is as it was if the ordinary lock's upgrade gave up; else it is
//!   the id, and after that the ordinary lock is upgradable again. A writer that had closed the
//!   lock by number finds the id in its number's place. No writer came between: the ordinary lock
//!   was never free.
//! - A fork comes after a closing by number: in the child that writer does not exist, and its
//!   number stays until the next write or upgrade there. Until then readers take the ordinary lock.

use super::drain;
use super::lock_id;
use super::rwlock::{CLOSED, CLOSING, RawRwLock, every_slot};
use crate::atomic::Ordering;
use crate::fence;
use crate::futex::{Deadline, Private, Timeout};
use crate::mutant::{check, step};
use crate::no_unwind::abort;
use crate::raw::spin_budget::SpinBudget;

impl RawRwLock {
    /// Locks the lock for writing.
    ///
    /// # Aborts
    /// Ends the process if one of the calling thread's slots shows that the thread reads it: it
    /// would wait for itself.
    #[inline]
    #[track_caller]
    pub fn lock_exclusive(&self) {
        if !self.lock_exclusive_closed() {
            self.lock_exclusive_within(Timeout::Never);
        }
    }

    /// Locks the lock for writing by `deadline`. Returns false if the deadline came first.
    #[inline]
    pub fn lock_exclusive_until(&self, deadline: Deadline) -> bool {
        self.lock_exclusive_closed() || self.lock_exclusive_within(Timeout::At(deadline))
    }

    /// Locks the lock for writing if no thread is inside. Readers that come during the call may be
    /// refused, or wait a moment.
    #[inline]
    pub fn try_lock_exclusive(&self) -> bool {
        self.lock_exclusive_closed() || self.lock_exclusive_within(Timeout::Now)
    }

    /// Locks the lock for writing, if it is closed and free. The ordinary lock comes first: a look
    /// before it would fetch its cache line twice.
    #[inline]
    pub(crate) fn lock_exclusive_closed(&self) -> bool {
        if !self.lock.take_at_once() {
            return false;
        }
        let is_closed = self.is_closed();
        if is_closed {
            self.account.charge();
        } else {
            // SAFETY: locked just now.
            unsafe { self.lock.unlock_exclusive() };
        }
        is_closed
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn lock_exclusive_within(&self, timeout: Timeout) -> bool {
        let mut closing = CLOSED;
        match timeout {
            Timeout::Never => {
                if self.is_read_here() {
                    abort!("a thread writes an asym::RwLock that it reads: it would wait for itself forever");
                }
                closing = self.close();
                if closing == CLOSED {
                    self.await_closing();
                }
                self.lock.lock_exclusive();
            }
            Timeout::At(deadline) if !self.lock.lock_exclusive_until(deadline) => return false,
            Timeout::Now if !self.lock.try_lock_exclusive() => return false,
            _ => {}
        }
        // No visit is counted here: the writer that closed the lock meanwhile has paid for both.
        let is_taken = self.is_closed() || self.revoke(timeout, closing);
        if !is_taken {
            // SAFETY: locked above.
            unsafe { self.lock.unlock_exclusive() };
        }
        is_taken
    }

    /// Closes the lock to slots before the caller takes the ordinary lock for writing, so that
    /// others read by that lock during the fence. Returns the number of this closing; `CLOSED` if
    /// the lock was not open.
    pub(super) fn close(&self) -> u64 {
        let Some(id) = self.open_id() else { return CLOSED };
        let closing = CLOSING | lock_id::new_id();
        // Relaxed, both: ordered by the fence.
        if self.open.compare_exchange(id, closing, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return CLOSED;
        }
        // Pair G, heavy half. Partner: the light fence in `enter`.
        // - If the reader's store comes first, the scan in `revoke` sees its slot and waits.
        // - If this fence comes first, the reader sees the lock closed.
        self.account.end(|| step!(asym_close_heavy, fence::heavy_or_abort()));
        closing
    }

    /// Waits a moment for a writer that closes the lock: after its write, no other needs a fence.
    fn await_closing(&self) {
        let mut budget = SpinBudget::for_lock(Timeout::Never);
        while !self.is_open() && !self.is_closed() && budget.pause::<Private>() {}
    }

    /// Takes the lock away from the readers in their slots. The caller has the ordinary lock for
    /// writing, and has closed the lock by number `closing` before that, or not (`CLOSED`). Returns
    /// false if readers are still inside when time is up: then the lock is open, and the caller
    /// gives the ordinary lock up, or becomes its upgradable reader again.
    #[cold]
    #[inline(never)]
    pub(super) fn revoke(&self, timeout: Timeout, closing: u64) -> bool {
        let id = self.id.get();
        let has_left = if matches!(timeout, Timeout::Now) && self.is_read(id) {
            // A reader is inside already; the fence would only confirm it.
            false
        } else {
            // Relaxed: the caller's own store, or another's.
            let open = self.open.load(Ordering::Relaxed);
            // Relaxed: ordered by the fence.
            self.open.store(CLOSED, Ordering::Relaxed);
            // The number of the caller's own closing stands if no reader has entered by a slot
            // since the caller's fence.
            if check!(asym_foreign_closing, open != closing || closing == CLOSED) {
                // Pair G, heavy half. Partner: the light fence in `enter`.
                // - If the reader's store comes first, the scan below sees its slot and waits.
                // - If this fence comes first, the reader sees the lock closed.
                self.account.end(|| step!(asym_revoke_heavy, fence::heavy_or_abort()));
            }
            match timeout {
                Timeout::Now => !self.is_read(id),
                _ => drain::wait(every_slot, id, timeout),
            }
        };
        // Time is up and readers are still inside: the lock is theirs again.
        if !has_left {
            // Release: as in `reopen`: this writer wrote nothing, but earlier ones did.
            step!(asym_open_restored, self.open.store(id, Ordering::Release));
        }
        has_left
    }

    /// Unlocks the lock for writing.
    ///
    /// # Safety
    /// It is locked for writing, and the holder gives that up by this call.
    #[inline]
    pub unsafe fn unlock_exclusive(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.lock.unlock_exclusive() };
    }

    /// Makes the writer a reader. No other writer comes between, and readers may enter.
    ///
    /// ```
    /// use leeward::asym::RawRwLock;
    /// let lock = RawRwLock::new();
    /// lock.lock_exclusive();
    /// // SAFETY: this thread has locked it for writing.
    /// unsafe { lock.downgrade() };
    /// assert!(lock.is_locked() && !lock.is_locked_exclusive());
    /// // SAFETY: this thread is a reader now.
    /// unsafe { lock.unlock_shared() };
    /// ```
    ///
    /// # Safety
    /// The calling thread has locked it for writing, and holds it for reading from now on.
    pub unsafe fn downgrade(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.lock.downgrade() };
        self.note_ordinary(self.id.give(false));
    }
}
