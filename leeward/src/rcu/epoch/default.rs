//! The default collector, and the calling thread's record in it.

use alloc::boxed::Box;
use core::ptr::{self, NonNull};

use super::collector::Collector;
use super::guard::Guard;
use super::local::{Kind, Local};
use crate::atomic::{AtomicPtr, Ordering};
use crate::process::local::{Word, exit, word};

/// The default collector; null: not made yet. It is made without a lock, which the child of a fork
/// might find held.
static COLLECTOR: AtomicPtr<Collector> = AtomicPtr::new(ptr::null_mut());

word! {
    /// The thread's record; null: none yet, or none any more.
    static EPOCH_LOCAL: *const Local = 0
}
exit! {
    /// Ends the record when the thread exits.
    static EPOCH_EXIT = || {
        if let Some(local) = NonNull::new(EPOCH_LOCAL.get().cast_mut()) {
            // First: what is called below may pin, and must not find the record.
            EPOCH_LOCAL.set(ptr::null());
            // SAFETY: the thread's own, whose handle nobody else has.
            unsafe { Local::drop_handle(local) };
        }
    }
}

/// Returns the collector of [`pin`], which is never dropped.
///
/// ```
/// use leeward::rcu::epoch;
/// let handle = epoch::default_collector().register();
/// assert_eq!(handle.collector(), epoch::pin().collector().unwrap());
/// ```
pub fn default_collector() -> &'static Collector {
    // Acquire: partner of the release in `make_default`.
    let made = COLLECTOR.load(Ordering::Acquire);
    // SAFETY: null, or a collector that is never dropped.
    unsafe { made.as_ref() }.unwrap_or_else(make_default)
}

/// Makes the default collector, unless another thread is faster.
#[cold]
#[inline(never)]
fn make_default() -> &'static Collector {
    let new = Box::into_raw(Box::new(Collector::new()));
    // Release: the collector. Acquire: another's.
    let made = match COLLECTOR.compare_exchange(ptr::null_mut(), new, Ordering::Release, Ordering::Acquire) {
        Ok(_) => new,
        Err(made) => {
            // SAFETY: made above, and published nowhere.
            drop(unsafe { Box::from_raw(new) });
            made
        }
    };
    // SAFETY: never dropped.
    unsafe { &*made }
}

/// Enters a section of the [default collector](default_collector). A thread's first call registers it
/// until it exits; after that, each section registers the thread for its own time.
///
/// ```
/// use leeward::rcu::epoch::{self, Atomic};
/// use std::sync::atomic::Ordering;
/// static TABLE: Atomic<[u32; 2]> = Atomic::null();
/// let guard = epoch::pin();
/// assert!(TABLE.load(Ordering::Acquire, &guard).is_null());
/// ```
///
/// # Panics
/// If there is no memory for the thread's slot.
#[inline]
pub fn pin() -> Guard {
    match NonNull::new(EPOCH_LOCAL.get().cast_mut()) {
        // SAFETY: the thread's own record, which lives until its exit.
        Some(local) => unsafe { Guard::enter(local) },
        None => pin_first(),
    }
}

/// Registers the thread, and enters its first section.
#[cold]
#[inline(never)]
fn pin_first() -> Guard {
    let local = match Local::new(default_collector().clone(), Kind::Default) {
        Ok(local) => local,
        Err(error) => panic!("leeward: {error}"),
    };
    // SAFETY: made above.
    let guard = unsafe { Guard::enter(local) };
    if EPOCH_EXIT.arm() {
        EPOCH_LOCAL.set(local.as_ptr());
    } else {
        // SAFETY: made above; the guard keeps the record.
        unsafe { Local::drop_handle(local) };
    }
    guard
}

/// Returns true if the calling thread is in a section of [`pin`].
///
/// ```
/// use leeward::rcu::epoch;
/// assert!(!epoch::is_pinned());
/// let guard = epoch::pin();
/// assert!(epoch::is_pinned());
/// # drop(guard);
/// ```
#[inline]
pub fn is_pinned() -> bool {
    // SAFETY: the thread's own record, which lives until its exit.
    unsafe { EPOCH_LOCAL.get().as_ref() }.is_some_and(Local::is_pinned)
}
