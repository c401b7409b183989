//! The fair unlocks of the asymmetric readers-writer lock. Called through `lock_api/`; calls the
//! ordinary lock's.
//!
//! A reader that leaves its slot hands the lock over by that: the writer that waits for the slots has
//! the ordinary lock, the lock is closed, and all that come later wait for that writer. So only those
//! that have the ordinary lock, writers and readers, need another unlock.

use super::local;
use super::rwlock::RawRwLock;
use super::rwlock_upgrade::forget;
use super::slots::Left;

impl RawRwLock {
    /// Unlocks the lock for reading. If the caller is the last reader and writers wait, one of them
    /// has the lock before any newcomer.
    ///
    /// By a slot, this is [`unlock_shared`](Self::unlock_shared); else
    /// [`raw::RwLock::unlock_shared_fair`](crate::raw::RwLock::unlock_shared_fair).
    ///
    /// ```
    /// use leeward::asym::RawRwLock;
    /// let lock = RawRwLock::new();
    /// lock.lock_shared();
    /// // SAFETY: this thread has locked it for reading.
    /// unsafe {
    ///     lock.bump_shared();
    ///     lock.unlock_shared_fair();
    /// }
    /// assert!(!lock.is_locked());
    /// ```
    ///
    /// # Safety
    /// The calling thread has locked it for reading, and gives up one such lock by this call.
    pub unsafe fn unlock_shared_fair(&self) {
        match local::drop_guard(self.id.get()) {
            Some(Left::Nested | Left::Slot) => return,
            Some(Left::Ordinary) => {}
            None => forget(),
        }
        // SAFETY: the caller gives up a lock that no slot stands for, so it has the ordinary one.
        unsafe { self.lock.unlock_shared_fair() };
    }

    /// Unlocks the lock for writing for threads that wait, if any do, as
    /// [`raw::RwLock::unlock_exclusive_fair`](crate::raw::RwLock::unlock_exclusive_fair) does.
    ///
    /// ```
    /// use leeward::asym::RawRwLock;
    /// let lock = RawRwLock::new();
    /// lock.lock_exclusive();
    /// // SAFETY: this thread has locked it for writing.
    /// unsafe {
    ///     lock.bump_exclusive();
    ///     lock.unlock_exclusive_fair();
    /// }
    /// assert!(!lock.is_locked());
    /// ```
    ///
    /// # Safety
    /// It is locked for writing, and the holder gives that up by this call.
    pub unsafe fn unlock_exclusive_fair(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.lock.unlock_exclusive_fair() };
    }

    /// Unlocks the lock for the upgradable reader, for threads that wait for the lock or for its
    /// place, as [`raw::RwLock::unlock_upgradable_fair`](crate::raw::RwLock::unlock_upgradable_fair)
    /// does.
    ///
    /// ```
    /// use leeward::asym::RawRwLock;
    /// let lock = RawRwLock::new();
    /// lock.lock_upgradable();
    /// // SAFETY: this thread is the upgradable reader.
    /// unsafe {
    ///     lock.bump_upgradable();
    ///     lock.unlock_upgradable_fair();
    /// }
    /// assert!(!lock.is_locked());
    /// ```
    ///
    /// # Safety
    /// The calling thread is the upgradable reader, and gives that up.
    pub unsafe fn unlock_upgradable_fair(&self) {
        forget();
        // SAFETY: the caller's promise.
        unsafe { self.lock.unlock_upgradable_fair() };
    }

    /// Lets a waiting writer have the lock, if there is one, as
    /// [`unlock_shared_fair`](Self::unlock_shared_fair) does, and locks it for reading again. A thread
    /// that reads the lock besides lets no writer in.
    ///
    /// # Safety
    /// The calling thread has locked it for reading, and what it guards may have changed at the
    /// return.
    pub unsafe fn bump_shared(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.unlock_shared_fair() };
        self.lock_shared();
    }

    /// Lets waiting threads have the lock, if there are any, as
    /// [`unlock_exclusive_fair`](Self::unlock_exclusive_fair) does, and locks it for writing again.
    ///
    /// # Safety
    /// It is locked for writing, and what it guards may have changed at the return.
    pub unsafe fn bump_exclusive(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.unlock_exclusive_fair() };
        self.lock_exclusive();
    }

    /// Lets a waiting thread have the lock or the upgradable reader's place, if there is one, as
    /// [`unlock_upgradable_fair`](Self::unlock_upgradable_fair) does, and becomes the upgradable
    /// reader again.
    ///
    /// # Safety
    /// The calling thread is the upgradable reader, and what the lock guards may have changed at the
    /// return.
    pub unsafe fn bump_upgradable(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.unlock_upgradable_fair() };
        self.lock_upgradable();
    }
}
