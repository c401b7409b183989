//! A readers-writer lock whose readers pay what an RCU section pays: a store into their own slot.
//! Called through `lock_api/` and by the models; calls `slots` by way of `local`, and
//! `raw::RwLock`. Its writers are in `rwlock_write`, its upgradable reader in `rwlock_upgrade`.
//!
//! After Dave Dice and Alex Kogan, "BRAVO: Biased Locking for Reader-Writer Locks" (2019): readers
//! announce themselves beside the lock while it is biased towards them; a writer revokes the bias,
//! waits for them, and inhibits the bias while it does not pay (`account`). BRAVO's readers enter
//! one table by a compare-exchange; here each thread has slots of its own, and the writer's heavy
//! fence stands for the reader's fence.

use super::account::Account;
use super::chance::DRAWN_IN;
use super::local;
use super::lock_id::LockId;
use super::slots::{AsymSlot, Block, Left};
use crate::atomic::{AtomicU64, Ordering, const_fn};
use crate::fence;
use crate::futex::{Deadline, Private, Timeout};
use crate::mutant::{mutated, order};
use crate::no_unwind::abort;
use crate::raw;
use crate::raw::slow::{self, TooManyReaders};

/// The value of `open` while readers take the ordinary lock; no lock's id.
pub(super) const CLOSED: u64 = 0;
/// Bit of `open`: a writer closes the lock. The rest of the word is a number that no other closing
/// has.
pub(super) const CLOSING: u64 = 1 << 63;

/// A readers-writer lock without data, biased towards its readers; 32 bytes, none of which readers
/// write.
///
/// [`RwLock`](super::RwLock) is the one with data, whose page says what it promises and costs.
/// Reads of one thread nest: a thread that is inside of the lock enters it again, past writers that
/// wait.
///
/// ```
/// use leeward::asym::RawRwLock;
/// let lock = RawRwLock::new();
/// lock.lock_shared();
/// assert!(lock.is_locked() && !lock.try_lock_exclusive());
/// // SAFETY: this thread has locked it for reading.
/// unsafe { lock.unlock_shared() };
/// lock.lock_exclusive();
/// // SAFETY: this thread has locked it for writing.
/// unsafe { lock.unlock_exclusive() };
/// ```
#[repr(C)]
pub struct RawRwLock {
    pub(super) id: LockId,
    /// The lock's id: readers enter by their slots. `CLOSED`: readers take the ordinary lock, and
    /// slots are empty. `CLOSING`: as `CLOSED`, but slots may hold readers. Who changes it, holding
    /// what: `rwlock_write`.
    pub(super) open: AtomicU64,
    /// When readers may open it again.
    pub(super) account: Account,
    /// The ordinary lock, which writers take, and readers while `open` is `CLOSED`.
    pub(super) lock: raw::RwLock<Private>,
}

impl RawRwLock {
    const_fn! {
        /// Returns an unlocked lock.
        #[allow(clippy::new_without_default)]
        pub fn new() -> Self {
            RawRwLock {
                id: LockId::new(),
                open: AtomicU64::new(CLOSED),
                account: Account::new(),
                lock: raw::RwLock::new(),
            }
        }
    }

    /// Locks the lock for reading. Waits for writers that hold it, and for those that wait for it,
    /// unless the calling thread reads it already.
    #[inline(always)]
    pub fn lock_shared(&self) {
        if !self.enter_at_once() {
            self.lock_shared_or_abort(Timeout::Never, false);
        }
    }

    /// Locks the lock for reading, past waiting writers as long as any reader is inside, so readers
    /// may starve them. Nested reads do not need this: [`lock_shared`](Self::lock_shared) knows
    /// which locks its thread reads.
    ///
    /// ```
    /// use leeward::asym::RawRwLock;
    /// let lock = RawRwLock::new();
    /// lock.lock_shared();
    /// lock.lock_shared_recursive();
    /// assert!(lock.try_lock_shared_recursive() && lock.try_lock_shared());
    /// for _ in 0..4 {
    ///     // SAFETY: this thread has locked it four times for reading.
    ///     unsafe { lock.unlock_shared() };
    /// }
    /// assert!(!lock.is_locked());
    /// ```
    #[inline]
    pub fn lock_shared_recursive(&self) {
        if !self.enter_at_once() {
            self.lock_shared_or_abort(Timeout::Never, true);
        }
    }

    /// Locks the lock for reading by `deadline`. Returns false if the deadline came first.
    ///
    /// ```
    /// use leeward::asym::RawRwLock;
    /// use leeward::futex::{Deadline, Private};
    /// use std::time::Duration;
    /// let lock = RawRwLock::new();
    /// let after = |time| Deadline::after::<Private>(time);
    /// assert!(lock.lock_shared_until(after(Duration::from_secs(60))));
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         assert!(lock.is_locked() && !lock.is_locked_exclusive());
    ///         assert!(!lock.lock_exclusive_until(after(Duration::from_millis(1))));
    ///         assert!(lock.lock_shared_recursive_until(after(Duration::from_secs(60))));
    ///         // SAFETY: this thread has locked it for reading.
    ///         unsafe { lock.unlock_shared() };
    ///     });
    /// });
    /// // SAFETY: as above.
    /// unsafe { lock.unlock_shared() };
    /// ```
    #[inline]
    pub fn lock_shared_until(&self, deadline: Deadline) -> bool {
        self.enter_at_once() || self.lock_shared_or_abort(Timeout::At(deadline), false)
    }

    /// Locks the lock for reading by `deadline`, past waiting writers as
    /// [`lock_shared_recursive`](Self::lock_shared_recursive) does. Returns false if the deadline
    /// came first.
    #[inline]
    pub fn lock_shared_recursive_until(&self, deadline: Deadline) -> bool {
        self.enter_at_once() || self.lock_shared_or_abort(Timeout::At(deadline), true)
    }

    /// Locks the lock for reading if no writer holds it or waits, or if the calling thread reads it
    /// already. Returns false otherwise.
    #[inline]
    pub fn try_lock_shared(&self) -> bool {
        self.enter_at_once() || self.lock_shared_or_abort(Timeout::Now, false)
    }

    /// Locks the lock for reading as [`try_lock_shared`](Self::try_lock_shared) does, and also if a
    /// writer waits for other readers.
    #[inline]
    pub fn try_lock_shared_recursive(&self) -> bool {
        self.enter_at_once() || self.lock_shared_or_abort(Timeout::Now, true)
    }

    /// Enters by the thread's first slot, if that is free and the lock is open; or by the ordinary
    /// lock, if the lock is closed and no writer is in the way.
    #[inline(always)]
    pub(crate) fn enter_at_once(&self) -> bool {
        let block = local::mine();
        let slot = block.first();
        if !slot.is_free() {
            return false;
        }
        match self.open_id() {
            Some(id) => self.enter(slot, id),
            None => self.enter_closed(block, slot),
        }
    }

    /// Enters by the thread's first slot, if that is free and the lock is open: what is inlined where
    /// code should be short.
    #[cfg(feature = "hashbrown")]
    #[inline(always)]
    pub(crate) fn enter_open(&self) -> bool {
        let slot = local::mine().first();
        slot.is_free() && self.open_id().is_some_and(|id| self.enter(slot, id))
    }

    /// Enters by `slot`, which is free, if the lock is open still. It was, as `id` says, its own.
    #[inline(always)]
    fn enter(&self, slot: &AsymSlot, id: u64) -> bool {
        // Pair G, light half, in `announce`. Partners: the heavy fences in `close` and `revoke`.
        // - If our store comes first, the writer's scan sees the slot and waits for us.
        // - If the heavy fence comes first, we see the lock closed, retreat, and take the ordinary
        //   lock.
        slot.announce(id);
        // Acquire: partner of the release in `reopen`: the section sees what was written before
        // that.
        if self.open.load(Ordering::Acquire) == id || mutated!(asym_read_rechecks) {
            return true;
        }
        slot.retreat();
        false
    }

    /// Enters by the ordinary lock, if no writer is in the way, and notes that in `slot`, the
    /// block's first, which is free.
    #[inline]
    fn enter_closed(&self, block: &Block, slot: &AsymSlot) -> bool {
        let Some(id) = self.id.given() else { return false };
        if !self.lock.enter_at_once() {
            return false;
        }
        slot.take_ordinary(id);
        if block.is_drawn() {
            self.reopen(id);
        }
        true
    }

    /// Locks the lock for reading until `timeout`, as [`lock_shared`](Self::lock_shared) does, for
    /// the C face. Returns false on timeout.
    ///
    /// # Errors
    /// [`TooManyReaders`], where `lock_shared` ends the process.
    #[doc(hidden)]
    #[inline]
    pub fn checked_lock_shared(&self, timeout: Timeout) -> Result<bool, TooManyReaders> {
        if self.enter_at_once() { Ok(true) } else { self.lock_shared_slow(timeout, false) }
    }

    #[cold]
    #[inline(never)]
    fn lock_shared_or_abort(&self, timeout: Timeout, is_recursive: bool) -> bool {
        match self.lock_shared_slow(timeout, is_recursive) {
            Ok(is_locked) => is_locked,
            Err(TooManyReaders) => abort!("an asym::RwLock has more readers than it can count"),
        }
    }

    #[cold]
    #[inline(never)]
    fn lock_shared_slow(&self, timeout: Timeout, is_recursive: bool) -> Result<bool, TooManyReaders> {
        let id = self.id.give(false);
        let block = local::registered();
        if let Some(slot) = block.and_then(|block| block.find(id)) {
            slot.nest();
            return Ok(true);
        }
        if let (Some(slot), Some(id)) = (block.and_then(|block| block.unused()), self.open_id()) {
            if self.enter(slot, id) {
                return Ok(true);
            }
        }
        // A held lock that no slot shows may be this one: pass waiting writers then.
        if !self.lock_ordinary(timeout, is_recursive || local::untracked() != 0)? {
            return Ok(false);
        }
        self.note_ordinary(id);
        if block.is_some_and(Block::is_drawn) || !self.account.owes() {
            self.reopen(id);
        }
        Ok(true)
    }

    /// Returns the lock's id if it is open to slots.
    #[inline(always)]
    pub(super) fn open_id(&self) -> Option<u64> {
        // Relaxed: `enter` rechecks, and writers look under the ordinary lock.
        let open = self.open.load(Ordering::Relaxed);
        (open.wrapping_sub(1) < CLOSING - 1).then_some(open)
    }

    pub(super) fn is_open(&self) -> bool {
        self.open_id().is_some()
    }

    /// Returns true if the lock is closed, and no writer is about to close it.
    pub(super) fn is_closed(&self) -> bool {
        // Relaxed: as in `open_id`.
        self.open.load(Ordering::Relaxed) == CLOSED
    }

    fn lock_ordinary(&self, timeout: Timeout, is_recursive: bool) -> Result<bool, TooManyReaders> {
        match timeout {
            Timeout::Now if is_recursive => Ok(self.lock.try_lock_shared_recursive()),
            Timeout::Now => Ok(self.lock.try_lock_shared()),
            _ => slow::lock_shared(&self.lock, is_recursive, timeout),
        }
    }

    /// Notes, for nested reads, that the calling thread has the ordinary lock for reading.
    pub(super) fn note_ordinary(&self, id: u64) {
        if mutated!(asym_note_ordinary) {
            return;
        }
        // `mine`, not `registered`: registering may allocate, and the allocator may take this lock.
        if !local::mine().note_ordinary(id) {
            local::set_untracked(local::untracked() + 1);
        }
    }

    /// Counts reads by the ordinary lock, and opens the lock to slots again if that pays. The
    /// caller has the ordinary lock for reading, and was drawn to count for others.
    #[cold]
    #[inline(never)]
    fn reopen(&self, id: u64) {
        self.account.pay_by(local::mine(), DRAWN_IN);
        if !self.is_closed() || self.account.owes() || !fence::is_to_be_relied_on() {
            return;
        }
        self.account.begin();
        // Release: readers that enter by a slot see what writers wrote. Partner: the acquire in
        // `enter`. Other readers may store the same value.
        self.open.store(id, order!(Release, asym_open_release));
    }

    /// Unlocks the lock for reading.
    ///
    /// # Safety
    /// The calling thread has locked it for reading, and gives up one such lock by this call.
    #[inline(always)]
    pub unsafe fn unlock_shared(&self) {
        // SAFETY: the caller's promise.
        if !unsafe { self.leave_open() } {
            self.unlock_shared_closed(local::mine().first());
        }
    }

    /// Unlocks the lock for reading, if the thread's first slot says that it entered by that; returns
    /// false if not.
    ///
    /// # Safety
    /// As [`unlock_shared`](Self::unlock_shared).
    #[inline(always)]
    pub(crate) unsafe fn leave_open(&self) -> bool {
        let slot = local::mine().first();
        let is_simple = slot.is_simply(self.id.get());
        if is_simple {
            slot.leave();
        }
        is_simple
    }

    /// Unlocks the lock for reading, for the C face. Returns false if no reader was inside.
    ///
    /// # Safety
    /// The calling thread has locked it for reading, if a reader is inside, and gives up one such
    /// lock by this call.
    #[doc(hidden)]
    #[inline]
    pub unsafe fn checked_unlock_shared(&self) -> bool {
        // SAFETY: the caller's promise. (A slot that says so is a reader's.)
        let has_left = unsafe { self.leave_open() };
        has_left || self.unlock_shared_closed(local::mine().first())
    }

    /// Unlocks the lock for reading, where the thread's first slot does not say that it entered by
    /// that.
    #[inline]
    fn unlock_shared_closed(&self, slot: &AsymSlot) -> bool {
        if !slot.is_simply_ordinary(self.id.get()) {
            return self.unlock_shared_slow();
        }
        slot.forget_ordinary();
        // SAFETY: the slot said that the caller has the ordinary lock, which it gives up.
        unsafe { slow::unlock_shared(&self.lock) }
    }

    #[cold]
    #[inline(never)]
    fn unlock_shared_slow(&self) -> bool {
        match local::drop_guard(self.id.get()) {
            Some(Left::Nested | Left::Slot) => return true,
            Some(Left::Ordinary) => {}
            None => local::set_untracked(local::untracked().saturating_sub(1)),
        }
        // SAFETY: the caller gives up a lock that no slot stands for, so it has the ordinary one.
        unsafe { slow::unlock_shared(&self.lock) }
    }

    /// Returns a number that no other lock of this process has, nor had.
    #[cfg_attr(not(feature = "hashbrown"), allow(dead_code))]
    pub(crate) fn name(&self) -> u64 {
        self.id.give(false)
    }

    /// Returns true if one of the calling thread's slots shows that it reads the lock, so that it
    /// would wait for itself if it locked it for writing.
    #[doc(hidden)]
    pub fn is_read_here(&self) -> bool {
        local::mine().find(self.id.get()).is_some()
    }

    /// Returns true if a reader is inside by a slot, or is about to check whether it may enter.
    pub(super) fn is_read(&self, id: u64) -> bool {
        every_slot().any(|slot| slot.is_held_for(id))
    }

    /// Returns true if a thread holds it, for reading or writing. The answer may be out of date
    /// when it is returned.
    pub fn is_locked(&self) -> bool {
        self.lock.is_locked() || !self.is_closed() && self.is_read(self.id.get())
    }

    /// Returns true if a writer holds it, or waits for readers to leave. The answer may be out of
    /// date when it is returned.
    pub fn is_locked_exclusive(&self) -> bool {
        self.lock.is_locked_exclusive()
    }
}

pub(super) fn every_slot() -> impl Iterator<Item = &'static AsymSlot> {
    local::blocks().slots().flat_map(|block| block.slots())
}

impl core::fmt::Debug for RawRwLock {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("RawRwLock")
            .field("is_open", &self.is_open())
            .field("is_read", &self.is_read(self.id.get()))
            .field("lock", &self.lock)
            .finish_non_exhaustive()
    }
}
