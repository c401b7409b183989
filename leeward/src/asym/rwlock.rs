//! A readers-writer lock whose readers pay what an RCU section pays: a store into their own slot.
//! Called through `lock_api/` and by the models; calls `slots` by way of `local`, `drain`, and
//! `raw::RwLock`.
//!
//! After Dave Dice and Alex Kogan, "BRAVO: Biased Locking for Reader-Writer Locks" (2019): readers
//! announce themselves beside the lock while it is biased towards them; a writer revokes the bias,
//! waits for them, and inhibits the bias for a multiple of what that cost. BRAVO's readers enter
//! one table by a compare-exchange; here each thread has slots of its own, and the writer's heavy
//! fence stands for the reader's fence.

use super::lock_id::LockId;
use super::slots::{Left, Slot};
use super::{drain, local};
use crate::atomic::{AtomicU64, Ordering, const_fn, outside_model};
use crate::fence;
use crate::futex::{Deadline, Private, Timeout};
use crate::mutant::{mutated, order, step};
use crate::no_unwind::abort;
use crate::raw;
use crate::raw::slow::{self, TooManyReaders};

/// The value of `open` while readers take the ordinary lock; no lock's id.
const CLOSED: u64 = 0;
/// How long readers take the ordinary lock, as a multiple of what the writer's fence took: a writer
/// costs at most a tenth more than it would without the bias.
const INHIBIT: u64 = 9;
/// The shortest inhibition, in nanoseconds, however fast the fence was: a slow read in the meantime
/// must not cost more than the bias saves.
const AT_LEAST: u64 = outside_model(10_000) as u64;
/// The longest inhibition, in nanoseconds, however slow the fence was (the writer may have lost its
/// processor).
const AT_MOST: u64 = 100_000;

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
    /// The lock's id: readers enter by their slots. `CLOSED`: readers take the ordinary lock.
    /// Written under that lock only: readers open it, writers close it.
    open: AtomicU64,
    /// When readers may open it again, in nanoseconds of the futex's clock; 0 if no writer has
    /// closed it yet.
    reopen_at: AtomicU64,
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
                reopen_at: AtomicU64::new(0),
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

    /// Enters by the thread's first slot, if that is free and the lock is open.
    #[inline(always)]
    fn enter_at_once(&self) -> bool {
        let slot = local::mine().first();
        slot.is_free() && self.enter(slot)
    }

    /// Enters by `slot`, which is free, if the lock is open.
    #[inline(always)]
    fn enter(&self, slot: &Slot) -> bool {
        let id = self.id.get();
        // Pair G, light half, in `announce`. Partner: the heavy fence in `revoke`.
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
        if block.and_then(|block| block.unused()).is_some_and(|slot| self.is_open() && self.enter(slot)) {
            return Ok(true);
        }
        // A held lock that no slot shows may be this one: pass waiting writers then.
        if !self.lock_ordinary(timeout, is_recursive || local::untracked() != 0)? {
            return Ok(false);
        }
        self.note_ordinary(id);
        self.reopen(id);
        Ok(true)
    }

    pub(super) fn is_open(&self) -> bool {
        // Relaxed: `enter` rechecks.
        self.open.load(Ordering::Relaxed) != CLOSED
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

    /// Opens the lock to slots again, if its time has come. The caller has the ordinary lock for
    /// reading.
    fn reopen(&self, id: u64) {
        // Relaxed: written by writers, under the lock.
        let at = self.reopen_at.load(Ordering::Relaxed);
        if self.is_open() || (at != 0 && !(local::is_due() && now() >= at)) || !fence::is_possible() {
            return;
        }
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
        let slot = local::mine().first();
        if slot.is_simply(self.id.get()) {
            slot.leave();
        } else {
            self.unlock_shared_slow();
        }
    }

    /// Unlocks the lock for reading, for the C face. Returns false if no reader was inside.
    ///
    /// # Safety
    /// The calling thread has locked it for reading, if a reader is inside, and gives up one such
    /// lock by this call.
    #[doc(hidden)]
    #[inline]
    pub unsafe fn checked_unlock_shared(&self) -> bool {
        let slot = local::mine().first();
        if slot.is_simply(self.id.get()) {
            slot.leave();
            return true;
        }
        self.unlock_shared_slow()
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

    /// Locks the lock for writing.
    ///
    /// # Aborts
    /// Ends the process if one of the calling thread's slots shows that the thread reads it: it
    /// would wait for itself.
    pub fn lock_exclusive(&self) {
        self.lock_exclusive_within(Timeout::Never);
    }

    /// Locks the lock for writing by `deadline`. Returns false if the deadline came first.
    pub fn lock_exclusive_until(&self, deadline: Deadline) -> bool {
        self.lock_exclusive_within(Timeout::At(deadline))
    }

    /// Locks the lock for writing if no thread is inside. Readers that come during the call may be
    /// refused, or wait a moment.
    pub fn try_lock_exclusive(&self) -> bool {
        self.lock_exclusive_within(Timeout::Now)
    }

    fn lock_exclusive_within(&self, timeout: Timeout) -> bool {
        match timeout {
            Timeout::Never => {
                if self.is_read_here() {
                    abort!("a thread writes an asym::RwLock that it reads: it would wait for itself forever");
                }
                self.lock.lock_exclusive();
            }
            Timeout::At(deadline) if !self.lock.lock_exclusive_until(deadline) => return false,
            Timeout::Now if !self.lock.try_lock_exclusive() => return false,
            _ => {}
        }
        let is_taken = !self.is_open() || self.revoke(timeout);
        if !is_taken {
            // SAFETY: locked above.
            unsafe { self.lock.unlock_exclusive() };
        }
        is_taken
    }

    /// Takes the lock away from the readers in their slots. Returns false if readers are still inside
    /// when time is up: then the lock is open, and the caller, who has the ordinary lock for writing,
    /// gives that up.
    #[cold]
    #[inline(never)]
    pub(super) fn revoke(&self, timeout: Timeout) -> bool {
        let id = self.id.get();
        let begun = now();
        let has_left = if matches!(timeout, Timeout::Now) && self.is_read(id) {
            // A reader is inside already; the fence would only confirm it.
            false
        } else {
            // Relaxed: ordered by the fence.
            self.open.store(CLOSED, Ordering::Relaxed);
            // Pair G, heavy half. Partner: the light fence in `enter`.
            // - If the reader's store comes first, the scan below sees its slot and waits.
            // - If this fence comes first, the reader sees the lock closed.
            step!(asym_revoke_heavy, fence::heavy_or_abort());
            let cost = now() - begun;
            let has_left = match timeout {
                Timeout::Now => !self.is_read(id),
                _ => drain::wait(every_slot, id, timeout),
            };
            // Relaxed: under the lock. Only the fence counts as the price of the bias: any writer
            // waits for readers that are inside.
            self.reopen_at.store(now() + (INHIBIT * cost).clamp(AT_LEAST, AT_MOST), Ordering::Relaxed);
            has_left
        };
        // Time is up and readers are still inside: the lock is theirs again.
        if !has_left {
            // Release: as in `reopen`: this writer wrote nothing, but earlier ones did.
            step!(asym_open_restored, self.open.store(id, Ordering::Release));
        }
        has_left
    }

    /// Returns true if one of the calling thread's slots shows that it reads the lock, so that it
    /// would wait for itself if it locked it for writing.
    #[doc(hidden)]
    pub fn is_read_here(&self) -> bool {
        local::mine().find(self.id.get()).is_some()
    }

    /// Returns true if a reader is inside by a slot, or is about to check whether it may enter.
    fn is_read(&self, id: u64) -> bool {
        every_slot().any(|slot| slot.is_held_for(id))
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

    /// Returns true if a thread holds it, for reading or writing. The answer may be out of date
    /// when it is returned.
    pub fn is_locked(&self) -> bool {
        self.lock.is_locked() || self.is_open() && self.is_read(self.id.get())
    }

    /// Returns true if a writer holds it, or waits for readers to leave. The answer may be out of
    /// date when it is returned.
    pub fn is_locked_exclusive(&self) -> bool {
        self.lock.is_locked_exclusive()
    }
}

fn every_slot() -> impl Iterator<Item = &'static Slot> {
    local::blocks().slots().flat_map(|block| block.slots())
}

/// Returns the time in nanoseconds of the futex's clock, which lasts for 584 years.
fn now() -> u64 {
    crate::futex::now().as_nanos() as u64
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
