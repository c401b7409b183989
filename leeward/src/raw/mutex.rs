//! The mutex that guards this library's own rare paths: one word, three states (Drepper, "Futexes Are Tricky", 2004).

use crate::atomic::{AtomicU32, Ordering, const_fn};
use crate::futex;

const UNLOCKED: u32 = 0;
const LOCKED: u32 = 1;
const CONTENDED: u32 = 2;

/// | value | meaning |
/// |---|---|
/// | 0 | unlocked |
/// | 1 | locked, nobody waits |
/// | 2 | locked, somebody may wait |
pub(crate) struct Mutex {
    word: AtomicU32,
}

impl Mutex {
    const_fn! {
        pub(crate) fn new() -> Mutex {
            Mutex { word: AtomicU32::new(UNLOCKED) }
        }
    }

    #[inline]
    pub(crate) fn lock(&self) {
        // Acquire: partner of the release in `unlock`. Relaxed on failure: the slow path looks again.
        if self.word.compare_exchange(UNLOCKED, LOCKED, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.lock_contended();
        }
    }

    #[cold]
    #[inline(never)]
    fn lock_contended(&self) {
        // Acquire: as in `lock`; the exchange takes the lock when it was free.
        while self.word.swap(CONTENDED, Ordering::Acquire) != UNLOCKED {
            futex::wait(&self.word, CONTENDED, None);
        }
    }

    #[inline]
    pub(crate) fn unlock(&self) {
        // Release: what was done under the lock happens before the next holder's.
        if self.word.swap(UNLOCKED, Ordering::Release) == CONTENDED {
            futex::wake(&self.word, 1);
        }
    }

    /// Unlocks it whoever held it: in the child of a fork, where the holder may not exist.
    pub(crate) fn reset(&self) {
        // Relaxed: the child has one thread.
        self.word.store(UNLOCKED, Ordering::Relaxed);
    }
}
