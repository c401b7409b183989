//! The grace period: one implementation for every flavour of reader and every pair of fences.
//!
//! DESIGN.md, "The grace period", tells the two interleavings of each lettered pair and what breaks without it.

use super::slot::Slot;
use super::stall;
use super::stats::Counts;
use super::tickets::Tickets;
use crate::atomic::{AtomicU64, Ordering, const_fn, looks, spin_hint};
use crate::fence::Pair;
use crate::futex;
use crate::mutant::mutated;
use crate::registry::Registry;

/// How often the scan looks at a reader before it sleeps: a few microseconds, about what the sleep and its fence
/// would cost. Never a yield: a reader that lost its processor inside a section gets it back sooner when we sleep,
/// and wakes us when it is outside.
const LOOKS: u32 = 64;

/// The epoch that readers copy. Only grace periods change it; alone on its lines.
#[repr(align(128))]
struct Epoch(AtomicU64);

/// What readers and writers of one domain meet at.
pub(crate) struct Grace {
    epoch: Epoch,
    pub(super) registry: Registry<Slot>,
    pub(super) tickets: Tickets,
    pub(super) counts: Counts,
    pub(super) stall: stall::Limit,
}

/// The caller is inside a section of the domain itself: waiting would never end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OwnSection;

impl Grace {
    const_fn! {
        pub(crate) fn new() -> Grace {
            Grace {
                epoch: Epoch(AtomicU64::new(1)),
                registry: Registry::new(),
                tickets: Tickets::new(),
                counts: Counts::new(),
                stall: stall::Limit::new(),
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
        self.serve::<P>(|| self.is_inside())
    }

    /// The same for whoever may not be refused. Should its thread be in the way (a callback leaked a guard), this
    /// waits for ever, as for any other leaked guard, and reports the stall.
    pub(crate) fn wait<P: Pair>(&self) {
        let _ = self.serve::<P>(|| false);
    }

    fn serve<P: Pair>(&self, is_inside: impl Fn() -> bool) -> Result<(), OwnSection> {
        let ticket = self.tickets.take();
        while !self.tickets.is_served(ticket) {
            if self.tickets.try_lead() {
                return self.lead::<P>(ticket, is_inside);
            }
            if !self.tickets.follow(ticket, || mutated!(own_section_follows) || !is_inside()) {
                return Err(OwnSection);
            }
        }
        Ok(())
    }

    /// Runs a grace period for everybody whose ticket it serves.
    fn lead<P: Pair>(&self, ticket: u64, is_inside: impl Fn() -> bool) -> Result<(), OwnSection> {
        if self.tickets.is_served(ticket) {
            self.tickets.step_down();
            return Ok(());
        }
        let mut lead = Lead::begin(self);
        let epoch = self.advance::<P>();
        self.wait_for_readers::<P>(epoch, is_inside)?;
        lead.is_served = true;
        Ok(())
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
            // Pair A, heavy half: what the callers unlinked is before the scan. Partner: the light fence in
            // `Slot::enter_outermost` and `Slot::quiesce`. Either the scan sees the reader inside, or the
            // reader sees the new pointer. Pair B as well: `started` is stored before, and a caller that
            // read the old number has its unlink covered.
            self.heavy::<P>();
        }
        // Relaxed: a reader that sees it was interrupted by the heavy fence before, and so sees what was unlinked.
        self.epoch.0.store(epoch, Ordering::Relaxed);
        epoch
    }

    fn heavy<P: Pair>(&self) {
        self.counts.heavy_fences.add(1);
        P::heavy();
    }

    /// Returns when every reader that was inside before `epoch` has left.
    fn wait_for_readers<P: Pair>(&self, epoch: u64, is_inside: impl Fn() -> bool) -> Result<(), OwnSection> {
        if mutated!(no_wait) {
            return Ok(());
        }
        for slot in self.registry.slots() {
            if !self.leaves_soon(slot, epoch) {
                if !mutated!(own_section_leads) && is_inside() {
                    return Err(OwnSection);
                }
                self.sleep_until_all_left::<P>(epoch);
                break;
            }
        }
        Ok(())
    }

    /// Looks a while: short sections end.
    fn leaves_soon(&self, slot: &Slot, epoch: u64) -> bool {
        for _ in 0..looks(LOOKS) {
            if !slot.is_blocking(epoch) {
                return true;
            }
            spin_hint();
        }
        !slot.is_blocking(epoch)
    }

    #[cold]
    #[inline(never)]
    fn sleep_until_all_left<P: Pair>(&self, epoch: u64) {
        let mut watch = stall::Watch::start(&self.stall);
        self.arm::<P>(self.registry.slots().filter(|slot| slot.is_blocking(epoch)));
        for slot in self.registry.slots() {
            while slot.is_blocking(epoch) {
                if !slot.waited_is_raised() && !mutated!(rearm_after_return) {
                    // It left, and came back with an old epoch: needless, but we wait, so it must wake us again.
                    if mutated!(heavy_after_rearm) {
                        slot.raise_waited();
                    } else {
                        self.arm::<P>(core::iter::once(slot));
                    }
                }
                if mutated!(look_again_before_sleep) || slot.is_blocking(epoch) {
                    self.sleep_on(slot, &mut watch);
                }
            }
            // Before the hand-over: a request that the next leader makes must not be withdrawn by us.
            slot.clear_waited();
        }
    }

    /// Asks readers to wake us, and makes sure that they notice or are seen to have left.
    fn arm<'a, P: Pair>(&self, slots: impl Iterator<Item = &'a Slot>) {
        let mut asked = false;
        for slot in slots {
            asked = true;
            slot.raise_waited();
        }
        if asked && !mutated!(heavy_before_sleep) {
            // Pair C, heavy half: the request is before our next look at the slot. Partner: the light fence in
            // `Slot::leave_outermost`. Either the reader sees the request and wakes us, or we see that it
            // left.
            self.heavy::<P>();
        }
    }

    fn sleep_on(&self, slot: &Slot, watch: &mut stall::Watch) {
        self.counts.sleeps.add(1);
        futex::wait(slot.waited(), 1, watch.left());
        watch.look(slot, &self.counts);
    }

    /// Whether the calling thread is inside a section of this domain, on whichever of its slots.
    pub(crate) fn is_inside(&self) -> bool {
        let me = super::thread::this();
        self.registry.slots().any(|slot| slot.is_held_by(me))
    }

    /// In the child of a fork: keeps the slots of the forking thread, drops the others'.
    pub(crate) fn after_fork(&self) {
        let me = super::thread::this();
        let number = super::thread::number();
        let mut kept = 0;
        for slot in self.registry.slots() {
            match slot.holder().0 {
                _ if slot.is_threadless() => {
                    slot.clear_waited();
                    kept += 1;
                }
                owner if owner == me => {
                    slot.hand_to(me, number);
                    slot.clear_waited();
                    kept += 1;
                }
                _ => slot.abandon(),
            }
        }
        self.registry.set_claimed(kept);
        self.tickets.after_fork();
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

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        if self.is_served {
            self.grace.counts.grace_periods.add(1);
        }
        self.grace.tickets.hand_over(self.is_served.then_some(self.number));
    }
}
