//! A reader's slot: how one reader tells the writers whether it is inside a section, and since
//! when.
//!
//! The reader writes it with plain moves (`guard.rs`, `qsbr.rs`); the leader of a grace period
//! reads it (`grace.rs`). docs/rcu.md and docs/orderings.md describe the orderings. Without any one
//! of them a model (`tests/models/model.rs`) or a test (`ci/mutants`) fails.

mod registration;

use core::panic::Location;

use super::for_c::ForC;
use super::inlined;
use crate::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, compiler_fence, const_fn};
use crate::fence::{Full, Pair};
use crate::futex;
use crate::mutant::{check, mutated, order, step};
use crate::process::thread;

/// `epoch` of a reader that is outside of every section.
pub(in crate::rcu) const OUTSIDE: u64 = 0;
/// Bit of `extra`: the slot is given back when its outermost section ends (its thread has run its
/// thread-local destructors). `UNREGISTERED` has it too. Inline code of C takes a call where it is
/// set.
const TRANSIENT: u64 = 1 << 63;

/// `owner` of a slot that no thread has.
const UNOWNED: u64 = 0;

/// The slot of every thread that is not registered. It says that its reader is inside, so that
/// entering takes the slow path, which tells the two apart.
///
/// C's domains refer to it by name.
#[cfg(not(leeward_loom))]
#[cfg_attr(feature = "c", unsafe(export_name = "lee_1_unregistered"))]
pub(in crate::rcu) static UNREGISTERED: Slot = Slot::at(1, TRANSIENT);

/// One reader's words, alone on their cache lines: two, because processors fetch lines in pairs.
///
/// | field | written by | meaning |
/// |---|---|---|
/// | `epoch` | the reader | 0: outside; else the global epoch at entry or the last quiescence |
/// | `extra` | the reader | bits 0-62: open sections beyond the first; bit 63: `TRANSIENT` |
/// | `waited` | writer (1), reader (0) | 1: a writer sleeps on this word until the reader leaves |
/// | `thread` | registration | the thread's number, for reports |
/// | `owner` | registration | 0: free; else its thread's id, perhaps with `ENDED` and `LEAKED` of `thread` |
/// | `is_fenced` | registration | 1: the reader executes full fences: writers need no heavy one |
/// | `entered_at` | the reader | where the outermost section began, in debug builds, for reports |
/// | `for_c` | the reader | what only domains of C have |
/// | `inlined` | the reader | where its inlined sections are counted (`inlined.rs`) |
///
/// `owner` has ids below 16 for slots without a thread (`registration.rs`). `extra` has 64 bits, so
/// that forgetting guards cannot carry into bit 63.
///
/// C programs access the first four fields inline: their places are a part of the ABI
/// (`capi/include/leeward/rcu.h`).
#[doc(hidden)]
#[repr(C, align(128))]
pub struct Slot {
    epoch: AtomicU64,
    extra: AtomicU64,
    waited: AtomicU32,
    thread: AtomicU32,
    owner: AtomicU64,
    is_fenced: AtomicU32,
    entered_at: AtomicPtr<Location<'static>>,
    pub(in crate::rcu) for_c: ForC,
    pub(in crate::rcu) inlined: inlined::Reader,
}

#[cfg(not(leeward_loom))]
const _: () = assert!(
    size_of::<Slot>() == 128
        && core::mem::offset_of!(Slot, extra) == 8
        && core::mem::offset_of!(Slot, waited) == 16
        && core::mem::offset_of!(Slot, owner) == 24
        && core::mem::offset_of!(Slot, for_c) == 48
        && core::mem::offset_of!(Slot, inlined) == 80
);

/// The reader's view. Its own slot is plain memory to it: only the reader writes `epoch` and
/// `extra`, so its loads of them are relaxed.
impl Slot {
    const_fn! {
        /// Makes a slot whose reader is outside.
        pub(crate) fn new() -> Slot {
            Slot::at(OUTSIDE, 0)
        }
    }

    const_fn! {
        /// Makes a slot whose reader announced `epoch`, and has `extra` sections more.
        fn at(epoch: u64, extra: u64) -> Slot {
            Slot {
                epoch: AtomicU64::new(epoch),
                extra: AtomicU64::new(extra),
                waited: AtomicU32::new(0),
                owner: AtomicU64::new(UNOWNED),
                thread: AtomicU32::new(0),
                is_fenced: AtomicU32::new(0),
                entered_at: AtomicPtr::new(core::ptr::null_mut()),
                for_c: ForC::new(),
                inlined: inlined::Reader::new(),
            }
        }
    }

    /// Returns true if the reader is inside. For the slot's own thread.
    #[inline(always)]
    pub(in crate::rcu) fn is_inside(&self) -> bool {
        // Relaxed: own word.
        self.epoch.load(Ordering::Relaxed) != OUTSIDE
    }

    /// Announces the outermost section. The caller has checked that the reader is outside.
    #[inline(always)]
    pub(in crate::rcu) fn enter_outermost<P: Pair>(&self, global: &AtomicU64) {
        // Relaxed: an old value only makes a grace period wait for this section needlessly. And
        // every grace period issues its heavy fence before it advances the epoch, so a reader that
        // sees the new epoch also sees what was unlinked.
        let now = global.load(Ordering::Relaxed);
        self.announce(now, order!(Release, enter_store_release));
        // Pair A, light half. Partner: the heavy fence in `Grace::advance`.
        // - If our store comes first, the scan sees us inside and waits for us.
        // - If the heavy fence comes first, each load in the section sees what was unlinked.
        step!(enter_light, P::light());
    }

    /// Stores `epoch`, with `order`, which is a release except in mutants: a scan that reads this
    /// announcement, and so misses the leaving store before it, still synchronizes with the end of
    /// that earlier section.
    #[inline(always)]
    fn announce(&self, epoch: u64, order: Ordering) {
        self.epoch.store(epoch, order);
    }

    /// Counts a section within another.
    #[inline(always)]
    pub(in crate::rcu) fn enter_nested(&self) {
        // Relaxed, both: own word. A load and a store suffice: a signal handler between them leaves
        // the word as it found it.
        let extra = self.extra.load(Ordering::Relaxed);
        step!(nested_count, self.extra.store(extra.wrapping_add(1), Ordering::Relaxed));
    }

    /// Ends a section. Returns true if it was the outermost one of a transient slot, which the
    /// caller then gives back.
    #[inline(always)]
    pub(in crate::rcu) fn leave<P: Pair>(&self) -> bool {
        // Relaxed: own word.
        let extra = self.extra.load(Ordering::Relaxed);
        if extra == 0 {
            self.leave_outermost::<P>();
            false
        } else {
            self.leave_nested::<P>(extra)
        }
    }

    /// Announces that the reader is outside, and wakes a writer that sleeps on it.
    #[inline(always)]
    fn leave_outermost<P: Pair>(&self) {
        // The compiler keeps the section's accesses before the store; the processor does because
        // the store is a release.
        compiler_fence(Ordering::SeqCst);
        // Release: the section's loads happen before what follows the scan that reads this 0.
        // Partner: the acquire in `is_blocking`.
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

    /// Ends a section within another, or the outermost one of a transient slot. Out of line, so
    /// that the code of an outermost section runs straight.
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

    /// Clears the request, wakes the writer that made it, and yields.
    #[cold]
    #[inline(never)]
    pub(in crate::rcu) fn wake_writer(&self) {
        // Relaxed: the writer looks at `epoch`, not at this word, to know that the reader has left.
        self.waited.store(0, Ordering::Relaxed);
        step!(leave_wake, futex::wake(&self.waited, 1));
        // The yield stands here, where we hold no thread up: the writer, or the next reader that it
        // waits for, may need this processor. Without it we would run on until we are preempted, as
        // likely as not inside a section again.
        futex::yield_now();
    }

    /// Announces a quiescent state of QSBR, if a grace period has begun since the last one: no
    /// other grace period waits for this reader.
    #[inline(always)]
    pub(in crate::rcu) fn quiesce_if_changed(&self, global: &AtomicU64) {
        compiler_fence(Ordering::SeqCst);
        // Relaxed, both: a new global epoch that is not seen here is announced the next time; and
        // an own word.
        if global.load(Ordering::Relaxed) != self.epoch.load(Ordering::Relaxed) {
            self.quiesce_fenced(global);
        }
    }

    /// Announces a quiescent state, with a full fence.
    #[cold]
    #[inline(never)]
    fn quiesce_fenced(&self, global: &AtomicU64) {
        self.quiesce::<Full>(global);
    }

    /// Announces that the reader holds nothing from before now, and stays inside. For QSBR's
    /// quiescent state, and for a refreshed guard.
    #[inline(always)]
    pub(in crate::rcu) fn quiesce<P: Pair>(&self, global: &AtomicU64) {
        compiler_fence(Ordering::SeqCst);
        // Relaxed: as in `enter_outermost`.
        let now = global.load(Ordering::Relaxed);
        // Release: the reader's earlier loads are over when a scan reads this. Partner: the acquire
        // in `is_blocking`.
        self.announce(now, order!(Release, qsbr_release));
        // Pairs A and C, light half. Partners: the heavy fences in `Grace::advance` and
        // `Grace::arm`.
        // - If our store comes first, the leader's look at the slot sees this announcement.
        // - If the heavy fence comes first, our later loads see what was unlinked, and the look
        //   below sees the request in `waited`.
        step!(quiesce_light, P::light());
        // Relaxed: pair C orders it.
        if self.waited.load(Ordering::Relaxed) != 0 {
            self.wake_writer();
        }
    }

    /// Returns true if only one section is open on the slot.
    #[inline(always)]
    pub(in crate::rcu) fn is_outermost(&self) -> bool {
        // Relaxed: own word.
        self.extra.load(Ordering::Relaxed) & !TRANSIENT == 0
    }

    /// Makes the slot transient: it is given back when its outermost section ends.
    pub(in crate::rcu) fn make_transient(&self) {
        // Relaxed: own word.
        let extra = self.extra.load(Ordering::Relaxed);
        self.extra.store(extra | TRANSIENT, Ordering::Relaxed);
    }

    /// Records where the outermost section began.
    #[inline(always)]
    pub(in crate::rcu) fn note_entry(&self, place: &'static Location<'static>) {
        // Relaxed: for reports only.
        self.entered_at.store(core::ptr::from_ref(place).cast_mut(), Ordering::Relaxed);
    }
}

/// The writer's view.
impl Slot {
    /// Returns true if a grace period that advanced the epoch to `epoch` has to wait for this
    /// reader.
    #[inline]
    pub(in crate::rcu) fn is_blocking(&self, epoch: u64) -> bool {
        // Acquire: partner of the releases in `leave_outermost` and `announce`.
        let seen = self.epoch.load(order!(Acquire, scan_acquire));
        seen != OUTSIDE && (seen < epoch || mutated!(wait_for_zero_only))
    }

    /// Asks the reader to wake us when it leaves.
    pub(in crate::rcu) fn raise_waited(&self) {
        // Relaxed: the heavy fence that follows (pair C) orders it before our next look.
        self.waited.store(1, Ordering::Relaxed);
    }

    /// Returns true if the request to wake us still stands.
    pub(in crate::rcu) fn waited_is_raised(&self) -> bool {
        // Relaxed: if it is read too late, the sleep returns at once.
        self.waited.load(Ordering::Relaxed) != 0
    }

    /// Returns true if the reader executes full fences, so that the writer needs no heavy one.
    pub(in crate::rcu) fn is_fenced(&self) -> bool {
        // Relaxed: stored before the reader's first announcement, which the caller has seen.
        self.is_fenced.load(Ordering::Relaxed) != 0
    }

    /// Withdraws the request to wake us.
    pub(in crate::rcu) fn clear_waited(&self) {
        if self.waited_is_raised() {
            // Relaxed: at worst, a reader that has seen the request makes a wake that finds no
            // sleeper.
            self.waited.store(0, Ordering::Relaxed);
        }
    }

    /// Returns the word on which a writer sleeps.
    pub(in crate::rcu) fn waited(&self) -> &AtomicU32 {
        &self.waited
    }

    /// Returns the owner's word, the thread's number, and where the section began, if that was
    /// recorded.
    pub(in crate::rcu) fn holder(&self) -> (u64, u32, Option<&'static Location<'static>>) {
        // Relaxed, all: for reports, and for comparing with the calling thread's id.
        let place = self.entered_at.load(Ordering::Relaxed);
        // SAFETY: null, or stored by `note_entry` from a reference that lives forever.
        let place = unsafe { place.as_ref() };
        (self.owner.load(Ordering::Relaxed), self.thread.load(Ordering::Relaxed), place)
    }

    /// Returns true if `thread` is inside a section on this slot.
    pub(in crate::rcu) fn is_held_by(&self, thread: u64) -> bool {
        if thread == thread::UNKNOWN {
            return false;
        }
        // Acquire: partner of the release in `announce`. On our own slot these are our own stores.
        // If the slot was ours, and another thread that was handed it is inside, then we see that
        // it is no longer ours. (With the owner loaded first, a model takes that reader for the
        // caller.)
        let inside = self.epoch.load(Ordering::Acquire) != OUTSIDE;
        // Relaxed: as above.
        inside && thread::id(self.owner.load(Ordering::Relaxed)) == thread
    }

    /// Returns true if `thread`, which is the calling one, is inside an inlined section.
    pub(in crate::rcu) fn is_inlined_by(&self, thread: u64) -> bool {
        // Relaxed: for comparing with a thread's own id; on our own slot these are our own stores.
        thread != thread::UNKNOWN
            && thread::id(self.owner.load(Ordering::Relaxed)) == thread
            && self.inlined.is_inside()
    }
}
