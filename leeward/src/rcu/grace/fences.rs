//! The heavy fences of a grace period: the one before its scan, and the one before its sleep.
//!
//! The head of `grace.rs` draws both.

use super::{FENCED, Grace};
use crate::atomic::{Ordering, fence};
use crate::fence::{self, Error};
use crate::mutant::{check, mutated, step};
use crate::rcu::section::slot::Slot;

impl Grace {
    /// Does what `try_advance` does, for a caller that must have a grace period.
    ///
    /// # Panics
    /// Where no heavy fence is possible.
    pub(super) fn advance(&self) -> u64 {
        self.try_advance().unwrap_or_else(|error| impossible(error))
    }

    /// Issues the heavy fence, then advances the epoch. Returns the new epoch.
    ///
    /// # Errors
    /// Where no heavy fence is possible. The epoch stays, and nothing is known of the readers: the
    /// caller gives the lead up and serves no ticket.
    pub(super) fn try_advance(&self) -> Result<u64, Error> {
        // Relaxed: only leaders write it, one after the other.
        let mut epoch = self.epoch.0.load(Ordering::Relaxed) + 1;
        if mutated!(global_before_heavy) {
            self.epoch.0.store(epoch, Ordering::Relaxed);
            self.publish_era(epoch);
        }
        // Pair A, heavy half. Partner: the light fence in `Slot::enter_outermost` and
        // `Slot::quiesce`.
        // - If the reader's store comes first, the scan sees the reader inside and waits for it.
        // - If this fence comes first, the reader sees what the callers unlinked.
        // Pair B, heavy half. Partner: the fence in `Tickets::take`. `started` is stored before
        // this fence, so the unlink of a caller that read the old number is covered.
        if !mutated!(heavy_before_scan) {
            self.heavy()?;
        }
        // After the fence: all inlined readers that the scan has to wait for show their eras.
        epoch = self.unshown(epoch);
        // Relaxed: the heavy fence has interrupted a reader that sees the new epoch before it saw
        // it, so that reader sees what was unlinked.
        self.epoch.0.store(epoch, Ordering::Relaxed);
        self.publish_era(epoch);
        Ok(epoch)
    }

    /// Issues a heavy fence, or only a full one where readers execute full fences themselves: in a
    /// domain whose pair of fences says so, or where all that are registered do.
    pub(super) fn heavy(&self) -> Result<(), Error> {
        // SeqCst. Pairs A, B and C towards readers with full fences of their own. Pair M: what the
        // callers unlinked, and what `arm` raised, is before the look at `registered`. Partner: the
        // fence in `claim_as`.
        // - If the reader's count comes first, we see that it registers and issue the heavy fence.
        // - If this fence comes first, the reader sees what was unlinked, in its first section and
        //   in all later ones; and the request in `waited`, when it leaves.
        step!(quiet_fence, fence(Ordering::SeqCst));
        if self.kind.is_asymmetric() && self.registered() % FENCED != 0 {
            fence::try_heavy()?;
            self.counts.heavy_fences.add(1);
        }
        Ok(())
    }

    /// Asks the readers of `slots` to wake us, and issues the fence after which each of them sees
    /// the request or is seen to have left.
    ///
    /// # Panics
    /// Where no heavy fence is possible.
    pub(super) fn arm<'a>(&self, slots: impl Iterator<Item = &'a Slot>) {
        let mut asked = false;
        for slot in slots {
            asked = true;
            slot.raise_waited();
        }
        if check!(heavy_before_sleep, asked) {
            // Pair C, heavy half. Partner: the light fence in `Slot::leave_outermost`.
            // - If the reader's store comes first, our recheck of the slot sees that it has left.
            // - If this fence comes first, the reader sees the request and wakes us.
            //
            // Whether the fence must be a heavy one is for `heavy` to find out, by what is
            // registered after its full fence, and not by whose slots these were: between a look
            // at the slot and `raise_waited`, or after both, a reader with full fences may give the
            // slot back and one without may take it, and enter with an old epoch.
            // - If that one's count comes before our full fence, `heavy` sees it, and reaches it.
            // - If our full fence comes first, that one sees the request when it leaves: its look
            //   follows the fence in `claim_as`.
            self.heavy().unwrap_or_else(|error| impossible(error));
        }
    }
}

/// Ends a call that cannot be answered without a grace period.
#[cold]
#[inline(never)]
pub(super) fn impossible(error: Error) -> ! {
    panic!("leeward: {error}");
}
