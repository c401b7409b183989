//! Guards: that a section is open, as a value.

use core::marker::PhantomData;
use core::panic::Location;

use super::backing::Backing;
use super::local;
use super::slot::Slot;
use crate::mutant::mutated;

/// An open read section of domain `D`: what was loaded with it stays alive until it is dropped.
///
/// Not `Send` and not `Sync`: it belongs to the thread that opened it. Forgetting one keeps its section open for as
/// long as the thread (and longer, if the thread exits): memory is leaked and grace periods stall, and [report
/// it](super::Domain::set_stall_limit), but nothing is freed under anybody.
#[must_use = "the section ends when the guard is dropped"]
pub struct Guard<'a, D: Backing = super::Global> {
    slot: &'static Slot,
    /// The handle that the slot belongs to; `'static` for the thread's own.
    handle: PhantomData<&'a ()>,
    /// Of this thread (not `Send`, not `Sync`) and of this domain.
    domain: PhantomData<(*mut (), fn() -> D)>,
}

impl<D: Backing> Guard<'_, D> {
    #[inline(always)]
    #[track_caller]
    pub(super) fn enter_outermost(slot: &'static Slot) -> Self {
        if cfg!(debug_assertions) {
            slot.note_entry(Location::caller());
        }
        slot.enter_outermost::<D::Fence>(D::state().grace.epoch());
        Guard { slot, handle: PhantomData, domain: PhantomData }
    }

    /// Out of line, so that the code of an outermost section runs straight.
    #[cold]
    #[inline(never)]
    pub(super) fn enter_nested(slot: &'static Slot) -> Self {
        slot.enter_nested();
        Guard { slot, handle: PhantomData, domain: PhantomData }
    }

    /// Lets grace periods pass: as if the section had been left and entered again, at the cost of a store.
    ///
    /// For long walks. The borrow checker sees to it that nothing loaded before is used after. Does nothing while
    /// another guard of the same thread (or handle) is open.
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
        if self.slot.leave::<D::Fence>() {
            local::give_back::<D>(self.slot);
        }
    }
}

impl<D: Backing> core::fmt::Debug for Guard<'_, D> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Guard").finish_non_exhaustive()
    }
}
