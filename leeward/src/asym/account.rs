//! When a lock is given its bias: an account of what the bias saves and of what it costs to take it
//! away.
//!
//! Both are counted in locks: a heavy fence costs as many locks as must be spared to pay for it
//! some times over ([`a_fence`]). A lock without a bias *owes*: whenever the other side comes (a
//! writer, or another thread), a fence's worth of locks is added, for with the bias it would have
//! issued a fence; each lock by the side that the bias is for pays one. The bias is given when
//! nothing is owed. So it comes if, on average, more locks than a fence is worth lie between two
//! visits, and not if they are fewer, however evenly or unevenly they come: a balance that falls by
//! more than it rises stays up.

use core::sync::atomic::AtomicU32;

use super::slots::Block;
use crate::atomic::{IS_MODEL, Ordering};

/// What a heavy fence took of late, in nanoseconds, on average; 0: none was measured yet. For all
/// locks, since it is the machine's and the process's.
static FENCE: AtomicU32 = AtomicU32::new(0);
/// How many locks must be spared for a fence, by `FENCE`.
static WORTH: AtomicU32 = AtomicU32::new(0);

/// What a bias saves in a lock by a thread that is alone with it, in nanoseconds, divided by how
/// many times over that is to pay for the fence: two locked instructions, twice.
const SAVED: u32 = 5;
/// How many times more an ordinary lock costs whose word moves between processors, about.
const MOVES: u32 = 6;
/// What the rest of taking a bias away costs, beside the fence, in nanoseconds: two looks at the
/// clock each time that it is given and taken away, and a scan.
const BESIDE: u32 = 400;
/// What two looks at the clock take, in nanoseconds.
const CLOCKS: u32 = 100;
/// The greatest worth of a fence, in locks: that of one that takes 20 ms.
const GREATEST: u32 = 1 << 22;
/// The most that can be owed, in fences: how long a lock whose use has changed waits for its bias.
const MOST: u32 = 4;
/// After a revocation the bias waits for this part of a fence's worth of locks in any case, so that
/// visits that come sooner are noticed.
const PROBATION: u32 = 8;

/// Measures `fence`, which executes one heavy fence.
fn measure(fence: impl FnOnce()) {
    let begun = now();
    fence();
    let took = (now() - begun).clamp(1, u64::from(u32::MAX)) as u32;
    // Relaxed, all: an estimate, in which a lost measurement does not matter.
    let before = FENCE.load(Ordering::Relaxed);
    // A thread that lost its processor measures milliseconds, and counts as four fences.
    let average = match before {
        0 => took,
        _ => before - before.div_ceil(8) + (took.min(before.saturating_mul(4)) / 8).max(1),
    };
    FENCE.store(average, Ordering::Relaxed);
    WORTH.store((average.saturating_add(BESIDE) / SAVED).min(GREATEST), Ordering::Relaxed);
}

/// Returns how many locks must be spared for a heavy fence.
fn a_fence() -> u32 {
    // Relaxed: an estimate.
    if IS_MODEL { 1 } else { WORTH.load(Ordering::Relaxed) }
}

/// Returns the time in nanoseconds of the futex's clock, which lasts for 584 years.
fn now() -> u64 {
    crate::futex::now().as_nanos() as u64
}

/// One lock's account. All of it is an estimate: its words are plain moves, mostly under the lock,
/// and what a race loses does not matter. (They are core's atomics also in a model, which does not
/// look at them.)
pub(super) struct Account {
    /// How many locks are still to be seen before the bias is given.
    owed: AtomicU32,
    /// While the bias lasts: when it was given, in the lowest bits of the clock's nanoseconds.
    /// Else: the lowest bits of the address of the block whose thread was counted last.
    since_or_last: AtomicU32,
}

impl Account {
    /// Returns the account of a lock that has not been used: its bias is given at once.
    pub(super) const fn new() -> Self {
        Account { owed: AtomicU32::new(0), since_or_last: AtomicU32::new(0) }
    }

    /// Returns true if the bias does not pay yet.
    #[inline(always)]
    pub(super) fn owes(&self) -> bool {
        // Relaxed, here and below: an estimate.
        self.owed.load(Ordering::Relaxed) != 0
    }

    /// Counts one lock of the side that the bias is for. Returns false if nothing is owed.
    #[inline(always)]
    pub(super) fn pay_one(&self) -> bool {
        let owed = self.owed.load(Ordering::Relaxed);
        if owed != 0 {
            self.owed.store(owed - 1, Ordering::Relaxed);
        }
        owed != 0
    }

    /// Counts `locks` of the thread of `block`, for as many as they cost: more where threads take
    /// the ordinary lock in turn, whose word moves from one processor to another.
    pub(super) fn pay_by(&self, block: &Block, locks: u32) {
        let block = core::ptr::from_ref(block).addr() as u32;
        let is_same = self.since_or_last.load(Ordering::Relaxed) == block;
        self.since_or_last.store(block, Ordering::Relaxed);
        let paid = if is_same { locks } else { locks * MOVES };
        self.owed.store(self.owed.load(Ordering::Relaxed).saturating_sub(paid), Ordering::Relaxed);
    }

    /// Counts a visit of the other side, which the bias would have cost a fence.
    #[inline(always)]
    pub(super) fn charge(&self) {
        self.try_charge();
    }

    /// Counts a visit of another thread than the one that the bias is meant for. Returns true if
    /// that thread has come too seldom: the bias is meant for the other one from now on.
    #[inline]
    pub(super) fn charge_or_change(&self) -> bool {
        let is_changed = !self.try_charge();
        if is_changed {
            self.owed.store(a_fence(), Ordering::Relaxed);
        }
        is_changed
    }

    /// Adds a fence's worth; returns false if as much is owed as can be.
    #[inline(always)]
    fn try_charge(&self) -> bool {
        let (owed, fence) = (self.owed.load(Ordering::Relaxed), a_fence());
        let is_possible = owed <= (MOST - 1) * fence;
        if is_possible {
            self.owed.store(owed + fence, Ordering::Relaxed);
        }
        is_possible && fence != 0
    }

    /// Notes that the bias is given.
    pub(super) fn begin(&self) {
        self.since_or_last.store(now() as u32, Ordering::Relaxed);
    }

    /// Executes `fence`, the heavy fence that takes the bias away, measures it, and counts it, less
    /// what the bias can have saved in the time that it lasted, at most.
    pub(super) fn end(&self, fence: impl FnOnce()) {
        let lasted = (now() as u32).wrapping_sub(self.since_or_last.load(Ordering::Relaxed));
        let is_known = a_fence() != 0;
        self.owe(lasted);
        measure(fence);
        if !is_known {
            self.owe(lasted);
        }
    }

    /// Counts a fence that ended a bias which had lasted for so many nanoseconds.
    fn owe(&self, lasted: u32) {
        let fence = a_fence();
        let saved = lasted.saturating_sub(CLOCKS).saturating_mul(MOVES);
        self.owed.store(fence.div_ceil(PROBATION) + fence.saturating_sub(saved), Ordering::Relaxed);
    }
}
