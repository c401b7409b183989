//! A reader's slot: how one reader tells the writers whether it is inside a section, and since when.
//!
//! Written by its reader with plain moves, read by whoever runs a grace period. The orderings are those of
//! docs/rcu.md and docs/orderings.md; each was taken out in turn and found missing by a model (`tests/model.rs`) or a test
//! (`ci/mutants`).

use core::panic::Location;

use crate::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, compiler_fence, const_fn};
use crate::fence::{Full, Pair};
use crate::futex;
use crate::mutant::{check, mutated, order, step};
use crate::process::thread;
use crate::registry;

/// `epoch` of a reader that is outside of every section.
pub(super) const OUTSIDE: u64 = 0;
/// Bit of `extra`: the slot is given back when its outermost section ends (its thread is past its thread-local
/// destructors).
const TRANSIENT: u64 = 1 << 63;

/// `owner` of a slot that nobody has.
const NOBODY: u64 = 0;
/// `owner` of a slot whose thread exited inside a section.
const GONE: u64 = 1;
/// `owner` of a slot whose handle travels between threads.
const DETACHED: u64 = 2;

/// Alone on its cache lines, two because processors fetch lines in pairs.
///
/// | field | written by | meaning |
/// |---|---|---|
/// | `epoch` | reader | 0: outside; else the global epoch as the reader saw it when it entered (or was last quiescent) |
/// | `extra` | reader | sections beyond the first; bit 63: `TRANSIENT`. 64 bits, so that forgetting guards cannot carry into it |
/// | `waited` | writer sets, reader clears | 1: a writer sleeps on this word until the reader leaves |
/// | `owner` | who registers | 0: free; else the id of its thread (`thread::current`); bit 63: that thread has run its thread-local destructors |
/// | `thread` | who registers | the thread's number, for reports |
/// | `is_fenced` | who registers | 1: its reader executes a full fence where it announces itself, so that writers need no heavy one |
/// | `entered_at` | reader, debug builds | where the outermost section began, for reports |
#[doc(hidden)]
#[repr(C, align(128))]
pub struct Slot {
    epoch: AtomicU64,
    extra: AtomicU64,
    owner: AtomicU64,
    waited: AtomicU32,
    thread: AtomicU32,
    is_fenced: AtomicU32,
    entered_at: AtomicPtr<Location<'static>>,
}

/// A reader's view of its own slot is plain memory: only it writes `epoch` and `extra`, so its loads of them are
/// relaxed.
impl Slot {
    const_fn! {
        pub(crate) fn new() -> Slot {
            Slot::at(OUTSIDE)
        }
    }

    const_fn! {
        /// A slot whose reader is inside since `epoch`: what a thread has that never registered, so that entering takes the slow path.
        pub(crate) fn at(epoch: u64) -> Slot {
            Slot {
                epoch: AtomicU64::new(epoch),
                extra: AtomicU64::new(0),
                waited: AtomicU32::new(0),
                owner: AtomicU64::new(NOBODY),
                thread: AtomicU32::new(0),
                is_fenced: AtomicU32::new(0),
                entered_at: AtomicPtr::new(core::ptr::null_mut()),
            }
        }
    }

    /// Whether the reader itself is inside. For the slot's own thread.
    #[inline(always)]
    pub(super) fn is_inside(&self) -> bool {
        // Relaxed: own word.
        self.epoch.load(Ordering::Relaxed) != OUTSIDE
    }

    /// Announces a section, the outermost. The caller checked that the reader is outside.
    #[inline(always)]
    pub(super) fn enter_outermost<P: Pair>(&self, global: &AtomicU64) {
        // Relaxed: an old value only makes a grace period wait for this section needlessly; and every grace period that
        // advances the epoch has issued its heavy fence before, so that a reader that sees the new one also
        // sees what was unlinked.
        let now = global.load(Ordering::Relaxed);
        self.announce(now, order!(Release, enter_store_release));
        // Pair A, light half. Partner: the heavy fence in `Grace::advance`.
        // - If our store comes first, the scan sees us inside and waits for us.
        // - If the heavy fence comes first, each load in the section sees what was unlinked.
        step!(enter_light, P::light());
    }

    /// Release: a scan that reads this announcement instead of the leaving store before it synchronizes with that
    /// section's end all the same.
    #[inline(always)]
    fn announce(&self, epoch: u64, order: Ordering) {
        self.epoch.store(epoch, order);
    }

    /// Counts a section within another.
    #[inline(always)]
    pub(super) fn enter_nested(&self) {
        if mutated!(nested_count) {
            return;
        }
        // Relaxed: own word. A load and a store: a signal handler between them leaves the word as it found it.
        let extra = self.extra.load(Ordering::Relaxed);
        self.extra.store(extra.wrapping_add(1), Ordering::Relaxed);
    }

    /// Ends a section; true if it was the outermost of a transient slot, which the caller then gives back.
    #[inline(always)]
    pub(super) fn leave<P: Pair>(&self) -> bool {
        // Relaxed: own word.
        let extra = self.extra.load(Ordering::Relaxed);
        if extra == 0 {
            self.leave_outermost::<P>();
            false
        } else {
            self.leave_nested::<P>(extra)
        }
    }

    #[inline(always)]
    fn leave_outermost<P: Pair>(&self) {
        // The compiler keeps the section's accesses before the store; the processor does because the store is a
        // release.
        compiler_fence(Ordering::SeqCst);
        // Release: the section's loads happen before what follows the scan that reads this 0. Partner: the acquire in
        // `is_blocking`.
        self.epoch.store(OUTSIDE, order!(Release, leave_store_release));
        // Pair C, light half. Partner: the heavy fence in `Grace::arm`.
        // - If our store comes first, the leader's recheck sees that we have left.
        // - If the heavy fence comes first, we see the request in `waited` and wake the leader.
        step!(leave_light, P::light());
        // Relaxed: pair C orders it, and the wake itself is a system call.
        if check!(leave_checks_waited, self.waited.load(Ordering::Relaxed) != 0) {
            self.wake_writer();
        }
    }

    /// Out of line, so that the code of an outermost section runs straight.
    #[cold]
    #[inline(never)]
    fn leave_nested<P: Pair>(&self, extra: u64) -> bool {
        if extra == TRANSIENT {
            // Relaxed: own word.
            self.extra.store(0, Ordering::Relaxed);
            self.leave_outermost::<P>();
            return true;
        }
        // Relaxed: own word.
        self.extra.store(extra.wrapping_sub(1), Ordering::Relaxed);
        false
    }

    #[cold]
    #[inline(never)]
    fn wake_writer(&self) {
        // Relaxed: the writer looks at `epoch`, not at this, to know that the reader left.
        self.waited.store(0, Ordering::Relaxed);
        step!(leave_wake, futex::wake(&self.waited, 1));
        // Here, where we hold nobody up: the writer, or the next reader that it waits for, may need this processor.
        // Without it we would run on until we lose it, as likely as not inside a section again.
        futex::yield_now();
    }

    /// Announces that the reader holds nothing from before now and stays inside, if any grace period has begun since it
    /// last said so: no other waits for it. QSBR's quiescent state.
    #[inline(always)]
    pub(super) fn quiesce_if_changed(&self, global: &AtomicU64) {
        compiler_fence(Ordering::SeqCst);
        // Relaxed, both: an old global epoch is announced the next time; and an own word.
        if global.load(Ordering::Relaxed) != self.epoch.load(Ordering::Relaxed) {
            self.quiesce_fenced(global);
        }
    }

    #[cold]
    #[inline(never)]
    fn quiesce_fenced(&self, global: &AtomicU64) {
        self.quiesce::<Full>(global);
    }

    /// Announces that the reader holds nothing from before now and stays inside: QSBR's quiescent state, or a
    /// refreshed guard.
    #[inline(always)]
    pub(super) fn quiesce<P: Pair>(&self, global: &AtomicU64) {
        compiler_fence(Ordering::SeqCst);
        // Relaxed: as in `enter_outermost`.
        let now = global.load(Ordering::Relaxed);
        // Release: what the reader read before is over when a scan reads this. Partner: the acquire in `is_blocking`.
        self.announce(now, order!(Release, qsbr_release));
        // Pairs A and C, light half: the announcement is before every later load of data, and before the look at
        // `waited`.
        step!(quiesce_light, P::light());
        // Relaxed: pair C orders it.
        if self.waited.load(Ordering::Relaxed) != 0 {
            self.wake_writer();
        }
    }

    /// Whether this is the only section that is open on the slot.
    #[inline(always)]
    pub(super) fn is_outermost(&self) -> bool {
        // Relaxed: own word.
        self.extra.load(Ordering::Relaxed) & !TRANSIENT == 0
    }

    /// Has the slot given back when its outermost section ends.
    pub(super) fn make_transient(&self) {
        // Relaxed: own word.
        let extra = self.extra.load(Ordering::Relaxed);
        self.extra.store(extra | TRANSIENT, Ordering::Relaxed);
    }

    /// Remembers where the outermost section began.
    #[inline(always)]
    pub(super) fn note_entry(&self, place: &'static Location<'static>) {
        // Relaxed: for reports only.
        self.entered_at.store(core::ptr::from_ref(place).cast_mut(), Ordering::Relaxed);
    }
}

/// The writer's view.
impl Slot {
    /// Whether a grace period that advanced the epoch to `epoch` has to wait for this reader.
    #[inline]
    pub(super) fn is_blocking(&self, epoch: u64) -> bool {
        // Acquire: partner of the releases in `leave_outermost`, `announce`.
        let seen = self.epoch.load(order!(Acquire, scan_acquire));
        seen != OUTSIDE && (seen < epoch || mutated!(wait_for_zero_only))
    }

    /// Asks the reader to wake us when it leaves.
    pub(super) fn raise_waited(&self) {
        // Relaxed: the heavy fence that follows (pair C) orders it before our next look.
        self.waited.store(1, Ordering::Relaxed);
    }

    /// Whether the request still stands.
    pub(super) fn waited_is_raised(&self) -> bool {
        // Relaxed: if it is read too late, the sleep returns at once.
        self.waited.load(Ordering::Relaxed) != 0
    }

    /// Returns true if the reader's own full fences are partners enough.
    pub(super) fn is_fenced(&self) -> bool {
        // Relaxed: stored before the reader's first announcement, which the caller has seen.
        self.is_fenced.load(Ordering::Relaxed) != 0
    }

    /// Withdraws the request.
    pub(super) fn clear_waited(&self) {
        if self.waited_is_raised() {
            // Relaxed: a reader that saw it still wakes nobody, which harms nobody.
            self.waited.store(0, Ordering::Relaxed);
        }
    }

    /// The word to sleep on.
    pub(super) fn waited(&self) -> &AtomicU32 {
        &self.waited
    }

    /// The thread that registered it, or 0; its number; and where it entered, if that was noted.
    pub(super) fn holder(&self) -> (u64, u32, Option<&'static Location<'static>>) {
        // Relaxed: for reports, and for comparing with oneself.
        let place = self.entered_at.load(Ordering::Relaxed);
        // SAFETY: only `note_entry` stores here, from a reference that lives for ever; else it is null.
        let place = unsafe { place.as_ref() };
        (self.owner.load(Ordering::Relaxed), self.thread.load(Ordering::Relaxed), place)
    }

    /// Whether the thread is inside a section on this slot.
    pub(super) fn is_held_by(&self, thread: u64) -> bool {
        if thread == thread::UNKNOWN {
            return false;
        }
        // Acquire: partner of the release in `announce`. If it is our own thread, these are our own stores; if the slot
        // was ours, and another thread that was handed it is inside, then we see that it is no longer ours.
        // (The owner first, and a model takes that reader for ourselves.)
        let inside = self.epoch.load(Ordering::Acquire) != OUTSIDE;
        // Relaxed: as above.
        inside && thread::id(self.owner.load(Ordering::Relaxed)) == thread
    }
}

impl registry::Slot for Slot {
    #[cfg(not(leeward_loom))]
    #[allow(clippy::declare_interior_mutable_const)]
    const NEW: Slot = Slot::new();

    fn fresh() -> Slot {
        Slot::new()
    }

    fn is_free(&self) -> bool {
        // Relaxed: `claim` decides.
        self.owner.load(Ordering::Relaxed) == NOBODY
    }

    fn claim(&self, owner: u64, thread: u32) -> bool {
        // Acquire: partner of the release in `free`: the reader before us is done with the words.
        let taken = self.owner.compare_exchange(NOBODY, owner, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if taken {
            // Relaxed: for reports only.
            self.thread.store(thread, Ordering::Relaxed);
        }
        taken
    }

    fn free(&self) {
        // Release: our last stores happen before the next reader's first.
        self.owner.store(NOBODY, Ordering::Release);
    }
}

/// Registration.
impl Slot {
    /// Hands the slot to another thread, or to the same one under its new number.
    pub(super) fn hand_to(&self, owner: u64, thread: u32) {
        // Relaxed, both: read by the owner itself and for reports.
        self.owner.store(owner, Ordering::Relaxed);
        self.thread.store(thread, Ordering::Relaxed);
    }

    /// The thread exits inside a section: the slot stays until that section ends, if it ever does.
    pub(super) fn outlive_thread(&self) {
        self.make_transient();
        // Relaxed: for reports, and for comparing with oneself.
        self.owner.store(GONE, Ordering::Relaxed);
    }

    /// The handle travels: no thread is inside, and in the child of a fork it is whoever's it was.
    pub(super) fn detach(&self) {
        // Relaxed: for comparing with oneself.
        self.owner.store(DETACHED, Ordering::Relaxed);
    }

    /// Says whether the slot's reader executes full fences. Its reader is outside, and the calling thread's.
    pub(super) fn set_fenced(&self, is_fenced: bool) {
        // Relaxed: the announcement's release orders it.
        self.is_fenced.store(u32::from(is_fenced), Ordering::Relaxed);
    }

    /// The thread that asks ends. If the slot is its handle's, it may leave with a guard that was leaked.
    pub(super) fn thread_ends(&self, id: u64) {
        // Relaxed, both: the thread's own slot; else for the child of a fork.
        if self.owner.load(Ordering::Relaxed) == id {
            self.owner.store(id | thread::ENDED, Ordering::Relaxed);
        }
    }

    /// Whether the slot stays as it is in the child of a fork that thread `me` made. The forking
    /// thread's does, and that of a handle on its way. So does one whose thread had ended, or was about
    /// to, inside a section: a guard was leaked there, and a reference that it protects may be any
    /// thread's.
    pub(super) fn outlives_fork(&self, me: u64) -> bool {
        // Relaxed: the child has one thread.
        let owner = self.owner.load(Ordering::Relaxed);
        let has_ended = owner == GONE || owner & thread::ENDED != 0 && !mutated!(fork_drops_leaked);
        owner == DETACHED || thread::id(owner) == me || has_ended && self.is_inside()
    }

    /// Whether its thread exited inside a section.
    pub(super) fn outlived_thread(&self) -> bool {
        // Relaxed: written by the thread that asks.
        self.owner.load(Ordering::Relaxed) == GONE
    }

    /// Ends every section that is still open. For a handle that is dropped: no reference outlives it, whatever became
    /// of its guards.
    pub(super) fn end_all<P: Pair>(&self) {
        if self.is_inside() {
            // Relaxed: own word.
            self.extra.store(0, Ordering::Relaxed);
            self.leave_outermost::<P>();
        }
    }

    /// In the child of a fork: whoever held it is not here.
    pub(super) fn abandon(&self) {
        // Relaxed, all: the child has one thread.
        self.epoch.store(OUTSIDE, Ordering::Relaxed);
        self.extra.store(0, Ordering::Relaxed);
        self.waited.store(0, Ordering::Relaxed);
        self.owner.store(NOBODY, Ordering::Relaxed);
    }
}
