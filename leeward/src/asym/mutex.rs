//! A mutex for a lock that one thread takes nearly always: its owner locks and unlocks with plain
//! stores, another thread takes the bias away first. Called through `lock_api/` and by condition
//! variables; calls `slots` by way of `local`, `drain`, and `raw::Mutex`.
//!
//! After Kiyokuni Kawachiya, Akira Koseki and Tamiya Onodera, "Lock Reservation: Java Locks Can
//! Mostly Do without Atomic Operations" (2002), and Dave Dice, Hui Huang and Mingyao Yang's
//! asymmetric Dekker synchronization (2001), by which the revoker need not stop the owner.

use core::ptr;

use super::account::Account;
use super::lock_id::LockId;
use super::slots::{AsymSlot, Block};
use super::{drain, local};
use crate::atomic::{AtomicPtr, Ordering, const_fn};
use crate::fence;
use crate::futex::{Deadline, Private, Timeout};
use crate::mutant::{check, mutated, step};
use crate::no_unwind::abort;
use crate::raw;

/// A mutex without data, biased towards the thread that takes it nearly always; 40 bytes, none of
/// which that thread writes.
///
/// [`Mutex`](super::Mutex) is the one with data, whose page says what it promises and costs, and
/// when the bias comes and goes.
///
/// ```
/// use leeward::asym::RawMutex;
/// let lock = RawMutex::new();
/// lock.lock();
/// assert!(lock.is_locked());
/// // SAFETY: this thread has locked it.
/// unsafe { lock.unlock() };
/// assert!(!lock.is_locked());
/// ```
#[repr(C)]
pub struct RawMutex {
    id: LockId,
    /// The block of the owner, the thread that the lock is biased to; null: all threads take the
    /// ordinary lock. Written under that lock only. (A thread that is given the block of one that
    /// exited has its biases too, which does no harm: no other thread has that block.)
    owner: AtomicPtr<Block>,
    /// The block of the thread that the bias is meant for: the one that takes the ordinary lock
    /// most of the time. Under that lock.
    favoured: AtomicPtr<Block>,
    /// When the favoured thread may become the owner.
    account: Account,
    /// The ordinary lock, which all but the owner take, and the owner when it has lost the bias.
    lock: raw::Mutex<Private>,
}

impl RawMutex {
    const_fn! {
        /// Returns an unlocked lock without an owner.
        #[allow(clippy::new_without_default)]
        pub fn new() -> Self {
            RawMutex {
                id: LockId::new(),
                owner: AtomicPtr::new(ptr::null_mut()),
                favoured: AtomicPtr::new(ptr::null_mut()),
                account: Account::new(),
                lock: raw::Mutex::new(),
            }
        }
    }

    /// Locks the mutex.
    ///
    /// # Aborts
    /// Ends the process if the calling thread holds it as its owner: it would wait for itself.
    #[inline(always)]
    #[track_caller]
    pub fn lock(&self) {
        if !self.enter_at_once() {
            self.lock_slow(Timeout::Never);
        }
    }

    /// Locks the mutex if it is neither held nor reserved for a thread that has waited. Returns
    /// false otherwise.
    #[inline]
    pub fn try_lock(&self) -> bool {
        self.enter_at_once() || self.lock_slow(Timeout::Now)
    }

    /// Locks the mutex by `deadline`. Returns false if the deadline came first.
    ///
    /// ```
    /// use leeward::asym::RawMutex;
    /// use leeward::futex::{Deadline, Private};
    /// use std::time::Duration;
    /// let lock = RawMutex::new();
    /// assert!(lock.try_lock());
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         let soon = Deadline::after::<Private>(Duration::from_millis(1));
    ///         assert!(!lock.try_lock() && !lock.try_lock_until(soon));
    ///     });
    /// });
    /// // SAFETY: this thread has locked it.
    /// unsafe { lock.unlock() };
    /// ```
    #[inline]
    pub fn try_lock_until(&self, deadline: Deadline) -> bool {
        self.enter_at_once() || self.lock_slow(Timeout::At(deadline))
    }

    /// Enters by the calling thread's first slot, if that is free and the thread is the owner. No
    /// other slot will do: only of this one we see here that we are not inside already.
    #[inline(always)]
    fn enter_at_once(&self) -> bool {
        let block = local::mine();
        let slot = block.first();
        if mutated!(asym_first_slot) {
            return block.unused().is_some_and(|slot| self.enter(block, slot));
        }
        slot.is_free() && (self.enter(block, slot) || self.lock_unbiased(block))
    }

    /// Takes the ordinary lock at once, if that is free and the lock not biased.
    #[inline]
    fn lock_unbiased(&self, block: &Block) -> bool {
        if self.lock.take_at_once().is_err() {
            return false;
        }
        // Another thread may have been given the bias before we had the ordinary lock.
        if self.is_biased() {
            // SAFETY: locked just now.
            unsafe { self.lock.unlock() };
            return false;
        }
        self.count(block);
        true
    }

    /// Enters by `slot`, which is the block's first and free, if the block's thread is the owner.
    #[inline(always)]
    fn enter(&self, block: &Block, slot: &AsymSlot) -> bool {
        // Pair I, light half, in `announce`: the slot is stored before the look at `owner`.
        // Partner: the heavy fence in `revoke`.
        // - If our store comes first, the revoker sees the slot and waits for us.
        // - If the heavy fence comes first, we see that we are not the owner any more, and retreat.
        let looked_before = mutated!(asym_owner_rechecks) && self.is_owned_by(block);
        slot.announce(self.id.get());
        if looked_before || self.is_owned_by(block) {
            return true;
        }
        slot.leave();
        false
    }

    #[inline(always)]
    fn is_owned_by(&self, block: &Block) -> bool {
        // Relaxed: only the owner makes itself one, or a revoker that gave up and touched nothing;
        // what others did under the lock happened before that.
        ptr::eq(self.owner.load(Ordering::Relaxed), block)
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn lock_slow(&self, timeout: Timeout) -> bool {
        let id = self.id.give(true);
        if let Some(block) = local::registered() {
            if matches!(timeout, Timeout::Never) && block.find(id).is_some() {
                abort!("a thread locks an asym::Mutex that it holds: it would wait for itself forever");
            }
        }
        if !self.lock.try_lock() {
            match timeout {
                Timeout::Never => self.lock.lock(),
                Timeout::At(deadline) if self.lock.try_lock_until(deadline) => {}
                Timeout::At(_) | Timeout::Now => return false,
            }
        }
        if !self.is_biased() {
            self.count(local::mine());
        } else if !self.revoke(timeout) {
            return false;
        }
        true
    }

    fn is_biased(&self) -> bool {
        // Relaxed: written under the lock.
        !self.owner.load(Ordering::Relaxed).is_null()
    }

    /// Returns the owner's block, or none if the lock is not biased.
    fn owner(&self) -> Option<&'static Block> {
        // Acquire: the owner's slots may have been made after all that we know. Partner: the
        // release in `set_owner`.
        let owner = self.owner.load(Ordering::Acquire);
        // SAFETY: null, or what `set_owner` stored, which alone stores anything else: the address
        // of a block that lives forever, and that had been initialised before that store, which
        // this load acquires.
        unsafe { owner.as_ref() }
    }

    /// Biases the lock to the thread of this block.
    fn set_owner(&self, owner: &'static Block) {
        // Release: the block was made before; for threads that look at its slots without the lock.
        // Partner: the acquire in `owner`.
        self.owner.store(ptr::from_ref(owner).cast_mut(), Ordering::Release);
    }

    /// Takes the lock away from its owner, and waits until the owner has left. The caller has the
    /// ordinary lock; if this returns false, the call has given it up.
    #[cold]
    #[inline(never)]
    fn revoke(&self, timeout: Timeout) -> bool {
        let id = self.id.get();
        // The ordinary lock keeps `owner` as it is.
        let Some(owner) = self.owner() else { return true };
        let slot = owner.first();
        let is_held = || slot.is_held_for(id);
        // The owner is inside already; the fence would only confirm it.
        if matches!(timeout, Timeout::Now) && is_held() {
            // SAFETY: locked by the caller.
            unsafe { self.lock.unlock() };
            return false;
        }
        // The owner itself comes here if its first slot is another lock's.
        let is_own = ptr::eq(owner, local::mine()) || mutated!(asym_foreign_owner);
        // Relaxed: ordered by the fence.
        self.owner.store(ptr::null_mut(), Ordering::Relaxed);
        if check!(asym_bias_heavy, !is_own) {
            // Pair I, heavy half: the bias is taken away before the look at the slot. Partner: the
            // light fence in `enter`.
            // - If the owner's store comes first, we see its slot and wait for it.
            // - If this fence comes first, the owner sees that the bias is gone, and retreats.
            self.account.end(fence::heavy_or_abort);
        }
        let has_left = match timeout {
            Timeout::Now => !is_held(),
            _ => drain::wait(|| core::iter::once(slot), id, timeout),
        };
        // Time is up and the owner is still inside: the bias is its own again.
        if !has_left {
            step!(asym_owner_restored, self.set_owner(owner));
            // SAFETY: locked by the caller.
            unsafe { self.lock.unlock() };
        }
        has_left
    }

    /// Counts a lock by another thread than the favoured one, for the bias. The caller has the
    /// ordinary lock. (The favoured thread's own locks are counted by its unlocks.)
    #[inline]
    fn count(&self, block: &Block) {
        let me = ptr::from_ref(block).cast_mut();
        // Relaxed, both: under the lock.
        let favoured = self.favoured.load(Ordering::Relaxed);
        let is_favoured = ptr::eq(favoured, me) || mutated!(asym_row_of_one);
        if !is_favoured && (favoured.is_null() || self.account.charge_or_change()) {
            self.favoured.store(me, Ordering::Relaxed);
        }
    }

    /// Unlocks the mutex.
    ///
    /// # Safety
    /// The calling thread holds it, and gives it up by this call.
    #[inline(always)]
    pub unsafe fn unlock(&self) {
        let slot = local::mine().first();
        if slot.is_simply(self.id.get()) {
            slot.leave();
        } else if !slot.is(self.id.get()) && self.account.pay_one() {
            // SAFETY: the caller gives up a lock that no slot stands for, so it has the ordinary
            // one.
            unsafe { self.lock.unlock() };
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
        // Relaxed: under the lock.
        let is_favoured = ptr::eq(self.favoured.load(Ordering::Relaxed), me) || mutated!(asym_row_of_one);
        if is_favoured && !self.account.owes() && me.unused().is_some() && fence::is_to_be_relied_on() {
            self.id.give(true);
            self.account.begin();
            // The bias is given with the lock, not before: its owner could enter a second time.
            self.set_owner(me);
        }
        // SAFETY: the caller gives up a lock that no slot stands for, so it has the ordinary one.
        unsafe { self.lock.unlock() };
    }

    /// Unlocks the mutex for a thread that waits for it, if there is one: no newcomer gets the lock
    /// before.
    ///
    /// Without a bias this is the ordinary lock's [`unlock_fair`](raw::Mutex::unlock_fair), and gives
    /// no bias. An owner's unlock is a store as ever, and fair by itself: the thread that takes the
    /// bias away has the ordinary lock already, and all others come after it.
    ///
    /// ```
    /// use leeward::asym::RawMutex;
    /// let lock = RawMutex::new();
    /// lock.lock();
    /// // SAFETY: this thread has locked it.
    /// unsafe {
    ///     lock.bump();
    ///     lock.unlock_fair();
    /// }
    /// assert!(!lock.is_locked());
    /// ```
    ///
    /// # Safety
    /// The calling thread holds it, and gives it up by this call.
    pub unsafe fn unlock_fair(&self) {
        if local::drop_guard(self.id.get()).is_none() {
            self.account.pay_one();
            // SAFETY: the caller gives up a lock that no slot stands for, so it has the ordinary one.
            unsafe { self.lock.unlock_fair() };
        }
    }

    /// Lets a thread that waits for the mutex have it, if there is one, as
    /// [`unlock_fair`](Self::unlock_fair) does, and locks it again.
    ///
    /// # Safety
    /// The calling thread holds it, and what it guards may have changed at the return.
    pub unsafe fn bump(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.unlock_fair() };
        self.lock();
    }

    /// Returns true if a thread holds it. The answer may be out of date when it is returned.
    pub fn is_locked(&self) -> bool {
        let id = self.id.get();
        self.lock.is_locked() || self.owner().is_some_and(|owner| owner.first().is_held_for(id))
    }
}

// SAFETY: `lock` lets one caller in until `unlock`, which the calling thread itself does, as
// everywhere.
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
