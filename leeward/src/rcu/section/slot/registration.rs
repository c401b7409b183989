//! Registration: whose a slot is, from its claim to its thread's exit, and across forks.

use super::{OUTSIDE, Slot, TRANSIENT, UNOWNED};
use crate::atomic::Ordering;
use crate::fence::Pair;
use crate::mutant::{check, mutated};
use crate::process::thread;
use crate::registry;

/// `owner` of a slot whose handle travels between threads.
const DETACHED: u64 = 2;

impl registry::RegistrySlot for Slot {
    #[cfg(not(leeward_loom))]
    #[allow(clippy::declare_interior_mutable_const)]
    const NEW: Slot = Slot::new();

    fn fresh() -> Slot {
        Slot::new()
    }

    fn is_free(&self) -> bool {
        // Relaxed: `claim` decides.
        self.owner.load(Ordering::Relaxed) == UNOWNED
    }

    fn claim(&self, owner: u64, thread: u32) -> bool {
        // Acquire: partner of the release in `free`: the previous reader is done with the words.
        let taken = self.owner.compare_exchange(UNOWNED, owner, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if taken {
            // Relaxed: for reports only.
            self.thread.store(thread, Ordering::Relaxed);
        }
        taken
    }

    fn free(&self) {
        self.for_c.clear();
        // Release: our last stores happen before the next reader's first.
        self.owner.store(UNOWNED, Ordering::Release);
    }
}

/// Threads that come and go, and forks.
impl Slot {
    /// Hands the slot to another thread, or to the same one under its new number.
    pub(in crate::rcu) fn hand_to(&self, owner: u64, thread: u32) {
        // Relaxed, both: read by the owner itself, and for reports.
        self.owner.store(owner, Ordering::Relaxed);
        self.thread.store(thread, Ordering::Relaxed);
    }

    /// Keeps the slot of the calling thread, which exits inside a section, until that section ends,
    /// if it ever does.
    ///
    /// The slot still says whose it is: destructors of thread-local variables that run later are
    /// inside that section, and must not wait for it.
    pub(in crate::rcu) fn outlive_thread(&self) {
        self.make_transient();
        // Relaxed, both: the thread's own slot; for reports, and for comparing with a thread's own id.
        let me = thread::id(self.owner.load(Ordering::Relaxed));
        self.owner.store(me | thread::ENDED | thread::LEAKED, Ordering::Relaxed);
    }

    /// Takes the slot from its thread, for a handle that travels. No section is open. The slot
    /// stays claimed in the child of a fork.
    pub(in crate::rcu) fn detach(&self) {
        // Relaxed: for comparing with a thread's own id.
        self.owner.store(DETACHED, Ordering::Relaxed);
    }

    /// Records whether the slot's reader executes full fences. The slot is the calling thread's,
    /// and its reader is outside.
    pub(in crate::rcu) fn set_fenced(&self, is_fenced: bool) {
        // Relaxed: the announcement's release orders it.
        self.is_fenced.store(u32::from(is_fenced), Ordering::Relaxed);
    }

    /// Marks the slot with `ENDED` if it is a handle's of the calling thread `id`, which ends: a
    /// guard of it that is still open was leaked.
    pub(in crate::rcu) fn thread_ends(&self, id: u64) {
        // Relaxed, both: the thread's own slot; and for the child of a fork.
        if self.owner.load(Ordering::Relaxed) == id {
            self.owner.store(id | thread::ENDED, Ordering::Relaxed);
        }
    }

    /// Returns true if the slot stays as it is in the child of a fork that thread `me` made.
    ///
    /// The forking thread's slots stay, and those of detached handles. So does a slot whose thread
    /// had ended inside a section, or was about to: a guard was leaked there, and any thread may
    /// have a reference that it protects. (Sections of C end with their thread, and end here.)
    pub(in crate::rcu) fn outlives_fork(&self, me: u64) -> bool {
        // Relaxed: the child has one thread.
        let owner = self.owner.load(Ordering::Relaxed);
        let has_ended = check!(fork_drops_leaked, owner & thread::ENDED != 0);
        owner == DETACHED || thread::id(owner) == me || has_ended && self.is_inside() && !self.for_c.is_without_guards()
    }

    /// Returns true if the slot's thread gave it up inside a section (`outlive_thread`). False of a
    /// slot that a thread took for one section after its own exit had begun.
    pub(in crate::rcu) fn outlived_thread(&self) -> bool {
        // Relaxed: written by the calling thread.
        self.owner.load(Ordering::Relaxed) & thread::LEAKED != 0
    }

    /// Ends every section that is still open. For a handle that is dropped: no reference outlives
    /// it, whatever became of its guards.
    pub(in crate::rcu) fn end_all<P: Pair>(&self) {
        if self.is_inside() {
            // Relaxed: own word.
            self.extra.store(0, Ordering::Relaxed);
            self.leave_outermost::<P>();
        }
    }

    /// Returns the owner's word.
    #[cfg(feature = "c")]
    pub(in crate::rcu) fn owner(&self) -> u64 {
        // Relaxed: for comparing with a thread's own id.
        self.owner.load(Ordering::Relaxed)
    }

    /// Marks the slot of the calling thread as one that it is about to give back.
    #[cfg(feature = "c")]
    pub(in crate::rcu) fn mark_given_up(&self) {
        // Relaxed, both: written and read by the slot's own thread.
        let owner = self.owner.load(Ordering::Relaxed);
        self.owner.store(owner | thread::ENDED | thread::LEAKED, Ordering::Relaxed);
    }

    /// Returns how many sections are open.
    #[cfg(feature = "c")]
    pub(in crate::rcu) fn sections(&self) -> u64 {
        // Relaxed: own word.
        if self.is_inside() { (self.extra.load(Ordering::Relaxed) & !TRANSIENT) + 1 } else { 0 }
    }

    /// Makes it so that `count` sections are open, at least one. The reader is inside.
    #[cfg(feature = "c")]
    pub(in crate::rcu) fn keep(&self, count: u64) {
        // Relaxed, both: own word.
        let extra = self.extra.load(Ordering::Relaxed) & TRANSIENT | (count - 1);
        self.extra.store(extra, Ordering::Relaxed);
    }

    /// Returns true if the slot is given back when its outermost section ends.
    pub(in crate::rcu) fn is_transient(&self) -> bool {
        // Relaxed: own word.
        self.extra.load(Ordering::Relaxed) & TRANSIENT != 0
    }

    /// Forgets, in the child of a fork, the count of inlined sections of any other thread than `me`:
    /// it lies in memory of a thread that does not exist.
    pub(in crate::rcu) fn keep_inlined_of(&self, me: u64) {
        // Relaxed: the child has one thread.
        if thread::id(self.owner.load(Ordering::Relaxed)) != me {
            self.inlined.hide();
        }
    }

    /// Frees the slot in the child of a fork, where its thread does not exist.
    pub(in crate::rcu) fn abandon(&self) {
        // Relaxed, all: the child has one thread.
        self.epoch.store(OUTSIDE, Ordering::Relaxed);
        self.extra.store(0, Ordering::Relaxed);
        self.waited.store(0, Ordering::Relaxed);
        self.for_c.clear();
        if !mutated!(fork_keeps_inlined) {
            self.inlined.hide();
        }
        self.owner.store(UNOWNED, Ordering::Relaxed);
    }
}
