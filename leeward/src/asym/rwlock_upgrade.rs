//! The upgradable reader of the asymmetric readers-writer lock: the upgradable reader of the ordinary
//! lock underneath, which shares with readers in their slots as any reader does, and takes the lock
//! away from them when it becomes the writer. Called through `lock_api/` and by the models; calls
//! `rwlock`, and `rwlock_write`, which tells what else may happen meanwhile.
//!
//! It has no slot, since a slot says that a thread may nest reads and leave them in any order. It is
//! one of the locks that the thread holds without a slot (`local::untracked`), so that its thread's
//! nested reads pass a writer that waits for it.

use super::local;
use super::rwlock::{CLOSED, RawRwLock};
use crate::futex::{Deadline, Timeout};
use crate::mutant::mutated;
use crate::no_unwind::abort;

impl RawRwLock {
    /// Locks the lock for reading as the one reader that may become a writer. Waits until no writer
    /// holds the lock or waits for it, and no other upgradable reader is inside.
    ///
    /// It takes the ordinary lock, as a writer does, and keeps the lock open for the others. The
    /// thread may read the lock besides, but should not call this while it reads: a writer may wait
    /// for it.
    ///
    /// ```
    /// use leeward::asym::RawRwLock;
    /// let lock = RawRwLock::new();
    /// lock.lock_upgradable();
    /// assert!(!lock.try_lock_upgradable());
    /// // SAFETY: this thread has locked it by `lock_upgradable`.
    /// unsafe { lock.upgrade() };
    /// assert!(lock.is_locked_exclusive());
    /// // SAFETY: this thread has it for writing.
    /// unsafe { lock.unlock_exclusive() };
    /// ```
    pub fn lock_upgradable(&self) {
        self.lock.lock_upgradable();
        note();
    }

    /// Locks the lock for reading as the upgradable reader by `deadline`. Returns false if the
    /// deadline came first.
    pub fn lock_upgradable_until(&self, deadline: Deadline) -> bool {
        let is_locked = self.lock.lock_upgradable_until(deadline);
        if is_locked {
            note();
        }
        is_locked
    }

    /// Locks the lock for reading as the upgradable reader if no writer holds it or waits and no other
    /// upgradable reader is inside. Returns false otherwise.
    pub fn try_lock_upgradable(&self) -> bool {
        let is_locked = self.lock.try_lock_upgradable();
        if is_locked {
            note();
        }
        is_locked
    }

    /// Unlocks the lock for the upgradable reader.
    ///
    /// # Safety
    /// The calling thread is the upgradable reader, and gives that up.
    pub unsafe fn unlock_upgradable(&self) {
        forget();
        // SAFETY: the caller's promise.
        unsafe { self.lock.unlock_upgradable() };
    }

    /// Makes the upgradable reader the writer, when all other readers have left. No other writer
    /// comes between.
    ///
    /// # Aborts
    /// Ends the process if one of the calling thread's slots shows that the thread reads the lock
    /// besides: it would wait for itself.
    ///
    /// # Safety
    /// The calling thread is the upgradable reader, and goes on as the writer.
    #[track_caller]
    pub unsafe fn upgrade(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.upgrade_within(Timeout::Never) };
    }

    /// Makes the upgradable reader the writer by `deadline`. Returns false if the deadline came first:
    /// it is the upgradable reader still.
    ///
    /// ```
    /// use leeward::asym::RawRwLock;
    /// use leeward::futex::{Deadline, Private};
    /// use std::time::Duration;
    /// let lock = RawRwLock::new();
    /// let after = |time| Deadline::after::<Private>(time);
    /// assert!(lock.try_lock_upgradable());
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         lock.lock_shared();                     // beside the upgradable reader
    ///         assert!(!lock.lock_upgradable_until(after(Duration::from_millis(1))));
    ///         // SAFETY: this thread has locked it for reading.
    ///         unsafe { lock.unlock_shared() };
    ///     });
    /// });
    /// // SAFETY: this thread is the upgradable reader, then the writer, and so on.
    /// unsafe {
    ///     assert!(lock.upgrade_until(after(Duration::from_secs(60))));
    ///     lock.downgrade_to_upgradable();
    ///     assert!(lock.try_upgrade());
    ///     lock.downgrade_to_upgradable();
    ///     lock.downgrade_upgradable();
    ///     lock.unlock_shared();
    /// }
    /// lock.lock_upgradable();
    /// // SAFETY: this thread is the upgradable reader.
    /// unsafe { lock.unlock_upgradable() };
    /// ```
    ///
    /// # Safety
    /// The calling thread is the upgradable reader, and goes on as what the call returns.
    pub unsafe fn upgrade_until(&self, deadline: Deadline) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.upgrade_within(Timeout::At(deadline)) }
    }

    /// Makes the upgradable reader the writer if no other reader is inside. Returns false otherwise.
    /// Readers that come during the call may be refused, or wait a moment.
    ///
    /// # Safety
    /// The calling thread is the upgradable reader, and goes on as what the call returns.
    pub unsafe fn try_upgrade(&self) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.upgrade_within(Timeout::Now) }
    }

    /// Takes the ordinary lock for writing, then the lock from its readers in their slots.
    ///
    /// # Safety
    /// The calling thread is the upgradable reader, and goes on as what the call returns.
    #[track_caller]
    unsafe fn upgrade_within(&self, timeout: Timeout) -> bool {
        let mut closing = CLOSED;
        let is_alone = match timeout {
            Timeout::Never => {
                if self.is_read_here() {
                    abort!("a thread upgrades an asym::RwLock that it reads twice: it would wait for itself forever");
                }
                // While the caller is the upgradable reader, others read by the ordinary lock.
                closing = self.close();
                // SAFETY: the caller's promise.
                unsafe { self.lock.upgrade() };
                true
            }
            // SAFETY: the caller's promise.
            Timeout::At(deadline) => unsafe { self.lock.upgrade_until(deadline) },
            // SAFETY: the caller's promise.
            Timeout::Now => unsafe { self.lock.try_upgrade() },
        };
        if !is_alone {
            return false;
        }
        if self.is_closed() || mutated!(asym_upgrade_revokes) {
            self.account.charge();
        } else if !self.revoke(timeout, closing) {
            // SAFETY: upgraded above. No writer comes between, so what was read still holds.
            unsafe { self.lock.downgrade_to_upgradable() };
            return false;
        }
        forget();
        true
    }

    /// Makes the upgradable reader an ordinary one.
    ///
    /// # Safety
    /// The calling thread is the upgradable reader, and holds the lock for reading from now on.
    pub unsafe fn downgrade_upgradable(&self) {
        let id = self.id.give(false);
        forget();
        // A thread's guards of one lock are counted in one slot.
        if let Some(slot) = local::mine().find(id) {
            slot.nest();
            // SAFETY: the caller's promise; the slot keeps writers out.
            unsafe { self.lock.unlock_upgradable() };
        } else {
            // SAFETY: the caller's promise.
            unsafe { self.lock.downgrade_upgradable() };
            self.note_ordinary(id);
        }
    }

    /// Makes the writer the upgradable reader. No other writer comes between, and readers may enter.
    ///
    /// # Safety
    /// The calling thread has locked it for writing, and is the upgradable reader from now on.
    pub unsafe fn downgrade_to_upgradable(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.lock.downgrade_to_upgradable() };
        note();
    }
}

/// Notes that the calling thread holds one more ordinary lock that no slot shows.
fn note() {
    local::set_untracked(local::untracked() + 1);
}

/// Notes that the calling thread holds one less.
pub(super) fn forget() {
    local::set_untracked(local::untracked().saturating_sub(1));
}
