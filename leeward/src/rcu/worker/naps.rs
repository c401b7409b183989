//! When the worker naps, as it learns from its last naps. Called by its loop (`work.rs`).

use crate::atomic::{AtomicU32, IS_MODEL, Ordering, const_fn};

/// After naps in which fewer than two callbacks came, the worker sleeps once before it tries another,
/// then twice, and so on up to this number of times. (A thread that waits for each of its callbacks,
/// without `barrier`, should find the worker asleep and wake it.)
const SLEEPS: u32 = 64;

/// What a worker has learnt of its naps. Only the worker changes it.
pub(super) struct Naps {
    /// How many sleeps go by before the worker naps again.
    sleeps: AtomicU32,
    /// What `sleeps` becomes when the next nap was needless.
    next: AtomicU32,
}

impl Naps {
    const_fn! {
        pub(super) fn new() -> Naps {
            Naps { sleeps: AtomicU32::new(0), next: AtomicU32::new(1) }
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
        let next = if has_gathered { 1 } else { self.next.load(Ordering::Relaxed) };
        self.sleeps.store(if has_gathered { 0 } else { next }, Ordering::Relaxed);
        self.next.store(if has_gathered { 1 } else { SLEEPS.min(2 * next) }, Ordering::Relaxed);
    }
}
