//! seize 0.3 by name, and leeward's epochs underneath: a program and all that it depends on, such as
//! flurry 0.5, change over by a line of its `Cargo.toml`. (For seize 0.5 there is a crate of its own,
//! `faces/seize`.)
//!
//! ```toml
//! [patch.crates-io]
//! seize = { git = "https://github.com/leeward-rs/leeward", version = "0.3" }
//! ```
//!
//! Every public name of seize 0.3.3 is here. A [`Collector`] is one of [`leeward::rcu::epoch`], where the
//! costs and the promises are: entering a section executes no fence and no locked instruction.
//!
//! ```
//! use seize::{Collector, Linked, reclaim};
//! use std::sync::atomic::{AtomicPtr, Ordering};
//! let collector = Collector::new();
//! let cell = AtomicPtr::new(collector.link_boxed(1));
//! let guard = collector.enter();
//! let old = guard.protect(&cell, Ordering::Acquire);
//! cell.store(std::ptr::null_mut(), Ordering::Release);
//! // SAFETY: what the guard protects; unlinked above, and retired once.
//! assert_eq!(unsafe { **old }, 1);
//! unsafe { guard.defer_retire(old, reclaim::boxed::<Linked<i32>>) };
//! ```
//!
//! # Differences
//! - **What is retired may be reclaimed later.** seize reclaims a batch when the last thread leaves that saw
//!   it. Here threads that retire or enter find out that a grace period is over, 41 objects or more at a time;
//!   [`Guard::flush`] asks at once. The collector's drop leaves nothing, as there.
//! - A reader that is preempted in its section holds back all that is retired meanwhile; in seize the batches
//!   that it saw. [`Collector::epoch_frequency`] changes nothing.
//! - [`Collector::batch_size`] says after how many objects a grace period begins at the latest.
//! - A [`Link`] takes no memory.
//! - A reclaimer that panics is counted, and the thread goes on; there the panic arrives at the thread that leaves.
//! - A collector that is dropped by one of its own reclaimers, on a thread that exits, is leaked.
//! - [`Guard::thread_id`] numbers are not used again.

use std::fmt;
use std::mem::ManuallyDrop;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicPtr, Ordering};

use leeward::rcu::epoch::{self, CollectorGuard};

#[path = "../../seize/src/ending.rs"]
mod ending;
mod link;
pub mod reclaim;

pub use link::{AsLink, Link, Linked};

/// The batch size and the epoch frequency that seize has by default: shown, and not set.
const SHOWN: (usize, Option<NonZeroU64>) = (120, NonZeroU64::new(110));

/// A set of readers, and what they retire.
pub struct Collector {
    /// Taken out by the drop.
    epochs: ManuallyDrop<epoch::Collector>,
    batch_size: Option<usize>,
    epoch_frequency: Option<NonZeroU64>,
}

impl Collector {
    /// Makes a collector without readers.
    pub fn new() -> Self {
        Collector { epochs: ManuallyDrop::new(epoch::Collector::new()), batch_size: None, epoch_frequency: SHOWN.1 }
    }

    /// Changes nothing: leeward's collectors do not count what is linked.
    pub fn epoch_frequency(mut self, n: Option<NonZeroU64>) -> Self {
        self.epoch_frequency = n;
        self
    }

    /// Sets after how many retired objects a grace period begins at the latest. The default is what a fence costs
    /// the machine.
    pub fn batch_size(mut self, n: usize) -> Self {
        self.batch_size = Some(n);
        // A grace period begins when a quarter of the limit waits.
        self.epochs.set_limit(n.saturating_mul(4));
        self
    }

    /// Enters a section, in which protected pointers stay valid, on the calling thread. Sections nest.
    #[inline]
    pub fn enter(&self) -> Guard<'_> {
        Guard { entered: Some((self.epochs.enter(), self)) }
    }

    /// Returns what an object has as its first field.
    pub fn link(&self) -> Link {
        Link::new()
    }

    /// Returns an object of this value.
    pub fn link_value<T>(&self, value: T) -> Linked<T> {
        Linked { link: self.link(), value }
    }

    /// Returns an object of this value in a box, which [`reclaim::boxed`] frees.
    pub fn link_boxed<T>(&self, value: T) -> *mut Linked<T> {
        Box::into_raw(Box::new(self.link_value(value)))
    }

    /// Has `reclaim` called when no section is open that could have the object.
    ///
    /// # Safety
    /// The object is unlinked, and retired once; `reclaim` may be called with it on any thread. The caller does not
    /// use it any more.
    pub unsafe fn retire<T: AsLink>(&self, ptr: *mut T, reclaim: unsafe fn(*mut Link)) {
        // SAFETY: the caller's promise.
        unsafe { self.enter().defer_retire(ptr, reclaim) };
    }

    /// Returns true for a collector and itself.
    pub fn ptr_eq(this: &Collector, other: &Collector) -> bool {
        *this.epochs == *other.epochs
    }
}

impl Drop for Collector {
    /// Reclaims all that was retired.
    fn drop(&mut self) {
        // SAFETY: not used after this.
        let epochs = unsafe { ManuallyDrop::take(&mut self.epochs) };
        ending::end(epochs);
    }
}

/// Makes another collector, with the same settings.
impl Clone for Collector {
    fn clone(&self) -> Self {
        let new = Collector::new().epoch_frequency(self.epoch_frequency);
        self.batch_size.into_iter().fold(new, Collector::batch_size)
    }
}

impl Default for Collector {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collector")
            .field("batch_size", &self.batch_size.unwrap_or(SHOWN.0))
            .field("epoch_frequency", &self.epoch_frequency)
            .finish()
    }
}

/// A section of the calling thread, by [`Collector::enter`].
///
/// A pointer that is loaded through a guard points to an object that is there until the guard's end, unless this
/// thread retires it without a guard.
pub struct Guard<'a> {
    /// None in an unprotected guard.
    entered: Option<(CollectorGuard<'a>, &'a Collector)>,
}

impl Guard<'_> {
    /// Returns a guard that protects nothing, and retires at once.
    ///
    /// # Safety
    /// No other thread has what is loaded and retired with it.
    pub const unsafe fn unprotected() -> Guard<'static> {
        Guard { entered: None }
    }

    /// Loads a pointer.
    #[inline]
    pub fn protect<T: AsLink>(&self, ptr: &AtomicPtr<T>, ordering: Ordering) -> *mut T {
        ptr.load(ordering)
    }

    /// Has `reclaim` called when this section has ended, and all that are open now.
    ///
    /// # Safety
    /// The object is unlinked, and retired once; `reclaim` may be called with it on any thread.
    #[inline]
    pub unsafe fn defer_retire<T: AsLink>(&self, ptr: *mut T, reclaim: unsafe fn(*mut Link)) {
        let link = ptr.cast::<Link>();
        // SAFETY: the caller's promise.
        let call = move || ending::call(|| unsafe { reclaim(link) });
        match &self.entered {
            // SAFETY: the caller's promise.
            Some((guard, _)) => unsafe { guard.defer_unchecked(call) },
            None => call(),
        }
    }

    /// Returns the collector, or none for an unprotected guard.
    pub fn collector(&self) -> Option<&Collector> {
        self.entered.as_ref().map(|(_, collector)| *collector)
    }

    /// Ends the section and opens another one, unless the thread has an outer one.
    pub fn refresh(&mut self) {
        if let Some((guard, _)) = &mut self.entered {
            guard.repin();
        }
    }

    /// Has what the thread has retired reclaimed as soon as no section is in the way.
    pub fn flush(&self) {
        if let Some((guard, _)) = &self.entered {
            guard.flush();
        }
    }

    /// Returns a number of the calling thread.
    pub fn thread_id(&self) -> usize {
        ending::thread_id()
    }
}

impl fmt::Debug for Guard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Guard").finish()
    }
}
