//! Guards: an open section, as a value.
//!
//! Made by `automatic.rs` and `reader.rs`; calls `slot.rs`.

use core::marker::PhantomData;
use core::panic::Location;

use super::super::backing::Backing;
use super::local;
use super::slot::Slot;
use crate::marker::GuardNoSend;
use crate::mutant::mutated;

/// An open read section of domain `D`: what was loaded with it stays alive until it is dropped.
///
/// [`Domain::read`](super::super::Domain::read) and [`Reader::read`](super::super::Reader::read) make guards. A
/// guard is neither `Send` nor `Sync`: it belongs to the thread that opened it.
///
/// ```
/// use leeward::rcu::{self, RcuCell};
/// let limits = RcuCell::new([10, 20]);
/// let mut guard = rcu::read();
/// let sum: u32 = limits.load(&guard).iter().sum();
/// guard.refresh();                        // what was loaded before cannot be used from here on
/// assert_eq!(sum, limits.load(&guard).iter().sum());
/// ```
///
/// # Leaks
/// A guard that is forgotten keeps its section open, even after its thread has exited; that of a
/// [`Reader`](super::super::Reader) until the handle is dropped. Grace periods then stall and
/// [report it](super::super::Domain::set_stall_limit), and memory is leaked, but nothing is freed that a
/// reference still reaches.
///
/// # Differences from crossbeam-epoch
/// - Opening a guard executes no fence; `pin` executes a full one.
/// - A reference is checked against its guard and its cell, so loading needs no `unsafe`.
/// - `repin` is [`refresh`](Self::refresh).
/// - A guard does not collect garbage, and neither defers nor flushes: see
///   [`Retired`](super::super::Retired) and [`Domain`](super::super::Domain).
///
/// # Differences from liburcu
/// - Dropping the guard leaves the section, so the two calls always match.
/// - A thread registers itself at its first section.
/// - Guards may be dropped in any order.
///
/// [`rcu`](crate::rcu) describes [cost](crate::rcu#cost), [fork](crate::rcu#fork) and [signals](crate::rcu#signals).
#[must_use = "the section ends when the guard is dropped"]
pub struct Guard<'a, D: Backing = super::super::Global> {
    slot: &'static Slot,
    /// The borrow of the handle that the slot belongs to; `'static` for a thread-local slot.
    handle: PhantomData<&'a ()>,
    /// Binds the guard to its thread (not `Send`, not `Sync`) and to its domain.
    domain: PhantomData<(GuardNoSend, fn() -> D)>,
}

impl<D: Backing> Guard<'_, D> {
    #[inline(always)]
    #[track_caller]
    pub(in crate::rcu) fn enter_outermost(slot: &'static Slot) -> Self {
        if cfg!(debug_assertions) {
            slot.note_entry(Location::caller());
        }
        slot.enter_outermost::<D::Fence>(D::state().grace.epoch());
        if D::IS_OF_C {
            slot.for_c.open_guard();
        }
        Guard { slot, handle: PhantomData, domain: PhantomData }
    }

    /// Opens a section within another. Out of line, so that the code of an outermost section runs
    /// straight.
    #[cold]
    #[inline(never)]
    pub(in crate::rcu) fn enter_nested(slot: &'static Slot) -> Self {
        slot.enter_nested();
        if D::IS_OF_C {
            slot.for_c.open_guard();
        }
        Guard { slot, handle: PhantomData, domain: PhantomData }
    }

    /// Lets grace periods pass, as if the section had been left and entered again.
    ///
    /// For long walks. The borrow checker ends the use of everything that was loaded before the
    /// call. Does nothing while another guard of the same thread (or handle) is open.
    ///
    /// # Cost
    /// Some loads and a store to the reader's own slot; a futex wake and a yield if a writer sleeps
    /// on this reader. In a `: Full` domain one full fence more.
    #[inline]
    pub fn refresh(&mut self) {
        if self.slot.is_outermost() || mutated!(refresh_outermost) {
            self.slot.quiesce::<D::Fence>(D::state().grace.epoch());
        }
    }
}

impl<D: Backing> Drop for Guard<'_, D> {
    #[inline(always)]
    fn drop(&mut self) {
        if D::IS_OF_C {
            self.slot.for_c.drop_guard();
        }
        if self.slot.leave::<D::Fence>() {
            local::give_back(D::state(), self.slot);
        }
    }
}

impl<D: Backing> core::fmt::Debug for Guard<'_, D> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Guard").finish_non_exhaustive()
    }
}
