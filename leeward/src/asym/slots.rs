//! A thread's slots: how one thread tells all others which asymmetric locks it is inside of.
//!
//! Written by their thread with plain moves, read by whoever takes a lock away from its readers or its owner
//! (`drain`). A slot holds the *id* of a lock, a number that no other lock ever has: a guard that was leaked keeps
//! its own lock taken, wherever that lock was moved to, and never another one that lies at the same address later.

use crate::atomic::{AtomicU32, AtomicU64, Ordering, compiler_fence, const_fn, outside_model};
use crate::fence;
use crate::futex::{self, Futex, Private, Timeout, Wait};
use crate::mutant::{check, mutated, order, step};
use crate::registry;

/// Asymmetric locks that a thread may be inside of before further ones cost what ordinary locks cost: four. (Two in a model.)
const SLOTS: usize = 2 + outside_model(2) as usize;

/// A slot that is not in use.
const FREE: u64 = 0;
/// The id of a lock that has none yet: announced for an instant, found to be no lock's, and taken back.
pub(super) const NO_ID: u64 = 1;
/// What is in the slots of threads that have none: neither free nor any lock's.
const TAKEN: u64 = 2;
/// The least id of a lock.
const FIRST_ID: u64 = 16;

/// Bit of `lock`: leaving is more than a store.
const SLOW: u64 = 1 << 63;
/// Bit of `lock`: the thread is inside by way of the ordinary lock underneath, so nobody need look for it here.
const ORDINARY: u64 = 1 << 62;
/// Bit of `lock`, from its making: the lock is a mutex's.
const MUTEX: u64 = 1 << 61;

/// `owner` of a block that nobody has.
const NOBODY: u64 = 0;
/// `owner` of a block whose thread exited inside of a lock.
const GONE: u64 = 1;

/// Returns an id for a lock: no other lock of this process has had it.
fn new_id() -> u64 {
    use core::sync::atomic::AtomicU64;
    static LAST: AtomicU64 = AtomicU64::new(FIRST_ID);
    // Relaxed: only its being unique matters.
    LAST.fetch_add(1, core::sync::atomic::Ordering::Relaxed)
}

/// The id of a lock, given to it at its first slow path.
pub(super) struct LockId(AtomicU64);

impl LockId {
    const_fn! {
        pub(super) fn new() -> LockId {
            LockId(AtomicU64::new(NO_ID))
        }
    }

    /// Returns the id, or `NO_ID`.
    #[inline(always)]
    pub(super) fn get(&self) -> u64 {
        // Relaxed: given once, and what says that the lock may be entered was stored after it.
        self.0.load(Ordering::Relaxed)
    }

    /// Returns the id, given now if the lock has none.
    pub(super) fn give(&self, is_mutex: bool) -> u64 {
        let known = self.get();
        if known != NO_ID {
            return known;
        }
        let new = new_id() | if is_mutex { MUTEX } else { 0 };
        // Relaxed, both: a number.
        match self.0.compare_exchange(NO_ID, new, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => new,
            Err(other) => other,
        }
    }
}

/// How a guard was dropped.
pub(super) enum Left {
    /// Others of the same lock are left.
    Nested,
    /// The last.
    Slot,
    /// The last, and the ordinary lock is to be unlocked.
    Ordinary,
}

/// | field | written by | meaning |
/// |---|---|---|
/// | `lock` | its thread | 0: free; else the lock that the thread is inside of, or looks whether it may enter; bit 63: `SLOW`, bit 62: `ORDINARY` |
/// | `more` | its thread | guards beyond the first |
/// | `waited` | a writer sets, its thread clears | not 0: a writer sleeps on this word until the slot is left; the value is its lock's (`token`) |
#[repr(C)]
pub(super) struct Slot {
    lock: AtomicU64,
    more: AtomicU64,
    waited: AtomicU32,
}

/// A thread's view of its own slots is plain memory: only it writes `lock` and `more`, so its loads of them are
/// relaxed.
impl Slot {
    const_fn! {
        fn new(lock: u64) -> Slot {
            Slot { lock: AtomicU64::new(lock), more: AtomicU64::new(0), waited: AtomicU32::new(0) }
        }
    }

    #[inline(always)]
    fn word(&self) -> u64 {
        // Relaxed: own word.
        self.lock.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(super) fn is_free(&self) -> bool {
        self.word() == FREE
    }

    /// Whether the thread is inside of the lock by this slot, and leaving it is a store.
    #[inline(always)]
    pub(super) fn is_simply(&self, id: u64) -> bool {
        self.word() == id
    }

    /// Whether the thread is inside of the lock by this slot.
    fn is(&self, id: u64) -> bool {
        self.word() & !(SLOW | ORDINARY) == id
    }

    /// Says that the thread is inside of the lock, if the look that follows finds that it may be.
    #[inline(always)]
    pub(super) fn announce(&self, id: u64) {
        self.store(id);
        // Pairs G and I, light half. Partners: the heavy fences in `RawRwLock::revoke` and `RawMutex::revoke`.
        // - If our store comes first, the revoker sees the slot and waits for us.
        // - If the heavy fence comes first, we see that the lock is closed, or another's, and retreat.
        step!(asym_announce_light, fence::light());
    }

    #[inline(always)]
    fn store(&self, word: u64) {
        // Release: whoever reads this while it looks for the lock that was here before synchronizes with the end of
        // that one's section all the same. Partner: the acquire in `is_held_for`. (No mutant: loom's light fence in `leave`,
        // a full one, hides it, and thread sanitizer takes a thread's next store for part of its release.)
        self.lock.store(word, Ordering::Release);
    }

    /// Notes that the thread has locked the ordinary lock under this one.
    fn take_ordinary(&self, id: u64) {
        self.store(id | ORDINARY | SLOW);
    }

    /// One guard more.
    pub(super) fn nest(&self) {
        if mutated!(asym_nested_count) {
            return;
        }
        // Relaxed, both: own word.
        self.more.store(self.more.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        self.store(self.word() | SLOW);
    }

    /// The thread leaves the lock, or finds that it may not enter.
    #[inline(always)]
    pub(super) fn leave(&self) {
        // The compiler keeps the section's accesses before the store; the processor does because the store is a
        // release.
        compiler_fence(Ordering::SeqCst);
        // Release: the section's accesses happen before the writer's. Partner: the acquire in `is_held_for`.
        self.lock.store(FREE, order!(Release, asym_leave_release));
        // Pairs H and J, light half: the store above is before the look at `waited`. Partner: the heavy fence in
        // `drain::ask`.
        step!(asym_leave_light, fence::light());
        // Relaxed: the pair orders it, and the wake itself is a system call.
        if check!(asym_leave_checks_waited, self.waited.load(Ordering::Relaxed) != 0) {
            self.wake_writer();
        }
    }

    /// The thread may not enter.
    #[cold]
    #[inline(never)]
    pub(super) fn retreat(&self) {
        self.leave();
    }

    /// Drops one of several guards, or the last of one that needs more than [`leave`](Self::leave).
    fn drop_guard(&self) -> Left {
        // Relaxed, both: own word.
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
        // Relaxed: the writer looks at `lock`, not at this, to know that the thread left.
        self.waited.store(0, Ordering::Relaxed);
        // All: one that came late for another lock that was here may sleep on the same word.
        step!(asym_leave_wake, Private::wake(&self.waited, futex::ALL));
    }
}

/// The writer's view.
impl Slot {
    /// Whether the thread is inside of the lock, or looks whether it may enter. Not by way of the ordinary lock, which
    /// the caller has. (No mutant sees `ORDINARY`: while a writer has the ordinary lock, no slot says that another reads by
    /// way of it: it is said later, and taken back before.)
    #[inline]
    pub(super) fn is_held_for(&self, id: u64) -> bool {
        // Acquire: partner of the releases in `leave`, `store`.
        self.lock.load(order!(Acquire, asym_scan_acquire)) & !SLOW == id
    }

    /// Asks the thread to wake us when it leaves.
    pub(super) fn ask(&self, id: u64) {
        // Relaxed: the heavy fence that follows (pairs H and J) orders it before our next look.
        self.waited.store(token(id), Ordering::Relaxed);
    }

    /// Whether our request still stands: not if it was answered, nor if another lock's writer put its own there.
    pub(super) fn is_asked(&self, id: u64) -> bool {
        // Relaxed: if it is read too late, the sleep returns at once.
        self.waited.load(Ordering::Relaxed) == token(id)
    }

    /// Sleeps until the request is answered.
    pub(super) fn sleep(&self, id: u64, timeout: Timeout) -> Wait {
        Private::wait(&self.waited, token(id), timeout)
    }
}

/// What a writer of the lock puts into `waited`; never 0. Of its own, so that one which is late for its sleep does
/// not sleep on another's request, of which it knows nothing.
const fn token(id: u64) -> u32 {
    id as u32 | 1 << 31
}

/// A thread's slots. Alone on its cache lines, two because processors fetch lines in pairs.
///
/// | field | written by | meaning |
/// |---|---|---|
/// | `slots` | its thread | see [`Slot`]; the first is the one that the fast paths use |
/// | `owner` | who registers | 0: free; 1: its thread exited inside of a lock; else the thread's id (`process/thread/`) |
#[repr(C, align(128))]
pub(super) struct Block {
    slots: [Slot; SLOTS],
    owner: AtomicU64,
}

#[cfg(not(leeward_loom))]
macro_rules! all {
    ($lock:expr) => {
        [const { Slot::new($lock) }; SLOTS]
    };
}
#[cfg(leeward_loom)]
macro_rules! all {
    ($lock:expr) => {
        core::array::from_fn(|_| Slot::new($lock))
    };
}

impl Block {
    const_fn! {
        fn new() -> Block {
            Block { slots: all!(FREE), owner: AtomicU64::new(NOBODY) }
        }
    }

    const_fn! {
        /// What a thread has that never registered, or no longer is: nothing is free in it, and it is inside of nothing.
        pub(super) fn none() -> Block {
            Block { slots: all!(TAKEN), owner: AtomicU64::new(NOBODY) }
        }
    }

    /// The slot that the fast paths use.
    #[inline(always)]
    pub(super) fn first(&self) -> &Slot {
        &self.slots[0]
    }

    pub(super) fn slots(&self) -> core::slice::Iter<'_, Slot> {
        self.slots.iter()
    }
}

/// Its thread's view.
impl Block {
    /// The slot by which the thread is inside of the lock.
    pub(super) fn find(&self, id: u64) -> Option<&Slot> {
        self.slots.iter().find(|slot| slot.is(id))
    }

    /// A slot that is not in use.
    pub(super) fn unused(&self) -> Option<&Slot> {
        self.slots.iter().find(|slot| slot.is_free())
    }

    /// Notes that the thread has locked the ordinary lock; false if there is no slot for that.
    pub(super) fn note_ordinary(&self, id: u64) -> bool {
        self.unused().map(|slot| slot.take_ordinary(id)).is_some()
    }

    /// Drops a guard of the lock; none if the thread is inside of it by no slot.
    pub(super) fn drop_guard(&self, id: u64) -> Option<Left> {
        let slot = self.find(id)?;
        let left = slot.drop_guard();
        if !matches!(left, Left::Nested) && self.is_gone() {
            slot.store(TAKEN);
        }
        Some(left)
    }

    /// Whether the thread is inside of nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.slots.iter().all(|slot| matches!(slot.word(), FREE | TAKEN))
    }

    /// Its thread exits inside of a lock: the block stays until the last guard is dropped (in a destructor of a
    /// thread-local variable that is yet to run), or for ever.
    pub(super) fn outlive_thread(&self) {
        for slot in &self.slots {
            slot.store(if slot.is_free() { TAKEN } else { slot.word() | SLOW });
        }
        // Relaxed: for its own thread, which is this one, and for the child of a fork.
        self.owner.store(GONE, Ordering::Relaxed);
    }

    /// Whether its thread has exited, or is about to.
    pub(super) fn is_gone(&self) -> bool {
        // Relaxed: see `outlive_thread`.
        self.owner.load(Ordering::Relaxed) == GONE
    }
}

/// In the child of a fork, which has one thread.
impl Block {
    /// Whether it stays: the forking thread's, and those of threads that exited, or are about to, with guards (which nobody
    /// will drop here, nor can tell from leaked ones). In those of other threads, readers are not there any more; but what a mutex guards may be half written, so that one stays locked.
    pub(super) fn outlives_fork(&self, me: u64) -> bool {
        // Relaxed, all here and below: one thread.
        let owner = self.owner.load(Ordering::Relaxed);
        for slot in &self.slots {
            slot.waited.store(0, Ordering::Relaxed);
        }
        if owner == me || owner == GONE {
            return true;
        }
        for slot in self.slots.iter().filter(|slot| slot.word() & MUTEX == 0) {
            slot.store(FREE);
            slot.more.store(0, Ordering::Relaxed);
        }
        let is_empty = self.is_empty();
        self.owner.store(if is_empty { NOBODY } else { GONE }, Ordering::Relaxed);
        !is_empty
    }
}

impl registry::Slot for Block {
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
        // Release: our last stores happen before the next thread's first.
        self.owner.store(NOBODY, Ordering::Release);
    }
}
