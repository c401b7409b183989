//! When a grace period that goes on in steps is worth its heavy fence. For `epoch/collector.rs` and
//! `limbo.rs`, which never wait.

use core::time::Duration;

use super::{Grace, Steps};
use crate::atomic::{AtomicU64, Ordering, const_fn};
use crate::mutant::mutated;

/// How many nanoseconds of a heavy fence each item may cost: so many items share one that the fence
/// costs each of them no more. So do looks at waiting bags.
const FENCE_SHARE: u64 = 4;
/// The number of items that share a heavy fence at most, however long it takes.
const SHARERS: u64 = 1 << 14;
/// The number of items for which a caller waits after the first refusal of a heavy fence, before it
/// asks again.
const FIRST_PATIENCE: u64 = 1 << 6;

/// The steps of one collector or container, and what it knows of their cost.
pub(in crate::rcu) struct Pace {
    steps: Steps,
    /// The number of items that were sealed since a grace period last began, and of looks since
    /// then.
    sealed: AtomicU64,
    /// How many nanoseconds a heavy fence takes, about.
    fence: AtomicU64,
    /// The number of items that must be sealed before a fence is asked for again, since the last one
    /// was refused; 0: it was not.
    patience: AtomicU64,
}

impl Pace {
    const_fn! {
        pub(in crate::rcu) fn new() -> Pace {
            Pace {
                steps: Steps::new(),
                sealed: AtomicU64::new(0),
                fence: AtomicU64::new(0),
                patience: AtomicU64::new(0),
            }
        }
    }

    /// Counts items that wait for a grace period from now on.
    pub(in crate::rcu) fn note_sealed(&self, items: u64) {
        // Relaxed: a count.
        self.sealed.fetch_add(items, Ordering::Relaxed);
    }

    /// Goes on with a grace period for the ticket `wanted`, if that needs no waiting. Begins one if
    /// enough items wait for it, `most` of them at most, or `at_once`. Where no heavy fence is possible
    /// none begins, and all items stay.
    pub(in crate::rcu) fn step(&self, grace: &Grace, wanted: u64, at_once: bool, most: u64) {
        if grace.tickets.is_served(wanted) {
            return;
        }
        self.note_sealed(1);
        let may_begin = || at_once || self.is_worth_a_fence(most);
        if grace.step(&self.steps, wanted, may_begin, |time| self.note_fence(time)).is_err() {
            self.note_refusal();
        }
    }

    /// Returns true if enough items wait for a grace period to share its heavy fence.
    fn is_worth_a_fence(&self, most: u64) -> bool {
        // Relaxed, all: numbers.
        let needed = (self.fence.load(Ordering::Relaxed) / FENCE_SHARE).min(SHARERS).min(most);
        let patience = self.patience.load(Ordering::Relaxed);
        self.sealed.load(Ordering::Relaxed) >= needed.max(if mutated!(pace_backs_off) { 0 } else { patience })
    }

    /// Notes that a grace period has begun, whose fence took `time`.
    fn note_fence(&self, time: Duration) {
        // Relaxed, all: numbers, which only the leader changes but for `sealed`. A single fence that
        // was preempted counts for twice the usual time at most.
        self.sealed.store(0, Ordering::Relaxed);
        self.patience.store(0, Ordering::Relaxed);
        let known = self.fence.load(Ordering::Relaxed);
        let now = time.as_nanos() as u64;
        let next = if known == 0 { now } else { (3 * known + now.min(2 * known)) / 4 };
        self.fence.store(next.max(1), Ordering::Relaxed);
    }

    /// Notes that a heavy fence was refused. The next one is asked for when twice as many items were
    /// sealed as before this one: a refusal costs system calls, and is likely to be the system's last
    /// word. What is refused for want of memory is granted later.
    fn note_refusal(&self) {
        // Relaxed, all: numbers. Of refusals at the same time, one counts.
        self.sealed.store(0, Ordering::Relaxed);
        let patience = self.patience.load(Ordering::Relaxed);
        self.patience.store((2 * patience).clamp(FIRST_PATIENCE, SHARERS), Ordering::Relaxed);
    }
}
