//! A readers-writer lock whose readers pay what an RCU section pays: a store into a slot of their own thread.
//!
//! After Dave Dice and Alex Kogan, "BRAVO: Biased Locking for Reader-Writer Locks" (2019): readers make themselves known
//! beside the lock while it is biased towards them, and a writer revokes the bias, waits for them, and inhibits it for
//! a multiple of what that cost. Theirs has one table, entered by compare-exchange; here each thread has slots of its
//! own, and the writer's heavy fence stands for the reader's.

use super::slots::{Left, Slot};
use super::{drain, local, slots};
use crate::atomic::{AtomicU64, Ordering, const_fn, outside_model};
use crate::fence;
use crate::futex::{Deadline, Private, Timeout};
use crate::mutant::{mutated, order, step};
use crate::no_unwind::abort;
use crate::raw;

/// `open` of a lock whose readers take the ordinary lock. No lock's id.
const CLOSED: u64 = 0;
/// A writer costs at most a tenth more than it would without the bias: so many times what it paid, readers are ordinary
/// ones.
const INHIBIT: u64 = 9;
/// No shorter than this, in nanoseconds, however fast the fence was: a read in the meantime does not cost more than it saves;
const AT_LEAST: u64 = outside_model(10_000) as u64;
/// and no longer, however slow it was (a writer that lost its processor).
const AT_MOST: u64 = 100_000;

/// Readers share at the price of a store, a writer is alone and pays for it; 32 bytes, nothing of it written by readers.
///
/// The raw lock; [`RwLock`](super::RwLock) is the one with data. Reads on one thread nest, whatever writers do: a thread
/// that is inside of the lock enters it again, past writers that wait.
#[repr(C)]
pub struct RawRwLock {
    id: slots::LockId,
    /// The lock's id: open, readers enter by their slots. 0: they take the ordinary lock. Written under that lock only:
    /// opened by who reads, closed by who writes.
    open: AtomicU64,
    /// When readers may open it again, in nanoseconds of the futex's clock; 0 if no writer has closed it yet.
    reopen_at: AtomicU64,
    /// What writers take, and readers while it is closed.
    lock: raw::RwLock<Private>,
}

impl RawRwLock {
    const_fn! {
        /// An unlocked one.
        #[allow(clippy::new_without_default)]
        pub fn new() -> Self {
            RawRwLock {
                id: slots::LockId::new(),
                open: AtomicU64::new(CLOSED),
                reopen_at: AtomicU64::new(0),
                lock: raw::RwLock::new(),
            }
        }
    }

    /// Locks it for reading.
    #[inline(always)]
    pub fn lock_shared(&self) {
        if !self.enter_at_once() {
            self.lock_shared_slow(Timeout::Never, false);
        }
    }

    /// Locks it for reading, past waiting writers as long as any reader is inside, who may starve them. (Not needed to
    /// nest: [`lock_shared`](Self::lock_shared) knows which locks its thread reads.)
    #[inline]
    pub fn lock_shared_recursive(&self) {
        if !self.enter_at_once() {
            self.lock_shared_slow(Timeout::Never, true);
        }
    }

    /// Locks it for reading by `deadline`; whether it did.
    #[inline]
    pub fn lock_shared_until(&self, deadline: Deadline) -> bool {
        self.enter_at_once() || self.lock_shared_slow(Timeout::At(deadline), false)
    }

    /// Locks it for reading if no writer holds it or waits, or the calling thread is inside already.
    #[inline]
    pub fn try_lock_shared(&self) -> bool {
        self.enter_at_once() || self.lock_shared_slow(Timeout::Now, false)
    }

    /// The same, also if a writer waits for other readers.
    #[inline]
    pub fn try_lock_shared_recursive(&self) -> bool {
        self.enter_at_once() || self.lock_shared_slow(Timeout::Now, true)
    }

    #[inline(always)]
    fn enter_at_once(&self) -> bool {
        let slot = local::mine().first();
        slot.is_free() && self.enter(slot)
    }

    /// Enters by a slot that is free, if the lock is open.
    #[inline(always)]
    fn enter(&self, slot: &Slot) -> bool {
        let id = self.id.get();
        // Pair G, light half, in `announce`. Partner: the heavy fence in `revoke`.
        // - If our store comes first, the writer's scan sees the slot and waits for us.
        // - If the heavy fence comes first, we see the lock closed, retreat, and take the ordinary lock.
        slot.announce(id);
        // Acquire: partner of the release in `reopen`: what was written before that is seen.
        if self.open.load(Ordering::Acquire) == id || mutated!(asym_read_rechecks) {
            return true;
        }
        slot.retreat();
        false
    }

    #[cold]
    #[inline(never)]
    fn lock_shared_slow(&self, timeout: Timeout, is_recursive: bool) -> bool {
        let id = self.id.give(false);
        let block = local::registered();
        if let Some(slot) = block.and_then(|block| block.find(id)) {
            slot.nest();
            return true;
        }
        if block.and_then(|block| block.unused()).is_some_and(|slot| self.is_open() && self.enter(slot)) {
            return true;
        }
        // What no slot tells may be this lock.
        if !self.lock_ordinary(timeout, is_recursive || local::untracked() != 0) {
            return false;
        }
        self.note_ordinary(id);
        self.reopen(id);
        true
    }

    fn is_open(&self) -> bool {
        // Relaxed: `enter` looks again.
        self.open.load(Ordering::Relaxed) != CLOSED
    }

    fn lock_ordinary(&self, timeout: Timeout, is_recursive: bool) -> bool {
        match timeout {
            Timeout::Never if is_recursive => self.lock.lock_shared_recursive(),
            Timeout::Never => self.lock.lock_shared(),
            Timeout::Now if is_recursive => return self.lock.try_lock_shared_recursive(),
            Timeout::Now => return self.lock.try_lock_shared(),
            Timeout::At(deadline) => {
                return is_recursive && self.lock.try_lock_shared_recursive() || self.lock.lock_shared_until(deadline);
            }
        }
        true
    }

    /// The calling thread has the ordinary lock for reading; its nested reads must know.
    fn note_ordinary(&self, id: u64) {
        if mutated!(asym_note_ordinary) {
            return;
        }
        // Not registered for it: that may allocate, and the allocator may take this lock.
        if !local::mine().note_ordinary(id) {
            local::set_untracked(local::untracked() + 1);
        }
    }

    /// Lets readers in by their slots again, when the time has come. The caller has the ordinary lock for reading.
    fn reopen(&self, id: u64) {
        // Relaxed: written by writers, under the lock.
        let at = self.reopen_at.load(Ordering::Relaxed);
        if self.is_open() || (at != 0 && !(local::is_due() && now() >= at)) || !fence::is_possible() {
            return;
        }
        // Release: what writers wrote is seen by who enters by a slot. Partner: the acquire in `enter`. Other readers may
        // store the same.
        self.open.store(id, order!(Release, asym_open_release));
    }

    /// Unlocks it for reading.
    ///
    /// # Safety
    /// The calling thread has locked it for reading, and gives that up.
    #[inline(always)]
    pub unsafe fn unlock_shared(&self) {
        let slot = local::mine().first();
        if slot.is_simply(self.id.get()) {
            slot.leave();
        } else {
            self.unlock_shared_slow();
        }
    }

    #[cold]
    #[inline(never)]
    fn unlock_shared_slow(&self) {
        match local::drop_guard(self.id.get()) {
            Some(Left::Nested | Left::Slot) => return,
            Some(Left::Ordinary) => {}
            None => local::set_untracked(local::untracked().saturating_sub(1)),
        }
        // SAFETY: the caller gives up a lock that no slot stands for: so it has the ordinary one.
        unsafe { self.lock.unlock_shared() };
    }

    /// Locks it for writing.
    ///
    /// # Aborts
    /// If the calling thread reads it: it would wait for itself. (Where it can tell: by a slot.)
    pub fn lock_exclusive(&self) {
        self.lock_exclusive_within(Timeout::Never);
    }

    /// Locks it for writing by `deadline`; whether it did.
    pub fn lock_exclusive_until(&self, deadline: Deadline) -> bool {
        self.lock_exclusive_within(Timeout::At(deadline))
    }

    /// Locks it for writing if nobody is inside. Readers that come while it looks may be refused, or wait a moment.
    pub fn try_lock_exclusive(&self) -> bool {
        self.lock_exclusive_within(Timeout::Now)
    }

    fn lock_exclusive_within(&self, timeout: Timeout) -> bool {
        match timeout {
            Timeout::Never => {
                if local::mine().find(self.id.get()).is_some() {
                    abort!("a thread writes an asym::RwLock that it reads: it would wait for itself for ever");
                }
                self.lock.lock_exclusive();
            }
            Timeout::At(deadline) if !self.lock.lock_exclusive_until(deadline) => return false,
            Timeout::Now if !self.lock.try_lock_exclusive() => return false,
            _ => {}
        }
        !self.is_open() || self.revoke(timeout)
    }

    /// Takes the lock away from the readers in their slots. The caller has the ordinary one; if this fails, not any more.
    #[cold]
    #[inline(never)]
    fn revoke(&self, timeout: Timeout) -> bool {
        let id = self.id.get();
        let begun = now();
        let has_left = if matches!(timeout, Timeout::Now) && self.is_read(id) {
            // A reader is inside already: the fence would only confirm it.
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
            // Relaxed: under the lock. What the bias costs is the fence; readers that are inside any writer waits for.
            self.reopen_at.store(now() + (INHIBIT * cost).clamp(AT_LEAST, AT_MOST), Ordering::Relaxed);
            has_left
        };
        // Readers stayed, and the time is up: the lock is theirs again.
        if !has_left {
            // Release: as in `reopen`: nothing was written now, but before.
            step!(asym_open_restored, self.open.store(id, Ordering::Release));
            // SAFETY: locked by the caller.
            unsafe { self.lock.unlock_exclusive() };
        }
        has_left
    }

    /// Whether a reader is inside by a slot, or looks whether it may enter.
    fn is_read(&self, id: u64) -> bool {
        every_slot().any(|slot| slot.is_held_for(id))
    }

    /// Unlocks it for writing.
    ///
    /// # Safety
    /// It is locked for writing, and the one who did so gives that up.
    #[inline]
    pub unsafe fn unlock_exclusive(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.lock.unlock_exclusive() };
    }

    /// Makes the writer a reader: no other writer comes between, and readers may enter.
    ///
    /// # Safety
    /// The calling thread has locked it for writing, and goes on as a reader.
    pub unsafe fn downgrade(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.lock.downgrade() };
        self.note_ordinary(self.id.give(false));
    }

    /// Whether anybody holds it; out of date when it is returned.
    pub fn is_locked(&self) -> bool {
        self.lock.is_locked() || self.is_open() && self.is_read(self.id.get())
    }

    /// Whether a writer holds it, or tries to; out of date when it is returned.
    pub fn is_locked_exclusive(&self) -> bool {
        self.lock.is_locked_exclusive()
    }
}

fn every_slot() -> impl Iterator<Item = &'static Slot> {
    local::blocks().slots().flat_map(|block| block.slots())
}

/// Nanoseconds of the futex's clock: 584 years of them.
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
