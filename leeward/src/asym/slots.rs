//! A thread's slots: how one thread tells all others which asymmetric locks it is inside of. Called
//! by `rwlock`, `mutex` and `drain`; found by way of `local`.
//!
//! A slot is written by its thread with plain moves, and read by threads that take a lock away from
//! its readers or its owner (`drain`). A slot holds the *id* of a lock, a number that no other lock
//! ever has: a guard that was leaked keeps its own lock taken, wherever that lock was moved to, and
//! never another one that lies at the same address later.

use super::chance::Chance;
use super::lock_id::MUTEX;
use crate::atomic::{AtomicU32, AtomicU64, Ordering, compiler_fence, const_fn, outside_model};
use crate::fence;
use crate::futex::{self, Futex, Private, Timeout, Wait};
use crate::mutant::{check, mutated, order, step};
use crate::registry;

/// How many asymmetric locks a thread may be inside of before further ones cost what ordinary locks
/// cost: four. (Two in a model.)
const SLOTS: usize = 2 + outside_model(2) as usize;

/// The value of `lock` in a slot that is not in use.
const FREE: u64 = 0;
/// The value of `lock` in the slots of a thread that has no block: neither free nor any lock's id.
const TAKEN: u64 = 2;

/// Bit of `lock`: leaving is more than a store.
const SLOW: u64 = 1 << 63;
/// Bit of `lock`: the thread is inside by the ordinary lock underneath, so writers need not wait
/// for this slot.
const ORDINARY: u64 = 1 << 62;

/// The value of `owner` in a block that no thread has.
const NOBODY: u64 = 0;
/// The value of `owner` in a block whose thread exited inside of a lock.
const GONE: u64 = 1;

/// What the drop of a guard leaves to do.
pub(super) enum Left {
    /// The thread has other guards of the same lock.
    Nested,
    /// The guard was the last, and the slot is left.
    Slot,
    /// The guard was the last, and the ordinary lock is to be unlocked.
    Ordinary,
}

/// The place in which a thread says that it is inside of a lock.
///
/// | field | written by | meaning |
/// |---|---|---|
/// | `lock` | its thread | 0: free; else the lock's id, from before the check that lets the thread enter |
/// | | | bit 63: `SLOW`, bit 62: `ORDINARY`, bit 61, from the id: `MUTEX` |
/// | `more` | its thread | guards beyond the first |
/// | `waited` | a writer sets, its thread clears | not 0: a writer sleeps here until the slot is left (its `token`) |
#[repr(C)]
pub(super) struct AsymSlot {
    lock: AtomicU64,
    more: AtomicU64,
    waited: AtomicU32,
}

/// The view of the slot's own thread. Only that thread writes `lock` and `more`, so its loads of
/// them are relaxed.
impl AsymSlot {
    const_fn! {
        fn new(lock: u64) -> AsymSlot {
            AsymSlot { lock: AtomicU64::new(lock), more: AtomicU64::new(0), waited: AtomicU32::new(0) }
        }
    }

    #[inline(always)]
    fn word(&self) -> u64 {
        // Relaxed: the thread's own word.
        self.lock.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(super) fn is_free(&self) -> bool {
        self.word() == FREE
    }

    /// Returns true if the thread is inside of the lock by this slot, and leaving it is a store.
    #[inline(always)]
    pub(super) fn is_simply(&self, id: u64) -> bool {
        self.word() == id
    }

    /// Returns true if the thread is inside of the lock by this slot.
    pub(super) fn is(&self, id: u64) -> bool {
        self.word() & !(SLOW | ORDINARY) == id
    }

    /// Says that the thread is inside of the lock, provided that the check that follows lets it
    /// enter.
    #[inline(always)]
    pub(super) fn announce(&self, id: u64) {
        self.store(id);
        // Pairs G and I, light half. Partners: the heavy fences in `RawRwLock::revoke` and
        // `RawMutex::revoke`.
        // - If our store comes first, the revoker sees the slot and waits for us.
        // - If the heavy fence comes first, we see that the lock is closed or not ours, and
        //   retreat.
        step!(asym_announce_light, fence::light());
    }

    #[inline(always)]
    fn store(&self, word: u64) {
        // Release: a thread that reads this value while it looks for the lock that was here before
        // still synchronizes with the end of that lock's section. Partner: the acquire in
        // `is_held_for`. (No mutant: loom's light fence in `leave`, a full one, hides it, and
        // thread sanitizer takes a thread's next store for part of its release.)
        self.lock.store(word, Ordering::Release);
    }

    /// Notes that the thread has taken the ordinary lock under this one.
    #[inline(always)]
    pub(super) fn take_ordinary(&self, id: u64) {
        self.store(id | ORDINARY);
    }

    /// Returns true if the thread is inside of the lock by the ordinary one, once.
    #[inline(always)]
    pub(super) fn is_simply_ordinary(&self, id: u64) -> bool {
        self.word() == id | ORDINARY
    }

    /// Takes the note back, before the thread gives the ordinary lock up.
    #[inline(always)]
    pub(super) fn forget_ordinary(&self) {
        self.store(FREE);
    }

    /// Counts one more guard of the lock that this slot holds.
    pub(super) fn nest(&self) {
        if mutated!(asym_nested_count) {
            return;
        }
        // Relaxed, both: the thread's own words.
        self.more.store(self.more.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        self.store(self.word() | SLOW);
    }

    /// Leaves the lock, or takes an announcement back, and wakes a writer that sleeps on this slot.
    #[inline(always)]
    pub(super) fn leave(&self) {
        // SeqCst (compiler): the section's accesses stay before the store. The processor keeps them
        // there because the store is a release.
        compiler_fence(Ordering::SeqCst);
        // Release: the section's accesses happen before the writer's. Partner: the acquire in
        // `is_held_for`.
        self.lock.store(FREE, order!(Release, asym_leave_release));
        // Pairs H and J, light half: the store above is before the look at `waited`. Partner: the
        // heavy fence in `drain::ask`.
        // - If our store comes first, the writer's recheck sees that we left.
        // - If the heavy fence comes first, we see the writer's request, and wake it.
        step!(asym_leave_light, fence::light());
        // Relaxed: the pair orders it, and the wake itself is a system call.
        if check!(asym_leave_checks_waited, self.waited.load(Ordering::Relaxed) != 0) {
            self.wake_writer();
        }
    }

    /// Takes an announcement back, since the thread may not enter.
    #[cold]
    #[inline(never)]
    pub(super) fn retreat(&self) {
        self.leave();
    }

    /// Drops one of several guards, or the last one if that takes more than [`leave`](Self::leave).
    fn drop_guard(&self) -> Left {
        // Relaxed, both: the thread's own words.
        let more = self.more.load(Ordering::Relaxed);
        if more != 0 {
            self.more.store(more - 1, Ordering::Relaxed);
            return Left::Nested;
        }
        let is_ordinary = self.word() & ORDINARY != 0;
        self.leave();
        if is_ordinary { Left::Ordinary } else { Left::Slot }
    }

    #[cold]
    #[inline(never)]
    fn wake_writer(&self) {
        // Relaxed: the writer looks at `lock`, not at this word, to learn that the thread left.
        self.waited.store(0, Ordering::Relaxed);
        // All: a late writer of another lock that was in this slot may sleep on the same word.
        step!(asym_leave_wake, Private::wake(&self.waited, futex::ALL));
    }
}

/// The writer's view.
impl AsymSlot {
    /// Returns true if the thread is inside of the lock, or is about to check whether it may enter.
    /// Readers by the ordinary lock do not count: the caller has that lock. (No mutant shows that
    /// `ORDINARY` is needed: a slot gets it after its thread has the ordinary lock and loses it
    /// before, so no slot has it while a writer has the ordinary lock.)
    #[inline]
    pub(super) fn is_held_for(&self, id: u64) -> bool {
        // Acquire: partner of the releases in `leave` and `store`.
        self.lock.load(order!(Acquire, asym_scan_acquire)) & !SLOW == id
    }

    /// Asks the thread to wake us when it leaves.
    pub(super) fn ask(&self, id: u64) {
        // Relaxed: the heavy fence that follows (pairs H and J) orders it before our next look at
        // `lock`.
        self.waited.store(token(id), Ordering::Relaxed);
    }

    /// Returns true if our request still stands: it was not answered, and no other lock's writer
    /// has put its own there.
    pub(super) fn is_asked(&self, id: u64) -> bool {
        // Relaxed: if it is read too late, the sleep returns at once.
        self.waited.load(Ordering::Relaxed) == token(id)
    }

    /// Sleeps until the request is answered.
    pub(super) fn sleep(&self, id: u64, timeout: Timeout) -> Wait {
        Private::wait(&self.waited, token(id), timeout)
    }
}

/// Returns what a writer of the lock puts into `waited`, which is never 0. Each lock has a token of
/// its own, so that a writer that is late for its sleep does not sleep on another lock's request.
const fn token(id: u64) -> u32 {
    id as u32 | 1 << 31
}

/// A thread's slots, alone on their cache lines (two, because processors fetch lines in pairs).
///
/// | field | written by | meaning |
/// |---|---|---|
/// | `chance` | its thread | which ordinary reads are counted |
/// | `slots` | its thread | see [`AsymSlot`]; the first is the one that the fast paths use |
/// | `owner` | the registry, its thread | 0: free; 1: its thread exited inside of a lock; else the thread's id |
#[repr(C, align(128))]
pub(super) struct Block {
    chance: Chance,
    slots: [AsymSlot; SLOTS],
    owner: AtomicU64,
}

#[cfg(not(leeward_loom))]
macro_rules! all {
    ($lock:expr) => {
        [const { AsymSlot::new($lock) }; SLOTS]
    };
}
#[cfg(leeward_loom)]
macro_rules! all {
    ($lock:expr) => {
        core::array::from_fn(|_| AsymSlot::new($lock))
    };
}

impl Block {
    const_fn! {
        fn new() -> Block {
            Block { chance: Chance::new(), slots: all!(FREE), owner: AtomicU64::new(NOBODY) }
        }
    }

    const_fn! {
        /// Returns the block of a thread that is not registered: no slot in it is free, and none
        /// holds a lock.
        pub(super) fn none() -> Block {
            Block { chance: Chance::new(), slots: all!(TAKEN), owner: AtomicU64::new(NOBODY) }
        }
    }

    /// Returns the slot that the fast paths use.
    #[inline(always)]
    pub(super) fn first(&self) -> &AsymSlot {
        &self.slots[0]
    }

    pub(super) fn slots(&self) -> core::slice::Iter<'_, AsymSlot> {
        self.slots.iter()
    }
}

/// The view of the block's own thread.
impl Block {
    /// Returns the slot by which the thread is inside of the lock.
    pub(super) fn find(&self, id: u64) -> Option<&AsymSlot> {
        self.slots.iter().find(|slot| slot.is(id))
    }

    /// Returns a slot that is not in use.
    pub(super) fn unused(&self) -> Option<&AsymSlot> {
        self.slots.iter().find(|slot| slot.is_free())
    }

    /// Notes that the thread has taken the ordinary lock; returns false if no slot is free for
    /// that.
    pub(super) fn note_ordinary(&self, id: u64) -> bool {
        self.unused().map(|slot| slot.take_ordinary(id)).is_some()
    }

    /// Returns true if the calling thread, whose block it is, is drawn to count this read.
    #[inline(always)]
    pub(super) fn is_drawn(&self) -> bool {
        self.chance.is_drawn()
    }

    /// Drops a guard of the lock; returns none if the thread is inside of it by no slot.
    pub(super) fn drop_guard(&self, id: u64) -> Option<Left> {
        let slot = self.find(id)?;
        let left = slot.drop_guard();
        if !matches!(left, Left::Nested) && self.is_gone() {
            slot.store(TAKEN);
        }
        Some(left)
    }

    /// Returns true if the thread is inside of nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.slots.iter().all(|slot| matches!(slot.word(), FREE | TAKEN))
    }

    /// Closes the block for further use, because its thread exits inside of a lock. The block stays
    /// until the last guard is dropped (in a destructor of a thread-local variable that is yet to
    /// run), or forever.
    pub(super) fn outlive_thread(&self) {
        for slot in &self.slots {
            slot.store(if slot.is_free() { TAKEN } else { slot.word() | SLOW });
        }
        // Relaxed: read by its own thread, which is this one, and in the child of a fork.
        self.owner.store(GONE, Ordering::Relaxed);
    }

    /// Returns true if its thread has exited, or is about to, inside of a lock.
    pub(super) fn is_gone(&self) -> bool {
        // Relaxed: see `outlive_thread`.
        self.owner.load(Ordering::Relaxed) == GONE
    }
}

/// The view of the child of a fork, which has one thread.
impl Block {
    /// Clears what the block of an absent thread says of readers, and frees it if nothing is left.
    ///
    /// The forking thread's block stays. So do the blocks of threads that exited, or were about to,
    /// with guards: no thread drops those here, and they cannot be told from leaked ones. In other
    /// threads' blocks, readers are not there any more; but what a mutex guards may be half
    /// written, so a mutex stays locked.
    pub(super) fn after_fork(&self, me: u64) {
        // Relaxed, all, here and below: there is one thread.
        let owner = self.owner.load(Ordering::Relaxed);
        for slot in &self.slots {
            slot.waited.store(0, Ordering::Relaxed);
        }
        if owner == me || owner == GONE {
            return;
        }
        for slot in self.slots.iter().filter(|slot| slot.word() & MUTEX == 0) {
            slot.store(FREE);
            slot.more.store(0, Ordering::Relaxed);
        }
        self.owner.store(if self.is_empty() { NOBODY } else { GONE }, Ordering::Relaxed);
    }
}

impl registry::RegistrySlot for Block {
    #[cfg(not(leeward_loom))]
    #[allow(clippy::declare_interior_mutable_const)]
    const NEW: Block = Block::new();

    fn fresh() -> Block {
        Block::new()
    }

    fn is_free(&self) -> bool {
        // Relaxed: `claim` decides.
        self.owner.load(Ordering::Relaxed) == NOBODY
    }

    fn claim(&self, owner: u64, _: u32) -> bool {
        // Acquire: partner of the release in `free`: the thread before us is done with the words.
        self.owner.compare_exchange(NOBODY, owner, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn free(&self) {
        self.slots.iter().for_each(|slot| slot.store(FREE));
        // Release: our last stores happen before the next thread's first. Partner: the acquire in
        // `claim`.
        self.owner.store(NOBODY, Ordering::Release);
    }
}
