//! The seam between the engine and what an atomic is: core's, or loom's when built with `--cfg leeward_loom`.
//!
//! Every other module takes its atomics from here, so that the code that ships is the code that loom explores. The
//! only place, beside the hosts and `mod` lines, where a `cfg` stands.

#[cfg(not(leeward_loom))]
pub use core::sync::atomic::AtomicU32;
#[cfg(not(leeward_loom))]
pub(crate) use core::sync::atomic::{AtomicPtr, fence};

#[cfg(leeward_loom)]
pub(crate) use loom::sync::atomic::AtomicPtr;
#[cfg(leeward_loom)]
pub use loom::sync::atomic::AtomicU32;

pub(crate) use core::sync::atomic::Ordering;

/// Loom changes threads before accesses only, not before fences: without an access of its own, a store and the fence
/// behind it would be one step. Relaxed, so that it orders nothing that the fence does not.
#[cfg(leeward_loom)]
pub(crate) fn fence(order: Ordering) {
    loom::lazy_static! { static ref FENCES: AtomicU32 = AtomicU32::new(0); }
    FENCES.fetch_or(0, Ordering::Relaxed);
    loom::sync::atomic::fence(order);
}

/// What a lock guards, for loom to see: in a model each [`touch`](Self::touch) is a plain write, so that two which no
/// lock and no ordering keeps apart are reported as the race that they are. Otherwise nothing.
#[cfg(not(leeward_loom))]
pub(crate) struct Tracked;

#[cfg(not(leeward_loom))]
impl Tracked {
    pub(crate) fn new() -> Tracked {
        Tracked
    }

    #[inline(always)]
    pub(crate) fn touch(&self) {}
}

#[cfg(leeward_loom)]
pub(crate) struct Tracked(loom::cell::UnsafeCell<()>);

#[cfg(leeward_loom)]
impl Tracked {
    pub(crate) fn new() -> Tracked {
        Tracked(loom::cell::UnsafeCell::new(()))
    }

    pub(crate) fn touch(&self) {
        self.0.with_mut(|_| ());
    }
}

/// In a model, somebody else runs now: a loop that only looks would be explored for ever.
#[inline(always)]
pub(crate) fn model_yield() {
    #[cfg(leeward_loom)]
    loom::thread::yield_now();
}
