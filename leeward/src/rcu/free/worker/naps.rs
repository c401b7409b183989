//! When the worker naps, as it learns from its last naps.

use crate::atomic::{AtomicU32, IS_MODEL, Ordering, const_fn};

/// After naps in which fewer than two callbacks came, the worker sleeps once before it tries another,
/// then twice, and so on up to 2 to this power. (A thread that waits for each of its callbacks,
/// without `barrier`, should find the worker asleep and wake it.)
const DOUBLINGS: u32 = 6;

/// What a worker has learnt of its naps. Only the worker changes it. All zeros at first: C programs
/// write a domain's first bytes.
pub(super) struct Naps {
    /// How many sleeps go by before the worker naps again.
    sleeps: AtomicU32,
    /// How many naps in a row were needless, up to `DOUBLINGS`.
    needless: AtomicU32,
}

impl Naps {
    const_fn! {
        pub(super) fn new() -> Naps {
            Naps { sleeps: AtomicU32::new(0), needless: AtomicU32::new(0) }
        }
    }

    /// Returns true if the worker may nap after the sleep from which it was just woken.
    pub(super) fn may_begin(&self) -> bool {
        // Relaxed, all here: the worker's own words.
        let sleeps = self.sleeps.load(Ordering::Relaxed);
        self.sleeps.store(sleeps.saturating_sub(1), Ordering::Relaxed);
        // Loom knows no time: in a model a nap would only be one more look.
        sleeps == 0 && !IS_MODEL
    }

    /// Notes that a nap of full length gathered callbacks, or that it was needless.
    pub(super) fn learn(&self, has_gathered: bool) {
        let needless = self.needless.load(Ordering::Relaxed);
        let (sleeps, needless) = if has_gathered { (0, 0) } else { (1 << needless, DOUBLINGS.min(needless + 1)) };
        self.sleeps.store(sleeps, Ordering::Relaxed);
        self.needless.store(needless, Ordering::Relaxed);
    }
}
