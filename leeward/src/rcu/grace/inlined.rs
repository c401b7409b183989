//! The part of a grace period that concerns inlined readers: the choice of an epoch, the scan of their
//! counts, and the sleep until they have left. `rcu/section/inlined.rs` says who these readers are.

use core::time::Duration;

use super::fences::impossible;
use super::{Grace, RECHECKS};
use crate::atomic::{AtomicU32, IS_MODEL, Ordering, fence, outside_model, spin_hint};
use crate::futex::{self, Futex as _, Private, Shared, Timeout};
use crate::mutant::{check, step};
use crate::process::thread;
use crate::rcu::grace::stall;
use crate::rcu::section::inlined::{Look, Served};
use crate::rcu::section::slot::Slot;

/// How long the leader naps between two looks at readers that wake nobody, at first and at most; and
/// between two wakes by readers that it does not wait for, from the `WAKES`-th on.
const NAPS: (Duration, Duration) = (Duration::from_micros(20), Duration::from_millis(2));
/// All readers of a domain wake by one word, so most wakes may be by others. From this one on the leader
/// naps first: its fence interrupts every reader, and a wake costs the reader a system call.
const WAKES: u32 = 8;

impl Grace {
    /// Begins a look at the counts of inlined readers.
    fn look(&self) -> Look<'_> {
        let look = self.inlined.look(thread::current());
        // SeqCst. Pair S: the look is announced before any address of a count is loaded. Partner: the
        // fence in `detach`.
        // - If our announcement comes first, the thread that takes its count away waits for our end.
        // - If its fence comes first, we find that the address is gone.
        step!(inlined_look_fence, fence(Ordering::SeqCst));
        look
    }

    /// Returns the first epoch from `epoch` on whose era no inlined reader shows. For the leader,
    /// between its heavy fence and the store of the epoch.
    ///
    /// The era is the lower half of the epoch, and begins anew after 2^32 grace periods. A reader may
    /// show the era that is to come: it was inside all the time while others polled, each of which
    /// begins a grace period that it need not end; or it loaded the era that long ago, and stored it
    /// only now. Every reader that was inside when the heavy fence reached it is seen here, so none of
    /// those shows the era that is chosen, and the scan waits for all of them. A reader that enters
    /// later with an era of long ago may show it, and need not be waited for: it sees what was unlinked.
    pub(super) fn unshown(&self, mut epoch: u64) -> u64 {
        if self.inlined.served().is_some() {
            let look = self.look();
            while self.registry.slots().any(|slot| slot.inlined.shows(&look, epoch)) {
                epoch += 1;
            }
        }
        epoch
    }

    /// Publishes the epoch to inlined readers.
    pub(super) fn publish_era(&self, epoch: u64) {
        if let Some(served) = self.inlined.served() {
            served.common().publish(epoch);
        }
    }

    /// Returns the slot of an inlined reader that a grace period which advanced the epoch to `epoch`
    /// has to wait for.
    pub(super) fn blocking_inlined(&self, epoch: u64) -> Option<&Slot> {
        self.inlined.served()?;
        let look = self.look();
        let found = self.registry.slots().find(|slot| check!(inlined_scan, slot.inlined.is_blocking(&look, epoch)));
        self.note_found_inlined(found);
        found
    }

    /// Notes whom a look has found in the way, for the leader of a grace period.
    pub(super) fn note_found_inlined(&self, slot: Option<&Slot>) {
        let slot = slot.map_or(core::ptr::null(), core::ptr::from_ref);
        // Relaxed: for reports only, and the registry keeps its slots.
        self.found_inlined.store(slot.cast_mut(), Ordering::Relaxed);
    }

    /// Returns the slot of a reader that was in the way when a leader looked last. For threads that do not
    /// lead: these may not look at counts, which go when their threads exit.
    pub(super) fn last_found_inlined(&self) -> Option<&Slot> {
        // Relaxed: as above.
        let slot = self.found_inlined.load(Ordering::Relaxed);
        // SAFETY: null, or a slot of the registry, which keeps it.
        unsafe { slot.cast_const().as_ref() }
    }

    /// Spins for a moment, in which short sections end. Returns true if no inlined reader is in the way.
    pub(super) fn inlined_leave_soon(&self, epoch: u64) -> bool {
        for _ in 0..outside_model(RECHECKS) {
            if self.blocking_inlined(epoch).is_none() {
                return true;
            }
            spin_hint();
        }
        self.blocking_inlined(epoch).is_none()
    }

    /// Sleeps until every inlined reader that was inside before `epoch` has left. Returns false if the
    /// time was up before.
    pub(super) fn sleep_until_inlined_left(&self, epoch: u64, watch: &mut stall::Watch, timeout: Timeout) -> bool {
        let Some(served) = self.inlined.served() else { return true };
        let (mut wakes, mut time) = (0, NAPS.0);
        let mut have_left = true;
        while let Some(slot) = self.blocking_inlined(epoch) {
            watch.report(slot, &self.counts);
            if timeout.has_passed::<Private>() {
                have_left = false;
                break;
            }
            self.counts.sleeps.add(1);
            let until = timeout.min(watch.timeout());
            if !served.is_woken() || wakes >= WAKES {
                step!(inlined_naps, nap(Timeout::after::<Private>(time).min(until)));
                time = NAPS.1.min(2 * time);
            }
            if served.is_woken() {
                self.sleep_on_inlined(served, epoch, until, wakes);
                wakes += 1;
            }
        }
        // Before the hand-over, as in `sleep_until_all_left`.
        served.common().lower();
        have_left
    }

    /// Asks inlined readers for a wake, and sleeps until one wakes us, unless all have left.
    fn sleep_on_inlined(&self, served: &Served, epoch: u64, until: Timeout, wakes: u32) {
        if wakes == 0 || check!(inlined_rearm, true) {
            served.common().raise();
        }
        if check!(inlined_heavy_before_sleep, true) {
            // Pair C, heavy half, as in `arm`. Partner: the barrier between the inlined reader's store
            // to its count and its load of the futex.
            // - If the reader's store comes first, our look at the counts sees that it has left.
            // - If this fence comes first, the reader sees the request, clears it and wakes us.
            self.heavy().unwrap_or_else(|error| impossible(error));
        }
        if self.blocking_inlined(epoch).is_some() {
            // Inlined code wakes without the flag for words of one process: another kind of key.
            let (word, asleep) = served.common().futex();
            Shared::wait(word, asleep, until);
        }
    }

    /// Takes away the count that `slot` refers to: when this returns, no leader accesses it any more.
    /// For the slot's own thread, whose count may lie in memory that its exit frees.
    pub(in crate::rcu) fn detach(&self, slot: &Slot) {
        if !slot.inlined.hide() {
            return;
        }
        // SeqCst. Pair S: the address is gone before we ask whether a leader looks. Partner: the fence
        // in `look`.
        // - If our store comes first, each look that begins later finds no address.
        // - If the leader's announcement comes first, we see it and wait for the end of its look.
        step!(inlined_detach_fence, fence(Ordering::SeqCst));
        let Some(number) = self.inlined.look_by_another(thread::current()) else { return };
        let mut time = NAPS.0;
        while check!(inlined_detach_waits, self.inlined.is_looking(number)) {
            nap(Timeout::after::<Private>(time));
            time = NAPS.1.min(2 * time);
        }
    }
}

/// Sleeps until `until`.
fn nap(until: Timeout) {
    if IS_MODEL {
        spin_hint();
    } else {
        futex::wait(&AtomicU32::new(0), 0, until);
    }
}
