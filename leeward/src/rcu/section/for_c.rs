//! The words of a slot that only domains of C have (`c/`): C programs open and close sections by
//! name, so their slots hold what guards and handles hold for Rust.
//!
//! All of them are the thread's own: relaxed accesses suffice. A slot that is claimed anew finds
//! them null and 0.

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// The words of a slot that only domains of C have.
#[repr(C)]
pub(in crate::rcu) struct ForC {
    /// The domain, for the thread's exit; null: the slot is a handle's, or not of a domain of C.
    home: AtomicPtr<()>,
    /// The next slot of the same thread, for its exit.
    next: AtomicPtr<()>,
    /// The number of open guards of Rust, which outlive their thread where they are leaked. The libraries
    /// that stand in for liburcu's look at it.
    guards: AtomicU64,
    /// 1: the thread has unregistered, and keeps the slot for the next time.
    is_idle: AtomicU32,
}

const _: () = assert!(core::mem::offset_of!(ForC, guards) == 2 * size_of::<*const ()>());

impl ForC {
    pub(in crate::rcu) const fn new() -> ForC {
        ForC {
            home: AtomicPtr::new(ptr::null_mut()),
            next: AtomicPtr::new(ptr::null_mut()),
            guards: AtomicU64::new(0),
            is_idle: AtomicU32::new(0),
        }
    }

    /// Counts a guard that is opened.
    #[inline(always)]
    pub(in crate::rcu) fn open_guard(&self) {
        self.guards.store(self.guards.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// Counts a guard that is dropped.
    #[inline(always)]
    pub(in crate::rcu) fn drop_guard(&self) {
        self.guards.store(self.guards.load(Ordering::Relaxed).wrapping_sub(1), Ordering::Relaxed);
    }

    /// Clears the words of a slot that is given back.
    pub(in crate::rcu) fn clear(&self) {
        self.home.store(ptr::null_mut(), Ordering::Relaxed);
        self.next.store(ptr::null_mut(), Ordering::Relaxed);
        self.guards.store(0, Ordering::Relaxed);
        self.is_idle.store(0, Ordering::Relaxed);
    }

    /// Returns true if the slot's thread has unregistered.
    pub(in crate::rcu) fn is_idle(&self) -> bool {
        self.is_idle.load(Ordering::Relaxed) != 0
    }

    /// Returns true if the sections on the slot are C's alone, which end with their thread.
    pub(in crate::rcu) fn is_without_guards(&self) -> bool {
        !self.home.load(Ordering::Relaxed).is_null() && self.guards.load(Ordering::Relaxed) == 0
    }
}

/// The rest is for `c/`.
#[cfg(feature = "c")]
impl ForC {
    /// Returns how many guards of Rust are open, or were leaked.
    pub(in crate::rcu) fn guards(&self) -> u64 {
        self.guards.load(Ordering::Relaxed)
    }

    pub(in crate::rcu) fn set_idle(&self, is_idle: bool) {
        self.is_idle.store(u32::from(is_idle), Ordering::Relaxed);
    }

    pub(in crate::rcu) fn home(&self) -> *mut () {
        self.home.load(Ordering::Relaxed)
    }

    pub(in crate::rcu) fn set_home(&self, domain: *mut ()) {
        self.home.store(domain, Ordering::Relaxed);
    }

    pub(in crate::rcu) fn next(&self) -> *mut () {
        self.next.load(Ordering::Relaxed)
    }

    pub(in crate::rcu) fn set_next(&self, slot: *mut ()) {
        self.next.store(slot, Ordering::Relaxed);
    }
}
