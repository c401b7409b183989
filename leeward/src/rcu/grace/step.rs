//! Grace periods in steps, for callers that never wait: any thread ends the one that is under
//! way, if no reader is in its way any more, and begins the next.
//!
//! A caller that waits (`Grace::synchronize`) may lead meanwhile: it begins a later number, which
//! serves the one under way as well.

use core::time::Duration;

use super::fences::impossible;
use super::{Grace, Lead};
use crate::atomic::{AtomicU64, Ordering, const_fn};
use crate::fence::Error;
use crate::futex;
use crate::mutant::check;

/// The grace period that goes on in steps.
pub(in crate::rcu) struct Steps {
    /// The number of the latest one that was begun; its heavy fence is issued and the epoch is
    /// advanced. Changed by leaders.
    begun: AtomicU64,
}

impl Steps {
    const_fn! {
        pub(in crate::rcu) fn new() -> Steps {
            Steps { begun: AtomicU64::new(0) }
        }
    }
}

impl Grace {
    /// Goes on with a grace period that serves the ticket `wanted`, as far as that needs no waiting.
    /// Begins one only where `may_begin` returns true, and then calls `begun` with the time that the
    /// heavy fence took. (The caller then looks at its ticket.)
    ///
    /// # Errors
    /// Where no heavy fence is possible: the grace period that was to begin is given up, and no
    /// ticket is served. One that is under way has its fence, and may end all the same.
    ///
    /// # Why one fence is enough
    /// Every reader that was inside when the heavy fence was issued and has not left since is found
    /// by any later scan, on whatever thread, so one fence serves a grace period that takes many
    /// steps.
    pub(in crate::rcu) fn step(
        &self,
        steps: &Steps,
        wanted: u64,
        may_begin: impl Fn() -> bool,
        begun: impl Fn(Duration),
    ) -> Result<(), Error> {
        while !self.tickets.is_served(wanted) && self.tickets.try_lead() {
            // Relaxed, here and below: changed by leaders only, one after the other.
            let number = steps.begun.load(Ordering::Relaxed);
            let is_under_way = !self.tickets.is_served(number);
            if !is_under_way && (self.tickets.is_served(wanted) || !may_begin()) {
                self.tickets.step_down();
                return Ok(());
            }
            let mut lead =
                if is_under_way { Lead { grace: self, number, is_served: false } } else { Lead::begin(self) };
            if !is_under_way {
                let start = futex::now();
                // An error leaves `begun` as it was: the number that was begun had no fence, and no
                // later step may scan for it. The drop of `lead` gives it up.
                let outcome = self.try_advance();
                if check!(step_refused, outcome.is_err()) {
                    return outcome.map(drop);
                }
                begun(futex::now().saturating_sub(start));
                steps.begun.store(lead.number, Ordering::Relaxed);
            }
            let epoch = self.epoch.0.load(Ordering::Relaxed);
            lead.is_served = !check!(step_scan, self.is_blocked(epoch));
            if !lead.is_served {
                break;
            }
        }
        Ok(())
    }

    /// Does what `step` does, for a caller that must have a grace period, and begins one at once.
    ///
    /// # Panics
    /// Where no heavy fence is possible.
    pub(in crate::rcu) fn step_or_panic(&self, steps: &Steps, wanted: u64) {
        self.step(steps, wanted, || true, |_| ()).unwrap_or_else(|error| impossible(error));
    }
}
