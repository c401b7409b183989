//! The grace period: one implementation for every flavour of reader and every pair of fences.
//!
//! Its heavy fences are issued in `grace/fences.rs`.
//!
//! ```text
//! a reader's processor                   the leader's processor
//! enter  epoch = GLOBAL                  advance  (the callers have unlinked the old value)
//!        light                     A              heavy
//!        load the pointer                         GLOBAL += 1
//!        ... the section ...             scan     load each epoch; if none blocks: done
//! leave  epoch = 0                       arm      waited = 1, on each slot that blocks
//!        light                     C              heavy
//!        load waited; if set, wake       sleep    load epoch; if it blocks still, sleep on waited
//! ```
//! At A the scan sees the reader, or the reader sees the new pointer. At C the reader sees the
//! request, or the leader sees that the reader has left. docs/orderings.md says of each lettered
//! pair what breaks without it.

mod fences;
#[cfg(any(feature = "threads", leeward_loom))]
pub(super) mod future;
#[cfg(not(leeward_loom))]
pub(super) mod pace;
pub(super) mod stall;
pub(super) mod stats;
pub(super) mod tickets;
// Domains of C alone have such readers.
#[cfg_attr(not(feature = "c"), allow(dead_code))]
mod inlined;
mod report;
mod step;

#[cfg_attr(all(leeward_loom, not(test)), allow(unused_imports))]
pub(super) use step::Steps;

use super::kind::Kind;
use super::section::inlined::Inlined;
use super::section::slot::Slot;
use crate::atomic::{AtomicPtr, AtomicU64, Ordering, const_fn, fence_after_update, outside_model, spin_hint};
use crate::futex::{self, Private, Timeout};
use crate::mutant::{check, mutated, order, step};
use crate::process::thread;
use crate::registry::{Full, Registry, RegistrySlot as _};
use stats::Counts;
use tickets::Tickets;

/// How often the scan rechecks a reader before it sleeps: for a few microseconds, about what the
/// sleep and its fence would cost. It never yields: a reader that was preempted inside a section
/// gets a processor sooner when we sleep, and wakes us when it is outside.
const RECHECKS: u32 = 64;

/// What one reader with full fences counts in `registered`.
const FENCED: u64 = 1 << 32;

/// The epoch that readers copy. Only grace periods change it; alone on its lines.
#[repr(align(128))]
struct Epoch(AtomicU64);

/// The state that readers and writers of one domain share.
#[repr(C)]
pub(crate) struct Grace {
    epoch: Epoch,
    pub(super) kind: Kind,
    /// The number of registered slots: in the lower half of those whose readers need a heavy fence,
    /// in the upper half of those whose readers execute full fences.
    registered: AtomicU64,
    pub(super) registry: Registry<Slot>,
    pub(super) inlined: Inlined,
    /// The slot of an inlined reader in the way that the last look found, for reports; null: none.
    found_inlined: AtomicPtr<Slot>,
    pub(super) tickets: Tickets,
    pub(super) counts: Counts,
    pub(super) stall: stall::Limit,
    /// When the grace period that runs went to sleep, in nanoseconds of the futex's clock; 0: it
    /// has not.
    asleep_since: AtomicU64,
    /// When callers beyond the limit may report a reader again, in nanoseconds of the futex's
    /// clock.
    next_report: AtomicU64,
}

/// The error of a caller that is inside a section of the domain itself: its wait would never end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OwnSection;

impl Grace {
    const_fn! {
        pub(crate) fn new(kind: Kind) -> Grace {
            Grace {
                epoch: Epoch(AtomicU64::new(1)),
                kind,
                registered: AtomicU64::new(0),
                registry: Registry::new(),
                inlined: Inlined::new(),
                found_inlined: AtomicPtr::new(core::ptr::null_mut()),
                tickets: Tickets::new(),
                counts: Counts::new(),
                stall: stall::Limit::new(),
                asleep_since: AtomicU64::new(0),
                next_report: AtomicU64::new(0),
            }
        }
    }

    /// Returns the epoch, which an entering reader copies.
    #[inline(always)]
    pub(super) fn epoch(&self) -> &AtomicU64 {
        &self.epoch.0
    }

    /// Waits for a grace period that starts after the call, or finds that no reader is registered.
    /// Returns an error if the calling thread itself is in the way.
    pub(crate) fn synchronize(&self) -> Result<(), OwnSection> {
        let ticket = self.tickets.take();
        // Pair M: the caller's unlink is before the look at `registered`, by the fence in `take`.
        // Partner: the fence in `claim_as`.
        // - If a reader's count comes first, we see it, and a grace period follows.
        // - If our fence comes first, the reader sees what was unlinked, in its first section and
        //   in all later ones.
        if self.registered() == 0 {
            return Ok(());
        }
        self.serve(ticket, || self.is_inside(), Timeout::Never).map(|_| ())
    }

    /// Waits for a grace period that starts after the call, or until `timeout`. Returns true if
    /// there was one, false if the time was up.
    ///
    /// If the calling thread itself is in the way (a callback leaked a guard), the wait goes on all
    /// the same, as for any other leaked guard, and is reported as a stall.
    pub(crate) fn wait(&self, timeout: Timeout) -> bool {
        // This runs a grace period even where no reader is registered: those who poll look at its
        // number.
        self.serve(self.tickets.take(), || false, timeout) == Ok(true)
    }

    /// Waits until `ticket` is served, as a leader or as a follower. Returns `Ok(false)` if the time
    /// was up.
    fn serve(&self, ticket: u64, is_inside: impl Fn() -> bool, timeout: Timeout) -> Result<bool, OwnSection> {
        while !self.tickets.is_served(ticket) {
            if self.tickets.try_lead() {
                return self.lead(ticket, is_inside, timeout);
            }
            if !self.tickets.follow(ticket, || !check!(own_section_follows, is_inside()), timeout) {
                return Err(OwnSection);
            }
            if timeout.has_passed::<Private>() {
                return Ok(self.tickets.is_served(ticket));
            }
        }
        Ok(true)
    }

    /// Runs a grace period, which serves all tickets up to its number if it ends in time, and hands
    /// the lead over. The caller has the lead.
    fn lead(&self, ticket: u64, is_inside: impl Fn() -> bool, timeout: Timeout) -> Result<bool, OwnSection> {
        if self.tickets.is_served(ticket) {
            self.tickets.step_down();
            return Ok(true);
        }
        let mut lead = Lead::begin(self);
        let epoch = self.advance();
        lead.is_served = self.wait_for_readers(epoch, is_inside, timeout)?;
        Ok(lead.is_served)
    }

    /// Runs a grace period if it need not wait, for another leader or for a reader. Returns true if
    /// `ticket` is served.
    pub(crate) fn try_lead(&self, ticket: u64) -> bool {
        if self.tickets.is_served(ticket) {
            return true;
        }
        if !self.tickets.try_lead() {
            return false;
        }
        let mut lead = Lead::begin(self);
        let epoch = self.advance();
        lead.is_served = !self.is_blocked(epoch);
        lead.is_served
    }

    /// Returns true if a reader is inside that entered before `epoch`.
    fn is_blocked(&self, epoch: u64) -> bool {
        self.registry.slots().any(|slot| slot.is_blocking(epoch)) || self.blocking_inlined(epoch).is_some()
    }

    /// Waits until every reader that was inside before `epoch` has left. Returns `Ok(false)` if the
    /// time was up before.
    fn wait_for_readers(&self, epoch: u64, is_inside: impl Fn() -> bool, timeout: Timeout) -> Result<bool, OwnSection> {
        if mutated!(no_wait) {
            return Ok(true);
        }
        let leave_soon =
            self.registry.slots().all(|slot| self.leaves_soon(slot, epoch)) && self.inlined_leave_soon(epoch);
        if leave_soon {
            return Ok(true);
        }
        if check!(own_section_leads, is_inside()) {
            return Err(OwnSection);
        }
        Ok(self.sleep_until_all_left(epoch, timeout))
    }

    /// Spins for a moment, in which a short section ends. Returns true if the reader has left.
    fn leaves_soon(&self, slot: &Slot, epoch: u64) -> bool {
        for _ in 0..outside_model(RECHECKS) {
            if !slot.is_blocking(epoch) {
                return true;
            }
            spin_hint();
        }
        !slot.is_blocking(epoch)
    }

    /// Sleeps until every reader that was inside before `epoch` has left. Returns false if the time
    /// was up before.
    #[cold]
    #[inline(never)]
    fn sleep_until_all_left(&self, epoch: u64, timeout: Timeout) -> bool {
        let _asleep = Asleep::begin(self);
        let mut watch = stall::Watch::start(&self.stall);
        self.arm(self.registry.slots().filter(|slot| slot.is_blocking(epoch)));
        for slot in self.registry.slots() {
            while slot.is_blocking(epoch) {
                if timeout.has_passed::<Private>() {
                    self.registry.slots().for_each(Slot::clear_waited);
                    return false;
                }
                if check!(rearm_after_return, !slot.waited_is_raised()) {
                    // The reader left and entered again with an old epoch. The wait for it is
                    // needless, but we wait, so it must wake us again.
                    if mutated!(heavy_after_rearm) {
                        slot.raise_waited();
                    } else {
                        self.arm(core::iter::once(slot));
                    }
                }
                if mutated!(recheck_before_sleep) || slot.is_blocking(epoch) {
                    self.sleep_on(slot, &mut watch, timeout);
                }
            }
            // Before the hand-over: we must not withdraw a request that the next leader makes.
            slot.clear_waited();
        }
        self.sleep_until_inlined_left(epoch, &mut watch, timeout)
    }

    /// Sleeps until the reader wakes us, a report is due or the time is up, and reports what is
    /// due.
    fn sleep_on(&self, slot: &Slot, watch: &mut stall::Watch, timeout: Timeout) {
        self.counts.sleeps.add(1);
        futex::wait(slot.waited(), 1, timeout.min(watch.timeout()));
        watch.report_if_due(slot, &self.counts);
    }

    /// Registers a reader of sections for the thread that the owner's word `owner` names.
    pub(super) fn claim(&self, owner: u64, thread: u32) -> Result<&Slot, Full> {
        self.claim_as(false, owner, thread)
    }

    /// Registers a reader that executes full fences itself.
    pub(super) fn claim_fenced(&self, owner: u64, thread: u32) -> Result<&Slot, Full> {
        self.claim_as(true, owner, thread)
    }

    fn claim_as(&self, is_fenced: bool, owner: u64, thread: u32) -> Result<&Slot, Full> {
        let slot = self.registry.claim(owner, thread)?;
        slot.set_fenced(is_fenced);
        // Relaxed: the fence orders it.
        self.registered.fetch_add(Grace::count(slot), Ordering::Relaxed);
        // SeqCst. Pair M: the count is before everything that the reader ever loads in a section.
        // Partners: the fences in `heavy` and in `Tickets::take`.
        // - If our count comes first, the other sees it: a leader reaches us by its heavy fence, and
        //   `synchronize` runs a grace period.
        // - If the other's fence comes first, we see what was unlinked.
        step!(register_fence, fence_after_update());
        Ok(slot)
    }

    /// Unregisters a reader, which is outside.
    pub(super) fn release(&self, slot: &Slot) {
        // Release: the reader's sections are over for one who does not count it any more. Partner:
        // the acquire in `registered`.
        self.registered.fetch_sub(Grace::count(slot), order!(Release, registered_release));
        self.registry.release(slot);
    }

    /// Returns what the slot counts in `registered`.
    fn count(slot: &Slot) -> u64 {
        if slot.is_fenced() { FENCED } else { 1 }
    }

    /// Returns how many readers of both kinds are registered.
    fn registered(&self) -> u64 {
        // Acquire: the sections of a reader that unregistered are over. Partner: the release in
        // `release`. (Pair M orders a reader that registers.)
        self.registered.load(order!(Acquire, registered_acquire))
    }

    /// Returns how many readers are registered.
    pub(super) fn readers(&self) -> u64 {
        self.registry.slots().filter(|slot| !slot.is_free() && !slot.for_c.is_idle()).count() as u64
    }

    /// Returns true if the calling thread is inside a section of this domain, on any of its slots.
    pub(crate) fn is_inside(&self) -> bool {
        let me = thread::current();
        self.registry.slots().any(|slot| slot.is_held_by(me) || slot.is_inlined_by(me))
    }

    /// Marks the slots of the calling thread, which ends and has handles.
    pub(crate) fn thread_ends(&self) {
        let me = thread::current();
        self.registry.slots().for_each(|slot| slot.thread_ends(me));
    }

    /// Repairs the state in the child of a fork: keeps the slots of the forking thread, and those
    /// that protect what may be in use, frees the others, and forgets the grace period that was
    /// running.
    pub(super) fn after_fork(&self) {
        let me = thread::current();
        let mut registered = 0;
        for slot in self.registry.slots() {
            if !slot.outlives_fork(me) {
                slot.abandon();
                continue;
            }
            slot.clear_waited();
            slot.keep_inlined_of(me);
            registered += Grace::count(slot);
        }
        self.registry.start_over();
        self.inlined.after_fork();
        self.note_found_inlined(None);
        // Relaxed, both: the child has one thread.
        self.registered.store(registered, Ordering::Relaxed);
        self.asleep_since.store(0, Ordering::Relaxed);
        self.tickets.after_fork();
    }

    /// Gives the slots of the calling thread its number, once the child of a fork knows it.
    pub(super) fn renumber(&self) {
        let (me, number) = (thread::current(), thread::number());
        let own = self.registry.slots().filter(|slot| thread::id(slot.holder().0) == me);
        own.for_each(|slot| slot.hand_to(slot.holder().0, number));
    }
}

/// The lead of a grace period that has begun. Its drop hands the lead over, after a panic as well
/// (of a stall's handler, or where no heavy fence is possible): then no ticket is served, and
/// another caller leads.
struct Lead<'a> {
    grace: &'a Grace,
    number: u64,
    is_served: bool,
}

impl<'a> Lead<'a> {
    fn begin(grace: &'a Grace) -> Lead<'a> {
        Lead { grace, number: grace.tickets.begin(), is_served: false }
    }
}

/// The time in which a grace period sleeps, noted for reports until this is dropped.
struct Asleep<'a>(&'a Grace);

impl<'a> Asleep<'a> {
    fn begin(grace: &'a Grace) -> Asleep<'a> {
        // Relaxed, here and in `drop`: for reports only.
        grace.asleep_since.store(futex::now().as_nanos() as u64, Ordering::Relaxed);
        Asleep(grace)
    }
}

impl Drop for Asleep<'_> {
    fn drop(&mut self) {
        self.0.asleep_since.store(0, Ordering::Relaxed);
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        if self.is_served {
            self.grace.counts.grace_periods.add(1);
        }
        self.grace.tickets.hand_over(self.is_served.then_some(self.number));
    }
}
