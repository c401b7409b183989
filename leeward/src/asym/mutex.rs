//! A mutex for a lock that one thread takes nearly always: its owner locks and unlocks with plain stores, another thread
//! takes the bias away first.
//!
//! After Kiyokuni Kawachiya, Akira Koseki and Tamiya Onodera, "Lock Reservation: Java Locks Can Mostly Do without Atomic
//! Operations" (2002), and Dave Dice, Hui Huang and Mingyao Yang's asymmetric Dekker synchronization (2001), which
//! spares the revoker from stopping the owner.

use core::ptr;

use super::slots::{Block, LockId, Slot};
use super::{drain, local};
use crate::atomic::{AtomicPtr, AtomicU32, Ordering, const_fn, outside_model};
use crate::fence;
use crate::futex::{Deadline, Private, Timeout};
use crate::mutant::{check, mutated, step};
use crate::no_unwind::abort;
use crate::raw;

/// After its first revocation a lock is biased again to a thread that took it so many times in a row, uncontended: some
/// fences' worth of what that saves.
const AGAIN: u32 = outside_model(511) + 1;
/// The number doubles with each revocation, up to this: then a revocation costs less than a nanosecond a lock.
const AGAIN_AT_MOST: u32 = AGAIN << 7;

/// A mutex that is biased towards the thread that takes it nearly always; 40 bytes, nothing of it written by that thread.
///
/// The raw lock; [`Mutex`](super::Mutex) is the one with data, and tells the policy.
#[repr(C)]
pub struct RawMutex {
    id: LockId,
    /// The slots of the thread that it is biased to; null: everybody takes the ordinary lock. Written under that lock
    /// only. (A thread that is given the slots of one that exited has its biases too, which does no harm: nobody else
    /// has those slots.)
    owner: AtomicPtr<Block>,
    /// Under the ordinary lock: whose thread had it last,
    last: AtomicPtr<Block>,
    /// how many times in a row beyond the first, uncontended,
    row: AtomicU32,
    /// and how many it takes to be the owner.
    needed: AtomicU32,
    /// What everybody else takes; and the owner after it lost the bias.
    lock: raw::Mutex<Private>,
}

impl RawMutex {
    const_fn! {
        /// An unlocked one, nobody's yet.
        #[allow(clippy::new_without_default)]
        pub fn new() -> Self {
            RawMutex {
                id: LockId::new(),
                owner: AtomicPtr::new(ptr::null_mut()),
                last: AtomicPtr::new(ptr::null_mut()),
                row: AtomicU32::new(0),
                needed: AtomicU32::new(0),
                lock: raw::Mutex::new(),
            }
        }
    }

    /// Locks it.
    ///
    /// # Aborts
    /// If the calling thread holds it as its owner: it would wait for itself.
    #[inline(always)]
    pub fn lock(&self) {
        if !self.enter_at_once() {
            self.lock_slow(Timeout::Never);
        }
    }

    /// Locks it if nobody holds it.
    #[inline]
    pub fn try_lock(&self) -> bool {
        self.enter_at_once() || self.lock_slow(Timeout::Now)
    }

    /// Locks it by `deadline`; whether it did.
    #[inline]
    pub fn try_lock_until(&self, deadline: Deadline) -> bool {
        self.enter_at_once() || self.lock_slow(Timeout::At(deadline))
    }

    /// Enters by the calling thread's first slot, if that is free and the thread is the owner. By no other slot: here we
    /// see of one slot only that we are not inside already.
    #[inline(always)]
    fn enter_at_once(&self) -> bool {
        let block = local::mine();
        let slot = block.first();
        if mutated!(asym_first_slot) {
            return block.unused().is_some_and(|slot| self.enter(block, slot));
        }
        slot.is_free() && self.enter(block, slot)
    }

    #[inline(always)]
    fn enter(&self, block: &Block, slot: &Slot) -> bool {
        // Pair I, light half, in `announce`: the slot is stored before the look at `owner`. Partner: the heavy fence in
        // `revoke`. Either the revoker sees the slot and waits, or we see that we are not the owner any more.
        let looked_before = mutated!(asym_owner_rechecks) && self.is_owned_by(block);
        slot.announce(self.id.get());
        if looked_before || self.is_owned_by(block) {
            return true;
        }
        slot.retreat();
        false
    }

    #[inline(always)]
    fn is_owned_by(&self, block: &Block) -> bool {
        // Relaxed: only the owner makes itself one, or a revoker that gave up, having touched nothing; what others did
        // under the lock happened before.
        ptr::eq(self.owner.load(Ordering::Relaxed), block)
    }

    #[cold]
    #[inline(never)]
    fn lock_slow(&self, timeout: Timeout) -> bool {
        let id = self.id.give(true);
        if let Some(block) = local::registered() {
            if matches!(timeout, Timeout::Never) && block.find(id).is_some() {
                abort!("a thread locks an asym::Mutex that it holds: it would wait for itself for ever");
            }
        }
        let is_contended = !self.lock.try_lock();
        if is_contended {
            match timeout {
                Timeout::Never => self.lock.lock(),
                Timeout::At(deadline) if self.lock.try_lock_until(deadline) => {}
                Timeout::At(_) | Timeout::Now => return false,
            }
        }
        if self.is_biased() && !self.revoke(timeout) {
            return false;
        }
        self.count(is_contended);
        true
    }

    fn is_biased(&self) -> bool {
        // Relaxed: written under the lock.
        !self.owner.load(Ordering::Relaxed).is_null()
    }

    /// The slots of the thread that it is biased to.
    fn owner(&self) -> Option<&'static Block> {
        // Acquire: the slots, which may be newer than what we know; partner: the release in `set_owner`.
        let owner = self.owner.load(Ordering::Acquire);
        // SAFETY: null, or what `set_owner` stored, which alone stores anything else: the address
        // of a block that lives for ever, and that had been initialised before that store, which
        // this load acquires.
        unsafe { owner.as_ref() }
    }

    /// Biases it to the thread of these slots.
    fn set_owner(&self, owner: &'static Block) {
        // Release: its slots were made before, for those who look at them without the lock;
        // partner: `owner`.
        self.owner.store(ptr::from_ref(owner).cast_mut(), Ordering::Release);
    }

    /// Takes the lock away from its owner, who is waited for. The caller has the ordinary one; if this fails, not any
    /// more.
    #[cold]
    #[inline(never)]
    fn revoke(&self, timeout: Timeout) -> bool {
        let id = self.id.get();
        // Under the lock, which keeps it as it is.
        let Some(owner) = self.owner() else { return true };
        let slot = owner.first();
        let is_held = || slot.is_held_for(id);
        // The owner is inside already: the fence would only confirm it.
        if matches!(timeout, Timeout::Now) && is_held() {
            // SAFETY: locked by the caller.
            unsafe { self.lock.unlock() };
            return false;
        }
        // The owner itself comes here when its first slot is another lock's.
        let is_own = ptr::eq(owner, local::mine()) || mutated!(asym_foreign_owner);
        // Relaxed: ordered by the fence.
        self.owner.store(ptr::null_mut(), Ordering::Relaxed);
        if check!(asym_bias_heavy, !is_own) {
            // Pair I, heavy half: the bias is taken away before the look at the slot. Partner: the light fence in
            // `enter`.
            fence::heavy_or_abort();
        }
        let has_left = match timeout {
            Timeout::Now => !is_held(),
            _ => drain::wait(|| core::iter::once(slot), id, timeout),
        };
        // The owner stayed, and the time is up: the bias is its own again.
        if !has_left {
            step!(asym_owner_restored, self.set_owner(owner));
            // SAFETY: locked by the caller.
            unsafe { self.lock.unlock() };
        } else if !is_own {
            // Revoked: the next bias is earned by more locks in a row.
            // Relaxed, both: under the lock.
            let needed = self.needed.load(Ordering::Relaxed);
            self.needed.store((2 * needed).clamp(AGAIN, AGAIN_AT_MOST), Ordering::Relaxed);
        }
        has_left
    }

    /// Notes who has the ordinary lock, for the bias.
    fn count(&self, is_contended: bool) {
        let me = ptr::from_ref(local::mine()).cast_mut();
        // Relaxed, all: under the lock.
        let is_same = ptr::eq(self.last.load(Ordering::Relaxed), me) || mutated!(asym_row_of_one);
        let is_again = is_same && !is_contended;
        let row = if is_again { self.row.load(Ordering::Relaxed).saturating_add(1) } else { 0 };
        self.row.store(row, Ordering::Relaxed);
        self.last.store(me, Ordering::Relaxed);
    }

    /// Unlocks it.
    ///
    /// # Safety
    /// The calling thread holds it.
    #[inline(always)]
    pub unsafe fn unlock(&self) {
        let slot = local::mine().first();
        if slot.is_simply(self.id.get()) {
            slot.leave();
        } else {
            self.unlock_slow();
        }
    }

    #[cold]
    #[inline(never)]
    fn unlock_slow(&self) {
        if local::drop_guard(self.id.get()).is_some() {
            return;
        }
        let me: &'static Block = local::mine();
        // Relaxed, all: under the lock. The last that had it is this thread; but one that had no
        // slots then may have some by now.
        let is_last = ptr::eq(self.last.load(Ordering::Relaxed), me);
        let is_earned = is_last && self.row.load(Ordering::Relaxed) >= self.needed.load(Ordering::Relaxed);
        if is_earned && me.unused().is_some() && fence::is_possible() {
            // The bias is given with the lock, not before: its owner could enter a second time.
            self.set_owner(me);
        }
        // SAFETY: the caller gives up a lock that no slot stands for: so it has the ordinary one.
        unsafe { self.lock.unlock() };
    }

    /// Whether anybody holds it; out of date when it is returned.
    pub fn is_locked(&self) -> bool {
        let id = self.id.get();
        self.lock.is_locked() || self.owner().is_some_and(|owner| owner.first().is_held_for(id))
    }
}

// SAFETY: `lock` lets one caller in until `unlock`. (The calling thread's, as everywhere.)
unsafe impl raw::Lock<Private> for RawMutex {
    fn lock(&self) {
        RawMutex::lock(self);
    }

    unsafe fn unlock(&self) {
        // SAFETY: the caller's promise.
        unsafe { RawMutex::unlock(self) };
    }
}

impl core::fmt::Debug for RawMutex {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("RawMutex")
            .field("is_locked", &self.is_locked())
            .field("is_biased", &self.is_biased())
            .finish_non_exhaustive()
    }
}
