//! A mutex: one word, three states (Drepper, "Futexes Are Tricky", 2004).

use core::marker::PhantomData;

use crate::atomic::{AtomicU32, Ordering, const_fn};
use crate::futex::{Futex, Private};

const UNLOCKED: u32 = 0;
const LOCKED: u32 = 1;
const CONTENDED: u32 = 2;

/// | value | meaning |
/// |---|---|
/// | 0 | unlocked |
/// | 1 | locked, nobody waits |
/// | 2 | locked, somebody may wait |
#[repr(transparent)]
pub struct Mutex<F: Futex = Private> {
    word: AtomicU32,
    futex: PhantomData<fn() -> F>,
}

impl<F: Futex> Mutex<F> {
    const_fn! {
        /// An unlocked one.
        #[allow(clippy::new_without_default)]
        pub fn new() -> Self {
            Mutex { word: AtomicU32::new(UNLOCKED), futex: PhantomData }
        }
    }

    /// Locks it, waiting as long as that takes.
    #[inline]
    pub fn lock(&self) {
        // Acquire: partner of the release in `unlock`. Relaxed on failure: the slow path looks again.
        if self.word.compare_exchange(UNLOCKED, LOCKED, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.lock_contended();
        }
    }

    /// Locks it if nobody holds it.
    #[inline]
    pub fn try_lock(&self) -> bool {
        // As in `lock`.
        self.word.compare_exchange(UNLOCKED, LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[cold]
    #[inline(never)]
    fn lock_contended(&self) {
        // Acquire: as in `lock`; the exchange takes the lock when it was free.
        while self.word.swap(CONTENDED, Ordering::Acquire) != UNLOCKED {
            F::wait(&self.word, CONTENDED, None);
        }
    }

    /// Unlocks it.
    ///
    /// # Safety
    /// The caller holds it.
    #[inline]
    pub unsafe fn unlock(&self) {
        // Release: what was done under the lock happens before the next holder's.
        if self.word.swap(UNLOCKED, Ordering::Release) == CONTENDED {
            F::wake(&self.word, 1);
        }
    }

    /// Unlocks it whoever held it: in the child of a fork, where the holder may not exist.
    pub(crate) fn reset(&self) {
        // Relaxed: the child has one thread.
        self.word.store(UNLOCKED, Ordering::Relaxed);
    }
}

// SAFETY: `lock` and `try_lock` let one caller in until `unlock`.
#[cfg(not(leeward_loom))]
unsafe impl<F: Futex> lock_api::RawMutex for Mutex<F> {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = Mutex::<F>::new();
    type GuardMarker = lock_api::GuardSend;

    #[inline]
    fn lock(&self) {
        Mutex::lock(self);
    }

    #[inline]
    fn try_lock(&self) -> bool {
        Mutex::try_lock(self)
    }

    #[inline]
    unsafe fn unlock(&self) {
        // SAFETY: the caller's promise.
        unsafe { Mutex::unlock(self) };
    }

    #[inline]
    fn is_locked(&self) -> bool {
        // Relaxed: out of date when it returns anyway.
        self.word.load(Ordering::Relaxed) != UNLOCKED
    }
}
