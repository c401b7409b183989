//! A hazard: the word in which a reader says which object it uses. Written by `pointer.rs`, scanned
//! by `reclaim.rs`.

use core::ptr;

use crate::atomic::{AtomicPtr, AtomicU32, Ordering, const_fn};
use crate::fence;
use crate::mutant::{check, order, step};
use crate::registry;

/// The value of `owner` in a slot that no hazard pointer has.
const UNOWNED: u32 = 0;

/// The word of one hazard pointer, alone on its cache lines (two, because processors fetch lines in
/// pairs).
///
/// | field | written by | meaning |
/// |---|---|---|
/// | `hazard` | the hazard pointer's user | null, or the address of an object that must not be freed |
/// | `owner` | the registry | 0: free; 1: a hazard pointer has the slot |
#[repr(C, align(128))]
pub(super) struct HazardSlot {
    hazard: AtomicPtr<()>,
    owner: AtomicU32,
}

impl HazardSlot {
    const_fn! {
        fn new() -> HazardSlot {
            HazardSlot { hazard: AtomicPtr::new(ptr::null_mut()), owner: AtomicU32::new(UNOWNED) }
        }
    }

    /// Says that the object at `seen` is in use, and loads `source` again. Returns that pointer if
    /// it is the same, or as an error if it is another; the slot then protects nothing that may be
    /// used.
    ///
    /// A pointer that is the same may be that of another object, which was published at the
    /// address of the first one after this was freed. So the second pointer is the one to use: it
    /// was made for the object that lives.
    #[inline(always)]
    pub(super) fn protect<T>(&self, seen: *mut T, source: &AtomicPtr<T>) -> Result<*mut T, *mut T> {
        // Release: the use of the object that was named here before happens before its end.
        // Partner: the acquire in `names`.
        self.hazard.store(seen.cast(), order!(Release, hazard_protect_release));
        // Pair N, light half. Partner: the heavy fence in `reclaim::fence`.
        // - If our store comes first, the scan sees the hazard and keeps the object.
        // - If the heavy fence comes first, we see below that the object was unlinked, and try
        //   again.
        step!(hazard_light, fence::light());
        // Acquire: partner of the release by which the object was published.
        let now = source.load(order!(Acquire, hazard_load_acquire));
        if check!(hazard_rechecks, now != seen) { Err(now) } else { Ok(now) }
    }

    /// Says that no object is in use.
    #[inline(always)]
    pub(super) fn reset(&self) {
        // Release: the use of the object happens before its end. Partner: the acquire in `names`.
        self.hazard.store(ptr::null_mut(), order!(Release, hazard_reset_release));
    }

    /// Returns the address of the object that must not be freed, or null.
    pub(super) fn names(&self) -> *mut () {
        // Acquire: partner of the releases in `protect` and `reset`: what a reader did with the
        // object that it does not name any more happens before that object's end.
        self.hazard.load(order!(Acquire, hazard_scan_acquire))
    }
}

impl registry::RegistrySlot for HazardSlot {
    #[cfg(not(leeward_loom))]
    #[allow(clippy::declare_interior_mutable_const)]
    const NEW: HazardSlot = HazardSlot::new();

    fn fresh() -> HazardSlot {
        HazardSlot::new()
    }

    fn is_free(&self) -> bool {
        // Relaxed: `claim` decides.
        self.owner.load(Ordering::Relaxed) == UNOWNED
    }

    fn claim(&self, owner: u64, _: u32) -> bool {
        // Acquire: partner of the release in `free`: the previous owner's stores to `hazard` come
        // before ours.
        self.owner.compare_exchange(UNOWNED, owner as u32, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn free(&self) {
        // Release: partner of the acquire in `claim`.
        self.owner.store(UNOWNED, Ordering::Release);
    }
}
