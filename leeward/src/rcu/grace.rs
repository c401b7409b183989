//! The grace period: one implementation for every flavour of reader and every pair of fences.
//!
//! ```text
//! a reader's processor                          the leader's processor
//! enter  epoch = GLOBAL                         advance  (the callers have unlinked the old value)
//!        light                           A               heavy
//!        load the pointer                                GLOBAL += 1
//!        ... the section ...                    scan     load each epoch; nobody blocks: done
//! leave  epoch = 0                              arm      waited = 1, on each slot that blocks
//!        light                           C               heavy
//!        load waited; if set, wake              sleep    load epoch; if it blocks still, sleep on waited
//! ```
//! At A the scan sees the reader, or the reader sees the new pointer. At C the reader sees the request, or the leader
//! sees that the reader has left. docs/orderings.md says of each lettered pair what breaks without it.

use core::time::Duration;

use super::slot::Slot;
use super::stall;
use super::stats::Counts;
use super::tickets::Tickets;
use crate::atomic::{AtomicU64, AtomicUsize, Ordering, const_fn, fence, outside_model, spin_hint};
use crate::fence::Pair;
use crate::futex::{self, Private, Timeout};
use crate::mutant::{check, mutated, order, step};
use crate::process::thread;
use crate::registry::{Full, Registry};

/// How often the scan rechecks a reader before it sleeps: a few microseconds, about what the sleep and its fence
/// would cost. Never a yield: a reader that lost its processor inside a section gets it back sooner when we sleep,
/// and wakes us when it is outside.
const RECHECKS: u32 = 64;

/// The epoch that readers copy. Only grace periods change it; alone on its lines.
#[repr(align(128))]
struct Epoch(AtomicU64);

/// What readers and writers of one domain meet at.
pub(crate) struct Grace {
    epoch: Epoch,
    /// Slots that are registered whose readers need a heavy fence: all but those of `qsbr`.
    sections: AtomicUsize,
    pub(super) registry: Registry<Slot>,
    pub(super) tickets: Tickets,
    pub(super) counts: Counts,
    pub(super) stall: stall::Limit,
    /// When the grace period that runs went to sleep, in nanoseconds of the futex's clock; 0: it has not.
    asleep_since: AtomicU64,
    /// Before when callers beyond the limit report no reader again, in nanoseconds of the futex's clock.
    next_report: AtomicU64,
}

/// The caller is inside a section of the domain itself: waiting would never end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OwnSection;

impl Grace {
    const_fn! {
        pub(crate) fn new() -> Grace {
            Grace {
                epoch: Epoch(AtomicU64::new(1)),
                sections: AtomicUsize::new(0),
                registry: Registry::new(),
                tickets: Tickets::new(),
                counts: Counts::new(),
                stall: stall::Limit::new(),
                asleep_since: AtomicU64::new(0),
                next_report: AtomicU64::new(0),
            }
        }
    }

    /// What an entering reader copies.
    #[inline(always)]
    pub(super) fn epoch(&self) -> &AtomicU64 {
        &self.epoch.0
    }

    /// Waits for a grace period that starts after the call; an error if the calling thread itself is in the way.
    pub(crate) fn synchronize<P: Pair>(&self) -> Result<(), OwnSection> {
        self.serve::<P>(|| self.is_inside(), Timeout::Never).map(|_| ())
    }

    /// The same for a caller that may not be refused; until a deadline at most. Should its thread be in the way (a
    /// callback leaked a guard), this waits for ever, as for any other leaked guard, and reports the stall. False: the
    /// time was up.
    pub(crate) fn wait<P: Pair>(&self, timeout: Timeout) -> bool {
        self.serve::<P>(|| false, timeout) == Ok(true)
    }

    /// Ok(false): the time was up.
    fn serve<P: Pair>(&self, is_inside: impl Fn() -> bool, timeout: Timeout) -> Result<bool, OwnSection> {
        let ticket = self.tickets.take();
        while !self.tickets.is_served(ticket) {
            if self.tickets.try_lead() {
                return self.lead::<P>(ticket, is_inside, timeout);
            }
            if !self.tickets.follow(ticket, || mutated!(own_section_follows) || !is_inside(), timeout) {
                return Err(OwnSection);
            }
            if timeout.has_passed::<Private>() {
                return Ok(self.tickets.is_served(ticket));
            }
        }
        Ok(true)
    }

    /// Runs a grace period for all whose tickets it serves.
    fn lead<P: Pair>(&self, ticket: u64, is_inside: impl Fn() -> bool, timeout: Timeout) -> Result<bool, OwnSection> {
        if self.tickets.is_served(ticket) {
            self.tickets.step_down();
            return Ok(true);
        }
        let mut lead = Lead::begin(self);
        let epoch = self.advance::<P>();
        lead.is_served = self.wait_for_readers::<P>(epoch, is_inside, timeout)?;
        Ok(lead.is_served)
    }

    /// Runs a grace period if nobody is in the way: no other leader, and no reader that has to be waited for.
    pub(crate) fn try_lead<P: Pair>(&self, ticket: u64) -> bool {
        if self.tickets.is_served(ticket) {
            return true;
        }
        if !self.tickets.try_lead() {
            return false;
        }
        let mut lead = Lead::begin(self);
        let epoch = self.advance::<P>();
        lead.is_served = !self.registry.slots().any(|slot| slot.is_blocking(epoch));
        lead.is_served
    }

    /// The heavy fence, then the new epoch, which it returns.
    fn advance<P: Pair>(&self) -> u64 {
        // Relaxed: only leaders write it, one after the other.
        let epoch = self.epoch.0.load(Ordering::Relaxed) + 1;
        if mutated!(global_before_heavy) {
            self.epoch.0.store(epoch, Ordering::Relaxed);
        }
        if !mutated!(heavy_before_scan) {
            // Pair A, heavy half. Partner: the light fence in `Slot::enter_outermost` and `Slot::quiesce`.
            // - If the reader's store comes first, the scan sees the reader inside and waits for it.
            // - If this fence comes first, the reader sees what the callers unlinked.
            // Pair B as well: `started` is stored before, and a caller that read the old number has its unlink covered.
            self.heavy::<P>(|| {
                // Acquire: the sections of a reader that unregistered are over. Partner: the release in
                // `release`. (For one that registers pair M orders it.)
                self.sections.load(order!(Acquire, sections_acquire)) != 0
            });
        }
        // Relaxed: a reader that sees it was interrupted by the heavy fence before, and so sees what was unlinked.
        self.epoch.0.store(epoch, Ordering::Relaxed);
        epoch
    }

    /// A heavy fence; a full one where readers execute such themselves: by the type of their fences, or where
    /// `is_needed`, asked behind the full fence, says that all of them do.
    fn heavy<P: Pair>(&self, is_needed: impl FnOnce() -> bool) {
        // SeqCst. Pairs A, B and C towards readers with full fences of their own. Pair M: what the callers
        // unlinked is before the look at `sections`; partner: the fence in `claim`. Either we see that a
        // reader registers, or it sees what was unlinked, in its first section and all that follow.
        step!(quiet_fence, fence(Ordering::SeqCst));
        if P::IS_REMOTE && is_needed() {
            self.counts.heavy_fences.add(1);
            P::heavy();
        }
    }

    /// Returns when every reader that was inside before `epoch` has left: true; or when the time is up: false.
    fn wait_for_readers<P: Pair>(
        &self,
        epoch: u64,
        is_inside: impl Fn() -> bool,
        timeout: Timeout,
    ) -> Result<bool, OwnSection> {
        if mutated!(no_wait) {
            return Ok(true);
        }
        for slot in self.registry.slots() {
            if !self.leaves_soon(slot, epoch) {
                if !mutated!(own_section_leads) && is_inside() {
                    return Err(OwnSection);
                }
                return Ok(self.sleep_until_all_left::<P>(epoch, timeout));
            }
        }
        Ok(true)
    }

    /// Spins for a while: short sections end. Returns true if the reader has left.
    fn leaves_soon(&self, slot: &Slot, epoch: u64) -> bool {
        for _ in 0..outside_model(RECHECKS) {
            if !slot.is_blocking(epoch) {
                return true;
            }
            spin_hint();
        }
        !slot.is_blocking(epoch)
    }

    #[cold]
    #[inline(never)]
    fn sleep_until_all_left<P: Pair>(&self, epoch: u64, timeout: Timeout) -> bool {
        let _asleep = Asleep::begin(self);
        let mut watch = stall::Watch::start(&self.stall);
        self.arm::<P>(self.registry.slots().filter(|slot| slot.is_blocking(epoch)));
        for slot in self.registry.slots() {
            while slot.is_blocking(epoch) {
                if timeout.has_passed::<Private>() {
                    self.registry.slots().for_each(Slot::clear_waited);
                    return false;
                }
                if check!(rearm_after_return, !slot.waited_is_raised()) {
                    // It left, and came back with an old epoch: needless, but we wait, so it must wake us again.
                    if mutated!(heavy_after_rearm) {
                        slot.raise_waited();
                    } else {
                        self.arm::<P>(core::iter::once(slot));
                    }
                }
                if mutated!(recheck_before_sleep) || slot.is_blocking(epoch) {
                    self.sleep_on(slot, &mut watch, timeout);
                }
            }
            // Before the hand-over: a request that the next leader makes must not be withdrawn by us.
            slot.clear_waited();
        }
        true
    }

    /// Asks readers to wake us, and makes sure that they notice or are seen to have left.
    fn arm<'a, P: Pair>(&self, slots: impl Iterator<Item = &'a Slot>) {
        let (mut asked, mut is_needed) = (false, false);
        for slot in slots {
            asked = true;
            is_needed |= !slot.is_fenced();
            slot.raise_waited();
        }
        if check!(heavy_before_sleep, asked) {
            // Pair C, heavy half. Partner: the light fence in `Slot::leave_outermost`.
            // - If the reader's store comes first, our recheck of the slot sees that it has left.
            // - If this fence comes first, the reader sees the request and wakes us.
            self.heavy::<P>(|| is_needed);
        }
    }

    fn sleep_on(&self, slot: &Slot, watch: &mut stall::Watch, timeout: Timeout) {
        self.counts.sleeps.add(1);
        futex::wait(slot.waited(), 1, timeout.min(watch.timeout()));
        watch.report_if_due(slot, &self.counts);
    }

    /// Reports the reader that is in the way of the grace period that runs, for a caller that waited for `least` and
    /// whose domain holds more callbacks than it should: if that grace period has slept for as long, or (`slept`) was
    /// the caller's own. Once in the time after which stalls are reported.
    pub(super) fn report_beyond_limit(&self, least: Duration, slept: bool) {
        let Some(pause) = self.stall.get() else { return };
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let now = futex::now();
        // Relaxed, all here: for people.
        let next = self.next_report.load(Ordering::Relaxed);
        let since = self.asleep_since.load(Ordering::Relaxed);
        let asleep = if since == 0 { None } else { Some(now.saturating_sub(Duration::from_nanos(since))) };
        let Some(waited) = asleep.or(slept.then_some(least)).filter(|&waited| waited >= least && nanos(now) >= next)
        else {
            return;
        };
        let epoch = self.epoch.0.load(Ordering::Relaxed);
        let Some(slot) = self.registry.slots().find(|slot| slot.is_blocking(epoch)) else { return };
        let after = nanos(now.saturating_add(pause));
        if self.next_report.compare_exchange(next, after, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return;
        }
        let (_, thread, entered_at) = slot.holder();
        self.counts.stalls.add(1);
        self.stall.tell(&stall::Stall { thread, waited, entered_at, is_beyond_limit: true });
    }

    /// Registers a reader of sections, of the thread that `owner` says.
    pub(super) fn claim(&self, owner: u64, thread: u32) -> Result<&Slot, Full> {
        let slot = self.registry.claim(owner, thread)?;
        slot.set_fenced(false);
        // Relaxed: the fence orders it.
        self.sections.fetch_add(1, Ordering::Relaxed);
        // SeqCst. Pair M: the count is before everything that the reader ever loads in a section. Partner:
        // the fence in `heavy`.
        step!(register_fence, fence(Ordering::SeqCst));
        Ok(slot)
    }

    /// Unregisters it. Its reader is outside.
    pub(super) fn release(&self, slot: &Slot) {
        // Release: the reader's sections are over for a leader that does not count it any more. Partner: the acquire
        // in `advance`.
        self.sections.fetch_sub(1, Ordering::Release);
        self.registry.release(slot);
    }

    /// Registers a reader that executes full fences of its own.
    pub(super) fn claim_fenced(&self, owner: u64, thread: u32) -> Result<&Slot, Full> {
        let slot = self.registry.claim(owner, thread)?;
        slot.set_fenced(true);
        Ok(slot)
    }

    /// Unregisters it. Its reader is outside.
    pub(super) fn release_fenced(&self, slot: &Slot) {
        self.registry.release(slot);
    }

    /// Whether the calling thread is inside a section of this domain, on whichever of its slots.
    pub(crate) fn is_inside(&self) -> bool {
        let me = thread::current();
        self.registry.slots().any(|slot| slot.is_held_by(me))
    }

    /// The calling thread ends, and has handles.
    pub(crate) fn thread_ends(&self) {
        let me = thread::current();
        self.registry.slots().for_each(|slot| slot.thread_ends(me));
    }

    /// In the child of a fork: keeps the slots of the forking thread, and those that protect what may be in use; drops
    /// the others'.
    pub(super) fn after_fork(&self) {
        let me = thread::current();
        let (mut kept, mut sections) = (0, 0);
        for slot in self.registry.slots() {
            if !slot.outlives_fork(me) {
                slot.abandon();
                continue;
            }
            slot.clear_waited();
            sections += usize::from(!slot.is_fenced());
            kept += 1;
        }
        self.registry.set_claimed(kept);
        // Relaxed, both: the child has one thread.
        self.sections.store(sections, Ordering::Relaxed);
        self.asleep_since.store(0, Ordering::Relaxed);
        self.tickets.after_fork();
    }

    /// In the child, once it knows its thread's number: the thread's slots have that.
    pub(super) fn renumber(&self) {
        let (me, number) = (thread::current(), thread::number());
        let own = self.registry.slots().filter(|slot| thread::id(slot.holder().0) == me);
        own.for_each(|slot| slot.hand_to(slot.holder().0, number));
    }
}

/// The lead of a grace period that has begun; given up when dropped, also by a panic (in a stall's handler, or for
/// want of any heavy fence): then nobody is served and somebody else leads.
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

/// That a grace period sleeps, for reports; until dropped.
struct Asleep<'a>(&'a Grace);

impl<'a> Asleep<'a> {
    fn begin(grace: &'a Grace) -> Asleep<'a> {
        // Relaxed, both: for people.
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
