//! Reports of a grace period that sleeps, for callers that are beyond the domain's limit.
//!
//! (A grace period reports its own stalls: `sleep_on`.)

use core::time::Duration;

use super::Grace;
use super::stall;
use crate::atomic::Ordering;
use crate::futex;
use crate::mutant::check;

impl Grace {
    /// Reports the reader, of whatever kind, that is in the way of the grace period that runs, for a
    /// caller that waited for `least` and found the domain beyond its limit all the same.
    ///
    /// Reports only if that grace period has slept for at least as long, or (`slept`) was the
    /// caller's own; and once in the time after which stalls are reported.
    pub(in crate::rcu) fn report_beyond_limit(&self, least: Duration, slept: bool) {
        let Some(pause) = self.stall.get() else { return };
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let now = futex::now();
        // Relaxed, all below: for reports only.
        let next = self.next_report.load(Ordering::Relaxed);
        let since = self.asleep_since.load(Ordering::Relaxed);
        let asleep = if since == 0 { None } else { Some(now.saturating_sub(Duration::from_nanos(since))) };
        let Some(waited) = asleep.or(slept.then_some(least)).filter(|&waited| waited >= least && nanos(now) >= next)
        else {
            return;
        };
        let epoch = self.epoch.0.load(Ordering::Relaxed);
        // Inlined readers come last, as in the scan: of them, what the leader has found is known.
        let own = self.registry.slots().find(|slot| slot.is_blocking(epoch));
        let inlined = || self.last_found_inlined().filter(|_| check!(inlined_reported, true));
        let Some(slot) = own.or_else(inlined) else { return };
        let after = nanos(now.saturating_add(pause));
        if self.next_report.compare_exchange(next, after, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return;
        }
        let (_, thread, entered_at) = slot.holder();
        self.counts.stalls.add(1);
        self.stall.tell(&stall::Stall { thread, waited, entered_at, is_beyond_limit: true });
    }
}
